package visibility

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
)

// RecordRows returns the rows for the record of a finished match, without the
// commitments of erased texts. Nothing in it is hidden any more: every
// round has closed (docs/rules.md, section 5). conflict: the match is not
// finished. too_large: its log is longer than maxEvents.
func (r *Reader) RecordRows(ctx context.Context, id string, maxEvents int64) (record.Rows, error) {
	m, err := r.Match(ctx, id)
	if err != nil {
		return record.Rows{}, err
	}
	if m.Status != arena.MatchFinished {
		return record.Rows{}, arena.Errorf(arena.CodeConflict, "match %s is %s; only a finished match has a record", m.ID, m.Status)
	}
	if m.Seq > maxEvents {
		return record.Rows{}, arena.Errorf(arena.CodeTooLarge, "the log has %d events; a record holds at most %d", m.Seq, maxEvents)
	}
	closed, err := r.ClosedRounds(ctx, m)
	if err != nil {
		return record.Rows{}, err
	}
	rows := record.Rows{Match: m.Row()}
	for _, c := range closed {
		rows.Rounds, rows.Answers = append(rows.Rounds, c.Round), append(rows.Answers, c.Answers...)
	}
	for since := int64(0); ; since = rows.Events[len(rows.Events)-1].Seq {
		part, err := r.Events(ctx, m.Log(), since, logPart)
		if err != nil {
			return record.Rows{}, err
		}
		if rows.Events = append(rows.Events, part...); len(part) < logPart {
			return rows, nil
		}
	}
}
