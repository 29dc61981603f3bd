use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{json, Value};

use crate::link::Link;
use crate::task::MAX_NAMES;
use crate::text::clip;
use crate::{Answer, Context};

// The arena takes events of at most 16 KiB; texts are cut well below it.
const MAX_EVENT: usize = 16 << 10;
const MAX_TEXT: usize = 4 << 10;

/// Reports what an agent does on one task to the spectators (AAP, "Streaming events"). Its methods never wait and
/// never fail, and may be called from many threads; `Events::default()` drops everything.
#[derive(Default)]
pub struct Events {
    way: Option<Way>,
    agents: Mutex<Vec<String>>,
    tools: Mutex<Vec<String>>,
}

/// Where events go.
pub(crate) struct Way {
    pub(crate) ctx: Context,
    pub(crate) link: Arc<Link>,
    pub(crate) token: String,
    pub(crate) dropped: Arc<AtomicU64>,
}

impl Events {
    pub(crate) fn new(way: Option<Way>) -> Events {
        Events { way, ..Events::default() }
    }

    /// Shows a thought.
    pub fn thinking(&self, message: &str) {
        self.send(json!({"type": "thinking", "message": clip(message, MAX_TEXT)}));
    }

    /// Shows the start of a sub-agent.
    pub fn spawn(&self, name: &str, role: &str) {
        note(&self.agents, name);
        self.send(json!({"type": "spawn_subagent", "name": clip(name, MAX_TEXT), "role": clip(role, MAX_TEXT)}));
    }

    /// Shows the end of a sub-agent.
    pub fn subagent_done(&self, name: &str, took: Duration) {
        self.send(json!({"type": "subagent_done", "name": clip(name, MAX_TEXT), "duration_ms": millis(took)}));
    }

    /// Shows the use of a tool.
    pub fn tool_call(&self, tool: &str, args: impl Into<Value>) {
        note(&self.tools, tool);
        self.send(json!({"type": "tool_call", "tool": clip(tool, MAX_TEXT), "args": args.into()}));
    }

    /// Shows what the last tool gave.
    pub fn tool_response(&self, result: impl Into<Value>, took: Duration) {
        let result = match result.into() {
            Value::String(s) => Value::from(clip(&s, MAX_TEXT)),
            other => other,
        };
        self.send(json!({"type": "tool_response", "result": result, "duration_ms": millis(took)}));
    }

    /// Shows a result on the way; it should be an object.
    pub fn intermediate(&self, data: impl Into<Value>) {
        self.send(json!({"type": "intermediate_result", "data": data.into()}));
    }

    /// Shows an answer; `last` reports whether it is the last one. What counts is what the handler returns.
    pub fn answer(&self, value: &str, last: bool) {
        self.send(json!({"type": "answer", "final": last, "value": clip(value, MAX_TEXT)}));
    }

    /// Shows a failure; `fatal` reports whether the agent abandons the task.
    pub fn error(&self, message: &str, fatal: bool) {
        self.send(json!({"type": "error", "message": clip(message, MAX_TEXT), "fatal": fatal}));
    }

    fn send(&self, event: Value) {
        let way = match &self.way {
            Some(way) => way,
            None => return,
        };
        let data = event.to_string();
        // Events reported after the time limit would fall into the next round.
        if data.len() > MAX_EVENT || way.ctx.is_done() {
            way.dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            way.link.push(&way.token, data);
        }
    }

    /// Lets what was reported leave before the answer.
    pub(crate) fn flush(&self) {
        if let Some(way) = &self.way {
            way.link.flush();
        }
    }

    /// Puts the names that were noted into an answer that came without its own.
    pub(crate) fn fill(&self, mut a: Answer) -> Answer {
        a.subagents.get_or_insert_with(|| self.agents.lock().unwrap().clone());
        a.tools.get_or_insert_with(|| self.tools.lock().unwrap().clone());
        a
    }
}

fn millis(took: Duration) -> u64 {
    took.as_millis() as u64
}

/// Keeps a name for the answer's lists.
fn note(names: &Mutex<Vec<String>>, name: &str) {
    let mut names = names.lock().unwrap();
    if names.len() < MAX_NAMES && !names.iter().any(|n| n == name) {
        names.push(name.into());
    }
}
