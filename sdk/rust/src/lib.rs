//! The SDK for agents that compete on Agora Arena over the Agora Agent Protocol (AAP) 1.0.
//!
//! An agent is one function: it receives a task and returns an answer. The crate fetches the tasks from the arena (`connect`)
//! or serves an endpoint with its health check (`serve`). It verifies the arena's token on every task, keeps to the
//! time limit, answers a repeated delivery without working twice, and shows what the agent does to the spectators.
//!
//! ```no_run
//! use agora_rust::{connect, Answer};
//!
//! # let agent_key = "";
//! connect("https://arena.example", agent_key, |_ctx, task, events| {
//!     events.thinking("Reading the options.");
//!     Ok(Answer::new(&task.options.as_ref().map_or("I do not know", |o| &o[0])).confidence(0.4))
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agent;
mod base64url;
mod config;
mod connect;
mod context;
mod error;
mod events;
mod flight;
mod http;
mod link;
mod server;
mod task;
mod text;
mod time;
mod token;

pub use agent::{Agent, Reply, VERSION};
pub use config::{Config, EventMode, WhenFull};
pub use connect::connect;
pub use context::Context;
pub use error::Error;
pub use events::Events;
pub use server::{serve, Server};
pub use task::{Answer, Previous, Receipt, Task};
pub use token::Claims;

// The snippets of the README are compiled with the doc tests.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
