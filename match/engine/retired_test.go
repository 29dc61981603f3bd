package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// Threat F6: who retires an agent in the middle of a match loses the rest of it: nobody
// calls the endpoint any more.
func TestEngine_RetiredIsATimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t, right, wrong)
	b.agent[agentID(0)] = in(2, func(ctx context.Context, a arena.Attempt) arena.Reply {
		_, _, err := b.store.Agents.UpdateAgent(ctx, agentID(0), func(g *arena.Agent) error {
			g.RetiredAt = time.Now()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return right(ctx, a) // the round that is open goes on
	})
	b.node("n1")
	id := b.match()
	m, _ := b.over(id)
	if diff := cmp.Diff(outcomes("answered answered timeout"), b.answers(id)[agentID(0)]); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
	if n := count(b.asked, func(a arena.Attempt) bool { return a.Seat.AgentID == agentID(0) }); n != 2 {
		t.Errorf("the agent was asked %d times", n)
	}
	if m.Status != arena.MatchFinished || m.Seats[0].Delta == nil || m.Seats[0].State != arena.SeatActive {
		t.Errorf("match %s, seat %+v", m.Status, m.Seats[0])
	}
}
