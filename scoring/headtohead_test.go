package scoring_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// run returns n trials with the same score, each with a match and a task of its own.
func run(from, n int, score float64) (trials []scoring.Trial) {
	for i := range n {
		trials = append(trials, scoring.Trial{Match: fmt.Sprint("m", from+i), Task: fmt.Sprint("t", from+i), Score: score})
	}
	return trials
}

func results(won, even, lost int) []scoring.Trial {
	return append(append(run(0, won, 1), run(won, even, 0.5)...), run(won+even, lost, 0)...)
}

func TestCompare(t *testing.T) {
	t.Parallel()
	oneTask := run(0, 12, 1)
	for i := range oneTask {
		oneTask[i].Task = "t"
	}
	for name, tt := range map[string]struct {
		trials    []scoring.Trial
		questions bool
		verdict   scoring.ComparisonVerdict
		reason    scoring.ComparisonReason
	}{
		"nothing":               {nil, true, "too_few", "no_matches"},
		"one match":             {run(0, 1, 1), true, "too_few", "few_matches"},
		"nine of nine":          {run(0, 9, 1), true, "too_few", "few_matches"},
		"ten of ten":            {run(0, 10, 1), true, "better", ""},
		"none of ten":           {run(0, 10, 0), true, "worse", ""},
		"nine of ten":           {results(9, 0, 1), true, "better", ""},
		"eight of ten":          {results(8, 0, 2), true, "too_few", "undecided"},
		"all even":              {run(0, 100, 0.5), true, "too_few", "all_even"},
		"one task":              {oneTask, true, "too_few", "few_tasks"},
		"games have no task":    {oneTask, false, "better", ""},
		"half":                  {results(50, 0, 50), true, "too_few", "undecided"},
		"a little more, often":  {results(560, 0, 440), true, "better", ""},
		"a little less, often":  {results(440, 0, 560), true, "worse", ""},
		"mostly even, then won": {results(7, 93, 0), true, "better", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := scoring.Compare(tt.trials, tt.questions)
			if c.Verdict != tt.verdict || c.Reason != tt.reason {
				t.Errorf("%s, %q: p %v, share %+v", c.Verdict, c.Reason, c.P, c.Share)
			}
			if c.Won+c.Even+c.Lost != len(tt.trials) || c.Share.Low > c.Share.Share || c.Share.Share > c.Share.High || c.Share.Share <= 0 || c.Share.Share >= 1 {
				t.Errorf("%+v", c)
			}
			// A verdict and the interval never contradict each other.
			if outside := c.Share.Low > 0.5 || c.Share.High < 0.5; outside && c.P > 0.05 || c.Verdict != "too_few" && !outside {
				t.Errorf("p %v, share %+v", c.P, c.Share)
			}
		})
	}
}

// The roles of the agents only change the sign.
func TestCompare_swapped(t *testing.T) {
	t.Parallel()
	trials := trialsOf(rand.New(rand.NewPCG(1, 2)), 15, 7, 30, 0.4, 0.2, 0.3)
	swapped := make([]scoring.Trial, len(trials))
	for i, trial := range trials {
		swapped[i] = trial
		swapped[i].Score = 1 - trial.Score
	}
	a, b := scoring.Compare(trials, true), scoring.Compare(swapped, true)
	if math.Abs(a.P-b.P) > 1e-12 || a.Won != b.Lost || a.Even != b.Even || math.Abs(a.Share.Low+b.Share.High-1) > 1e-12 || a.Needed != b.Needed {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// Results that are all alike are not certain: the probability never falls below that of a
// sign test, and the interval has an end.
func TestCompare_allAlike(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 10, 12, 100} {
		c := scoring.Compare(run(0, n, 1), true)
		if floor := math.Exp2(float64(1 - n)); c.P < floor || c.Share.Low <= 0 && n > 2 || c.Share.High != 1 {
			t.Errorf("%d of %d: p %v below %v, or %+v", n, n, c.P, floor, c.Share)
		}
		// The exact interval of Clopper and Pearson ends at the n-th root of 0.025.
		if exact := math.Pow(0.025, 1/float64(n)); n >= 10 && math.Abs(c.Share.Low-exact) > 0.05 {
			t.Errorf("%d of %d: low is %v, exact is %v", n, n, c.Share.Low, exact)
		}
	}
	// Copies of one match are no more than one match.
	copies := run(0, 12, 1)
	for i := range copies {
		copies[i].Match = "m"
	}
	if c := scoring.Compare(copies, true); c.Matches != 1 || c.P < 0.5 || c.Verdict != "too_few" {
		t.Errorf("%+v", c)
	}
}

// Without results, a match of one round between equals has a variance of 1/4.
func TestCompare_needed(t *testing.T) {
	t.Parallel()
	if c := scoring.Compare(nil, true); c.Needed != 385 || c.P != 1 {
		t.Errorf("%+v", c)
	}
	if c := scoring.Compare(results(5000, 0, 5000), true); c.Needed != 0 {
		t.Errorf("%d more after 10,000", c.Needed)
	}
	if c := scoring.Compare(run(0, 3, 0.5), true); c.Needed < 7 {
		t.Errorf("%d more after 3", c.Needed)
	}
	if c := scoring.Compare(results(2, 0, 1), true); c.Needed != 382 {
		t.Errorf("%d more after 3 that differ", c.Needed)
	}
}

func TestEloOf(t *testing.T) {
	t.Parallel()
	for score, want := range map[float64]arena.MilliElo{0.5: 0, 10. / 11: 400_000, 1. / 11: -400_000} {
		if got, ok := scoring.EloOf(score); !ok || got != want {
			t.Errorf("%v is %d, %v", score, got, ok)
		}
	}
	for _, score := range []float64{0, 1, -0.5, 2} {
		if _, ok := scoring.EloOf(score); ok {
			t.Errorf("%v has an Elo", score)
		}
	}
}

// trialsOf returns the trials of two agents in matches of some rounds, or of 1 to -rounds,
// with tasks drawn from some. The results of a task correlate by byTask, those of a match by byMatch, and
// the first agent is ahead by gap standard deviations. A fifth of the results is even.
func trialsOf(r *rand.Rand, matches, rounds, tasks int, byTask, byMatch, gap float64) (trials []scoring.Trial) {
	ofTask := make([]float64, tasks)
	for i := range ofTask {
		ofTask[i] = r.NormFloat64() * math.Sqrt(byTask)
	}
	for m := range matches {
		ofMatch := r.NormFloat64() * math.Sqrt(byMatch)
		var asked []int
		n := min(rounds, tasks)
		if rounds < 0 {
			n = 1 + r.IntN(-rounds)
		}
		for len(asked) < n {
			task := r.IntN(tasks)
			if slices.Contains(asked, task) {
				continue
			}
			asked = append(asked, task)
			x := gap + ofTask[task] + ofMatch + r.NormFloat64()*math.Sqrt(1-byTask-byMatch)
			t := scoring.Trial{Match: strconv.Itoa(m), Task: strconv.Itoa(task), Score: 0.5}
			switch { // 0.2533: a tenth of the normal distribution on each side
			case x > 0.2533:
				t.Score = 1
			case x < -0.2533:
				t.Score = 0
			}
			trials = append(trials, t)
		}
	}
	return trials
}

// Between equals, however their results depend on each other, a verdict comes in at most
// 5 % of the comparisons.
func TestCompare_equals(t *testing.T) {
	t.Parallel()
	const comparisons = 2_000
	for i, tt := range []struct {
		matches, rounds, tasks int
		byTask, byMatch        float64
	}{
		{10, 1, 1000, 0.7, 0},
		{10, 10, 10, 0.7, 0},
		{12, 10, 1000, 0, 0.7},
		{12, 10, 1000, 0.35, 0.35},
		{20, 5, 25, 0.7, 0},
		{30, 10, 20, 0.7, 0},
		{30, 10, 30, 0.35, 0.35},
		{60, 3, 12, 0.7, 0},
		{40, 10, 60, 0, 0.7},
		{60, 10, 300, 0.35, 0.35},
		{100, 1, 15, 0.7, 0},
		{12, -20, 1000, 0, 0.7},
		{40, -10, 1000, 0, 0.7},
	} {
		t.Run(fmt.Sprintf("%+v", tt), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(41, uint64(i)))
			wrong := 0
			for range comparisons {
				if scoring.Compare(trialsOf(r, tt.matches, tt.rounds, tt.tasks, tt.byTask, tt.byMatch, 0), true).Verdict != "too_few" {
					wrong++
				}
			}
			t.Logf("%.2f %% wrong", 100*float64(wrong)/comparisons)
			if wrong > comparisons*6/100 {
				t.Errorf("%d of %d verdicts between equals", wrong, comparisons)
			}
		})
	}
}

// After as many more matches as a comparison asks for, a difference of 50 Elo is found
// with the promised probability: four times in five, and never for the weaker one.
func TestCompare_power(t *testing.T) {
	t.Parallel()
	const comparisons = 600
	for i, tt := range []struct {
		matches, rounds, tasks int
		byTask, byMatch        float64
	}{
		{20, 10, 2000, 0, 0},
		{30, 5, 2000, 0, 0.35},
		{40, 10, 2000, 0.2, 0.2},
	} {
		t.Run(fmt.Sprintf("%+v", tt), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(50, uint64(i)))
			gap := gapOf(50)
			found, wrong, needed := 0, 0, 0
			for range comparisons {
				n := scoring.Compare(trialsOf(r, tt.matches, tt.rounds, tt.tasks, tt.byTask, tt.byMatch, gap), true).Needed
				needed += n
				switch scoring.Compare(trialsOf(r, tt.matches+n, tt.rounds, tt.tasks, tt.byTask, tt.byMatch, gap), true).Verdict {
				case scoring.ComparedBetter:
					found++
				case scoring.ComparedWorse:
					wrong++
				}
			}
			share := float64(found) / comparisons
			t.Logf("%.1f %% found, with %d more matches on average", 100*share, needed/comparisons)
			if share < 0.72 || share > 0.88 || wrong > 0 {
				t.Errorf("found %.1f %%, wrong %d", 100*share, wrong)
			}
		})
	}
}

// gapOf returns the gap of trialsOf at which the expected score is that of a difference
// in Elo: P(x > 0.2533) + P(-0.2533 < x < 0.2533)/2 grows with the gap.
func gapOf(elo float64) float64 {
	above := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	want, low, high := 1/(1+math.Pow(10, -elo/400)), 0.0, 3.0
	for range 50 {
		gap := (low + high) / 2
		if (above(0.2533-gap)+above(-0.2533-gap))/2 < want {
			low = gap
		} else {
			high = gap
		}
	}
	return low
}

// Many parts are tested together: what one of them shows alone may be chance.
func TestCompareParts(t *testing.T) {
	t.Parallel()
	parts := map[string][]scoring.Trial{"nine of ten": results(9, 0, 1)}
	verdict := func(most int) scoring.ComparedPart {
		all := scoring.CompareParts(parts, true, most)
		return all[len(all)-1]
	}
	if v := verdict(9); v.Verdict != scoring.ComparedBetter || v.P < 0.025 {
		t.Errorf("alone: %+v", v)
	}
	parts["two matches"] = run(0, 2, 1) // too few to be tested
	if v := verdict(1); v.Verdict != scoring.ComparedBetter {
		t.Errorf("beside a part without enough matches: %+v", v)
	}
	delete(parts, "two matches")
	parts["half"] = results(10, 0, 10)
	if v := verdict(9); v.Name != "nine of ten" || v.Verdict != scoring.ComparedTooFew || v.Reason != scoring.ReasonUndecided {
		t.Errorf("beside another: %+v", v)
	}
	parts["all"] = run(0, 30, 1)
	if all := scoring.CompareParts(parts, true, 2); len(all) != 2 || all[0].Name != "all" || all[0].Verdict != scoring.ComparedBetter || all[1].Name != "half" {
		t.Errorf("%+v", all)
	}
}
