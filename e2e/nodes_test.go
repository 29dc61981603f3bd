//go:build unix

package e2e

import (
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
	"github.com/agora-arena/arena/stream/bus/redistest"
)

// cluster is some nodes of the real binary on one PostgreSQL and one Redis.
type cluster struct {
	t   *testing.T
	db  string
	env []string
	dir string

	mu    sync.Mutex
	nodes []*process
}

func newCluster(t *testing.T, server *storetest.Server, nodes int, env ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, db: server.Database(t), dir: t.TempDir()}
	c.env = append([]string{
		"ARENA_DATABASE_URL=" + c.db, "ARENA_REDIS_URL=" + redistest.Start(t).URL(),
		"ARENA_PUBLIC_URL=http://127.0.0.1:9", // one for all: the issuer of tokens
	}, env...)
	for range nodes {
		c.nodes = append(c.nodes, c.serve())
	}
	return c
}

func (c *cluster) serve() *process {
	c.t.Helper()
	p := serve(c.t, c.dir, c.env...)
	p.url = p.local
	p.admin = apiclient.New(p.url, e2eAdmin)
	return p
}

func (c *cluster) node(i int) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i%len(c.nodes)]
}

// id returns the name under which a node holds leases.
func (p *process) id() string {
	p.t.Helper()
	var status struct {
		Nodes []struct {
			Node string
			Self bool
		}
	}
	p.call(p.admin, http.MethodGet, "/v1/admin/status", nil, &status)
	for _, n := range status.Nodes {
		if n.Self {
			return n.Node
		}
	}
	p.t.Fatal("a node does not know itself")
	return ""
}

// restart ends a node with SIGTERM and starts another in its place.
func (c *cluster) restart(i int) {
	c.t.Helper()
	c.node(i).stop()
	p := c.serve()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[i] = p
}

// open opens the cluster's database beside its nodes.
func (c *cluster) open() *store.Store {
	c.t.Helper()
	s, err := store.Open(c.t.Context(), c.db, store.Options{Logger: discard(), Now: time.Now})
	must(c.t, err)
	c.t.Cleanup(func() { must(c.t, s.Close()) })
	return s
}

// slowly answers after d, or when hurried is closed.
func slowly(d time.Duration, hurried <-chan struct{}, b protocoltest.Behaviour) protocoltest.Behaviour {
	return func(w http.ResponseWriter, r *http.Request) {
		pace := time.NewTimer(d)
		defer pace.Stop()
		select {
		case <-pace.C:
			b(w, r)
		case <-hurried:
			b(w, r)
		case <-r.Context().Done():
		}
	}
}

// asked returns the rounds and attempts of a match that an agent was asked for.
func (c *contestant) asked(match string) (rounds, attempts []int) {
	for _, r := range c.Requests() {
		if r.Task.MatchID == match {
			rounds, attempts = append(rounds, r.Task.Round), append(attempts, r.Task.Attempt)
		}
	}
	return rounds, attempts
}

// duels makes a league and schedules matches of one pair of agents on node 0.
// In the second half of a match the agents take seconds, so that it lasts until
// the test has done to it what it wants, on a slow machine as well; then it
// calls hurry.
func (c *cluster) duels(matches, rounds int, pace time.Duration) (ids []string, ada, bob *contestant, hurry func()) {
	c.t.Helper()
	p := c.node(0)
	p.league("trivia", p.pack(20), map[string]any{
		"format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": rounds, "time_limit_seconds": 30,
	})
	hurried := make(chan struct{})
	play := func(r protocoltest.Request) protocoltest.Behaviour {
		d := pace
		if r.Task.Round > rounds/2 {
			d = 5 * time.Second
		}
		return slowly(d, hurried, protocoltest.Answer(correct(r)))
	}
	ada, bob = p.contestant("Ada", play, "trivia"), p.contestant("Bob", play, "trivia")
	for range matches {
		ids = append(ids, p.schedule("trivia", ada, bob))
	}
	for _, id := range ids {
		testwait.Until(c.t, "the match is in its second round", func() bool {
			rounds, _ := ada.asked(id)
			return len(rounds) > 1
		})
	}
	return ids, ada, bob, sync.OnceFunc(func() { close(hurried) })
}

// finished checks what the database holds of a match that some node took over,
// or that none did.
func (c *cluster) finished(s *store.Store, id string, rounds int, takenOver bool) {
	c.t.Helper()
	m, err := s.Matches.Match(c.t.Context(), id)
	must(c.t, err)
	answers, err := s.Matches.Answers(c.t.Context(), id)
	must(c.t, err)
	answered := 0
	for _, a := range answers {
		if a.Outcome == arena.OutcomeAnswered && a.Points == arena.OnePoint {
			answered++
		}
	}
	if m.Status != arena.MatchFinished || m.Lease.Epoch > 1 != takenOver || answered != 2*rounds {
		c.t.Errorf("match %s is %s %q under lease %d, with %d right answers in %d rounds",
			id, m.Status, m.VoidReason, m.Lease.Epoch, answered, rounds)
		for _, a := range answers {
			c.t.Logf("round %d, %s: %s %s, %d attempts, after %v, %v points, at %v", a.Round, a.AgentID, a.Outcome, a.Reason, a.Attempts, a.Elapsed, a.Points, a.ArrivedAt)
		}
	}
}

func TestE2E_Nodes(t *testing.T) {
	t.Parallel()
	server, err := storetest.StartServer(t.Context())
	if storetest.Missing(err) {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	t.Run("rolling restart", func(t *testing.T) { t.Parallel(); rollingRestart(t, server) })
	t.Run("kill -9", func(t *testing.T) { t.Parallel(); takeOver(t, server) })
	t.Run("freeze", func(t *testing.T) { t.Parallel(); freeze(t, server) })
	t.Run("drain by an admin", func(t *testing.T) { t.Parallel(); adminDrain(t, server) })
	t.Run("jobs", func(t *testing.T) { t.Parallel(); jobsOnce(t, server) })
	t.Run("polling agents", func(t *testing.T) { t.Parallel(); pollingAgents(t, server) })
	t.Run("language models", func(t *testing.T) { t.Parallel(); languageModels(t, server) })
	t.Run("pulling agents", func(t *testing.T) { t.Parallel(); pullingAgents(t, server) })
	t.Run("pulling agents without a bus", func(t *testing.T) { t.Parallel(); pullingAgents(t, server, "ARENA_REDIS_URL=") })
	t.Run("deleted owner", func(t *testing.T) { t.Parallel(); deletedOwner(t, server) })
}

// Three nodes are restarted one after the other: no round is lost or asked
// twice, no match is void, and spectators who come back miss nothing.
// Threats C8, V4.
func rollingRestart(t *testing.T, server *storetest.Server) {
	t.Helper()
	const rounds = 60
	c := newCluster(t, server, 3)
	ids, ada, bob, hurry := c.duels(4, rounds, 50*time.Millisecond)
	var crowd sync.WaitGroup
	var followers []*follower
	for i, id := range ids {
		f := &follower{c: c, match: id, at: i}
		followers = append(followers, f)
		crowd.Go(func() { f.run(t.Context()) })
	}
	for i := range 3 {
		c.restart(i)
	}
	hurry()
	crowd.Wait()

	restarts := 0
	for _, f := range followers {
		restarts += f.check(t)
	}
	if restarts == 0 {
		t.Error("no spectator was sent away by a restart")
	}
	s := c.open()
	for _, id := range ids {
		c.finished(s, id, rounds, true)
		for _, agent := range []*contestant{ada, bob} {
			got, attempts := agent.asked(id)
			for i := range got {
				if got[i] != i+1 || attempts[i] != 1 {
					t.Fatalf("request %d of match %s is for round %d, attempt %d", i+1, id, got[i], attempts[i])
				}
			}
		}
	}
	settled, err := s.Ratings.Settlements(t.Context(), "trivia", 0, 1000)
	must(t, err)
	if len(settled) != len(ids) {
		t.Errorf("%d settlements of %d matches", len(settled), len(ids))
	}
	t.Logf("longest time from a round's end to the next round's start: %s", longestBreak(t, s, ids))
}

// longestBreak is the time between two rounds, at its worst: where a match
// changed hands.
func longestBreak(t *testing.T, s *store.Store, ids []string) (worst time.Duration) {
	t.Helper()
	for _, id := range ids {
		log, err := s.Matches.EventsAfter(t.Context(), id, 0, 10_000)
		must(t, err)
		var closed time.Time
		for _, e := range log {
			switch {
			case e.Type == arena.EventRoundClosed:
				closed = e.At
			case e.Type == arena.EventRoundStarted && !closed.IsZero():
				worst = max(worst, e.At.Sub(closed))
			}
		}
	}
	return worst
}

// The node that plays is killed: others take its matches over when their
// leases have run out. Threat C1.
func takeOver(t *testing.T, server *storetest.Server) {
	t.Helper()
	const rounds = 20
	c := newCluster(t, server, 3)
	ids, ada, _, hurry := c.duels(4, rounds, 100*time.Millisecond)
	var crowd sync.WaitGroup
	var followers []*follower
	for i, id := range ids {
		f := &follower{c: c, match: id, at: i + 1} // the last one is on the node that dies
		followers = append(followers, f)
		crowd.Go(func() { f.run(t.Context()) })
	}
	s := c.open()
	killed := c.node(0).id()
	orphaned := map[string]bool{}
	for _, id := range ids {
		m, err := s.Matches.Match(t.Context(), id)
		must(t, err)
		orphaned[id] = m.Lease.Node == killed // the others were quicker for the rest
	}
	c.node(0).kill()
	hurry()
	crowd.Wait()
	for _, f := range followers {
		f.check(t)
	}
	took := []time.Duration{0}
	for _, id := range ids {
		c.finished(s, id, rounds, orphaned[id])
		if !orphaned[id] {
			continue
		}
		var last time.Time // request before the pause
		var pause time.Duration
		for _, r := range ada.Requests() {
			if r.Task.MatchID != id {
				continue
			}
			if !last.IsZero() && r.At.Sub(last) > pause {
				pause = r.At.Sub(last)
			}
			last = r.At
		}
		took = append(took, pause)
	}
	slices.Sort(took)
	t.Logf("%d take-overs after kill -9: median %s, worst %s", len(took)-1, took[len(took)/2], took[len(took)-1])
	// A duplicate is allowed in the round that was open, with another number.
	for _, id := range ids {
		rounds, attempts := ada.asked(id)
		seen := map[[2]int]bool{}
		for i := range rounds {
			if k := [2]int{rounds[i], attempts[i]}; seen[k] {
				t.Errorf("match %s: round %d, attempt %d came twice", id, k[0], k[1])
			} else {
				seen[k] = true
			}
		}
	}
}

// A node is stopped for longer than its lease and resumes: its outdated
// state changes nothing. Threat C2.
func freeze(t *testing.T, server *storetest.Server) {
	t.Helper()
	c := newCluster(t, server, 2)
	first, second := c.node(0), c.node(1)
	first.league("trivia", first.pack(20), map[string]any{
		"format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": 4, "time_limit_seconds": 30,
	})
	gate := make(chan struct{})
	ada := first.contestant("Ada", func(r protocoltest.Request) protocoltest.Behaviour {
		if r.N == 2 { // round 2 of the first match
			return protocoltest.When(gate, protocoltest.Answer("said to a frozen node"))
		}
		return protocoltest.Answer(correct(r))
	}, "trivia")
	bob := first.contestant("Bob", answers(""), "trivia")
	id := first.schedule("trivia", ada, bob)
	testwait.Until(t, "round 2 is asked", func() bool { rounds, _ := ada.asked(id); return len(rounds) == 2 })
	db := c.open()
	m, err := db.Matches.Match(t.Context(), id)
	must(t, err)
	if m.Lease.Node == second.id() {
		first, second = second, first
	}
	redistest.Stop(t, first.cmd.Process)
	close(gate) // the reply waits in the frozen node's socket
	s := second.watch(id, 0)
	s.end(nil)
	must(t, first.cmd.Process.Signal(syscall.SIGCONT))

	// It is alive and plays on, and what it had open is over.
	next := first.schedule("trivia", ada, bob)
	n := first.watch(next, 0)
	n.end(nil)
	c.finished(db, id, 4, true)
	c.finished(db, next, 4, false)
	rounds, attempts := ada.asked(id)
	if !slices.Equal(rounds, []int{1, 2, 2, 3, 4}) || !slices.Equal(attempts, []int{1, 1, 3, 1, 1}) {
		t.Errorf("Ada was asked for rounds %v, attempts %v", rounds, attempts)
	}
	s.gapless(1)
}

// An admin drains a node: its matches go on elsewhere, it answers but is not
// ready, and does not claim any more.
func adminDrain(t *testing.T, server *storetest.Server) {
	t.Helper()
	const rounds = 30
	c := newCluster(t, server, 2)
	ids, ada, bob, hurry := c.duels(2, rounds, 50*time.Millisecond)
	var drained struct{ Node string }
	first := c.node(0)
	first.call(first.admin, http.MethodPost, "/v1/admin/drain", nil, &drained)
	first.refused(first.admin, http.MethodGet, "/readyz", nil, http.StatusServiceUnavailable, "unavailable")
	db := c.open()
	testwait.Until(t, "the matches have changed hands", func() bool {
		for _, id := range ids {
			m, err := db.Matches.Match(t.Context(), id)
			must(t, err)
			if m.Lease.Node == drained.Node {
				return false
			}
		}
		return true
	})
	hurry()
	// It still takes orders, and others carry them out.
	ids = append(ids, first.schedule("trivia", ada, bob))
	for _, id := range ids {
		testwait.Until(t, "the match ends", func() bool {
			m, err := db.Matches.Match(t.Context(), id)
			must(t, err)
			if !m.Status.Over() && m.Lease.Node == drained.Node && id == ids[2] {
				t.Fatal("a drained node claimed a match")
			}
			return m.Status == arena.MatchFinished
		})
	}
	first.refused(first.admin, http.MethodGet, "/readyz", nil, http.StatusServiceUnavailable, "unavailable")
	first.call(first.admin, http.MethodPost, "/v1/admin/drain", nil, nil) // once more: nothing
}

// Health sweeps and scheduler ticks run once per tick in the whole cluster.
// Threat C3.
func jobsOnce(t *testing.T, server *storetest.Server) {
	t.Helper()
	c := newCluster(t, server, 3, "ARENA_HEALTH_INTERVAL=1s")
	p := c.node(0)
	p.league("trivia", p.pack(20), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": 1})
	ada := p.contestant("Ada", answers(""), "trivia")
	p.contestant("Bob", answers("no"), "trivia")
	p.call(p.admin, http.MethodPost, "/v1/leagues/trivia/start", nil, nil)
	began, before := time.Now(), ada.HealthChecks()
	testwait.Until(t, "there were some sweeps and some matches", func() bool {
		return ada.HealthChecks() > before+10 && len(ada.Requests()) >= 2
	})
	checks, matches := ada.HealthChecks()-before, len(ada.Requests()) // one round each
	// Both come once a second at most. The first may have begun before, and a late one
	// is followed by the next in less than a second.
	most := int(time.Since(began)/time.Second) + 3
	if checks > most {
		t.Errorf("%d health checks in %d ticks", checks, most)
	}
	if matches > most {
		t.Errorf("%d matches of one pair in %d ticks", matches, most)
	}
}
