package protocol

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// An agent that says close means it, also when it is slow to hang up.
func TestClient_Do_told_to_close(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := protocoltest.NewRaw(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		<-over
	})
	defer close(over)
	client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8")}), ClientOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 2 {
		r := request(server.URL())
		r.Limit = time.Minute
		if x := client.Do(t.Context(), r); x.Failure != "" || x.Reused {
			t.Errorf("exchange %+v", x)
		}
		if client.pool.idle != 0 {
			t.Fatal("the connection was kept")
		}
	}
}
