package league_test

import (
	"context"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
)

// entries is a store with one league, and a quota of passwords.
type entries struct {
	league   arena.League
	ratings  []arena.Rating
	entered  int
	tried    int
	exceeded bool
}

func (e *entries) League(context.Context, string) (arena.League, error) { return e.league, nil }

func (e *entries) Agents(_ context.Context, _ arena.AgentFilter, p arena.Page) ([]arena.Agent, string, error) {
	return make([]arena.Agent, min(e.entered, p.Limit)), "", nil
}

func (e *entries) AgentRatings(_ context.Context, ids []string) (map[string][]arena.Rating, error) {
	return map[string][]arena.Rating{ids[0]: e.ratings}, nil
}

func (e *entries) Take(context.Context, string) error {
	if e.tried++; e.exceeded {
		return arena.Errorf(arena.CodeRateLimited, "too many")
	}
	return nil
}

// Threat F1: the tasks of an agent of envelopes are public.
func TestEntries_MayEnter_hiddenGame(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[string]arena.Code{arena.ProtocolEnvelope: arena.CodeForbidden, arena.ProtocolAAP: ""} {
		in := &entries{league: arena.League{Slug: "poker", Status: arena.LeagueOpen, Settings: arena.Settings{Game: &arena.GameSpec{Name: "kuhn_poker", Hidden: true}}}}
		e, err := league.NewEntries(in, in, func() time.Time { return noon })
		if err != nil {
			t.Fatal(err)
		}
		if err := e.MayEnter(t.Context(), "poker", arena.Agent{ID: "ag_1", Protocol: protocol}, ""); arena.CodeOf(err) != want {
			t.Errorf("%s: %v", protocol, err)
		}
	}
}

func TestEntries_MayEnter(t *testing.T) {
	t.Parallel()
	locked := arena.EntryRules{PasswordHash: arena.HashPassword("salt", "sesame")}
	elo := func(n arena.MilliElo, matches int) []arena.Rating {
		return []arena.Rating{{League: "quiz", MilliElo: n * 1000, Matches: matches}, {League: "sums", MilliElo: 9_000_000, Matches: 10}}
	}
	for name, c := range map[string]struct {
		in       entries
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
		"too many passwords":  {in: entries{exceeded: true}, rules: locked, password: "sesame", tried: 1, want: arena.CodeRateLimited},
		"password not needed": {password: "guess"},
		"new, needs 1600 Elo": {rules: arena.EntryRules{MinRating: 1_600_000}, want: arena.CodeForbidden},
		"has 1600 Elo":        {in: entries{ratings: elo(1600, 1)}, rules: arena.EntryRules{MinRating: 1_600_000}},
		"above 1600 Elo":      {in: entries{ratings: elo(1601, 1)}, rules: arena.EntryRules{MaxRating: 1_600_000}, want: arena.CodeForbidden},
		"too few matches":     {in: entries{ratings: elo(1500, 1)}, rules: arena.EntryRules{MinMatches: 12}, want: arena.CodeForbidden},
		"second of one owner": {in: entries{entered: 1}, rules: arena.EntryRules{AgentsPerOwner: 1}, want: arena.CodeConflict},
		"first of one owner":  {rules: arena.EntryRules{AgentsPerOwner: 1}},
	} {
		in := c.in
		in.league = arena.League{Slug: "quiz", Status: c.status, Entry: c.rules, SignupUntil: c.until, ArchivedAt: c.archived}
		e, err := league.NewEntries(&in, &in, func() time.Time { return noon })
		if err != nil {
			t.Fatal(err)
		}
		err = e.MayEnter(t.Context(), "quiz", arena.Agent{ID: "ag_1", OwnerID: "ow_1"}, c.password)
		if arena.CodeOf(err) != c.want || in.tried != c.tried {
			t.Errorf("%s: %v, %d passwords counted; want %q, %d", name, err, in.tried, c.want, c.tried)
		}
	}
	if _, err := league.NewEntries(nil, &entries{}, time.Now); err == nil {
		t.Error("without a store: no error")
	}
	if _, err := league.NewEntries(&entries{}, &entries{}, nil); err == nil {
		t.Error("without a clock: no error")
	}
}
