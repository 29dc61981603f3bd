package match_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/settings"
)

var (
	admin = arena.Caller{TokenID: "to_admin", Scope: arena.ScopeAdmin}
	alice = arena.Caller{TokenID: "to_alice", OwnerID: "ow_alice", Scope: arena.ScopeOwner}
)

// fields lists the fields that an error names.
func fields(err error) (names []string) {
	if e, ok := err.(*arena.Error); ok { //nolint:errorlint // as the service returns it
		for _, f := range e.Fields {
			names = append(names, f.Field)
		}
	}
	return names
}

func TestService_Create(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service()
	f.agent("ann", "alice")
	f.agent("bob", "bob")
	two, no, later := 2, false, start.Add(time.Hour)
	m, err := s.Create(t.Context(), admin, arena.MatchRequest{League: "quiz", Agents: []string{"ag_ann", "ag_bob"}, Rounds: &two, Rated: &no, StartsAt: &later})
	f.ok(err)
	if m.Settings.Rounds != 2 || m.Settings.Rated || !m.StartsAt.Equal(later) || m.Seats[1].Version != "1.2" {
		t.Errorf("%+v", m)
	}
	want := []string{"admin create-match " + m.ID + ` {"league":"quiz","rated":false,"seats":2}`}
	if d := cmp.Diff(want, f.audited()); d != "" {
		t.Error(d)
	}
}

// A rejected request stores and publishes nothing.
func TestService_Create_rejects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service()
	f.league("over", func(l *arena.League) { l.Status = arena.LeagueFinished })
	f.league("draft", func(l *arena.League) { l.Status = arena.LeagueDraft })
	f.league("paused", func(l *arena.League) { l.Status = arena.LeaguePaused })
	f.league("unrated", func(l *arena.League) { l.Settings.Rated = false })
	f.agent("ann", "alice")
	f.agent("bob", "bob")
	f.agent("paused", "bob", func(g *arena.Agent) { g.Pauses = []arena.Pause{{Reason: arena.PauseOwner}} })
	f.agent("pending", "bob", func(g *arena.Agent) { g.PassedAt = time.Time{} })
	f.agent("chess", "bob", func(g *arena.Agent) { g.Health.Capabilities = []string{"chess"} })
	f.agent("retired", "bob", func(g *arena.Agent) { g.RetiredAt = start })
	pair := []string{"ag_ann", "ag_bob"}
	at := func(d time.Duration) *time.Time { t := start.Add(d); return &t }
	many, yes := settings.MaxRounds+1, true
	for name, c := range map[string]struct {
		caller arena.Caller
		in     arena.MatchRequest
		code   arena.Code
		fields []string
	}{
		"an owner":          {alice, arena.MatchRequest{League: "quiz", Agents: pair}, arena.CodeForbidden, nil},
		"anonymous":         {arena.Caller{}, arena.MatchRequest{League: "quiz", Agents: pair}, arena.CodeForbidden, nil},
		"no league":         {admin, arena.MatchRequest{League: "none", Agents: pair}, arena.CodeInvalid, []string{"league"}},
		"finished league":   {admin, arena.MatchRequest{League: "over", Agents: pair}, arena.CodeConflict, nil},
		"draft":             {admin, arena.MatchRequest{League: "draft", Agents: pair}, arena.CodeConflict, nil},
		"paused league":     {admin, arena.MatchRequest{League: "paused", Agents: pair}, arena.CodeConflict, nil},
		"rated":             {admin, arena.MatchRequest{League: "unrated", Agents: pair, Rated: &yes}, arena.CodeInvalid, []string{"rated"}},
		"too many rounds":   {admin, arena.MatchRequest{League: "quiz", Agents: pair, Rounds: &many}, arena.CodeInvalid, []string{"rounds"}},
		"yesterday":         {admin, arena.MatchRequest{League: "quiz", Agents: pair, StartsAt: at(-24 * time.Hour)}, arena.CodeInvalid, []string{"starts_at"}},
		"in ten years":      {admin, arena.MatchRequest{League: "quiz", Agents: pair, StartsAt: at(24 * 3650 * time.Hour)}, arena.CodeInvalid, []string{"starts_at"}},
		"one seat":          {admin, arena.MatchRequest{League: "quiz", Agents: pair[:1]}, arena.CodeInvalid, []string{"agents"}},
		"twice and unknown": {admin, arena.MatchRequest{League: "quiz", Agents: []string{"ag_ann", "ag_ann"}}, arena.CodeInvalid, []string{"agents[1]"}},
		"unknown, retired":  {admin, arena.MatchRequest{League: "quiz", Agents: []string{"ag_none", "ag_retired"}}, arena.CodeInvalid, []string{"agents[0]", "agents[1]"}},
		"retired later":     {admin, arena.MatchRequest{League: "quiz", Agents: []string{"ag_retired", "ag_bob"}, StartsAt: at(time.Hour)}, arena.CodeInvalid, []string{"agents[0]"}},
		"paused, pending":   {admin, arena.MatchRequest{League: "quiz", Agents: []string{"ag_paused", "ag_pending"}}, arena.CodeAgentNotReady, []string{"agents[0]", "agents[1]"}},
		"plays chess":       {admin, arena.MatchRequest{League: "quiz", Agents: []string{"ag_ann", "ag_chess"}}, arena.CodeAgentNotReady, []string{"agents[1]"}},
	} {
		_, err := s.Create(t.Context(), c.caller, c.in)
		if d := cmp.Diff(c.fields, fields(err)); arena.CodeOf(err) != c.code || d != "" {
			t.Errorf("%s: %v, %s", name, err, d)
		}
	}
	if got, log := f.published(), f.audited(); got != nil || log != nil {
		t.Errorf("published %q, audited %q", got, log)
	}
	// Agents that are not ready may be later, and a start within the last minute
	// means now.
	_, err := s.Create(t.Context(), admin, arena.MatchRequest{League: "quiz", Agents: []string{"ag_paused", "ag_pending"}, StartsAt: at(time.Hour)})
	f.ok(err)
	m, err := s.Create(t.Context(), admin, arena.MatchRequest{League: "quiz", Agents: pair, StartsAt: at(-time.Minute)})
	f.ok(err)
	if !m.StartsAt.Equal(start) {
		t.Errorf("starts at %v", m.StartsAt)
	}
}

func TestService_Challenge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service()
	f.agent("ann", "alice")
	f.agent("bob", "bob")
	f.agent("out", "bob", func(g *arena.Agent) { g.Leagues = nil })
	f.agent("paused", "bob", func(g *arena.Agent) { g.Pauses = []arena.Pause{{Reason: arena.PauseOwner}} })
	m, err := s.Challenge(t.Context(), alice, arena.ChallengeRequest{AgentID: "ag_ann", OpponentID: "ag_bob", League: "quiz"})
	f.ok(err)
	if m.Settings.Rated || len(m.Seats) != 2 || !m.StartsAt.Equal(start) || f.challenges.taken["ow_alice"] != 1 || f.challenged.taken["ag_bob"] != 1 {
		t.Errorf("%+v, quotas %v %v", m, f.challenges, f.challenged)
	}
	if d := cmp.Diff([]string{"ow_alice challenge " + m.ID + ` {"league":"quiz","rated":false,"seats":2}`}, f.audited()); d != "" {
		t.Error(d)
	}
	for name, c := range map[string]struct {
		in     arena.ChallengeRequest
		code   arena.Code
		fields []string
	}{
		"another's agent": {arena.ChallengeRequest{AgentID: "ag_bob", OpponentID: "ag_ann", League: "quiz"}, arena.CodeNotFound, nil},
		"unknown agent":   {arena.ChallengeRequest{AgentID: "ag_none", OpponentID: "ag_ann", League: "quiz"}, arena.CodeNotFound, nil},
		"no league":       {arena.ChallengeRequest{AgentID: "ag_ann", OpponentID: "ag_bob", League: "none"}, arena.CodeInvalid, []string{"league"}},
		"itself":          {arena.ChallengeRequest{AgentID: "ag_ann", OpponentID: "ag_ann", League: "quiz"}, arena.CodeInvalid, []string{"opponent_id"}},
		"not in it":       {arena.ChallengeRequest{AgentID: "ag_ann", OpponentID: "ag_out", League: "quiz"}, arena.CodeInvalid, []string{"opponent_id"}},
		"paused":          {arena.ChallengeRequest{AgentID: "ag_ann", OpponentID: "ag_paused", League: "quiz"}, arena.CodeAgentNotReady, []string{"opponent_id"}},
	} {
		_, err := s.Challenge(t.Context(), alice, c.in)
		if d := cmp.Diff(c.fields, fields(err)); arena.CodeOf(err) != c.code || d != "" {
			t.Errorf("%s: %v, %s", name, err, d)
		}
	}
	// A budget refuses a challenge before it costs one of the day.
	f.agent("spent", "bob", func(g *arena.Agent) { g.Budget.TokensPerDay, g.RoundTokens = 1, 1 })
	f.agent("asleep", "bob", func(g *arena.Agent) { g.Budget.Hours = &arena.PlayingHours{From: 1, To: 2} })
	for _, opponent := range []string{"ag_spent", "ag_asleep"} {
		_, err := s.Challenge(t.Context(), alice, arena.ChallengeRequest{AgentID: "ag_ann", OpponentID: opponent, League: "quiz"})
		if d := cmp.Diff([]string{"opponent_id"}, fields(err)); arena.CodeOf(err) != arena.CodeAgentNotReady || d != "" || f.challenged.taken[opponent] != 0 {
			t.Errorf("%s: %v, %s, %d challenges taken", opponent, err, d, f.challenged.taken[opponent])
		}
	}
	// Threat J9: of the judge code, a challenge needs processor time to judge it.
	f.judging.exceeds = "ow_alice"
	f.ok(f.store.Packs.CreatePack(t.Context(), arena.Pack{ID: "pk_1", Name: "programs", Format: "jsonl", CreatedAt: start}, nil))
	f.league("code", func(l *arena.League) {
		l.Settings.Generator, l.Settings.PackID, l.Settings.Judge.Kind = nil, "pk_1", arena.JudgeCode
	})
	for _, name := range []string{"cat", "dan"} {
		f.agent(name, map[string]string{"cat": "alice", "dan": "bob"}[name], func(g *arena.Agent) { g.Leagues, g.Health.Capabilities = []string{"code"}, []string{"code"} })
	}
	_, err = s.Challenge(t.Context(), alice, arena.ChallengeRequest{AgentID: "ag_cat", OpponentID: "ag_dan", League: "code"})
	if arena.CodeOf(err) != arena.CodeRateLimited || f.challenged.taken["ag_dan"] != 0 {
		t.Errorf("too much processor time: %v, %d challenges taken", err, f.challenged.taken["ag_dan"])
	}
	if _, err := s.Challenge(t.Context(), alice, arena.ChallengeRequest{AgentID: "ag_ann", OpponentID: "ag_bob", League: "quiz"}); err != nil {
		t.Errorf("a challenge that needs no processor time: %v", err)
	}
	f.challenged.exceeds = "ag_bob"
	if _, err := s.Challenge(t.Context(), alice, arena.ChallengeRequest{AgentID: "ag_ann", OpponentID: "ag_bob", League: "quiz"}); arena.CodeOf(err) != arena.CodeRateLimited {
		t.Errorf("challenged too often: %v", err)
	}
	f.challenged.exceeds, f.challenges.exceeds = "", "ow_alice"
	if _, err := s.Challenge(t.Context(), alice, arena.ChallengeRequest{AgentID: "ag_ann", OpponentID: "ag_bob", League: "quiz"}); arena.CodeOf(err) != arena.CodeRateLimited {
		t.Errorf("too many challenges: %v", err)
	}
	if events := f.published(); len(events) != 2 {
		t.Errorf("published %q", events)
	}
}
