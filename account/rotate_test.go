package account_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/account"
	"github.com/agora-arena/arena/arena"
)

// newOwner returns a caller with the token of a new owner.
func (f *fixture) newOwner(name string) (caller arena.Caller, secret string) {
	f.t.Helper()
	_, secret, err := f.SignUp(f.t.Context(), arena.Caller{}, arena.SignUp{Name: name})
	f.ok(err)
	caller, err = f.identify(secret)
	f.ok(err)
	return caller, secret
}

func TestService_RotateToken(t *testing.T) {
	t.Parallel()
	now := start
	f := newFixture(t, func(o *account.Options) { o.Now = func() time.Time { return now } })
	kim, old := f.newOwner("Kim")
	lee, _ := f.newOwner("Lee")
	_, _, err := f.RotateToken(t.Context(), lee, kim.TokenID, 0)
	f.fails(err, arena.CodeNotFound)
	_, _, err = f.RotateToken(t.Context(), kim, kim.TokenID, time.Minute)
	f.fails(err, arena.CodeInvalid)
	fresh, secret, err := f.RotateToken(t.Context(), kim, kim.TokenID, time.Hour)
	f.ok(err)
	for _, s := range []string{old, secret} { // both, for the grace
		_, err = f.identify(s)
		f.ok(err)
	}
	last, _, err := f.RotateToken(t.Context(), kim, fresh.ID, 0)
	f.ok(err)
	_, err = f.identify(secret)
	f.fails(err, arena.CodeUnauthorized)
	now = start.Add(time.Hour)
	held, err := f.Tokens(t.Context(), kim)
	if f.ok(err); len(held) != 1 || held[0].ID != last.ID || held[0].Name != "first" {
		t.Errorf("held after the grace: %+v", held)
	}
}

// A request waits for no write: uses are stored together, one for each token.
func TestService_StoreUses(t *testing.T) {
	t.Parallel()
	now := start
	f := newFixture(t, func(o *account.Options) { o.Now = func() time.Time { return now } })
	kim, secret := f.newOwner("Kim")
	used := func() string {
		stored, err := f.store.Accounts.Token(t.Context(), kim.TokenID)
		f.ok(err)
		return fmt.Sprint(stored.LastUsedAt.Unix(), " ", stored.LastUsedBy)
	}
	use := func(address string) {
		_, err := f.Identify(t.Context(), arena.Credentials{Secret: secret, Given: true, Address: address})
		f.ok(err)
	}
	f.ok(f.StoreUses(t.Context()))
	use("2001:db8:1:2:3::4")
	before := used()
	now = start.Add(2 * time.Minute)
	use("2001:db8:1:2:3::4")
	if used() != before {
		t.Error("a request wrote its use")
	}
	f.ok(f.StoreUses(t.Context()))
	want := fmt.Sprint(now.Unix(), " 2001:db8:1:2::/64")
	if d := cmp.Diff(want, used()); d != "" {
		t.Error(d)
	}
	now = now.Add(59 * time.Second)
	use("192.0.2.1")
	f.ok(f.StoreUses(t.Context()))
	if d := cmp.Diff(want, used()); d != "" {
		t.Errorf("stored twice within a minute: %s", d)
	}
}

// A deleted owner's tokens are refused at once, and a restored backup can be
// brought to the same state.
func TestService_Delete(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kim, secret := f.newOwner("Kim")
	lee, _ := f.newOwner("Lee")
	_, err := f.Delete(t.Context(), kim, "kim")
	f.fails(err, arena.CodeInvalid)
	e, err := f.Delete(t.Context(), kim, "Kim")
	if f.ok(err); f.erasures != 1 {
		t.Errorf("%d runs for the texts", f.erasures)
	}
	_, err = f.identify(secret)
	f.fails(err, arena.CodeUnauthorized)
	_, err = f.DeleteOwner(t.Context(), admin(), kim.OwnerID, arena.DeletedOwner)
	f.fails(err, arena.CodeConflict)
	list, err := f.Erasures(t.Context(), admin())
	if f.ok(err); !cmp.Equal(list, []arena.OwnerErasure{e}) {
		t.Errorf("%+v", list)
	}
	for _, want := range []int{1, 0} {
		n, err := f.ReapplyErasures(t.Context(), admin(), []arena.OwnerErasure{e, {OwnerID: "ow_none", At: start}, {OwnerID: lee.OwnerID, At: start}})
		if f.ok(err); n != want {
			t.Errorf("%d deleted again, want %d", n, want)
		}
	}
	_, err = f.ReapplyErasures(t.Context(), admin(), []arena.OwnerErasure{{OwnerID: lee.OwnerID}})
	f.fails(err, arena.CodeInvalid)
}
