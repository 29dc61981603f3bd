package storetest

import (
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

// recentTasks: what the seats of a match have had, in it and before.
func recentTasks(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c", "d")
	play := func(id string, sources []string, agents ...string) {
		m := f.begin(id, "trivia", agents...)
		for i, source := range sources {
			r := round(i + 1)
			r.Task.Source = source
			f.ok(second(f.OpenRound(ctx, m.Lease, r, nil)))
			f.ok(second(f.CloseRound(ctx, m.Lease, arena.RoundClose{Round: i + 1, Seats: m.Seats}, noEvents)))
		}
		f.settle(m, start)
	}
	play("m_1", []string{"pk_1/5", "pk_1/6"}, ids[0], ids[1])
	play("m_2", []string{"", "pk_1/5"}, ids[0], ids[2])
	play("m_3", []string{"pk_1/9"}, ids[2], ids[3])
	at := func(no int) time.Time { return round(no).OpenedAt }

	next := arena.Match{ID: "m_9", League: "trivia", Seats: []arena.Seat{{AgentID: ids[0]}, {AgentID: ids[1]}}}
	f.equal(map[string]time.Time{"pk_1/5": at(2), "pk_1/6": at(2)}, must(f.RecentTasks(ctx, next))(f))
	next.Seats[1].AgentID = ids[3]
	f.equal(map[string]time.Time{"pk_1/5": at(2), "pk_1/6": at(2), "pk_1/9": at(1)}, must(f.RecentTasks(ctx, next))(f))
	f.equal(map[string]time.Time{"pk_1/9": at(1)}, must(f.RecentTasks(ctx, arena.Match{ID: "m_3"}))(f)) // its own

	// With many seats it is what the league has had.
	for i := range 9 {
		next.Seats = append(next.Seats, arena.Seat{AgentID: fmt.Sprint(i)})
	}
	f.equal(3, len(must(f.RecentTasks(ctx, next))(f)))
	next.League = "none"
	f.equal(0, len(must(f.RecentTasks(ctx, next))(f)))

	// And only lately.
	for i := range 20 {
		play(fmt.Sprintf("m_a%02d", i), []string{fmt.Sprintf("pk_2/%d", i)}, ids[0], ids[1])
	}
	next = arena.Match{ID: "m_x", League: "trivia", Seats: []arena.Seat{{AgentID: ids[0]}, {AgentID: ids[1]}}}
	f.equal(20, len(must(f.RecentTasks(ctx, next))(f)))
}
