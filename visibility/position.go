package visibility

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// positionPart is how many events are read at first to find a position. The
// latest one is near the end of a log, unless a round has many events of agents.
const positionPart = 64

// Position returns the public state of a match's game as it was visible when m was
// read: the position of the open round, else the one that the last round led to.
// It is nil if the match asks questions, and before its first round.
func (r *Reader) Position(ctx context.Context, m Match) (json.RawMessage, error) {
	if m.Settings.Game == nil {
		return nil, nil
	}
	part := int64(positionPart)
	for end := m.Seq; end > 0; part *= 2 {
		since := max(0, end-part)
		events, err := r.store.EventsAfter(ctx, m.ID, since, int(end-since))
		if err != nil {
			return nil, err
		}
		for _, e := range slices.Backward(events) {
			if e.Seq > end || e.Type != arena.EventRoundStarted && e.Type != arena.EventRoundClosed {
				continue
			}
			var body struct {
				State json.RawMessage `json:"state"`
			}
			if err := json.Unmarshal(e.Body, &body); err != nil {
				return nil, fmt.Errorf("match %s: event %d: %w", m.ID, e.Seq, err)
			}
			if body.State != nil {
				return body.State, nil
			}
		}
		end = since
	}
	return nil, nil
}
