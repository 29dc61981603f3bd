use std::error::Error as StdError;
use std::{fmt, io};

/// What a handler may return to choose the status of the reply (AAP, "Error codes").
///
/// Every other error becomes one by `?`; one that says that a wait timed out becomes `Timeout`.
#[derive(Debug)]
pub enum Error {
    /// 408: the round is lost.
    Timeout,
    /// 429: the arena pauses the agent for five minutes.
    RateLimited,
    /// 503: the agent leaves the match, its rating does not move.
    Unavailable,
    /// 500: the arena asks once more, within the same time limit. The text is for the agent's own log.
    Failed(Box<dyn StdError + Send + Sync>),
}

impl Error {
    pub(crate) fn status(&self) -> u16 {
        match self {
            Error::Timeout => 408,
            Error::RateLimited => 429,
            Error::Unavailable => 503,
            Error::Failed(_) => 500,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Failed(cause) => cause.fmt(f),
            other => f.write_str(message(other.status())),
        }
    }
}

// Error itself is no std::error::Error: this conversion would then be one from itself.
impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for Error {
    fn from(error: E) -> Self {
        let cause = error.into();
        match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => Error::Timeout,
            _ => Error::Failed(cause),
        }
    }
}

/// What the arena reads with a status.
pub(crate) fn message(status: u16) -> &'static str {
    match status {
        401 => "not a token of this arena for this task",
        404 => "not found",
        408 => "the task took too long",
        413 => "the task is over 1 MiB",
        429 => "the agent is rate limited for now",
        503 => "the agent is not available",
        _ => "the agent failed",
    }
}
