package match

import (
	"context"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/record"
)

const (
	maxReason = 200 // characters

	logPart      = 1_000 // events that are read at once
	erasureBatch = 50    // seats that are read at once
	erasureTries = 5     // of one match: another node may erase texts of it
)

// Hide replaces what an agent wrote in one round of a match that is over by
// arena.HiddenText, for an admin or a moderator. Its text is erased: hiding cannot
// be undone. The record keeps the commitments.
func (s *Service) Hide(ctx context.Context, caller arena.Caller, id string, round int, agentID, reason string) error {
	if err := caller.Require("", arena.RightModerate); err != nil {
		return err
	}
	if err := plaintext.CheckLength("reason", reason, 1, maxReason); err != nil {
		return err
	}
	if err := plaintext.CheckLine("reason", reason); err != nil {
		return err
	}
	m, err := s.o.Store.Matches.Match(ctx, id)
	switch {
	case err != nil:
		return err
	case !m.Status.Over():
		return arena.Errorf(arena.CodeConflict, "match %s is %s; an answer can be hidden when the match is over: wait for its end, or void it", id, m.Status)
	case !slices.ContainsFunc(m.Seats, func(s arena.Seat) bool { return s.AgentID == agentID }):
		return arena.Errorf(arena.CodeNotFound, "match %s has no agent %q", id, agentID)
	case round < 1 || round > m.Round:
		return arena.Errorf(arena.CodeNotFound, "match %s has no round %d", id, round)
	}
	audit, err := caller.Audit(s.now(), "hide-answer", id, nil, map[string]any{"round": round, "agent_id": agentID, "reason": reason})
	if err != nil {
		return err
	}
	return s.erase(ctx, id, func(rows record.Rows) (arena.TextErasure, error) {
		return record.NewHiding(rows, agentID, round, arena.HiddenText)
	}, audit)
}

// EraseDeleted erases the texts of agents of deleted owners in matches that are
// over, and returns in how many matches such an agent still plays.
func (s *Service) EraseDeleted(ctx context.Context) (open int, err error) {
	owners, err := s.o.Store.Accounts.UnfinishedErasures(ctx, erasureBatch)
	if err != nil {
		return 0, err
	}
	for _, o := range owners {
		running, err := s.eraseOwner(ctx, o.OwnerID)
		if err != nil {
			return open, fmt.Errorf("erase texts of owner %s: %w", o.OwnerID, err)
		}
		open += running
	}
	return open, nil
}

// eraseOwner is EraseDeleted for one owner.
func (s *Service) eraseOwner(ctx context.Context, ownerID string) (open int, err error) {
	for {
		seats, open, err := s.o.Store.Accounts.ErasableSeats(ctx, ownerID, erasureBatch)
		if err != nil {
			return open, err
		}
		for _, seat := range seats {
			if err := s.erase(ctx, seat.MatchID, func(rows record.Rows) (arena.TextErasure, error) {
				return record.NewErasure(rows, seat.AgentID)
			}); err != nil {
				return open, err
			}
		}
		switch {
		case len(seats) == 0 && open == 0:
			return 0, s.o.Store.Accounts.FinishErasure(ctx, ownerID)
		case len(seats) == 0:
			return open, nil
		}
	}
}

// erase erases texts of a match that is over.
func (s *Service) erase(ctx context.Context, id string, plan func(record.Rows) (arena.TextErasure, error), audit ...arena.AuditEntry) error {
	for tries := 1; ; tries++ {
		err := s.eraseOnce(ctx, id, plan, audit...)
		if arena.CodeOf(err) != arena.CodeConflict || tries == erasureTries {
			return err
		}
	}
}

func (s *Service) eraseOnce(ctx context.Context, id string, plan func(record.Rows) (arena.TextErasure, error), audit ...arena.AuditEntry) error {
	rows, err := s.rows(ctx, id)
	if err != nil {
		return err
	}
	erasure, err := plan(rows)
	if err != nil {
		return err
	}
	return s.o.Store.Matches.EraseTexts(ctx, erasure, audit...)
}

// rows returns what the record of a match is made from.
func (s *Service) rows(ctx context.Context, id string) (rows record.Rows, err error) {
	if rows.Match, err = s.o.Store.Matches.Match(ctx, id); err != nil {
		return rows, err
	}
	if rows.Rounds, err = s.o.Store.Matches.Rounds(ctx, id); err != nil {
		return rows, err
	}
	if rows.Answers, err = s.o.Store.Matches.Answers(ctx, id); err != nil {
		return rows, err
	}
	if rows.Erased, err = s.o.Store.Matches.ErasedTexts(ctx, id); err != nil {
		return rows, err
	}
	for since := int64(0); ; since = rows.Events[len(rows.Events)-1].Seq {
		part, err := s.o.Store.Matches.EventsAfter(ctx, id, since, logPart)
		if err != nil {
			return rows, err
		}
		if rows.Events = append(rows.Events, part...); len(part) < logPart {
			return rows, nil
		}
	}
}
