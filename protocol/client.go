package protocol

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"
	"time"
)

// The limits of every request to a stranger.
const (
	// MaxBody is the most that is read of a reply unless a Request says less.
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
	ExtraRoots      []*x509.Certificate // trusted beside the system's; there is no way to trust everyone
	MaxConnsPerHost int                 // connections to one host and port at a time, default 16
	DialTimeout     time.Duration       // resolving and connecting, default 3 s
	TLSTimeout      time.Duration       // default 5 s
	SetupTimeout    time.Duration       // everything before the request is written, waiting for a free connection included; default 10 s
	Now             func() time.Time    // must carry a monotonic reading, as time.Now does
}

// Client makes requests to agents' endpoints: HTTP/1.1, no proxy, no redirect,
// no decompression, no cookies, no upgrade, and never the same POST twice
// (threats S3, S4, S6, R1 to R4, R9 to R11). It is safe for concurrent use.
type Client struct {
	transport *http.Transport
	setup     time.Duration
	now       func() time.Time
}

// NewClient makes a Client whose every connection passes g.
func NewClient(g *Guard, o ClientOptions) (*Client, error) {
	if g == nil || o.Now == nil {
		return nil, errors.New("protocol client: a guard and a clock are needed")
	}
	roots, err := rootsWith(o.ExtraRoots)
	if err != nil {
		return nil, fmt.Errorf("protocol client: %w", err)
	}
	dialer := &net.Dialer{
		Timeout:  cmp.Or(o.DialTimeout, 3*time.Second),
		Control:  g.control,
		Resolver: g.resolver,
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Client{
		transport: &http.Transport{
			Proxy:                  nil, // a proxy would be all that the guard sees
			DialContext:            dialer.DialContext,
			Protocols:              protocols,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    cmp.Or(o.TLSTimeout, 5*time.Second),
			DisableCompression:     true,
			MaxResponseHeaderBytes: MaxHeader,
			MaxConnsPerHost:        cmp.Or(o.MaxConnsPerHost, 16),
			MaxIdleConnsPerHost:    cmp.Or(o.MaxConnsPerHost, 16),
			MaxIdleConns:           500,
			IdleConnTimeout:        30 * time.Second,
			// A request with its token fits into the one, the head of most replies
			// into the other: thousands of requests wait for slow agents.
			WriteBufferSize: 2 << 10,
			ReadBufferSize:  1 << 10,
		},
		setup: cmp.Or(o.SetupTimeout, 10*time.Second),
		now:   o.Now,
	}, nil
}

// Close drops idle connections. Call it when no Do is running any more.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Request is one request to an endpoint. Both bodies are JSON. There is no
// room for other headers: an Idempotency-Key would let net/http send a POST
// again by itself (threat R9).
type Request struct {
	Method  string
	URL     string
	Token   string // bearer token, "" none
	Body    []byte // nil: none
	MaxBody int    // of the reply, default MaxBody
	// Limit runs from the moment the request is written to the last byte of the
	// reply. It must be positive. With WholeCall it covers connecting too.
	Limit     time.Duration
	WholeCall bool
}

// Do makes one request and tells what happened. It returns at the latest when
// set-up time and limit are over, plus about 50 ms; the reply's body is closed
// by then.
func (c *Client) Do(ctx context.Context, r Request) Exchange {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &watch{now: c.now, cancel: cancel, limit: r.Limit}
	defer w.stop()
	req, err := newRequest(httptrace.WithClientTrace(ctx, w.trace()), r)
	if err != nil {
		return Exchange{Failure: FailBlocked, Err: err}
	}
	if r.WholeCall {
		w.start()
	} else {
		w.arm(c.setup)
	}
	x := c.exchange(ctx, req, w, cmp.Or(r.MaxBody, MaxBody))
	w.finish(&x)
	return x
}

func newRequest(ctx context.Context, r Request) (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		body = io.NopCloser(bytes.NewReader(r.Body)) // of a type that gets no GetBody, so that it cannot be sent twice
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return nil, fmt.Errorf("%w: not an http URL", ErrBlocked)
	}
	req.ContentLength = int64(len(r.Body))
	req.Header.Set("User-Agent", UserAgent)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	return req, nil
}

// exchange goes through the transport and not through an http.Client: there is
// nothing in between that could follow, re-send or remember.
func (c *Client) exchange(ctx context.Context, req *http.Request, w *watch, maxBody int) Exchange {
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return Exchange{Failure: w.failure(ctx, err), Err: err}
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written that a failing Close could lose
	x := Exchange{
		Status:      resp.StatusCode,
		ContentType: strings.Join(resp.Header.Values("Content-Type"), ", "),
		Encoding:    strings.Join(resp.Header.Values("Content-Encoding"), ", "),
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return x // reading its body would outlive any context (threat R3)
	}
	x.Body, err = io.ReadAll(io.LimitReader(resp.Body, int64(maxBody)+1))
	switch {
	case err != nil && ctx.Err() != nil:
		x.Failure, x.Err = w.ended(ctx), err
	case len(x.Body) > maxBody:
		x.Failure, x.Body = FailTooLarge, x.Body[:maxBody]
	case err != nil:
		x.Failure, x.Err = FailTruncated, err
	}
	return x
}

// failure names what RoundTrip's error means for the outcome table.
func (w *watch) failure(ctx context.Context, err error) Failure {
	if ctx.Err() != nil {
		return w.ended(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case w.replied && strings.Contains(err.Error(), "response headers exceeded"): // net/http has no type for it
		return FailHeaders
	case w.replied && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return FailTruncated
	case w.replied:
		return FailHTTP
	case w.connected:
		return FailDropped
	case errors.Is(err, ErrBlocked):
		return FailBlocked
	case errors.As(err, &dns):
		return FailDNS
	case errors.Is(err, syscall.ECONNREFUSED):
		return FailRefused
	case w.handshake:
		return FailTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		return FailConnect
	default:
		return FailUnreachable
	}
}

// ended names why the context of a call ended.
func (w *watch) ended(ctx context.Context) Failure {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errLimit) && !errors.Is(cause, errSetup) {
		return FailCancelled
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.connected {
		return FailConnect
	}
	return FailTimeout
}
