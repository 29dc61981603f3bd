package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/judge"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/store"
)

const judgesEvery = time.Minute // a few matches more with an unfit judge change little

// judgeWatch asks judges about gold items and pauses rated leagues whose judge is unfit
// (docs/rules/judging.md).
type judgeWatch struct {
	store  *store.Store
	judges *judge.Judges
	health *judge.Health
	faults *league.Faults
	log    *slog.Logger
	seen   map[string]string // the newest match at the last look, by league
}

func (s *Server) newJudgeWatch() *judgeWatch {
	return &judgeWatch{
		store: s.store, judges: s.judges, faults: league.NewFaults(s.store.Leagues, s.now), log: s.log, seen: map[string]string{},
		health: judge.NewHealth(judge.HealthOptions{
			Verdicts: s.store.Matches.LeagueVerdicts, Gold: s.store.Leagues.Gold, Agents: s.store.Agents.AgentsByID, Visible: s.visible, Input: engine.JudgeInput,
		}),
	}
}

// run measures the judge of each league that has new verdicts.
func (w *judgeWatch) run(ctx context.Context) error {
	leagues, err := w.store.Leagues.Leagues(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, l := range leagues {
		if !league.PausesForJudge(l) && l.Settings.Judge.Gold == "" {
			continue
		}
		if err := w.look(ctx, l); err != nil {
			failed = errors.Join(failed, fmt.Errorf("judge of league %s: %w", l.Slug, err))
		}
	}
	return failed
}

func (w *judgeWatch) look(ctx context.Context, l arena.League) error {
	newest, err := w.health.Newest(ctx, l.Slug)
	if err != nil || newest == w.seen[l.Slug] {
		return err
	}
	if err := w.askGold(ctx, l); err != nil {
		return err
	}
	if !league.PausesForJudge(l) {
		w.seen[l.Slug] = newest
		return nil
	}
	health, err := w.health.Of(ctx, l)
	if err != nil {
		return err
	}
	for _, m := range health.Card {
		if !m.Over {
			continue
		}
		paused, err := w.faults.JudgeUnfit(ctx, l, m)
		if err != nil {
			return err
		}
		if paused {
			w.log.WarnContext(ctx, "a rated league is paused: its judge is unfit", "league", l.Slug, "bias", m.Name,
				"share", *m.Share, "low", m.Low, "limit", m.Limit, "n", m.N)
			break
		}
	}
	w.seen[l.Slug] = newest
	return nil
}

// askGold asks the judge of a league about its next gold item, if one is due. It is at
// most one in each look.
func (w *judgeWatch) askGold(ctx context.Context, l arena.League) error {
	pack := l.Settings.Judge.Gold
	if pack == "" {
		return nil
	}
	if due, err := w.health.DueGold(ctx, l); err != nil || !due {
		return err
	}
	n, err := w.store.Leagues.NextGold(ctx, l.Slug, pack)
	if err != nil {
		return err
	}
	item, err := w.store.Packs.Task(ctx, pack, n)
	if err != nil {
		return err
	}
	g, err := w.judges.Gold(ctx, l, n, item)
	if err != nil {
		return err
	}
	return w.store.Leagues.SaveGold(ctx, g)
}
