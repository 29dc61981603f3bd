package protocol

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// readBuffer holds the head of most replies.
const readBuffer = 1 << 10

var errHead = errors.New("the head of the reply is too large")

// conn is one connection, for one request at a time.
type conn struct {
	net.Conn
	to      target
	raw     syscall.RawConn // below TLS; nil in tests without sockets
	in      *bufio.Reader
	left    int            // bytes that may still be read
	expiry  *time.Timer    // while idle
	used    bool           // it has carried a request
	counted bool           // it was made for the next request, and hosts counted that
	addr    netip.AddrPort // of the other side
}

func newConn(to target, c, below net.Conn) *conn {
	made := &conn{Conn: c, to: to}
	if socket, ok := below.(syscall.Conn); ok {
		made.raw, _ = socket.SyscallConn() // fails only without a socket
	}
	if to, ok := below.RemoteAddr().(*net.TCPAddr); ok {
		made.addr = addressOf(to.String())
	}
	made.in = bufio.NewReaderSize((*bounded)(made), readBuffer)
	return made
}

// bounded reads from a connection what it may.
type bounded conn

// Read reads at most as many bytes as are left.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHead
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err //nolint:wrapcheck // io.Reader: net/http compares with io.EOF
}

// quiet reports whether an idle connection is still open and has received nothing
// without a request.
func (c *conn) quiet() bool {
	if c.raw == nil {
		return true
	}
	_ = c.SetDeadline(time.Time{}) // what the last request left; the next one sets its own
	return silent(c.raw)
}

// drained reports whether the other side's system has all that was written.
func (c *conn) drained() bool {
	return c.raw != nil && acknowledged(c.raw)
}

// during sets when reads and writes fail. The end of ctx, which guard has
// tied to them, is not overruled.
func (c *conn) during(ctx context.Context, until time.Time) {
	_ = c.SetDeadline(until) // fails only on a closed connection, as what follows does
	if ctx.Err() != nil {
		c.interrupt()
	}
}

// interrupt makes reads and writes fail now.
func (c *conn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) }

// reply reads the whole reply into x, at most maxBody bytes of its body, and
// reports whether the connection may be used again. The body of an event stream
// goes to stream instead, if that is not nil.
func (c *conn) reply(x *Exchange, method string, maxBody int, stream func(io.Reader) error) (again bool, err error) {
	var asked *http.Request // as nil it is a GET, and a POST's replies are read alike
	if method == http.MethodHead {
		asked = &http.Request{Method: method}
	}
	var resp *http.Response
	for resp == nil || resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
		if resp, err = http.ReadResponse(c.in, asked); err != nil { //nolint:bodyclose // closing would read on; the connection is closed instead
			return false, err //nolint:wrapcheck // the caller distinguishes it
		}
	}
	x.Status = resp.StatusCode
	x.ContentType = strings.Join(resp.Header.Values("Content-Type"), ", ")
	x.Encoding = strings.Join(resp.Header.Values("Content-Encoding"), ", ")
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return false, nil // reading its body would never end (threat R3)
	}
	c.left = 1 << 62 // the body has a bound of its own; what is buffered of it was counted with the head
	if stream != nil && x.Status == http.StatusOK && isEventStream(x.ContentType) && plainEncoding(x.Encoding) {
		x.Streamed = true
		return false, stream(&capped{r: resp.Body, left: maxBody})
	}
	x.Body, err = io.ReadAll(io.LimitReader(resp.Body, int64(maxBody)+1))
	if len(x.Body) > maxBody {
		x.Body = x.Body[:maxBody]
		return false, errBody
	}
	return err == nil && !resp.Close && c.in.Buffered() == 0, err //nolint:wrapcheck // the caller distinguishes it
}

var errBody = errors.New("the body of the reply is too large")

// capped reads at most left bytes and fails with errBody if there are more.
type capped struct {
	r    io.Reader
	left int
}

// Read reads what r has.
func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errBody
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err //nolint:wrapcheck // io.Reader: its callers compare with io.EOF
}
