package record

import (
	"fmt"
	"maps"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// Erase returns a signed record without the texts and salts of an
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

// NewErasure returns how to erase what an agent wrote and chose in a match that is
// over, and the texts of several people in it. The record of the match stays the
// same but for the erased texts.
func NewErasure(rows Rows, agentID string) (arena.TextErasure, error) {
	e := arena.TextErasure{MatchID: rows.Match.ID, AgentID: agentID}
	err := fill(&e, rows, func(owner string, _ int) bool { return owner == agentID || owner == "" })
	return e, err
}

// NewHiding is NewErasure for what an agent wrote in one round. The texts of
// several people in that round and later ones, which may repeat it, are erased
// too. The notice takes the place of what it wrote.
func NewHiding(rows Rows, agentID string, round int, notice string) (arena.TextErasure, error) {
	e := arena.TextErasure{MatchID: rows.Match.ID, AgentID: agentID, Round: round, Notice: notice}
	err := fill(&e, rows, func(owner string, of int) bool {
		return owner == agentID && of == round || owner == "" && of >= round
	})
	return e, err
}

// fill sets the commitments and events of an erasure. A match that was void or canceled
// or whose log was dropped has no record, and so no commitments.
func fill(e *arena.TextErasure, rows Rows, drops func(owner string, round int) bool) error {
	e.Commitments = map[string]string{}
	maps.Copy(e.Commitments, rows.Erased)
	c, err := newConcealer(rows)
	if err == nil && rows.Match.Status == arena.MatchFinished && len(rows.Events) > 0 {
		err = commit(e, rows, drops)
	}
	if err != nil {
		return fmt.Errorf("erase texts of agent %s in match %s: %w", e.AgentID, e.MatchID, err)
	}
	c.drops, c.notice = drops, e.Notice
	for i, event := range rows.Events {
		line, err := strictjson.Canonical(event.AppendJSON(nil))
		if err == nil {
			_, line, err = c.event(i, event, line)
		}
		if err != nil {
			return fmt.Errorf("erase texts of agent %s in match %s, event %d: %w", e.AgentID, e.MatchID, event.Seq, err)
		}
		if line != nil {
			event.Body = line
			e.Events = append(e.Events, event)
		}
	}
	return nil
}

// commit adds the commitments of the texts that are erased.
func commit(e *arena.TextErasure, rows Rows, drops func(owner string, round int) bool) error {
	r, err := New("", rows)
	if err != nil {
		return err
	}
	document, err := strictjson.CanonicalOf(r)
	if err != nil {
		return err
	}
	seqs := map[int64]int{}
	for _, event := range rows.Events {
		seqs[event.Seq] = event.Round
	}
	_, err = mapped(document, func(pointer, owner string, t map[string]any) (any, error) {
		if drops(owner, roundAt(pointer, r, rows.Events, seqs)) {
			e.Commitments[pointer], _ = t["commitment"].(string)
		}
		return t, nil
	})
	return err
}
