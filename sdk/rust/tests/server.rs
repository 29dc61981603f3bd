mod pocket;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use agora_rust::{Agent, Answer, Config, EventMode, Server};
use pocket::Arena;
use serde_json::json;

/// A server that runs until it is dropped.
struct Running {
    agent: Agent,
    host: String,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn start(agent: Agent) -> Running {
        let server = Server::new(agent.clone()).unwrap();
        let url = server.url();
        let host = url.strip_prefix("http://").unwrap().split('/').next().unwrap().into();
        Running { agent, host, thread: Some(thread::spawn(move || server.run().unwrap())) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// What comes back for some bytes on a connection of their own, up to its end.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut reply = String::new();
        let _ = stream.read_to_string(&mut reply); // a reset after the reply is an end, too
        reply
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.agent.close();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// The head of a reply on a connection that stays.
fn head(stream: &mut TcpStream) -> String {
    let (mut head, mut one) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut one).unwrap();
        head.push(one[0]);
    }
    String::from_utf8(head).unwrap()
}

/// The head and the body of one.
fn reply(stream: &mut TcpStream) -> (String, String) {
    let head = head(stream);
    let length = head.lines().find_map(|l| l.strip_prefix("Content-Length: ")).map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn post(authorization: &str, body: &str) -> String {
    let n = body.len();
    format!("POST /agora HTTP/1.1\r\nHost: a\r\nAuthorization: {authorization}\r\nContent-Length: {n}\r\n\r\n{body}")
}

#[test]
fn as_many_connections_as_tasks_are_served_at_once() {
    const TASKS: usize = 8;
    let arena = Arena::start(None);
    let met = Arc::new((Mutex::new(0), Condvar::new()));
    let at_work = met.clone();
    let config = Config { max_concurrent: TASKS, events: EventMode::Off, ..arena.config() };
    let agent = Agent::new(config, move |_, _, _| {
        let (count, changed) = &*at_work;
        let mut count = count.lock().unwrap();
        *count += 1;
        changed.notify_all();
        // Nobody answers before all are at work.
        let (_count, time) = changed.wait_timeout_while(count, Duration::from_secs(8), |n| *n < TASKS).unwrap();
        Ok(Answer::new(if time.timed_out() { "alone" } else { "together" }))
    });
    let server = Running::start(agent.unwrap());
    let idle: Vec<TcpStream> = (0..TASKS).map(|_| server.connect()).collect(); // and others that say nothing
    let mut streams: Vec<TcpStream> = (0..TASKS).map(|_| server.connect()).collect();
    for (i, stream) in streams.iter_mut().enumerate() {
        let (body, authorization) = arena.make(json!({ "match_id": format!("m_{i}") }));
        stream.write_all(post(&authorization, &body).as_bytes()).unwrap();
    }
    for stream in &mut streams {
        let (_, body) = reply(stream);
        assert!(body.contains("together"), "{body}");
    }
    assert_eq!(met.0.lock().unwrap().to_owned(), TASKS);
    drop(idle);
}

#[test]
fn a_connection_carries_many_requests() {
    let arena = Arena::start(None);
    let server = Running::start(arena.agent(|_, task, _| Ok(Answer::new(&task.description))));
    let mut stream = server.connect();
    let (body, authorization) = arena.make(json!({"task": {"description": "first"}}));
    let health = "GET /agora/health HTTP/1.1\r\nHost: a\r\n\r\n";
    // Two at once, one without its body, then one in chunks, and one that asks first.
    stream
        .write_all(format!("{}{health}{}", post(&authorization, &body), health.replace("GET", "HEAD")).as_bytes())
        .unwrap();
    assert!(reply(&mut stream).1.contains("first"));
    assert!(reply(&mut stream).1.contains("max_concurrent"));
    assert!(head(&mut stream).starts_with("HTTP/1.1 200 "));
    let (body, authorization) = arena.make(json!({"round": 2, "task": {"description": "second"}}));
    let (a, b) = body.split_at(7);
    let chunked = format!("POST /agora HTTP/1.1\r\nHost: a\r\nauthorization: {authorization}\r\ntransfer-encoding: Chunked\r\n\r\n7\r\n{a}\r\n{:x};x=y\r\n{b}\r\n0\r\nA: b\r\n\r\n", b.len());
    stream.write_all(chunked.as_bytes()).unwrap();
    assert!(reply(&mut stream).1.contains("second"));
    let (body, authorization) = arena.make(json!({"round": 3, "task": {"description": "third"}}));
    let request = post(&authorization, &body).replace("Host: a", "Host: a\r\nExpect: 100-continue");
    let (first, body) = request.split_at(request.find("\r\n\r\n").unwrap() + 4);
    stream.write_all(first.as_bytes()).unwrap();
    assert!(head(&mut stream).starts_with("HTTP/1.1 100 "));
    stream.write_all(body.as_bytes()).unwrap();
    assert!(reply(&mut stream).1.contains("third"));
    stream.write_all(health.replace("Host: a", "Connection: close").as_bytes()).unwrap();
    assert!(reply(&mut stream).0.contains("Connection: close"));
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn what_is_no_request_gets_a_clear_no() {
    let arena = Arena::start(None);
    let server = Running::start(arena.agent(|_, _, _| Ok(Answer::new("a"))));
    let long = "x".repeat(20 << 10);
    let many = "A: b\r\n".repeat(100);
    for (bytes, status) in [
        ("hello\r\n\r\n".to_string(), "400"),
        ("POST /agora HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n".into(), "400"),
        ("POST /agora HTTP/1.1\r\nContent-Length: -5\r\n\r\n".into(), "400"),
        ("POST /agora HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n".into(), "400"),
        ("POST /agora HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n".into(), "400"),
        ("POST /agora HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".into(), "400"),
        ("POST /agora HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n".into(), "400"),
        (format!("GET /agora/health HTTP/1.1\r\nA: {long}\r\n\r\n"), "431"),
        (format!("GET /agora/health HTTP/1.1\r\n{many}\r\n"), "431"),
        ("GET /agora/health HTTP/1.0\r\n\r\n".into(), "200"),
    ] {
        let got = server.raw(bytes.as_bytes());
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{bytes:.80}: {got}");
        assert!(got.contains("Connection: close"), "{got}");
    }
    let mut stream = server.connect();
    stream.write_all(post("", "whole").trim_end_matches("le").as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(reply(&mut stream).0.starts_with("HTTP/1.1 400 "));
}

#[test]
fn an_idle_connection_makes_room() {
    let arena = Arena::start(None);
    let config = Config { max_concurrent: 1, ..arena.config() };
    let server = Running::start(Agent::new(config, |_, _, _| Ok(Answer::new("a"))).unwrap());
    let mut idle: Vec<TcpStream> = (0..130).map(|_| server.connect()).collect();
    assert!(server.raw(b"GET /agora/health HTTP/1.1\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200 "));
    assert_eq!(idle[0].read(&mut [0]).unwrap(), 0);
    let last = idle.last_mut().unwrap();
    last.write_all(b"GET /agora/health HTTP/1.1\r\n\r\n").unwrap();
    assert!(reply(last).0.starts_with("HTTP/1.1 200 "));
}
