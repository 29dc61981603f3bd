use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{self, Request, Response};
use crate::{Agent, Answer, Config, Context, Error, Events, Task};

const SPARE_CONNECTIONS: usize = 128; // beside those that max_concurrent tasks need
const BREATH: Duration = Duration::from_millis(50); // when the system has nothing left for one more connection

/// An agent on a port. It listens when it is made.
pub struct Server {
    agent: Agent,
    listener: TcpListener,
    addr: SocketAddr,
}

impl Server {
    /// Listens on the `addr` of the agent's configuration.
    pub fn new(agent: Agent) -> io::Result<Server> {
        let addr = &agent.config().addr;
        let addr = if addr.starts_with(':') { format!("0.0.0.0{addr}") } else { addr.clone() };
        let listener = TcpListener::bind(addr)?;
        let addr = listener.local_addr()?;
        Ok(Server { agent, listener, addr })
    }

    /// The endpoint, as seen from this machine.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.addr, self.agent.config().path)
    }

    /// Serves until the agent is closed, each connection in a thread of its own. When there are too many, one that is
    /// idle has to go; when none is, the next one waits.
    pub fn run(&self) -> io::Result<()> {
        let room = Arc::new(Room::new(2 * self.agent.config().max_concurrent + SPARE_CONNECTIONS));
        thread::scope(|scope| {
            scope.spawn(|| {
                self.agent.wait_closed();
                room.close();
                let _ = TcpStream::connect(self.near()); // wakes the loop below
            });
            while !self.agent.closed() {
                let stream = match self.listener.accept() {
                    Ok((stream, _)) => stream,
                    Err(_) => {
                        thread::sleep(BREATH); // it left again, or there are too many files
                        continue;
                    }
                };
                let seat = match room.enter(&stream) {
                    Some(seat) => seat,
                    None => continue, // closed
                };
                let (agent, room) = (&self.agent, &room);
                let serve = move || {
                    // A client that left is no failure of ours.
                    let _ = http::serve(&stream, &|idle| room.mark(seat, idle), &|request| answer(agent, request));
                    room.leave(seat);
                };
                if thread::Builder::new().spawn_scoped(scope, serve).is_err() {
                    room.leave(seat);
                }
            }
        });
        Ok(())
    }

    /// The address at which this machine reaches the listener.
    fn near(&self) -> SocketAddr {
        let ip = match self.addr.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.addr.port())
    }
}

/// The open connections.
struct Room {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    closed: bool,
    next: u64,
    open: HashMap<u64, Seat>,
}

struct Seat {
    stream: TcpStream,
    idle: Option<Instant>, // since then it waits for a request
}

impl Room {
    fn new(limit: usize) -> Room {
        Room { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits for room and takes it; `None` when the server is closed or the connection has gone.
    fn enter(&self, stream: &TcpStream) -> Option<u64> {
        let seat = Seat { stream: stream.try_clone().ok()?, idle: Some(Instant::now()) };
        let mut s = self.state.lock().unwrap();
        while !s.closed && s.open.len() >= self.limit {
            if let Some(oldest) = s.open.values().filter(|seat| seat.idle.is_some()).min_by_key(|seat| seat.idle) {
                let _ = oldest.stream.shutdown(Shutdown::Both); // it is gone already, or goes
            }
            s = self.changed.wait(s).unwrap();
        }
        if s.closed {
            return None;
        }
        s.next += 1;
        let no = s.next;
        s.open.insert(no, seat);
        Some(no)
    }

    fn mark(&self, no: u64, idle: bool) {
        let mut s = self.state.lock().unwrap();
        let closed = s.closed;
        if let Some(seat) = s.open.get_mut(&no) {
            // One that waits for its first request waits since it was let in.
            seat.idle = if idle { seat.idle.or_else(|| Some(Instant::now())) } else { None };
            if idle && closed {
                let _ = seat.stream.shutdown(Shutdown::Both);
            }
        }
        self.changed.notify_all(); // a waiting caller looks for an idle one
    }

    fn leave(&self, no: u64) {
        self.state.lock().unwrap().open.remove(&no);
        self.changed.notify_all();
    }

    /// Ends the connections: the idle ones now, the others with their reply.
    fn close(&self) {
        let mut s = self.state.lock().unwrap();
        s.closed = true;
        for seat in s.open.values().filter(|seat| seat.idle.is_some()) {
            let _ = seat.stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }
}

fn answer(agent: &Agent, request: Request) -> Response {
    let reply = agent.handle(&request.method, &request.target, &request.authorization, &request.body);
    let allow = match (reply.status, request.method.as_str()) {
        (405, "POST") => "GET, HEAD",
        (405, _) => "POST",
        _ => "",
    };
    Response { status: reply.status, body: reply.body, allow }
}

/// Makes an agent, listens on `config.addr` and serves until the process ends.
pub fn serve<H>(config: Config, handler: H) -> io::Result<()>
where
    H: Fn(&Context, &Task, &Events) -> Result<Answer, Error> + Send + Sync + 'static,
{
    let agent = Agent::new(config, handler).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let server = Server::new(agent)?;
    (server.agent.config().log)(&format!("agent listens at {}", server.url()));
    server.run()
}
