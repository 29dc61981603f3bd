package storetest

import (
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
)

// operations: who is alive, what waits, which rounds are open, who is slow.
func operations(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c", "d")
	f.equal(0, len(must(f.Operations(ctx))(f).Nodes))

	n := arena.Node{ID: "nd_9", Version: "v1", StartedAt: start}
	f.ok(f.Beat(ctx, n))
	n.Draining, n.LastError, n.LastErrorAt = true, "job failed: \x00", start.Add(time.Second)
	f.ok(f.Beat(ctx, n))
	m := f.open("m_1", ids[0], ids[1])
	f.match("m_2", "trivia", ids[2], ids[3])
	later := arena.Match{ID: "m_3", League: "trivia", Settings: settings(), Seats: m.Seats, CreatedAt: start, StartsAt: start.AddDate(100, 0, 0)}
	f.ok(second(f.CreateMatch(ctx, later, event(arena.EventMatchScheduled, `{}`))))

	o := must(f.Operations(ctx))(f)
	f.equal(arena.Queue{Due: 1, Later: 1, Oldest: start.Add(time.Minute)}, o.Queue)
	f.equal([]arena.OpenRound{{MatchID: "m_1", League: "trivia", Node: m.Lease.Node, Round: 1, OpenedAt: start.Add(time.Minute), Settings: settings()}}, o.Open)
	byID := map[string]arena.Node{}
	for _, known := range o.Nodes {
		if !known.SeenAt.IsZero() {
			known.SeenAt = start
		}
		byID[known.ID] = known
	}
	n.Alive, n.SeenAt, n.LastError = true, start, "job failed: \ufffd"
	f.equal(map[string]arena.Node{"nd_9": n, m.Lease.Node: {ID: m.Lease.Node, Alive: true, Matches: 1}}, byID)
	slowest := must(f.Agent(ctx, ids[0]))(f)
	f.equal(4, len(o.Slow))
	f.equal(arena.Agent{ID: slowest.ID, Name: "a", Health: arena.Health{Latency: slowest.Health.Latency, DeclaredLatency: slowest.Health.DeclaredLatency}}, o.Slow[0])
}

func banner(f *fixture) {
	ctx := f.t.Context()
	f.equal(arena.Banner{}, must(f.Banner(ctx))(f))
	for _, text := range []string{"Down at six", "Up again", ""} {
		b := arena.Banner{Text: text, Since: start}
		f.ok(f.SetBanner(ctx, b))
		f.equal(b, must(f.Banner(ctx))(f))
	}
}

// auditedBanner: the entry about a banner is stored with it, or neither is.
func auditedBanner(f *fixture) {
	ctx, broken := f.t.Context(), errors.New("does not encode")
	first, second := arena.Banner{Text: "Down at six", Since: start}, arena.Banner{Text: "Up again", Since: start}
	f.ok(f.SetBanner(ctx, first))
	err := f.SetBanner(ctx, second, func(arena.Banner, arena.Banner) (arena.AuditEntry, error) { return arena.AuditEntry{}, broken })
	f.equal(true, errors.Is(err, broken))
	f.equal(first, must(f.Banner(ctx))(f))
	f.ok(f.SetBanner(ctx, second, func(before, after arena.Banner) (arena.AuditEntry, error) {
		return arena.AuditEntry{At: start, Actor: "admin", Action: "set-banner", Target: before.Text + ", " + after.Text}, nil
	}))
	f.equal(second, must(f.Banner(ctx))(f))
	entries, _, err := f.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 10})
	f.ok(err)
	f.equal(1, len(entries))
	f.equal("Down at six, Up again", entries[0].Target)
}

// movers: what moved in a time, most first, in each league alone.
func movers(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	ids := f.agents("a", "b")
	f.settle(f.begin("m_1", "trivia", ids...), start)
	f.settle(f.begin("m_2", "trivia", ids...), start.Add(2*time.Hour))
	f.settle(f.begin("m_3", "sums", ids...), start.Add(2*time.Hour))
	all := must(f.Movers(ctx, start, 9))(f)
	late := must(f.Movers(ctx, start.Add(time.Hour), 9))(f)
	f.equal(4, len(all))
	f.equal(4, len(late))
	first := all[0]
	history := must(f.RatingHistory(ctx, first.AgentID, first.League, 9))(f)
	last := history[len(history)-1]
	f.equal("trivia", first.League)
	f.equal(arena.Mover{
		AgentID: first.AgentID, Name: first.Name, League: "trivia", Rating: last.Rating, Matches: 2,
		Change: last.Rating - arena.StartRating, Recent: []arena.Melo{history[0].Rating, last.Rating},
	}, first)
	f.equal(1, len(must(f.Movers(ctx, start, 1))(f)))
	f.equal(0, len(must(f.Movers(ctx, start.Add(3*time.Hour), 9))(f)))
	f.fails(arena.CodeInvalid, second(f.Movers(ctx, start, 0)))
}

// lastSeasons: the newest finished one of each league, never a running one.
func lastSeasons(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	for i, id := range []string{"se_1", "se_2", "se_3"} {
		made := must(f.StartSeason(ctx, arena.Season{ID: id, League: "trivia", Format: arena.FormatSwiss, StartedAt: start}))(f)
		if i < 2 {
			f.ok(f.ChangeSeason(ctx, made, arena.SeasonChange{Finish: &arena.SeasonEnd{At: start, Table: []arena.TableRow{{Rank: 1, AgentID: id}}}}))
		}
	}
	last := must(f.LastSeasons(ctx))(f)
	f.equal(1, len(last))
	f.equal("se_2", last["trivia"].Table[0].AgentID)
}
