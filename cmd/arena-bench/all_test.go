package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	last := release{Ratios: map[string]float64{"a": 2}}
	for _, tc := range []struct {
		name   string
		ratios []float64 // of the runs; more runs than these panic
		again  bool
		worse  bool
	}{
		{"within a tenth", []float64{2.19}, true, false},
		{"worse in all runs", []float64{2.3, 2.5, 2.21}, true, true},
		{"worse once", []float64{2.3, 2.1}, true, false},
		{"worse twice", []float64{2.3, 2.4, 2.1}, true, false},
		{"no time for more runs", []float64{2.3}, false, false},
	} {
		runs := 0
		got, err := last.judge(func() ([]figure, error) {
			ratio := tc.ratios[runs]
			runs++
			return []figure{{Name: "a", Arena: 10 * ratio, Bare: 10}, {Name: "no baseline", Arena: 5}}, nil
		}, func() bool { return tc.again })
		if err != nil || runs != len(tc.ratios) || got[0].Ratio != tc.ratios[0] || got[0].Release != 2 || got[0].Worse != tc.worse || got[1].Worse || got[1].Ratio != 0 {
			t.Errorf("%s: %+v after %d runs, %v", tc.name, got, runs, err)
		}
	}
}

func TestAll_table(t *testing.T) {
	t.Parallel()
	all := allFigures{ReleaseDate: "2026-01-02", Figures: []figure{
		{Name: "a", Unit: "CPU µs", Arena: 310, Bare: 62, Ratio: 5, Release: 4, Worse: true}, {Name: "b", Unit: "KB", Arena: 28.7},
	}}
	var out bytes.Buffer
	want := "figure  unit    arena  bare  ratio  release 2026-01-02  mark\n" +
		"a       CPU µs  310    62    5      4                   worse\n" +
		"b       KB      28.7   -     -      -                   \n"
	if err := all.print(&out); err != nil || out.String() != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, &out, want)
	}
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "b.json")
	err := freeze(file, time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), []figure{{Name: "a", Ratio: 1.5}, {Name: "b"}})
	got, readErr := os.ReadFile(file)
	want := "{\n  \"date\": \"2026-01-02\",\n  \"commit\": \"\",\n  \"ratios\": {\n    \"a\": 1.5\n  }\n}\n"
	if err != nil || readErr != nil || string(got) != want {
		t.Errorf("%v, %v: got %s", err, readErr, got)
	}
}
