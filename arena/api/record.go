package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/record"
	"github.com/agora-arena/arena/arena/visibility"
)

// The log of a record is read in parts, and not at all when it is longer than
// anybody could want in one answer.
const (
	recordPart      = 1000
	maxRecordEvents = 50_000
)

// record answers with the signed record of a finished match. Nothing in it is
// hidden any more: every round has closed (docs/rules.md, section 5).
func (h *matchHandlers) record(ctx context.Context, in *IDParam) (*output[record.Signed], error) {
	m, err := h.visible.Match(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if m.Status != arena.MatchFinished {
		return nil, arena.Errorf(arena.CodeConflict, "match %s is %s; only a finished match has a record", m.ID, m.Status)
	}
	if m.Seq > maxRecordEvents {
		return nil, arena.Errorf(arena.CodeTooLarge, "the log has %d events; a record holds at most %d", m.Seq, maxRecordEvents)
	}
	closed, err := h.visible.ClosedRounds(ctx, m)
	if err != nil {
		return nil, err
	}
	rounds := make([]arena.Round, len(closed))
	for i, r := range closed {
		rounds[i] = r.Round
	}
	var events []arena.Event
	for since := int64(0); ; since = events[len(events)-1].Seq {
		part, err := h.visible.Events(ctx, m.Log(), since, recordPart)
		if err != nil {
			return nil, err
		}
		events = append(events, part...)
		if len(part) < recordPart {
			break
		}
	}
	signed, err := h.sign(m.Row(), rounds, answersOf(closed), events)
	if err != nil {
		return nil, err
	}
	return answer(signed)
}

// answersOf returns the answers of all rounds.
func answersOf(rounds []visibility.ClosedRound) []arena.Answer {
	var answers []arena.Answer
	for _, r := range rounds {
		answers = append(answers, r.Answers...)
	}
	return answers
}
