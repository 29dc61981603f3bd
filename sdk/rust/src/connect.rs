use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use serde_json::value::RawValue;
use serde_json::{json, Value};

use crate::{Agent, Answer, Config, Context, Error, Events, Task};

const WAIT: u64 = 50; // seconds for a task, per poll; proxies cut idle requests at 60
const POLL_TIME: Duration = Duration::from_secs(WAIT + 15);
const REQUEST_TIME: Duration = Duration::from_secs(10);
const EMPTY_POLL_TIME: Duration = Duration::from_millis(500); // between polls that return nothing at once
const FIRST_PAUSE: Duration = Duration::from_millis(250); // after a failure; doubles
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);
const ANSWER_TRIES: u32 = 8;
const MOST_CONCURRENT: usize = 1000; // what an agent may be registered with
const LAST_ANSWER_TIME: Duration = Duration::from_secs(2); // for answers after the agent is closed
const MAX_REPLY: usize = (1 << 20) + (64 << 10); // bytes: a task and what is around it

/// Plays without an open port: fetches tasks with the agent's key and posts the answers. It works on as many tasks at
/// once as the agent was registered with, and reconnects when the arena is unreachable. The error is of kind
/// `PermissionDenied` when the arena rejects the key or the agent. For other settings see `Agent::connect`.
pub fn connect<H>(arena: &str, agent_key: &str, handler: H) -> io::Result<()>
where
    H: Fn(&Context, &Task, &Events) -> Result<Answer, Error> + Send + Sync + 'static,
{
    let config = Config { arena: arena.into(), max_concurrent: MOST_CONCURRENT, ..Config::default() };
    let agent = Agent::new(config, handler).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let ended = agent.connect(agent_key);
    agent.close();
    ended
}

impl Agent {
    /// Fetches tasks with the agent's key and posts the answers. It works on as many tasks at once as the agent was
    /// registered with, or on `max_concurrent` of the configuration if that is less. It returns when the agent is
    /// closed, or with an error as `connect` does.
    pub fn connect(&self, agent_key: &str) -> io::Result<()> {
        if agent_key.is_empty() || !agent_key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the agent key is empty or contains spaces"));
        }
        let client = Arc::new(Client {
            agent: self.clone(),
            authorization: format!("Bearer {agent_key}"),
            http: ureq::AgentBuilder::new().redirects(0).timeout_connect(REQUEST_TIME).build(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let watching = client.clone();
        thread::spawn(move || {
            watching.agent.wait_closed();
            watching.halt(None);
        });
        client.play()
    }
}

struct Client {
    agent: Agent,
    authorization: String,
    http: ureq::Agent,
    state: Mutex<State>,
    changed: Condvar, // of state
}

#[derive(Default)]
struct State {
    halted: bool, // no more polls
    failure: Option<io::Error>,
    busy: usize, // tasks that are worked on or answered
}

/// Why a request has no good response.
enum Failure {
    /// Trying again would not help.
    Refused(u16, String),
    /// It may be repeated after a while.
    Failed(String, Duration),
}

fn failed(error: impl ToString) -> Failure {
    Failure::Failed(error.to_string(), Duration::ZERO)
}

struct Delivery {
    task_id: String,
    token: String,
    task: Box<RawValue>, // the bytes that the token was issued for
}

impl Client {
    fn play(self: &Arc<Client>) -> io::Result<()> {
        let config = self.agent.config();
        let mut id = config.agent_id.clone();
        if id.is_empty() {
            match self.retry(|| self.me().map(Some)) {
                Some(own) => id = own,
                None => return self.ended(),
            }
        }
        let path = format!("/v1/agents/{}", escaped(&id));
        let loops = match self.retry(|| self.registered(&path).map(Some)) {
            Some(registered) => config.max_concurrent.min(registered),
            None => return self.ended(),
        };
        self.agent.set_agent_id(&id);
        (config.log)(&format!("agent {id} connected to {}, tasks at once: {loops}", config.arena));
        let path = path + "/tasks";
        for _ in 0..loops {
            let (client, path) = (self.clone(), path.clone());
            // Not joined: nothing interrupts a poll that waits. What it still brings gets 503.
            thread::spawn(move || {
                while let Some(delivery) = client.retry(|| client.poll(&path)) {
                    client.work(&path, delivery);
                }
            });
        }
        self.ended()
    }

    /// Waits for the end, and for the answers that are still posted then.
    fn ended(&self) -> io::Result<()> {
        let state = self.changed.wait_while(self.state.lock().unwrap(), |s| !s.halted).unwrap();
        let (mut state, _) = self.changed.wait_timeout_while(state, LAST_ANSWER_TIME, |s| s.busy > 0).unwrap();
        state.failure.take().map_or(Ok(()), Err)
    }

    /// Stops the polls.
    fn halt(&self, failure: Option<io::Error>) {
        let mut state = self.state.lock().unwrap();
        state.halted = true;
        state.failure = state.failure.take().or(failure);
        self.changed.notify_all();
    }

    /// Calls f until it returns something; `None`: stopped.
    fn retry<T>(&self, f: impl Fn() -> Result<Option<T>, Failure>) -> Option<T> {
        let mut pause = FIRST_PAUSE;
        while !self.state.lock().unwrap().halted {
            match f() {
                Ok(Some(result)) => return Some(result),
                Ok(None) => pause = FIRST_PAUSE,
                Err(Failure::Refused(_, why)) => self.halt(Some(io::Error::new(io::ErrorKind::PermissionDenied, why))),
                Err(Failure::Failed(why, retry_after)) => {
                    let wait = jitter(pause).max(retry_after);
                    self.log(&format!("arena not reached, trying again in {wait:.1?}: {why}"));
                    self.rest(wait);
                    pause = LONGEST_PAUSE.min(2 * pause);
                }
            }
        }
        None
    }

    fn log(&self, line: &str) {
        (self.agent.config().log)(line);
    }

    /// Waits, but not beyond a halt.
    fn rest(&self, time: Duration) {
        drop(self.changed.wait_timeout_while(self.state.lock().unwrap(), time, |s| !s.halted).unwrap());
    }

    /// The id of the agent that the key belongs to.
    fn me(&self) -> Result<String, Failure> {
        let me: Value = serde_json::from_str(&self.call("GET", "/v1/me", REQUEST_TIME, None)?).map_err(failed)?;
        match me["agent_id"].as_str() {
            Some(id) if !id.is_empty() => Ok(id.into()),
            _ => Err(Failure::Refused(
                403,
                "the key is not an agent key: create one with POST /v1/agents/{id}/keys".into(),
            )),
        }
    }

    /// How many tasks the agent was registered to work on at once.
    fn registered(&self, path: &str) -> Result<usize, Failure> {
        let agent: Value = serde_json::from_str(&self.call("GET", path, REQUEST_TIME, None)?).map_err(failed)?;
        let count = agent["max_concurrent"].as_u64().or_else(|| agent["health"]["max_concurrent"].as_u64());
        Ok((count.unwrap_or(1) as usize).clamp(1, MOST_CONCURRENT))
    }

    fn poll(&self, path: &str) -> Result<Option<Delivery>, Failure> {
        let asked = Instant::now();
        let text = self.call("GET", &format!("{path}?wait={WAIT}"), POLL_TIME, None)?;
        if text.is_empty() {
            if asked.elapsed() < EMPTY_POLL_TIME {
                self.rest(jitter(EMPTY_POLL_TIME));
            }
            return Ok(None);
        }
        let mut members: HashMap<String, Box<RawValue>> = serde_json::from_str(&text).map_err(failed)?;
        let text_of = |raw: Option<&Box<RawValue>>| raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        match (text_of(members.get("task_id")), text_of(members.get("token")), members.remove("task")) {
            (Some(task_id), Some(token), Some(task)) => Ok(Some(Delivery { task_id, token, task })),
            _ => Err(failed("the delivery has no task, task_id or token")),
        }
    }

    fn work(&self, path: &str, delivery: Delivery) {
        self.state.lock().unwrap().busy += 1;
        let (reply, outlived) = self.agent.deliver(&delivery.token, delivery.task.get().as_bytes());
        let body = match reply.status {
            200 => reply.body,
            408 | 429 | 503 => json!({ "status": reply.status }).to_string(),
            _ => json!({ "status": 500 }).to_string(),
        };
        self.answer(&format!("{path}/{}/answer", escaped(&delivery.task_id)), &body);
        self.state.lock().unwrap().busy -= 1;
        self.changed.notify_all();
        if let Some(flight) = outlived {
            // A handler that ignores its time limit still occupies its slot.
            while !self.state.lock().unwrap().halted && flight.wait(Instant::now() + EMPTY_POLL_TIME).is_none() {}
        }
    }

    fn answer(&self, path: &str, body: &str) {
        for tries in 1..=ANSWER_TRIES {
            let (why, wait) = match self.call("POST", path, REQUEST_TIME, Some(body)) {
                Ok(_) => return,
                Err(Failure::Refused(401, why)) => {
                    return self.halt(Some(io::Error::new(io::ErrorKind::PermissionDenied, why)));
                }
                Err(Failure::Refused(_, why)) => (why, None),
                Err(Failure::Failed(why, retry_after)) => (why, Some(retry_after)),
            };
            self.log(&format!("answer not accepted: {why}"));
            match wait {
                Some(retry_after) if tries < ANSWER_TRIES => {
                    thread::sleep(jitter(FIRST_PAUSE / 4 * (1 << tries)).max(retry_after));
                }
                _ => return,
            }
        }
    }

    /// Sends a request with the agent's key, which follows no redirect, and returns the text of a 2xx response.
    fn call(&self, method: &str, path: &str, time: Duration, body: Option<&str>) -> Result<String, Failure> {
        let request = self.http.request(method, &format!("{}{path}", self.agent.config().arena)).timeout(time);
        let request = request.set("Authorization", &self.authorization).set("Accept", "application/json");
        let response = match body {
            Some(body) => request.set("Content-Type", "application/json").send_string(body),
            None => request.call(),
        };
        let response = match response {
            Ok(response) | Err(ureq::Error::Status(_, response)) => response,
            Err(error) => return Err(failed(error)),
        };
        let (status, retry_after) = (response.status(), response.header("Retry-After").unwrap_or("").to_string());
        let mut data = Vec::new();
        response.into_reader().take(MAX_REPLY as u64 + 1).read_to_end(&mut data).map_err(failed)?;
        if data.len() > MAX_REPLY {
            return Err(failed("the response is too large"));
        }
        match status {
            200..=299 => String::from_utf8(data).map_err(failed),
            408 | 425 | 429 | 500.. => {
                let wait = retry_after.parse().map_or(Duration::ZERO, Duration::from_secs).min(LONGEST_RETRY_AFTER);
                Err(Failure::Failed(format!("the arena answers {}", problem(status, &data)), wait))
            }
            401 => Err(Failure::Refused(401, format!("the arena rejects this agent key: {}", problem(401, &data)))),
            _ => Err(Failure::Refused(status, format!("the arena answers {}", problem(status, &data)))),
        }
    }
}

/// Describes an error response: its status, and code and detail of a problem (RFC 9457).
fn problem(status: u16, data: &[u8]) -> String {
    let p: Value = serde_json::from_slice(data).unwrap_or_default();
    let words = [p["code"].as_str(), p["detail"].as_str().or_else(|| p["title"].as_str())];
    let text = words.iter().flatten().fold(status.to_string(), |text, word| text + " " + word);
    text.chars().take(500).collect()
}

/// A part of a path, with nothing in it that has a meaning there.
fn escaped(part: &str) -> String {
    part.bytes()
        .map(|b| match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => char::from(b).to_string(),
            _ => format!("%{b:02X}"),
        })
        .collect()
}

/// Half to all of a time, so that many agents do not come back at once.
fn jitter(time: Duration) -> Duration {
    let mut random = [0];
    let _ = SystemRandom::new().fill(&mut random); // without it there is none
    time / 2 + time / 512 * u32::from(random[0])
}
