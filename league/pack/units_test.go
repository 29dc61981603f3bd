package pack_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/league/pack"
)

// measure is a unit by the SI: one of it is so many metres, square metres,
// kilograms, cubic metres, seconds or metres per second.
type measure struct {
	of string
	si float64
}

func measures() map[string]measure {
	const inch, pound = 0.0254, 0.45359237
	return map[string]measure{
		"millimetres": {"length", 1e-3}, "centimetres": {"length", 1e-2}, "metres": {"length", 1}, "kilometres": {"length", 1e3},
		"inches": {"length", inch}, "feet": {"length", 12 * inch}, "yards": {"length", 36 * inch},
		"international miles": {"length", 1760 * 36 * inch}, "nautical miles": {"length", 1852},
		"grams": {"mass", 1e-3}, "kilograms": {"mass", 1}, "tonnes": {"mass", 1e3}, "avoirdupois pounds": {"mass", pound},
		"millilitres": {"volume", 1e-6}, "litres": {"volume", 1e-3},
		"US liquid gallons": {"volume", 231 * inch * inch * inch}, "imperial gallons": {"volume", 4.54609e-3},
		"seconds": {"time", 1}, "minutes": {"time", 60}, "hours": {"time", 3600}, "days": {"time", 86400},
		"square metres": {"area", 1}, "hectares": {"area", 1e4}, "square centimetres": {"area", 1e-4},
		"square inches": {"area", inch * inch}, "square feet": {"area", 144 * inch * inch},
		"international acres": {"area", 4840 * 36 * inch * 36 * inch},
		"metres per second":   {"speed", 1}, "kilometres per hour": {"speed", 1e3 / 3600.0},
		"international miles per hour": {"speed", 1760 * 36 * inch / 3600},
	}
}

// convert works in floating point, by way of the SI.
func convert(t *rapid.T, value float64, from, to string) float64 {
	switch from + " " + to {
	case "degrees Celsius degrees Fahrenheit":
		return value*1.8 + 32
	case "degrees Fahrenheit degrees Celsius":
		return (value - 32) / 1.8
	}
	a, knownA := measures()[from]
	b, knownB := measures()[to]
	if !knownA || !knownB || a.of != b.of {
		t.Fatalf("%s in %s?", from, to)
	}
	return value * a.si / b.si
}

func TestGenerate_units(t *testing.T) {
	t.Parallel()
	question := regexp.MustCompile(`How much is ([\d.]+) (.+) in (.+)\?(.*)$`)
	rounding := regexp.MustCompile(`round to (\d) decimals, halves away from zero\.$`)
	rapid.Check(t, func(t *rapid.T) {
		task, difficulty := draw(t, pack.Units)
		m := question.FindStringSubmatch(task.Description)
		if m == nil {
			t.Fatalf("%q", task.Description)
		}
		value, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		got, err := strconv.ParseFloat(task.Answers[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		want := convert(t, value, m[2], m[3])
		allowed := 1e-9 * math.Max(1, math.Abs(want))
		if said := rounding.FindStringSubmatch(m[4]); said != nil {
			_, decimals, _ := strings.Cut(task.Answers[0], ".")
			if said[1] != fmt.Sprint(len(decimals)) {
				t.Fatalf("%s: %s", task.Description, task.Answers[0])
			}
			allowed += 0.5 * math.Pow10(-len(decimals))
		}
		if math.Abs(got-want) > allowed {
			t.Fatalf("%s: %s, want %g", task.Description, task.Answers[0], want)
		}
		rounded, given := m[4] != "", !strings.HasPrefix(task.Description, "How much")
		if rounded != (difficulty >= 4) || given != (difficulty == 3) {
			t.Fatalf("difficulty %d: %s", difficulty, task.Description)
		}
	})
}
