package stream

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
)

// devNull is a connection that accepts everything, for the cost of a system
// call.
type devNull struct {
	net.Conn // its other methods are not called
	file     *os.File
}

// SyscallConn implements syscall.Conn.
func (d devNull) SyscallConn() (syscall.RawConn, error) { return d.file.SyscallConn() }

func openDevNull(b *testing.B) devNull {
	b.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() }) // nothing was stored
	return devNull{file: f}
}

// BenchmarkHubFanout publishes events one by one to many spectators whose
// sockets cost nothing: what is measured is the hub itself. An operation is
// one publish; allocs/delivery counts everything in the process.
func BenchmarkHubFanout(b *testing.B) {
	for _, spectators := range []int{100, 1000} {
		for _, form := range []form{formMessage, formBatch} {
			b.Run(fmt.Sprintf("spectators=%d/form=%d", spectators, form), func(b *testing.B) { fanout(b, spectators, form) })
		}
	}
}

func fanout(b *testing.B, spectators int, f form) {
	b.Helper()
	t := start(b)
	t.log.AddMatch("m_1", arena.VisibilityLive)
	m, err := t.log.Match(b.Context(), "m_1")
	if err != nil {
		b.Fatal(err)
	}
	for range spectators {
		s := t.hub.newSocket(f == formBatch, nil)
		if err := t.clients.Admit(s.Client); err != nil {
			b.Fatal(err)
		}
		if err := t.handler.subscribe(b.Context(), s, query{topics: 1, key: topicKey{topicMatch, m.ID}, since: -1}); err != nil {
			b.Fatal(err)
		}
		conn, err := t.clients.NewConn(openDevNull(b), ws.ConnOptions{WriteTimeout: time.Second})
		if err != nil {
			b.Fatal(err)
		}
		s.open(conn)
		b.Cleanup(func() {
			s.socket.writeMu.Lock()
			s.socket.left = true
			s.socket.writeMu.Unlock()
			t.hub.unsubscribe(s)
			t.clients.Dismiss(s.Client)
		})
	}
	e := arena.Event{
		MatchID: m.ID, Round: 3, AgentID: "ag_01hq3m8z6n1v2b3c4d5f6g7h8j", At: time.Now(), Type: arena.EventThinking,
		Body: json.RawMessage(`{"message":"Canberra is the capital, despite Sydney being larger; let me check the options again"}`),
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for i := range b.N {
		e.Seq = int64(i + 1)
		t.hub.Publish(streamtest.League, e)
		// A tail holds so many: wait for the readers as a real source would.
		if i%2048 == 2047 || i == b.N-1 {
			for t.hub.counters.delivered.Load() < uint64(i+1)*uint64(spectators) {
				runtime.Gosched()
			}
		}
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	delivered := float64(b.N) * float64(spectators)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/delivered, "allocs/delivery")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/delivered, "ns/delivery")
}
