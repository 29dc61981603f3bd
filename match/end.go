package match

import (
	"context"
	"fmt"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
)

// Cancel ends a match that has not begun, for an admin, a moderator or the
// league's organizer. reason is public; "" names the kind of caller.
func (s *Service) Cancel(ctx context.Context, caller arena.Caller, id, reason string) error {
	return s.endFor(ctx, caller, "cancel-match", id, arena.MatchCancelled, reason)
}

// Void ends a match that is not over, for those who may cancel one, so that it
// does not count. reason is public; "" names the kind of caller.
func (s *Service) Void(ctx context.Context, caller arena.Caller, id, reason string) error {
	return s.endFor(ctx, caller, "void-match", id, arena.MatchVoid, reason)
}

// defaultCode returns the reason of an end for which the caller gave none.
func defaultCode(caller arena.Caller, status arena.MatchStatus) arena.VoidCode {
	voided, cancelled := arena.VoidedByAdmin, arena.CancelledByAdmin
	switch caller.Runs().Scope {
	case arena.ScopeOrganizer:
		voided, cancelled = arena.VoidedByOrganizer, arena.CancelledByOrganizer
	case arena.ScopeModerator:
		voided, cancelled = arena.VoidedByModerator, arena.CancelledByModerator
	case arena.ScopeAdmin, arena.ScopeOwner, arena.ScopeAgent:
	}
	if status == arena.MatchCancelled {
		return cancelled
	}
	return voided
}

// endFor ends a match for a caller. text is the reason in their words, or "".
func (s *Service) endFor(ctx context.Context, caller arena.Caller, action, id string, status arena.MatchStatus, text string) error {
	if err := plaintext.CheckLine("reason", text); err != nil {
		return err
	}
	m, err := s.o.Store.Matches.Match(ctx, id)
	if err != nil {
		return err
	}
	if err := caller.Require(m.League, arena.RightOrganize, arena.RightModerate); err != nil {
		return err
	}
	audit, err := caller.Audit(s.now(), action, m.ID, nil, nil)
	if err != nil {
		return err
	}
	reason := arena.VoidReason{Code: defaultCode(caller, status)}
	if text != "" {
		reason = arena.OperatorReason(text)
	}
	return s.end(ctx, m, status, reason, audit)
}

// CancelUnstarted cancels a match that its league no longer needs. One that has
// begun or is over stays as it is.
func (s *Service) CancelUnstarted(ctx context.Context, m arena.Match, code arena.VoidCode) error {
	err := s.end(ctx, m, arena.MatchCancelled, arena.VoidReason{Code: code})
	switch {
	case arena.CodeOf(err) == arena.CodeConflict:
		return nil
	case err != nil:
		return fmt.Errorf("cancel match %s: %w", m.ID, err)
	}
	return nil
}

// end cancels or voids a match and publishes the end of its log.
func (s *Service) end(ctx context.Context, m arena.Match, status arena.MatchStatus, reason arena.VoidReason, audit ...arena.AuditEntry) error {
	now := s.now()
	last, err := m.VoidEvent(now, reason)
	if err != nil {
		return err
	}
	if last, err = s.o.Store.Matches.EndMatch(ctx, m.ID, status, reason, now, last, audit...); err != nil {
		return err
	}
	s.o.Publisher.Publish(m.League, last)
	return nil
}
