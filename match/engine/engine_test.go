package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
	"github.com/agora-arena/arena/visibility"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const slug = "trivia"

// bench is a store, scripted agents and the published events.
type bench struct {
	pack  string // whose task n is played in round n; "": none
	t     *testing.T
	store *store.Store
	log   *slog.Logger
	agent map[string]script // by agent id

	mu        sync.Mutex
	asked     []arena.Attempt // in the order of sending
	published []arena.Event
	changed   chan struct{}
}

// script is how an agent handles an attempt.
type script func(ctx context.Context, a arena.Attempt) arena.Reply

func newBench(t *testing.T, scripts ...script) *bench {
	t.Helper()
	return newBenchOn(t, storetest.SQLite(t), scripts...)
}

// newBenchOn is newBench on a given database.
func newBenchOn(t *testing.T, url string, scripts ...script) *bench {
	t.Helper()
	b := &bench{t: t, agent: map[string]script{}, changed: make(chan struct{}), log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	var err error
	b.store, err = store.Open(t.Context(), url, store.Options{Logger: b.log, Now: time.Now})
	b.ok(err)
	t.Cleanup(func() { b.ok(b.store.Close()) })
	b.ok(b.store.Migrate(t.Context()))
	b.ok(b.store.Leagues.CreateLeague(t.Context(), arena.League{
		Slug: slug, Title: "Trivia", Status: arena.LeagueOpen, CreatedAt: time.Now(), Settings: settings(),
	}))
	for i, s := range scripts {
		id := agentID(i)
		now := time.Now()
		owner := arena.Owner{ID: fmt.Sprintf("ow_%d", i), Name: fmt.Sprintf("owner %d", i), CreatedAt: now}
		b.ok(b.store.Accounts.CreateOwner(t.Context(), owner, arena.Token{
			ID: "to_" + owner.ID, OwnerID: owner.ID, Scope: arena.ScopeOwner, Hash: sha256.Sum256([]byte(owner.ID)), CreatedAt: now,
		}))
		b.ok(b.store.Agents.CreateAgent(t.Context(), arena.Agent{
			ID: id, OwnerID: owner.ID, Name: id, Protocol: "fake", Endpoint: "http://" + id, Leagues: []string{slug},
			CreatedAt: now, PassedAt: now, Health: arena.Health{OK: true, MaxConcurrent: 1, Capabilities: []string{slug}},
		}))
		b.agent[id] = s
	}
	return b
}

func agentID(i int) string { return fmt.Sprintf("ag_%d", i) }

func settings() arena.Settings {
	return arena.Settings{
		Format: arena.FormatLadder, Generator: &arena.GeneratorSpec{Name: "arithmetic"}, Judge: arena.JudgeSpec{Kind: arena.JudgeExact},
		Rounds: 3, MaxRounds: 50, TimeLimit: 10 * time.Second, MinSeats: 2, MaxSeats: 128, Rated: true,
		Visibility: arena.VisibilitySealed, ScoreMode: arena.ScoreMatch, RulesVersion: arena.RulesVersion,
	}
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// match schedules a match of all agents, due now.
func (b *bench) match(change ...func(*arena.Settings)) string {
	b.t.Helper()
	now := time.Now()
	m := arena.Match{
		ID: arena.NewID(arena.MatchPrefix, now), League: slug, Status: arena.MatchScheduled, Settings: settings(), Seed: 7, SeedSalt: seedSalt,
		CreatedAt: now, StartsAt: now.Add(-time.Second),
	}
	for _, c := range change {
		c(&m.Settings)
	}
	for i := range len(b.agent) {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: agentID(i), State: arena.SeatActive, Salt: "salt of " + agentID(i)})
	}
	_, err := b.store.Matches.CreateMatch(b.t.Context(), m, arena.Event{MatchID: m.ID, At: now, Type: arena.EventMatchScheduled, Body: json.RawMessage(`{}`)})
	b.ok(err)
	return m.ID
}

// Prepare implements engine.Driver.
func (b *bench) Prepare(_ context.Context, a arena.Attempt) (func(context.Context) arena.Reply, error) {
	return func(ctx context.Context) arena.Reply {
		b.mu.Lock()
		b.asked = append(b.asked, a)
		play := b.agent[a.Seat.AgentID]
		b.signal()
		b.mu.Unlock()
		return play(ctx, a)
	}, nil
}

// Publish implements engine.Publisher.
func (b *bench) Publish(_ string, events ...arena.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.published = append(b.published, events...)
	b.signal()
}

func (b *bench) signal() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Pick implements engine.Tasks: the answer of round n is "right n". Games have no
// tasks.
func (b *bench) Pick(_ context.Context, m arena.Match, round int) (arena.Task, error) {
	if m.Settings.Game != nil {
		return arena.Task{ID: fmt.Sprintf("tk_%d", round)}, nil
	}
	t := arena.Task{ID: fmt.Sprintf("tk_%d", round), Description: fmt.Sprintf("question %d", round), Answers: []string{fmt.Sprintf("right %d", round)}}
	if b.pack != "" {
		t.Source = fmt.Sprintf("%s/%d", b.pack, round)
	}
	return t, nil
}

// leaseTime is a lease that a slow machine does not lose, and that a test can
// wait for the end of.
const leaseTime = 10 * time.Second

// unhurried is a storage that is not too slow to take a match back.
type unhurried struct{ engine.Store }

func (u unhurried) ReleaseLease(ctx context.Context, l arena.Lease) error {
	return u.Store.ReleaseLease(context.WithoutCancel(ctx), l)
}

// node is a running Engine.
type node struct {
	*engine.Engine
	drain func() // ends Run's context, and waits until it drains
	stop  func() // and waits until it is over
}

func (b *bench) node(name string, change ...func(*engine.Options)) *node {
	b.t.Helper()
	o := engine.Options{
		Store: unhurried{engine.NewRows(b.store)}, Drivers: map[string]engine.Driver{"fake": b}, Tasks: b, Games: game.Builtin{}, Publisher: b, Pauses: b.pauses(), Logger: b.log.With("node", name),
		Now: time.Now, Node: name, Limits: engine.Limits{LeaseTTL: leaseTime},
	}
	for _, c := range change {
		c(&o)
	}
	reader := visibility.NewReader(b.store.Matches, time.Now)
	o.Delayed = visibility.NewDelayedPublisher(reader, o.Publisher, o.Logger)
	r := engine.New(o)
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	var once sync.Once
	n := &node{Engine: r, drain: func() { cancel(); <-r.Draining() }, stop: func() {
		once.Do(func() {
			cancel()
			b.ok(<-done)
		})
	}}
	b.t.Cleanup(n.stop)
	return n
}

// wait returns when cond holds; it looks again at every attempt and event.
func (b *bench) wait(what string, cond func() bool) {
	b.t.Helper()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for {
		b.mu.Lock()
		holds, changed := cond(), b.changed
		b.mu.Unlock()
		if holds {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			b.t.Fatalf("never happened: %s", what)
		}
	}
}

// over plays until the match has ended and returns it with its log.
func (b *bench) over(id string) (arena.Match, []arena.Event) {
	b.t.Helper()
	b.wait("the match ends", func() bool {
		return slices.ContainsFunc(b.published, func(e arena.Event) bool {
			return e.MatchID == id && (e.Type == arena.EventMatchFinished || e.Type == arena.EventMatchVoid)
		})
	})
	m, err := b.store.Matches.Match(b.t.Context(), id)
	b.ok(err)
	events, err := b.store.Matches.EventsAfter(b.t.Context(), id, 0, 1000)
	b.ok(err)
	for i, e := range events {
		if e.Seq != int64(i+1) {
			b.t.Fatalf("event %d has seq %d", i+1, e.Seq)
		}
	}
	return m, events
}

func (b *bench) answers(id string) map[string][]arena.Outcome {
	b.t.Helper()
	all, err := b.store.Matches.Answers(b.t.Context(), id)
	b.ok(err)
	by := map[string][]arena.Outcome{}
	for _, a := range all {
		by[a.AgentID] = append(by[a.AgentID], a.Outcome)
	}
	return by
}

func says(text string) arena.Reply {
	return arena.Reply{Outcome: arena.OutcomeAnswered, Status: 200, SentAt: time.Now(), Elapsed: time.Millisecond, Answer: &arena.AnswerBody{Answer: text}}
}

func right(_ context.Context, a arena.Attempt) arena.Reply {
	return says(fmt.Sprintf("right %d", a.Round))
}

func wrong(context.Context, arena.Attempt) arena.Reply { return says("wrong") }

func always(r arena.Reply) script {
	return func(context.Context, arena.Attempt) arena.Reply { return r }
}

// in plays s in one round and is right in all others.
func in(round int, s script) script {
	return func(ctx context.Context, a arena.Attempt) arena.Reply {
		if a.Round == round {
			return s(ctx, a)
		}
		return right(ctx, a)
	}
}

func bad(outcome arena.Outcome, reason string) arena.Reply {
	return arena.Reply{Outcome: outcome, Reason: reason, SentAt: time.Now(), Elapsed: time.Millisecond}
}

var (
	failing     = arena.Reply{Outcome: arena.OutcomeError, Reason: "status_500", Status: 500, Retry: true}
	refusing    = arena.Reply{Outcome: arena.OutcomeError, Reason: "refused", Retry: true, Unreached: true}
	unavailable = bad(arena.OutcomeUnavailable, "status_503")
	limited     = bad(arena.OutcomeRateLimited, "status_429")
)

func TestEngine_PlaysADuel(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	b.node("n1")
	m, events := b.over(b.match())
	if m.Status != arena.MatchFinished || m.Seats[0].Place != 1 || m.Seats[1].Place != 2 || m.Seats[0].Points != 3*arena.OnePoint {
		t.Fatalf("match is %+v", m)
	}
	if *m.Seats[0].Delta != 20_000 || *m.Seats[1].Delta != -20_000 {
		t.Errorf("rating changes are %v and %v", *m.Seats[0].Delta, *m.Seats[1].Delta)
	}
	var types []arena.EventType
	for _, e := range events {
		types = append(types, e.Type)
	}
	round := []arena.EventType{arena.EventRoundStarted, arena.EventSeatOutcome, arena.EventSeatOutcome, arena.EventReveal, arena.EventRoundClosed}
	want := append([]arena.EventType{arena.EventMatchScheduled, arena.EventMatchStarted}, slices.Concat(round, round, round)...)
	want = append(want, arena.EventMatchFinished)
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("log differs (-want +got):\n%s", diff)
	}
	// docs/rules.md, section 5: nothing of an open round's answers is readable.
	open := false
	for _, e := range events {
		switch e.Type {
		case arena.EventRoundStarted:
			open = true
		case arena.EventReveal:
			open = false
		}
		if open && bytes.Contains(e.Body, []byte("wrong")) {
			t.Errorf("event %d shows an answer of the open round: %s", e.Seq, e.Body)
		}
	}
	request := b.asked[len(b.asked)-1]
	last := request.Previous
	if last == nil || last.Correct != "right 2" || last.Receipt == nil {
		t.Fatalf("the last request says of the round before: %+v", last)
	}
	// The receipt is for what is stored, and dated as in the log.
	answers, err := b.store.Matches.Answers(t.Context(), m.ID)
	b.ok(err)
	for _, a := range answers {
		if a.AgentID == request.Seat.AgentID && a.Round == 2 {
			want, err := record.ReceiptOf(*a.Body, a.ArrivedAt)
			b.ok(err)
			if want.SHA256 != last.Receipt.SHA256 || last.Receipt.ArrivedAt.UnixMilli() != want.ArrivedAt.UnixMilli() {
				t.Errorf("the receipt is %+v, want %+v", last.Receipt, want)
			}
		}
	}
	for _, e := range events {
		if e.Type == arena.EventSeatOutcome && e.Round == 2 && e.AgentID == request.Seat.AgentID && e.At.UnixMilli() != last.Receipt.ArrivedAt.UnixMilli() {
			t.Errorf("the log says %v, the receipt %v", e.At, last.Receipt.ArrivedAt)
		}
	}
}

// The outcome table of the docs/rules.md, section 3: seat 0 misbehaves in round 2
// of 3, seats 1 and 2 are right.
func TestEngine_OutcomeTable(t *testing.T) {
	t.Parallel()
	once := func() script { // fails, then is right on the second attempt
		return func(ctx context.Context, a arena.Attempt) arena.Reply {
			if a.Number == 1 {
				return failing
			}
			return right(ctx, a)
		}
	}
	cases := []struct {
		name     string
		round    int
		do       script
		outcomes []arena.Outcome // of seat 0
		asked    int             // attempts in the round
		rated    bool            // seat 0's rating moves
		paused   bool
		state    arena.SeatState
	}{
		{"timeout is a lost round", 2, always(bad(arena.OutcomeTimeout, "late")), outcomes("answered timeout answered"), 1, true, false, arena.SeatActive},
		{"garbage is a lost round", 2, always(bad(arena.OutcomeInvalid, "bad_json")), outcomes("answered invalid answered"), 1, true, false, arena.SeatActive},
		{"an error is asked again once", 2, always(failing), outcomes("answered error answered"), 2, true, false, arena.SeatActive},
		{"a second attempt may answer", 2, once(), outcomes("answered answered answered"), 2, true, false, arena.SeatActive},
		{"no connection later is an error", 2, always(refusing), outcomes("answered error answered"), 2, true, false, arena.SeatActive},
		{"no connection at first: it leaves", 1, always(refusing), outcomes("unavailable"), 1, false, false, arena.SeatLeft},
		{"503: it leaves", 2, always(unavailable), outcomes("answered unavailable"), 1, false, false, arena.SeatLeft},
		{"429: paused, its rounds are void", 2, always(limited), outcomes("answered rate_limited rate_limited"), 1, false, true, arena.SeatActive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, in(c.round, c.do), wrong, wrong)
			b.node("n1")
			id := b.match()
			m, _ := b.over(id)
			if m.Status != arena.MatchFinished {
				t.Fatalf("match is %s: %s", m.Status, m.VoidReason)
			}
			if diff := cmp.Diff(c.outcomes, b.answers(id)[agentID(0)]); diff != "" {
				t.Errorf("outcomes differ (-want +got):\n%s", diff)
			}
			var numbers []int
			tasks := map[string]bool{}
			for _, a := range b.asked {
				if a.Round == c.round && a.Seat.AgentID == agentID(0) {
					numbers = append(numbers, a.Number)
					tasks[a.Task.ID] = true
				}
			}
			if len(numbers) != c.asked || len(tasks) != 1 || numbers[len(numbers)-1] != c.asked {
				t.Errorf("attempts are %v of tasks %v, want 1 to %d of one", numbers, tasks, c.asked)
			}
			if got := m.Seats[0].Delta != nil; got != c.rated {
				t.Errorf("rated is %v, want %v", got, c.rated)
			}
			if m.Seats[0].State != c.state {
				t.Errorf("seat is %s, want %s", m.Seats[0].State, c.state)
			}
			a, err := b.store.Agents.Agent(t.Context(), agentID(0))
			b.ok(err)
			if got := a.StatusAt(time.Now()) == arena.AgentPaused; got != c.paused {
				t.Errorf("paused is %v, want %v", got, c.paused)
			}
			deliveries, _, err := b.store.Agents.Deliveries(t.Context(), arena.DeliveryFilter{AgentID: agentID(0), MatchID: id}, arena.Page{Limit: 100})
			b.ok(err)
			if n := count(b.asked, func(a arena.Attempt) bool { return a.Seat.AgentID == agentID(0) }); len(deliveries) != n {
				t.Errorf("%d deliveries are kept of %d attempts", len(deliveries), n)
			}
		})
	}
}

func outcomes(s string) (o []arena.Outcome) {
	for f := range bytes.FieldsSeq([]byte(s)) {
		o = append(o, arena.Outcome(f))
	}
	return o
}

func count[T any](s []T, f func(T) bool) (n int) {
	for _, v := range s {
		if f(v) {
			n++
		}
	}
	return n
}

func TestEngine_ADuelWithoutOpponentIsVoid(t *testing.T) {
	t.Parallel()
	b := newBench(t, in(2, always(unavailable)), right)
	b.node("n1")
	m, events := b.over(b.match())
	if m.Status != arena.MatchVoid || m.Seats[0].Delta != nil || m.Seats[1].Delta != nil {
		t.Fatalf("match is %s, seats %+v", m.Status, m.Seats)
	}
	if last := events[len(events)-1]; last.Type != arena.EventMatchVoid {
		t.Errorf("last event is %s", last.Type)
	}
}

func TestEngine_Elimination(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, in(3, wrong), in(1, wrong), right, in(2, always(unavailable)))
	b.agent[agentID(3)] = in(4, wrong)
	b.node("n1")
	m, _ := b.over(b.match(func(s *arena.Settings) { s.Format, s.Rounds = arena.FormatElimination, 0 }))
	var places []int
	for _, s := range m.Seats {
		places = append(places, s.Place)
	}
	if diff := cmp.Diff([]int{1, 3, 4, 2, 5}, places); diff != "" {
		t.Errorf("places differ (-want +got):\n%s", diff)
	}
	sum := arena.MilliElo(0)
	for _, s := range m.Seats {
		if s.Delta != nil {
			sum += *s.Delta
		}
	}
	if sum != 0 || m.Round != 4 || m.Seats[4].Delta != nil {
		t.Errorf("round %d, sum of changes %d, the one that left has %v", m.Round, sum, m.Seats[4].Delta)
	}
}

func TestEngine_NotReadyAtTheStart(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong, right)
	_, _, err := b.store.Agents.UpdateAgent(t.Context(), agentID(2), func(a *arena.Agent) error {
		a.SetPause(arena.Pause{Reason: arena.PauseOwner, Since: time.Now()})
		return nil
	})
	b.ok(err)
	b.node("n1")
	m, _ := b.over(b.match())
	if m.Status != arena.MatchFinished || m.Seats[2].State != arena.SeatLeft || m.Seats[2].Delta != nil {
		t.Errorf("match %s, the paused agent's seat is %+v", m.Status, m.Seats[2])
	}
	if n := count(b.asked, func(a arena.Attempt) bool { return a.Seat.AgentID == agentID(2) }); n != 0 {
		t.Errorf("a paused agent was asked %d times", n)
	}
}
