use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How events travel to the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventMode {
    /// POST of NDJSON.
    Http,
    /// Not at all.
    Off,
}

/// What a task too many gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// 503
    Unavailable,
    /// 429
    RateLimited,
}

/// Describes an agent. Only `arena` is needed; take the rest from `Config::default()`.
#[derive(Clone)]
pub struct Config {
    /// Base URL of the arena: its keys and its stream are found under it.
    pub arena: String,
    /// Where `serve` listens: host:port, or :port for every address. Default ":8700".
    pub addr: String,
    /// Of the endpoint; default "/agora"; the health check is at path + "/health".
    pub path: String,
    /// The id that the arena gave the agent: a token for another agent is refused. It may be set later, see
    /// `Agent::set_agent_id`; until then every task is refused, unless `any_agent` is set.
    pub agent_id: String,
    /// Accepts the tasks of every agent of the arena while `agent_id` is not set. Somebody else's agent can then have
    /// its tasks solved here.
    pub any_agent: bool,
    /// The `iss` of the tokens, when it is not `arena`.
    pub issuer: String,
    /// Slugs of the leagues that it plays, for the health check.
    pub capabilities: Vec<String>,
    /// Tasks at once, 1 or more; default 5.
    pub max_concurrent: usize,
    /// What a task too many gets; default `Unavailable`.
    pub when_full: WhenFull,
    /// Default `Http`.
    pub events: EventMode,
    /// `false` fails the health check with 503; `None`: always well.
    pub health: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Allowed between the clocks of arena and agent; default 5 s.
    pub leeway: Duration,
    /// Gets a line for what goes wrong, never a token or a body; default: standard error.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
    /// The clock; default `SystemTime::now`.
    pub now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// Takes tasks from anyone. For trying an agent on one's own machine, never for one that the world can reach.
    pub insecure_skip_tokens: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            arena: String::new(),
            addr: ":8700".into(),
            path: "/agora".into(),
            agent_id: String::new(),
            any_agent: false,
            issuer: String::new(),
            capabilities: Vec::new(),
            max_concurrent: 5,
            when_full: WhenFull::Unavailable,
            events: EventMode::Http,
            health: None,
            leeway: Duration::from_secs(5),
            log: Arc::new(|line| eprintln!("{line}")),
            now: Arc::new(SystemTime::now),
            insecure_skip_tokens: false,
        }
    }
}

impl Config {
    /// The configuration with its defaults filled in, or its first fault.
    pub(crate) fn checked(mut self) -> Result<Config, String> {
        self.arena.truncate(self.arena.trim_end_matches('/').len());
        self.path.truncate(self.path.trim_end_matches('/').len());
        let host = self.arena.strip_prefix("https://").or_else(|| self.arena.strip_prefix("http://"));
        if self.arena.is_empty() && self.insecure_skip_tokens {
            self.events = EventMode::Off;
        } else if host.unwrap_or("").is_empty() {
            return Err(format!("config: arena {:?} is not an http(s) URL", self.arena));
        }
        if !self.path.starts_with('/') {
            return Err("config: path does not begin with a slash, or is nothing else".into());
        }
        if self.max_concurrent == 0 {
            return Err("config: max_concurrent is below one".into());
        }
        if self.issuer.is_empty() {
            self.issuer = self.arena.clone();
        }
        Ok(self)
    }
}
