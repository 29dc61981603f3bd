package storetest

import (
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

var mailLimits = arena.MailLimits{Waiting: 3, PerHour: 2, PerAgent: 24 * time.Hour}

func queued(id string, kind arena.MailKind, address string, at time.Time) arena.QueuedMail {
	return arena.QueuedMail{ID: id, Kind: kind, Address: address, CreatedAt: at, NextAt: at, GiveUpAt: at.Add(time.Hour)}
}

// Mails are bounded, each is claimed by one node at a time, and they are remembered
// for the limits.
func outbox(f *fixture) {
	ctx := f.t.Context()
	later := func(m arena.QueuedMail) time.Time { return start.Add(time.Duration(m.Attempts) * time.Minute) }
	_, err := f.ClaimMail(ctx, start, later)
	f.fails(arena.CodeNotFound, err)
	a, b := queued("ml_a", arena.MailReset, "Kim@example.org", start), queued("ml_b", arena.MailReset, "kim@example.org", start)
	f.ok(f.QueueMail(ctx, a, mailLimits))
	f.ok(f.QueueMail(ctx, b, mailLimits))
	f.fails(arena.CodeRateLimited, f.QueueMail(ctx, queued("ml_c", arena.MailReset, "KIM@example.org", start), mailLimits))
	pause := queued("ml_d", arena.MailPause, "kim@example.org", start)
	pause.OwnerID, pause.AgentID, pause.Pause = "ow_a", "ag_a", arena.Pause{Reason: arena.PauseRateLimit, Until: start.Add(time.Minute)}
	f.ok(f.QueueMail(ctx, pause, mailLimits))
	f.fails(arena.CodeUnavailable, f.QueueMail(ctx, queued("ml_e", arena.MailReset, "lee@example.org", start), mailLimits))

	a.Attempts, a.NextAt = 1, start.Add(time.Minute)
	b.Attempts, b.NextAt = 1, start.Add(time.Minute)
	pause.Attempts, pause.NextAt = 1, start.Add(time.Minute)
	for _, want := range []arena.QueuedMail{a, b, pause} {
		f.equal(want, must(f.ClaimMail(ctx, start, later))(f))
	}
	_, err = f.ClaimMail(ctx, start, later)
	f.fails(arena.CodeNotFound, err)
	f.ok(f.EndMail(ctx, "ml_a", start))
	f.ok(f.EndMail(ctx, "ml_d", start))
	f.equal(2, must(f.ClaimMail(ctx, start.Add(time.Minute), later))(f).Attempts)
	_, err = f.ClaimMail(ctx, start.Add(time.Minute), later)
	f.fails(arena.CodeNotFound, err)

	// An hour later the address gets mails again, and the agent does not.
	at := start.Add(time.Hour)
	again := pause
	again.ID, again.CreatedAt = "ml_f", at
	f.fails(arena.CodeRateLimited, f.QueueMail(ctx, again, mailLimits))
	again.CreatedAt = start.Add(24 * time.Hour)
	f.ok(f.QueueMail(ctx, again, mailLimits))
	f.ok(f.QueueMail(ctx, queued("ml_g", arena.MailReset, "kim@example.org", at), mailLimits))
	f.equal(0, must(f.DropMails(ctx, start, 10))(f))
	f.equal(2, must(f.DropMails(ctx, at, 10))(f)) // ml_b waits
}

// Nodes that claim at the same time get different mails.
func outboxRace(f *fixture) {
	ctx := f.t.Context()
	const mails = 8
	for i := range mails {
		f.ok(f.QueueMail(ctx, queued(fmt.Sprint("ml_", i), arena.MailReset, fmt.Sprint(i, "@example.org"), start), arena.MailLimits{Waiting: mails, PerHour: 1}))
	}
	claimed := make(chan string, 2*mails)
	done := make(chan struct{}, 2)
	for _, node := range []*fixture{f, f} {
		go func() {
			defer func() { done <- struct{}{} }()
			for range mails {
				m, err := node.ClaimMail(ctx, start, func(arena.QueuedMail) time.Time { return start.Add(time.Hour) })
				if err == nil {
					claimed <- m.ID
				}
			}
		}()
	}
	<-done
	<-done
	close(claimed)
	seen := map[string]bool{}
	for id := range claimed {
		if seen[id] {
			f.t.Errorf("mail %s was claimed twice", id)
		}
		seen[id] = true
	}
	f.equal(mails, len(seen))
}

// A link works once, within its time, for the address it was sent to, and for its
// purpose alone.
func mailLinks(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	f.owner("b")
	email, no := "kim@example.org", false
	f.ok(f.SetMailSettings(ctx, "ow_a", arena.MailSettings{Email: &email}, arena.AuditEntry{At: start, Actor: "ow_a", Action: "set-mail", Target: "ow_a"}))
	link := func(n byte, kind arena.MailKind, lasts time.Duration) arena.MailLink {
		return arena.MailLink{Hash: [32]byte{n}, Kind: kind, OwnerID: "ow_a", Address: email, ExpiresAt: start.Add(lasts)}
	}
	f.ok(f.AddMailLinks(ctx, []arena.MailLink{link(1, arena.MailConfirm, time.Hour), link(2, arena.MailConfirm, time.Hour), link(3, arena.MailReset, time.Hour), link(4, arena.MailReset, time.Second)}))
	_, err := f.ConfirmWithLink(ctx, [32]byte{3}, start) // for another purpose
	f.fails(arena.CodeNotFound, err)
	f.equal(0, len(must(f.OwnersAt(ctx, email, 10))(f)))
	f.equal("ow_a", must(f.ConfirmWithLink(ctx, [32]byte{1}, start))(f))
	for n := range byte(3) { // used, used up with the other, unknown
		_, err = f.ConfirmWithLink(ctx, [32]byte{n}, start)
		f.fails(arena.CodeNotFound, err)
	}
	f.equal(start, must(f.Owner(ctx, "ow_a"))(f).EmailConfirmedAt)
	f.equal("ow_a", must(f.OwnersAt(ctx, "KIM@example.org", 10))(f)[0].ID)

	fresh := func(o arena.Owner) (arena.Token, arena.AuditEntry, error) {
		return token("to_new", o.ID), arena.AuditEntry{At: start, Actor: o.ID, Action: "reset-token", Target: o.ID}, nil
	}
	f.clock.advance(time.Second)
	_, _, err = f.ResetTokens(ctx, [32]byte{4}, fresh) // expired
	f.fails(arena.CodeNotFound, err)
	_, _, err = f.ResetTokens(ctx, [32]byte{3}, func(arena.Owner) (t arena.Token, e arena.AuditEntry, err error) {
		return t, e, arena.Errorf(arena.CodeForbidden, "no")
	})
	f.fails(arena.CodeForbidden, err) // and it is not used
	o, revoked, err := f.ResetTokens(ctx, [32]byte{3}, fresh)
	f.ok(err)
	f.equal([]any{"ow_a", 1}, []any{o.ID, revoked})
	f.equal([]arena.Token{token("to_new", "ow_a")}, must(f.Tokens(ctx, "ow_a"))(f))
	_, _, err = f.ResetTokens(ctx, [32]byte{3}, fresh)
	f.fails(arena.CodeNotFound, err)

	// Another address is not confirmed, and ends the links of the one before.
	f.ok(f.AddMailLinks(ctx, []arena.MailLink{link(5, arena.MailReset, time.Hour), link(6, arena.MailConfirm, time.Millisecond)}))
	f.equal(1, must(f.DropMailLinks(ctx, start.Add(time.Second), 10))(f))
	f.ok(f.SetMailSettings(ctx, "ow_a", arena.MailSettings{Email: &email, Pauses: &no}))
	f.equal([]any{start, true}, []any{must(f.Owner(ctx, "ow_a"))(f).EmailConfirmedAt, must(f.Owner(ctx, "ow_a"))(f).NoPauseMails})
	email = "other@example.org"
	f.ok(f.SetMailSettings(ctx, "ow_a", arena.MailSettings{Email: &email}))
	f.equal([]any{time.Time{}, true}, []any{must(f.Owner(ctx, "ow_a"))(f).EmailConfirmedAt, must(f.Owner(ctx, "ow_a"))(f).NoPauseMails})
	_, _, err = f.ResetTokens(ctx, [32]byte{5}, fresh)
	f.fails(arena.CodeNotFound, err)
	f.ok(f.ConfirmEmail(ctx, "ow_a", "kim@example.org", start)) // of an address that it does not have any more
	f.equal(time.Time{}, must(f.Owner(ctx, "ow_a"))(f).EmailConfirmedAt)
	f.fails(arena.CodeNotFound, f.SetMailSettings(ctx, "ow_none", arena.MailSettings{}))

	f.ok(f.ConfirmEmail(ctx, "ow_a", email, start))
	f.ok(second(f.SuspendOwner(ctx, "ow_a", start, "", arena.AuditEntry{At: start})))
	f.equal(0, len(must(f.OwnersAt(ctx, email, 10))(f)))
}
