mod pocket;

use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use agora_rust::{connect, Agent, Answer, Config, Context, Error, Events, Task};
use pocket::{Arena, Gate};
use serde_json::{json, Value};

/// An agent that is connected until the test ends.
struct Joined {
    arena: Arc<Arena>,
    agent: Agent,
    log: Arc<Mutex<String>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Joined {
    fn new<H>(arena: &Arc<Arena>, max_concurrent: usize, handler: H) -> Joined
    where
        H: Fn(&Context, &Task, &Events) -> Result<Answer, Error> + Send + Sync + 'static,
    {
        let log = Arc::<Mutex<String>>::default();
        let lines = log.clone();
        let config = Config {
            arena: arena.url.clone() + "/",
            max_concurrent,
            log: Arc::new(move |line| *lines.lock().unwrap() += &(line.to_string() + "\n")),
            ..Config::default()
        };
        let agent = Agent::new(config, handler).unwrap();
        let connected = agent.clone();
        let thread = Some(thread::spawn(move || connected.connect("ak_test")));
        Joined { arena: arena.clone(), agent, log, thread }
    }

    fn logged(&self, part: &str) {
        let log = self.log.lock().unwrap();
        assert!(log.contains(part), "{log}");
    }

    fn ended(&mut self) -> std::io::Result<()> {
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.agent.close();
        self.arena.end();
    }
}

fn answers(arena: &Arena) -> Vec<Value> {
    let parse = |body: &str| serde_json::from_str::<Value>(body).unwrap();
    let value = |v: Value| if v["answer"].is_null() { v } else { v["answer"].clone() };
    arena.pull.lock().unwrap().answers.iter().map(|(_, body)| value(parse(body))).collect()
}

#[test]
fn tasks_are_fetched_and_answered() {
    let arena = Arena::start(None);
    let mut joined = Joined::new(&arena, 1, |_, task, events| {
        events.thinking(&format!("attempt {}", task.attempt));
        Ok(Answer::new(&format!("{} {}", task.description, task.claims.as_ref().unwrap().agent_id)))
    });
    arena.offer(json!({"task": {"description": "Où ? \"\\{"}}));
    arena.until(|p| p.answers.len() == 1);
    assert_eq!(arena.pull.lock().unwrap().answers[0].0, "tk_test");
    assert_eq!(answers(&arena), ["Où ? \"\\{ ag_test"]);
    assert_eq!(arena.events(1)[0].1["type"], "thinking");
    joined.agent.close();
    joined.ended().unwrap();
}

#[test]
fn a_task_delivered_again_gets_the_same_bytes() {
    let (arena, calls) = (Arena::start(None), Arc::<AtomicUsize>::default());
    let counted = calls.clone();
    let _joined = Joined::new(&arena, 1, move |_, _, _| {
        Ok(Answer::new(&format!("answer {}", counted.fetch_add(1, Ordering::SeqCst))))
    });
    for attempt in [1, 2] {
        arena.offer(json!({ "attempt": attempt }));
        arena.until(|p| p.answers.len() == attempt);
    }
    let pull = arena.pull.lock().unwrap();
    assert_eq!(pull.answers[0], pull.answers[1]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn what_a_handler_returns_is_posted_as_its_status() {
    let arena = Arena::start(None);
    let _joined = Joined::new(&arena, 1, |_, task, _| match task.round {
        1 => Err(Error::Timeout),
        2 => Err(Error::RateLimited),
        3 => Err("secret")?,
        _ => Err(Error::Unavailable),
    });
    for n in 1..=4 {
        arena.offer(json!({ "round": n }));
        arena.until(|p| p.answers.len() == n);
    }
    assert_eq!(
        answers(&arena),
        [json!({"status": 408}), json!({"status": 429}), json!({"status": 500}), json!({"status": 503})]
    );
}

// Threat T6.
#[test]
fn a_task_changed_on_its_way_is_not_worked_on() {
    let arena = Arena::start(None);
    let joined = Joined::new(&arena, 1, |_, _, _| panic!("worked on"));
    let (body, authorization) = arena.make(json!({}));
    let (task, token) = (body.replace("Australia", "Austria"), &authorization["Bearer ".len()..]);
    arena.give(200, &format!(r#"{{"task_id": "tk_1", "token": "{token}", "task": {task}}}"#));
    arena.until(|p| p.answers.len() == 1);
    assert_eq!(answers(&arena), [json!({"status": 500})]);
    joined.logged("task refused");
}

#[test]
fn as_many_tasks_are_worked_on_at_once_as_the_agent_registered() {
    let (arena, both) = (Arena::start(None), std::sync::Barrier::new(2));
    arena.registered.store(2, Ordering::SeqCst);
    let _joined = Joined::new(&arena, 3, move |_, _, _| {
        both.wait();
        Ok(Answer::new("a"))
    });
    arena.until(|p| p.polls == 2);
    arena.offer(json!({"match_id": "m_1", "task_id": "tk_1"}));
    arena.offer(json!({"match_id": "m_2", "task_id": "tk_2"}));
    arena.until(|p| p.answers.len() == 2);
    assert_eq!(answers(&arena), ["a", "a"]);
}

#[test]
fn a_handler_that_ignores_its_time_limit_gets_no_task_beside_it() {
    let (arena, release) = (Arena::start(None), Arc::<Gate>::default());
    let released = release.clone();
    let _joined = Joined::new(&arena, 1, move |_, task, _| {
        if task.round == 1 {
            released.pass();
        }
        Ok(Answer::new(&format!("round {}", task.round)))
    });
    arena.offer(json!({"time_limit_seconds": 0.2}));
    arena.until(|p| p.answers.len() == 1);
    arena.offer(json!({"round": 2}));
    for _ in 0..5 {
        // A poll would arrive meanwhile.
        let me = ureq::get(&format!("{}/v1/me", arena.url)).set("Authorization", "Bearer ak_test");
        me.call().unwrap();
    }
    assert_eq!(arena.pull.lock().unwrap().deliveries.len(), 1);
    release.open();
    arena.until(|p| p.answers.len() == 2);
    assert_eq!(answers(&arena), [json!({"status": 408}), json!("round 2")]);
}

#[test]
fn failed_requests_are_repeated() {
    let arena = Arena::start(None);
    arena.give(503, "down");
    arena.give(429, r#"{"code":"rate_limited","detail":"too many polls"}"#);
    arena.give(200, r#"{"task": nonsense"#);
    arena.give(200, r#"{"task": {}}"#);
    arena.give(204, "");
    arena.pull.lock().unwrap().refusals.push_back((500, String::new()));
    arena.offer(json!({}));
    let joined = Joined::new(&arena, 1, |_, _, _| Ok(Answer::new("a")));
    arena.until(|p| p.answers.len() == 1);
    joined.logged("the arena answers 429 rate_limited too many polls");
}

#[test]
fn an_answer_that_comes_too_late_ends_the_task_and_nothing_else() {
    let arena = Arena::start(None);
    let late = (409, r#"{"code":"answer_late","detail":"the deadline has passed"}"#.to_string());
    arena.pull.lock().unwrap().refusals.push_back(late);
    arena.offer(json!({}));
    arena.offer(json!({"round": 2, "task_id": "tk_2"}));
    let joined = Joined::new(&arena, 1, |_, _, _| Ok(Answer::new("a")));
    arena.until(|p| p.answers.len() == 1);
    assert_eq!(arena.pull.lock().unwrap().answers[0].0, "tk_2");
    joined.logged("answer not accepted: the arena answers 409 answer_late the deadline has passed");
}

#[test]
fn a_key_that_is_rejected_ends_connect() {
    let arena = Arena::start(None);
    let error = connect(&arena.url, "ak_other", |_, _, _| Ok(Answer::new("a"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert_eq!(error.to_string(), "the arena rejects this agent key: 401 unauthorized the key is not known");
    let error = connect(&arena.url, "", |_, _, _| Ok(Answer::new("a"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    arena.registered.store(3, Ordering::SeqCst);
    let mut joined = Joined::new(&arena, 5, |_, _, _| Ok(Answer::new("a")));
    arena.until(|p| p.polls == 3);
    arena.give(409, r#"{"code":"agent_has_endpoint"}"#);
    assert!(joined.ended().unwrap_err().to_string().contains("409 agent_has_endpoint"));
}

#[test]
fn closing_leaves_the_match_in_progress() {
    let (arena, entered) = (Arena::start(None), Arc::<Gate>::default());
    let e = entered.clone();
    let mut joined = Joined::new(&arena, 2, move |ctx, _, _| {
        e.open();
        while !ctx.wait(std::time::Duration::from_secs(30)) {}
        Ok(Answer::new("late"))
    });
    arena.offer(json!({}));
    entered.pass();
    joined.agent.close();
    joined.ended().unwrap();
    assert_eq!(answers(&arena), [json!({"status": 503})]);
}
