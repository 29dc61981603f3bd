package token

import (
	"testing"
	"time"
)

// Threat C7: a task token counts while the clock is the one that it was signed by.
// After a step new tokens count at once: no key has to wait for its time, not even the
// first one of an arena.
func TestKeys_clockSteps(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{10 * time.Minute, 72 * time.Hour, -10 * time.Minute, -72 * time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			c := newClock()
			k := open(t, &rows{}, c, ES256)
			before := sign(t, k, c)
			c.add(step)
			if _, err := k.Verify(t.Context(), before); err == nil {
				t.Error("a token by another clock counts")
			}
			if _, err := k.Verify(t.Context(), sign(t, k, c)); err != nil {
				t.Errorf("a new token does not count: %v", err)
			}
			if _, err := k.Rotate(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			c.add(-step)
			if _, err := k.Verify(t.Context(), sign(t, k, c)); err != nil {
				t.Errorf("back at the first clock a new token does not count: %v", err)
			}
		})
	}
}
