package stream

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	arenaquota "github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/stream/ingest"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
)

// The pool of go-redis tries to dial once per second, and looks only then
// whether it was closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// bundle is a running server on a log in memory.
type bundle struct {
	*streamtest.Server
	streamtest.Tokens
	log     *streamtest.Log
	clients *ws.Clients
	seats   *ingest.Seats
	hub     *Hub
	agents  *ingest.Receiver
	handler *Handler
}

// settings lets a test change the parts before they run.
type settings struct {
	clients ws.Options
	limits  ingest.Limits
	options Options
	agents  ingest.Options
	parts   Parts
	timing  timing
	bounds  bounds
}

func start(t testing.TB, change ...func(*settings)) *bundle {
	t.Helper()
	b := &bundle{log: streamtest.NewLog()}
	reader, log := streamtest.Reader(t, b.log), slog.New(slog.DiscardHandler)
	s := settings{
		clients: ws.Options{Now: time.Now, Timing: ws.DefaultTiming()},
		options: Options{Source: reader, Now: time.Now, Logger: log},
		agents:  ingest.Options{Matches: reader, Log: b.log, Authenticate: b.Authenticate, Now: time.Now, Logger: log},
		parts:   Parts{Matches: reader, Leagues: b.log, ClientIP: streamtest.Address, Addresses: arenaquota.NewSlots(1000, "too many")},
		timing:  defaultTiming(), bounds: bounds{tailEvents, tailBytes},
	}
	s.clients.Timing.Grace = 30 * time.Second // a close frame must never be lost on a slow machine
	s.clients.Timing.Ping = time.Hour         // a slow reader is not gone
	s.timing.write = 30 * time.Second
	for _, f := range change {
		f(&s)
	}
	var err error
	b.clients = ws.NewClients(s.clients)
	if b.seats, err = ingest.NewSeats(s.limits); err != nil {
		t.Fatal(err)
	}
	s.options.Clients, s.options.Seats = b.clients, b.seats
	b.hub = NewHub(s.options)
	b.hub.timing, b.hub.bounds = s.timing, s.bounds
	s.agents.Hub, s.agents.Clients, s.agents.Seats = b.hub, b.clients, b.seats
	s.agents.ClientIP, s.agents.Addresses = s.parts.ClientIP, s.parts.Addresses
	b.agents = ingest.New(s.agents)
	s.parts.Agents = b.agents
	b.handler = NewHandler(b.hub, s.parts)
	ran := make(chan error, 1)
	go func() { ran <- b.hub.Run(context.WithoutCancel(t.Context())) }()
	b.Server = streamtest.Serve(t, b.handler)
	for !b.hub.running.Load() { // a test that is over before would close it first
		runtime.Gosched()
	}
	t.Cleanup(func() {
		b.hub.Close()
		b.HTTP.Close()
		if err := <-ran; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return b
}

// publish commits n plain events of m_1 and publishes each.
func (b *bundle) publish(n int) {
	for range n {
		b.hub.Publish(streamtest.League, b.log.Commit(arena.Event{Body: json.RawMessage(`{"message":"hm"}`)}))
	}
}
