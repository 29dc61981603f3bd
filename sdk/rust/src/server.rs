use std::io::{self, Read};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tiny_http::{Header, Request, Response};

use crate::agent::{failure, MAX_BODY};
use crate::{Agent, Answer, Config, Context, Error, Events, Reply, Task};

const DRAIN: u64 = 8 << 20; // bytes of a body too large that are passed over, so that its sender reads why
const LOOK: Duration = Duration::from_millis(100); // how often the server looks whether the agent is closed

/// An agent on a port. It listens when it is made.
pub struct Server {
    agent: Agent,
    http: Arc<tiny_http::Server>,
}

impl Server {
    /// Listens on the `addr` of the agent's configuration.
    pub fn new(agent: Agent) -> io::Result<Server> {
        let addr = &agent.config().addr;
        let addr = if addr.starts_with(':') { format!("0.0.0.0{addr}") } else { addr.clone() };
        let http = tiny_http::Server::http(addr).map_err(|e| io::Error::new(io::ErrorKind::Other, e))?;
        Ok(Server { agent, http: Arc::new(http) })
    }

    /// The endpoint, as seen from this machine.
    pub fn url(&self) -> String {
        let addr = self.http.server_addr().to_ip().map_or_else(String::new, |a| a.to_string());
        format!("http://{addr}{}", self.agent.config().path)
    }

    /// Serves until the agent is closed.
    pub fn run(&self) -> io::Result<()> {
        while !self.agent.closed() {
            if let Some(request) = self.http.recv_timeout(LOOK)? {
                let agent = self.agent.clone();
                thread::spawn(move || answer(&agent, request));
            }
        }
        Ok(())
    }
}

fn answer(agent: &Agent, mut request: Request) {
    let mut body = Vec::new();
    let reply = match request.as_reader().take(MAX_BODY as u64 + 1).read_to_end(&mut body) {
        Err(_) => failure(400, "the body was cut"),
        Ok(_) if request.body_length().map_or(false, |n| n != body.len() && n <= MAX_BODY) => {
            failure(400, "the body was cut")
        }
        Ok(_) => {
            let authorization = request.headers().iter().find(|h| h.field.equiv("Authorization"));
            let authorization = authorization.map_or("", |h| h.value.as_str());
            agent.handle(request.method().as_str(), request.url(), authorization, &body)
        }
    };
    if reply.status == 413 {
        let _ = io::copy(&mut request.as_reader().take(DRAIN), &mut io::sink());
    }
    let response = response(&reply, request.method().as_str());
    let _ = request.respond(response); // a client that left is no failure of ours
}

fn response(reply: &Reply, method: &str) -> Response<io::Cursor<Vec<u8>>> {
    let header = |name: &str, value: &str| Header::from_bytes(name, value).ok();
    let mut response = Response::from_string(&reply.body).with_status_code(reply.status);
    let allow = match (reply.status, method) {
        (405, "POST") => header("Allow", "GET, HEAD"),
        (405, _) => header("Allow", "POST"),
        _ => None,
    };
    for field in header("Content-Type", "application/json").into_iter().chain(allow) {
        response.add_header(field);
    }
    response
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
