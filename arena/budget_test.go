package arena_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests name zones

	"github.com/agora-arena/arena/arena"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestPlayingHours_Next(t *testing.T) {
	t.Parallel()
	madrid := func(from, to int, days ...time.Weekday) *arena.PlayingHours {
		return &arena.PlayingHours{Zone: "Europe/Madrid", From: from * 60, To: to * 60, Days: days}
	}
	for _, test := range []struct {
		name      string
		hours     *arena.PlayingHours
		now, want string
	}{
		{"none", nil, "2026-11-24T03:00:00Z", "2026-11-24T03:00:00Z"},
		{"within", madrid(8, 20), "2026-11-24T07:00:00Z", "2026-11-24T07:00:00Z"},
		{"before", madrid(8, 20), "2026-11-24T06:59:00Z", "2026-11-24T07:00:00Z"},
		{"the end is outside", madrid(8, 20), "2026-11-24T19:00:00Z", "2026-11-25T07:00:00Z"},
		{"over midnight, the day before", madrid(22, 6), "2026-11-24T04:59:00Z", "2026-11-24T04:59:00Z"},
		{"over midnight, after", madrid(22, 6), "2026-11-24T05:00:00Z", "2026-11-24T21:00:00Z"},
		{"a night that begins on a day", madrid(22, 6, time.Monday), "2026-11-24T04:00:00Z", "2026-11-24T04:00:00Z"}, // Tuesday
		{"a day of the week", madrid(8, 20, time.Sunday), "2026-11-24T12:00:00Z", "2026-11-29T07:00:00Z"},
		{"whole days", madrid(0, 24, time.Saturday, time.Sunday), "2026-11-29T22:59:00Z", "2026-11-29T22:59:00Z"},
		{"whole days, after", madrid(0, 24, time.Saturday, time.Sunday), "2026-11-29T23:00:00Z", "2026-12-04T23:00:00Z"},
		{"summer time begins", madrid(8, 20), "2026-03-29T05:59:00Z", "2026-03-29T06:00:00Z"},
		{"winter time begins", madrid(8, 20), "2026-10-25T06:59:00Z", "2026-10-25T07:00:00Z"},
	} {
		zone := arena.Zones{}.Of(arena.Budget{Hours: test.hours})
		if got := test.hours.Next(at(t, test.now), zone); !got.Equal(at(t, test.want)) {
			t.Errorf("%s: %s, want %s", test.name, got.UTC().Format(time.RFC3339), test.want)
		}
	}
}

// A day has 23 or 25 hours when clocks change.
func TestZones_Day(t *testing.T) {
	t.Parallel()
	a := arena.Agent{ID: "a", Budget: arena.Budget{Hours: &arena.PlayingHours{Zone: "Europe/Madrid"}}}
	for now, hours := range map[string]float64{"2026-11-24T12:00:00Z": 24, "2026-03-29T12:00:00Z": 23, "2026-10-25T12:00:00Z": 25} {
		d := arena.Zones{}.Day(a, at(t, now))
		if got := d.To.Sub(d.From).Hours(); got != hours || d.AgentID != "a" {
			t.Errorf("%s: %g hours from %s", now, got, d.From)
		}
	}
	if zone := (arena.Zones{}).Of(arena.Budget{Hours: &arena.PlayingHours{Zone: "Mars/Olympus"}}); zone != time.UTC {
		t.Errorf("an unknown zone is %s", zone)
	}
}

func TestDayUse_MatchTokens(t *testing.T) {
	t.Parallel()
	s := arena.Settings{Rounds: 5, MaxTokens: 500}
	for _, test := range []struct {
		name      string
		use       arena.DayUse
		rehearsed int64
		want      int64
	}{
		{"nothing known", arena.DayUse{}, 0, 2500},
		{"rehearsed", arena.DayUse{}, 30, 300},
		{"one match", arena.DayUse{Largest: 1000, WindowMatches: 1}, 30, 2000},
		{"nine matches", arena.DayUse{Largest: 1000, WindowMatches: 9}, 30, 2000},
		{"ten matches", arena.DayUse{Largest: 1000, WindowMatches: 10}, 30, 1250},
		{"rounded up", arena.DayUse{Largest: 1, WindowMatches: 10}, 0, 2},
	} {
		if got := test.use.MatchTokens(arena.Agent{RoundTokens: test.rehearsed}, s); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
	if got := (arena.DayUse{}).MatchTokens(arena.Agent{}, arena.Settings{MaxRounds: 7, MaxTokens: 10}); got != 70 {
		t.Errorf("without a number of rounds: %d, want 70", got)
	}
}

func TestBudget_CooldownAt(t *testing.T) {
	t.Parallel()
	zones, now := arena.Zones{}, at(t, "2026-11-24T12:00:00Z")
	midnight, morning := at(t, "2026-11-25T00:00:00Z"), at(t, "2026-11-25T08:00:00Z")
	hours := &arena.PlayingHours{From: 8 * 60, To: 20 * 60}
	for _, test := range []struct {
		name   string
		budget arena.Budget
		use    arena.DayUse
		tokens int64
		reason arena.CooldownReason
		until  time.Time
	}{
		{"no budget", arena.Budget{}, arena.DayUse{Matches: 1000, Tokens: 1 << 50}, 1 << 40, "", time.Time{}},
		{"matches left", arena.Budget{MatchesPerDay: 3}, arena.DayUse{Matches: 1, Reserved: []int64{5}}, 9, "", time.Time{}},
		{"matches used", arena.Budget{MatchesPerDay: 3}, arena.DayUse{Matches: 2, Reserved: []int64{5}}, 9, arena.CooldownMatches, midnight},
		{"matches used, with hours", arena.Budget{MatchesPerDay: 3, Hours: hours}, arena.DayUse{Matches: 3}, 9, arena.CooldownMatches, morning},
		{"tokens fit", arena.Budget{TokensPerDay: 100}, arena.DayUse{Tokens: 60}, 40, "", time.Time{}},
		{"tokens do not fit", arena.Budget{TokensPerDay: 100}, arena.DayUse{Tokens: 61}, 40, arena.CooldownTokens, midnight},
		{"open matches count as estimated", arena.Budget{TokensPerDay: 100}, arena.DayUse{Reserved: []int64{0, 70}}, 20, arena.CooldownTokens, midnight},
		{"open matches that fit", arena.Budget{TokensPerDay: 110}, arena.DayUse{Reserved: []int64{0, 70}}, 20, "", time.Time{}},
		{"nothing left", arena.Budget{TokensPerDay: 100}, arena.DayUse{Tokens: 100}, 0, arena.CooldownTokens, midnight},
		{"fits on no day", arena.Budget{TokensPerDay: 100}, arena.DayUse{}, 101, arena.CooldownTokens, time.Time{}},
		{"outside its hours", arena.Budget{Hours: &arena.PlayingHours{From: 13 * 60, To: 14 * 60}}, arena.DayUse{}, 0, arena.CooldownHours, now.Add(time.Hour)},
	} {
		a := arena.Agent{ID: "a", Budget: test.budget}
		c, waits := test.budget.CooldownAt(now, zones.Of(test.budget), zones.Day(a, now), test.use, test.tokens)
		if waits != (test.reason != "") || c.Reason != test.reason || !c.Until.Equal(test.until) {
			t.Errorf("%s: %+v %t, want %q until %s", test.name, c, waits, test.reason, test.until)
		}
	}
}

func TestZones_CheckBudgets(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-24T12:00:00Z")
	agents := []arena.Agent{
		{ID: "free"},
		{ID: "used", Budget: arena.Budget{MatchesPerDay: 7}},
		{ID: "asleep", Budget: arena.Budget{Hours: &arena.PlayingHours{From: 0, To: 60}}},
		{ID: "fresh", Budget: arena.Budget{MatchesPerDay: 1}},
	}
	uses := map[string]arena.DayUse{"free": {Matches: 99}, "used": {Matches: 7}}
	zones := arena.Zones{}
	if days := zones.BudgetDays(agents, now); len(days) != 3 {
		t.Errorf("days of %+v", days)
	}
	err := zones.CheckBudgets(agents, uses, arena.Settings{}, now)
	refused, _ := errors.AsType[*arena.Error](err)
	if refused == nil {
		t.Fatalf("%v", err)
	}
	fields := refused.Fields
	if refused.Code != arena.CodeAgentNotReady || len(fields) != 2 || fields[0].Field != "agents[1]" || fields[1].Field != "agents[2]" {
		t.Fatalf("%v, %+v", err, fields)
	}
	if strings.Contains(fields[0].Message, "7") || !strings.Contains(fields[1].Message, "hours") {
		t.Errorf("the reasons are %+v", fields)
	}
	if err := zones.CheckBudgets(agents[3:], uses, arena.Settings{}, now); err != nil {
		t.Error(err)
	}
}

func TestBudgetUse_Forecast(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-24T12:00:00Z")
	u := arena.BudgetUse{Use: arena.DayUse{WindowMatches: 70, WindowTokens: 7000}}
	for age, want := range map[time.Duration]int{365 * 24 * time.Hour: 300, 24 * time.Hour: 2100, time.Minute: 2100, 48 * time.Hour: 1050} {
		u.Agent.CreatedAt = now.Add(-age)
		if matches, tokens := u.Forecast(now); matches != want || tokens != int64(100*want) {
			t.Errorf("an agent of %s: %d matches, %d tokens, want %d matches", age, matches, tokens, want)
		}
	}
}

func TestPace_Ready(t *testing.T) {
	t.Parallel()
	p, now := arena.Pace{MatchesPerDay: 24, Pause: 10 * time.Minute}, at(t, "2026-11-24T12:00:00Z")
	for _, test := range []struct {
		name string
		of   arena.Played
		want time.Time
	}{
		{"never played", arena.Played{}, time.Time{}},
		{"played once", arena.Played{Matches: 1, First: now, Last: now}, now.Add(10 * time.Minute)},
		{"the last one before the day", arena.Played{Last: now}, now.Add(10 * time.Minute)},
		{"all of the day wait for their start", arena.Played{Matches: 24, First: now}, now.Add(24 * time.Hour)},
		{"all of the day", arena.Played{Matches: 24, First: now, Last: now.Add(time.Hour)}, now.Add(24 * time.Hour)},
	} {
		if got := p.Ready(test.of); !got.Equal(test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestAnswerBody_SpentTokens(t *testing.T) {
	t.Parallel()
	for want, b := range map[int64]arena.AnswerBody{
		7:             {Tokens: new(int64(7)), Answer: "long enough to cost more than seven tokens"},
		0:             {Tokens: new(int64(-1))},
		3:             {Answer: "123456", Reasoning: "789"},
		1_000_000_000: {Tokens: new(int64(1 << 62))},
	} {
		if got := b.SpentTokens(); got != want {
			t.Errorf("%+v: %d, want %d", b, got, want)
		}
	}
}
