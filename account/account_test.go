package account_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/account"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// counter is a quota that counts and may be exceeded.
type counter struct {
	taken    []string
	exceeded bool
}

func (c *counter) Take(_ context.Context, caller string) error {
	if c.taken = append(c.taken, caller); c.exceeded {
		return arena.Errorf(arena.CodeRateLimited, "too many")
	}
	return nil
}

// known is a quota of known callers.
type known struct{ *counter }

func (k known) Take(ctx context.Context, c arena.Caller) error {
	return k.counter.Take(ctx, c.Account()+" at "+c.Address)
}

// fixture is a service on a real store.
type fixture struct {
	*account.Service
	t                             *testing.T
	store                         *store.Store
	options                       account.Options
	address, known, guess, signUp counter
	followed                      []string // owners whose agents were paused or resumed
	erasures                      int      // runs of the erasure of texts
}

func newFixture(t *testing.T, change ...func(*account.Options)) *fixture {
	t.Helper()
	f := &fixture{t: t}
	clock := func() time.Time { return start }
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	var err error
	f.store, err = store.Open(t.Context(), storetest.SQLite(t), store.Options{Logger: log, Now: clock})
	f.ok(err)
	t.Cleanup(func() { f.ok(f.store.Close()) })
	f.ok(f.store.Migrate(t.Context()))
	f.options = account.Options{
		Store: f.store, Agents: f, Texts: f, SignupMode: account.SignupOpen, Now: clock, Logger: log,
		Quotas: account.Quotas{Address: &f.address, Known: known{&f.known}, Guess: &f.guess, SignUp: &f.signUp},
	}
	for _, c := range change {
		c(&f.options)
	}
	f.Service, err = account.New(f.options)
	f.ok(err)
	return f
}

// FollowOwner implements account.Agents.
func (f *fixture) FollowOwner(_ context.Context, ownerID string, since time.Time) error {
	f.followed = append(f.followed, fmt.Sprint(ownerID, " ", since.UTC().Format(time.TimeOnly)))
	return nil
}

// EraseDeleted implements account.Texts.
func (f *fixture) EraseDeleted(context.Context) (int, error) {
	f.erasures++
	return 0, nil
}

func hash(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) fails(err error, want arena.Code) {
	f.t.Helper()
	if arena.CodeOf(err) != want {
		f.t.Errorf("%v, want %s", err, want)
	}
}

// audited returns the audit log: actor, token, action and target of each entry.
func (f *fixture) audited() []string {
	f.t.Helper()
	entries, _, err := f.store.Operations.AuditLog(f.t.Context(), arena.AuditFilter{}, arena.Page{Limit: 100})
	f.ok(err)
	var lines []string
	for _, e := range entries {
		lines = append(lines, strings.TrimSpace(fmt.Sprint(e.Actor, " ", e.Token, " ", e.Action, " ", e.Target, " ", string(e.After))))
	}
	return lines
}

func admin() arena.Caller { return arena.Caller{TokenID: "to_admin", Scope: arena.ScopeAdmin} }

func TestNew_signupMode(t *testing.T) {
	t.Parallel()
	o := newFixture(t).options
	o.SignupMode = ""
	if _, err := account.New(o); err == nil {
		t.Error("without a mode: no error")
	}
}

func TestService_SignUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o, secret, err := f.SignUp(t.Context(), arena.Caller{}, arena.SignUp{Name: "Kim", Email: "kim@example.org", Address: "192.0.2.7"})
	f.ok(err)
	kim, err := f.Identify(t.Context(), arena.Credentials{Secret: secret, Given: true})
	if f.ok(err); kim.OwnerID != o.ID || kim.Scope != arena.ScopeOwner {
		t.Errorf("the token is of %+v", kim)
	}
	stored, err := f.Owner(t.Context(), kim)
	if f.ok(err); stored.Name != "Kim" || stored.Email != "kim@example.org" || stored.Network != "192.0.2.7" {
		t.Errorf("stored %+v", stored)
	}
	for name, in := range map[string]arena.SignUp{
		"no name": {}, "long name": {Name: strings.Repeat("é", 41)}, "invisible": {Name: "a\u200bb"}, "email": {Name: "Lee", Email: "lee"},
	} {
		if _, _, err := f.SignUp(t.Context(), arena.Caller{}, in); arena.CodeOf(err) != arena.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err = f.SignUp(t.Context(), arena.Caller{}, arena.SignUp{Name: "КIM"}) // with a Cyrillic K
	f.fails(err, arena.CodeNameTaken)
	for address, want := range map[string]string{ // threat G7
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64", "::ffff:192.0.2.7": "192.0.2.7", "127.0.0.1": "", "::1": "", "10.1.2.3": "", "fd00::1": "", "": "",
	} {
		o, _, err := f.SignUp(t.Context(), arena.Caller{}, arena.SignUp{Name: "Kim at " + address + ".", Address: address})
		if f.ok(err); o.Network != want {
			t.Errorf("%q signs up from the network %q, want %q", address, o.Network, want)
		}
	}
	f.signUp.exceeded = true
	_, _, err = f.SignUp(t.Context(), arena.Caller{}, arena.SignUp{Name: "Lee"})
	f.fails(err, arena.CodeRateLimited)
	invited, _, err := f.SignUp(t.Context(), admin(), arena.SignUp{Name: "Lee"})
	f.ok(err)
	if d := cmp.Diff([]string{"admin to_admin sign-up " + invited.ID + ` "Lee"`}, f.audited()); d != "" {
		t.Errorf("only invitations are audited: %s", d)
	}
}

func TestService_SignUp_modes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][2]arena.Code{ // anyone, an admin
		account.SignupOpen: {"", ""}, account.SignupInvite: {arena.CodeForbidden, ""}, account.SignupClosed: {arena.CodeForbidden, arena.CodeForbidden},
	} {
		f := newFixture(t, func(o *account.Options) { o.SignupMode = mode })
		_, _, err := f.SignUp(t.Context(), arena.Caller{}, arena.SignUp{Name: "Kim"})
		f.fails(err, want[0])
		_, _, err = f.SignUp(t.Context(), admin(), arena.SignUp{Name: "Lee"})
		f.fails(err, want[1])
	}
}

func TestService_tokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o, secret, err := f.SignUp(t.Context(), arena.Caller{}, arena.SignUp{Name: "Kim"})
	f.ok(err)
	kim, err := f.Identify(t.Context(), arena.Credentials{Secret: secret, Given: true})
	f.ok(err)
	second, secret, err := f.CreateToken(t.Context(), kim, "ci")
	f.ok(err)
	if held, err := f.Tokens(t.Context(), kim); err != nil || len(held) != 2 {
		t.Errorf("%+v, %v", held, err)
	}
	_, _, err = f.CreateToken(t.Context(), kim, "a\nb")
	f.fails(err, arena.CodeInvalid)
	// Without an owner's id the store would take an admin token.
	for name, caller := range map[string]arena.Caller{"anonymous": {}, "an admin": admin()} {
		if _, _, err := f.CreateToken(t.Context(), caller, "x"); arena.CodeOf(err) != arena.CodeForbidden {
			t.Errorf("%s makes a token: %v", name, err)
		}
		if err := f.RevokeToken(t.Context(), caller, second.ID); arena.CodeOf(err) != arena.CodeForbidden {
			t.Errorf("%s revokes a token: %v", name, err)
		}
	}
	lee := arena.Caller{TokenID: "to_lee", OwnerID: "ow_lee", Scope: arena.ScopeOwner}
	f.fails(f.RevokeToken(t.Context(), lee, second.ID), arena.CodeNotFound)
	f.ok(f.RevokeToken(t.Context(), kim, second.ID))
	_, err = f.Identify(t.Context(), arena.Credentials{Secret: secret, Given: true})
	f.fails(err, arena.CodeUnauthorized)
	for range 49 {
		_, _, err = f.CreateToken(t.Context(), kim, "x")
		f.ok(err)
	}
	_, _, err = f.CreateToken(t.Context(), kim, "x")
	f.fails(err, arena.CodeConflict)
	var revoked, created int
	for _, line := range f.audited() {
		switch {
		case line == o.ID+" "+kim.TokenID+" revoke-token "+second.ID:
			revoked++
		case strings.HasPrefix(line, o.ID+" "+kim.TokenID+" create-token to_"):
			created++
		default:
			t.Errorf("audited %q", line)
		}
	}
	if revoked != 1 || created != 50 {
		t.Errorf("%d revocations and %d new tokens are audited", revoked, created)
	}
}

// Known callers count by owner and address, others by address, guesses twice. Threat A4.
func TestService_Identify_quotas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, secret, err := f.SignUp(t.Context(), arena.Caller{}, arena.SignUp{Name: "Kim"})
	f.ok(err)
	from := "192.0.2.7"
	kim, err := f.Identify(t.Context(), arena.Credentials{Secret: secret, Given: true, Address: from})
	f.ok(err)
	anyone, err := f.Identify(t.Context(), arena.Credentials{Address: from})
	if f.ok(err); anyone.Known() {
		t.Errorf("without a token: %+v", anyone)
	}
	_, err = f.Identify(t.Context(), arena.Credentials{Secret: "guess", Given: true, Address: from})
	f.fails(err, arena.CodeUnauthorized)
	got := [][]string{f.known.taken, f.address.taken, f.guess.taken}
	if d := cmp.Diff([][]string{{kim.OwnerID + " at " + from}, {from, from}, {from}}, got); d != "" {
		t.Error(d)
	}
	for _, q := range []*counter{&f.guess, &f.address} {
		q.exceeded = true
		_, err = f.Identify(t.Context(), arena.Credentials{Secret: "guess", Given: true, Address: from})
		f.fails(err, arena.CodeRateLimited)
	}
	f.known.exceeded = true
	_, err = f.Identify(t.Context(), arena.Credentials{Secret: secret, Given: true, Address: from})
	f.fails(err, arena.CodeRateLimited)
}

// issuer verifies "sub.x.y" as the identity of sub.
type issuer struct{ id arena.Identity }

func (i issuer) Verify(_ context.Context, token string) (arena.Identity, error) {
	id := i.id
	id.Issuer = "https://issuer.example"
	switch id.Subject, _, _ = strings.Cut(token, "."); id.Subject {
	case "bad":
		return arena.Identity{}, arena.Errorf(arena.CodeUnauthorized, "bad")
	case "away":
		return arena.Identity{}, arena.Errorf(arena.CodeUnavailable, "away")
	}
	return id, nil
}

func TestService_Identify_issuer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *account.Options) {
		o.Issuer = issuer{arena.Identity{Name: " Kim\u202e", Email: strings.Repeat("x", 255)}}
	})
	identify := func(secret string) (arena.Caller, error) {
		return f.Identify(t.Context(), arena.Credentials{Secret: secret, Given: true})
	}
	kim, err := identify("kim.x.y")
	if f.ok(err); kim.TokenID != "oidc:kim" || kim.Scope != arena.ScopeOwner {
		t.Errorf("%+v", kim)
	}
	again, err := identify("kim.x.z")
	if f.ok(err); !cmp.Equal(kim, again) {
		t.Errorf("%+v, then %+v", kim, again)
	}
	lee, err := identify("lee.x.y")
	if f.ok(err); lee.OwnerID == kim.OwnerID {
		t.Error("two people are one owner")
	}
	if o, err := f.Owner(t.Context(), kim); err != nil || o.Name != "Kim" || o.Email != "" {
		t.Errorf("%+v, %v", o, err)
	}
	names := map[string]bool{}
	for i := range 12 { // the issuer calls all of them Kim
		next, err := identify(fmt.Sprintf("p%d.x.y", i))
		f.ok(err)
		o, err := f.Owner(t.Context(), next)
		f.ok(err)
		names[o.Name] = true
	}
	if !names["Kim 3"] || !names["Kim 9"] || len(names) != 12 {
		t.Errorf("names %v", names)
	}
	for secret, want := range map[string]arena.Code{"bad.x.y": arena.CodeUnauthorized, "away.x.y": arena.CodeUnavailable, "no JWT": arena.CodeUnauthorized} {
		_, err := identify(secret)
		f.fails(err, want)
	}
	f = newFixture(t, func(o *account.Options) { o.Issuer = issuer{arena.Identity{Admin: true}} })
	if ann, err := f.Identify(t.Context(), arena.Credentials{Secret: "ann.x.y", Given: true}); err != nil || !ann.IsAdmin() || ann.OwnerID != "" {
		t.Errorf("%+v, %v", ann, err)
	}
	f = newFixture(t, func(o *account.Options) { o.Issuer, o.SignupMode = issuer{}, account.SignupClosed })
	_, err = f.Identify(t.Context(), arena.Credentials{Secret: "new.x.y", Given: true})
	f.fails(err, arena.CodeForbidden)
}

// A person whom the issuer no longer names an admin is none in any session after the
// next sign-in. A session of one that it does name ends after eight hours. Threat T1.
func TestService_SignIn_claimedRole(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kim := arena.Identity{Issuer: "https://issuer.example", Subject: "kim", Name: "Kim", Admin: true}
	signIn := func() (secret string) {
		secret, _, err := f.SignIn(t.Context(), kim, arena.SignIn{})
		f.ok(err)
		return secret
	}
	isAdmin := func(secret string) bool {
		c, err := f.Identify(t.Context(), arena.Credentials{Session: secret})
		if f.ok(err); c.OwnerID == "" {
			t.Error("the session is over")
		}
		return c.Require("", arena.RightAdminister) == nil
	}
	var sessions []string
	for range 3 {
		sessions = append(sessions, signIn())
	}
	_, last, err := f.SignIn(t.Context(), kim, arena.SignIn{})
	if f.ok(err); !last.EndsAt().Equal(start.Add(8 * time.Hour)) {
		t.Errorf("an admin's session ends after %v", last.EndsAt().Sub(start))
	}
	kim.Admin = false
	sessions = append(sessions, signIn())
	for i, s := range sessions {
		if isAdmin(s) {
			t.Errorf("session %d is an admin's", i)
		}
	}
	kim.Admin = true
	if !isAdmin(signIn()) || isAdmin(sessions[0]) {
		t.Error("the claim gives the role to more or less than its own session")
	}
}
