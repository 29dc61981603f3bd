use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const QUEUE_SIZE: usize = 256; // events that wait; the oldest is dropped for the next
const BATCH_SIZE: usize = 16; // events handed over at once
const FLUSH_TIME: Duration = Duration::from_millis(100);
const SEND_TIME: Duration = Duration::from_secs(3); // for one batch
const LINK_IDLE: Duration = Duration::from_secs(90);
const FIRST_PAUSE: Duration = Duration::from_millis(150); // after a failure; doubles
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
const EVENT_RATE: f64 = 20.0; // a second; the arena refuses more
const EVENT_BURST: f64 = 40.0;

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Taken, or refused for good: the round has closed.
    Taken,
    /// To be sent again.
    Failed,
    /// The arena accepts no more events under this token.
    Refused,
}

pub(crate) type Sink = Box<dyn Fn(&str, &[String]) -> Sent + Send + Sync>;

/// Sends each batch as one POST of NDJSON.
pub(crate) fn post_sink(arena: &str) -> Sink {
    let url = format!("{arena}/v1/stream");
    let http = ureq::AgentBuilder::new().timeout(SEND_TIME).redirects(0).build();
    Box::new(move |token, batch| {
        let request = http
            .post(&url)
            .set("Authorization", &format!("Bearer {token}"))
            .set("Content-Type", "application/x-ndjson");
        let status = match request.send_string(&(batch.join("\n") + "\n")) {
            Ok(response) => {
                let status = response.status();
                let _ = response.into_reader().take(64 << 10).read_to_end(&mut Vec::new()); // so that the connection is used again
                status
            }
            Err(ureq::Error::Status(status, _)) => status,
            Err(_) => return Sent::Failed,
        };
        match status {
            401 | 403 | 429 => Sent::Refused,
            500.. => Sent::Failed,
            _ => Sent::Taken,
        }
    })
}

/// Carries the events of one match, whatever their round, from the handlers to the arena. It has one thread, `run`,
/// which ends when nothing was reported for a while.
pub(crate) struct Link {
    sink: Sink,
    dropped: Arc<AtomicU64>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    token: String, // of the queued events
    queue: VecDeque<String>,
    busy: bool,   // something waits to be sent, and there is hope
    broken: bool, // nothing is sent under this token any more
    ended: bool,
}

impl Link {
    pub(crate) fn new(sink: Sink, dropped: Arc<AtomicU64>) -> Arc<Link> {
        Arc::new(Link { sink, dropped, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Queues an event reported under a token. Events of an earlier token are of a round that is over: the arena
    /// would take them for the new one's.
    pub(crate) fn push(&self, token: &str, event: String) {
        let mut s = self.state.lock().unwrap();
        if token != s.token {
            self.forget(&mut s, QUEUE_SIZE);
            s.token = token.into();
            s.broken = false;
        }
        if s.broken || s.ended {
            self.drop_events(1);
            return;
        }
        if s.queue.len() == QUEUE_SIZE {
            self.forget(&mut s, 1);
        }
        s.queue.push_back(event);
        s.busy = true;
        self.changed.notify_all();
    }

    /// Waits until what was pushed is in the arena's hands, 100 ms have passed, or there is no hope.
    pub(crate) fn flush(&self) {
        let s = self.state.lock().unwrap();
        drop(self.changed.wait_timeout_while(s, FLUSH_TIME, |s| s.busy && !s.ended).unwrap());
    }

    pub(crate) fn ended(&self) -> bool {
        self.state.lock().unwrap().ended
    }

    /// Ends the link and drops what waits.
    pub(crate) fn end(&self) {
        let mut s = self.state.lock().unwrap();
        s.ended = true;
        self.forget(&mut s, QUEUE_SIZE);
        self.changed.notify_all();
    }

    /// Sends what is pushed until the link is ended, or was idle for long.
    pub(crate) fn run(&self) {
        let mut pause = FIRST_PAUSE;
        let (mut allowed, mut filled) = (EVENT_BURST, Instant::now());
        while let Some((token, batch)) = self.take() {
            let now = Instant::now();
            allowed = EVENT_BURST.min(allowed + (now - filled).as_secs_f64() * EVENT_RATE) - batch.len() as f64;
            filled = now;
            if allowed < 0.0 {
                self.sleep(Duration::from_secs_f64(-allowed / EVENT_RATE));
            }
            let sent = if self.ended() { Sent::Refused } else { (self.sink)(&token, &batch) };
            self.settle(&token, batch, sent);
            if sent == Sent::Failed {
                self.sleep(pause);
                pause = LONGEST_PAUSE.min(2 * pause);
            } else {
                pause = FIRST_PAUSE;
            }
        }
    }

    /// The next batch; `None` when the link has ended.
    fn take(&self) -> Option<(String, Vec<String>)> {
        let s = self.state.lock().unwrap();
        let idle = |s: &mut State| s.queue.is_empty() && !s.ended;
        let (mut s, _) = self.changed.wait_timeout_while(s, LINK_IDLE, idle).unwrap();
        if s.queue.is_empty() {
            s.ended = true;
            return None;
        }
        let n = BATCH_SIZE.min(s.queue.len());
        Some((s.token.clone(), s.queue.drain(..n).collect()))
    }

    fn settle(&self, token: &str, batch: Vec<String>, sent: Sent) {
        let mut s = self.state.lock().unwrap();
        let current = token == s.token;
        match sent {
            Sent::Taken => {}
            Sent::Failed if current && !s.ended => {
                for event in batch.into_iter().rev() {
                    s.queue.push_front(event);
                }
                let over = s.queue.len().saturating_sub(QUEUE_SIZE);
                self.forget(&mut s, over);
            }
            Sent::Failed => self.drop_events(batch.len()),
            Sent::Refused => {
                self.drop_events(batch.len());
                if current {
                    s.broken = true;
                    self.forget(&mut s, QUEUE_SIZE);
                }
            }
        }
        if sent == Sent::Failed || s.queue.is_empty() {
            s.busy = false;
        }
        self.changed.notify_all();
    }

    fn sleep(&self, time: Duration) {
        let s = self.state.lock().unwrap();
        drop(self.changed.wait_timeout_while(s, time, |s| !s.ended).unwrap());
    }

    /// Forgets the oldest n events.
    fn forget(&self, s: &mut State, n: usize) {
        let n = n.min(s.queue.len());
        s.queue.drain(..n);
        self.drop_events(n);
    }

    fn drop_events(&self, n: usize) {
        self.dropped.fetch_add(n as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
