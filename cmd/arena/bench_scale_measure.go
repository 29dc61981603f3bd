package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	mrand "math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/store"
)

// scaleBench measures the costs of the model with the parts themselves.
type scaleBench struct {
	cmd *BenchScaleCmd
	app *App
	f   *scaleFigures

	s      *server
	agents *benchAgents
	league string
	ids    []string // of agents in the database
}

// How much is done to measure one thing.
const (
	scaleSeats   = 50 // of the match whose seats' rounds are measured
	scaleRounds  = 8
	scaleMatches = 200 // that write and renew
	scaleFor     = 2 * time.Second
)

func (b *scaleBench) measure() (err error) {
	b.league = fmt.Sprintf("bench-%x", time.Now().UnixNano()) // a database may be used again
	if b.agents, err = startBenchAgents(b.app, scaleSeats, "bench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.agents.stop()) }()
	b.cmd.progress(b.app, fmt.Sprintf("seats: a match of %d seats and %d rounds …", scaleSeats, scaleRounds))
	match := matchLoad{Matches: 1, Seats: scaleSeats, Rounds: scaleRounds}
	if err := (&BenchMatchCmd{}).arena(b.app.Ctx, b.agents, "bench", &match); err != nil {
		return err
	}
	b.f.Costs.SeatRound = match.CPUMicros / 1e6
	b.f.Measured = append(b.f.Measured, "a seat's round")
	stop, err := b.serve(b.app.Ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"agents", b.people},
		{"probes", b.probes},
		{"the database", b.database},
		{"spectators", b.spectators},
		{"the bus", b.bus},
	} {
		if step.what == "the bus" && b.cmd.Redis == "" {
			continue
		}
		b.cmd.progress(b.app, step.what+" …")
		if err := step.do(b.app.Ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if step.what != "agents" {
			b.f.Measured = append(b.f.Measured, step.what)
		}
	}
	return nil
}

// serve starts a whole server whose own jobs do nothing meanwhile.
func (b *scaleBench) serve(ctx context.Context) (stop func() error, err error) {
	b.s, stop, err = benchServer(ctx, b.cmd.DB)
	return stop, err
}

// people makes a league and agents that all live at the same few endpoints.
func (b *scaleBench) people(ctx context.Context) error {
	now := time.Now().UTC()
	settings := arena.Settings{
		Format: arena.FormatLadder, Generator: &arena.GeneratorSpec{Name: "arithmetic"}, Judge: arena.JudgeSpec{Kind: arena.JudgeExact},
		Rounds: 5, TimeLimit: 30 * time.Second, MinSeats: 2, MaxSeats: 2, Visibility: arena.VisibilityLive, ScoreMode: arena.ScoreMatch,
	}
	l := arena.League{Slug: b.league, Title: "Benchmark", Status: arena.LeagueOpen, Settings: settings, CreatedAt: now}
	if err := b.s.store.CreateLeague(ctx, l); err != nil {
		return err
	}
	var err error
	b.ids, err = benchPeople(ctx, b.s, 2*scaleMatches, b.agents.endpoints, b.league)
	return err
}

// ownAgents are rows of which only some agents are probed: a database that is
// used again has others, whose endpoints are gone.
type ownAgents struct {
	*store.Store
	ids []string
}

// DueForProbe gives the own ones.
func (o ownAgents) DueForProbe(ctx context.Context) ([]arena.Agent, error) {
	found, err := o.AgentsByID(ctx, o.ids)
	return slices.Collect(maps.Values(found)), err
}

// probes sweeps all agents.
func (b *scaleBench) probes(ctx context.Context) error {
	driver, err := aap.New(aap.Options{Client: b.s.client, Sign: b.s.keys.Sign, Now: time.Now})
	if err != nil {
		return err
	}
	sweeper, err := health.New(health.Options{
		Store: ownAgents{b.s.store, b.ids}, Probers: map[string]health.Prober{"aap": driver}, Recorder: b.s.pauses, Canary: b.s.canary, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Rand: mrand.New(mrand.NewPCG(1, 1)), //nolint:gosec // G404: the spread of a sweep
	})
	if err != nil {
		return err
	}
	cpu, probed := cpuTime(), 0
	for began := time.Now(); time.Since(began) < scaleFor; {
		r, err := sweeper.Sweep(ctx)
		if err != nil {
			return err
		}
		if r.Failed > 0 || r.Probed == 0 {
			return fmt.Errorf("%d of %d probes failed", r.Failed, r.Probed)
		}
		probed += r.Probed
	}
	b.f.Costs.Probe = (cpuTime() - cpu).Seconds() / float64(probed)
	return nil
}

// match creates a match that no runner plays and starts it.
func (b *scaleBench) match(ctx context.Context, agents []string) (arena.Match, error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	m := arena.Match{ID: arena.NewID(arena.MatchPrefix, now), League: b.league, CreatedAt: now, StartsAt: now}
	for i, id := range agents {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: id, State: arena.SeatActive})
	}
	_, l, err := b.s.store.CreateAndClaim(ctx, m, b.event(m.ID, arena.EventMatchScheduled), b.league, time.Hour)
	if err != nil {
		return m, err
	}
	if l == (arena.Lease{}) {
		return m, errors.New("the match that was created is not ours")
	}
	m.Lease = l
	_, err = b.s.store.StartMatch(ctx, l, m.Seats, now, nil, []arena.Event{b.event(m.ID, arena.EventMatchStarted)})
	return m, err
}

func (b *scaleBench) event(match string, t arena.EventType) arena.Event {
	body := json.RawMessage(`{"message":"` + strings.Repeat("let me think about it ", 5) + `"}`)
	return arena.Event{MatchID: match, AgentID: b.ids[0], At: time.Now(), Type: t, Body: body}
}

// end makes a match void, so that nobody takes it over.
func (b *scaleBench) end(ctx context.Context, m arena.Match) error {
	_, err := b.s.store.EndMatch(ctx, m.ID, arena.MatchVoid, "benchmark", time.Now(), b.event(m.ID, arena.EventMatchVoid))
	return err
}

// databaseTime gives the processor time that a database used since a moment.
// SQLite is a part of this process. A server beside it is taken to have all
// that busy processors give and this process did not use, so nothing else
// should run.
func (b *scaleBench) databaseTime(began time.Time, cpu time.Duration, busy int) float64 {
	used := cpuTime() - cpu
	if strings.HasPrefix(b.cmd.DB, "postgres") {
		used = max(0, time.Since(began)*time.Duration(busy)-used)
	}
	return used.Seconds()
}

// database measures writes, renewals and reads.
func (b *scaleBench) database(ctx context.Context) (err error) {
	matches := make([]arena.Match, scaleMatches)
	ids := make([]string, scaleMatches)
	for i := range matches {
		if matches[i], err = b.match(ctx, b.ids[2*i:2*i+2]); err != nil {
			return err
		}
		ids[i] = matches[i].ID
	}
	work := func(each func(worker int) (int, error)) (perDone float64, err error) {
		var done atomic.Int64
		var wg sync.WaitGroup
		failed := make([]error, scaleMatches)
		began, cpu := time.Now(), cpuTime()
		for i := range matches {
			wg.Go(func() {
				for failed[i] == nil && time.Since(began) < scaleFor {
					var n int
					n, failed[i] = each(i)
					done.Add(int64(n))
				}
			})
		}
		wg.Wait()
		return b.databaseTime(began, cpu, runtime.NumCPU()) / float64(max(1, done.Load())), errors.Join(failed...)
	}
	rounds := make([]int, scaleMatches)
	if b.f.Costs.Write, err = work(func(i int) (int, error) {
		rounds[i]++
		return b.round(ctx, matches[i], rounds[i])
	}); err != nil {
		return err
	}
	if b.f.Costs.Read, err = work(func(i int) (int, error) {
		if _, err := b.s.store.Match(ctx, ids[i]); err != nil {
			return 0, err
		}
		_, err := b.s.store.EventsAfter(ctx, ids[i], int64(4*rounds[i]), 100)
		return 1, err
	}); err != nil {
		return err
	}
	rows, began, cpu := 0, time.Now(), cpuTime()
	for time.Since(began) < scaleFor/2 {
		held, err := b.s.store.RenewLeases(ctx, b.league, ids, time.Hour)
		if err != nil {
			return err
		}
		rows += len(held)
	}
	b.f.Costs.Renewal = b.databaseTime(began, cpu, 1) / float64(max(1, rows))
	for _, m := range matches {
		if err := b.end(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// round writes a round with two answers and tells how many writes that were.
func (b *scaleBench) round(ctx context.Context, m arena.Match, no int) (writes int, err error) {
	event := func(t arena.EventType) []arena.Event {
		e := b.event(m.ID, t)
		e.Round = no
		return []arena.Event{e}
	}
	r := arena.Round{No: no, OpenedAt: time.Now(), Task: arena.Task{Description: strings.Repeat("x", 200), Answers: []string{"4"}}}
	if _, err := b.s.store.OpenRound(ctx, m.Lease, r, event(arena.EventRoundStarted)); err != nil {
		return 0, err
	}
	for _, s := range m.Seats {
		a := arena.Answer{Round: no, AgentID: s.AgentID, Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "42"}}
		d := arena.Delivery{AgentID: s.AgentID, Round: no, SentAt: time.Now(), Request: []byte(strings.Repeat("x", 600))}
		if _, err := b.s.store.SaveAnswer(ctx, m.Lease, a, []arena.Delivery{d}, event(arena.EventSeatOutcome)); err != nil {
			return 0, err
		}
	}
	_, err = b.s.store.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats}, func([]arena.Event) ([]arena.Event, error) {
		return event(arena.EventRoundClosed), nil
	})
	return 4, err
}
