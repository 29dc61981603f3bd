package schedule_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

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
		"0 20 * * 7": true, "0 20 * * FRI-SUN": true, "0 20 * * 5-7": true, "0 20 * * sat-mon": true, "0 20 * * 6,7": true, "  0  20 * * mon  ": true,
		"0 20 * * 8": false, "0 20 * * FRI-": false, "0 20 * * Friday": false, "CRON_TZ=Local 0 20 * * *": false, "TZ=../../etc/passwd 0 20 * * *": false,
		"0 0 29 2 *": true, "@every 1h": true,
	} {
		if err := schedule.Check(expression, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)); (err == nil) != fine {
			t.Errorf("%q: %v", expression, err)
		}
	}
}

// next returns the occurrences after a time, and until another, in the zone of the
// schedule.
func next(t *testing.T, expression, zone, from, until string) (times []string) {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(s string) time.Time {
		at, err := time.ParseInLocation("2006-01-02 15:04", s, location)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for at := schedule.Next("CRON_TZ="+zone+" "+expression, parse(from)); at.Before(parse(until)); at = schedule.Next("CRON_TZ="+zone+" "+expression, at) {
		if times = append(times, at.In(location).Format("Mon 15:04 -07")); len(times) > 100 {
			t.Fatalf("%s does not advance", expression)
		}
	}
	return times
}

// Where clocks change, each local time comes once (robfig/cron#541 and node-cron#563
// are of this kind).
func TestNext_clockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, expression, from, until string
		want                          []string
	}{
		{"Europe/Madrid", "30 2 * * *", "2027-03-27 12:00", "2027-03-29 12:00", []string{"Sun 03:00 +02", "Mon 02:30 +02"}},
		{"Europe/Madrid", "30 2 * * *", "2027-10-30 12:00", "2027-11-01 12:00", []string{"Sun 02:30 +02", "Mon 02:30 +01"}},
		{"Europe/Madrid", "0,30 2,3 * * *", "2027-03-27 12:00", "2027-03-28 12:00", []string{"Sun 03:00 +02", "Sun 03:30 +02"}},
		{"America/New_York", "0 2 * * *", "2027-03-13 12:00", "2027-03-14 12:00", []string{"Sun 03:00 -04"}},
		{"America/New_York", "30 1 * * *", "2027-11-06 12:00", "2027-11-07 12:00", []string{"Sun 01:30 -04"}},
		{"America/Santiago", "0 0 * * *", "2027-09-04 12:00", "2027-09-06 12:00", []string{"Sun 01:00 -03", "Mon 00:00 -03"}},
		{"America/Santiago", "0 0 * * SUN", "2027-08-30 12:00", "2027-09-13 12:00", []string{"Sun 01:00 -03", "Sun 00:00 -03"}},
		{"America/Santiago", "0 * * * SUN", "2027-09-04 12:00", "2027-09-05 03:30", []string{"Sun 01:00 -03", "Sun 02:00 -03", "Sun 03:00 -03"}},
		{"Africa/Cairo", "0 0 * * FRI", "2027-04-24 12:00", "2027-05-08 12:00", []string{"Fri 01:00 +03", "Fri 00:00 +03"}},
		{"America/Havana", "0 0 * * SUN", "2027-03-08 12:00", "2027-03-22 12:00", []string{"Sun 01:00 -04", "Sun 00:00 -04"}},
		{"Australia/Lord_Howe", "15 2 * * *", "2027-10-02 12:00", "2027-10-03 12:00", []string{"Sun 02:30 +11"}},
		{"Australia/Lord_Howe", "45 1 * * *", "2027-04-03 12:00", "2027-04-04 12:00", []string{"Sun 01:45 +11"}},
		{"Pacific/Apia", "0 12 * * *", "2011-12-29 00:00", "2012-01-01 00:00", []string{"Thu 12:00 -10", "Sat 00:00 +14", "Sat 12:00 +14"}}, // a day without a 30th
		// Every hour means every hour that passes.
		{"Europe/Madrid", "30 * * * *", "2027-10-31 01:00", "2027-10-31 04:00", []string{"Sun 01:30 +02", "Sun 02:30 +02", "Sun 02:30 +01", "Sun 03:30 +01"}},
		{"Europe/Madrid", "30 * * * *", "2027-03-28 01:00", "2027-03-28 04:00", []string{"Sun 01:30 +01", "Sun 03:30 +02"}},
		{"UTC", "0 20 * * FRI-SUN", "2027-07-05 00:00", "2027-07-12 00:00", []string{"Fri 20:00 +00", "Sat 20:00 +00", "Sun 20:00 +00"}},
		{"UTC", "0 20 * * SAT-MON/2", "2027-07-05 00:00", "2027-07-19 00:00", []string{"Mon 20:00 +00", "Sat 20:00 +00", "Mon 20:00 +00", "Sat 20:00 +00"}},
		{"UTC", "0 20 * * 7", "2027-07-05 00:00", "2027-07-12 00:00", []string{"Sun 20:00 +00"}},
	} {
		if got := next(t, c.expression, c.zone, c.from, c.until); !slices.Equal(got, c.want) {
			t.Errorf("%s in %s from %s: %q, want %q", c.expression, c.zone, c.from, got, c.want)
		}
	}
}

// Where clocks do not change, the library finds the same occurrences.
func TestNext_library(t *testing.T) {
	t.Parallel()
	field := func(t *rapid.T, low, high int) string {
		n := rapid.IntRange(low, high)
		return rapid.OneOf(
			rapid.Just("*"), rapid.Map(n, strconv.Itoa), rapid.Map(rapid.IntRange(2, 9), func(n int) string { return "*/" + strconv.Itoa(n) }),
			rapid.Custom(func(t *rapid.T) string {
				first := n.Draw(t, "first")
				return fmt.Sprintf("%d-%d,%d", first, rapid.IntRange(first, high).Draw(t, "last"), n.Draw(t, "other"))
			}),
		).Draw(t, "field")
	}
	rapid.Check(t, func(t *rapid.T) {
		expression := fmt.Sprintf("%s %s %s %s %s", field(t, 0, 59), field(t, 0, 23), field(t, 1, 28), field(t, 1, 12), field(t, 0, 6))
		known, err := cron.ParseStandard("CRON_TZ=UTC " + expression)
		if err != nil {
			t.Fatal(err)
		}
		after := time.Unix(rapid.Int64Range(1_700_000_000, 2_500_000_000).Draw(t, "after"), 0)
		if got, want := schedule.Next(expression, after), known.Next(after.UTC()); !got.Equal(want) {
			t.Errorf("%q after %v: %v, want %v", expression, after.UTC(), got, want)
		}
	})
}
