package arena

import (
	"encoding/json"
	"fmt"
)

// AsOf gives the match as it stood when its log ended with the event seq:
// what spectators of a delayed match see of it (rulebook, section 5). events
// are those of the log up to seq which change a match's row: agent_left,
// round_started and round_closed; others are passed over.
func (m Match) AsOf(seq int64, events []Event) (Match, error) {
	m.Seq, m.Round, m.RoundOpen = seq, 0, false
	m.Seats = append([]Seat(nil), m.Seats...)
	seat := make(map[string]*Seat, len(m.Seats))
	for i := range m.Seats {
		s := &m.Seats[i]
		s.State, s.OutRound, s.Points, s.Place, s.Outcome, s.RateLimits, s.Before, s.Delta = SeatActive, 0, 0, 0, "", 0, 0, nil
		seat[s.AgentID] = s
	}
	for _, e := range events {
		switch e.Type {
		case EventAgentLeft:
			if s := seat[e.AgentID]; s != nil {
				s.State, s.OutRound, s.Outcome = SeatLeft, e.Round, OutcomeUnavailable
			}
		case EventRoundStarted:
			m.Round, m.RoundOpen = e.Round, true
		case EventRoundClosed:
			var b RoundClosedBody
			if err := json.Unmarshal(e.Body, &b); err != nil {
				return m, fmt.Errorf("match %s as of event %d: event %d: %w", m.ID, seq, e.Seq, err)
			}
			m.RoundOpen = false
			for _, closed := range b.Seats {
				if s := seat[closed.AgentID]; s != nil {
					s.Outcome = closed.Outcome
				}
			}
			for _, standing := range b.Standings {
				s := seat[standing.AgentID]
				if s == nil {
					continue
				}
				if s.Points = standing.Points; s.State == SeatActive && standing.State != SeatActive {
					s.OutRound = e.Round
				}
				s.State = standing.State
			}
		default:
		}
	}
	return m, nil
}
