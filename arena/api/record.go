package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/record"
)

// The log of a record is read in parts, and not at all when it is longer than
// anybody could want in one answer.
const (
	recordPart      = 1000
	maxRecordEvents = 50_000
)

// getRecord gives the signed record of a finished match. Nothing in it is
// hidden any more: every round has closed (rulebook, section 5).
func (a *API) getRecord(ctx context.Context, in *IDParam) (*output[record.Signed], error) {
	m, err := a.Store.Match(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if m.Status != arena.MatchFinished {
		return nil, arena.Errorf(arena.CodeConflict, "match %s is %s; only a finished match has a record", m.ID, m.Status)
	}
	if m.Seq > maxRecordEvents {
		return nil, arena.Errorf(arena.CodeTooLarge, "the log has %d events; a record holds at most %d", m.Seq, maxRecordEvents)
	}
	rounds, err := a.Store.Rounds(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	answers, err := a.Store.Answers(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	var events []arena.Event
	for since := int64(0); ; since = events[len(events)-1].Seq {
		part, err := a.Store.EventsAfter(ctx, m.ID, since, recordPart)
		if err != nil {
			return nil, err
		}
		events = append(events, part...)
		if len(part) < recordPart {
			break
		}
	}
	signed, err := a.Record(m, rounds, answers, events)
	if err != nil {
		return nil, err
	}
	return answer(signed)
}
