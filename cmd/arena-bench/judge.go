package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// BenchJudgeCmd is `arena bench judge`.
type BenchJudgeCmd struct {
	Rounds  int           `default:"100" help:"Rounds of the duel whose answers are programs, 10 to 200."`
	Cases   int           `default:"3" help:"Test cases of each task, 1 to 20."`
	Hostile time.Duration `help:"Afterwards judge hostile programs for this long, up to 3h, while another league plays."`
	JSON    bool          `help:"Print one JSON object."`
}

// Help describes what is measured.
func (c *BenchJudgeCmd) Help() string {
	return `Plays a duel in a league whose answers are programs, on an arena in a process of
its own, and measures how long judging takes: from the last answer of a round to
its close, for each answer. Workers, their pipes and the database are included.
With --hostile two agents then answer with random programs that are hard to parse
or to run, while two others play a quiz in another league. The benchmark fails if
a match of the quiz is void. It needs the program arena beside its own or in PATH.`
}

// judgeFigures is what one run measured.
type judgeFigures struct {
	Cases   int             `json:"cases"`
	Judging spread          `json:"judging_ms_per_answer"`
	Hostile *hostileFigures `json:"hostile,omitempty"`
}

// hostileFigures are those of the hostile programs.
type hostileFigures struct {
	Seconds    float64          `json:"seconds"`
	Programs   int              `json:"programs"` // that were judged
	Void       int64            `json:"void"`     // their matches
	Quizzes    int64            `json:"quizzes"`  // matches of the other league
	PeakMemory int64            `json:"peak_bytes"`
	Killed     map[string]int64 `json:"killed"` // workers, by the limit that was exceeded
}

// Run measures and prints.
func (c *BenchJudgeCmd) Run(app *App) (err error) {
	if c.Rounds < 10 || c.Rounds > 200 || c.Cases < 1 || c.Cases > 20 || c.Hostile < 0 || c.Hostile > 3*time.Hour {
		return fmt.Errorf("%d rounds, %d cases, hostile programs for %v: want 10 to 200 rounds, 1 to 20 cases and at most 3h", c.Rounds, c.Cases, c.Hostile)
	}
	s, err := startArena(app)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	f := judgeFigures{Cases: c.Cases}
	if f.Judging, err = c.honest(app, s); err != nil {
		return fmt.Errorf("honest programs: %w", err)
	}
	if c.Hostile > 0 {
		if f.Hostile, err = c.hostile(app, s); err != nil {
			return fmt.Errorf("hostile programs: %w", err)
		}
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	_, _ = fmt.Fprintf(app.Stdout, "\n  judging an answer with %d cases, p50 · p99 · worst: %v ms\n", f.Cases, f.Judging)
	if h := f.Hostile; h != nil {
		_, _ = fmt.Fprintf(app.Stdout, "  %d hostile programs in %.0f s: the server had at most %d MiB, workers killed: %v\n  %d quiz matches beside them, none void; %d matches with hostile programs void\n",
			h.Programs, h.Seconds, h.PeakMemory>>20, h.Killed, h.Quizzes, h.Void)
	}
	return nil
}

// codeLeague returns a league whose answers are programs that add two numbers.
func (c *BenchJudgeCmd) codeLeague(slug string) benchLeague {
	cases := make([]string, c.Cases)
	for i := range cases {
		cases[i] = fmt.Sprintf(`{"args":[%d,%d],"want":%d}`, i, i+1, 2*i+1)
	}
	return benchLeague{
		slug: slug, rounds: c.Rounds, format: "ladder", minSeats: 2, maxSeats: 2,
		judge: map[string]string{"kind": "code"}, task: `"cases":[` + strings.Join(cases, ",") + `]`,
	}
}

// honest plays one duel and returns how long judging took for each answer.
func (c *BenchJudgeCmd) honest(app *App, s *arenaProcess) (spread, error) {
	var took []float64
	d, err := s.duels(app, c.codeLeague("bench-code"), "--answer=function solve(a, b) { return a + b }")
	if err != nil {
		return spread{}, err
	}
	defer func() { _ = d.stop() }()
	var answered time.Time
	void, err := d.play(app.Ctx, func(e duelEvent) {
		switch e.Type {
		case "seat_outcome":
			answered = e.At
		case "round_closed":
			took = append(took, float64(e.At.Sub(answered))/1e6/2) // two answers
		}
	})
	if err == nil && (void || len(took) == 0) {
		err = errors.New("the match is void")
	}
	if err != nil {
		return spread{}, err
	}
	return shares(took), nil
}

// hostile judges hostile programs while another league plays.
func (c *BenchJudgeCmd) hostile(app *App, s *arenaProcess) (f *hostileFigures, err error) {
	hostile, err := s.duels(app, c.codeLeague("bench-hostile"), "--mutate")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hostile.stop()) }()
	quiz, err := s.duels(app, benchLeague{slug: "bench-quiz", rounds: 5, format: "ladder", minSeats: 2, maxSeats: 2, pause: time.Second})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, quiz.stop()) }()
	f = &hostileFigures{}
	began := time.Now()
	var over atomic.Bool
	played := make(chan error, 1)
	go func() {
		for !over.Load() {
			void, err := quiz.play(app.Ctx, func(duelEvent) {})
			if err == nil && void {
				err = errors.New("a match of the other league is void")
			}
			if err != nil {
				played <- err
				return
			}
			f.Quizzes++
		}
		played <- nil
	}()
	for err == nil && time.Since(began) < c.Hostile {
		var void bool
		void, err = hostile.play(app.Ctx, func(e duelEvent) {
			if e.Type == "round_closed" {
				f.Programs += 2
			}
		})
		if void {
			f.Void++
		}
	}
	over.Store(true)
	if err := errors.Join(err, <-played); err != nil {
		return nil, err
	}
	f.Seconds = time.Since(began).Seconds()
	if f.PeakMemory, err = s.peakMemory(); err != nil {
		return nil, err
	}
	f.Killed, err = s.killedWorkers(app.Ctx)
	return f, err
}

// duels is a league of two agents that play one duel after another.
type duels struct {
	arena *arenaProcess
	slug  string
	ids   []string
	stop  func() error
}

// duelEvent is an event of a duel.
type duelEvent struct {
	Type string    `json:"type"`
	At   time.Time `json:"ts"`
}

// duels makes a league and its two agents, started with flags.
func (s *arenaProcess) duels(app *App, league benchLeague, flags ...string) (*duels, error) {
	agents, err := startBenchAgents(app, 2, league.slug, flags...)
	if err != nil {
		return nil, err
	}
	ids, err := league.prepare(app.Ctx, s.admin, agents)
	if err != nil {
		return nil, errors.Join(err, agents.stop())
	}
	return &duels{arena: s, slug: league.slug, ids: ids, stop: agents.stop}, nil
}

// play plays one duel and calls each for its events.
func (d *duels) play(ctx context.Context, each func(duelEvent)) (void bool, err error) {
	var made struct {
		ID string `json:"match_id"`
	}
	if err := d.arena.admin.Call(ctx, http.MethodPost, "/v1/matches", map[string]any{"league": d.slug, "agents": d.ids}, &made); err != nil {
		return false, err
	}
	stream, err := watch(ctx, d.arena.url, "match="+made.ID+"&since=0")
	if err != nil {
		return false, err
	}
	defer stream.Close() //nolint:errcheck // the match is over
	events := newEnds(stream)
	for events.lines.Scan() {
		data, ok := strings.CutPrefix(events.lines.Text(), "data:")
		if !ok {
			continue
		}
		var e duelEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return false, fmt.Errorf("watch a match: %w", err)
		}
		if e.Type == "match_finished" || e.Type == "match_void" {
			return e.Type == "match_void", nil
		}
		each(e)
	}
	return false, fmt.Errorf("the match's stream ended: %w", events.lines.Err())
}
