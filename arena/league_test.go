package arena_test

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

func TestSettings_TimeLimitIn(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tt := range []struct {
		limit, faster time.Duration
		round         int
		want          time.Duration
	}{
		{30 * s, 0, 9, 30 * s},
		{30 * s, 2 * s, 0, 30 * s}, // a match that has not begun
		{30 * s, 2 * s, 1, 30 * s},
		{30 * s, 2 * s, 2, 28 * s},
		{30 * s, 2 * s, 11, 10 * s},
		{30 * s, 2 * s, 12, 10 * s}, // a third
		{10 * s, 500 * time.Millisecond, 4, 8500 * time.Millisecond},
		{10 * s, time.Minute, 2, 3333 * time.Millisecond},
		{5 * s, s, 4, 2 * s},
		{5 * s, s, 5, 2 * s},
		{s, s, 5, s},
	} {
		settings := arena.Settings{TimeLimit: tt.limit, Options: arena.FormatOptions{Faster: tt.faster}}
		if got := settings.TimeLimitIn(tt.round); got != tt.want {
			t.Errorf("round %d of %s, %s faster: %s, want %s", tt.round, tt.limit, tt.faster, got, tt.want)
		}
	}
}

func TestMatch_LatestEnd(t *testing.T) {
	t.Parallel()
	starts := time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)
	m := arena.Match{StartsAt: starts, Settings: arena.Settings{
		MaxRounds: 4, TimeLimit: 9 * time.Second, Break: time.Second, Options: arena.FormatOptions{Faster: 2 * time.Second},
	}}
	if got, want := m.LatestEnd().Sub(starts), (9+7+5+3+4)*time.Second; got != want {
		t.Errorf("%s after it starts, want %s", got, want)
	}
}
