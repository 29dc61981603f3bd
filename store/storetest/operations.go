package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/agora-arena/arena/arena"
)

// operations: who is alive, what waits, which rounds are open, who is slow.
func operations(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c", "d")
	f.equal(0, len(must(f.Operations.Operations(ctx))(f).Nodes))

	n := arena.Node{ID: "nd_9", Version: "v1", StartedAt: start}
	f.ok(f.Operations.Heartbeat(ctx, n))
	n.Draining, n.LastError, n.LastErrorAt = true, "job failed: \x00", start.Add(time.Second)
	f.ok(f.Operations.Heartbeat(ctx, n))
	m := f.open("m_1", ids[0], ids[1])
	f.match("m_2", "trivia", ids[2], ids[3])
	later := arena.Match{ID: "m_3", League: "trivia", Settings: settings(), Seats: m.Seats, CreatedAt: start, StartsAt: start.AddDate(100, 0, 0)}
	f.ok(second(f.Matches.CreateMatch(ctx, later, event(arena.EventMatchScheduled, `{}`))))

	o := must(f.Operations.Operations(ctx))(f)
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
	slowest := must(f.Agents.Agent(ctx, ids[0]))(f)
	f.equal(4, len(o.Slow))
	f.equal(arena.Agent{ID: slowest.ID, Name: "a", Health: arena.Health{Latency: slowest.Health.Latency, DeclaredLatency: slowest.Health.DeclaredLatency}}, o.Slow[0])
}

func banner(f *fixture) {
	ctx := f.t.Context()
	f.equal(arena.Banner{}, must(f.Operations.Banner(ctx))(f))
	for _, text := range []string{"Down at six", "Up again", ""} {
		b := arena.Banner{Text: text, Since: start}
		f.ok(f.Operations.SetBanner(ctx, b))
		f.equal(b, must(f.Operations.Banner(ctx))(f))
	}
}

// auditedBanner: the entry about a banner is stored with it, or neither is.
func auditedBanner(f *fixture) {
	ctx, broken := f.t.Context(), errors.New("does not encode")
	first, second := arena.Banner{Text: "Down at six", Since: start}, arena.Banner{Text: "Up again", Since: start}
	f.ok(f.Operations.SetBanner(ctx, first))
	err := f.Operations.SetBanner(ctx, second, func(arena.Banner, arena.Banner) (arena.AuditEntry, error) { return arena.AuditEntry{}, broken })
	f.equal(true, errors.Is(err, broken))
	f.equal(first, must(f.Operations.Banner(ctx))(f))
	f.ok(f.Operations.SetBanner(ctx, second, func(before, after arena.Banner) (arena.AuditEntry, error) {
		return arena.AuditEntry{At: start, Actor: "admin", Action: "set-banner", Target: before.Text + ", " + after.Text}, nil
	}))
	f.equal(second, must(f.Operations.Banner(ctx))(f))
	entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 10})
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
	all := must(f.Ratings.Movers(ctx, start, 9))(f)
	late := must(f.Ratings.Movers(ctx, start.Add(time.Hour), 9))(f)
	f.equal(4, len(all))
	f.equal(4, len(late))
	first := all[0]
	history := must(f.Ratings.RatingHistory(ctx, first.AgentID, first.League, 9))(f)
	last := history[len(history)-1]
	f.equal("trivia", first.League)
	f.equal(arena.Mover{
		AgentID: first.AgentID, Name: first.Name, League: "trivia", Rating: last.Rating, Rated: 2, Matches: 2,
		Change: last.Rating - arena.StartRating, Recent: []arena.MilliElo{history[0].Rating, last.Rating},
	}, first)
	i := slices.IndexFunc(late, func(m arena.Mover) bool { return m.League == "trivia" })
	f.equal([2]int{2, 1}, [2]int{late[i].Rated, late[i].Matches})
	f.equal(1, len(must(f.Ratings.Movers(ctx, start, 1))(f)))
	f.equal(0, len(must(f.Ratings.Movers(ctx, start.Add(3*time.Hour), 9))(f)))
	f.fails(arena.CodeInvalid, second(f.Ratings.Movers(ctx, start, 0)))
}

// lastSeasons: the newest finished one of each league, never a running one.
func lastSeasons(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	for i, id := range []string{"se_1", "se_2", "se_3"} {
		made := must(f.Leagues.StartSeason(ctx, arena.Season{ID: id, League: "trivia", Format: arena.FormatSwiss, StartedAt: start}))(f)
		if i < 2 {
			f.ok(f.Leagues.ChangeSeason(ctx, made, arena.SeasonChange{Finish: &arena.SeasonEnd{At: start, Table: []arena.TableRow{{Rank: 1, AgentID: id}}}}))
		}
	}
	last := must(f.Leagues.LastSeasons(ctx))(f)
	f.equal(1, len(last))
	f.equal("se_2", last["trivia"].Table[0].AgentID)
}

// auditedWrites: an audit entry is stored with the change that it records, or
// neither is.
func auditedWrites(f *fixture) {
	ctx := f.t.Context()
	entry := func(action string) arena.AuditEntry {
		return arena.AuditEntry{At: start, Actor: "admin", Action: action}
	}
	logged := func(want ...string) {
		f.t.Helper()
		entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 100})
		f.ok(err)
		var got []string
		for _, e := range entries {
			got = append(got, e.Action)
		}
		slices.Sort(got)
		slices.Sort(want)
		f.equal(want, got)
	}
	kim := arena.Owner{ID: "ow_kim", Name: "Kim", CreatedAt: start}
	f.ok(f.Accounts.CreateOwner(ctx, kim, token("to_1", "ow_kim"), entry("sign-up")))
	f.fails(arena.CodeConflict, f.Accounts.CreateOwner(ctx, kim, token("to_2", "ow_kim"), entry("sign-up again")))
	f.ok(f.Accounts.CreateToken(ctx, token("to_2", "ow_kim"), entry("create-token")))
	f.fails(arena.CodeConflict, f.Accounts.CreateToken(ctx, token("to_2", "ow_kim"), entry("create-token again")))
	f.ok(f.Accounts.RevokeToken(ctx, "ow_kim", "to_2", entry("revoke-token")))
	f.fails(arena.CodeNotFound, f.Accounts.RevokeToken(ctx, "ow_kim", "to_2", entry("revoke-token again")))
	logged("sign-up", "create-token", "revoke-token")

	ant := arena.Agent{ID: "ag_ant", OwnerID: "ow_kim", Name: "ant", Protocol: arena.ProtocolAAP, CreatedAt: start}
	f.ok(f.Agents.CreateAgent(ctx, ant, entry("create-agent")))
	f.fails(arena.CodeNameTaken, f.Agents.CreateAgent(ctx, arena.Agent{ID: "ag_2", OwnerID: "ow_kim", Name: "Ant", Protocol: arena.ProtocolAAP, CreatedAt: start}, entry("create-agent again")))
	rename := func(g *arena.Agent) error { g.Name = "bee"; return nil }
	names := func(before, after arena.Agent) (arena.AuditEntry, error) {
		e := entry("update-agent")
		e.Before, e.After = json.RawMessage(`"`+before.Name+`"`), json.RawMessage(`"`+after.Name+`"`)
		return e, nil
	}
	_, _, err := f.Agents.UpdateAgent(ctx, "ag_ant", rename, func(arena.Agent, arena.Agent) (arena.AuditEntry, error) {
		return arena.AuditEntry{}, errors.New("does not encode")
	})
	f.equal(true, err != nil)
	f.equal("ant", must(f.Agents.Agent(ctx, "ag_ant"))(f).Name)
	_, _, err = f.Agents.UpdateAgent(ctx, "ag_ant", rename, names)
	f.ok(err)
	logged("sign-up", "create-token", "revoke-token", "create-agent", "update-agent")
	entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{Find: "update-agent"}, arena.Page{Limit: 1})
	f.ok(err)
	f.equal(`"ant" "bee"`, string(entries[0].Before)+" "+string(entries[0].After))
	selected := func(filter arena.AuditFilter) int {
		entries, _, err := f.Operations.AuditLog(ctx, filter, arena.Page{Limit: 10})
		f.ok(err)
		return len(entries)
	}
	f.equal(5, selected(arena.AuditFilter{From: start, To: start.Add(time.Millisecond)}))
	f.equal(0, selected(arena.AuditFilter{To: start}))
	f.equal(0, selected(arena.AuditFilter{From: start.Add(time.Millisecond)}))
}

// auditedLeagues: the same for leagues, their entries, matches and ratings.
func auditedLeagues(f *fixture) {
	ctx := f.t.Context()
	entry := func(action string) arena.AuditEntry {
		return arena.AuditEntry{At: start, Actor: "admin", Action: action}
	}
	broken := errors.New("does not encode")
	ids := f.agents("a", "b")
	quiz := f.league("quiz")
	f.fails(arena.CodeNameTaken, f.Leagues.CreateLeague(ctx, quiz, entry("refused")))
	quiz.Slug = "sums"
	f.ok(f.Leagues.CreateLeague(ctx, quiz, entry("create-league")))
	open := func(l *arena.League) error { l.Status = arena.LeagueRunning; return nil }
	was := must(f.Leagues.League(ctx, "sums"))(f).Status
	_, err := f.Leagues.UpdateLeague(ctx, "sums", open, func(arena.League, arena.League) (arena.AuditEntry, error) { return entry("refused"), broken })
	f.equal(true, errors.Is(err, broken))
	f.equal(was, must(f.Leagues.League(ctx, "sums"))(f).Status)
	_, err = f.Leagues.UpdateLeague(ctx, "sums", open, func(before, after arena.League) (arena.AuditEntry, error) {
		return entry("start " + string(before.Status) + " " + string(after.Status)), nil
	})
	f.ok(err)
	f.fails(arena.CodeNotFound, f.Leagues.Enter(ctx, "none", ids[0], start, entry("refused")))
	f.ok(f.Leagues.Enter(ctx, "sums", ids[0], start, entry("enter")))
	f.fails(arena.CodeNotFound, f.Leagues.Withdraw(ctx, "sums", ids[1], start, entry("refused")))
	f.ok(f.Leagues.Withdraw(ctx, "sums", ids[0], start, entry("withdraw")))

	m := arena.Match{
		ID: "m_1", League: "quiz", Settings: quiz.Settings, CreatedAt: start, StartsAt: start.Add(time.Hour),
		Seats: []arena.Seat{{No: 0, AgentID: ids[0]}, {No: 1, AgentID: ids[1]}},
	}
	e := arena.Event{At: start, Type: arena.EventMatchScheduled, Body: json.RawMessage(`{}`)}
	_, err = f.Matches.CreateMatch(ctx, m, e, entry("create-match"))
	f.ok(err)
	m.ID = "m_2"
	_, _, err = f.Matches.CreateAndClaim(ctx, m, e, "nd_1", time.Hour, entry("challenge"))
	f.ok(err)
	m.ID, m.League = "m_3", "none"
	_, err = f.Matches.CreateMatch(ctx, m, e, entry("refused"))
	f.fails(arena.CodeNotFound, err)
	last := arena.Event{At: start, Type: arena.EventMatchVoid, Body: json.RawMessage(`{}`)}
	_, err = f.Matches.EndMatch(ctx, "m_1", arena.MatchCancelled, arena.OperatorReason("rain"), start, last, entry("cancel"))
	f.ok(err)
	_, err = f.Matches.EndMatch(ctx, "m_1", arena.MatchCancelled, arena.OperatorReason("rain"), start, last, entry("refused"))
	f.fails(arena.CodeConflict, err)
	pack := arena.Pack{ID: "pk_1", Name: "p", Format: "jsonl", CreatedAt: start}
	f.ok(f.Packs.CreatePack(ctx, pack, nil, entry("create-pack")))
	f.equal(true, f.Packs.CreatePack(ctx, pack, nil, entry("refused")) != nil)
	rate := func(arena.Match, []arena.Answer, map[string]arena.Rating) []arena.RatingChange { return nil }
	_, err = f.Ratings.RebuildRatings(ctx, "quiz", rate, func(changed int) (arena.AuditEntry, error) {
		e := entry("rebuild")
		e.Target = strconv.Itoa(changed)
		return e, nil
	})
	f.ok(err)
	_, err = f.Ratings.RebuildRatings(ctx, "quiz", rate, func(int) (arena.AuditEntry, error) { return entry("refused"), broken })
	f.equal(true, errors.Is(err, broken))

	entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 100})
	f.ok(err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Action+e.Target)
	}
	slices.Sort(got)
	want := []string{
		"cancel", "challenge", "create-league", "create-match", "create-pack", "enter", "rebuild0", "start " + string(was) + " running", "withdraw",
	}
	f.equal(want, got)
}
