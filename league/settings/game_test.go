package settings_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/league/settings"
)

// playing returns the settings of a league that plays a game.
func playing(change func(*arena.Settings)) arena.Settings {
	s := arena.Settings{Game: &arena.GameSpec{Name: "connect_four"}, TimeLimit: time.Second, Rated: true}
	change(&s)
	return settings.Defaults(s)
}

func TestDefaults_game(t *testing.T) {
	t.Parallel()
	s := playing(func(*arena.Settings) {})
	if s.Game.Games != 2 || s.ScoreMode != arena.ScoreResult || s.Judge.Kind != "" || s.Visibility != arena.VisibilitySealed || s.MaxSeats != 2 {
		t.Errorf("%+v of %+v", s, s.Game)
	}
	if wrong := settings.Check(s, true); len(wrong) > 0 {
		t.Errorf("%+v", wrong)
	}
	s = playing(func(s *arena.Settings) { s.Rated, s.Game.Hidden = false, true })
	if s.Visibility != arena.VisibilitySealed {
		t.Errorf("a game with hidden state is %s", s.Visibility)
	}
}

func TestCheck_game(t *testing.T) {
	t.Parallel()
	info := rules.Info{Name: "connect_four", MinPlayers: 2, MaxPlayers: 2, Options: []rules.Option{{Name: "rows", Default: 6, Min: 4, Max: 9}}}
	hidden := info
	hidden.Hidden, hidden.Deals, hidden.MaxPlayers = true, true, 6
	for field, tt := range map[string]struct {
		info   rules.Info
		change func(*arena.Settings)
	}{
		"game":                   {info, func(s *arena.Settings) { s.PackID = "pk_1" }},
		"judge":                  {info, func(s *arena.Settings) { s.Judge.Kind = arena.JudgeExact }},
		"debate":                 {info, func(s *arena.Settings) { s.Debate = &arena.DebateSpec{Turns: 1} }},
		"rounds":                 {info, func(s *arena.Settings) { s.Rounds = 3 }},
		"score_mode":             {info, func(s *arena.Settings) { s.ScoreMode = arena.ScoreRounds }},
		"format":                 {info, func(s *arena.Settings) { s.Format, s.MinSeats, s.MaxSeats = arena.FormatElimination, 2, 2 }},
		"game.games_per_match":   {info, func(s *arena.Settings) { s.Game.Games = 21 }},
		"game.time_bank_seconds": {info, func(s *arena.Settings) { s.Game.TimeBank = 61 * time.Minute }},
		"game.duplicate":         {info, func(s *arena.Settings) { s.Game.Duplicate = true }},
		"game.rows":              {info, func(s *arena.Settings) { s.Game.Options = map[string]int{"rows": 3} }},
		"game.columns":           {info, func(s *arena.Settings) { s.Game.Options = map[string]int{"columns": 7} }},
		"max_seats":              {info, func(s *arena.Settings) { s.MaxSeats = 3 }},
		"min_seats":              {hidden, func(s *arena.Settings) { s.MinSeats, s.MaxSeats = 3, 3 }},
		"visibility":             {hidden, func(s *arena.Settings) { s.Visibility = arena.VisibilityLive }},
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			s := playing(tt.change)
			var fields []string
			for _, w := range slices.Concat(settings.Check(s, true), settings.CheckGame(s, tt.info)) {
				fields = append(fields, w.Field)
			}
			if field == "debate" { // which has rounds of its own
				fields = slices.DeleteFunc(fields, func(f string) bool { return f != "debate" })
			}
			if d := cmp.Diff([]string{field}, fields); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCheck_resultIsForGames(t *testing.T) {
	t.Parallel()
	s := settings.Defaults(arena.Settings{PackID: "pk_1", Rounds: 1, TimeLimit: time.Second, ScoreMode: arena.ScoreResult})
	if wrong := settings.Check(s, true); len(wrong) != 1 || wrong[0].Field != "score_mode" {
		t.Errorf("%+v", wrong)
	}
}

// An agent that plays a deal again remembers the hidden hands.
func TestCheckGame_duplicate(t *testing.T) {
	t.Parallel()
	for want, info := range map[string]rules.Info{
		"": {Deals: true}, "must be false: dice deals nothing": {},
		"must be false: agents of dice would know the hidden hands of a deal that they play again": {Deals: true, Hidden: true},
	} {
		info.Name, info.MinPlayers, info.MaxPlayers = "dice", 2, 2
		s := playing(func(s *arena.Settings) { s.Game.Duplicate = true })
		var got string
		for _, w := range settings.CheckGame(s, info) {
			got += w.Message
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", info, got, want)
		}
		if pinned := info.Pin(*s.Game); pinned.Duplicate != (want == "") || pinned.Hidden != info.Hidden {
			t.Errorf("%+v: a match gets %+v", info, pinned)
		}
	}
}

// Built-in opponents must be known, fit what the league asks, and leave its seasons
// without a table.
func TestCheck_builtIn(t *testing.T) {
	t.Parallel()
	asking := func(change func(*arena.Settings)) arena.Settings {
		s := arena.Settings{PackID: "pk_1", Judge: arena.JudgeSpec{Kind: arena.JudgeExact}, Rounds: 3, TimeLimit: time.Second}
		change(&s)
		return settings.Defaults(s)
	}
	for name, tt := range map[string]struct {
		s     arena.Settings
		field string // "": valid
	}{
		"games":     {playing(func(s *arena.Settings) { s.BuiltIn = []string{"random", "greedy", "search"} }), ""},
		"questions": {asking(func(s *arena.Settings) { s.BuiltIn = []string{"p05", "p60", "p95"} }), ""},
		"none":      {asking(func(s *arena.Settings) { s.Format = arena.FormatSwiss }), ""},
		"unknown":   {playing(func(s *arena.Settings) { s.BuiltIn = []string{"random", "stockfish"} }), "built_in[1]"},
		"p61":       {asking(func(s *arena.Settings) { s.BuiltIn = []string{"p61"} }), "built_in[0]"},
		"twice":     {playing(func(s *arena.Settings) { s.BuiltIn = []string{"random", "random"} }), "built_in[1]"},
		"too many": {asking(func(s *arena.Settings) {
			s.BuiltIn = []string{"p05", "p10", "p15", "p20", "p25", "p30", "p35", "p40", "p45"}
		}), "built_in"},
		"a player of games asked":     {asking(func(s *arena.Settings) { s.BuiltIn = []string{"greedy"} }), "built_in[0]"},
		"one for questions in a game": {playing(func(s *arena.Settings) { s.BuiltIn = []string{"p60"} }), "built_in[0]"},
		"an uploaded game":            {playing(func(s *arena.Settings) { s.Game.Name, s.BuiltIn = "go", []string{"random"} }), "built_in[0]"},
		"no search":                   {playing(func(s *arena.Settings) { s.Game.Name, s.BuiltIn = "iterated_prisoners_dilemma", []string{"search"} }), "built_in[0]"},
		"a judge that compares": {asking(func(s *arena.Settings) {
			s.Judge, s.BuiltIn = arena.JudgeSpec{Kind: arena.JudgeModel, Criteria: "The better poem."}, []string{"p60"}
		}), "built_in[0]"},
		"a judge that runs programs":   {asking(func(s *arena.Settings) { s.Judge.Kind, s.BuiltIn = arena.JudgeCode, []string{"p60"} }), "built_in[0]"},
		"a format with a season table": {asking(func(s *arena.Settings) { s.Format, s.BuiltIn = arena.FormatSwiss, []string{"p60"} }), "built_in"},
	} {
		var fields []string
		for _, w := range settings.Check(tt.s, true) {
			fields = append(fields, w.Field)
		}
		if tt.field == "" && len(fields) > 0 || tt.field != "" && !slices.Equal(fields, []string{tt.field}) {
			t.Errorf("%s: errors %v, want %q", name, fields, tt.field)
		}
	}
}
