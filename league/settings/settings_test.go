package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/settings"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		in, want arena.Settings
	}{
		{
			"nothing given",
			arena.Settings{},
			arena.Settings{
				Format: "ladder", Judge: arena.JudgeSpec{Kind: "choice"}, MaxRounds: 50, MaxTokens: 500, MaxTokensPolicy: "note",
				MinSeats: 2, MaxSeats: 2, Visibility: "live", ScoreMode: "match", Options: arena.FormatOptions{Starts: "season"},
				Pace: &arena.Pace{MatchesPerDay: 24, Pause: 10 * time.Minute},
			},
		},
		{
			"a ladder with a pace keeps it",
			arena.Settings{Pace: &arena.Pace{UnratedFiller: true}},
			arena.Settings{
				Format: "ladder", Judge: arena.JudgeSpec{Kind: "choice"}, MaxRounds: 50, MaxTokens: 500, MaxTokensPolicy: "note",
				MinSeats: 2, MaxSeats: 2, Visibility: "live", ScoreMode: "match", Options: arena.FormatOptions{Starts: "season"},
				Pace: &arena.Pace{UnratedFiller: true},
			},
		},
		{
			"rated elimination of generated tasks",
			arena.Settings{Format: "elimination", Rated: true, Generator: &arena.GeneratorSpec{Name: "arithmetic"}},
			arena.Settings{
				Format: "elimination", Judge: arena.JudgeSpec{Kind: "number"}, MaxRounds: 50, MaxTokens: 500, MaxTokensPolicy: "note",
				MinSeats: 3, MaxSeats: 128, Visibility: "sealed", ScoreMode: "match", Rated: true,
				Generator: &arena.GeneratorSpec{Name: "arithmetic", Difficulty: 2}, Options: arena.FormatOptions{Starts: "match"},
			},
		},
		{
			"what is given stays",
			arena.Settings{
				Format: "elimination", Judge: arena.JudgeSpec{Kind: "exact"}, Rounds: 9, MaxRounds: 7, MaxTokens: 6, MaxTokensPolicy: "zero_points", TimeLimit: 5,
				MinSeats: 8, MaxSeats: 9, Visibility: "live", ScoreMode: "rounds", Rated: true, PackID: "pk_1", Rules: []string{"r"},
			},
			arena.Settings{
				Format: "elimination", Judge: arena.JudgeSpec{Kind: "exact"}, Rounds: 9, MaxRounds: 7, MaxTokens: 6, MaxTokensPolicy: "zero_points", TimeLimit: 5,
				MinSeats: 8, MaxSeats: 9, Visibility: "live", ScoreMode: "rounds", Rated: true, PackID: "pk_1", Rules: []string{"r"},
				Options: arena.FormatOptions{Starts: "match"},
			},
		},
		{
			"a debate",
			arena.Settings{Format: "knockout", PackID: "pk_1", Rated: true, Debate: &arena.DebateSpec{Turns: 3}, Judge: arena.JudgeSpec{Kind: "crowd"}},
			arena.Settings{
				Format: "knockout", PackID: "pk_1", Rated: true, Debate: &arena.DebateSpec{Turns: 3}, Judge: arena.JudgeSpec{Kind: "crowd"},
				Rounds: 6, MaxRounds: 50, MaxTokens: 500, MaxTokensPolicy: "note", MinSeats: 2, MaxSeats: 2, Visibility: "sealed", ScoreMode: "match",
				Options: arena.FormatOptions{BestOf: 1, Forfeit: 2 * time.Minute, Starts: "season"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := settings.Defaults(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(got, settings.Defaults(got)); d != "" {
				t.Errorf("a second time changes something: %s", d)
			}
			if tt.in.Generator != nil && tt.in.Generator.Difficulty != 0 {
				t.Error("the input was changed")
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	ladder := func(change func(*arena.Settings)) arena.Settings {
		s := settings.Defaults(arena.Settings{PackID: "pk_1", Rounds: 5, TimeLimit: 30 * time.Second})
		change(&s)
		return s
	}
	elimination := func(change func(*arena.Settings)) arena.Settings {
		s := settings.Defaults(arena.Settings{Format: "elimination", PackID: "pk_1", TimeLimit: time.Second})
		change(&s)
		return s
	}
	same := func(*arena.Settings) {}
	tests := []struct {
		name string
		in   arena.Settings
		want []string // fields
	}{
		{"ladder", ladder(same), nil},
		{"elimination", elimination(same), nil},
		{"open end", ladder(func(s *arena.Settings) { s.Rounds = 0 }), nil},
		{"generator", ladder(func(s *arena.Settings) {
			s.PackID, s.Generator, s.Judge.Kind = "", &arena.GeneratorSpec{Name: "arithmetic"}, "number"
		}), nil},
		{"nothing", arena.Settings{}, []string{
			"format", "pack_id", "judge.kind", "max_rounds", "time_limit_seconds", "max_tokens", "max_tokens_policy", "visibility", "score_mode",
		}},
		{"no format", ladder(func(s *arena.Settings) { s.Format = "chess" }), []string{"format"}},
		{"two sources", ladder(func(s *arena.Settings) {
			s.Generator = &arena.GeneratorSpec{Name: "arithmetic"}
		}), []string{"pack_id"}},
		{"no source", ladder(func(s *arena.Settings) { s.PackID = "" }), []string{"pack_id"}},
		{"generator's name and difficulty", ladder(func(s *arena.Settings) {
			s.PackID, s.Generator = "", &arena.GeneratorSpec{Name: "x", Difficulty: 9, HarderEvery: 201}
		}), []string{"generator.name", "generator.difficulty", "generator.harder_every"}},
		{"a judge that cannot judge what is generated", ladder(func(s *arena.Settings) {
			s.PackID, s.Generator, s.Judge.Kind = "", &arena.GeneratorSpec{Name: "dates"}, "number"
		}), []string{"judge.kind"}},
		{"judge", ladder(func(s *arena.Settings) { s.Judge.Kind = "coin" }), []string{"judge.kind"}},
		{"rounds below", ladder(func(s *arena.Settings) { s.Rounds = -1 }), []string{"rounds"}},
		{"rounds above", ladder(func(s *arena.Settings) { s.Rounds = 201 }), []string{"rounds"}},
		{"cap", ladder(func(s *arena.Settings) { s.MaxRounds = 201 }), []string{"max_rounds"}},
		{"time too short", ladder(func(s *arena.Settings) { s.TimeLimit = time.Second - 1 }), []string{"time_limit_seconds"}},
		{"time too long", ladder(func(s *arena.Settings) { s.TimeLimit = 10*time.Minute + 1 }), []string{"time_limit_seconds"}},
		{"break", ladder(func(s *arena.Settings) { s.Break = time.Minute + 1 }), []string{"break_seconds"}},
		{"pace", ladder(func(s *arena.Settings) { s.Pace = &arena.Pace{MatchesPerDay: 10_001, Pause: 25 * time.Hour} }), []string{"pace.matches_per_day", "pace.pause_seconds"}},
		{"filler in an elimination", elimination(func(s *arena.Settings) { s.Pace = &arena.Pace{UnratedFiller: true} }), []string{"pace.unrated_filler"}},
		{"ladder of three", ladder(func(s *arena.Settings) { s.MinSeats, s.MaxSeats = 3, 3 }), []string{"min_seats", "max_seats"}},
		{"elimination of two", elimination(func(s *arena.Settings) { s.MinSeats = 2 }), []string{"min_seats"}},
		{"elimination of 129", elimination(func(s *arena.Settings) { s.MaxSeats = 129 }), []string{"max_seats"}},
		{"more needed than allowed", elimination(func(s *arena.Settings) { s.MinSeats, s.MaxSeats = 9, 8 }), []string{"max_seats"}},
		{"tokens", ladder(func(s *arena.Settings) { s.MaxTokens = -1 }), []string{"max_tokens"}},
		{"token policy", ladder(func(s *arena.Settings) { s.MaxTokensPolicy = "warn" }), []string{"max_tokens_policy"}},
		{"no points for long answers", ladder(func(s *arena.Settings) { s.MaxTokensPolicy = arena.ZeroPointsTokens }), nil},
		{"a negative price", ladder(func(s *arena.Settings) { s.MaxCostUSD = -0.01 }), []string{"max_cost_usd"}},
		{"a price too high", ladder(func(s *arena.Settings) { s.MaxCostUSD = 1_000_001 }), []string{"max_cost_usd"}},
		{"the highest price", ladder(func(s *arena.Settings) { s.MaxCostUSD = 1_000_000 }), nil},
		{"visibility", ladder(func(s *arena.Settings) { s.Visibility = "delayed" }), []string{"visibility"}},
		{"delayed", ladder(func(s *arena.Settings) { s.Visibility = "delayed:3600" }), nil},
		{"delayed, before a crowd", ladder(func(s *arena.Settings) {
			s.Visibility, s.Judge = "delayed:5", arena.JudgeSpec{Kind: arena.JudgeCrowd, Criteria: "reasons", Window: time.Minute, MinVotes: 1, VoterAccounts: true}
		}), []string{"visibility"}},
		// Threat G5.
		{"a crowd in a rated league", ladder(crowd(true, false)), []string{"judge.voter_accounts"}},
		{"a crowd with accounts in a rated league", ladder(crowd(true, true)), nil},
		{"a crowd in an unrated league", ladder(crowd(false, false)), nil},
		{"accounts without a crowd", ladder(func(s *arena.Settings) { s.Judge.VoterAccounts = true }), []string{"judge.voter_accounts"}},
		{"score mode", ladder(func(s *arena.Settings) { s.ScoreMode = "best" }), []string{"score_mode"}},
		{"rules", ladder(func(s *arena.Settings) {
			s.Rules = []string{"", strings.Repeat("ñ", 64), strings.Repeat("r", 65), "a\nb"}
		}), []string{"rules[0]", "rules[2]", "rules[3]"}},
		{"too many rules", ladder(func(s *arena.Settings) { s.Rules = strings.Split(strings.Repeat("r", 21), "") }), []string{"rules"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range settings.Check(tt.in, true) {
				got = append(got, f.Field)
				if f.Message == "" {
					t.Errorf("%s: no message", f.Field)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCheck_saysWhatThereIs(t *testing.T) {
	t.Parallel()
	s := settings.Defaults(arena.Settings{Format: "chess", PackID: "pk_1", TimeLimit: time.Second})
	want := []arena.FieldError{{
		Field: "format", Message: `"chess" is not a format; choose one of ladder, round_robin, swiss, knockout, double_elimination, arena, elimination, gauntlet`,
	}}
	if d := cmp.Diff(want, settings.Check(s, true)); d != "" {
		t.Error(d)
	}
}

// Judges that are asked, and debates, restrict what goes with them.
func TestCheck_asking(t *testing.T) {
	t.Parallel()
	motions := func(change func(*arena.Settings)) arena.Settings {
		s := arena.Settings{
			PackID: "pk_1", TimeLimit: time.Minute, Debate: &arena.DebateSpec{Turns: 2},
			Judge: arena.JudgeSpec{Kind: arena.JudgeModel, Criteria: "who argues better"},
		}
		change(&s)
		return settings.Defaults(s)
	}
	for _, tt := range []struct {
		name  string
		in    arena.Settings
		field string
	}{
		{"fine", motions(func(*arena.Settings) {}), ""},
		{"too many turns", motions(func(s *arena.Settings) { s.Debate.Turns = 6 }), "debate.turns"},
		{"a pure judge", motions(func(s *arena.Settings) { s.Judge = arena.JudgeSpec{Kind: arena.JudgeExact} }), "judge.kind"},
		{"an elimination", motions(func(s *arena.Settings) { s.Format, s.MaxSeats = arena.FormatElimination, 8 }), "max_seats"},
		{"too many pairs", motions(func(s *arena.Settings) {
			s.Debate, s.Format, s.MaxSeats, s.Rounds = nil, arena.FormatElimination, 9, 3
		}), "max_seats"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wrong := settings.Check(tt.in, true)
			if (tt.field == "") != (len(wrong) == 0) || tt.field != "" && wrong[0].Field != tt.field {
				t.Errorf("wrong: %+v, want %q", wrong, tt.field)
			}
		})
	}
}

func crowd(rated, accounts bool) func(*arena.Settings) {
	return func(s *arena.Settings) {
		s.Rated, s.PackID, s.Generator = rated, "pk_1", nil
		s.Judge = arena.JudgeSpec{Kind: arena.JudgeCrowd, Criteria: "reasons", Window: time.Minute, MinVotes: 1, VoterAccounts: accounts}
	}
}

// A league whose judge the arena does not have is refused.
func TestCheck_model(t *testing.T) {
	t.Parallel()
	s := settings.Defaults(arena.Settings{PackID: "pk_1", Rounds: 3, TimeLimit: time.Minute, Judge: arena.JudgeSpec{Kind: arena.JudgeModel, Criteria: "x"}})
	if wrong := settings.Check(s, true); len(wrong) > 0 {
		t.Errorf("with a model: %v", wrong)
	}
	if wrong := settings.Check(s, false); len(wrong) != 1 || wrong[0].Field != "judge.kind" || !strings.Contains(wrong[0].Message, "ARENA_JUDGE_URL") {
		t.Errorf("without a model: %v", wrong)
	}
}
