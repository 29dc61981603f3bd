package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // schedules may have a zone where the system has none

	"github.com/robfig/cron/v3"
)

// parse reads a cron expression of five fields, in UTC or in the zone of a
// CRON_TZ=Area/City before it.
func parse(expression string) (cron.Schedule, error) {
	zoned := strings.HasPrefix(expression, "CRON_TZ=") || strings.HasPrefix(expression, "TZ=")
	if zoned && !strings.Contains(expression, " ") { // the parser panics
		return nil, errors.New("there is no expression after the time zone")
	}
	return cron.ParseStandard(expression) //nolint:wrapcheck // Check does
}

// Check rejects an expression that is not a schedule or has no occurrence after
// now.
func Check(expression string, now time.Time) error {
	s, err := parse(expression)
	if err != nil {
		return fmt.Errorf("not a cron expression: %w", err)
	}
	if s.Next(now.UTC()).IsZero() {
		return errors.New("it never comes")
	}
	return nil
}

// Next returns the first occurrence of a schedule after a time, in UTC. It is zero
// if there is none.
func Next(expression string, after time.Time) time.Time {
	s, err := parse(expression)
	if err != nil {
		return time.Time{} // Check refused it when it was set
	}
	return s.Next(after.UTC())
}
