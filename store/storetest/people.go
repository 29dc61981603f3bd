package storetest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

func session(id, ownerID string, at time.Time) arena.Session {
	return arena.Session{ID: id, OwnerID: ownerID, Hash: sha256.Sum256([]byte(id)), Browser: "Firefox, Linux", CreatedAt: at, LastUsedAt: at}
}

// A session lasts while it is used, ends in any case, and is its owner's alone.
func sessions(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	f.owner("b")
	s := session("ss_1", "ow_a", start)
	f.fails(arena.CodeNotFound, f.People.CreateSession(ctx, session("ss_0", "ow_none", start)))
	f.ok(f.People.CreateSession(ctx, s))
	f.equal(s, must(f.People.SessionByHash(ctx, s.Hash))(f))
	_, err := f.People.SessionByHash(ctx, [32]byte{})
	f.fails(arena.CodeNotFound, err)

	f.clock.advance(59 * time.Second)
	f.equal(start, must(f.People.SessionByHash(ctx, s.Hash))(f).LastUsedAt) // to the minute
	f.clock.advance(time.Second)
	f.equal(start.Add(time.Minute), must(f.People.SessionByHash(ctx, s.Hash))(f).LastUsedAt)
	f.equal(start.Add(time.Minute), must(f.People.Sessions(ctx, "ow_a"))(f)[0].LastUsedAt)
	f.clock.advance(arena.SessionIdle)
	_, err = f.People.SessionByHash(ctx, s.Hash)
	f.fails(arena.CodeNotFound, err)
	f.equal(0, len(must(f.People.Sessions(ctx, "ow_a"))(f)))

	now := start.Add(time.Minute + arena.SessionIdle)
	f.ok(f.People.CreateSession(ctx, session("ss_2", "ow_a", now)))
	f.fails(arena.CodeNotFound, f.People.EndSession(ctx, "ow_b", "ss_2"))
	f.equal(1, len(must(f.People.Sessions(ctx, "ow_a"))(f)))
	f.ok(f.People.EndSession(ctx, "ow_a", "ss_2"))
	f.fails(arena.CodeNotFound, f.People.EndSession(ctx, "ow_a", "ss_2"))

	// A new one beyond the limit ends the oldest, and none of another owner.
	f.ok(f.People.CreateSession(ctx, session("ss_other", "ow_b", now)))
	for i := range arena.MaxSessions + 1 {
		x := session(fmt.Sprintf("ss_a%02d", i), "ow_a", now.Add(time.Duration(i)*time.Millisecond))
		x.Hash = [32]byte{1, byte(i)}
		f.ok(f.People.CreateSession(ctx, x))
	}
	list := must(f.People.Sessions(ctx, "ow_a"))(f)
	f.equal(arena.MaxSessions, len(list))
	f.equal("ss_a01", list[len(list)-1].ID)
	f.equal(1, len(must(f.People.Sessions(ctx, "ow_b"))(f)))

	f.equal(arena.MaxSessions+1, must(f.People.DropSessions(ctx, now.Add(time.Hour), 100))(f))
	f.equal(0, len(must(f.People.Sessions(ctx, "ow_b"))(f)))
}

// A role by a claim of the issuer ends with the first sign-in without the claim, in all
// sessions of the owner, and does not bring back a session that was over. Threat T1.
func claimedRoles(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	f.owner("b")
	create := func(id, ownerID string, admin bool, at time.Time) {
		s := session(id, ownerID, at)
		s.Admin = admin
		f.ok(f.People.CreateSession(ctx, s))
	}
	admin := func(id string) bool {
		return must(f.People.SessionByHash(ctx, session(id, "", start).Hash))(f).Caller().Role.Scope == arena.ScopeAdmin
	}
	create("ss_old", "ow_a", true, start)
	create("ss_other", "ow_b", true, start.Add(time.Hour))
	create("ss_1", "ow_a", true, start.Add(time.Hour))
	create("ss_2", "ow_a", true, start.Add(arena.SessionClaimed-time.Minute))
	f.clock.advance(arena.SessionClaimed - time.Minute)
	f.equal(true, admin("ss_old")) // used, which does not make it longer
	f.clock.advance(time.Minute)
	_, err := f.People.SessionByHash(ctx, session("ss_old", "", start).Hash)
	f.fails(arena.CodeNotFound, err)
	f.equal(true, admin("ss_1"))

	create("ss_3", "ow_a", false, start.Add(arena.SessionClaimed))
	for _, id := range []string{"ss_1", "ss_2", "ss_3"} {
		f.equal(false, admin(id))
	}
	f.equal(true, admin("ss_other"))
	f.equal(3, len(must(f.People.Sessions(ctx, "ow_a"))(f)))
	f.clock.advance(arena.SessionIdle - time.Minute)
	f.equal(false, admin("ss_1")) // an owner's session has its usual length
}

func invitation(id string) arena.Invitation {
	return arena.Invitation{ID: id, Hash: [32]byte{id[len(id)-1]}, Uses: 1, CreatedAt: start, CreatedBy: "admin", ExpiresAt: start.Add(time.Hour)}
}

func invitations(f *fixture) {
	ctx := f.t.Context()
	first, second := invitation("in_1"), invitation("in_2")
	second.Role, second.Name, second.Email = arena.Role{Scope: arena.ScopeOrganizer, Leagues: []string{"cup"}}, "Kim", "kim@example.org"
	f.ok(f.People.CreateInvitation(ctx, first))
	f.ok(f.People.CreateInvitation(ctx, second))
	f.equal([]arena.Invitation{second, first}, must(f.People.Invitations(ctx, 10))(f))
	f.equal(second, must(f.People.InvitationByHash(ctx, second.Hash))(f))
	_, err := f.People.InvitationByHash(ctx, [32]byte{})
	f.fails(arena.CodeNotFound, err)
	f.equal(int64(2), must(f.People.OpenInvitations(ctx, start))(f))
	f.ok(f.People.RevokeInvitation(ctx, first.ID, start.Add(time.Second)))
	f.fails(arena.CodeNotFound, f.People.RevokeInvitation(ctx, first.ID, start.Add(time.Second)))
	f.fails(arena.CodeNotFound, f.People.RevokeInvitation(ctx, second.ID, second.ExpiresAt))
	f.equal(int64(1), must(f.People.OpenInvitations(ctx, start))(f))
	f.equal(int64(0), must(f.People.OpenInvitations(ctx, second.ExpiresAt))(f))
	f.equal(0, must(f.People.DropInvitations(ctx, first.ExpiresAt, 10))(f))
	f.equal(2, must(f.People.DropInvitations(ctx, first.ExpiresAt.Add(time.Second), 10))(f))
}

// An invitation that is refused, or whose owner cannot be stored, is not used.
func join(f *fixture) {
	ctx := f.t.Context()
	i := invitation("in_1")
	i.Uses = 2
	f.ok(f.People.CreateInvitation(ctx, i))
	kim := arena.Owner{ID: "ow_kim", Name: "Kim", CreatedAt: start, Role: arena.Role{Scope: arena.ScopeModerator}}
	id := arena.Identity{Issuer: "https://a.example", Subject: "1"}
	_, err := f.Accounts.Join(ctx, i.Hash, func(arena.Invitation) (arena.Joined, error) {
		return arena.Joined{}, arena.Errorf(arena.CodeForbidden, "no")
	})
	f.fails(arena.CodeForbidden, err)
	f.equal(0, must(f.People.InvitationByHash(ctx, i.Hash))(f).Used)
	admit := func(o arena.Owner) func(arena.Invitation) (arena.Joined, error) {
		return func(arena.Invitation) (arena.Joined, error) {
			return arena.Joined{Owner: o, Identity: id, Accept: func(arena.Owner) error { return arena.Errorf(arena.CodeConflict, "known") }}, nil
		}
	}
	f.equal(kim, must(f.Accounts.Join(ctx, i.Hash, admit(kim)))(f))
	f.equal(kim.ID, must(f.Accounts.OwnerOf(ctx, id.Issuer, id.Subject))(f))
	f.equal(kim.Role, must(f.Accounts.Owner(ctx, kim.ID))(f).Role)
	f.equal(1, must(f.People.InvitationByHash(ctx, i.Hash))(f).Used)
	_, err = f.Accounts.Join(ctx, i.Hash, admit(kim))
	f.fails(arena.CodeConflict, err)
	f.equal(1, must(f.People.InvitationByHash(ctx, i.Hash))(f).Used)

	// A token of the issuer from before the deletion makes no owner, a newer one does.
	at := start.Add(time.Hour)
	f.clock.advance(time.Hour)
	f.ok(f.Accounts.EraseOwner(ctx, arena.OwnerErasure{OwnerID: kim.ID, At: at}))
	lee := arena.Owner{ID: "ow_lee", Name: "Lee", CreatedAt: start}
	for _, issued := range []time.Time{{}, start, at} {
		id.IssuedAt = issued
		_, err = f.Accounts.AdoptOwner(ctx, lee, id)
		f.fails(arena.CodeUnauthorized, err)
		_, err = f.Accounts.Join(ctx, i.Hash, admit(lee))
		f.fails(arena.CodeUnauthorized, err)
	}
	_, err = f.Accounts.Owner(ctx, lee.ID)
	f.fails(arena.CodeNotFound, err)
	id.IssuedAt = at.Add(time.Second)
	f.equal(lee.ID, must(f.Accounts.AdoptOwner(ctx, lee, id))(f))
	f.equal(0, must(f.People.DropErasedIdentities(ctx, at, 10))(f))
	f.equal(1, must(f.People.DropErasedIdentities(ctx, at.Add(time.Second), 10))(f))
}

func setRole(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	f.owner("b")
	audit := func(before arena.Owner) (arena.AuditEntry, error) {
		return arena.AuditEntry{At: start, Actor: "admin", Action: "set-role", Target: before.ID}, nil
	}
	cup := arena.Role{Scope: arena.ScopeOrganizer, Leagues: []string{"cup"}}
	_, err := f.People.SetRole(ctx, "ow_none", cup, audit)
	f.fails(arena.CodeNotFound, err)
	for range 2 { // again changes nothing
		f.equal(cup, must(f.People.SetRole(ctx, "ow_a", cup, audit))(f).Role)
	}
	entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 10})
	f.ok(err)
	f.equal(1, len(entries))
	f.equal("ow_a", must(f.People.People(ctx))(f)[0].ID)
	f.equal(cup, must(f.Accounts.TokenByHash(ctx, token("to_a", "ow_a").Hash))(f).OwnerRole)
	f.ok(second(f.People.SetRole(ctx, "ow_a", arena.Role{}, audit)))
	f.equal(0, len(must(f.People.People(ctx))(f)))
	f.equal(arena.Role{}, must(f.Accounts.TokenByHash(ctx, token("to_a", "ow_a").Hash))(f).OwnerRole)
}

// people puts something into the tables of people.
func (f *fixture) people() {
	ctx := f.t.Context()
	s := session("ss_1", "ow_kim", start)
	s.Admin = true
	f.ok(f.People.CreateSession(ctx, s))
	i := invitation("in_1")
	i.Role, i.Name = arena.Role{Scope: arena.ScopeOrganizer, Leagues: []string{"sums"}}, "é"
	f.ok(f.People.CreateInvitation(ctx, i))
	f.ok(f.Outbox.ConfirmEmail(ctx, "ow_kim", must(f.Accounts.Owner(ctx, "ow_kim"))(f).Email, start))
	m := queued("ml_1", arena.MailPause, "é@example.org", start)
	m.OwnerID, m.AgentID, m.Pause, m.EndedAt, m.Attempts = "ow_kim", "ag_a", arena.PauseRateLimit, start, 2
	f.ok(f.Outbox.QueueMail(ctx, m, mailLimits))
	f.ok(f.Outbox.AddMailLinks(ctx, []arena.MailLink{{Hash: [32]byte{6, 0, 255}, Kind: arena.MailReset, OwnerID: "ow_kim", Address: "é@example.org", ExpiresAt: start}}))
	f.ok(second(f.Accounts.AdoptOwner(ctx, arena.Owner{ID: "ow_left", Name: "Left", CreatedAt: start}, arena.Identity{Issuer: "https://a.example", Subject: "2"})))
	f.ok(f.Accounts.EraseOwner(ctx, arena.OwnerErasure{OwnerID: "ow_left", At: start}))
}

var mailLimits = arena.MailLimits{Waiting: 3, PerHour: 2, PerAgent: 24 * time.Hour}

func queued(id string, kind arena.MailKind, address string, at time.Time) arena.QueuedMail {
	return arena.QueuedMail{ID: id, Kind: kind, Address: address, CreatedAt: at, NextAt: at, GiveUpAt: at.Add(time.Hour)}
}

// Mails are bounded, each is claimed by one node at a time, and they are remembered
// for the limits. Threat A7.
func outbox(f *fixture) {
	ctx := f.t.Context()
	later := func(m arena.QueuedMail) time.Time { return start.Add(time.Duration(m.Attempts) * time.Minute) }
	_, err := f.Outbox.ClaimMail(ctx, start, later)
	f.fails(arena.CodeNotFound, err)
	a, b := queued("ml_a", arena.MailReset, "Kim@example.org", start), queued("ml_b", arena.MailReset, "kim@example.org", start)
	f.ok(f.Outbox.QueueMail(ctx, a, mailLimits))
	f.ok(f.Outbox.QueueMail(ctx, b, mailLimits))
	f.fails(arena.CodeRateLimited, f.Outbox.QueueMail(ctx, queued("ml_c", arena.MailReset, "KIM@example.org", start), mailLimits))
	pause := queued("ml_d", arena.MailPause, "kim@example.org", start)
	pause.OwnerID, pause.AgentID, pause.Pause = "ow_a", "ag_a", arena.PauseRateLimit
	f.ok(f.Outbox.QueueMail(ctx, pause, mailLimits))
	f.fails(arena.CodeUnavailable, f.Outbox.QueueMail(ctx, queued("ml_e", arena.MailReset, "lee@example.org", start), mailLimits))

	a.Attempts, a.NextAt = 1, start.Add(time.Minute)
	b.Attempts, b.NextAt = 1, start.Add(time.Minute)
	pause.Attempts, pause.NextAt = 1, start.Add(time.Minute)
	for _, want := range []arena.QueuedMail{a, b, pause} {
		f.equal(want, must(f.Outbox.ClaimMail(ctx, start, later))(f))
	}
	_, err = f.Outbox.ClaimMail(ctx, start, later)
	f.fails(arena.CodeNotFound, err)
	f.ok(f.Outbox.EndMail(ctx, "ml_a", start))
	f.ok(f.Outbox.EndMail(ctx, "ml_d", start))
	f.equal(2, must(f.Outbox.ClaimMail(ctx, start.Add(time.Minute), later))(f).Attempts)
	_, err = f.Outbox.ClaimMail(ctx, start.Add(time.Minute), later)
	f.fails(arena.CodeNotFound, err)

	// An hour later the address gets mails again, and the agent does not.
	at := start.Add(time.Hour)
	again := pause
	again.ID, again.CreatedAt = "ml_f", at
	f.fails(arena.CodeRateLimited, f.Outbox.QueueMail(ctx, again, mailLimits))
	again.CreatedAt = start.Add(24 * time.Hour)
	f.ok(f.Outbox.QueueMail(ctx, again, mailLimits))
	f.ok(f.Outbox.QueueMail(ctx, queued("ml_g", arena.MailReset, "kim@example.org", at), mailLimits))
	f.equal(0, must(f.Outbox.DropMails(ctx, start, 10))(f))
	f.equal(2, must(f.Outbox.DropMails(ctx, at, 10))(f)) // ml_b waits
}

// Nodes that claim at the same time get different mails.
func outboxRace(f *fixture) {
	ctx := f.t.Context()
	const mails = 8
	for i := range mails {
		f.ok(f.Outbox.QueueMail(ctx, queued(fmt.Sprint("ml_", i), arena.MailReset, fmt.Sprint(i, "@example.org"), start), arena.MailLimits{Waiting: mails, PerHour: 1}))
	}
	claimed := make(chan string, 2*mails)
	done := make(chan struct{}, 2)
	for _, node := range []*fixture{f, f} {
		go func() {
			defer func() { done <- struct{}{} }()
			for range mails {
				m, err := node.Outbox.ClaimMail(ctx, start, func(arena.QueuedMail) time.Time { return start.Add(time.Hour) })
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
// purpose alone. Threat A8.
func mailLinks(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	f.owner("b")
	email, no := "kim@example.org", false
	f.ok(f.Outbox.SetMailSettings(ctx, "ow_a", arena.MailSettings{Email: &email}, arena.AuditEntry{At: start, Actor: "ow_a", Action: "set-mail", Target: "ow_a"}))
	link := func(n byte, kind arena.MailKind, lasts time.Duration) arena.MailLink {
		return arena.MailLink{Hash: [32]byte{n}, Kind: kind, OwnerID: "ow_a", Address: email, ExpiresAt: start.Add(lasts)}
	}
	f.ok(f.Outbox.AddMailLinks(ctx, []arena.MailLink{link(1, arena.MailConfirm, time.Hour), link(2, arena.MailConfirm, time.Hour), link(3, arena.MailReset, time.Hour), link(4, arena.MailReset, time.Second)}))
	_, err := f.Outbox.ConfirmWithLink(ctx, [32]byte{3}, start) // for another purpose
	f.fails(arena.CodeNotFound, err)
	f.equal(0, len(must(f.Outbox.OwnersAt(ctx, email, 10))(f)))
	f.equal("ow_a", must(f.Outbox.ConfirmWithLink(ctx, [32]byte{1}, start))(f))
	for n := range byte(3) { // used, used up with the other, unknown
		_, err = f.Outbox.ConfirmWithLink(ctx, [32]byte{n}, start)
		f.fails(arena.CodeNotFound, err)
	}
	f.equal(start, must(f.Accounts.Owner(ctx, "ow_a"))(f).EmailConfirmedAt)
	f.equal("ow_a", must(f.Outbox.OwnersAt(ctx, "KIM@example.org", 10))(f)[0].ID)

	fresh := func(o arena.Owner) (arena.Token, arena.AuditEntry, error) {
		return token("to_new", o.ID), arena.AuditEntry{At: start, Actor: o.ID, Action: "reset-token", Target: o.ID}, nil
	}
	f.clock.advance(time.Second)
	_, _, err = f.Accounts.ResetTokens(ctx, [32]byte{4}, fresh) // expired
	f.fails(arena.CodeNotFound, err)
	_, _, err = f.Accounts.ResetTokens(ctx, [32]byte{3}, func(arena.Owner) (t arena.Token, e arena.AuditEntry, err error) {
		return t, e, arena.Errorf(arena.CodeForbidden, "no")
	})
	f.fails(arena.CodeForbidden, err) // and it is not used
	o, revoked, err := f.Accounts.ResetTokens(ctx, [32]byte{3}, fresh)
	f.ok(err)
	f.equal([]any{"ow_a", 1}, []any{o.ID, revoked})
	f.equal([]arena.Token{token("to_new", "ow_a")}, must(f.Accounts.Tokens(ctx, "ow_a"))(f))
	_, _, err = f.Accounts.ResetTokens(ctx, [32]byte{3}, fresh)
	f.fails(arena.CodeNotFound, err)

	// Another address is not confirmed, and ends the links of the one before.
	f.ok(f.Outbox.AddMailLinks(ctx, []arena.MailLink{link(5, arena.MailReset, time.Hour), link(6, arena.MailConfirm, time.Millisecond)}))
	f.equal(1, must(f.Outbox.DropMailLinks(ctx, start.Add(time.Second), 10))(f))
	f.ok(f.Outbox.SetMailSettings(ctx, "ow_a", arena.MailSettings{Email: &email, Pauses: &no}))
	f.equal([]any{start, true}, []any{must(f.Accounts.Owner(ctx, "ow_a"))(f).EmailConfirmedAt, must(f.Accounts.Owner(ctx, "ow_a"))(f).NoPauseMails})
	email = "other@example.org"
	f.ok(f.Outbox.SetMailSettings(ctx, "ow_a", arena.MailSettings{Email: &email}))
	f.equal([]any{time.Time{}, true}, []any{must(f.Accounts.Owner(ctx, "ow_a"))(f).EmailConfirmedAt, must(f.Accounts.Owner(ctx, "ow_a"))(f).NoPauseMails})
	_, _, err = f.Accounts.ResetTokens(ctx, [32]byte{5}, fresh)
	f.fails(arena.CodeNotFound, err)
	f.ok(f.Outbox.ConfirmEmail(ctx, "ow_a", "kim@example.org", start)) // of an address that it does not have any more
	f.equal(time.Time{}, must(f.Accounts.Owner(ctx, "ow_a"))(f).EmailConfirmedAt)
	f.fails(arena.CodeNotFound, f.Outbox.SetMailSettings(ctx, "ow_none", arena.MailSettings{}))

	f.ok(f.Outbox.ConfirmEmail(ctx, "ow_a", email, start))
	f.ok(second(f.Accounts.SuspendOwner(ctx, "ow_a", start, "", arena.AuditEntry{At: start})))
	f.equal(0, len(must(f.Outbox.OwnersAt(ctx, email, 10))(f)))
}
