package cli

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// result returns an outcome in words.
func result(outcome string) cell {
	text := map[string]string{
		"answered":     "answered",
		"timeout":      "no answer in time",
		"rate_limited": "over its rate limit",
		"error":        "server error",
		"unavailable":  "unavailable",
		"invalid":      "invalid reply",
		"void":         "arena error",
	}[outcome]
	color := Red
	switch outcome {
	case "answered":
		color = Green
	case "void":
		color = Dim
	}
	return paint(color, cmp.Or(text, outcome))
}

// pauseText returns the reason of a pause in words.
func pauseText(reason string) string {
	return cmp.Or(map[string]string{
		"admin":      "by the arena",
		"owner":      "by its owner",
		"expired":    "its endpoint passed no check for seven days",
		"health":     "failed health checks",
		"failing":    "failed too many rounds in a row",
		"rate_limit": "over its rate limit",
	}[reason], reason)
}

// faultText returns a fault of a rehearsal in words.
func faultText(fault string) string {
	return cmp.Or(map[string]string{
		"":                   "none",
		"duplicate_delivery": "the same task twice",
		"expired_token":      "an expired token",
		"slow_network":       "a slow network",
		"trickle":            "a request in small pieces",
		"huge_task":          "a very long task",
		"hostile_opponent":   "an opponent with hostile text",
	}[fault], fault)
}

// spread returns half the width of the 95 % interval of a rating after some rated
// matches, as the pages show it (web/src/lib/rating.ts). Before the first match the
// standard deviation is 200; a match adds K²/4 to the variance and removes the share
// K·ln 10/1600 of the error.
func spread(matches int) float64 {
	variance := 200.0 * 200
	for n := range min(matches, 300) { // from there on it is level
		k := 20.0
		if n < 30 {
			k = 40
		}
		kept := 1 - k*math.Ln10/1600
		variance = kept*kept*variance + k*k/4
	}
	return 1.96 * math.Sqrt(variance)
}

// took returns a duration in milliseconds or seconds.
func took(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// ago returns how long ago a time was, "" for none.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch d := now.Sub(t); {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

// absolute returns a time in the user's time zone.
func absolute(t time.Time) string { return t.Local().Format(time.DateTime) }
