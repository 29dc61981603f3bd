package storetest

import (
	"errors"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// reopen closes the store and opens it again: everything is still there.
func reopen(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c", "d")
	f.settle(f.open("m_1", ids[0], ids[1]), start)
	m := f.open("m_2", ids[2], ids[3])
	f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, func() arena.Answer { a := fullAnswer(ids[2]); a.MatchID = "m_2"; return a }(), nil, nil)))

	type state struct {
		Counts      arena.Counts
		Matches     []arena.Match
		Log         []arena.Event
		Answers     []arena.Answer
		Standings   []arena.Standing
		Settlements []arena.Settlement
	}
	read := func(s *store.Store) state {
		matches, _, err := s.Matches.Matches(ctx, arena.MatchFilter{}, arena.Page{Limit: 100})
		f.ok(err)
		return state{
			Counts: must(s.Operations.Counts(ctx))(f), Matches: matches, Log: must(s.Matches.EventsAfter(ctx, "m_1", 0, 100))(f),
			Answers: must(s.Matches.Answers(ctx, "m_2"))(f), Standings: must(s.Leagues.Standings(ctx, "trivia", start))(f),
			Settlements: must(s.Ratings.Settlements(ctx, "", 0, 100))(f),
		}
	}
	before := read(f.Store)
	f.ok(f.Close())
	again := f.another()
	f.ok(again.Migrate(ctx)) // nothing to do
	current, wanted, err := again.SchemaVersion(ctx)
	f.ok(err)
	f.equal(wanted, current)
	f.ok(again.Ping(ctx))
	f.equal(before, read(again))
}

func closed(f *fixture) {
	ctx := f.t.Context()
	f.ok(f.Close())
	f.ok(f.Close())
	f.fails(arena.CodeUnavailable, f.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow_1", Name: "x"}, token("to_1", "ow_1")))
	if _, err := f.Leagues.Leagues(ctx); err == nil {
		f.t.Fatal("a closed store was read")
	}
	if err := f.Ping(ctx); err == nil {
		f.t.Fatal("a closed store answered")
	}
}

// strangeText: threat A5, ids and names from outside go to placeholders, and
// what an engine cannot hold is refused or not found, never an internal error.
func strangeText(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	for _, text := range []string{"'", `"; DROP TABLE owners; --`, "\x00", "a\xffb", "%", "\u2028"} {
		calls := map[string]error{
			"Owner":      second(f.Accounts.Owner(ctx, text)),
			"Agent":      second(f.Agents.Agent(ctx, text)),
			"League":     second(f.Leagues.League(ctx, text)),
			"Match":      second(f.Matches.Match(ctx, text)),
			"Pack":       second(f.Packs.Pack(ctx, text)),
			"Task":       second(f.Packs.Task(ctx, text, 0)),
			"Standings":  second(f.Leagues.Standings(ctx, text, start)),
			"Enter":      f.Leagues.Enter(ctx, "trivia", text, start),
			"Withdraw":   f.Leagues.Withdraw(ctx, text, text, start),
			"Revoke":     f.Accounts.RevokeToken(ctx, text, text),
			"Append":     second(f.Matches.AppendEvents(ctx, text, text, nil)),
			"Release":    f.Matches.ReleaseLease(ctx, arena.Lease{MatchID: text}),
			"Cooldowns":  second(f.Agents.Cooldowns(ctx, []string{text}, start)),
			"AuditLog":   third(f.Operations.AuditLog(ctx, arena.AuditFilter{Find: text}, arena.Page{Limit: 1})),
			"AgentsByID": second(f.Agents.AgentsByID(ctx, []string{text})),

			"Agents/owner":     third(f.Agents.Agents(ctx, arena.AgentFilter{OwnerID: text}, arena.Page{Limit: 1})),
			"Agents/league":    third(f.Agents.Agents(ctx, arena.AgentFilter{League: text}, arena.Page{Limit: 1})),
			"Agents/query":     third(f.Agents.Agents(ctx, arena.AgentFilter{Query: text}, arena.Page{Limit: 1})),
			"Matches/league":   third(f.Matches.Matches(ctx, arena.MatchFilter{League: text}, arena.Page{Limit: 1})),
			"Matches/agent":    third(f.Matches.Matches(ctx, arena.MatchFilter{AgentID: text}, arena.Page{Limit: 1})),
			"Matches/name":     third(f.Matches.Matches(ctx, arena.MatchFilter{Query: text}, arena.Page{Limit: 1})),
			"Matches/opponent": third(f.Matches.Matches(ctx, arena.MatchFilter{AgentID: text, OpponentID: text}, arena.Page{Limit: 1})),
			"Matches/status":   third(f.Matches.Matches(ctx, arena.MatchFilter{Statuses: []arena.MatchStatus{arena.MatchStatus(text)}}, arena.Page{Limit: 1})),
			"Deliveries/agent": third(f.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: text}, arena.Page{Limit: 1})),
			"Deliveries/match": third(f.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: "ag_1", MatchID: text}, arena.Page{Limit: 1})),
			"Seasons":          third(f.Leagues.Seasons(ctx, text, arena.Page{Limit: 1})),
			"AgentRatings":     second(f.Ratings.AgentRatings(ctx, []string{text})),
			"RatingHistory":    second(f.Ratings.RatingHistory(ctx, text, text, 1)),
			"AgentClaims":      second(f.Ratings.AgentClaims(ctx, text, text, 1)),
			"AgentResults":     second(f.Ratings.AgentResults(ctx, text, 1)),
			"AgentCauses":      second(f.Ratings.AgentCauses(ctx, text)),
			"Opponents":        second(f.Ratings.Opponents(ctx, text)),
			"Uptime":           second(f.Agents.Uptime(ctx, text, start)),
			"Evidence":         second(f.Ratings.Evidence(ctx, text, 1)),
			"EventsAfter":      second(f.Matches.EventsAfter(ctx, text, 0, 1)),
			"Gold":             second(f.Leagues.Gold(ctx, text, text)),
			"NextGold":         second(f.Leagues.NextGold(ctx, text, text)),
			"Verdicts":         second(f.Matches.Verdicts(ctx, text)),
			"NoShows":          second(f.Ratings.NoShows(ctx, text, []string{text})),
			"SeenNoShows":      second(f.Ratings.SeenNoShows(ctx, text)),
		}
		for name, err := range calls {
			var known *arena.Error
			if err != nil && !errors.As(err, &known) {
				f.t.Errorf("%s(%q): %v", name, text, err)
			}
		}
	}
	f.owner("still there")
}
