mod pocket;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use agora_rust::{Agent, Answer, Config, EventMode, Events, Task};
use pocket::{vectors, Arena};
use serde_json::{json, Value};

// Threats E7 and F2, on the agent's side.
#[test]
fn tokens() {
    let v = vectors("tokens.json");
    let arena = Arena::start(Some(v["jwks"].clone()));
    let now = UNIX_EPOCH + Duration::from_secs(v["now"].as_u64().unwrap());
    let config = Config {
        issuer: v["issuer"].as_str().unwrap().into(),
        agent_id: v["agent_id"].as_str().unwrap().into(),
        leeway: Duration::from_secs(v["leeway_seconds"].as_u64().unwrap()),
        now: Arc::new(move || now),
        events: EventMode::Off,
        ..arena.config()
    };
    let agent = Agent::new(config, |_, _, _| Ok(Answer::new("a"))).unwrap();
    for c in v["cases"].as_array().unwrap() {
        let body = c["body"].as_str().or_else(|| v["body"].as_str()).unwrap();
        let reply = agent.handle("POST", "/agora", c["authorization"].as_str().unwrap_or(""), body.as_bytes());
        assert_eq!(reply.status, c["status"], "{}: {}", c["name"], reply.body);
    }
}

#[test]
fn rotation() {
    let v = vectors("tokens.json");
    let steps = v["rotation"]["steps"].as_array().unwrap();
    let arena = Arena::start(Some(steps[0]["jwks"].clone()));
    let now = UNIX_EPOCH + Duration::from_secs(v["now"].as_u64().unwrap());
    let config = Config {
        issuer: v["issuer"].as_str().unwrap().into(),
        now: Arc::new(move || now),
        events: EventMode::Off,
        ..arena.config()
    };
    let agent = Agent::new(config, |_, _, _| Ok(Answer::new("a"))).unwrap();
    let post = |c: &Value| {
        let authorization = c["authorization"].as_str().unwrap();
        agent.handle("POST", "/agora", authorization, v["body"].as_str().unwrap().as_bytes()).status
    };
    for c in steps {
        *arena.jwks.lock().unwrap() = Some(c["jwks"].clone());
        assert_eq!(post(c), c["status"], "{}", c["name"]);
    }
    for c in v["rotation"]["floods"].as_array().unwrap() {
        let before = arena.key_fetches.load(Ordering::SeqCst);
        for _ in 0..c["times"].as_u64().unwrap() {
            assert_eq!(post(c), 401, "{}", c["name"]);
        }
        let looks = arena.key_fetches.load(Ordering::SeqCst) - before;
        assert!(looks as u64 <= c["looks_at_most"].as_u64().unwrap(), "{}: {looks} looks", c["name"]);
    }
}

#[test]
fn tasks() {
    for c in vectors("tasks.json")["cases"].as_array().unwrap() {
        let got = Arc::new(Mutex::new(None));
        let seen = got.clone();
        let config = Config { insecure_skip_tokens: true, ..Config::default() };
        let agent = Agent::new(config, move |_, task, _| {
            *seen.lock().unwrap() = Some(flat(task));
            Ok(Answer::new("a"))
        });
        let reply = agent.unwrap().handle("POST", "/agora", "", c["body"].as_str().unwrap().as_bytes());
        assert_eq!(reply.status, c["status"], "{}: {}", c["name"], reply.body);
        let got = got.lock().unwrap().clone().unwrap_or(Value::Null);
        assert_eq!(got.to_string(), c["task"].to_string(), "{}", c["name"]);
    }
}

fn flat(k: &Task) -> Value {
    let number = |f: f64| if f.fract() == 0.0 { json!(f as i64) } else { json!(f) };
    json!({
        "version": k.version, "league": k.league, "match_id": k.match_id, "round": k.round, "total_rounds": k.total_rounds,
        "description": k.description, "input_format": k.input_format, "output_format": k.output_format, "options": k.options, "observation": k.observation,
        "time_limit_seconds": number(k.time_limit.as_secs_f64()), "max_tokens": k.max_tokens, "rules": k.rules, "opponents": k.opponents,
        "task_id": k.task_id, "attempt": k.attempt,
        "deadline_ms": k.deadline.map(|d| d.duration_since(UNIX_EPOCH).unwrap().as_millis() as u64),
        "previous": k.previous.as_ref().map(|p| json!({
            "outcome": p.outcome, "correct": p.correct, "points": number(p.points), "measured_ms": p.measured.as_millis() as u64,
            "receipt": p.receipt.as_ref().map(|r| json!({
                "sha256": r.sha256, "arrived_at_ms": r.arrived_at.map(|at| at.duration_since(UNIX_EPOCH).unwrap().as_millis() as u64),
            })),
            "error": p.error,
        })),
    })
}

#[test]
fn answers() {
    let arena = Arena::start(None);
    for c in vectors("replies.json")["answers"].as_array().unwrap() {
        let a = &c["answer"];
        let names = |name: &str| a[name].as_array().map(|l| l.iter().map(|n| n.as_str().unwrap().into()).collect());
        let answer = Answer {
            value: a["value"].as_str().unwrap().into(),
            confidence: a["confidence"].as_f64(),
            reasoning: a["reasoning"].as_str().unwrap_or("").into(),
            subagents: names("subagents"),
            tools: names("tools"),
            tokens: a["tokens"].as_i64(),
        };
        let (_, mut reply) = arena.ask(&arena.agent(move |_, _, _| Ok(answer.clone())), json!({}));
        assert!(reply.as_object_mut().unwrap().remove("latency_ms").unwrap().is_u64());
        if reply["confidence"] == json!(1.0) {
            reply["confidence"] = json!(1); // one number, two ways to write it
        }
        assert_eq!(reply, c["reply"], "{}", c["name"]);
    }
}

#[test]
fn events() {
    let v = vectors("events.json");
    let cases = v["cases"].as_array().unwrap().clone();
    let want: Vec<Value> = cases.iter().map(|c| c["message"].clone()).filter(|m| !m.is_null()).collect();
    let arena = Arena::start(None);
    let n = cases.len();
    let agent = arena.agent(move |_, _, events| {
        cases.iter().for_each(|c| report(events, c["method"].as_str().unwrap(), &c["args"]));
        Ok(Answer::new("a"))
    });
    arena.ask(&agent, json!({}));
    let got: Vec<Value> = arena.events(want.len()).into_iter().map(|(_, message)| message).collect();
    assert_eq!(got, want);
    assert_eq!(agent.dropped_events() as usize, n - want.len());
}

fn report(events: &Events, method: &str, args: &Value) {
    let text = |i: usize| args[i].as_str().unwrap();
    let took = |i: usize| Duration::from_millis(args[i].as_u64().unwrap());
    match method {
        "thinking" => events.thinking(text(0)),
        "spawn" => events.spawn(text(0), text(1)),
        "subagent_done" => events.subagent_done(text(0), took(1)),
        "tool_call" => events.tool_call(text(0), args[1].clone()),
        "tool_response" => events.tool_response(args[0].clone(), took(1)),
        "intermediate" => events.intermediate(args[0].clone()),
        "answer" => events.answer(text(0), args[1].as_bool().unwrap()),
        "error" => events.error(text(0), args[1].as_bool().unwrap()),
        other => panic!("no method {other}"),
    }
}
