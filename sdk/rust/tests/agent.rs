mod pocket;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use agora_rust::{Agent, Answer, Config, Error, EventMode, Server, WhenFull};
use pocket::{Arena, Gate};
use serde_json::{json, Value};

#[test]
fn what_a_handler_returns_chooses_the_status() {
    let arena = Arena::start(None);
    let agent = arena.agent(|_, task, _| match task.description.as_str() {
        "408" => Err(Error::Timeout),
        "408 too" => Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "model"))?,
        "429" => Err(Error::RateLimited),
        "503" => Err(Error::Unavailable),
        "panic" => panic!("on purpose"),
        _ => Err("secret detail")?,
    });
    for (description, status) in
        [("408", 408), ("408 too", 408), ("429", 429), ("503", 503), ("panic", 500), ("other", 500)]
    {
        let got = arena.ask(&agent, json!({"match_id": description, "task": {"description": description}}));
        assert_eq!(got.0, status, "{description}");
        assert!(!got.1.to_string().contains("secret"));
    }
}

#[test]
fn repeated_deliveries_get_one_answer() {
    let arena = Arena::start(None);
    let (entered, release, calls) = (Arc::<Gate>::default(), Arc::<Gate>::default(), Arc::<AtomicUsize>::default());
    let (e, r, c) = (entered.clone(), release.clone(), calls.clone());
    let config = Config { max_concurrent: 1, events: EventMode::Off, ..arena.config() };
    let agent = Agent::new(config, move |_, _, _| {
        let n = c.fetch_add(1, Ordering::SeqCst) + 1;
        e.open();
        r.pass();
        Ok(Answer::new(&format!("answer {n}")))
    });
    let agent = agent.unwrap();
    thread::scope(|s| {
        let first = s.spawn(|| arena.ask(&agent, json!({})));
        entered.pass();
        let second = s.spawn(|| arena.ask(&agent, json!({"attempt": 2}))); // no slot is free: only joining can succeed
        release.open();
        for reply in [first.join().unwrap(), second.join().unwrap(), arena.ask(&agent, json!({"attempt": 3}))] {
            assert_eq!(reply.1["answer"], "answer 1");
        }
    });
    for n in 2..300 {
        assert_eq!(arena.ask(&agent, json!({ "round": n })).1["answer"], format!("answer {n}"));
    }
}

#[test]
fn a_task_that_asks_for_another_move_is_another_question() {
    let arena = Arena::start(None);
    let agent = arena.agent(|_, task, _| {
        let you = task.observation.as_ref().and_then(|o| o["you"].as_str()).unwrap_or("");
        let nth = usize::from(!task.refused().is_empty());
        Ok(Answer::new(&format!("{you}{}", task.legal_moves()[nth])))
    });
    let task = json!({"description": "d", "options": ["1", "2"], "observation": {"you": "x"}});
    for (previous, want) in [(json!(null), "x1"), (json!({"error": "column 1 is full"}), "x2"), (json!(null), "x1")] {
        let (_, reply) = arena.ask(&agent, json!({"task": task, "previous": previous}));
        assert_eq!(reply["answer"], want);
    }
}

#[test]
fn a_failure_is_tried_again() {
    let arena = Arena::start(None);
    let agent = arena.agent(|_, task, _| if task.attempt == 1 { Err("no luck")? } else { Ok(Answer::new("luck")) });
    assert_eq!(arena.ask(&agent, json!({})).0, 500);
    assert_eq!(arena.ask(&agent, json!({"attempt": 2})).0, 200);
}

#[test]
fn a_task_too_many() {
    for (when_full, status) in [(WhenFull::Unavailable, 503), (WhenFull::RateLimited, 429)] {
        let arena = Arena::start(None);
        let (entered, release) = (Arc::<Gate>::default(), Arc::<Gate>::default());
        let (e, r) = (entered.clone(), release.clone());
        let config = Config { max_concurrent: 1, when_full, ..arena.config() };
        let agent = Agent::new(config, move |_, _, _| {
            e.open();
            r.pass();
            Ok(Answer::new("a"))
        });
        let agent = agent.unwrap();
        thread::scope(|s| {
            let first = s.spawn(|| arena.ask(&agent, json!({"match_id": "m_1"})));
            entered.pass();
            assert_eq!(arena.ask(&agent, json!({"match_id": "m_2"})).0, status);
            release.open();
            assert_eq!(first.join().unwrap().0, 200);
        });
        assert_eq!(arena.ask(&agent, json!({"match_id": "m_2", "attempt": 2})).0, 200);
    }
}

#[test]
fn the_time_limit_ends_the_context_and_a_handler_that_hears_nothing() {
    let arena = Arena::start(None);
    let release = Arc::<Gate>::default();
    let r = release.clone();
    let agent = arena.agent(move |ctx, task, _| {
        if task.description == "deaf" {
            r.pass();
        } else {
            assert!(ctx.wait(Duration::from_secs(30)));
            ctx.check()?;
        }
        Ok(Answer::new("late"))
    });
    for description in ["deaf", "hears"] {
        let task = json!({"match_id": description, "task": {"description": description}, "time_limit_seconds": 1});
        assert_eq!(arena.ask(&agent, task).0, 408);
    }
    release.open();
}

#[test]
fn keys_are_looked_for_when_they_are_needed() {
    let arena = Arena::start(None);
    arena.down.store(true, Ordering::SeqCst);
    let agent = arena.agent(|_, _, _| Ok(Answer::new("a")));
    assert_eq!(arena.ask(&agent, json!({})).0, 503);
    arena.down.store(false, Ordering::SeqCst);
    assert_eq!(arena.ask(&agent, json!({})).0, 200);
    arena.rotate();
    assert_eq!(arena.ask(&agent, json!({"round": 2})).0, 200);
    agent.set_agent_id("ag_later");
    assert_eq!(arena.ask(&agent, json!({"round": 3})).0, 401);
}

/// An agent that does not know its id takes no task until it does. Threat T6.
#[test]
fn an_agent_without_an_id_takes_no_task() {
    let arena = Arena::start(None);
    let agent = Agent::new(Config { any_agent: false, ..arena.config() }, |_, _, _| Ok(Answer::new("a"))).unwrap();
    assert_eq!(arena.ask(&agent, json!({})).0, 401);
    agent.set_agent_id("ag_test");
    assert_eq!(arena.ask(&agent, json!({})).0, 200);
}

#[test]
fn events_go_under_the_token_of_their_round() {
    let arena = Arena::start(None);
    let agent = arena.agent(|_, task, events| {
        events.spawn("Librarian", "looks");
        events.spawn("Librarian", "looks again");
        events.tool_call("search", json!({ "round": task.round }));
        Ok(Answer::new("a"))
    });
    let (_, reply) = arena.ask(&agent, json!({}));
    assert_eq!((&reply["subagents_used"], &reply["tools_used"]), (&json!(["Librarian"]), &json!(["search"])));
    arena.events(3);
    arena.ask(&agent, json!({"round": 2}));
    let rounds: Vec<Value> = arena.events(6).iter().map(|(claims, _)| claims["round"].clone()).collect();
    assert_eq!(json!(rounds), json!([1, 1, 1, 2, 2, 2]));
    assert_eq!(agent.dropped_events(), 0);
}

#[test]
fn an_arena_that_refuses_events_costs_no_answer() {
    let arena = Arena::start(None);
    let own = arena.clone();
    let agent = arena.agent(move |_, _, events| {
        own.down.store(true, Ordering::SeqCst);
        events.thinking("to nobody");
        Ok(Answer::new("a"))
    });
    assert_eq!(arena.ask(&agent, json!({})).0, 200);
    agent.close();
    assert_eq!(agent.dropped_events(), 1);
}

#[test]
fn a_server_carries_it() {
    let arena = Arena::start(None);
    let sick = Arc::new(AtomicBool::new(false));
    let asked = sick.clone();
    let config = Config {
        capabilities: vec!["trivia".into(), "debate".into()],
        max_concurrent: 7,
        health: Some(Arc::new(move || !asked.load(Ordering::SeqCst))),
        ..arena.config()
    };
    let agent = Agent::new(config, |_, _, _| Ok(Answer::new("Canberra"))).unwrap();
    let server = Server::new(agent.clone()).unwrap();
    let url = server.url();
    let running = thread::spawn(move || server.run());
    let get = |path: &str| call("GET", &url, path, "", "").0;
    let want = json!({"status": "ok", "version": "1.0", "capabilities": ["trivia", "debate"], "avg_latency_ms": 0, "max_concurrent": 7});
    assert_eq!(call("GET", &url, "/health", "", ""), (200, want));
    assert_eq!((get(""), get("/elsewhere"), call("POST", &url, "/health", "", "").0), (405, 404, 405));
    let (body, authorization) = arena.make(json!({}));
    let (status, reply) = call("POST", &url, "", &authorization, &body);
    assert_eq!((status, &reply["answer"]), (200, &json!("Canberra")));
    assert_eq!(call("POST", &url, "", "Bearer x.y.z", &body).0, 401);
    assert_eq!(call("POST", &url, "", &authorization, &" ".repeat(3 << 20)).0, 413);
    sick.store(true, Ordering::SeqCst);
    assert_eq!(get("/health"), 503);
    agent.close();
    running.join().unwrap().unwrap();
    assert_eq!(arena.ask(&agent, json!({"round": 2})).0, 503);
}

/// One request on a connection of its own.
fn call(method: &str, url: &str, path: &str, authorization: &str, body: &str) -> (u16, Value) {
    let (host, base) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let head = format!(
        "{method} /{base}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: {authorization}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

#[test]
fn a_wrong_configuration_is_refused() {
    let good = || Config { arena: "http://127.0.0.1:1".into(), log: Arc::new(|_| ()), ..Config::default() };
    let wrong = [
        Config { arena: "".into(), ..good() },
        Config { arena: "arena.example".into(), ..good() },
        Config { arena: "http://".into(), ..good() },
        Config { path: "agora".into(), ..good() },
        Config { path: "/".into(), ..good() },
        Config { max_concurrent: 0, ..good() },
    ];
    for config in wrong {
        assert!(Agent::new(config, |_, _, _| Ok(Answer::default())).is_err());
    }
}

#[test]
fn what_goes_wrong_is_logged_without_the_token() {
    let arena = Arena::start(None);
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let log = lines.clone();
    let config = Config {
        log: Arc::new(move |line| log.lock().unwrap().push(line.into())),
        agent_id: "ag_other".into(),
        ..arena.config()
    };
    let agent = Agent::new(config, |_, _, _| Ok(Answer::default())).unwrap();
    let (body, authorization) = arena.make(json!({}));
    assert_eq!(agent.handle("POST", "/agora", &authorization, body.as_bytes()).status, 401);
    assert_eq!(*lines.lock().unwrap(), ["task refused: it is for another agent"]);
}
