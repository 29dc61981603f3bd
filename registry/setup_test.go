package registry_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/registry"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// fixture is a store with two owners, and the publisher of a test.
type fixture struct {
	t     *testing.T
	store *store.Store
	log   *slog.Logger

	mu     sync.Mutex
	now    time.Time
	events []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, now: start, log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	var err error
	f.store, err = store.Open(t.Context(), storetest.SQLite(t), store.Options{Logger: f.log, Now: f.clock})
	f.ok(err)
	t.Cleanup(func() { f.ok(f.store.Close()) })
	f.ok(f.store.Migrate(t.Context()))
	for i, name := range []string{"alice", "bob"} {
		o := arena.Owner{ID: "ow_" + name, Name: name, CreatedAt: start}
		f.ok(f.store.Accounts.CreateOwner(t.Context(), o, arena.Token{ID: "to_" + name, OwnerID: o.ID, Scope: arena.ScopeOwner, Hash: [32]byte{byte(i)}, CreatedAt: start}))
	}
	return f
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// PublishAgent keeps the event.
func (f *fixture) PublishAgent(leagues []string, e arena.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, fmt.Sprint(e.Type, " ", e.AgentID, " ", string(e.Body), " ", leagues))
}

// published returns the events since the last call.
func (f *fixture) published() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.events
	f.events = nil
	return events
}

func (f *fixture) pauses() *registry.Pauses {
	f.t.Helper()
	p := registry.NewPauses(registry.PausesOptions{Store: f.store.Agents, Publisher: f, Now: f.clock, Logger: f.log})
	return p
}

// agent stores an active agent of Alice's.
func (f *fixture) agent(name string) arena.Agent {
	f.t.Helper()
	g := arena.Agent{ID: "ag_" + name, OwnerID: "ow_alice", Name: name, Protocol: arena.ProtocolAAP, Endpoint: "https://" + name + ".example", CreatedAt: start, PassedAt: start}
	f.ok(f.store.Agents.CreateAgent(f.t.Context(), g))
	return f.stored(g.ID)
}

func (f *fixture) stored(id string) arena.Agent {
	f.t.Helper()
	g, err := f.store.Agents.Agent(f.t.Context(), id)
	f.ok(err)
	return g
}
