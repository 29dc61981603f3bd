package scoring

import (
	"math"

	"github.com/agora-arena/arena/arena"
)

// calibrationBins is the number of bins of a reliability diagram.
const calibrationBins = 10

// Calibrate compares claims with the results of their answers. It ignores
// confidences outside of 0..1 and negative token counts.
func Calibrate(claims []arena.Claim) arena.Calibration {
	c := arena.Calibration{Bins: make([]arena.CalibrationBin, calibrationBins)}
	var confidence, right [calibrationBins]float64
	squares, rightOnes := 0.0, 0
	for _, claim := range claims {
		worth := 0.0
		if claim.Right {
			worth = 1
		}
		if p := claim.Confidence; p != nil && 0 <= *p && *p <= 1 {
			bin := min(int(*p*calibrationBins), calibrationBins-1)
			c.Answers++
			c.Bins[bin].Count++
			confidence[bin] += *p
			right[bin] += worth
			squares += (*p - worth) * (*p - worth)
		}
		if claim.OverTokens {
			c.Tokens.OverLimit++
		}
		if n := claim.Tokens; n != nil && *n >= 0 {
			c.Tokens.Answers++
			c.Tokens.Total += min(*n, math.MaxInt64-c.Tokens.Total)
			if claim.Right {
				rightOnes++
			}
		}
	}
	c.Brier = mean(squares, c.Answers)
	for i := range c.Bins {
		b := &c.Bins[i]
		b.From, b.To = float64(i)/calibrationBins, float64(i+1)/calibrationBins
		b.MeanConfidence, b.RightShare = mean(confidence[i], b.Count), mean(right[i], b.Count)
	}
	c.Tokens.PerRight = mean(float64(c.Tokens.Total), rightOnes)
	return c
}

// mean returns sum/n, or nil if n is 0.
func mean(sum float64, n int) *float64 {
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}
