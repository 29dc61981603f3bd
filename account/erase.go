package account

import (
	"context"
	"fmt"

	"github.com/agora-arena/arena/arena"
)

// Texts erases the texts of deleted owners in matches.
type Texts interface {
	// EraseDeleted erases those in matches that are over, and returns in how many
	// matches agents of deleted owners still play.
	EraseDeleted(ctx context.Context) (open int, err error)
}

// erasurePage is how many erasures are read at once.
const erasurePage = 500

// Delete deletes the calling owner's personal data. confirm repeats its name.
func (s *Service) Delete(ctx context.Context, caller arena.Caller, confirm string) (arena.OwnerErasure, error) {
	if err := needOwner(caller); err != nil {
		return arena.OwnerErasure{}, err
	}
	return s.erase(ctx, caller, caller.OwnerID, confirm)
}

// DeleteOwner deletes the personal data of an owner, for an admin. confirm repeats
// the owner's name.
func (s *Service) DeleteOwner(ctx context.Context, caller arena.Caller, ownerID, confirm string) (arena.OwnerErasure, error) {
	if err := administer(caller, ownerID); err != nil {
		return arena.OwnerErasure{}, err
	}
	return s.erase(ctx, caller, ownerID, confirm)
}

// erase revokes an owner's tokens, retires its agents and deletes its personal
// data. Its texts in running matches follow when they are over.
func (s *Service) erase(ctx context.Context, caller arena.Caller, ownerID, confirm string) (arena.OwnerErasure, error) {
	o, err := s.o.Store.Accounts.Owner(ctx, ownerID)
	switch {
	case err != nil:
		return arena.OwnerErasure{}, err
	case !o.ErasedAt.IsZero():
		return arena.OwnerErasure{}, arena.Errorf(arena.CodeConflict, "owner %s was deleted at %s", ownerID, o.ErasedAt.UTC().Format(arena.TimeFormat))
	case confirm != o.Name:
		return arena.OwnerErasure{}, arena.Invalid("confirm", "must be the owner's name, exactly")
	}
	e := arena.OwnerErasure{OwnerID: ownerID, At: s.now()}
	audit, err := caller.Audit(e.At, "delete-owner", ownerID, nil, nil)
	if err != nil {
		return arena.OwnerErasure{}, err
	}
	if err := s.o.Store.Accounts.EraseOwner(ctx, e, audit); err != nil {
		return arena.OwnerErasure{}, err
	}
	s.eraseTexts(ctx)
	return e, nil
}

// eraseTexts erases texts in matches for as long as the caller waits. A failure is
// logged: the owner is deleted, and the job of the node goes on with the texts.
func (s *Service) eraseTexts(ctx context.Context) {
	if _, err := s.o.Texts.EraseDeleted(ctx); err != nil {
		s.o.Logger.WarnContext(ctx, "texts of deleted owners are left; the next run continues", "error", err)
	}
}

// Erasures lists all owners that were deleted, for an admin.
func (s *Service) Erasures(ctx context.Context, caller arena.Caller) (all []arena.OwnerErasure, err error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return nil, err
	}
	for after := ""; ; after = all[len(all)-1].OwnerID {
		part, err := s.o.Store.Accounts.OwnerErasures(ctx, after, erasurePage)
		if err != nil {
			return nil, err
		}
		if all = append(all, part...); len(part) < erasurePage {
			return all, nil
		}
	}
}

// ReapplyErasures deletes the owners of a list again, for an admin, after a backup
// that still has them was restored. Owners that the arena does not have, or that are
// deleted, are left out. It returns how many it deleted.
func (s *Service) ReapplyErasures(ctx context.Context, caller arena.Caller, list []arena.OwnerErasure) (deleted int, err error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return 0, err
	}
	for i, e := range list {
		if e.At.IsZero() {
			return deleted, arena.Invalid(fmt.Sprintf("items[%d].at", i), "is missing")
		}
		o, err := s.o.Store.Accounts.Owner(ctx, e.OwnerID)
		switch {
		case arena.CodeOf(err) == arena.CodeNotFound, err == nil && !o.ErasedAt.IsZero():
			continue
		case err != nil:
			return deleted, err
		}
		audit, err := caller.Audit(s.now(), "reapply-erasure", e.OwnerID, nil, nil)
		if err == nil {
			err = s.o.Store.Accounts.EraseOwner(ctx, e, audit)
		}
		if err != nil {
			return deleted, err
		}
		deleted++
	}
	s.eraseTexts(ctx)
	return deleted, nil
}
