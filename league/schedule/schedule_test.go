package schedule_test

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/league/schedule"
)

// Threat C7: schedules are UTC whatever the clock's zone says, through the
// change to summer time and back.
func TestNext_UTC(t *testing.T) {
	t.Parallel()
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	const nightly = "30 1 * * *" // in Vienna there are nights with two half past ones, and in spring half past two is missing
	for _, now := range []time.Time{
		time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
	} {
		want := now.Add(90 * time.Minute)
		if next := schedule.Next(nightly, now.In(vienna)); !next.Equal(want) {
			t.Errorf("after %v comes %v, want %v", now, next, want)
		}
		if next := schedule.Next(nightly, want.In(vienna)); !next.Equal(want.Add(24 * time.Hour)) {
			t.Errorf("after %v comes %v", want, next)
		}
	}
}

// A schedule with a zone keeps its local time when clocks change.
func TestNext_zone(t *testing.T) {
	t.Parallel()
	const friday = "CRON_TZ=Europe/Madrid 0 20 * * 5"
	for after, want := range map[string]string{"2026-10-20T00:00:00Z": "2026-10-23T18:00:00Z", "2026-10-25T12:00:00Z": "2026-10-30T19:00:00Z"} {
		at, err := time.Parse(time.RFC3339, after)
		if err != nil {
			t.Fatal(err)
		}
		if next := schedule.Next(friday, at).Format(time.RFC3339); next != want {
			t.Errorf("after %s: %s, want %s", after, next, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for expression, fine := range map[string]bool{
		"*/5 * * * *": true, "0 20 * * FRI": true, "@daily": true,
		"": false, "soon": false, "61 * * * *": false, "* * * * * *": false,
		"CRON_TZ=Europe/Madrid 0 20 * * 5": true, "TZ=UTC 0 20 * * 5": true, "CRON_TZ=Nowhere/Else 0 20 * * 5": false, "TZ=UTC": false,
		"0 0 30 2 *": false, // the 30th of February
	} {
		if err := schedule.Check(expression, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)); (err == nil) != fine {
			t.Errorf("%q: %v", expression, err)
		}
	}
}
