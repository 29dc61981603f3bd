package pack_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/scoring"
)

// dayNumber counts days by the rules of the calendar alone, 1900-01-01 is 0.
func dayNumber(year, month, day int) int {
	leap := func(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }
	n := day - 1
	for y := 1900; y < year; y++ {
		n += 365
		if leap(y) {
			n++
		}
	}
	lengths := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	if leap(year) {
		lengths[1] = 29
	}
	if month < 1 || month > 12 || day < 1 || day > lengths[month-1] {
		panic(fmt.Sprintf("there is no %d-%d-%d", year, month, day))
	}
	for _, l := range lengths[:month-1] {
		n += l
	}
	return n
}

// number reads YYYY-MM-DD.
func number(t *rapid.T, date string) int {
	var y, m, d int
	if _, err := fmt.Sscanf(date, "%d-%d-%d", &y, &m, &d); err != nil || len(date) != 10 || y < 1900 || y > 2100 {
		t.Fatalf("%q is no date in range: %v", date, err)
	}
	return dayNumber(y, m, d)
}

// dayOfWeek counts from 1900-01-01, a Monday.
func dayOfWeek(n int) string {
	return []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}[n%7]
}

func TestGenerate_dates(t *testing.T) {
	t.Parallel()
	least := []int{0, 1, 11, 61, 401, 4001}
	most := []int{0, 10, 60, 400, 4000, 40000}
	date := regexp.MustCompile(`\d{4}-\d\d-\d\d`)
	away := regexp.MustCompile(`(\d+) days? (after|before)`)
	kinds := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		task, difficulty := draw(t, pack.Dates)
		judge := arena.JudgeSpec{Kind: arena.JudgeChoice}
		right := func(answer string) {
			t.Helper()
			if scoring.Judge(judge, task, answer) != arena.OnePoint {
				t.Fatalf("%s: %q is right and refused, accepted are %q", task.Description, answer, task.Answers)
			}
		}
		var days []int
		for _, d := range date.FindAllString(task.Description, -1) {
			days = append(days, number(t, d))
		}
		span := -1 // unknown
		switch {
		case strings.HasPrefix(task.Description, "How many days"):
			kinds["between"] = true
			span = days[1] - days[0]
			right(strconv.Itoa(span))
			right(fmt.Sprintf("%d %s", span, map[bool]string{true: "day", false: "days"}[span == 1]))
			if scoring.Judge(judge, task, strconv.Itoa(span+1)) != 0 {
				t.Fatalf("%s: %d is accepted", task.Description, span+1)
			}
		case strings.HasPrefix(task.Description, "Which date"):
			m := away.FindStringSubmatch(task.Description)
			kinds[m[2]] = true
			span, _ = strconv.Atoi(m[1])
			want := days[0] + span
			if m[2] == "before" {
				want = days[0] - span
			}
			if got := number(t, task.Answers[0]); got != want {
				t.Fatalf("%s: not %s", task.Description, task.Answers[0])
			}
		default:
			last := len(days) - 1
			right(dayOfWeek(days[last]))
			if len(task.Options) != 7 || task.Options[0] != "Monday" || task.Options[6] != "Sunday" {
				t.Fatalf("options %q", task.Options)
			}
			if given := last == 1; given != (difficulty <= 3) {
				t.Fatalf("difficulty %d: %s", difficulty, task.Description)
			} else if given {
				span = days[1] - days[0]
				if !strings.Contains(task.Description, "is a "+dayOfWeek(days[0])+".") {
					t.Fatalf("%s: it is a %s", task.Description, dayOfWeek(days[0]))
				}
			}
		}
		if span >= 0 && (span < least[difficulty] || span > most[difficulty]) {
			t.Fatalf("difficulty %d spans %d days: %s", difficulty, span, task.Description)
		}
	})
	if len(kinds) != 3 {
		t.Errorf("met only %v", kinds)
	}
}
