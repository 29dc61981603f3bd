//! A pocket arena for the tests: it publishes a key, signs tasks, and takes events.
#![allow(dead_code)] // not every test needs all of it

use std::collections::VecDeque;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agora_rust::{Agent, Answer, Config, Context, Error, Events, Task};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{json, Value};

#[path = "../../src/base64url.rs"]
mod base64url;
#[path = "../../src/http.rs"]
mod http;

pub struct Arena {
    pub url: String,
    pub down: AtomicBool,
    pub key_fetches: AtomicUsize,
    pub jwks: Mutex<Option<Value>>,
    /// What an agent that fetches its tasks finds and leaves here.
    pub pull: Mutex<Pull>,
    pub registered: AtomicUsize,      // the agent's max_concurrent
    pub changed: Condvar,             // of pull
    keys: Mutex<Vec<Ed25519KeyPair>>, // the last one signs
    seen: Mutex<Vec<(Value, Value)>>, // claims and message
    grown: Condvar,
}

#[derive(Default)]
pub struct Pull {
    pub deliveries: VecDeque<(u16, String)>, // each poll gets the next, and waits when there is none
    pub refusals: VecDeque<(u16, String)>,   // instead of the reply to the next answers
    pub answers: Vec<(String, String)>,
    pub polls: usize, // waiting now
    ended: bool,
}

impl Arena {
    /// An arena with a key of its own, or with a given key set.
    pub fn start(jwks: Option<Value>) -> Arc<Arena> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let arena = Arc::new(Arena {
            url: format!("http://{}", listener.local_addr().unwrap()),
            down: AtomicBool::new(false),
            key_fetches: AtomicUsize::new(0),
            jwks: Mutex::new(jwks),
            pull: Mutex::default(),
            registered: AtomicUsize::new(1),
            changed: Condvar::new(),
            keys: Mutex::default(),
            seen: Mutex::default(),
            grown: Condvar::new(),
        });
        arena.rotate();
        let own = arena.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                thread::spawn(move || http::serve(&stream, &|_| (), &|request| own.reply(&request)));
            }
        });
        arena
    }

    fn reply(&self, request: &http::Request) -> http::Response {
        if self.down.load(Ordering::SeqCst) {
            return http::Response { status: 503, body: String::new(), allow: "" };
        }
        if request.target.starts_with("/v1/") && request.target != "/v1/stream" {
            let (status, body) = self.fetched(request);
            return http::Response { status, body, allow: "" };
        }
        if request.method == "GET" {
            self.key_fetches.fetch_add(1, Ordering::SeqCst);
            let own = || {
                let keys = self.keys.lock().unwrap();
                let jwk = |(i, k): (usize, &Ed25519KeyPair)| json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": format!("key_{i}"), "x": base64url::encode(k.public_key().as_ref())});
                json!({ "keys": keys.iter().enumerate().map(jwk).collect::<Vec<_>>() })
            };
            return http::Response {
                status: 200,
                body: self.jwks.lock().unwrap().clone().unwrap_or_else(own).to_string(),
                allow: "",
            };
        }
        let token = &request.authorization;
        let claims: Value =
            serde_json::from_slice(&base64url::decode(token.split('.').nth(1).unwrap()).unwrap()).unwrap();
        let mut seen = self.seen.lock().unwrap();
        seen.extend(
            std::str::from_utf8(&request.body)
                .unwrap()
                .lines()
                .map(|line| (claims.clone(), serde_json::from_str(line).unwrap())),
        );
        self.grown.notify_all();
        http::Response { status: 200, body: "{}".into(), allow: "" }
    }

    fn fetched(&self, request: &http::Request) -> (u16, String) {
        if request.authorization != "Bearer ak_test" {
            return (401, r#"{"code":"unauthorized","detail":"the key is not known"}"#.into());
        }
        let mut pull = self.pull.lock().unwrap();
        match (request.method.as_str(), request.target.strip_prefix("/v1/agents/ag_test/tasks")) {
            ("GET", None) if request.target == "/v1/agents/ag_test" => {
                (200, json!({"health": {"max_concurrent": self.registered.load(Ordering::SeqCst)}}).to_string())
            }
            ("GET", None) => (200, r#"{"agent_id":"ag_test","owner_id":"ow_test","scope":"agent"}"#.into()),
            ("GET", Some("?wait=50")) => {
                pull.polls += 1;
                self.changed.notify_all();
                pull = self.changed.wait_while(pull, |p| p.deliveries.is_empty() && !p.ended).unwrap();
                pull.polls -= 1;
                pull.deliveries.pop_front().unwrap_or((204, String::new()))
            }
            ("POST", Some(path)) => {
                let id = path.strip_prefix('/').unwrap().strip_suffix("/answer").unwrap();
                let refusal = pull.refusals.pop_front();
                if refusal.is_none() {
                    pull.answers.push((id.into(), String::from_utf8(request.body.clone()).unwrap()));
                }
                self.changed.notify_all();
                refusal.unwrap_or((202, "{}".into()))
            }
            _ => (404, "{}".into()),
        }
    }

    /// Puts a task with changed members where the next poll finds it.
    pub fn offer(&self, change: Value) {
        let (body, authorization) = self.make(change.clone());
        let token = authorization.strip_prefix("Bearer ").unwrap();
        let id = change["task_id"].as_str().unwrap_or("tk_test");
        self.give(200, &format!(r#"{{"task_id": "{id}", "token": "{token}", "attempt": 1, "task": {body}}}"#));
    }

    /// Sets the reply to the next poll.
    pub fn give(&self, status: u16, body: &str) {
        self.pull.lock().unwrap().deliveries.push_back((status, body.into()));
        self.changed.notify_all();
    }

    /// Waits until the condition holds.
    pub fn until(&self, condition: impl Fn(&Pull) -> bool) {
        let pull = self.pull.lock().unwrap();
        let (_pull, time) = self.changed.wait_timeout_while(pull, Duration::from_secs(30), |p| !condition(p)).unwrap();
        assert!(!time.timed_out(), "waited in vain");
    }

    /// Lets the polls go.
    pub fn end(&self) {
        self.pull.lock().unwrap().ended = true;
        self.changed.notify_all();
    }

    /// Publishes a new key, which signs from now on.
    pub fn rotate(&self) {
        let mut keys = self.keys.lock().unwrap();
        let seed = [keys.len() as u8 + 1; 32];
        keys.push(Ed25519KeyPair::from_seed_unchecked(&seed).unwrap());
    }

    /// The events, as soon as there are n.
    pub fn events(&self, n: usize) -> Vec<(Value, Value)> {
        let seen = self.seen.lock().unwrap();
        let (seen, time) = self.grown.wait_timeout_while(seen, Duration::from_secs(30), |s| s.len() < n).unwrap();
        assert!(!time.timed_out(), "{} events of {n}", seen.len());
        seen.clone()
    }

    pub fn config(&self) -> Config {
        Config {
            arena: self.url.clone(),
            addr: "127.0.0.1:0".into(),
            any_agent: true,
            log: Arc::new(|_| ()),
            ..Config::default()
        }
    }

    pub fn agent<H>(&self, handler: H) -> Agent
    where
        H: Fn(&Context, &Task, &Events) -> Result<Answer, Error> + Send + Sync + 'static,
    {
        Agent::new(self.config(), handler).unwrap()
    }

    /// A task with changed members, and its Authorization header.
    pub fn make(&self, change: Value) -> (String, String) {
        let mut task = json!({
            "version": "1.0", "league": "trivia", "match_id": "m_test", "round": 1, "total_rounds": null,
            "task": {"description": "What is the capital of Australia?", "input_format": "string", "output_format": "string"},
            "time_limit_seconds": 10, "max_tokens": 500, "rules": [], "opponent_count": 1, "task_id": "tk_test", "attempt": 1,
        });
        for (name, value) in change.as_object().unwrap() {
            task[name] = value.clone();
        }
        let body = task.to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let keys = self.keys.lock().unwrap();
        let header = json!({"alg": "EdDSA", "kid": format!("key_{}", keys.len() - 1), "typ": "aap-task+jwt"});
        let claims = json!({
            "agent_id": "ag_test", "sub": "ag_test", "aud": "ag_test", "iss": self.url, "iat": now - 5, "exp": now + 15, "expires_at": now + 15,
            "jti": "jt_test", "match_id": task["match_id"], "round": task["round"],
            "bh": base64url::encode(ring::digest::digest(&ring::digest::SHA256, body.as_bytes()).as_ref()),
        });
        let part = |v: &Value| base64url::encode(v.to_string().as_bytes());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let sig = keys.last().unwrap().sign(signed.as_bytes());
        (body, format!("Bearer {signed}.{}", base64url::encode(sig.as_ref())))
    }

    /// Gives a task to an agent.
    pub fn ask(&self, agent: &Agent, change: Value) -> (u16, Value) {
        let (body, authorization) = self.make(change);
        let reply = agent.handle("POST", "/agora", &authorization, body.as_bytes());
        (reply.status, serde_json::from_str(&reply.body).unwrap())
    }
}

/// A file of sdk/vectors, with the texts that stand for long ones.
pub fn vectors(name: &str) -> Value {
    let path = format!("{}/../vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    expand(&serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

fn expand(v: &Value) -> Value {
    match v {
        Value::Array(items) => items.iter().map(expand).collect(),
        Value::Object(m) if m.contains_key("repeat") => {
            m["repeat"].as_str().unwrap().repeat(m["times"].as_u64().unwrap() as usize).into()
        }
        Value::Object(m) if m.contains_key("parts") => m["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| expand(p).as_str().unwrap().to_string())
            .collect::<String>()
            .into(),
        Value::Object(m) => m.iter().map(|(name, member)| (name.clone(), expand(member))).collect(),
        other => other.clone(),
    }
}

/// A door that opens once, and stays open.
#[derive(Default)]
pub struct Gate(Mutex<bool>, Condvar);

impl Gate {
    pub fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    pub fn pass(&self) {
        let open = self.0.lock().unwrap();
        let (open, _) = self.1.wait_timeout_while(open, Duration::from_secs(30), |open| !*open).unwrap();
        assert!(*open, "waited in vain");
    }
}
