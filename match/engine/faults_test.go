package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/store/storetest"
)

// frail is a node's way to the outside: storage, agents and spectators. It
// breaks at one call.
type frail struct {
	*bench
	engine.Store
	f fault

	mu    sync.Mutex
	calls map[string]int
	hit   chan struct{}            // closed at the fault
	dead  bool                     // nothing leaves the node any more
	away  int                      // calls that still fail
	cut   func(method string) bool // while it is set: which calls fail
}

// fault is what happens at the n-th call of a method.
type fault struct {
	method string // or anyWrite
	n      int
	done   bool // the call takes effect before it fails
	dies   bool // the node dies with it; else storage is unavailable for a few calls
}

// anyWrite stands for all methods that write to a match.
const anyWrite = "any write"

// writes reports whether a method writes to a match.
func writes(method string) bool {
	return slices.Contains([]string{"StartMatch", "OpenRound", "SaveAnswer", "CloseRound", "Settle"}, method)
}

func (f fault) String() string {
	s := fmt.Sprintf("%s_%d", f.method, f.n)
	if f.done {
		s += "_done"
	}
	return s
}

func newFrail(b *bench, f fault) *frail {
	return &frail{bench: b, Store: engine.NewRows(b.store), f: f, calls: map[string]int{}, hit: make(chan struct{})}
}

// use makes a node stand on the frail parts.
func (x *frail) use(o *engine.Options) {
	o.Store, o.Drivers, o.Publisher = x, map[string]engine.Driver{"fake": x}, x
}

var errAway = arena.Errorf(arena.CodeUnavailable, "storage is unavailable")

// call runs one call of a method, or not.
func call[T any](x *frail, method string, do func() (T, error)) (v T, err error) {
	x.mu.Lock()
	x.calls[method]++
	if writes(method) {
		x.calls[anyWrite]++
	}
	now := x.calls[x.f.method] == x.f.n && (method == x.f.method || x.f.method == anyWrite && writes(method))
	switch {
	case x.dead, x.cut != nil && x.cut(method):
		err = errAway
	case now:
		err, x.away = errAway, 2
	case x.away > 0:
		x.away--
		err = errAway
	}
	if now && x.f.dies && !x.f.done {
		x.dead = true
	}
	x.mu.Unlock()
	if err == nil || now && x.f.done {
		var failed error
		if v, failed = do(); failed != nil || err != nil {
			var none T
			v, err = none, cmpOr(failed, err)
		}
	}
	if now {
		x.mu.Lock()
		x.dead = x.f.dies
		x.mu.Unlock()
		close(x.hit)
	}
	return v, err
}

func cmpOr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (x *frail) isDead() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.dead
}

func (x *frail) ClaimMatches(ctx context.Context, node string, ttl time.Duration, limit int, plays func(arena.Lease) bool) ([]arena.Match, error) {
	var made []arena.Match
	claimed, err := call(x, "ClaimMatches", func() (_ []arena.Match, err error) {
		made, err = x.Store.ClaimMatches(ctx, node, ttl, limit, plays)
		return made, err
	})
	if err != nil {
		for _, m := range made { // a claim whose result is lost runs out, whichever node stops meanwhile
			if err := x.runOut(context.WithoutCancel(ctx), m); err != nil {
				x.t.Error(err)
			}
		}
	}
	return claimed, err
}

// runOut lets the lease of a match end now. A short one would do so by itself,
// but also under a node that a busy machine does not let run.
func (b *bench) runOut(ctx context.Context, m arena.Match) error {
	_, err := b.store.Matches.RenewLeases(ctx, m.Lease.Node, []string{m.ID}, -time.Hour)
	return err
}

func (x *frail) RenewLeases(ctx context.Context, node string, ids []string, ttl time.Duration) ([]arena.Lease, error) {
	return call(x, "RenewLeases", func() ([]arena.Lease, error) { return x.Store.RenewLeases(ctx, node, ids, ttl) })
}

func (x *frail) ReleaseLease(ctx context.Context, l arena.Lease) error {
	_, err := call(x, "ReleaseLease", func() (struct{}, error) { return struct{}{}, unhurried{x.Store}.ReleaseLease(ctx, l) })
	return err
}

func (x *frail) RevertInterruption(ctx context.Context, l arena.Lease) error {
	_, err := call(x, "RevertInterruption", func() (struct{}, error) { return struct{}{}, x.Store.RevertInterruption(ctx, l) })
	return err
}

func (x *frail) Cooldowns(ctx context.Context, ids []string, at time.Time) (map[string]arena.Cooldown, error) {
	return call(x, "Cooldowns", func() (map[string]arena.Cooldown, error) { return x.Store.Cooldowns(ctx, ids, at) })
}

func (x *frail) AgentsByID(ctx context.Context, ids []string) (map[string]arena.Agent, error) {
	return call(x, "AgentsByID", func() (map[string]arena.Agent, error) { return x.Store.AgentsByID(ctx, ids) })
}

func (x *frail) Rounds(ctx context.Context, id string) ([]arena.Round, error) {
	return call(x, "Rounds", func() ([]arena.Round, error) { return x.Store.Rounds(ctx, id) })
}

func (x *frail) Answers(ctx context.Context, id string) ([]arena.Answer, error) {
	return call(x, "Answers", func() ([]arena.Answer, error) { return x.Store.Answers(ctx, id) })
}

func (x *frail) EventsAfter(ctx context.Context, id string, since int64, limit int) ([]arena.Event, error) {
	return call(x, "EventsAfter", func() ([]arena.Event, error) { return x.Store.EventsAfter(ctx, id, since, limit) })
}

func (x *frail) StartMatch(ctx context.Context, l arena.Lease, seats []arena.Seat, at time.Time, first *arena.Round, events []arena.Event) ([]arena.Event, error) {
	return call(x, "StartMatch", func() ([]arena.Event, error) { return x.Store.StartMatch(ctx, l, seats, at, first, events) })
}

func (x *frail) OpenRound(ctx context.Context, l arena.Lease, r arena.Round, events []arena.Event) ([]arena.Event, error) {
	return call(x, "OpenRound", func() ([]arena.Event, error) { return x.Store.OpenRound(ctx, l, r, events) })
}

func (x *frail) SaveLastAnswer(ctx context.Context, l arena.Lease, a arena.Answer, d []arena.Delivery, events []arena.Event) ([]arena.Event, error) {
	return call(x, "SaveAnswer", func() ([]arena.Event, error) { return x.Store.SaveLastAnswer(ctx, l, a, d, events) })
}

func (x *frail) SaveAnswer(ctx context.Context, l arena.Lease, a arena.Answer, d []arena.Delivery, events []arena.Event) ([]arena.Event, error) {
	return call(x, "SaveAnswer", func() ([]arena.Event, error) { return x.Store.SaveAnswer(ctx, l, a, d, events) })
}

func (x *frail) CloseRound(ctx context.Context, l arena.Lease, c arena.RoundClose, events func([]arena.Event) ([]arena.Event, error)) ([]arena.Event, error) {
	return call(x, "CloseRound", func() ([]arena.Event, error) { return x.Store.CloseRound(ctx, l, c, events) })
}

func (x *frail) Settle(ctx context.Context, l arena.Lease, r arena.Result, at time.Time, rate func(map[string]arena.Rating) []arena.RatingChange, last func([]arena.RatingChange) (arena.Event, error)) ([]arena.Event, error) {
	return call(x, "Settle", func() ([]arena.Event, error) {
		// Inside the transaction too: what the node computes there is lost with it.
		return x.Store.Settle(ctx, l, r, at, rate, func(c []arena.RatingChange) (arena.Event, error) {
			_, err := call(x, "inside Settle", func() (struct{}, error) { return struct{}{}, nil })
			if err != nil {
				return arena.Event{}, err
			}
			return last(c)
		})
	})
}

// Prepare implements engine.Driver: a dead node sends nothing.
func (x *frail) Prepare(ctx context.Context, a arena.Attempt) (func(context.Context) arena.Reply, error) {
	send, err := x.bench.Prepare(ctx, a)
	return func(ctx context.Context) arena.Reply {
		if x.isDead() {
			return bad(arena.OutcomeVoid, "dead")
		}
		return send(ctx)
	}, err
}

// Publish implements engine.Publisher: a dead node publishes nothing.
func (x *frail) Publish(league string, events ...arena.Event) {
	if !x.isDead() {
		x.bench.Publish(league, events...)
	}
}

// A node may fail at any step of a match, before or after the step took
// effect, and storage may be away at any step: the match is finished, by
// another node or the same one, with every answer once, one settlement and
// one log. Threats C1, C5, C6.
func TestEngine_Faults(t *testing.T) {
	t.Parallel()
	server, err := storetest.StartServer(t.Context())
	if storetest.Missing(err) {
		t.Log(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if server != nil {
			if err := server.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	for _, engine := range []string{"sqlite", "postgres"} {
		for _, dies := range []bool{true, false} {
			for _, done := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/dies=%t/done=%t", engine, dies, done), func(t *testing.T) {
					t.Parallel()
					url := storetest.SQLite(t)
					if engine == "postgres" {
						if server == nil {
							t.Skip("no PostgreSQL server")
						}
						url = server.Database(t)
					}
					b := newBenchOn(t, url, right, wrong)
					for _, method := range []string{
						"ClaimMatches", "AgentsByID", "Cooldowns", "StartMatch", "SaveAnswer", "CloseRound", "OpenRound", "Settle", "inside Settle",
					} {
						n := 0
						for hit := true; hit; {
							n++
							hit = b.survives(fault{method: method, n: n, done: done, dies: dies})
						}
						if n == 1 {
							t.Errorf("%s is never called", method)
						}
					}
				})
			}
		}
	}
}

// survives plays one match with a fault in it and checks what came of it. It
// reports whether the fault was reached.
func (b *bench) survives(f fault) bool {
	b.t.Helper()
	x := newFrail(b, f)
	first := b.node("n1 of "+f.String(), lively, impatient, x.use, func(o *engine.Options) { o.LeaseTTL = time.Minute })
	id := b.match(func(s *arena.Settings) {
		if s.Rounds = 2; f.method == "OpenRound" { // without a break a round opens when the one before closes
			s.Break = time.Nanosecond
		}
	})
	first.Wake()
	hit := false
	b.endOrHit(id, x.hit, &hit)
	if !f.dies { // the end may be in the database before the node knows of it
		b.wait("the end is published", func() bool {
			return slices.ContainsFunc(b.published, func(e arena.Event) bool { return e.MatchID == id && e.Type == arena.EventMatchFinished })
		})
	}
	if !hit { // the end may be in the database before the fault is known
		first.stop()
		select {
		case <-x.hit:
			hit = true
		default:
		}
	}
	if hit && f.dies {
		first.stop()
		m, err := b.store.Matches.Match(b.t.Context(), id)
		b.ok(err)
		b.ok(b.runOut(b.t.Context(), m))
		second := b.node("n2 of "+f.String(), lively)
		b.endOrHit(id, nil, nil)
		second.stop()
	}
	first.stop()
	b.whole(id, f)
	return hit
}

// endOrHit waits for the end of a match, which in these tests may come without
// an event, or for hit.
func (b *bench) endOrHit(id string, hit chan struct{}, was *bool) {
	b.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for {
		select {
		case <-hit:
			*was = true
			return
		case <-look.C:
			m, err := b.store.Matches.Match(b.t.Context(), id)
			b.ok(err)
			if m.Status.Over() {
				return
			}
		case <-limit.C:
			b.t.Fatalf("match %s never ends", id)
		}
	}
}

// whole checks a match that went through a fault.
func (b *bench) whole(id string, f fault) {
	b.t.Helper()
	ctx := b.t.Context()
	m, err := b.store.Matches.Match(ctx, id)
	b.ok(err)
	log, err := b.store.Matches.EventsAfter(ctx, id, 0, 1000)
	b.ok(err)
	if m.Status != arena.MatchFinished {
		b.t.Fatalf("%s: match is %s: %s", f, m.Status, m.VoidReason)
	}
	if m.Interruptions > 0 && !f.dies && f.method != "ClaimMatches" {
		b.t.Errorf("%s: %d interruptions", f, m.Interruptions)
	}
	if diff := cmp.Diff(map[string][]arena.Outcome{
		agentID(0): outcomes("answered answered"), agentID(1): outcomes("answered answered"),
	}, b.answers(id)); diff != "" {
		b.t.Errorf("%s: outcomes differ (-want +got):\n%s", f, diff)
	}
	of := func(kind arena.EventType) int { return count(log, func(e arena.Event) bool { return e.Type == kind }) }
	if of(arena.EventMatchStarted) != 1 || of(arena.EventRoundClosed) != 2 || of(arena.EventSeatOutcome) != 4 ||
		of(arena.EventMatchFinished) != 1 || log[len(log)-1].Type != arena.EventMatchFinished {
		b.t.Errorf("%s: the log is not that of one match: %v", f, log)
	}
	if n := of(arena.EventRoundStarted); n != 2 && !f.dies {
		b.t.Errorf("%s: %d rounds were opened", f, n)
	}
	all, err := b.store.Ratings.Settlements(ctx, slug, 0, 1000)
	b.ok(err)
	if n := count(all, func(s arena.Settlement) bool { return s.MatchID == id }); n != 1 {
		b.t.Errorf("%s: %d settlements", f, n)
	}
	if *m.Seats[0].Delta+*m.Seats[1].Delta != 0 {
		b.t.Errorf("%s: changes are %d and %d", f, *m.Seats[0].Delta, *m.Seats[1].Delta)
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	published := map[int64]arena.Event{}
	for _, e := range b.published {
		if e.MatchID == id {
			published[e.Seq] = e
		}
	}
	for _, e := range log {
		got, ok := published[e.Seq]
		switch {
		case ok:
			if diff := cmp.Diff(e, got); diff != "" {
				b.t.Errorf("%s: event %d was published otherwise than it is stored:\n%s", f, e.Seq, diff)
			}
			delete(published, e.Seq)
		case e.Type == arena.EventSeatOutcome: // it shows as a gap once the next is published, and gaps are read from the log
		case !f.dies && e.Seq > 1:
			b.t.Errorf("%s: event %d (%s) was not published", f, e.Seq, e.Type)
		}
	}
	if len(published) > 0 {
		b.t.Errorf("%s: published without being stored: %v", f, published)
	}
	type request struct {
		agent         string
		round, number int
	}
	asked := map[request]int{}
	for _, a := range b.asked {
		if a.MatchID == id {
			asked[request{a.Seat.AgentID, a.Round, a.Number}]++
		}
	}
	for r, n := range asked {
		if n != 1 || r.number > 1 && !f.dies {
			b.t.Errorf("%s: request %+v was sent %d times", f, r, n)
		}
	}
}
