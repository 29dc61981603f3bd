package protocol_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// An event stream is read while it arrives, within the limits of every reply.
// Threats R1, R4, R13.
func TestClient_Do_stream(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
	for _, c := range []struct {
		name    string
		reply   string
		read    int // bytes that the reader wants; 0: all
		limit   time.Duration
		want    string
		failure protocol.Failure
	}{
		{"whole", head + "Content-Length: 5\r\n\r\nhello", 0, time.Minute, "hello", ""},
		{"enough", head + "\r\nhello, and more", 5, time.Minute, "hello", ""},
		{"silence", head + "Content-Length: 9\r\n\r\nhello", 0, 500 * time.Millisecond, "hello", protocol.FailTimeout},
		{"cut", "cut" + head + "Content-Length: 9\r\n\r\nhello", 0, time.Minute, "hello", protocol.FailTruncated},
		{"too long", head + "Content-Length: 99\r\n\r\n" + strings.Repeat("x", 99), 0, time.Minute, strings.Repeat("x", 20), protocol.FailTooLarge},
		{"another type", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 0, time.Minute, "", ""},
		{"another status", strings.Replace(head, "200 OK", "404 Not Found", 1) + "Content-Length: 2\r\n\r\n{}", 0, time.Minute, "", ""},
		{"encoded", head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", 0, time.Minute, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			heads := make(chan string, 1)
			reply, closes := strings.CutPrefix(c.reply, "cut")
			server := protocoltest.NewRaw(t, func(conn net.Conn) {
				b := make([]byte, 4096)
				n, _ := conn.Read(b)
				heads <- string(b[:n])
				_, _ = io.WriteString(conn, reply)
				if !closes {
					_, _ = io.Copy(io.Discard, conn)
				}
			})
			got := ""
			r := post(server.URL())
			r.Limit, r.MaxBody, r.Header = c.limit, 20, "A2A-Version: 1.0"
			r.Stream = func(body io.Reader) error {
				b := make([]byte, 5)
				for {
					n, err := body.Read(b)
					got += string(b[:n])
					if err == io.EOF || c.read > 0 && len(got) >= c.read {
						return nil
					}
					if err != nil {
						return err
					}
				}
			}
			x := newClient(t, loopback(), protocol.ClientOptions{}).Do(t.Context(), r)
			streamed := c.want != ""
			if got != c.want || x.Failure != c.failure || x.Streamed != streamed || streamed && x.Body != nil || !streamed && string(x.Body) != "{}" {
				t.Errorf("got %q, exchange %+v", got, x)
			}
			if sent := <-heads; !strings.Contains(sent, "\r\nAccept: application/json, text/event-stream\r\n") || !strings.Contains(sent, "\r\nA2A-Version: 1.0\r\n") {
				t.Errorf("sent %q", sent)
			}
		})
	}
	r := post("http://127.0.0.1:1/")
	r.Header = "A: b\r\nC: d"
	if x := newClient(t, loopback(), protocol.ClientOptions{}).Do(t.Context(), r); x.Failure != protocol.FailBlocked {
		t.Errorf("a header of two lines: %+v", x)
	}
	if reason, _ := protocol.Unreadable(protocol.Exchange{Status: http.StatusOK, ContentType: "text/event-stream", Streamed: true}); reason != "" {
		t.Errorf("a stream that was read is %q", reason)
	}
}
