package pack

import (
	"fmt"
	"strconv"
	"time"

	"github.com/agora-arena/arena/arena"
)

const (
	firstYear = 1900
	lastYear  = 2100
	day       = 24 * time.Hour
)

// dates returns a task about two dates. The number of days between them grows
// with the difficulty: up to 10, 60, 400, 4,000, 40,000.
func dates(d dice, difficulty int) arena.Task {
	spans := [...]int{0, 10, 60, 400, 4_000, 40_000}
	span := d.between(spans[difficulty-1]+1, spans[difficulty])
	first := time.Date(firstYear, time.January, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(lastYear, time.December, 31, 0, 0, 0, 0, time.UTC)
	early := first.AddDate(0, 0, d.upTo(daysBetween(first, last)-span+1))
	late := early.AddDate(0, 0, span)
	switch d.upTo(3) {
	case 0:
		return textTask(fmt.Sprintf("How many days is it from %s to %s? Count the last day, but not the first.",
			iso(early), iso(late)), counted(span)...)
	case 1:
		from, to, way := early, late, "after"
		if d.upTo(2) == 1 {
			from, to, way = late, early, "before"
		}
		return textTask(fmt.Sprintf("Which date is %s %s %s? Write it as YYYY-MM-DD.",
			days(span), way, iso(from)), iso(to))
	default:
		return weekday(difficulty, early, late)
	}
}

// weekday returns a task about the day of the week of the later date. Up to
// difficulty 3 the task states the day of the earlier date.
func weekday(difficulty int, early, late time.Time) arena.Task {
	text := fmt.Sprintf("Which day of the week is %s in the Gregorian calendar?", iso(late))
	if difficulty <= 3 {
		text = fmt.Sprintf("%s is a %s. Which day of the week is %s?", iso(early), early.Weekday(), iso(late))
	}
	t := textTask(text, late.Weekday().String())
	for i := range 7 {
		t.Options = append(t.Options, time.Weekday((i+1)%7).String()) // from Monday on
	}
	return t
}

func daysBetween(a, b time.Time) int { return int(b.Sub(a) / day) }

func iso(t time.Time) string { return t.Format(time.DateOnly) }

func days(n int) string {
	if n == 1 {
		return "1 day"
	}
	return strconv.Itoa(n) + " days"
}

// counted returns the accepted ways to write a number of days.
func counted(n int) []string {
	answers := []string{strconv.Itoa(n), days(n)}
	if n >= 1000 {
		answers = append(answers, fmt.Sprintf("%d,%03d", n/1000, n%1000))
	}
	return answers
}
