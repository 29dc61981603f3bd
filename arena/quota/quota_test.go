package quota

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Nodes count together after each has counted alone; when they cannot, a
// node's own count holds. Threat C4.
func TestQuota_Take(t *testing.T) {
	t.Parallel()
	var asked []string
	var down, exceeded bool
	s, err := New(Options{
		Limits: Limits{SignUpsPerHour: 2, AddressPerMinute: 1}, Now: func() time.Time { return start }, Logger: slog.New(slog.DiscardHandler),
		Shared: func(_ context.Context, key string, limit int, window time.Duration) (time.Duration, bool, error) {
			if asked = append(asked, key); down {
				return 0, false, errors.New("down")
			}
			return 1500 * time.Millisecond, !exceeded, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	take := func(q *Quota, want int) {
		t.Helper()
		err := q.Take(t.Context(), "2001:db8:1:2:3::4")
		var e *arena.Error
		if want == 0 && err != nil || want > 0 && (!errors.As(err, &e) || e.Code != arena.CodeRateLimited || e.RetryAfter != time.Duration(want)*time.Second) {
			t.Errorf("%+v, want to wait %d s", err, want)
		}
	}
	take(s.SignUp, 0)
	down = true
	take(s.SignUp, 0)
	take(s.SignUp, 1800)
	down, exceeded = false, true
	for range 3 { // only over all nodes: this one has counted the address already
		take(s.Guess, 2)
	}
	take(s.Address, 0) // counts on this node only
	take(s.Address, 60)
	take(s.Password, 0) // no limit
	want := []string{
		"signup:2001:db8:1:2::/64", "signup:2001:db8:1::/48", "signup:2001:db8:1:2::/64", "signup:2001:db8:1::/48",
		"login:2001:db8:1:2::/64", "login:2001:db8:1:2::/64", "login:2001:db8:1:2::/64",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked the other nodes for %q, want %q", asked, want)
	}
}
