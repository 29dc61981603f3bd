package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // schedules may have a zone where the system has none

	"github.com/robfig/cron/v3"
)

// Check rejects an expression that is not a schedule or has no occurrence after
// now.
func Check(expression string, now time.Time) error {
	s, err := parse(expression)
	if err != nil {
		return fmt.Errorf("not a cron expression: %w", err)
	}
	if s.Next(now).IsZero() {
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
	return s.Next(after).UTC()
}

// parse reads a cron expression of five fields, in UTC or in the zone of a
// CRON_TZ=Area/City before it.
func parse(expression string) (cron.Schedule, error) {
	zone, fields := "", strings.Fields(expression)
	if len(fields) > 0 && (strings.HasPrefix(fields[0], "CRON_TZ=") || strings.HasPrefix(fields[0], "TZ=")) {
		zone, fields = fields[0], fields[1:]
		if len(fields) == 0 { // the parser panics
			return nil, errors.New("there is no expression after the time zone")
		}
		if strings.HasSuffix(zone, "=Local") {
			return nil, errors.New("the time zone must be named, such as Europe/Madrid")
		}
	}
	if len(fields) == 5 {
		fields[4] = weekdays(fields[4])
	}
	s, err := cron.ParseStandard(strings.TrimSpace(zone + " " + strings.Join(fields, " ")))
	if err != nil {
		return nil, err //nolint:wrapcheck // Check does
	}
	if spec, ok := s.(*cron.SpecSchedule); ok {
		if zone == "" {
			spec.Location = time.UTC
		}
		return (*local)(spec), nil
	}
	return s, nil // @every
}

// weekdays replaces 7 for Sunday and ranges that pass Sunday, such as FRI-SUN, by
// lists of days that the parser knows. What it cannot read it leaves to the parser.
func weekdays(field string) string {
	parts := strings.Split(field, ",")
	for i, part := range parts {
		span, step, stepped := strings.Cut(part, "/")
		first, last, ranged := strings.Cut(span, "-")
		from, to := weekday(first), weekday(last)
		if !ranged {
			to = from
		}
		by, err := strconv.Atoi(step)
		if from < 0 || to < 0 || from <= to && to < 7 || stepped && (err != nil || by <= 0 || !ranged) {
			continue
		}
		if !stepped {
			by = 1
		}
		if to < from {
			to += 7
		}
		var days []string
		for day := from; day <= to; day += by {
			days = append(days, strconv.Itoa(day%7))
		}
		slices.Sort(days)
		parts[i] = strings.Join(slices.Compact(days), ",")
	}
	return strings.Join(parts, ",")
}

// weekday returns the number of a day of the week, 0 to 7, or -1.
func weekday(text string) int {
	if i := slices.Index([]string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "7"}, strings.ToUpper(text)); i >= 0 {
		return i
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 7 {
		return n
	}
	return -1
}

// local is a schedule by the calendar and the clock of its zone. An occurrence at a
// time that a change of the clock skips comes at the first moment after it; one at a
// time that comes twice, the first time only. Schedules of every hour follow
// elapsed time instead.
type local cron.SpecSchedule

const (
	anyValue  = 1 << 63       // of a field that is a star; the parser sets it
	everyHour = 1<<24 - 1     // in the field of hours
	longest   = 366*8 + 3*366 // days until a leap day comes again, at most, and some
)

// Next returns the first occurrence after a time, zero if there is none.
func (s *local) Next(after time.Time) time.Time {
	year, month, day := after.In(s.Location).Date()
	for n := range longest {
		// The day before is looked at first: a skipped midnight may come in the next day.
		date := time.Date(year, month, day-1+n, 0, 0, 0, 0, time.UTC)
		if !s.on(date) {
			continue
		}
		if at := s.first(date, after); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// on reports whether the schedule has occurrences on a date. As in cron, a day of
// the month and a day of the week are alternatives.
func (s *local) on(date time.Time) bool {
	if s.Month&(1<<date.Month()) == 0 {
		return false
	}
	ofMonth, ofWeek := s.Dom&(1<<date.Day()) != 0, s.Dow&(1<<date.Weekday()) != 0
	if s.Dom&anyValue != 0 || s.Dow&anyValue != 0 {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// first returns the first occurrence of a date after a time, zero if there is none.
func (s *local) first(date, after time.Time) time.Time {
	if s.Hour&everyHour == everyHour {
		end := s.moment(date.AddDate(0, 0, 1))
		for at := s.moment(date); at.Before(end); at = at.Add(time.Minute) {
			if at.After(after) && s.Minute&(1<<at.In(s.Location).Minute()) != 0 {
				return at
			}
		}
		return time.Time{}
	}
	for hour := range 24 {
		for minute := range 60 {
			if s.Hour&(1<<hour) == 0 || s.Minute&(1<<minute) == 0 {
				continue
			}
			if at := s.moment(date.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)); at.After(after) {
				return at
			}
		}
	}
	return time.Time{}
}

// moment returns when the clock of the zone first shows what wall, in UTC, shows; if
// it never does, when it skips that time.
func (s *local) moment(wall time.Time) time.Time {
	same := func(t time.Time) bool { return t.In(s.Location).Format(time.DateTime) == wall.Format(time.DateTime) }
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, s.Location)
	start, end := at.ZoneBounds()
	if !same(at) {
		if at.Format(time.DateTime) < wall.Format(time.DateTime) {
			return end
		}
		return start
	}
	if !start.IsZero() { // the offset before may show it, too
		_, offset := start.Add(-time.Second).Zone()
		if earlier := wall.Add(-time.Duration(offset) * time.Second); earlier.Before(start) && same(earlier) {
			return earlier.In(s.Location)
		}
	}
	return at
}
