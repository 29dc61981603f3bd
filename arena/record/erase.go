package record

import (
	"fmt"
	"maps"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// Erase returns a signed record of format 2 without the texts and salts of an
// agent and of several people. Its signature stays valid.
func Erase(s Signed, agentID string) (Signed, error) {
	erased, err := mapped(s.Record, func(_, owner string, t map[string]any) (any, error) {
		if owner == agentID || owner == "" {
			return committed(t), nil
		}
		return t, nil
	})
	if err != nil {
		return Signed{}, fmt.Errorf("erase texts of agent %s: %w", agentID, err)
	}
	s.Record = erased
	return s, nil
}

// NewErasure returns how to erase what an agent wrote and chose in a finished
// match, and the texts of several people in it. The record of the match stays
// the same but for the erased texts.
func NewErasure(rows Rows, agentID string) (arena.TextErasure, error) {
	if rows.format() != Format2 {
		return arena.TextErasure{}, arena.Errorf(arena.CodeConflict, "the record of match %s is in format 1", rows.Match.ID)
	}
	e := arena.TextErasure{MatchID: rows.Match.ID, AgentID: agentID, Commitments: map[string]string{}}
	maps.Copy(e.Commitments, rows.Erased)
	r, err := New("", rows)
	if err != nil {
		return e, err
	}
	c, err := newConcealer(rows)
	if err != nil {
		return e, fmt.Errorf("erase texts of agent %s in match %s: %w", agentID, rows.Match.ID, err)
	}
	c.drops = func(owner string) bool { return owner == agentID || owner == "" }
	document, err := strictjson.CanonicalOf(r)
	if err == nil {
		_, err = mapped(document, func(pointer, owner string, t map[string]any) (any, error) {
			if c.drops(owner) {
				e.Commitments[pointer], _ = t["commitment"].(string)
			}
			return t, nil
		})
	}
	if err != nil {
		return e, fmt.Errorf("erase texts of agent %s in match %s: %w", agentID, rows.Match.ID, err)
	}
	for i, event := range rows.Events {
		line, err := strictjson.Canonical(event.AppendJSON(nil))
		if err == nil {
			_, line, err = c.event(i, event, line)
		}
		if err != nil {
			return e, fmt.Errorf("erase texts of agent %s in match %s, event %d: %w", agentID, rows.Match.ID, event.Seq, err)
		}
		if line != nil {
			event.Body = line
			e.Events = append(e.Events, event)
		}
	}
	return e, nil
}
