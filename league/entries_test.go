package league_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
)

// tries is a quota of passwords.
type tries struct {
	tried    int
	exceeded bool
}

func (q *tries) Take(context.Context, string) error {
	if q.tried++; q.exceeded {
		return arena.Errorf(arena.CodeRateLimited, "too many")
	}
	return nil
}

// Threat F1: the tasks of an agent of envelopes are public.
func TestEntries_MayEnter_hiddenGame(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[string]arena.Code{arena.ProtocolEnvelope: arena.CodeForbidden, arena.ProtocolAAP: ""} {
		o := newOffice(t)
		o.ok(o.store.Leagues.CreateLeague(t.Context(), arena.League{
			Slug: "poker", Status: arena.LeagueOpen, Settings: arena.Settings{Game: &arena.GameSpec{Name: "kuhn_poker", Hidden: true}},
		}))
		e := league.NewEntries(o.store, &tries{}, o.now)
		if err := e.MayEnter(t.Context(), "poker", arena.Agent{ID: "ag_1", Protocol: protocol}, ""); arena.CodeOf(err) != want {
			t.Errorf("%s: %v", protocol, err)
		}
	}
}

func TestEntries_MayEnter(t *testing.T) {
	t.Parallel()
	locked := arena.EntryRules{PasswordHash: arena.HashPassword("salt", "sesame")}
	for name, c := range map[string]struct {
		exceeded bool
		entered  bool // another agent of the owner
		status   arena.LeagueStatus
		until    time.Time
		archived time.Time
		rules    arena.EntryRules
		password string
		want     arena.Code
		tried    int
	}{
		"open":                {status: arena.LeagueOpen},
		"draft":               {status: arena.LeagueDraft, want: arena.CodeConflict},
		"finished":            {status: arena.LeagueFinished, want: arena.CodeConflict},
		"before the deadline": {until: noon.Add(time.Millisecond)},
		"at the deadline":     {until: noon, want: arena.CodeSignupClosed},
		"archived":            {archived: noon, want: arena.CodeConflict},
		"on the list":         {rules: arena.EntryRules{Allow: []string{"ag_1"}}},
		"not on the list":     {rules: arena.EntryRules{Allow: []string{"ag_2"}}, want: arena.CodeForbidden},
		"right password":      {rules: locked, password: "sesame", tried: 1},
		"wrong password":      {rules: locked, password: "guess", tried: 1, want: arena.CodeForbidden},
		"no password":         {rules: locked, want: arena.CodeForbidden},
		"too many passwords":  {exceeded: true, rules: locked, password: "sesame", tried: 1, want: arena.CodeRateLimited},
		"password not needed": {password: "guess"},
		"new, needs 1600 Elo": {rules: arena.EntryRules{MinRating: 1_600_000}, want: arena.CodeForbidden},
		"second of one owner": {entered: true, rules: arena.EntryRules{AgentsPerOwner: 1}, want: arena.CodeConflict},
		"first of one owner":  {rules: arena.EntryRules{AgentsPerOwner: 1}},
	} {
		o := newOffice(t)
		o.ok(o.store.Leagues.CreateLeague(t.Context(), arena.League{
			Slug: "quiz", Status: cmp.Or(c.status, arena.LeagueOpen), Entry: c.rules, SignupUntil: c.until, ArchivedAt: c.archived,
		}))
		g := arena.Agent{ID: "ag_1", OwnerID: "ow_alice", Name: "one", Protocol: arena.ProtocolAAP, CreatedAt: noon}
		o.ok(o.store.Agents.CreateAgent(t.Context(), g))
		if c.entered {
			o.ok(o.store.Leagues.Enter(t.Context(), "quiz", "ag_alice", noon))
		}
		q := &tries{exceeded: c.exceeded}
		err := league.NewEntries(o.store, q, o.now).MayEnter(t.Context(), "quiz", g, c.password)
		if arena.CodeOf(err) != c.want || q.tried != c.tried {
			t.Errorf("%s: %v, %d passwords counted; want %q, %d", name, err, q.tried, c.want, c.tried)
		}
	}
}

func TestRatingsAdmit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rating  arena.MilliElo
		matches int
		rules   arena.EntryRules
		want    arena.Code
	}{
		{1_600_000, 1, arena.EntryRules{MinRating: 1_600_000}, ""},
		{1_599_000, 1, arena.EntryRules{MinRating: 1_600_000}, arena.CodeForbidden},
		{1_601_000, 1, arena.EntryRules{MaxRating: 1_600_000}, arena.CodeForbidden},
		{1_500_000, 1, arena.EntryRules{MinMatches: 12}, arena.CodeForbidden},
		{1_500_000, 2, arena.EntryRules{MinMatches: 12}, ""}, // matches in other leagues count
	} {
		ratings := []arena.Rating{{League: "quiz", MilliElo: c.rating, Matches: c.matches}, {League: "sums", MilliElo: 9_000_000, Matches: 10}}
		if err := league.RatingsAdmit(arena.League{Slug: "quiz", Entry: c.rules}, ratings); arena.CodeOf(err) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
