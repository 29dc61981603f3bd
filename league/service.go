package league

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/league/schedule"
	"github.com/agora-arena/arena/league/settings"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/store"
)

// ServiceOptions are the parts of a Service.
type ServiceOptions struct {
	Store   *store.Store
	Entries *Entries
	Games   *catalog.Catalog
	// HasModel reports that the arena has a language model, which leagues may have
	// as their judge.
	HasModel bool
	// Document returns a league as audit entries show it, without secrets. It is a
	// parameter because entries show the view of the API, which imports this package.
	Document func(arena.League) any
	// Cheats has the cheats and built-in opponents of an audit play on a copy of a
	// league with these settings and tasks, of which there is at least one. It returns
	// what they got.
	Cheats func(ctx context.Context, of arena.Settings, tasks []arena.Task) (arena.AuditReport, error)
	// AuditsRated reports that AuditDue is called, so that rated leagues wait for it.
	AuditsRated bool
	Now         func() time.Time
}

// Service is the service for leagues, their entries, packs of tasks and games.
type Service struct {
	o        ServiceOptions
	auditing sync.Mutex // held while an audit plays
}

// NewService makes a Service.
func NewService(o ServiceOptions) *Service {
	return &Service{o: o}
}

// now returns the current time in UTC, truncated to milliseconds.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

// Create stores an open league, for an admin. Settings that are left out get
// their defaults.
func (s *Service) Create(ctx context.Context, caller arena.Caller, l arena.League) (arena.League, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return arena.League{}, err
	}
	g, err := s.gameOf(ctx, l.Settings)
	if err != nil {
		return arena.League{}, err
	}
	l.Status, l.Settings, l.CreatedAt = arena.LeagueOpen, settings.Defaults(withGame(l.Settings, g)), s.now()
	if err := s.check(ctx, l, g); err != nil {
		return arena.League{}, err
	}
	s.requireAudit(&l)
	audit, err := caller.Audit(l.CreatedAt, "create-league", l.Slug, nil, s.o.Document(l))
	if err != nil {
		return arena.League{}, err
	}
	if err := s.o.Store.Leagues.CreateLeague(ctx, l, audit); err != nil {
		return arena.League{}, err
	}
	return s.o.Store.Leagues.League(ctx, l.Slug)
}

// Update changes a league by edit, for an admin or its organizer. edit may run more than once.
// Matches that are scheduled keep their settings.
func (s *Service) Update(ctx context.Context, caller arena.Caller, slug string, edit func(*arena.League)) (arena.League, error) {
	if err := caller.Require(slug, arena.RightOrganize); err != nil {
		return arena.League{}, err
	}
	l, err := s.o.Store.Leagues.League(ctx, slug)
	if err != nil {
		return arena.League{}, err
	}
	// The checks read the store, so they precede its transaction.
	edit(&l)
	g, err := s.gameOf(ctx, l.Settings)
	if err != nil {
		return arena.League{}, err
	}
	change := func(l *arena.League) error {
		if l.Status == arena.LeagueFinished {
			return arena.Errorf(arena.CodeConflict, "league %s is finished", l.Slug)
		}
		before := l.AuditedSettings()
		edit(l)
		l.Settings = settings.Defaults(withGame(l.Settings, g))
		if l.Status == arena.LeagueOpen && l.AuditedSettings() != before {
			s.requireAudit(l)
		}
		return nil
	}
	if err := change(&l); err != nil {
		return arena.League{}, err
	}
	if err := s.check(ctx, l, g); err != nil {
		return arena.League{}, err
	}
	at := s.now()
	return s.o.Store.Leagues.UpdateLeague(ctx, slug, change, func(before, after arena.League) (arena.AuditEntry, error) {
		return caller.Audit(at, "update-league", slug, s.o.Document(before), s.o.Document(after))
	})
}

// gameOf describes the game that settings name, or returns nil if the league asks
// questions.
func (s *Service) gameOf(ctx context.Context, of arena.Settings) (*rules.Info, error) {
	if of.Game == nil {
		return nil, nil //nolint:nilnil // no game: not an error
	}
	r, err := s.o.Games.Rules(ctx, *of.Game)
	if err != nil {
		return nil, err
	}
	info := r.Info()
	return &info, nil
}

// withGame returns settings with what the rules of their game say.
func withGame(of arena.Settings, info *rules.Info) arena.Settings {
	if of.Game != nil && info != nil {
		g := *of.Game
		g.Hidden = info.Hidden
		of.Game = &g
	}
	return of
}

// check rejects a league that could not be played.
func (s *Service) check(ctx context.Context, l arena.League, g *rules.Info) error {
	if err := plaintext.CheckLine("title", l.Title); err != nil {
		return err
	}
	for _, text := range []struct {
		field, text string
		longest     int
		check       func(field, text string) error
	}{
		{"description", l.Description, arena.MaxLeagueDescription, plaintext.CheckText},
		{"prize", l.Prize, arena.MaxLeaguePrize, plaintext.CheckLine},
		{"rules_text", l.RulesText, arena.MaxLeagueRulesText, plaintext.CheckText},
	} {
		if text.text == "" {
			continue
		}
		if err := plaintext.CheckLength(text.field, text.text, 1, text.longest); err != nil {
			return err
		}
		if err := text.check(text.field, text.text); err != nil {
			return err
		}
	}
	for _, rule := range l.Settings.Rules {
		if err := plaintext.CheckText("rules", rule); err != nil {
			return err
		}
	}
	fields := settings.Check(l.Settings, s.o.HasModel)
	if l.Settings.Game != nil && g != nil {
		fields = append(fields, settings.CheckGame(l.Settings, *g)...)
	}
	if len(fields) > 0 {
		return &arena.Error{Code: arena.CodeInvalid, Message: "validation failed", Fields: fields}
	}
	if l.Schedule != "" {
		if err := schedule.Check(l.Schedule, s.now()); err != nil {
			return arena.Invalid("schedule", "must be a cron expression: %v", err)
		}
	}
	if err := s.checkGold(ctx, l); err != nil || l.Settings.PackID == "" {
		return err
	}
	return s.checkPack(ctx, l.Settings)
}

// checkGold rejects a pack of gold items whose tasks are no pairs of answers, or that some
// league plays: questions of matches become public.
func (s *Service) checkGold(ctx context.Context, l arena.League) error {
	gold, questions := l.Settings.Judge.Gold, l.Settings.PackID
	if gold == "" && questions == "" {
		return nil
	}
	if gold != "" && gold == questions {
		return arena.Invalid("judge.gold", "must not be the pack of the league's own questions: they become public")
	}
	leagues, err := s.o.Store.Leagues.Leagues(ctx)
	if err != nil {
		return err
	}
	for _, other := range leagues {
		switch {
		case other.Slug == l.Slug:
		case gold != "" && other.Settings.PackID == gold:
			return arena.Invalid("judge.gold", "must not be the pack of the questions of league %s: they become public", other.Slug)
		case questions != "" && other.Settings.Judge.Gold == questions:
			return arena.Invalid("pack_id", "must not be the pack of the gold items of league %s: questions become public", other.Slug)
		}
	}
	if gold == "" {
		return nil
	}
	if _, err := s.o.Store.Packs.Pack(ctx, gold); err != nil {
		return arena.AtField("judge.gold", err)
	}
	items := 0
	err = s.o.Store.Packs.EachTask(ctx, gold, func(n int, task arena.Task) error {
		items++
		if _, _, problem := scoring.GoldPair(task); problem != "" {
			return arena.Invalid("judge.gold", "task %d of pack %s %s", n+1, gold, problem)
		}
		return nil
	})
	if err == nil && items < scoring.MinGold {
		return arena.Invalid("judge.gold", "pack %s has %d pairs of answers, at least %d are needed", gold, items, scoring.MinGold)
	}
	return err
}

// checkPack rejects a pack whose tasks the judge could not judge.
func (s *Service) checkPack(ctx context.Context, of arena.Settings) error {
	p, err := s.o.Store.Packs.Pack(ctx, of.PackID)
	if err != nil {
		return arena.AtField("pack_id", err)
	}
	if p.Tasks == 0 {
		return arena.Invalid("pack_id", "pack %s has no tasks", p.ID)
	}
	return s.o.Store.Packs.EachTask(ctx, p.ID, func(n int, task arena.Task) error {
		if why := settings.FitsJudge(of.Judge, task); why != "" {
			return arena.Invalid("judge", "%s cannot judge task %d of pack %s (%.60q): %s", of.Judge.Kind, n+1, p.ID, task.Description, why)
		}
		return nil
	})
}

// Act moves a league to another state, for an admin or its organizer.
func (s *Service) Act(ctx context.Context, caller arena.Caller, slug string, action arena.LeagueAction) (arena.League, error) {
	if err := caller.Require(slug, arena.RightOrganize); err != nil {
		return arena.League{}, err
	}
	at := s.now()
	return s.o.Store.Leagues.UpdateLeague(ctx, slug, func(l *arena.League) error {
		if err := apply(l, action, at); err != nil {
			return err
		}
		if action == arena.OpenLeague {
			s.requireAudit(l)
		}
		return nil
	},
		func(before, after arena.League) (arena.AuditEntry, error) {
			return caller.Audit(at, string(action)+"-league", slug, before.Status, after.Status)
		})
}

// Delete removes a league that never had a match, with its entries, for an
// admin. It returns conflict for any other league; those can be archived.
func (s *Service) Delete(ctx context.Context, caller arena.Caller, slug string) error {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return err
	}
	at := s.now()
	return s.o.Store.Leagues.DeleteLeague(ctx, slug, func(before, _ arena.League) (arena.AuditEntry, error) {
		return caller.Audit(at, "delete-league", slug, s.o.Document(before), nil)
	})
}

// Enter puts an agent of the caller into a league; the league's organizer may
// enter any. Entering again changes nothing.
func (s *Service) Enter(ctx context.Context, caller arena.Caller, slug, agentID, password string) error {
	g, err := s.own(ctx, caller, slug, agentID)
	if err != nil {
		return err
	}
	if err := g.NotRetired(); err != nil {
		return err
	}
	if slices.Contains(g.Leagues, slug) {
		return nil
	}
	if err := s.o.Entries.MayEnter(ctx, slug, g, password); err != nil {
		return err
	}
	at := s.now()
	audit, err := caller.Audit(at, "enter-league", slug, nil, g.ID)
	if err != nil {
		return err
	}
	return s.o.Store.Leagues.Enter(ctx, slug, g.ID, at, audit)
}

// Withdraw removes an agent of the caller from a league; the league's organizer
// may withdraw any.
func (s *Service) Withdraw(ctx context.Context, caller arena.Caller, slug, agentID string) error {
	g, err := s.own(ctx, caller, slug, agentID)
	if err != nil {
		return err
	}
	at := s.now()
	audit, err := caller.Audit(at, "withdraw-from-league", slug, g.ID, nil)
	if err != nil {
		return err
	}
	return s.o.Store.Leagues.Withdraw(ctx, slug, g.ID, at, audit)
}

// own returns an agent that the caller may act for in a league. Another's is
// not found. forbidden: it comes with the program, so that the league's own field
// enters and withdraws it.
func (s *Service) own(ctx context.Context, caller arena.Caller, slug, id string) (arena.Agent, error) {
	g, err := s.o.Store.Agents.Agent(ctx, id)
	if err != nil {
		return arena.Agent{}, err
	}
	if !caller.ActsFor(g) && !caller.May(slug, arena.RightOrganize) {
		return arena.Agent{}, arena.Errorf(arena.CodeNotFound, "you have no agent %s", id)
	}
	return g, g.NotBuiltIn()
}
