package account

import (
	"context"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// People returns the owners that have a role, for an admin.
func (s *Service) People(ctx context.Context, caller arena.Caller) ([]arena.Owner, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return nil, err
	}
	return s.o.Store.People.People(ctx)
}

// SetRole sets the role of an owner in place of the one that it has, for an admin.
// Admins cannot change their own, so that none shuts itself out by mistake.
func (s *Service) SetRole(ctx context.Context, caller arena.Caller, ownerID string, role arena.Role) (arena.Owner, error) {
	if err := administer(caller, ownerID); err != nil {
		return arena.Owner{}, err
	}
	if err := s.checkRole(ctx, "role", role); err != nil {
		return arena.Owner{}, err
	}
	return s.setRole(ctx, caller, "set-role", ownerID, role)
}

// RemoveRole removes the role of an owner, for an admin. The owner stays.
func (s *Service) RemoveRole(ctx context.Context, caller arena.Caller, ownerID string) error {
	if err := administer(caller, ownerID); err != nil {
		return err
	}
	_, err := s.setRole(ctx, caller, "remove-role", ownerID, arena.Role{})
	return err
}

func (s *Service) setRole(ctx context.Context, caller arena.Caller, action, ownerID string, role arena.Role) (arena.Owner, error) {
	if caller.OwnerID == ownerID {
		return arena.Owner{}, arena.Errorf(arena.CodeConflict, "your own role can be changed by another admin only")
	}
	return s.o.Store.People.SetRole(ctx, ownerID, role, func(before arena.Owner) (arena.AuditEntry, error) {
		return caller.Audit(s.now(), action, ownerID, roleDoc(before.Role), roleDoc(role))
	})
}

// roleDoc is a role in the audit log; nil, which is left out, if there is none.
func roleDoc(r arena.Role) any {
	if r.Scope == "" {
		return nil
	}
	doc := map[string]any{"role": r.Scope}
	if len(r.Leagues) > 0 {
		doc["leagues"] = r.Leagues
	}
	return doc
}

// checkRole checks a role that a person or a token gets. field names its scope.
func (s *Service) checkRole(ctx context.Context, field string, r arena.Role) error {
	switch {
	case !slices.Contains(arena.AdminScopes(), r.Scope):
		return arena.Invalid(field, "must be admin, organizer or moderator")
	case r.Scope == arena.ScopeOrganizer && len(r.Leagues) == 0:
		return arena.Invalid("leagues", "an organizer needs at least one")
	case r.Scope != arena.ScopeOrganizer && len(r.Leagues) > 0:
		return arena.Invalid("leagues", "is for organizers: %s %s holds in all leagues", field, r.Scope)
	case len(r.Leagues) > maxTokenLeagues:
		return arena.Invalid("leagues", "must be at most %d", maxTokenLeagues)
	}
	for i, slug := range r.Leagues {
		if slices.Contains(r.Leagues[:i], slug) {
			return arena.Invalid("leagues", "must be unique; %s is there twice", slug)
		}
		if _, err := s.o.Store.Leagues.League(ctx, slug); err != nil {
			return arena.AtField(fmt.Sprintf("leagues[%d]", i), err)
		}
	}
	return nil
}
