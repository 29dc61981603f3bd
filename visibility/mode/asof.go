package mode

import (
	"encoding/json"
	"fmt"

	"github.com/agora-arena/arena/arena"
)

// RowEvents returns the types of events that change the row of a match between
// its first event and its last: those that AsOf reads.
func RowEvents() []arena.EventType {
	return []arena.EventType{arena.EventAgentLeft, arena.EventRoundStarted, arena.EventRoundClosed}
}

// AsOf returns the match in its state when its log ended with the event seq, which
// is the state that spectators of a delayed match see (docs/rules.md, section 5).
// events are the events of the log up to seq; AsOf uses only the types in RowEvents.
func AsOf(m arena.Match, seq int64, events []arena.Event) (arena.Match, error) {
	m.Seq, m.Round, m.RoundOpen = seq, 0, false
	m.Seats = append([]arena.Seat(nil), m.Seats...)
	seat := make(map[string]*arena.Seat, len(m.Seats))
	for i := range m.Seats {
		s := &m.Seats[i]
		s.State, s.OutRound, s.Points, s.Place, s.Outcome, s.Before, s.Delta = arena.SeatActive, 0, 0, 0, "", 0, nil
		s.RateLimits, s.LostRounds, s.SkippedRounds = 0, 0, 0
		seat[s.AgentID] = s
	}
	for _, e := range events {
		switch e.Type {
		case arena.EventAgentLeft:
			if s := seat[e.AgentID]; s != nil {
				s.State, s.OutRound, s.Outcome = arena.SeatLeft, e.Round, arena.OutcomeUnavailable
			}
		case arena.EventRoundStarted:
			m.Round, m.RoundOpen = e.Round, true
		case arena.EventRoundClosed:
			var b arena.RoundClosedBody
			if err := json.Unmarshal(e.Body, &b); err != nil {
				return m, fmt.Errorf("match %s as of event %d: event %d: %w", m.ID, seq, e.Seq, err)
			}
			m.RoundOpen = false
			for _, closed := range b.Seats {
				if s := seat[closed.AgentID]; s != nil {
					*s = s.Closed(e.Round, closed.Outcome)
				}
			}
			for _, standing := range b.Standings {
				s := seat[standing.AgentID]
				if s == nil {
					continue
				}
				if s.Points = standing.Points; s.State == arena.SeatActive && standing.State != arena.SeatActive {
					s.OutRound = e.Round
				}
				s.State = standing.State
			}
		default:
		}
	}
	return m, nil
}
