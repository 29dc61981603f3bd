use std::collections::HashMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::error::message;
use crate::events::Way;
use crate::flight::{Flight, Flights};
use crate::http::MAX_BODY;
use crate::link::{post_sink, Link};
use crate::token::{Refusal, Verifier};
use crate::{Answer, Config, Context, Error, EventMode, Events, Task, WhenFull};

/// The AAP version that the crate speaks.
pub const VERSION: &str = "1.0";

const LOOK: Duration = Duration::from_secs(30); // how often the age of the keys is looked at

type Handler = dyn Fn(&Context, &Task, &Events) -> Result<Answer, Error> + Send + Sync;

/// What goes back for a request; the body is JSON.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Reply {
    pub status: u16,
    pub body: String,
}

/// A reply without an answer.
pub(crate) fn failure(status: u16, text: &str) -> Reply {
    Reply { status, body: json!({ "error": text }).to_string() }
}

/// Answers the task POST and the health check. Clones are the same agent.
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

struct Inner {
    config: Config,
    handler: Box<Handler>,
    verifier: Option<Verifier>,
    flights: Flights,
    dropped: Arc<AtomicU64>,
    latency: AtomicU64, // moving mean of answer times, in microseconds
    links: Mutex<HashMap<String, Arc<Link>>>,
    work: Mutex<Work>,
    changed: Condvar, // of work
}

#[derive(Default)]
struct Work {
    contexts: Vec<Context>, // of the handlers at work
    closed: bool,
}

impl Agent {
    /// Makes an agent and begins to read the arena's keys. The arena need not be there yet. The error says what is
    /// wrong with the configuration.
    pub fn new<H>(config: Config, handler: H) -> Result<Agent, String>
    where
        H: Fn(&Context, &Task, &Events) -> Result<Answer, Error> + Send + Sync + 'static,
    {
        let config = config.checked()?;
        let verifier = (!config.insecure_skip_tokens).then(|| Verifier::new(config.clone()));
        let agent = Agent(Arc::new(Inner {
            config,
            handler: Box::new(handler),
            verifier,
            flights: Flights::default(),
            dropped: Arc::default(),
            latency: AtomicU64::new(0),
            links: Mutex::default(),
            work: Mutex::default(),
            changed: Condvar::new(),
        }));
        if agent.0.verifier.is_some() {
            let inner = Arc::downgrade(&agent.0);
            thread::spawn(move || {
                while let Some(inner) = inner.upgrade() {
                    inner.verifier.iter().for_each(Verifier::refresh);
                    let work = inner.work.lock().unwrap();
                    if inner.changed.wait_timeout_while(work, LOOK, |w| !w.closed).unwrap().0.closed {
                        return;
                    }
                }
            });
        }
        Ok(agent)
    }

    /// The configuration, with what was left out.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// How many events did not reach the arena.
    pub fn dropped_events(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Tells the agent its id, once the arena has given it one. From then on tokens for other agents are refused.
    pub fn set_agent_id(&self, id: &str) {
        if let Some(v) = &self.0.verifier {
            *v.agent_id.write().unwrap() = id.into();
        }
    }

    /// Ends the contexts of all handlers at work and waits for them. Tasks that come later get 503.
    pub fn close(&self) {
        let mut work = self.0.work.lock().unwrap();
        work.closed = true;
        self.0.changed.notify_all();
        work.contexts.iter().for_each(Context::end);
        drop(self.0.changed.wait_while(work, |w| !w.contexts.is_empty()).unwrap());
        self.0.links.lock().unwrap().values().for_each(|link| link.end());
    }

    pub(crate) fn closed(&self) -> bool {
        self.0.work.lock().unwrap().closed
    }

    /// Waits until the agent is closed.
    pub(crate) fn wait_closed(&self) {
        let work = self.0.work.lock().unwrap();
        drop(self.0.changed.wait_while(work, |w| !w.closed).unwrap());
    }

    /// The reply to a request, whose body may be cut after 1 MiB and one byte. It waits for the handler.
    pub fn handle(&self, method: &str, path: &str, authorization: &str, body: &[u8]) -> Reply {
        let path = path.split('?').next().unwrap_or("").trim_end_matches('/');
        let own = &self.0.config.path;
        match (path.strip_prefix(own.as_str()), method) {
            (Some(""), "POST") => self.task(authorization, body),
            (Some(""), _) => failure(405, "tasks are sent by POST"),
            (Some("/health"), "GET" | "HEAD") => self.health(),
            (Some("/health"), _) => failure(405, "the health check is a GET"),
            _ => failure(404, message(404)),
        }
    }

    fn health(&self) -> Reply {
        let config = &self.0.config;
        let well = !self.closed() && config.health.as_ref().map_or(true, |ask| ask());
        let body = json!({
            "status": if well { "ok" } else { "unavailable" }, "version": VERSION, "capabilities": config.capabilities,
            "avg_latency_ms": self.0.latency.load(Ordering::Relaxed) / 1000, "max_concurrent": config.max_concurrent,
        });
        Reply { status: if well { 200 } else { 503 }, body: body.to_string() }
    }

    fn task(&self, authorization: &str, body: &[u8]) -> Reply {
        if body.len() > MAX_BODY {
            return failure(413, message(413));
        }
        self.deliver(bearer(authorization), body).0
    }

    /// Returns the reply to a task, given the bytes of its body and its token; and the work, when the handler outlived
    /// the time limit.
    pub(crate) fn deliver(&self, token: &str, body: &[u8]) -> (Reply, Option<Arc<Flight>>) {
        let (arrived, clock) = (Instant::now(), (self.0.config.now)());
        let claims = match self.0.verifier.as_ref().map(|v| v.verify(token, body)).transpose() {
            Ok(claims) => claims,
            // Nobody's fault yet: leave the match rather than lose it.
            Err(Refusal::NoKeys) => return (failure(503, "the arena's keys could not be read"), None),
            Err(Refusal::Unauthorized(why)) => {
                (self.0.config.log)(&format!("task refused: {why}"));
                return (failure(401, message(401)), None);
            }
        };
        let mut task = match Task::decode(body) {
            Ok(task) => task,
            Err(why) => return (failure(400, &format!("the body is not a task: {why}")), None),
        };
        if claims.as_ref().map_or(false, |c| c.match_id != task.match_id || !c.of_match() && c.round != task.round) {
            return (failure(401, message(401)), None);
        }
        task.claims = claims;
        let (work, wait) = task.times(clock);
        self.answer(task, token, arrived + work, arrived + wait)
    }

    /// The reply to the task: from work that is running or done, else from new work.
    fn answer(
        &self,
        task: Task,
        token: &str,
        work_until: Instant,
        wait_until: Instant,
    ) -> (Reply, Option<Arc<Flight>>) {
        let (key, task) = (task.key(), Arc::new(task));
        loop {
            let (flight, first) = self.0.flights.join(&key);
            if first {
                self.take_off(&task, token, work_until, &key, &flight);
            }
            match flight.wait(wait_until) {
                None => return (failure(408, message(408)), Some(flight)),
                Some(reply) if first || reply.status == 200 => return (reply, None),
                Some(_) => {} // the delivery before this one failed: this one is a new try
            }
        }
    }

    /// Starts the work, or ends the flight when there is no room for it.
    fn take_off(&self, task: &Arc<Task>, token: &str, until: Instant, key: &str, flight: &Arc<Flight>) {
        let ctx = Context::new(until.saturating_duration_since(Instant::now()));
        let refusal = {
            let mut work = self.0.work.lock().unwrap();
            match self.0.config.when_full {
                _ if work.closed => Some(503),
                WhenFull::RateLimited if work.contexts.len() >= self.0.config.max_concurrent => Some(429),
                WhenFull::Unavailable if work.contexts.len() >= self.0.config.max_concurrent => Some(503),
                _ => {
                    work.contexts.push(ctx.clone());
                    None
                }
            }
        };
        if let Some(status) = refusal {
            self.0.flights.finish(key, flight, failure(status, message(status)));
            return;
        }
        let (agent, task, token) = (self.clone(), task.clone(), token.to_string());
        let (key, flight) = (key.to_string(), flight.clone());
        thread::spawn(move || {
            let reply = agent.work(&ctx, &task, token);
            agent.0.work.lock().unwrap().contexts.retain(|c| !c.same(&ctx)); // before the reply: the next task may follow it at once
            agent.0.changed.notify_all();
            agent.0.flights.finish(&key, &flight, reply);
        });
    }

    fn work(&self, ctx: &Context, task: &Task, token: String) -> Reply {
        let began = Instant::now();
        let events = Events::new(self.link(task).map(|link| Way {
            ctx: ctx.clone(),
            link,
            token,
            dropped: self.0.dropped.clone(),
        }));
        let result = catch_unwind(AssertUnwindSafe(|| (self.0.handler)(ctx, task, &events)));
        let result = result.unwrap_or_else(|_| Err("the handler panicked".into()));
        let took = began.elapsed();
        match result.and_then(|answer| ctx.check().map(|()| answer)) {
            Ok(answer) => {
                events.flush();
                self.note(took);
                Reply { status: 200, body: events.fill(answer).encode(took) }
            }
            Err(error) => {
                (self.0.config.log)(&format!(
                    "task not answered: match {}, round {}: {error}",
                    task.match_id, task.round
                ));
                let status = if self.closed() { 503 } else { error.status() };
                failure(status, message(status)) // the error's text is for the log of the owner, not for the arena
            }
        }
    }

    /// A moving mean over about the last ten answers.
    fn note(&self, took: Duration) {
        let took = took.as_micros() as u64;
        let mean = |old: u64| Some(if old == 0 { took } else { (old * 9 + took) / 10 });
        let _ = self.0.latency.fetch_update(Ordering::Relaxed, Ordering::Relaxed, mean);
    }

    /// The link of the task's match; `None` when events are off.
    fn link(&self, task: &Task) -> Option<Arc<Link>> {
        let claims = task.claims.as_ref().filter(|_| self.0.config.events == EventMode::Http)?;
        let mut links = self.0.links.lock().unwrap();
        links.retain(|_, link| !link.ended());
        let key = format!("{}/{}", claims.agent_id, task.match_id);
        let link = links.entry(key).or_insert_with(|| {
            let link = Link::new(post_sink(&self.0.config.arena), self.0.dropped.clone());
            let running = link.clone();
            thread::spawn(move || running.run());
            link
        });
        Some(link.clone())
    }
}

/// The bearer token of a header. The AAP text shows it in quotes; they are passed over.
fn bearer(authorization: &str) -> &str {
    match authorization.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim().trim_matches('"'),
        _ => "",
    }
}
