package ingest

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility/visibilitytest"
)

func newTestSeats(t *testing.T) *Seats {
	t.Helper()
	s, err := NewSeats(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Idle seats are forgotten.
func TestSeats_Forget(t *testing.T) {
	t.Parallel()
	s := newTestSeats(t)
	now := time.Unix(1_790_000_000, 0)
	m := visibilitytest.Match(arena.Match{ID: "m_1", Seats: []arena.Seat{{AgentID: "ag_1"}, {AgentID: "ag_2"}}})
	used, _ := s.add(&m, "ag_1")
	idle, _ := s.add(&m, "ag_2")
	s.release(idle, now)
	if _, ok := s.add(&m, "ag_3"); ok {
		t.Error("an agent without a seat got one")
	}
	s.Tidy(now.Add(seatMemory - time.Second))
	if _, known := s.find(idle.key); !known {
		t.Error("a seat was forgotten between two rounds")
	}
	s.release(idle, now)
	s.Tidy(now.Add(seatMemory + seatSweep))
	if _, known := s.find(idle.key); known {
		t.Error("an idle seat is never forgotten")
	}
	if _, known := s.find(used.key); !known {
		t.Error("a seat in use was forgotten")
	}
}

// A match with an unknown visibility is sealed. Threat F1.
func TestSeats_Sealed(t *testing.T) {
	t.Parallel()
	for visibility, sealed := range map[arena.Visibility]bool{arena.VisibilityLive: false, arena.VisibilitySealed: true, "": true, "unknown": true} {
		m := visibilitytest.Match(arena.Match{ID: "m_1", Settings: arena.Settings{Visibility: visibility}, Seats: []arena.Seat{{AgentID: "ag_1"}}})
		if seat, ok := newTestSeats(t).add(&m, "ag_1"); !ok || seat.rules.Sealed != sealed {
			t.Errorf("visibility %q: sealed %v", visibility, seat.rules.Sealed)
		}
	}
}

// The end of a match forgets its seats, and one that is in use when it is
// released.
func TestSeats_End(t *testing.T) {
	t.Parallel()
	s := newTestSeats(t)
	m := visibilitytest.Match(arena.Match{ID: "m_1", Seats: []arena.Seat{{AgentID: "ag_1"}, {AgentID: "ag_2"}}})
	used, _ := s.add(&m, "ag_1")
	idle, _ := s.add(&m, "ag_2")
	s.release(idle, time.Now())
	s.End("m_2")
	if n := s.Stats().Seats; n != 2 {
		t.Errorf("%d seats of a running match, want 2", n)
	}
	s.End("m_1")
	if n := s.Stats().Seats; n != 1 {
		t.Errorf("%d seats after the end, want the one in use", n)
	}
	s.release(used, time.Now())
	if n := s.Stats().Seats; n != 0 {
		t.Errorf("%d seats after the release of the last one", n)
	}
}

func TestNewSeats_Limits(t *testing.T) {
	t.Parallel()
	for _, l := range []Limits{{Rate: -1}, {Burst: -1}, {Events: -1}} {
		if _, err := NewSeats(l); err == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
}
