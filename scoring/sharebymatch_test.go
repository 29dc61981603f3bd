package scoring_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// answersOf simulates an agent's answers. With probability alike, all answers of a match
// share one result; otherwise each is drawn separately.
func answersOf(r *rand.Rand, matches, rounds int, share, alike float64) (trials []scoring.Trial, right int) {
	for m := range matches {
		same, all := r.Float64() < alike, r.Float64() < share
		for range rounds {
			t := scoring.Trial{Match: strconv.Itoa(m)}
			if same && all || !same && r.Float64() < share {
				t.Score = 1
				right++
			}
			trials = append(trials, t)
		}
	}
	return trials, right
}

// The interval holds the true share in about 95 % of the samples when rounds of a match
// depend on each other, where the interval of Wilson is too narrow. It is too narrow as
// well, but less, where matches with wrong answers alone are so rare that a sample may
// have none.
func TestShareByMatch_coverage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const samples = 2000
	for _, tt := range []struct {
		matches, rounds int
		share, alike    float64
		least, naive    float64 // coverage; the one of Wilson's interval stays below naive
	}{
		{10, 6, 0.5, 0.3, 0.93, 0.9},
		{30, 6, 0.7, 0.3, 0.93, 0.9},
		{30, 10, 0.9, 0.5, 0.83, 0.7},
		{100, 3, 0.8, 0.5, 0.93, 0.9},
		{30, 6, 0.6, 0, 0.93, 1},
	} {
		held, naive := 0, 0
		for range samples {
			trials, right := answersOf(r, tt.matches, tt.rounds, tt.share, tt.alike)
			s, _ := scoring.ShareByMatch(trials)
			if s.Low <= tt.share && tt.share <= s.High {
				held++
			}
			if s := arena.ShareOf(right, len(trials)); s.Low <= tt.share && tt.share <= s.High {
				naive++
			}
		}
		t.Logf("%+v: %.3f, Wilson %.3f", tt, float64(held)/samples, float64(naive)/samples)
		if float64(held) < tt.least*samples || float64(naive) > tt.naive*samples {
			t.Errorf("%+v: %d held of %d, Wilson %d", tt, held, samples, naive)
		}
	}
}

// Without anything to cluster it is close to Wilson's interval; without a second match
// there is none; and where all are right, each match is one answer.
func TestShareByMatch_ends(t *testing.T) {
	t.Parallel()
	var single, one, right []scoring.Trial
	for i := range 1000 {
		single = append(single, scoring.Trial{Match: strconv.Itoa(i), Score: float64(i % 2)})
		one = append(one, scoring.Trial{Match: "m", Score: float64(i % 2)})
		right = append(right, scoring.Trial{Match: strconv.Itoa(i % 20), Score: 1})
	}
	s, n := scoring.ShareByMatch(single)
	if w := arena.ShareOf(500, 1000); n != 1000 || s.Low < w.Low-0.001 || s.High > w.High+0.001 || s.Low > w.Low {
		t.Errorf("%+v of %d, Wilson %+v", s, n, w)
	}
	if s, n := scoring.ShareByMatch(one); s.Low != 0 || s.High != 1 || s.Share != 0.5 || n != 1 {
		t.Errorf("one match: %+v of %d", s, n)
	}
	if s, _ := scoring.ShareByMatch(right); s.Low > arena.ShareOf(20, 20).Low || s.Low < 0.8 {
		t.Errorf("all right: %+v", s)
	}
	if s, n := scoring.ShareByMatch(nil); s.Low != 0 || s.High != 1 || n != 0 {
		t.Errorf("nothing: %+v of %d", s, n)
	}
}
