package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/scoring/sandbox/sandboxtest"
)

// mover plays a random legal move, the same one whenever it is asked in the same
// turn. Games that list no moves get one that is legal in most turns.
func mover(_ context.Context, a arena.Attempt) arena.Reply {
	r := rand.New(rand.NewPCG(uint64(a.Round), uint64(a.Seat.No)))
	if n := len(a.Task.Options); n > 0 {
		return says(a.Task.Options[r.IntN(n)])
	}
	return says([]string{"30,30,20,10,10", `{"say":"Hello","offer":{"books":1,"hats":0,"balls":1}}`, `{"accept":true}`}[r.IntN(3)])
}

// ending is what a match of games led to.
type ending struct {
	Status arena.MatchStatus
	Points []arena.Points
	Places []int
	Rounds []arena.RoundClosedBody
}

func (b *bench) ending(id string) ending {
	b.t.Helper()
	m, err := b.store.Matches.Match(b.t.Context(), id)
	b.ok(err)
	events, err := b.store.Matches.EventsAfter(b.t.Context(), id, 0, 10_000)
	b.ok(err)
	e := ending{Status: m.Status, Rounds: b.closings(events)}
	for _, s := range m.Seats {
		e.Points, e.Places = append(e.Points, s.Points), append(e.Places, s.Place)
	}
	return e
}

// A match of any game has the same moves, positions and points when its nodes are
// killed at random writes as when they are not. Threats C1, C5.
func TestEngine_KilledInGames(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	runner, err := sandboxtest.New()
	if err != nil {
		t.Fatal(err)
	}
	games, err := catalog.New(runner, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := games.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 8 {
		t.Errorf("the arena has %d games", len(list))
	}
	short := map[string]map[string]int{"chess": {"max_moves": 10}, "iterated_prisoners_dilemma": {"rounds": 6}, "colonel_blotto": {"battlefields": 5, "troops": 100}}
	for i, info := range list {
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, mover, mover)
			play := func(s *arena.Settings) {
				connectFour(2)(s)
				s.Game.Name, s.Game.Version, s.Game.Hidden, s.Game.Options = info.Name, info.Version, info.Hidden, short[info.Name]
			}
			// run plays until the match ends or a node dies, and returns the number of
			// its writes.
			run := func(name, id string, f fault) (ended bool, writes int) {
				x := newFrail(b, f)
				n := b.node(name, lively, impatient, x.use, func(o *engine.Options) { o.LeaseTTL, o.Games = time.Minute, games })
				hit := false
				b.endOrHit(id, x.hit, &hit)
				n.stop()
				m, err := b.store.Matches.Match(t.Context(), id)
				b.ok(err)
				if !m.Status.Over() {
					b.ok(b.runOut(t.Context(), m))
				}
				return m.Status.Over(), x.calls[anyWrite]
			}
			whole := b.match(play)
			_, writes := run("whole", whole, fault{})
			want := b.ending(whole)
			if want.Status != arena.MatchFinished {
				t.Fatalf("the match is %s", want.Status)
			}
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			killed := b.match(play)
			for kills, over := 0, false; !over; kills++ {
				f := fault{method: anyWrite, n: 1 + r.IntN(writes/3+1), done: r.IntN(2) == 0, dies: true}
				if kills >= engine.MaxInterruptions-1 { // a match that breaks more nodes is void
					f = fault{}
				}
				over, _ = run(fmt.Sprintf("n%d", kills), killed, f)
			}
			if d := cmp.Diff(want, b.ending(killed)); d != "" {
				t.Errorf("seed %d: the match that was interrupted differs (-want +got):\n%s", seed, d)
			}
		})
	}
}
