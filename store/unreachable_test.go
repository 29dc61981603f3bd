package store_test

import (
	"log/slog"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// A server that takes connections and then says nothing is storage that is
// away, and no fault of ours: the driver gives up by a deadline of its own,
// which must not be mistaken for the caller's. Threat C5.
func TestPostgres_silentServer(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var taken []net.Conn
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			taken = append(taken, conn)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
		for _, conn := range taken {
			_ = conn.Close()
		}
	})
	silent := url.URL{
		Scheme: "postgres", Host: l.Addr().String(), Path: "/arena", User: url.User("arena"),
		RawQuery: url.Values{"sslmode": {"disable"}, "connect_timeout": {"1"}}.Encode(),
	}
	_, err = store.Open(t.Context(), silent.String(), store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	if arena.CodeOf(err) != arena.CodeUnavailable {
		t.Errorf("error %v has code %s", err, arena.CodeOf(err))
	}
}
