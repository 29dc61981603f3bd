package protocol

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// The limits of every request to an untrusted endpoint.
const (
	// MaxBody is the limit for the body of a reply, unless a Request sets a lower one.
	MaxBody = 64 << 10
	// MaxHeader is the most that is read of a reply's head, 1xx included.
	MaxHeader = 16 << 10
	// UserAgent names the arena in every request.
	UserAgent = "AgoraArena/1.0"
	// grace is how long a reply that is already late may still come, so that its
	// owner reads "late by 7 ms" and not "no answer". It never counts.
	grace = 25 * time.Millisecond
)

// ClientOptions are the settings of a Client. Zero members take the defaults.
type ClientOptions struct {
	ExtraRoots      []*x509.Certificate // trusted beside the system's; verification cannot be switched off
	MaxConnsPerHost int                 // connections to one host and port at a time, default 16
	DialTimeout     time.Duration       // resolving and connecting, default 3 s
	TLSTimeout      time.Duration       // default 5 s
	SetupTimeout    time.Duration       // everything before the request is written, waiting for a free connection included; default 10 s
	Dial            Dial                // connects to an address that the guard has let through; nil: the network
	Now             func() time.Time    // must carry a monotonic reading, as time.Now does
}

// Dial connects to an address with a literal IP address.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Client makes requests to agents' endpoints: HTTP/1.1, no proxy, no redirect,
// no decompression, no cookies, no upgrade, and nothing is ever sent twice
// (threats S3, S4, S6, R1 to R4, R9 to R11). Replies are read by net/http's
// ReadResponse; connections are the Client's own, because a connection of net/http
// takes two goroutines while an agent thinks, and two more turns of the scheduler
// before a request leaves. It is safe for concurrent use.
type Client struct {
	pool    *pool
	setup   time.Duration
	now     func() time.Time
	started time.Time
	hosts   *hosts
	replied *atomic.Int64 // nanoseconds from started to the last reply from another machine
}

// NewClient makes a Client whose every connection passes g.
func NewClient(g *Guard, o ClientOptions) (*Client, error) {
	roots, err := rootsWith(o.ExtraRoots)
	if err != nil {
		return nil, fmt.Errorf("protocol client: %w", err)
	}
	limits := newHosts(o.Now, g.opened)
	control := func(ctx context.Context, network, address string, raw syscall.RawConn) error {
		if err := g.control(network, address, raw); err != nil {
			return err
		}
		if !limits.take(standingIn(ctx), addressOf(address)) {
			return errBusy
		}
		return nil
	}
	dial := (&net.Dialer{Timeout: cmp.Or(o.DialTimeout, 3*time.Second), ControlContext: control, Resolver: g.resolver}).DialContext
	if o.Dial != nil {
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if err := control(ctx, network+"4", address, nil); err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.DialTimeout, 3*time.Second))
			defer cancel()
			return o.Dial(ctx, network, address)
		}
	}
	return &Client{
		pool: newPool(&pool{
			dial: dial, // there is no proxy: it would be all that the guard sees
			tls:  &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},

			tlsLimit: cmp.Or(o.TLSTimeout, 5*time.Second), perHost: cmp.Or(o.MaxConnsPerHost, 16),
		}),
		setup: cmp.Or(o.SetupTimeout, 10*time.Second),
		now:   o.Now, hosts: limits, started: o.Now(), replied: new(atomic.Int64),
	}, nil
}

// LastReply returns when an endpoint on another machine last replied, whatever it
// said; before the first reply, when the Client was made.
func (c *Client) LastReply() time.Time { return c.started.Add(time.Duration(c.replied.Load())) }

// Close ends what is being warmed and drops idle connections. Call it when no Do
// is running any more; nothing is warmed after it.
func (c *Client) Close() {
	c.pool.stop()
	c.pool.warming.Wait()
	c.CloseIdle()
}

// CloseIdle drops idle connections.
func (c *Client) CloseIdle() { c.pool.close() }

// Warm opens a connection, TLS included, for the next request to an endpoint, and
// does not wait for it. So no request of a round leaves later than the others
// because its agent is far away. The request itself reports errors.
func (c *Client) Warm(endpoint string) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return
	}
	to, err := targetOf(u)
	if err != nil {
		return
	}
	if c.hosts.standingOf(to, false) != proven {
		return // the request itself is counted
	}
	if dial := c.pool.warm(to); dial != nil {
		c.pool.warming.Go(func() {
			ctx, cancel := context.WithTimeout(c.pool.life, c.setup)
			defer cancel()
			dial(ctx)
		})
	}
}

// Request is one request to an endpoint. Both bodies are JSON, unless Stream is
// set.
type Request struct {
	Method  string
	URL     string
	Token   string // bearer token, "" none
	Header  string // one more header, as "Name: value"; "" none
	Body    []byte // nil: none
	MaxBody int    // of the reply, default MaxBody
	// Stream reads the body of a reply with status 200 and Content-Type
	// text/event-stream while it arrives. Reads fail at the limit of the request,
	// and after MaxBody bytes. Stream returns the error of a failed read, and nil
	// when it has read enough; the connection is closed then. nil: such a reply is
	// read like any other.
	Stream func(body io.Reader) error
	// Limit runs from the moment the request is written to the last byte of the
	// reply. It must be positive. With WholeCall it covers connecting too.
	Limit     time.Duration
	WholeCall bool
	// Unproven: the endpoint did not pass its last health check, so it may not be
	// an agent's. Such requests are limited by address.
	Unproven bool
}

// Do makes one request and returns what happened. It returns at the latest when
// set-up time and limit are over, plus about 50 ms; unless the whole reply was
// read, the connection is closed by then.
func (c *Client) Do(ctx context.Context, r Request) Exchange { return c.Call(r).Do(ctx) }

// Call prepares a request. Nothing is sent before TrySend or Do is called.
func (c *Client) Call(r Request) *Call {
	call := &Call{c: c, method: r.Method, maxBody: cmp.Or(r.MaxBody, MaxBody), stream: r.Stream, watch: watch{now: c.now, limit: r.Limit, whole: r.WholeCall}}
	u, err := url.Parse(r.URL)
	if err != nil {
		err = fmt.Errorf("endpoint: %w", err)
	}
	if err == nil {
		call.to, err = targetOf(u)
	}
	if err == nil {
		call.standing = c.hosts.standingOf(call.to, r.Unproven)
		call.request, err = encode(u, call.to, &r, c.pool.once)
	}
	if err != nil {
		call.x = Exchange{Failure: FailBlocked, Err: err}
	}
	return call
}

// Call is one request on its way. Its methods are called by one goroutine at a
// time, each at most once.
type Call struct {
	c       *Client
	to      target
	conn    *conn
	request []byte // until it is written
	until   time.Time
	method  string
	maxBody int
	stream  func(io.Reader) error // nil: whole bodies only

	standing  standing
	unwritten error // why the request was not written
	again     bool  // the connection may carry another one
	watch
	x Exchange
}

// TrySend sends the request if it can do so without waiting: over an idle
// connection with an empty send buffer. Otherwise Do sends it. One goroutine
// sends many requests closer together than as many goroutines, which would also
// read the first replies in between.
func (c *Call) TrySend() {
	if c.x.Failure != "" || len(c.request) > maxTrySend || c.standing != proven {
		return
	}
	c.clock()
	if c.connect(c.c.pool.take(c.to)); c.conn != nil && c.conn.drained() {
		_, err := c.conn.Write(c.request)
		c.wrote(err)
	}
}

// maxTrySend is the longest request, in bytes, that an empty send buffer always
// takes without waiting: half of Linux's smallest default buffer (tcp_wmem).
const maxTrySend = 8 << 10

// Do sends the request, unless TrySend has, and returns the exchange, as
// Client.Do.
//
// The wait for an agent is below it, so it does the rest in functions of their
// own: thousands of stacks stay small.
func (c *Call) Do(ctx context.Context) Exchange {
	if c.begin(ctx) {
		untie := context.AfterFunc(ctx, c.conn.interrupt)
		c.exchange(ctx)
		c.end(untie())
	}
	c.c.hosts.note(c)
	return c.x
}

// begin gets a connection, unless there is one.
func (c *Call) begin(ctx context.Context) bool {
	if c.conn != nil || c.x.Failure != "" {
		return c.conn != nil
	}
	c.clock()
	conn, err := c.c.pool.get(withStanding(ctx, c.standing), c.to, c.until.Sub(c.c.now()))
	if err == nil && !conn.counted && !c.c.hosts.take(c.standing, conn.addr) {
		c.c.pool.put(conn)
		err = errBusy
	}
	if err != nil {
		c.x = Exchange{Failure: unconnected(ctx, err), Err: err}
		return false
	}
	c.connect(conn)
	return true
}

// clock starts the time of the set-up.
func (c *Call) clock() {
	c.began = c.now()
	if c.until = c.began.Add(c.c.setup); c.whole {
		c.until = c.began.Add(c.limit + grace)
	}
}

func (c *Call) connect(to *conn) {
	if c.conn = to; to != nil {
		to.counted = false // for the next request
		c.x.Connected, c.x.Reused, to.used = true, to.used, true
	}
}

// exchange writes the request and reads the reply.
func (c *Call) exchange(ctx context.Context) {
	if !c.write(ctx) {
		return
	}
	var err error
	if _, err = c.conn.in.Peek(1); err == nil { // most of the time passes here
		c.x.Replied = true
		if a := c.conn.addr.Addr(); a.IsValid() && !a.IsLoopback() {
			c.c.replied.Store(int64(c.c.now().Sub(c.c.started)))
		}
		c.sent(&c.x)
		err = c.read()
	}
	if err != nil {
		c.x.Failure, c.x.Err = broken(ctx, err, &c.x), err
	}
}

// write sends the request in one piece, unless TrySend has, and reports
// whether a reply may come.
func (c *Call) write(ctx context.Context) bool {
	if c.request != nil {
		c.conn.during(ctx, c.until)
		_, err := c.conn.Write(c.request)
		c.wrote(err)
	}
	switch {
	case c.x.Written:
		c.conn.during(ctx, c.until)
	case errors.Is(c.unwritten, os.ErrDeadlineExceeded):
		c.x.Failure, c.x.Err = interrupted(ctx), c.unwritten
		return false
	default: // a reply may have come before the other side hung up
		c.conn.during(ctx, c.now().Add(grace))
	}
	c.conn.left = MaxHeader
	return true
}

func (c *Call) wrote(err error) {
	c.request = nil
	if c.unwritten = err; err == nil {
		c.x.Written = true
		c.until = c.sent(&c.x)
	}
}

// read reads the reply once its first bytes have arrived.
func (c *Call) read() (err error) {
	c.again, err = c.conn.reply(&c.x, c.method, c.maxBody, c.stream)
	return err
}

// end returns the connection back, which nothing else can interrupt any more if
// it is untied.
func (c *Call) end(untied bool) {
	if untied && c.again && c.x.Written {
		c.c.pool.put(c.conn)
	} else {
		c.c.pool.drop(c.conn)
	}
	c.finish(&c.x)
}

// encode returns the bytes of a request. It is sent in one piece.
func encode(u *url.URL, to target, r *Request, once bool) ([]byte, error) {
	path, host := u.RequestURI(), strings.Replace(u.Host, u.Hostname(), to.host, 1) // in ASCII
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	if strings.Contains(path+host, " ") || strings.ContainsFunc(path+host+r.Token+r.Header, control) {
		return nil, fmt.Errorf("%w: a space or control character", ErrBlocked)
	}
	b := make([]byte, 0, 256+len(path)+len(host)+len(r.Token)+len(r.Body))
	b = append(b, r.Method+" "+path+" HTTP/1.1\r\nHost: "+host+"\r\nUser-Agent: "+UserAgent+
		"\r\nAccept: application/json"...)
	if r.Stream != nil {
		b = append(b, ", text/event-stream"...)
	}
	b = append(b, "\r\nAccept-Encoding: identity\r\n"...)
	if r.Header != "" {
		b = append(append(b, r.Header...), "\r\n"...)
	}
	if r.Token != "" {
		b = append(append(append(b, "Authorization: Bearer "...), r.Token...), "\r\n"...)
	}
	if once {
		b = append(b, "Connection: close\r\n"...)
	}
	if r.Body != nil {
		b = append(b, "Content-Type: application/json\r\nContent-Length: "...)
		b = append(strconv.AppendInt(b, int64(len(r.Body)), 10), "\r\n"...)
	}
	return append(append(b, "\r\n"...), r.Body...), nil
}

// unconnected names why there is no connection.
func unconnected(ctx context.Context, err error) Failure {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		return FailCancelled
	case errors.Is(err, ErrBlocked):
		return FailBlocked
	case errors.Is(err, errBusy):
		return FailBusy
	case errors.Is(err, errSetup):
		return FailConnect
	case errors.Is(err, errHandshake):
		return FailTLS
	case errors.As(err, &dns):
		return FailDNS
	case errors.Is(err, syscall.ECONNREFUSED):
		return FailRefused
	case errors.As(err, &timeout) && timeout.Timeout():
		return FailConnect
	default:
		return FailUnreachable
	}
}

// broken returns the failure in the outcome table for a read error.
func broken(ctx context.Context, err error, x *Exchange) Failure {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return interrupted(ctx)
	case errors.Is(err, errBody):
		return FailTooLarge
	case errors.Is(err, errHead):
		return FailHeaders
	case !x.Replied:
		return FailDropped
	case x.Status != 0, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return FailTruncated
	default:
		return FailHTTP
	}
}

// interrupted names why a connection was given up.
func interrupted(ctx context.Context) Failure {
	if ctx.Err() != nil {
		return FailCancelled
	}
	return FailTimeout
}
