package scoring_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

func TestCalibrate(t *testing.T) {
	t.Parallel()
	sure, half, none := new(1.0), new(0.5), new(0.0)
	got := scoring.Calibrate([]arena.Claim{
		{Confidence: sure, Tokens: new(int64(100)), Right: true},
		{Confidence: sure, Tokens: new(int64(50))},
		{Confidence: half, Right: true},
		{Confidence: half},
		{Confidence: none},
		{Tokens: new(int64(30)), Right: true, OverTokens: true},
		{Confidence: new(1.5), Right: true},
		{Confidence: new(-0.1)},
		{Confidence: new(math.NaN())},
		{Tokens: new(int64(-1)), Right: true},
		{OverTokens: true},
		{},
	})
	want := arena.Calibration{
		Answers: 5, Brier: new((0 + 1 + 0.25 + 0.25 + 0) / 5),
		Tokens: arena.TokenCost{Answers: 3, Total: 180, PerRight: new(90.0), OverLimit: 2},
	}
	for i := range 10 {
		want.Bins = append(want.Bins, arena.CalibrationBin{From: float64(i) / 10, To: float64(i+1) / 10})
	}
	fill := func(bin, count int, mean, right float64) {
		want.Bins[bin].Count, want.Bins[bin].MeanConfidence, want.Bins[bin].RightShare = count, &mean, &right
	}
	fill(0, 1, 0, 0)
	fill(5, 2, 0.5, 0.5)
	fill(9, 2, 1, 0.5)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	none2 := scoring.Calibrate(nil)
	if none2.Brier != nil || none2.Tokens.PerRight != nil || len(none2.Bins) != 10 {
		t.Errorf("of nothing: %+v", none2)
	}
	huge := scoring.Calibrate([]arena.Claim{{Tokens: new(int64(math.MaxInt64))}, {Tokens: new(int64(5))}})
	if huge.Tokens.Total != math.MaxInt64 || huge.Tokens.PerRight != nil {
		t.Errorf("beyond all numbers: %+v", huge.Tokens)
	}
}

// An agent that always declares its share of right answers has the best score that
// a constant can have.
func TestCalibrate_honestyPays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		right := rapid.SliceOfN(rapid.Bool(), 1, 50).Draw(t, "right")
		said := rapid.Float64Range(0, 1).Draw(t, "said")
		hits := 0.0
		for _, r := range right {
			if r {
				hits++
			}
		}
		honest := hits / float64(len(right))
		score := func(confidence float64) (float64, arena.Calibration) {
			var claims []arena.Claim
			for _, r := range right {
				claims = append(claims, arena.Claim{Confidence: &confidence, Right: r})
			}
			c := scoring.Calibrate(claims)
			return *c.Brier, c
		}
		best, _ := score(honest)
		other, c := score(said)
		if best > other+1e-12 {
			t.Fatalf("%f for honest %f, %f for %f", best, honest, other, said)
		}
		count := 0
		for _, b := range c.Bins {
			if count += b.Count; b.Count > 0 && (*b.RightShare < 0 || *b.RightShare > 1 || *b.MeanConfidence < b.From || *b.MeanConfidence > b.To+1e-9) {
				t.Fatalf("bin %+v", b)
			}
		}
		if count != len(right) || count != c.Answers {
			t.Fatalf("%d of %d answers are in bins", count, len(right))
		}
	})
}
