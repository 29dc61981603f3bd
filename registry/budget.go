package registry

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

const (
	maxZone      = 64
	minutesOfDay = 24 * 60
)

func checkBudget(b arena.Budget) error {
	switch {
	case b.MatchesPerDay < 0 || b.MatchesPerDay > arena.MaxMatchesPerDay:
		return arena.Invalid("budget.matches_per_day", "must be 0 to %d, got %d", arena.MaxMatchesPerDay, b.MatchesPerDay)
	case b.TokensPerDay < 0 || b.TokensPerDay > arena.MaxTokensPerDay:
		return arena.Invalid("budget.tokens_per_day", "must be 0 to %d, got %d", int64(arena.MaxTokensPerDay), b.TokensPerDay)
	case b.Hours == nil:
		return nil
	}
	h := b.Hours
	if h.Zone == "Local" || len(h.Zone) > maxZone {
		return arena.Invalid("budget.hours.zone", "must be the name of a time zone such as Europe/Madrid")
	}
	if _, err := time.LoadLocation(h.Zone); err != nil {
		return arena.Invalid("budget.hours.zone", "must be the name of a time zone such as Europe/Madrid, not %q", h.Zone)
	}
	for i, day := range h.Days {
		if day < time.Sunday || day > time.Saturday || slices.Contains(h.Days[:i], day) {
			return arena.Invalid("budget.hours.days", "must be different days of the week")
		}
	}
	if h.From < 0 || h.From >= minutesOfDay {
		return arena.Invalid("budget.hours.from", "must be 00:00 to 23:59")
	}
	if h.To < 0 || h.To > minutesOfDay {
		return arena.Invalid("budget.hours.to", "must be 00:00 to 24:00")
	}
	return nil
}

// describeBudget returns a budget for the audit log.
func describeBudget(b arena.Budget) string {
	text := fmt.Sprintf("%d matches, %d tokens a day", b.MatchesPerDay, b.TokensPerDay)
	if h := b.Hours; h != nil {
		text += fmt.Sprintf(", %02d:%02d to %02d:%02d %s %v", h.From/60, h.From%60, h.To/60, h.To%60, b.Zone(), h.Days)
	}
	return text
}

// Cooldowns returns why agents take no seats because of their budgets, by agent.
func (s *Service) Cooldowns(ctx context.Context, agents []arena.Agent) (map[string]arena.BudgetCooldown, error) {
	cooldowns := map[string]arena.BudgetCooldown{}
	uses, err := s.budgetUses(ctx, slices.DeleteFunc(slices.Clone(agents), func(g arena.Agent) bool { return g.Budget.IsZero() }))
	for _, u := range uses {
		if u.Cooldown != nil {
			cooldowns[u.Agent.ID] = *u.Cooldown
		}
	}
	return cooldowns, err
}

// BudgetUse returns what an agent of the caller has used today, with or without
// a budget.
func (s *Service) BudgetUse(ctx context.Context, caller arena.Caller, id string) (arena.BudgetUse, error) {
	g, err := s.Own(ctx, caller, id)
	if err != nil {
		return arena.BudgetUse{}, err
	}
	uses, err := s.budgetUses(ctx, []arena.Agent{g})
	if err != nil {
		return arena.BudgetUse{}, err
	}
	return uses[0], nil
}

func (s *Service) budgetUses(ctx context.Context, agents []arena.Agent) ([]arena.BudgetUse, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	leagues, err := s.o.Store.Leagues.Leagues(ctx)
	if err != nil {
		return nil, err
	}
	now, zones, days := s.now(), arena.Zones{}, make([]arena.AgentDay, len(agents))
	for i, g := range agents {
		days[i] = zones.Day(g, now)
	}
	used, err := s.o.Store.Budgets.DayUses(ctx, days)
	if err != nil {
		return nil, err
	}
	uses := make([]arena.BudgetUse, len(agents))
	for i, g := range agents {
		u := arena.BudgetUse{Agent: g, Day: days[i], Use: used[g.ID]}
		for _, l := range leagues {
			if tokens := u.Use.MatchTokens(g, l.Settings); slices.Contains(g.Leagues, l.Slug) && (u.MatchTokens == 0 || tokens < u.MatchTokens) {
				u.MatchTokens = tokens
			}
		}
		if c, waits := g.Budget.CooldownAt(now, zones.Of(g.Budget), u.Day, u.Use, u.MatchTokens); waits {
			u.Cooldown = &c
		}
		uses[i] = u
	}
	return uses, nil
}
