package format

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

func allFormats() []arena.Format {
	return []arena.Format{
		arena.FormatLadder, arena.FormatRoundRobin, arena.FormatSwiss, arena.FormatKnockout, arena.FormatDoubleElimination,
		arena.FormatArena, arena.FormatElimination, arena.FormatGauntlet,
	}
}

func TestNext_noFormat(t *testing.T) {
	t.Parallel()
	if _, err := Next(State{Season: arena.Season{Format: "chess"}}); err == nil {
		t.Error("a format that is none has a next step")
	}
	if table := Table(State{Season: arena.Season{Format: "chess"}}); table != nil {
		t.Error("and a table", table)
	}
}

func TestNext_ladder(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatLadder, field(4), arena.FormatOptions{})
	if step := p.next(t); !cmp.Equal(step, Step{}) {
		t.Errorf("without an end: %+v", step)
	}
	p.Season.EndsAt = noon.Add(time.Hour)
	if step := p.next(t); !cmp.Equal(step, Step{NextAt: noon.Add(time.Hour)}) {
		t.Errorf("before its end: %+v", step)
	}
	p.Now = noon.Add(time.Hour)
	if step := p.next(t); !cmp.Equal(step, Step{Done: true}) {
		t.Errorf("at its end: %+v", step)
	}
	if table := Table(p.State); table != nil {
		t.Errorf("table %v", table)
	}
}

// TestNext_end stops every format at the season's end: what is open is waited
// for, nothing new is ordered.
func TestNext_end(t *testing.T) {
	t.Parallel()
	for _, f := range allFormats() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			p := newPlayed(f, field(8), Defaults(arena.FormatOptions{}, f))
			p.Season.EndsAt = noon.Add(time.Hour)
			p.tick(time.Second)
			p.Pairings = p.next(t).Pairings
			if f != arena.FormatLadder && len(p.Pairings) == 0 {
				t.Fatal("nothing is ordered")
			}
			p.Now = p.Season.EndsAt
			for i := range p.Pairings {
				if step := p.next(t); step.Done || len(step.Pairings) > 0 {
					t.Fatalf("with open pairings: %+v", step)
				}
				give(arena.PairingVoid)(&p.Pairings[i])
			}
			if step := p.next(t); !step.Done {
				t.Errorf("at the end: %+v", step)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	const wait = 2 * time.Minute
	want := map[arena.Format]arena.FormatOptions{
		arena.FormatLadder:            {Starts: arena.StartsSeason},
		arena.FormatRoundRobin:        {Forfeit: wait, Starts: arena.StartsSeason},
		arena.FormatSwiss:             {Forfeit: wait, Starts: arena.StartsSeason},
		arena.FormatKnockout:          {BestOf: 1, Forfeit: wait, Starts: arena.StartsSeason},
		arena.FormatDoubleElimination: {BestOf: 1, Forfeit: wait, Starts: arena.StartsSeason},
		arena.FormatArena:             {Duration: 30 * time.Minute, Forfeit: wait, Starts: arena.StartsSeason},
		arena.FormatElimination:       {Starts: arena.StartsMatch},
		arena.FormatGauntlet:          {Forfeit: wait, Starts: arena.StartsSeason},
	}
	for _, f := range allFormats() {
		got := Defaults(arena.FormatOptions{}, f)
		if d := cmp.Diff(want[f], got); d != "" {
			t.Errorf("%s: %s", f, d)
		}
		if again := Defaults(got, f); again != got {
			t.Errorf("%s: defaults of defaults are %+v", f, again)
		}
		if wrong := Check(arena.Settings{Format: f, Options: got}); wrong != nil {
			t.Errorf("%s: its defaults are wrong: %v", f, wrong)
		}
	}
	set := arena.FormatOptions{BestOf: 5, Duration: time.Hour, Forfeit: time.Minute, Starts: arena.StartsRound}
	if got := Defaults(set, arena.FormatKnockout); got != set {
		t.Errorf("overwrites what is set: %+v", got)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format  arena.Format
		options arena.FormatOptions
		want    string // "field: message", "" none
	}{
		{arena.FormatRoundRobin, arena.FormatOptions{Double: true}, ""},
		{arena.FormatSwiss, arena.FormatOptions{Double: true}, "double: is only for round_robin, not for swiss"},
		{arena.FormatSwiss, arena.FormatOptions{Rounds: 30}, ""},
		{arena.FormatSwiss, arena.FormatOptions{Rounds: 31}, "rounds: must be 1 to 30, or 0: enough for one winner"},
		{arena.FormatSwiss, arena.FormatOptions{Rounds: -1}, "rounds: must be 1 to 30, or 0: enough for one winner"},
		{arena.FormatKnockout, arena.FormatOptions{Rounds: 3}, "rounds: is only for swiss, not for knockout"},
		{arena.FormatKnockout, arena.FormatOptions{BestOf: 7}, ""},
		{arena.FormatDoubleElimination, arena.FormatOptions{BestOf: 3}, ""},
		{arena.FormatKnockout, arena.FormatOptions{BestOf: 2}, "best_of: must be 1, 3, 5 or 7"},
		{arena.FormatSwiss, arena.FormatOptions{BestOf: 3}, "best_of: is only for knockout, double_elimination, not for swiss"},
		{arena.FormatGauntlet, arena.FormatOptions{Champion: "ag_1"}, ""},
		{arena.FormatLadder, arena.FormatOptions{Champion: "ag_1"}, "champion: is only for gauntlet, not for ladder"},
		{arena.FormatArena, arena.FormatOptions{Duration: time.Minute}, ""},
		{arena.FormatArena, arena.FormatOptions{Duration: 24 * time.Hour}, ""},
		{arena.FormatArena, arena.FormatOptions{}, "duration_seconds: must be 60 to 86400"},
		{arena.FormatArena, arena.FormatOptions{Duration: 25 * time.Hour}, "duration_seconds: must be 60 to 86400"},
		{arena.FormatLadder, arena.FormatOptions{Duration: 30 * 24 * time.Hour}, ""},
		{arena.FormatLadder, arena.FormatOptions{Duration: time.Second}, "duration_seconds: must be 60 to 31622400, or 0: as long as it takes"},
		{arena.FormatSwiss, arena.FormatOptions{Forfeit: 10 * time.Second}, ""},
		{arena.FormatSwiss, arena.FormatOptions{Forfeit: 9 * time.Second}, "forfeit_seconds: must be 10 to 86400"},
		{arena.FormatSwiss, arena.FormatOptions{Forfeit: 25 * time.Hour}, "forfeit_seconds: must be 10 to 86400"},
		{
			arena.FormatElimination,
			arena.FormatOptions{Forfeit: time.Minute},
			"forfeit_seconds: is only for round_robin, swiss, knockout, double_elimination, arena, gauntlet, not for elimination",
		},
		{arena.FormatElimination, arena.FormatOptions{Faster: 1500 * time.Millisecond}, ""},
		{arena.FormatElimination, arena.FormatOptions{Faster: time.Minute + 1}, "faster_seconds: must be 0 to 60"},
		{arena.FormatElimination, arena.FormatOptions{Faster: -1}, "faster_seconds: must be 0 to 60"},
		{arena.FormatSwiss, arena.FormatOptions{Faster: time.Second}, "faster_seconds: is only for elimination, not for swiss"},
		{arena.FormatSwiss, arena.FormatOptions{Starts: arena.StartsRound}, ""},
		{arena.FormatSwiss, arena.FormatOptions{Starts: arena.StartsMatch}, `schedule_starts: must be season or round with format swiss, not "match"`},
		{arena.FormatArena, arena.FormatOptions{Duration: time.Hour, Starts: arena.StartsRound}, `schedule_starts: must be season with format arena, not "round"`},
		{arena.FormatLadder, arena.FormatOptions{Starts: "x"}, `schedule_starts: must be season with format ladder, not "x"`},
		{arena.FormatElimination, arena.FormatOptions{Starts: arena.StartsSeason}, `schedule_starts: must be match with format elimination, not "season"`},
	} {
		got := ""
		for _, e := range Check(arena.Settings{Format: tc.format, Options: tc.options}) {
			got += e.Field + ": " + e.Message
		}
		want := tc.want
		if want != "" {
			want = "format_options." + want
		}
		if got != want {
			t.Errorf("%s %+v: %q, want %q", tc.format, tc.options, got, want)
		}
	}
}
