use std::time::{Duration, SystemTime};

use serde_json::{json, Map, Value};

use crate::text::clip;
use crate::{time, Claims};

const MAX_TIME_LIMIT: f64 = 24.0 * 3600.0; // seconds that are believed

/// The time between the iat of a token and the second in which the arena made it. The arena backdates iat for agents
/// whose clock is behind (docs/agent-protocol.md, "The token").
const BACKDATING: Duration = Duration::from_secs(5);

// The arena reads no reply over 64 KiB; what is too long for it is cut.
const MAX_ANSWER: usize = 24 << 10;
const MAX_REASONING: usize = 4 << 10;
pub(crate) const MAX_NAMES: usize = 64;
const MAX_NAME: usize = 64;

/// One question of a match, or one turn of a game (AAP, "Request format"). `observation`, `task_id`, `attempt`,
/// `deadline` and `previous` are the arena's additions.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // a name that says it all needs no sentence
pub struct Task {
    pub version: String,
    /// Slug.
    pub league: String,
    pub match_id: String,
    /// 1 is the first.
    pub round: i64,
    /// 0: open end.
    pub total_rounds: i64,
    pub description: String,
    pub input_format: String,
    pub output_format: String,
    /// `None`: an open question. In a game the legal moves.
    pub options: Option<Vec<String>>,
    /// What the agent knows of a game, an object (docs/games.md has the members for each); `None`: no game.
    pub observation: Option<Value>,
    pub time_limit: Duration,
    /// 0: no limit was named.
    pub max_tokens: i64,
    pub rules: Vec<String>,
    /// Other active seats.
    pub opponents: i64,
    /// "" when not named.
    pub task_id: String,
    /// 1, or more when the arena asks again.
    pub attempt: i64,
    /// By the arena's clock, with the time bank of a game; `None`: not named.
    pub deadline: Option<SystemTime>,
    /// `None` in the first round.
    pub previous: Option<Previous>,
    /// Of the token that came with the task; `None` when tokens are skipped.
    pub claims: Option<Claims>,
}

/// How the agent's last round in the match went.
#[derive(Clone, Debug)]
pub struct Previous {
    /// "answered", "timeout", …
    pub outcome: String,
    /// The accepted answer; "" when it is absent.
    pub correct: String,
    /// 0..1
    pub points: f64,
    /// By the arena's clock.
    pub measured: Duration,
    /// For the answer; `None` without one.
    pub receipt: Option<Receipt>,
    /// Why the move was refused that the agent gave for this very task, e.g. "column 3 is full"; "": it was not.
    pub error: String,
}

/// The arena's word that it had an answer. The token of the task covers it: who keeps token and body can show it to
/// others.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// Of the answer as the match's record shows it, hexadecimal.
    pub sha256: String,
    /// By the arena's clock; `None`: not named.
    pub arrived_at: Option<SystemTime>,
}

/// What an agent replies (AAP, "Response format"). Only `value` is needed; the rest is shown to the spectators.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The answer itself.
    pub value: String,
    /// 0..1; `None`: not declared.
    pub confidence: Option<f64>,
    /// Why.
    pub reasoning: String,
    /// `None`: the names given to `Events::spawn`.
    pub subagents: Option<Vec<String>>,
    /// `None`: the names given to `Events::tool_call`.
    pub tools: Option<Vec<String>>,
    /// `None` or 0: not declared.
    pub tokens: Option<i64>,
}

impl Answer {
    /// An answer with nothing but its value.
    pub fn new(value: &str) -> Answer {
        Answer { value: value.into(), ..Answer::default() }
    }

    /// The answer with a confidence, 0..1.
    pub fn confidence(mut self, confidence: f64) -> Answer {
        self.confidence = Some(confidence);
        self
    }

    /// The body of the reply.
    pub(crate) fn encode(&self, took: Duration) -> String {
        let names = |all: &Option<Vec<String>>| -> Vec<String> {
            all.iter().flatten().take(MAX_NAMES).map(|name| clip(name, MAX_NAME).into()).collect()
        };
        let mut wire = Map::new();
        wire.insert("answer".into(), clip(&self.value, MAX_ANSWER).into());
        if let Some(c) = self.confidence.filter(|c| c.is_finite() && *c > 0.0) {
            wire.insert("confidence".into(), c.min(1.0).into());
        }
        if !self.reasoning.is_empty() {
            wire.insert("reasoning".into(), clip(&self.reasoning, MAX_REASONING).into());
        }
        wire.insert("subagents_used".into(), names(&self.subagents).into());
        wire.insert("tools_used".into(), names(&self.tools).into());
        if let Some(tokens) = self.tokens.filter(|&t| t > 0) {
            wire.insert("tokens".into(), tokens.into());
        }
        wire.insert("latency_ms".into(), json!(took.as_millis() as u64));
        Value::Object(wire).to_string()
    }
}

impl Task {
    /// Reads the body of a task POST, or says why it is not a task.
    pub(crate) fn decode(body: &[u8]) -> Result<Task, String> {
        let value: Value = serde_json::from_str(&String::from_utf8_lossy(body)).map_err(|e| e.to_string())?;
        let w = Members(value.as_object().ok_or("the body is not an object")?);
        let none = Map::new();
        let task = w.object("task")?.unwrap_or(Members(&none));
        let previous = match w.object("previous")? {
            None => None,
            Some(p) => Some(Previous {
                outcome: p.text("outcome")?,
                correct: p.0.get("correct").and_then(Value::as_str).unwrap_or("").into(),
                points: p.number("points")?,
                measured: duration(p.number("measured_ms")?.max(0.0) / 1000.0).ok_or("measured_ms is not a time")?,
                receipt: match p.object("receipt")? {
                    None => None,
                    Some(r) => Some(Receipt { sha256: r.text("sha256")?, arrived_at: r.time("arrived_at")? }),
                },
                error: p.text("error")?,
            }),
        };
        let seconds = w.number("time_limit_seconds")?;
        let t = Task {
            version: w.text("version")?,
            league: w.text("league")?,
            match_id: w.text("match_id")?,
            round: w.whole("round")?,
            total_rounds: w.whole("total_rounds")?,
            description: task.text("description")?,
            input_format: task.text("input_format")?,
            output_format: task.text("output_format")?,
            options: task.texts("options")?,
            observation: task.object("observation")?.map(|o| Value::Object(o.0.clone())),
            time_limit: duration(seconds).filter(|d| !d.is_zero()).ok_or("time_limit_seconds is not a time")?,
            max_tokens: w.whole("max_tokens")?,
            rules: w.texts("rules")?.unwrap_or_default(),
            opponents: w.whole("opponent_count")?,
            task_id: w.text("task_id")?,
            attempt: w.whole("attempt")?.max(1),
            deadline: w.time("deadline")?,
            previous,
            claims: None,
        };
        if t.match_id.is_empty() || t.description.is_empty() {
            return Err("match_id and task.description are needed".into());
        }
        Ok(t)
    }

    /// The legal moves of a turn of a game: the answer is one of them. Empty for a question, and if the league does not
    /// list them.
    pub fn legal_moves(&self) -> &[String] {
        self.observation.as_ref().and(self.options.as_deref()).unwrap_or_default()
    }

    /// Why the arena refused the last move, e.g. "column 3 is full", if the task asks for another one; "": it does not.
    pub fn refused(&self) -> &str {
        self.previous.as_ref().map_or("", |p| &p.error)
    }

    /// Names the question, whatever the attempt. A task that asks for another move because the last one was refused is
    /// another question.
    pub(crate) fn key(&self) -> String {
        let agent = self.claims.as_ref().map_or("", |c| &c.agent_id);
        let question = if self.task_id.is_empty() { &self.description } else { &self.task_id };
        json!([agent, self.match_id, self.round, question, self.refused()]).to_string()
    }

    /// How long a handler may work and how long its reply is waited for, both from the arrival of the task. The
    /// arena's own clock determines how much of the limit is left, from the time at which the token was made; a part is kept back
    /// for the way of the reply. In a game the deadline may lie beyond the limit: it includes the time bank of the agent.
    /// The token of a match is older than the task: then the agent's own clock counts, which was at clock when the task
    /// arrived.
    pub(crate) fn times(&self, clock: SystemTime) -> (Duration, Duration) {
        let mut left = self.time_limit;
        if let (Some(deadline), Some(claims)) = (self.deadline, &self.claims) {
            let start = if claims.of_match() { clock } else { claims.issued_at + BACKDATING };
            if let Ok(until_deadline) = deadline.duration_since(start) {
                if until_deadline < left || self.observation.is_some() {
                    left = until_deadline.min(Duration::from_secs_f64(MAX_TIME_LIMIT));
                }
            }
        }
        let kept = Duration::from_millis(200).min(left / 10);
        (left - kept, left - kept / 2)
    }
}

fn duration(seconds: f64) -> Option<Duration> {
    (0.0..=MAX_TIME_LIMIT).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

/// The members of a JSON object, each with a check of its kind; null is as good as missing.
#[derive(Clone, Copy)]
struct Members<'a>(&'a Map<String, Value>);

impl<'a> Members<'a> {
    fn get<T>(&self, name: &str, kind: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(v) => kind(v).map(Some).ok_or_else(|| format!("{name} is of the wrong kind")),
        }
    }

    fn object(&self, name: &str) -> Result<Option<Members<'a>>, String> {
        self.get(name, |v| v.as_object().map(Members))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        Ok(self.get(name, Value::as_str)?.unwrap_or("").into())
    }

    fn time(&self, name: &str) -> Result<Option<SystemTime>, String> {
        match self.text(name)? {
            text if text.is_empty() => Ok(None),
            text => time::parse(&text).map(Some).ok_or_else(|| format!("{name} is not a time")),
        }
    }

    fn whole(&self, name: &str) -> Result<i64, String> {
        Ok(self.get(name, Value::as_i64)?.unwrap_or(0))
    }

    fn number(&self, name: &str) -> Result<f64, String> {
        Ok(self.get(name, Value::as_f64)?.unwrap_or(0.0))
    }

    fn texts(&self, name: &str) -> Result<Option<Vec<String>>, String> {
        self.get(name, |v| v.as_array()?.iter().map(|item| item.as_str().map(String::from)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde_json::json;

    use super::{Claims, Task};

    /// When the arena made the token.
    const MADE: Duration = Duration::from_secs(1_795_000_000);

    /// A task of which `left` milliseconds are left when its token is made.
    fn task(limit: u64, left: Option<u64>, issued_at: SystemTime) -> Task {
        Task {
            time_limit: Duration::from_millis(limit),
            deadline: left.map(|left| UNIX_EPOCH + MADE + Duration::from_millis(left)),
            claims: Some(Claims {
                id: "jt_1".into(),
                agent_id: "ag_1".into(),
                match_id: "m_1".into(),
                round: 1,
                body_hash: "hash".into(),
                issued_at,
                expires_at: UNIX_EPOCH + MADE + Duration::from_secs(60),
            }),
            ..Task::default()
        }
    }

    fn times(task: &Task, clock: SystemTime) -> (u128, u128) {
        let (work, wait) = task.times(clock);
        (work.as_millis(), wait.as_millis())
    }

    #[test]
    fn the_time_left_counts_from_the_making_of_the_token() {
        let issued_at = UNIX_EPOCH + MADE - Duration::from_secs(5);
        for (name, limit, left, want) in [
            ("no deadline", 20_000, None, (19_800, 19_900)),
            ("more than the limit", 20_000, Some(60_000), (19_800, 19_900)),
            ("the whole limit", 20_000, Some(20_000), (19_800, 19_900)),
            ("a second attempt", 20_000, Some(3_000), (2_800, 2_900)),
            ("a short round", 1_000, Some(1_000), (900, 950)),
        ] {
            assert_eq!(times(&task(limit, left, issued_at), UNIX_EPOCH), want, "{name}");
        }
        let game = Task { observation: Some(json!({})), ..task(20_000, Some(60_000), issued_at) };
        assert_eq!(times(&game, UNIX_EPOCH), (59_800, 59_900), "a game with a time bank");
    }

    #[test]
    fn the_token_of_a_match_leaves_the_time_to_the_clock_of_the_agent() {
        let mut game = task(20_000, Some(60_000), UNIX_EPOCH + MADE - Duration::from_secs(300));
        game.observation = Some(json!({}));
        game.claims.as_mut().unwrap().body_hash = String::new();
        assert_eq!(times(&game, UNIX_EPOCH + MADE + Duration::from_secs(10)), (49_800, 49_900));
    }
}
