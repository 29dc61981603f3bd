package account_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/account"
	"github.com/agora-arena/arena/arena"
)

// mails keeps what was asked for, and may refuse it.
type mails struct {
	sent []string
	err  error
}

func (m *mails) Confirm(_ context.Context, o arena.Owner) error {
	m.sent = append(m.sent, "confirm "+o.Email)
	return m.err
}

func (m *mails) Reset(_ context.Context, address string) error {
	m.sent = append(m.sent, "reset "+address)
	return m.err
}

func (m *mails) are(t *testing.T, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, m.sent); d != "" {
		t.Error(d)
	}
	m.sent = nil
}

// An address that is not verified has to be confirmed, wherever it comes from.
func TestService_confirm(t *testing.T) {
	t.Parallel()
	var out mails
	f := newFixture(t, func(o *account.Options) { o.Mail = &out })
	ctx := t.Context()
	_, secret, err := f.SignUp(ctx, arena.Caller{}, arena.SignUp{Name: "Kim", Email: "kim@example.org"})
	f.ok(err)
	out.are(t, "confirm kim@example.org")
	_, _, err = f.SignUp(ctx, arena.Caller{}, arena.SignUp{Name: "Lee"})
	f.ok(err)
	kim, err := f.Identify(ctx, arena.Credentials{Secret: secret, Given: true})
	f.ok(err)
	f.ok(f.SendConfirmation(ctx, kim))
	out.are(t, "confirm kim@example.org")
	no, other, none := false, "other@example.org", ""
	o, err := f.SetMailSettings(ctx, kim, arena.MailSettings{Pauses: &no})
	if f.ok(err); !o.NoPauseMails || o.Email != "kim@example.org" {
		t.Errorf("%+v", o)
	}
	out.are(t)
	for _, wrong := range []string{"kim", "Kim <kim@example.org>", "kim@example.org\r\nBcc: eve@example.org"} {
		_, err = f.SetMailSettings(ctx, kim, arena.MailSettings{Email: &wrong})
		f.fails(err, arena.CodeInvalid)
	}
	out.err = arena.Errorf(arena.CodeUnavailable, "full")
	_, err = f.SetMailSettings(ctx, kim, arena.MailSettings{Email: &other})
	f.ok(err) // it can ask again
	out.are(t, "confirm other@example.org")
	f.fails(f.SendConfirmation(ctx, kim), arena.CodeUnavailable)
	out.are(t, "confirm other@example.org")
	out.err = nil

	f.ok(f.store.Outbox.AddMailLinks(ctx, []arena.MailLink{{Hash: hash("link"), Kind: arena.MailConfirm, OwnerID: kim.OwnerID, Address: other, ExpiresAt: start.Add(time.Hour)}}))
	f.fails(f.ConfirmEmail(ctx, "wrong", "192.0.2.7"), arena.CodeNotFound)
	f.guess.exceeded = true
	f.fails(f.ConfirmEmail(ctx, "wrong", "192.0.2.7"), arena.CodeRateLimited)
	f.ok(f.ConfirmEmail(ctx, "link", "192.0.2.7"))
	f.fails(f.SendConfirmation(ctx, kim), arena.CodeConflict)
	_, err = f.SetMailSettings(ctx, kim, arena.MailSettings{Email: &none})
	f.ok(err)
	f.fails(f.SendConfirmation(ctx, kim), arena.CodeConflict)
	f.fails(f.SendConfirmation(ctx, admin()), arena.CodeForbidden)
	out.are(t)

	// What the issuer has verified is confirmed: of a new owner, and of one that has entered it.
	id := arena.Identity{Issuer: "https://id.example", Subject: "1", Name: "Lou", Email: "lou@example.org", IssuedAt: start}
	_, session, err := f.SignIn(ctx, id, arena.SignIn{})
	f.ok(err)
	lou := session.Caller()
	if o, err = f.Owner(ctx, lou); err != nil || !o.EmailConfirmedAt.Equal(start) {
		t.Errorf("%+v, %v", o, err)
	}
	_, err = f.SetMailSettings(ctx, lou, arena.MailSettings{Email: &none})
	f.ok(err)
	_, err = f.SetMailSettings(ctx, lou, arena.MailSettings{Email: &id.Email})
	f.ok(err)
	out.are(t, "confirm lou@example.org")
	_, _, err = f.SignIn(ctx, id, arena.SignIn{})
	f.ok(err)
	if o, err = f.Owner(ctx, lou); err != nil || o.EmailConfirmedAt.IsZero() {
		t.Errorf("%+v, %v", o, err)
	}
}

// A request for a lost token says nothing about the address. The link does what an
// admin does who re-issues the token. Threat A7.
func TestService_Reset(t *testing.T) {
	t.Parallel()
	var out mails
	f := newFixture(t, func(o *account.Options) { o.Mail = &out })
	ctx := t.Context()
	for _, refused := range []error{nil, arena.Errorf(arena.CodeRateLimited, "too many"), arena.Errorf(arena.CodeUnavailable, "full")} {
		out.err = refused
		f.ok(f.RequestReset(ctx, "kim@example.org", "192.0.2.7"))
	}
	out.are(t, "reset kim@example.org", "reset kim@example.org", "reset kim@example.org")
	f.fails(f.RequestReset(ctx, "", "192.0.2.7"), arena.CodeInvalid)
	f.fails(f.RequestReset(ctx, "kim", "192.0.2.7"), arena.CodeInvalid)
	f.signUp.exceeded = true
	f.fails(f.RequestReset(ctx, "kim@example.org", "192.0.2.7"), arena.CodeRateLimited)
	out.are(t)
	f.signUp.exceeded = false

	o, old, err := f.SignUp(ctx, arena.Caller{}, arena.SignUp{Name: "Kim"})
	f.ok(err)
	link := arena.MailLink{Hash: hash("link"), Kind: arena.MailReset, OwnerID: o.ID, ExpiresAt: start.Add(time.Hour)}
	f.ok(f.store.Outbox.AddMailLinks(ctx, []arena.MailLink{link}))
	_, err = f.Suspend(ctx, admin(), o.ID, "")
	f.ok(err)
	_, _, _, err = f.Reset(ctx, "link", "192.0.2.7")
	f.fails(err, arena.CodeForbidden)
	_, err = f.Restore(ctx, admin(), o.ID)
	f.ok(err)
	got, secret, revoked, err := f.Reset(ctx, "link", "192.0.2.7")
	if f.ok(err); got.ID != o.ID || revoked != 1 {
		t.Errorf("%+v, %d revoked", got, revoked)
	}
	_, err = f.Identify(ctx, arena.Credentials{Secret: old, Given: true})
	f.fails(err, arena.CodeUnauthorized)
	kim, err := f.Identify(ctx, arena.Credentials{Secret: secret, Given: true})
	if f.ok(err); kim.OwnerID != o.ID {
		t.Errorf("%+v", kim)
	}
	_, _, _, err = f.Reset(ctx, "link", "192.0.2.7")
	f.fails(err, arena.CodeNotFound)
	if entries := f.audited(); !slices.Contains(entries, o.ID+"  reset-token "+o.ID+` "`+kim.TokenID+`"`) { // all at one time
		t.Errorf("audited %q", entries)
	}
	without := newFixture(t)
	without.fails(without.RequestReset(ctx, "kim@example.org", ""), arena.CodeConflict)
}
