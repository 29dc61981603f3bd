package cli

import (
	"fmt"
	"testing"
	"time"
)

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Second: "now", 0: "now", 59 * time.Second: "59 s ago", time.Minute: "1 min ago", 3 * time.Hour: "3 h ago", 47 * time.Hour: "47 h ago", 72 * time.Hour: "3 days ago",
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if got := ago(now, time.Time{}); got != "" {
		t.Errorf("no time: %q", got)
	}
}

// The same figures as on the pages (web/src/lib/rating.test.ts).
func TestSpread(t *testing.T) {
	t.Parallel()
	for matches, want := range map[int]string{0: "392", 1: "372", 10: "238", 30: "133", 100: "83", 300: "82", 100_000: "82"} {
		if got := fmt.Sprintf("%.0f", spread(matches)); got != want {
			t.Errorf("after %d matches: ±%s, want ±%s", matches, got, want)
		}
	}
}
