use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::Error;

/// The time that a handler has: it ends a moment before the time limit of the task, and when the agent is closed.
#[derive(Clone)]
pub struct Context {
    deadline: Instant,
    closed: Arc<(Mutex<bool>, Condvar)>,
}

impl Context {
    /// A context with some time, for trying a handler without an arena.
    pub fn new(time: Duration) -> Context {
        Context { deadline: Instant::now() + time, closed: Arc::default() }
    }

    /// What is left, 0 when no caller waits for the answer any more: a good timeout for what the handler waits for.
    pub fn remaining(&self) -> Duration {
        if *self.closed.0.lock().unwrap() {
            return Duration::ZERO;
        }
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Whether no caller waits for the answer any more.
    pub fn is_done(&self) -> bool {
        self.remaining().is_zero()
    }

    /// `Error::Timeout` when the context is done.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_done() {
            return Err(Error::Timeout);
        }
        Ok(())
    }

    /// Waits, but not beyond the end. It returns true when the context is done.
    pub fn wait(&self, time: Duration) -> bool {
        let time = time.min(self.deadline.saturating_duration_since(Instant::now()));
        let closed = self.closed.0.lock().unwrap();
        drop(self.closed.1.wait_timeout_while(closed, time, |closed| !*closed).unwrap());
        self.is_done()
    }

    pub(crate) fn end(&self) {
        *self.closed.0.lock().unwrap() = true;
        self.closed.1.notify_all();
    }

    pub(crate) fn same(&self, other: &Context) -> bool {
        Arc::ptr_eq(&self.closed, &other.closed)
    }
}
