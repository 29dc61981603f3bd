package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

func TestService_Update_budget(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	for name, b := range map[string]arena.Budget{
		"budget.matches_per_day": {MatchesPerDay: 10_001},
		"budget.tokens_per_day":  {TokensPerDay: -1},
		"budget.hours.zone":      {Hours: &arena.PlayingHours{Zone: "Mars/Olympus"}},
		"budget.hours.days":      {Hours: &arena.PlayingHours{Days: []time.Weekday{time.Monday, time.Monday}}},
		"budget.hours.from":      {Hours: &arena.PlayingHours{From: 1440}},
		"budget.hours.to":        {Hours: &arena.PlayingHours{To: 1441}},
	} {
		_, err := s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{Budget: &b})
		if arena.CodeOf(err) != arena.CodeInvalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := arena.Budget{MatchesPerDay: 3, TokensPerDay: 900, Hours: &arena.PlayingHours{Zone: "Europe/Madrid", From: 8 * 60, To: 9 * 60}}
	after, err := s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{Budget: &b})
	if s.ok(err); after.Budget.MatchesPerDay != 3 || after.Budget.Zone() != "Europe/Madrid" {
		t.Errorf("%+v", after.Budget)
	}
	if lines := s.audited(); len(lines) != 1 || !strings.Contains(lines[0], `"budget":"3 matches, 900 tokens a day, 08:00 to 09:00 Europe/Madrid []"`) {
		t.Errorf("audited %v", lines)
	}
	cooldowns, err := s.Cooldowns(t.Context(), []arena.Agent{after})
	if s.ok(err); cooldowns[g.ID].Reason != arena.CooldownHours { // start is at noon
		t.Errorf("%+v", cooldowns)
	}
	after, err = s.Update(t.Context(), alice(), g.ID, arena.AgentUpdate{Budget: &arena.Budget{}})
	if s.ok(err); !after.Budget.IsZero() {
		t.Errorf("removed: %+v", after.Budget)
	}
	if cooldowns, err = s.Cooldowns(t.Context(), []arena.Agent{after}); err != nil || len(cooldowns) != 0 {
		t.Errorf("without a budget: %+v, %v", cooldowns, err)
	}
}

func TestService_BudgetUse(t *testing.T) {
	t.Parallel()
	s := newService(t)
	g := s.agent("ant")
	_, _, err := s.Rehearse(t.Context(), alice(), g.ID, arena.RehearsalRequest{League: "quiz"})
	s.ok(err)
	u, err := s.BudgetUse(t.Context(), alice(), g.ID)
	if s.ok(err); u.Cooldown != nil || u.Use.AllMatches() != 0 || u.Agent.RoundTokens != 40 {
		t.Errorf("%+v", u)
	}
	_, err = s.BudgetUse(t.Context(), bob(), g.ID)
	s.fails(err, arena.CodeNotFound)
}
