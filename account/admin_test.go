package account_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/account"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
)

// identify returns the holder of a token.
func (f *fixture) identify(secret string) (arena.Caller, error) {
	return f.Identify(f.t.Context(), arena.Credentials{Secret: secret, Given: true})
}

// A node that starts with another ARENA_ADMIN_TOKEN supersedes the one before,
// and no node starts with a superseded one. Threat T2.
func TestEnsureAdmin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := start
	ensure := func(given, want string, wantCreated bool, problem string, known ...string) {
		t.Helper()
		secret, created, err := account.EnsureAdmin(t.Context(), f.store, given, at)
		if problem != "" {
			if err == nil || err.Error() != problem {
				t.Errorf("%v, want %s", err, problem)
			}
		} else if f.ok(err); created != wantCreated || want == "made" && !strings.HasPrefix(secret, token.AdminSecretPrefix) || want != "made" && secret != want {
			t.Errorf("%q, created %v; want %q, %v", secret, created, want, wantCreated)
		}
		tokens, err := f.store.Accounts.AdminTokens(t.Context())
		f.ok(err)
		var names []string
		for _, t := range tokens {
			names = append(names, t.Name)
		}
		slices.Sort(names) // of one millisecond: in no order
		slices.Sort(known)
		if d := cmp.Diff(known, names); d != "" {
			t.Error(d)
		}
	}
	ensure("", "made", true, "", "first start")
	ensure("", "", false, "", "first start")
	ensure("mine", "mine", false, "", "first start", "ARENA_ADMIN_TOKEN")
	ensure("mine", "mine", false, "", "first start", "ARENA_ADMIN_TOKEN")
	if caller, err := f.identify("mine"); err != nil || !caller.IsAdmin() {
		t.Errorf("%+v, %v", caller, err)
	}
	ensure("next", "next", false, "", "first start", "ARENA_ADMIN_TOKEN")
	_, err := f.identify("mine")
	f.fails(err, arena.CodeUnauthorized)
	if caller, err := f.identify("next"); err != nil || !caller.IsAdmin() {
		t.Errorf("%+v, %v", caller, err)
	}
	ensure("mine", "", false, "ARENA_ADMIN_TOKEN: this token was superseded or revoked at 2025-06-01T12:00:00.000Z; set the newest one on every node, or a new one",
		"first start", "ARENA_ADMIN_TOKEN")

	moderator, secret, err := f.CreateAdminToken(t.Context(), admin(), arena.AdminTokenRequest{Name: "m", Scope: arena.ScopeModerator})
	f.ok(err)
	ensure(secret, "", false, "ARENA_ADMIN_TOKEN: this token has the scope moderator, not admin", "first start", "ARENA_ADMIN_TOKEN", "m")
	f.ok(f.RevokeAny(t.Context(), admin(), moderator.ID))
	brief, secret, err := f.CreateAdminToken(t.Context(), admin(), arena.AdminTokenRequest{Name: "brief", Scope: arena.ScopeAdmin, ExpiresAt: start.Add(time.Hour)})
	f.ok(err)
	at = start.Add(time.Hour)
	ensure(secret, "", false, "ARENA_ADMIN_TOKEN: this token expired at 2025-06-01T13:00:00.000Z; set a new one", "first start", "ARENA_ADMIN_TOKEN", "brief")
	f.ok(f.RevokeAny(t.Context(), admin(), brief.ID))
	ensure(secret, "", false, "ARENA_ADMIN_TOKEN: this token was revoked at 2025-06-01T12:00:00.000Z; set a new one", "first start", "ARENA_ADMIN_TOKEN")

	// Without a live admin token there is no way in, so a start makes one.
	tokens, err := f.store.Accounts.AdminTokens(t.Context())
	f.ok(err)
	for _, live := range tokens {
		f.ok(f.RevokeAny(t.Context(), admin(), live.ID))
	}
	if _, _, err := f.CreateAdminToken(t.Context(), admin(), arena.AdminTokenRequest{Name: "m", Scope: arena.ScopeModerator}); err != nil {
		t.Fatal(err)
	}
	ensure("", "made", true, "", "m", "first start")
	var superseded int
	for _, line := range f.audited() {
		if strings.HasPrefix(line, "admin  supersede-token to_") {
			superseded++
		}
	}
	if superseded != 1 {
		t.Errorf("%d supersessions are audited", superseded)
	}
}

// Tokens of organizers and moderators list their leagues, expire and are
// revoked. Threat T1.
func TestService_adminTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ok(f.store.Leagues.CreateLeague(t.Context(), arena.League{Slug: "cup", Title: "Cup", Status: arena.LeagueOpen, CreatedAt: start}))
	made, secret, err := f.CreateAdminToken(t.Context(), admin(), arena.AdminTokenRequest{
		Name: "cup", Scope: arena.ScopeOrganizer, Leagues: []string{"cup"}, ExpiresAt: start.Add(time.Hour),
	})
	f.ok(err)
	caller, err := f.identify(secret)
	if f.ok(err); caller.Scope != arena.ScopeOrganizer || !caller.May("cup", arena.RightOrganize) || caller.May("quiz", arena.RightOrganize) {
		t.Errorf("%+v", caller)
	}
	for name, c := range map[string]struct {
		in    arena.AdminTokenRequest
		field string
	}{
		"no name":             {arena.AdminTokenRequest{Scope: arena.ScopeAdmin}, "name"},
		"owner":               {arena.AdminTokenRequest{Name: "x", Scope: arena.ScopeOwner}, "scope"},
		"no scope":            {arena.AdminTokenRequest{Name: "x"}, "scope"},
		"no leagues":          {arena.AdminTokenRequest{Name: "x", Scope: arena.ScopeOrganizer}, "leagues"},
		"leagues of an admin": {arena.AdminTokenRequest{Name: "x", Scope: arena.ScopeAdmin, Leagues: []string{"cup"}}, "leagues"},
		"unknown league":      {arena.AdminTokenRequest{Name: "x", Scope: arena.ScopeOrganizer, Leagues: []string{"cup", "none"}}, "leagues[1]"},
		"league twice":        {arena.AdminTokenRequest{Name: "x", Scope: arena.ScopeOrganizer, Leagues: []string{"cup", "cup"}}, "leagues"},
		"too many leagues":    {arena.AdminTokenRequest{Name: "x", Scope: arena.ScopeOrganizer, Leagues: make([]string, 101)}, "leagues"},
		"expired":             {arena.AdminTokenRequest{Name: "x", Scope: arena.ScopeAdmin, ExpiresAt: start}, "expires_at"},
	} {
		_, _, err := f.CreateAdminToken(t.Context(), admin(), c.in)
		if e, ok := err.(*arena.Error); !ok || e.Code != arena.CodeInvalid || len(e.Fields) != 1 || e.Fields[0].Field != c.field { //nolint:errorlint // as the service returns it
			t.Errorf("%s: %v", name, err)
		}
	}
	f.ok(f.RevokeAny(t.Context(), admin(), made.ID))
	_, err = f.identify(secret)
	f.fails(err, arena.CodeUnauthorized)
	f.fails(f.RevokeAny(t.Context(), admin(), made.ID), arena.CodeNotFound)
	f.fails(f.RevokeAny(t.Context(), admin(), "to_none"), arena.CodeNotFound)
	want := []string{
		"admin to_admin create-admin-token " + made.ID + ` {"expires_at":"2025-06-01T13:00:00Z","leagues":["cup"],"name":"cup","scope":"organizer"}`,
		"admin to_admin revoke-admin-token " + made.ID,
	}
	got := f.audited()
	if len(got) == 2 && strings.Contains(got[0], "revoke") { // of one millisecond: in no order
		got[0], got[1] = got[1], got[0]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A suspended owner's tokens are rejected until it is restored. Threat T4.
func TestService_Suspend(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o, secret, err := f.SignUp(t.Context(), arena.Caller{}, arena.SignUp{Name: "Kim"})
	f.ok(err)
	suspended, err := f.Suspend(t.Context(), admin(), o.ID, "spam in answers")
	if f.ok(err); !suspended.SuspendedAt.Equal(start) {
		t.Errorf("%+v", suspended)
	}
	_, err = f.identify(secret)
	if f.fails(err, arena.CodeForbidden); !strings.Contains(err.Error(), "spam in answers") {
		t.Errorf("the owner does not read the reason: %v", err)
	}
	_, err = f.Suspend(t.Context(), admin(), o.ID, "spam in answers")
	f.ok(err)
	restored, err := f.Restore(t.Context(), admin(), o.ID)
	if f.ok(err); !restored.SuspendedAt.IsZero() {
		t.Errorf("%+v", restored)
	}
	if caller, err := f.identify(secret); err != nil || caller.OwnerID != o.ID {
		t.Errorf("%+v, %v", caller, err)
	}
	if d := cmp.Diff([]string{o.ID + " 00:00:00", o.ID + " 12:00:00", o.ID + " 12:00:00"}, f.followed); d != "" {
		t.Error(d)
	}
	_, err = f.Suspend(t.Context(), admin(), "ow_none", "")
	f.fails(err, arena.CodeNotFound)
}

// The issuer's token of a suspended owner is rejected like a stored one. Threat T4.
func TestService_Suspend_issuer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *account.Options) { o.Issuer = issuer{} })
	kim, err := f.identify("kim.x.y")
	f.ok(err)
	_, err = f.Suspend(t.Context(), admin(), kim.OwnerID, "")
	f.ok(err)
	_, err = f.identify("kim.x.y")
	f.fails(err, arena.CodeForbidden)
}

// An admin ends an owner's tokens, all or one. Threat T3.
func TestService_ReissueTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o, old, err := f.SignUp(t.Context(), arena.Caller{}, arena.SignUp{Name: "Kim"})
	f.ok(err)
	fresh, secret, revoked, err := f.ReissueTokens(t.Context(), admin(), o.ID)
	if f.ok(err); revoked != 1 {
		t.Errorf("%d tokens were revoked", revoked)
	}
	_, err = f.identify(old)
	f.fails(err, arena.CodeUnauthorized)
	caller, err := f.identify(secret)
	if f.ok(err); caller.OwnerID != o.ID || caller.Scope != arena.ScopeOwner {
		t.Errorf("%+v", caller)
	}
	if held, err := f.OwnerTokens(t.Context(), admin(), o.ID); err != nil || len(held) != 1 || held[0].ID != fresh.ID {
		t.Errorf("%+v, %v", held, err)
	}
	f.ok(f.RevokeAny(t.Context(), admin(), fresh.ID))
	_, err = f.identify(secret)
	f.fails(err, arena.CodeUnauthorized)
	_, secret, _, err = f.ReissueTokens(t.Context(), admin(), o.ID)
	f.ok(err)
	f.ok(f.RevokeTokens(t.Context(), admin(), o.ID))
	_, err = f.identify(secret)
	f.fails(err, arena.CodeUnauthorized)
	_, err = f.OwnerTokens(t.Context(), admin(), "ow_none")
	f.fails(err, arena.CodeNotFound)
	_, _, _, err = f.ReissueTokens(t.Context(), admin(), "ow_none")
	f.fails(err, arena.CodeNotFound)
}

// Only admins run owners and tokens, whatever a route lets in. Threat T1.
func TestService_admin_rights(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	for _, caller := range []arena.Caller{
		{}, {Scope: arena.ScopeOwner, OwnerID: "ow_1"}, {Scope: arena.ScopeModerator}, {Scope: arena.ScopeOrganizer, Leagues: []string{"", "cup"}},
	} {
		_, tokens := f.AdminTokens(ctx, caller)
		_, _, create := f.CreateAdminToken(ctx, caller, arena.AdminTokenRequest{Name: "x", Scope: arena.ScopeAdmin})
		_, _, owners := f.Owners(ctx, caller, arena.OwnerFilter{}, arena.Page{Limit: 1})
		_, ownerTokens := f.OwnerTokens(ctx, caller, "ow_1")
		_, _, _, reissue := f.ReissueTokens(ctx, caller, "ow_1")
		_, suspend := f.Suspend(ctx, caller, "ow_1", "")
		_, restore := f.Restore(ctx, caller, "ow_1")
		_, remove := f.DeleteOwner(ctx, caller, "ow_1", "")
		_, list := f.Erasures(ctx, caller)
		_, reapply := f.ReapplyErasures(ctx, caller, nil)
		for name, err := range map[string]error{
			"AdminTokens": tokens, "CreateAdminToken": create, "RevokeAny": f.RevokeAny(ctx, caller, "to_1"), "Owners": owners, "OwnerTokens": ownerTokens,
			"ReissueTokens": reissue, "RevokeTokens": f.RevokeTokens(ctx, caller, "ow_1"), "Suspend": suspend, "Restore": restore,
			"DeleteOwner": remove, "Erasures": list, "ReapplyErasures": reapply,
		} {
			if arena.CodeOf(err) != arena.CodeForbidden {
				t.Errorf("%s by %q: %v", name, caller.Scope, err)
			}
		}
	}
}
