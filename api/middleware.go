package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/download"
)

// The bounds of one request.
const (
	maxJSONBody = 64 << 10 // bytes
	maxPackBody = 16 << 20 // bytes
	// A game has a source of 256 KiB, and a form around it.
	maxGameBody = 260 << 10 // bytes
	// A message of MCP holds an answer of 64 KiB, whose characters may be escaped.
	maxMCPBody = 256 << 10 // bytes

	bodyTimeout    = 20 * time.Second // to send a body
	requestTimeout = 30 * time.Second // for everything a handler does
)

const requestIDHeader = "X-Request-Id"

// apiPaths are the paths outside /v1 and /.well-known that belong to the API.
// /metrics is served on a private address only and is kept away from the page.
const apiPaths = " /a2a /mcp /agora /relay /agentprotocol /sdk /install.sh /download /healthz /readyz /version /docs /skill.md /llms.txt /metrics "

// minCompressed is the size in bytes below which compressing a response saves
// no packet.
const minCompressed = 1 << 10

// Compress returns an API behind gzip. Only text is compressed, and nothing
// twice: files of the page come with a Content-Encoding of their own.
func Compress(h http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.EnableZstd(false), gzhttp.ContentTypes([]string{
		jsonType, "application/problem+json", ndjsonType, "text/html", "text/plain", "text/markdown", "text/css", "text/javascript", csvType, "image/svg+xml",
	}))
	if err != nil {
		return nil, fmt.Errorf("api: compression: %w", err)
	}
	compressed := wrap(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if compressible(r) {
			compressed.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}), nil
}

// compressible reports whether the response to a request may be compressed.
// Streams and polls hold their connections, and the protocols of agents have
// forms of their own. What shows a token or a key answers a POST: its size
// must not depend on its text (BREACH).
func compressible(r *http.Request) bool {
	path := r.URL.Path
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead, path == streamPath, strings.HasPrefix(path, "/assets/"):
		return false
	case strings.HasPrefix(path, "/v1/"):
		return !strings.HasPrefix(path, "/v1/agents/") || !strings.HasSuffix(path, "/tasks") // a poll
	default:
		return !isAPI(path) || slices.Contains([]string{"/docs", "/skill.md", "/llms.txt"}, path)
	}
}

// isAPI reports whether a path belongs to the API, not to the page.
func isAPI(path string) bool {
	return path == "/v1" || strings.HasPrefix(path, "/v1/") ||
		strings.HasPrefix(path, "/.well-known/") || strings.HasPrefix(path, "/agora/") || strings.HasPrefix(path, "/relay/") ||
		strings.HasPrefix(path, "/agentprotocol/") || strings.HasPrefix(path, "/sdk/") || strings.HasPrefix(path, download.Prefix) || strings.Contains(apiPaths, " "+path+" ")
}

// observe assigns an id to each request, logs one line and reports the request.
// It logs the route, never the path's ids, the query, tokens or bodies.
func (a *API) observe(node Node) gin.HandlerFunc {
	return func(c *gin.Context) {
		id := c.GetHeader(requestIDHeader)
		if !cleanID(id) {
			var b [8]byte
			_, _ = rand.Read(b[:]) // documented never to fail
			id = hex.EncodeToString(b[:])
		}
		c.Header(requestIDHeader, id)
		ctx := context.WithValue(c.Request.Context(), requestKey, id)
		c.Request = c.Request.WithContext(ctx)

		start := a.now()
		c.Next()

		r := Request{Method: c.Request.Method, Route: c.FullPath(), Status: c.Writer.Status(), Elapsed: a.now().Sub(start)}
		switch {
		case r.Route == "" && isAPI(c.Request.URL.Path):
			r.Route = "unknown"
		case r.Route == "":
			r.Route = "page"
		}
		if !slices.Contains(httpMethods(), r.Method) {
			r.Method = "other"
		}
		node.Observe(r)
		level := slog.LevelInfo
		if node.QuietRequests || r.Route == "page" || r.Route == "/healthz" || r.Route == "/readyz" {
			level = slog.LevelDebug
		}
		a.log.LogAttrs(ctx, level, "request",
			slog.String("method", c.Request.Method),
			slog.String("route", r.Route),
			slog.Int("status", r.Status),
			slog.Float64("duration_ms", float64(r.Elapsed.Microseconds())/1000),
			slog.String("request_id", id),
		)
	}
}

// httpMethods returns the methods that metrics distinguish.
func httpMethods() []string {
	return []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
}

// requestID is the id that observe gave the request.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey).(string)
	return id
}

// cleanID accepts the request id of a proxy in front when it is safe to log.
func cleanID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, r := range id {
		if (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_' {
			return false
		}
	}
	return true
}

// recoverPanic turns a panic of a handler into a problem.
func (a *API) recoverPanic(c *gin.Context) {
	defer func() {
		switch v := recover(); {
		case v == nil:
		case v == http.ErrAbortHandler: //nolint:errorlint // a sentinel of net/http, passed to panic as it is
			panic(v)
		default:
			a.fail(c, a.internal(c.Request.Context(), fmt.Errorf("panic: %v\n%s", v, debug.Stack())))
		}
	}()
	c.Next()
}

// hstsValue makes browsers use https alone for a year after their last visit.
// Other names below the host are left out: they may not be the arena's.
const hstsValue = "max-age=31536000"

// setHeaders puts the strictest policy on every answer; the page loosens it.
// https is whether clients reach the arena by https (threat O6).
func setHeaders(https bool) gin.HandlerFunc {
	return func(c *gin.Context) {
		h := c.Writer.Header()
		if https {
			h.Set("Strict-Transport-Security", hstsValue)
		}
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		c.Next()
	}
}

// anyOrigin reports whether pages of other sites may read a route: they may if the
// route needs no token. A browser adds no cookie to such a request, or keeps
// the answer from the page (threat A3). Sign-in acts on cookies, and the
// protocols of agents are not for browsers.
func (r route) anyOrigin() bool {
	return r.method == http.MethodGet && (r.scope == scopePublic || r.scope == scopeElsewhere) && r.tag != tagAccounts && r.tag != tagProtocols
}

// allowOrigins lets pages of other sites read the answers, problems too, of the
// routes that are open to them.
func allowOrigins() gin.HandlerFunc {
	open := map[string]bool{}
	for _, r := range routes() {
		if r.anyOrigin() {
			open[ginPath(r.path)] = true
		}
	}
	return func(c *gin.Context) {
		if (c.Request.Method == http.MethodGet || c.Request.Method == http.MethodOptions) && open[c.FullPath()] {
			c.Header("Access-Control-Allow-Origin", "*")
			c.Header("Access-Control-Expose-Headers", "ETag, Link, Retry-After, "+requestIDHeader)
		}
		c.Next()
	}
}

// preflight answers a browser that asks before a read with other headers than
// the plain ones.
func preflight(c *gin.Context) {
	c.Header("Access-Control-Allow-Methods", "GET, HEAD")
	c.Header("Access-Control-Allow-Headers", "Accept, If-None-Match, Last-Event-ID")
	c.Header("Access-Control-Max-Age", "86400") // seconds
	c.Status(http.StatusNoContent)
}

// mayBeFramed reports whether a path is of the one page that other sites may show in a frame. It asks
// for nothing and leads nowhere within its frame, so there is nothing to trick
// a reader into.
func mayBeFramed(path string) bool {
	id, ok := strings.CutPrefix(path, "/embed/matches/")
	return ok && cleanID(id)
}

// setPageHeaders is the policy of the page (threat E3): its own files only.
// Style attributes are allowed, since they hold widths and delays; style
// elements and scripts in the page are not.
func setPageHeaders(c *gin.Context) {
	h := c.Writer.Header()
	ancestors := "'none'"
	if mayBeFramed(c.Request.URL.EscapedPath()) {
		ancestors = "*"
	}
	h.Del("Cache-Control") // the page's handler knows what may be kept
	h.Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; style-src 'self'; style-src-attr 'unsafe-inline'; "+
		"connect-src 'self' ws: wss:; "+ // for Safari, whose 'self' leaves sockets out
		"object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors "+ancestors)
}

// guard stands before a typed handler: who calls, may they, and is the body
// one that we read.
func (a *API) guard(r route) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		c := humagin.Unwrap(hc)
		who, err := a.identify(c, r.scope)
		if err != nil {
			a.fail(c, err)
			return
		}
		// A caller without a token is identified by address and cookies at most,
		// and a browser sends both for a page of another site (threat A3).
		if err := a.crossOrigin.Check(c.Request); err != nil && !who.Known() {
			a.fail(c, arena.Errorf(arena.CodeForbidden, "cross-site request blocked"))
			return
		}
		// The standard library passes over pairs that it cannot read, and the
		// rest would be taken for all that was asked.
		if _, err := url.ParseQuery(c.Request.URL.RawQuery); err != nil {
			a.fail(c, arena.Errorf(arena.CodeMalformed, "the query cannot be read: %v", err))
			return
		}
		if hc.Operation().RequestBody != nil {
			if err := a.readBody(c, r.maxBody()); err != nil {
				a.fail(c, err)
				return
			}
		}
		ctx, cancel := context.WithTimeout(context.WithValue(c.Request.Context(), callerKey, who), r.timeout())
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		next(hc)
	}
}

// readBody reads the whole body, at most limit bytes of it, and puts it back
// for the handler. A body that says it is longer is refused unread.
func (a *API) readBody(c *gin.Context, limit int64) error {
	if c.Request.ContentLength > limit {
		c.Header("Connection", "close")
		return tooLarge(limit)
	}
	rc := http.NewResponseController(c.Writer)
	// Not every writer has deadlines (those of tests have none); the caps hold
	// without them.
	_ = rc.SetReadDeadline(a.now().Add(bodyTimeout))
	data, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{})
	} // else it stays: net/http waits for the rest of a body before it answers (threat E10)
	var tooBig *http.MaxBytesError
	var timeout net.Error
	switch {
	case errors.As(err, &tooBig):
		return tooLarge(limit)
	case errors.As(err, &timeout) && timeout.Timeout():
		return newProblem(http.StatusRequestTimeout, arena.CodeMalformed, fmt.Sprintf("the body did not arrive within %v", bodyTimeout))
	case err != nil:
		return arena.Errorf(arena.CodeMalformed, "the body ended before it was complete")
	}
	if limit != maxPackBody && limit != maxGameBody && len(data) > 0 {
		if err := wantJSON(c.GetHeader("Content-Type")); err != nil {
			return err
		}
		c.Request.Header.Set("Content-Type", jsonType) // what decodes it knows this one spelling
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

func tooLarge(limit int64) error {
	return arena.Errorf(arena.CodeTooLarge, "the body is larger than the limit of %d bytes", limit)
}

func wantJSON(contentType string) error {
	kind, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	if err != nil || kind != jsonType || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return arena.Errorf(arena.CodeUnsupported, "send Content-Type: %s", jsonType)
	}
	return nil
}

// Inbound is a handler of agents and spectators that answers refusals in the
// form of its protocol.
type Inbound interface {
	http.Handler
	// Refuse answers a request that is over its limits. err is an *arena.Error.
	Refuse(w http.ResponseWriter, r *http.Request, err error)
}

// forward passes a request to the handler of another package with the client's
// own address, which behind a trusted proxy is not the connection's. It counts
// requests and bytes of the address (threat V6).
func (a *API) forward(c *gin.Context, h http.Handler) {
	r, address := c.Request, c.ClientIP()
	if address != "" && address != c.RemoteIP() {
		r = r.Clone(r.Context())
		r.RemoteAddr = net.JoinHostPort(address, "0")
	}
	traffic := a.quotas.Pages
	in, inbound := h.(Inbound)
	if inbound {
		traffic = a.quotas.Protocols
	}
	err := traffic.Take(address)
	switch {
	case err != nil && inbound:
		in.Refuse(c.Writer, r, err)
		return
	case err != nil:
		a.fail(c, err)
		return
	}
	charge := func(n int) { traffic.Charge(address, n) }
	if r.Body != nil && r.Body != http.NoBody {
		r = r.WithContext(r.Context()) // a copy: the body is not the caller's any more
		r.Body = countedBody{r.Body, charge}
	}
	c.Status(http.StatusOK) // Gin has set 404 for a handler that sets nothing
	c.Writer = countedWriter{c.Writer, charge}
	h.ServeHTTP(c.Writer, r)
}

// countedBody charges what is read of a body.
type countedBody struct {
	io.ReadCloser

	charge func(n int)
}

func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.charge(n)
	return n, err //nolint:wrapcheck // a reader returns the error of the one below
}

// countedWriter charges what is written of an answer. The frames of a WebSocket
// do not pass here; their events have limits of their own.
type countedWriter struct {
	gin.ResponseWriter

	charge func(n int)
}

// Unwrap is for http.ResponseController.
func (w countedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w countedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.charge(n)
	return n, err //nolint:wrapcheck // a writer returns the error of the one below
}

func (w countedWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// clientIP returns the caller's address for limits and services.
func clientIP(ctx huma.Context) string { return humagin.Unwrap(ctx).ClientIP() }

// cookieName returns the name of a cookie. That of a site with https cannot be set
// by other hosts of the domain, nor over http (RFC 6265bis, section 4.1.3.2).
func cookieName(name string, https bool) string {
	if https {
		return "__Host-" + name
	}
	return name
}

// sessionOf returns the secret of a request's session. A request that another
// site caused has none, so that its cookie never acts for that site, whatever
// the method (threat A3).
func (a *API) sessionOf(c *gin.Context) string {
	cookie, err := c.Request.Cookie(cookieName(sessionCookie, a.people.https))
	if err != nil {
		return ""
	}
	unsafe := *c.Request // the library lets safe methods pass
	unsafe.Method = http.MethodPost
	if a.crossOrigin.Check(&unsafe) != nil {
		return ""
	}
	return cookie.Value
}
