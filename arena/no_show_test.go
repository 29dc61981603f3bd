package arena_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// Threat F5: two no-shows are bad luck, the third costs ten minutes, each
// further one twice the one before, and never more than a day.
func TestNoShowRecords(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(league string, hour int) arena.NoShow {
		return arena.NoShow{AgentID: "ag_1", League: league, Outcome: arena.OutcomeUnavailable, At: noon.Add(time.Duration(hour) * time.Hour)}
	}
	if got := arena.NoShowRecords(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	got := arena.NoShowRecords([]arena.NoShow{at("quiz", 2), at("maths", 0), at("quiz", 0), at("quiz", 1), at("maths", 1)})
	want := []arena.NoShowRecord{{League: "maths", Count: 2}, {League: "quiz", Count: 3, SuspendedUntil: noon.Add(2*time.Hour + 10*time.Minute)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var all []arena.NoShow
	for n, cooldown := range []time.Duration{0, 0, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440} {
		all = append(all, at("quiz", 100*n))
		record := arena.NoShowRecords(all)[0]
		until := time.Time{}
		if cooldown > 0 {
			until = all[n].At.Add(cooldown * time.Minute)
		}
		if record.Count != n+1 || !record.SuspendedUntil.Equal(until) {
			t.Errorf("after %d no-shows: %+v, want suspended until %v", n+1, record, until)
		}
	}
}

// Threat G4: skipping the same opponent again doubles the cooldown.
func TestNoShowRecords_sameOpponent(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		opponents []string
		want      time.Duration
	}{
		{[]string{"a", "b", "c"}, 10 * time.Minute},
		{[]string{"a", "a", "c"}, 20 * time.Minute},
		{[]string{"a", "b", "a"}, 20 * time.Minute},
		{[]string{"a", "a", "a"}, 40 * time.Minute},
		{[]string{"a", "b", "c", "a"}, 40 * time.Minute},
		{[]string{"", "", ""}, 10 * time.Minute}, // in larger matches
		{[]string{"a", "a"}, 0},
		{slices.Repeat([]string{"a"}, 20), arena.MaxNoShowCooldown},
	} {
		var noShows []arena.NoShow
		for i, o := range tt.opponents {
			noShows = append(noShows, arena.NoShow{AgentID: "ag_1", Opponent: o, League: "quiz", At: noon.Add(time.Duration(i) * 48 * time.Hour)})
		}
		var want time.Time
		if tt.want > 0 {
			want = noShows[len(noShows)-1].At.Add(tt.want)
		}
		if got := arena.NoShowRecords(noShows)[0].SuspendedUntil; !got.Equal(want) {
			t.Errorf("%v: suspended until %v, want %v", tt.opponents, got, want)
		}
	}
	other := []arena.NoShow{{League: "maths", Opponent: "a", At: noon}}
	for i := range 3 {
		other = append(other, arena.NoShow{League: "quiz", Opponent: string(rune('a' + i)), At: noon})
	}
	if got := arena.NoShowRecords(other)[1].SuspendedUntil; !got.Equal(noon.Add(arena.NoShowCooldown)) {
		t.Errorf("no-shows of another league count: until %v", got)
	}
}
