package vote_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// A guess counts once for each address, on open sealed questions with options only.
// Threat V5.
func TestService_Guess(t *testing.T) {
	t.Parallel()
	s, v := newVotes(t)
	v.last = map[string]visibility.Match{}
	for id, change := range map[string]func(*visibility.Match){
		"m_sealed": func(*visibility.Match) {},
		"m_live":   func(m *visibility.Match) { m.Settings.Visibility = arena.VisibilityLive },
		"m_game":   func(m *visibility.Match) { m.Settings.Game = &arena.GameSpec{} },
		"m_closed": func(m *visibility.Match) { m.RoundOpen = false },
		"m_over":   func(m *visibility.Match) { m.Status = arena.MatchVoid },
	} {
		var m visibility.Match
		m.ID, m.Status, m.Round, m.RoundOpen, m.Settings.Visibility = id, arena.MatchRunning, 2, true, arena.VisibilitySealed
		change(&m)
		v.last[id] = m
	}
	for _, c := range []struct {
		match, answer, address string
		round                  int
		code                   arena.Code // "": it counts
	}{
		{"m_none", "A", "192.0.2.1", 2, arena.CodeNotFound},
		{"m_sealed", "A", "192.0.2.1", 1, arena.CodeConflict},
		{"m_sealed", "A", "192.0.2.1", 3, arena.CodeConflict},
		{"m_live", "A", "192.0.2.1", 2, arena.CodeConflict},
		{"m_game", "A", "192.0.2.1", 2, arena.CodeConflict},
		{"m_closed", "A", "192.0.2.1", 2, arena.CodeConflict},
		{"m_over", "A", "192.0.2.1", 2, arena.CodeConflict},
		{"m_sealed", "D", "192.0.2.1", 2, arena.CodeInvalid},
		{"m_sealed", "a", "192.0.2.1", 2, arena.CodeInvalid},
		{"m_sealed", "", "192.0.2.1", 2, arena.CodeInvalid},
		{"m_sealed", "AB", "192.0.2.1", 2, arena.CodeInvalid},
		{"m_sealed", "C", "192.0.2.1", 2, ""},
		{"m_sealed", "B", "192.0.2.1", 2, arena.CodeRateLimited},
		{"m_sealed", "A", "2001:db8::1", 2, ""},
		{"m_sealed", "A", "2001:db8::2", 2, arena.CodeRateLimited}, // of the same /64
		{"m_sealed", "A", "2001:db8:1::1", 2, ""},
	} {
		err := s.Guess(t.Context(), arena.Guess{MatchID: c.match, Round: c.round, Answer: c.answer, Address: c.address})
		if arena.CodeOf(err) != c.code {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if diff := cmp.Diff([]string{"C", "A", "A"}, v.guessed); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// What spectators answered is hidden until the round has closed.
func TestService_Guesses(t *testing.T) {
	t.Parallel()
	s, v := newVotes(t)
	var m visibility.Match
	m.Round, m.RoundOpen = 2, true
	v.last = map[string]visibility.Match{"m": m}
	for open, want := range map[bool]int{true: 1, false: 2} {
		m.RoundOpen = open
		v.last["m"] = m
		if got, err := s.Guesses(t.Context(), "m"); err != nil || len(got) != want {
			t.Errorf("open %t: %v, %v", open, got, err)
		}
	}
}
