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
)

const judgesEvery = time.Minute // a few matches more with an unfit judge change little

// judgeWatch pauses rated leagues whose judge is unfit (docs/rules/judging.md).
type judgeWatch struct {
	leagues func(ctx context.Context) ([]arena.League, error)
	health  *judge.Health
	faults  *league.Faults
	log     *slog.Logger
	seen    map[string]string // the newest match at the last look, by league
}

func (s *Server) newJudgeWatch() *judgeWatch {
	return &judgeWatch{
		leagues: s.store.Leagues.Leagues, faults: league.NewFaults(s.store.Leagues, s.now), log: s.log, seen: map[string]string{},
		health: judge.NewHealth(judge.HealthOptions{
			Verdicts: s.store.Matches.LeagueVerdicts, Agents: s.store.Agents.AgentsByID, Visible: s.visible, Input: engine.JudgeInput,
		}),
	}
}

// run measures the judge of each league that has new verdicts.
func (w *judgeWatch) run(ctx context.Context) error {
	leagues, err := w.leagues(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, l := range leagues {
		if !league.PausesForJudge(l) {
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
				"share", *m.Share, "low", m.Low, "limit", m.Limit, "matches", m.N)
			break
		}
	}
	w.seen[l.Slug] = newest
	return nil
}
