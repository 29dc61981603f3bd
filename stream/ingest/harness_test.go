package ingest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/stream"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a running server, with a real hub, on a log in memory.
type bundle struct {
	*streamtest.Server
	streamtest.Tokens
	log     *streamtest.Log
	clients *ws.Clients
	seats   *Seats
	hub     *stream.Hub
	agents  *Receiver
}

// settings lets a test change the parts before they run.
type settings struct {
	clients      ws.Options
	limits       Limits
	authenticate func(ctx context.Context, token string) (arena.TaskClaims, error)
	addresses    Slots
	now          func() time.Time
	logger       *slog.Logger
	timing       timing
}

func start(t testing.TB, change ...func(*settings)) *bundle {
	t.Helper()
	b := &bundle{log: streamtest.NewLog()}
	s := settings{
		clients: ws.Options{Timing: ws.DefaultTiming()}, authenticate: b.Authenticate,
		addresses: quota.NewSlots(1000, "too many"), now: time.Now, logger: slog.New(slog.DiscardHandler), timing: defaultTiming(),
	}
	s.clients.Timing.Grace = 30 * time.Second // a close frame must never be lost on a slow machine
	s.clients.Timing.Ping = 24 * time.Hour    // a slow reader is not gone
	s.timing.write = 30 * time.Second
	for _, f := range change {
		f(&s)
	}
	reader := streamtest.Reader(t, b.log)
	s.clients.Now = s.now
	var err error
	b.clients = ws.NewClients(s.clients)
	if b.seats, err = NewSeats(s.limits); err != nil {
		t.Fatal(err)
	}
	b.hub = stream.NewHub(stream.Options{Source: reader, Clients: b.clients, Seats: b.seats, Now: s.now, Logger: s.logger})
	b.agents = New(Options{
		Hub: b.hub, Clients: b.clients, Seats: b.seats, Matches: reader, Log: b.log, Authenticate: s.authenticate,
		ClientIP: streamtest.Address, Addresses: s.addresses, Now: s.now, Logger: s.logger,
	})
	b.agents.timing = s.timing
	handler := stream.NewHandler(b.hub, stream.Parts{
		Matches: reader, Leagues: b.log, Agents: b.agents, ClientIP: streamtest.Address, Addresses: s.addresses,
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	go func() { ran <- b.hub.Run(ctx) }()
	b.Server = streamtest.Serve(t, handler)
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return b
}
