use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

pub(crate) const MAX_BODY: usize = 1 << 20; // the most that is read of a body; of a longer one, a byte more
const DRAIN: usize = 8 << 20; // bytes of a body too large that are passed over, so that its sender reads why
const MAX_HEAD: usize = 16 << 10;
const MAX_FIELDS: usize = 64;
const IDLE: Duration = Duration::from_secs(60); // between two requests
const HEAD_TIME: Duration = Duration::from_secs(10); // from its first byte to its last
const BODY_TIME: Duration = Duration::from_secs(30);
const WRITE_TIME: Duration = Duration::from_secs(10);

/// What of a request matters here.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    /// "" when there is none.
    pub(crate) authorization: String,
    pub(crate) body: Vec<u8>,
}

/// A reply with a body of JSON.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// Methods for the field Allow; "": no such field.
    pub(crate) allow: &'static str,
}

/// What the first lines say about the rest.
struct Head {
    request: Request,
    length: Option<usize>,
    chunked: bool,
    expects: bool, // 100-continue
    keep: bool,    // the connection, for another request
}

/// Why a request gets no answer of the agent, but this status; 0: no caller waits for one.
type Broken = u16;

/// One client's connection (RFC 9112).
struct Connection<'a> {
    stream: &'a TcpStream,
    read: Vec<u8>, // and not used yet
}

/// Serves the requests of a connection, one after the other, until either side ends it. `idle` is called when the wait for
/// a request begins (true) and ends (false).
pub(crate) fn serve(stream: &TcpStream, idle: &dyn Fn(bool), handle: &dyn Fn(Request) -> Response) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(WRITE_TIME))?;
    let mut c = Connection { stream, read: Vec::new() };
    loop {
        idle(true);
        if c.read.is_empty() && c.more(Instant::now() + IDLE)? == 0 {
            return Ok(());
        }
        idle(false);
        let (response, head_only, keep) = match c.request() {
            Ok((request, keep)) => {
                let head_only = request.method == "HEAD";
                (handle(request), head_only, keep)
            }
            Err(0) => return Ok(()),
            Err(status) => {
                let body = format!("{{\"error\":{:?}}}", reason(status));
                (Response { status, body, allow: "" }, false, false)
            }
        };
        c.respond(&response, head_only, keep)?;
        if !keep {
            return Ok(());
        }
    }
}

impl Connection<'_> {
    /// Reads what has come, and waits for it when nothing has; 0: the client has ended.
    fn more(&mut self, until: Instant) -> io::Result<usize> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut part = [0; 16 << 10];
        let n = self.stream.read(&mut part)?;
        self.read.extend_from_slice(&part[..n]);
        Ok(n)
    }

    /// As `more`, where an end is a break.
    fn need(&mut self, until: Instant) -> Result<(), Broken> {
        match self.more(until) {
            Ok(0) => Err(400),
            Ok(_) => Ok(()),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Err(408),
            Err(_) => Err(0),
        }
    }

    /// The next request, and whether another may follow it.
    fn request(&mut self) -> Result<(Request, bool), Broken> {
        let until = Instant::now() + HEAD_TIME;
        let mut head = loop {
            match parse(&self.read)? {
                Some((head, size)) => {
                    self.read.drain(..size);
                    break head;
                }
                None if self.read.len() >= MAX_HEAD => return Err(431),
                None => self.need(until)?,
            }
        };
        if head.expects {
            // Who has gone is missed at once, when the body is read.
            let _ = (&mut &*self.stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let until = Instant::now() + BODY_TIME;
        let mut body = Vec::new();
        match (head.chunked, head.length) {
            (true, _) => while self.chunk(&mut body, until)? {},
            (false, length) => self.part(&mut body, length.unwrap_or(0), until)?,
        }
        head.keep &= body.len() <= MAX_BODY;
        head.request.body = body;
        Ok((head.request, head.keep))
    }

    /// Moves n bytes to the body; those that are too many are passed over.
    fn part(&mut self, body: &mut Vec<u8>, n: usize, until: Instant) -> Result<(), Broken> {
        let mut left = n.min(DRAIN);
        while left > 0 {
            if self.read.is_empty() {
                self.need(until)?;
            }
            let some = left.min(self.read.len());
            let room = (MAX_BODY + 1 - body.len()).min(some);
            body.extend_from_slice(&self.read[..room]);
            self.read.drain(..some);
            left -= some;
        }
        Ok(())
    }

    /// Moves the next chunk to the body; false: it was the last one.
    fn chunk(&mut self, body: &mut Vec<u8>, until: Instant) -> Result<bool, Broken> {
        let n = loop {
            match httparse::parse_chunk_size(&self.read) {
                Ok(httparse::Status::Complete((size, n))) => {
                    self.read.drain(..size);
                    break n;
                }
                Ok(_) if self.read.len() < MAX_HEAD => self.need(until)?,
                _ => return Err(400),
            }
        };
        if n == 0 {
            // Nobody needs the trailer: the lines up to the empty one.
            while self.line(until)? > 0 {}
            return Ok(false);
        }
        self.part(body, usize::try_from(n).map_err(|_| 413u16)?, until)?;
        if body.len() > MAX_BODY {
            return Ok(false); // the rest is not read, and the connection ends
        }
        match self.line(until)? {
            0 => Ok(true),
            _ => Err(400),
        }
    }

    /// Skips a line and returns its length, the end of the line not counted.
    fn line(&mut self, until: Instant) -> Result<usize, Broken> {
        loop {
            if let Some(end) = self.read.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return line.strip_suffix(b"\r\n").map(<[u8]>::len).ok_or(400);
            }
            if self.read.len() >= MAX_HEAD {
                return Err(400);
            }
            self.need(until)?;
        }
    }

    fn respond(&mut self, r: &Response, head_only: bool, keep: bool) -> io::Result<()> {
        let allow = if r.allow.is_empty() { String::new() } else { format!("Allow: {}\r\n", r.allow) };
        let end = if keep { "" } else { "Connection: close\r\n" };
        let head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{allow}{end}\r\n",
            r.status,
            reason(r.status),
            r.body.len()
        );
        let body = if head_only { "" } else { &r.body };
        (&mut &*self.stream).write_all([head.as_bytes(), body.as_bytes()].concat().as_slice())
    }
}

/// The head at the start of data and its size; `None` when it is not whole yet.
fn parse(data: &[u8]) -> Result<Option<(Head, usize)>, Broken> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let size = match head.parse(data) {
        Ok(httparse::Status::Complete(size)) => size,
        Ok(_) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(431),
        Err(_) => return Err(400),
    };
    let all = |name: &'static str| {
        head.headers
            .iter()
            .filter(move |f| f.name.eq_ignore_ascii_case(name))
            .map(|f| std::str::from_utf8(f.value).unwrap_or("?").trim())
    };
    let has = |name, word: &str| all(name).any(|v| v.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)));
    // Two readings of one length are how requests are smuggled.
    let lengths: Vec<&str> = all("Content-Length").collect();
    let length = match lengths[..] {
        [] => None,
        [digits] if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().map_err(|_| 400u16)?),
        _ => return Err(400),
    };
    let encodings: Vec<&str> = all("Transfer-Encoding").collect();
    let chunked = match encodings[..] {
        [] => false,
        [word] if word.eq_ignore_ascii_case("chunked") && length.is_none() && head.version == Some(1) => true,
        _ => return Err(400),
    };
    let keep = head.version == Some(1) && !has("Connection", "close");
    let expects = has("Expect", "100-continue");
    let authorization = all("Authorization").next().unwrap_or("").to_string();
    let request = Request {
        method: head.method.unwrap_or("").into(),
        target: head.path.unwrap_or("").into(),
        authorization,
        body: Vec::new(),
    };
    Ok(Some((Head { request, length, chunked, expects, keep }, size)))
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
