use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::Reply;

const KEPT_ANSWERS: usize = 256; // for repeated deliveries

/// The work on one task. Every delivery of the task waits for it.
#[derive(Default)]
pub(crate) struct Flight {
    reply: Mutex<Option<Reply>>,
    done: Condvar,
}

impl Flight {
    /// The reply; `None` when it is not there in time.
    pub(crate) fn wait(&self, until: Instant) -> Option<Reply> {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let reply = self.reply.lock().unwrap();
        self.done.wait_timeout_while(reply, left, |r| r.is_none()).unwrap().0.clone()
    }
}

/// Makes sure that a task delivered twice is worked on once. Answers are kept for later deliveries; a failure is not,
/// so that the arena's second attempt is a new try.
#[derive(Default)]
pub(crate) struct Flights(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_key: HashMap<String, Arc<Flight>>,
    answers: VecDeque<String>, // keys, oldest first
}

impl Flights {
    /// The flight of a task, and whether the caller is the first: it has to do the work and call `finish`.
    pub(crate) fn join(&self, key: &str) -> (Arc<Flight>, bool) {
        let mut kept = self.0.lock().unwrap();
        if let Some(flight) = kept.by_key.get(key) {
            return (flight.clone(), false);
        }
        let flight = Arc::<Flight>::default();
        kept.by_key.insert(key.into(), flight.clone());
        (flight, true)
    }

    pub(crate) fn finish(&self, key: &str, flight: &Flight, reply: Reply) {
        let mut kept = self.0.lock().unwrap();
        let answered = reply.status == 200;
        *flight.reply.lock().unwrap() = Some(reply);
        flight.done.notify_all();
        if !answered {
            kept.by_key.remove(key);
            return;
        }
        kept.answers.push_back(key.into());
        if kept.answers.len() > KEPT_ANSWERS {
            if let Some(oldest) = kept.answers.pop_front() {
                kept.by_key.remove(&oldest);
            }
        }
    }
}
