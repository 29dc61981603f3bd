package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// Names of owners are unique by look. Threat T5.
func createOwner(f *fixture) {
	ctx := f.t.Context()
	o := f.owner("Kim")
	f.equal(o, must(f.Accounts.Owner(ctx, o.ID))(f))
	f.equal([]arena.Token{token("to_Kim", o.ID)}, must(f.Accounts.Tokens(ctx, o.ID))(f))

	// However the owner is made; an agent may have the same name.
	second := arena.Owner{ID: "ow_2", Name: "КIM", CreatedAt: start} // with a Cyrillic K
	f.fails(arena.CodeNameTaken, f.Accounts.CreateOwner(ctx, second, token("to_2", "ow_2")))
	_, err := f.Accounts.AdoptOwner(ctx, second, arena.Identity{Issuer: "https://a.example", Subject: "1"})
	f.fails(arena.CodeNameTaken, err)
	_, err = f.Accounts.SuspendOwner(ctx, o.ID, start, "spam", arena.AuditEntry{At: start, Actor: "admin", Action: "suspend-owner", Target: o.ID})
	f.ok(err)
	f.fails(arena.CodeNameTaken, f.Accounts.CreateOwner(ctx, second, token("to_2", "ow_2")))
	f.ok(f.Agents.CreateAgent(ctx, arena.Agent{ID: "ag_kim", OwnerID: o.ID, Name: "Kim", CreatedAt: start}))
	f.ok(f.Accounts.EraseOwner(ctx, arena.OwnerErasure{OwnerID: o.ID, At: start}))
	f.ok(f.Accounts.CreateOwner(ctx, second, token("to_2", "ow_2")))
	// A token that cannot be stored leaves no owner behind.
	f.fails(arena.CodeConflict, f.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow_3", Name: "Lee", CreatedAt: start}, token("to_Kim", "ow_3")))
	_, err = f.Accounts.Owner(ctx, "ow_3")
	f.fails(arena.CodeNotFound, err)
}

// Threat A1: issuer and subject together are one person, and one alone nobody.
func identities(f *fixture) {
	ctx := f.t.Context()
	_, err := f.Accounts.OwnerOf(ctx, "https://a.example", "1")
	f.fails(arena.CodeNotFound, err)

	kim := arena.Owner{ID: "ow_kim", Name: "Kim", CreatedAt: start}
	f.equal("ow_kim", must(f.Accounts.AdoptOwner(ctx, kim, arena.Identity{Issuer: "https://a.example", Subject: "1"}))(f))
	f.equal(kim, must(f.Accounts.Owner(ctx, "ow_kim"))(f))
	lee := arena.Owner{ID: "ow_lee", Name: "Lee", CreatedAt: start}
	f.equal("ow_kim", must(f.Accounts.AdoptOwner(ctx, lee, arena.Identity{Issuer: "https://a.example", Subject: "1"}))(f))
	_, err = f.Accounts.Owner(ctx, "ow_lee") // the loser leaves nothing behind
	f.fails(arena.CodeNotFound, err)
	f.equal("ow_lee", must(f.Accounts.AdoptOwner(ctx, lee, arena.Identity{Issuer: "https://b.example", Subject: "1"}))(f))
	f.equal("ow_kim", must(f.Accounts.OwnerOf(ctx, "https://a.example", "1"))(f))
	f.equal("ow_lee", must(f.Accounts.OwnerOf(ctx, "https://b.example", "1"))(f))
	for _, other := range []string{"", "2", "1 ", "A"} {
		_, err = f.Accounts.OwnerOf(ctx, "https://a.example", other)
		f.fails(arena.CodeNotFound, err)
	}
}

func tokens(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	f.owner("b")
	second := token("to_second", "ow_a")
	f.ok(f.Accounts.CreateToken(ctx, second))
	f.fails(arena.CodeConflict, f.Accounts.CreateToken(ctx, second))
	f.fails(arena.CodeNotFound, f.Accounts.CreateToken(ctx, token("to_nobody", "ow_nobody")))

	admin := token("to_admin", "")
	admin.Scope = arena.ScopeAdmin
	f.ok(f.Accounts.CreateToken(ctx, admin))
	cup := token("to_cup", "")
	cup.Scope, cup.Leagues, cup.ExpiresAt = arena.ScopeOrganizer, []string{"cup"}, start.Add(time.Hour)
	f.ok(f.Accounts.CreateToken(ctx, cup))
	f.equal([]arena.Token{admin, cup}, must(f.Accounts.AdminTokens(ctx))(f))
	f.equal(cup, must(f.Accounts.Token(ctx, cup.ID))(f))
	f.equal([]arena.Token{token("to_a", "ow_a"), second}, must(f.Accounts.Tokens(ctx, "ow_a"))(f))

	// Threat A1: the owner is part of the question.
	f.fails(arena.CodeNotFound, f.Accounts.RevokeToken(ctx, "ow_b", second.ID))
	f.fails(arena.CodeNotFound, f.Accounts.RevokeToken(ctx, "", second.ID))
	f.fails(arena.CodeNotFound, f.Accounts.RevokeToken(ctx, "ow_a", admin.ID))
	f.ok(f.Accounts.RevokeToken(ctx, "ow_a", second.ID))
	f.fails(arena.CodeNotFound, f.Accounts.RevokeToken(ctx, "ow_a", second.ID))
	f.equal([]arena.Token{token("to_a", "ow_a")}, must(f.Accounts.Tokens(ctx, "ow_a"))(f))
	_, err := f.Accounts.TokenByHash(ctx, second.Hash)
	f.fails(arena.CodeNotFound, err)

	f.ok(f.Accounts.RevokeToken(ctx, "", admin.ID))
	f.ok(f.Accounts.RevokeToken(ctx, "", cup.ID))
	f.equal(start, must(f.Accounts.Token(ctx, cup.ID))(f).RevokedAt)
	_, err = f.Accounts.Token(ctx, "to_none")
	f.fails(arena.CodeNotFound, err)
	f.equal(0, len(must(f.Accounts.AdminTokens(ctx))(f)))
}

// One token is the configured one; the one that it supersedes is revoked. Threat T2.
func configureToken(f *fixture) {
	ctx := f.t.Context()
	audit := func(old arena.Token) (arena.AuditEntry, error) {
		return arena.AuditEntry{At: start, Actor: "admin", Action: "supersede-token", Target: old.ID}, nil
	}
	var known []string
	configure := func(id string, refusal error) error {
		t := token("fresh_"+id, "")
		t.Scope, t.Hash = arena.ScopeAdmin, sha256.Sum256([]byte(id))
		return f.Accounts.ConfigureToken(ctx, t, func(t arena.Token) error { known = append(known, t.ID); return refusal }, audit)
	}
	live := func() (ids []string) {
		for _, t := range must(f.Accounts.AdminTokens(ctx))(f) {
			ids = append(ids, fmt.Sprint(t.ID, " ", t.Configured))
		}
		return ids
	}
	f.ok(f.Accounts.CreateToken(ctx, arena.Token{ID: "to_b", Scope: arena.ScopeAdmin, Hash: sha256.Sum256([]byte("b")), CreatedAt: start}))
	f.ok(configure("a", nil))
	f.equal([]string{"fresh_a true", "to_b false"}, live())
	f.ok(configure("a", nil)) // again
	f.equal([]string{"fresh_a true", "to_b false"}, live())
	f.ok(configure("b", nil)) // a token that was made in another way
	f.equal([]string{"to_b true"}, live())
	f.fails(arena.CodeConflict, configure("a", arena.Errorf(arena.CodeConflict, "superseded")))
	f.equal([]string{"to_b true"}, live())
	f.equal([]string{"fresh_a", "to_b", "fresh_a"}, known)
	entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 10})
	f.ok(err)
	f.equal(1, len(entries))
	f.equal("fresh_a", entries[0].Target)
}

// All tokens of an owner are replaced at once. Threat T3.
func replaceTokens(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	f.owner("b")
	f.ok(f.Accounts.CreateToken(ctx, token("to_second", "ow_a")))
	entry := arena.AuditEntry{At: start, Actor: "admin", Action: "reissue-owner-token", Target: "ow_a"}
	f.equal(2, must(f.Accounts.ReplaceTokens(ctx, "ow_a", []arena.Token{token("to_new", "ow_a")}, entry))(f))
	f.equal([]arena.Token{token("to_new", "ow_a")}, must(f.Accounts.Tokens(ctx, "ow_a"))(f))
	f.equal([]arena.Token{token("to_b", "ow_b")}, must(f.Accounts.Tokens(ctx, "ow_b"))(f))
	f.equal(1, must(f.Accounts.ReplaceTokens(ctx, "ow_a", nil, entry))(f))
	f.equal(0, len(must(f.Accounts.Tokens(ctx, "ow_a"))(f)))
	_, err := f.Accounts.ReplaceTokens(ctx, "ow_none", nil, entry)
	f.fails(arena.CodeNotFound, err)
}

// A suspension shows in the owner's tokens and agents. Threat T4.
func suspendOwner(f *fixture) {
	ctx := f.t.Context()
	kim := f.owner("Kim")
	f.owner("Lee")
	f.agent("ant", func(a *arena.Agent) { a.OwnerID, a.OwnerName = kim.ID, kim.Name })
	entry := arena.AuditEntry{At: start, Actor: "admin", Action: "suspend-owner", Target: kim.ID}
	f.equal(kim, must(f.Accounts.SuspendOwner(ctx, kim.ID, start, "spam", entry))(f))
	was := must(f.Accounts.SuspendOwner(ctx, kim.ID, start.Add(time.Hour), "other", entry))(f)
	f.equal(start, was.SuspendedAt)
	f.equal("spam", must(f.Accounts.Owner(ctx, kim.ID))(f).SuspendReason)
	f.equal("spam", must(f.Accounts.TokenByHash(ctx, token("to_Kim", kim.ID).Hash))(f).OwnerSuspendReason)
	f.equal(start, must(f.Accounts.Owner(ctx, kim.ID))(f).SuspendedAt)
	f.equal(start, must(f.Agents.Agent(ctx, "ag_ant"))(f).OwnerSuspendedAt)
	f.equal(start, must(f.Accounts.TokenByHash(ctx, token("to_Kim", kim.ID).Hash))(f).OwnerSuspendedAt)
	list := func(query string, p arena.Page) (ids []string, next string) {
		items, next, err := f.Accounts.Owners(ctx, arena.OwnerFilter{Query: query}, p)
		f.ok(err)
		for _, o := range items {
			ids = append(ids, fmt.Sprint(o.ID, " ", o.Agents, " ", o.Tokens, " ", !o.SuspendedAt.IsZero()))
		}
		return ids, next
	}
	first, next := list("", arena.Page{Limit: 1})
	f.equal([]string{"ow_Lee 0 1 false"}, first)
	second, _ := list("", arena.Page{Limit: 1, Cursor: next})
	f.equal([]string{"ow_Kim 1 1 true"}, second)
	for _, query := range []string{"KI", "ow_Kim", "ANT", "ag_ant"} {
		found, _ := list(query, arena.Page{Limit: 10})
		f.equal(second, found)
	}
	for status, want := range map[arena.OwnerStatus]string{arena.OwnerActive: "ow_Lee", arena.OwnerSuspended: "ow_Kim", arena.OwnerDeleted: ""} {
		found, _, err := f.Accounts.Owners(ctx, arena.OwnerFilter{Status: status}, arena.Page{Limit: 10})
		f.ok(err)
		var ids []string
		for _, o := range found {
			ids = append(ids, o.ID)
		}
		f.equal(want, strings.Join(ids, " "))
	}
	none, _ := list("%", arena.Page{Limit: 10})
	f.equal(0, len(none))
	f.equal(start, must(f.Accounts.SuspendOwner(ctx, kim.ID, time.Time{}, "", entry))(f).SuspendedAt)
	f.equal(kim, must(f.Accounts.Owner(ctx, kim.ID))(f))
	_, err := f.Accounts.SuspendOwner(ctx, "ow_none", start, "spam", entry)
	f.fails(arena.CodeNotFound, err)
	entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 10})
	f.ok(err)
	f.equal(2, len(entries)) // the second suspension changed nothing
}

func tokenByHash(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	want := token("to_a", "ow_a")
	_, err := f.Accounts.TokenByHash(ctx, sha256.Sum256([]byte("other")))
	f.fails(arena.CodeNotFound, err)

	f.equal(want, must(f.Accounts.TokenByHash(ctx, want.Hash))(f))
	f.ok(f.Accounts.NoteTokenUses(ctx, nil))
	f.ok(f.Accounts.CreateToken(ctx, token("to_other", "ow_a")))
	want.LastUsedAt, want.LastUsedBy = start.Add(time.Minute), "2001:db8::/64"
	f.ok(f.Accounts.NoteTokenUses(ctx, []arena.TokenUse{
		{TokenID: "to_a", At: want.LastUsedAt, Network: want.LastUsedBy}, {TokenID: "to_other", At: start}, {TokenID: "to_none", At: start},
	}))
	f.equal(want, must(f.Accounts.TokenByHash(ctx, want.Hash))(f))
	f.equal(start, must(f.Accounts.Token(ctx, "to_other"))(f).LastUsedAt)

	brief := token("to_brief", "")
	brief.Scope, brief.ExpiresAt = arena.ScopeModerator, f.clock.read().Add(time.Millisecond)
	f.ok(f.Accounts.CreateToken(ctx, brief))
	f.equal(brief.Scope, must(f.Accounts.TokenByHash(ctx, brief.Hash))(f).Scope)
	f.clock.advance(time.Millisecond)
	_, err = f.Accounts.TokenByHash(ctx, brief.Hash)
	f.fails(arena.CodeNotFound, err)
}

func key(kid string, at time.Time) arena.SigningKey {
	return arena.SigningKey{KID: kid, Alg: "ES256", Private: []byte{0, 1, 255}, CreatedAt: at, SignsFrom: at.Add(time.Minute)}
}

func signingKeys(f *fixture) {
	ctx := f.t.Context()
	older, newer := key("older", start), key("newer", start.Add(time.Hour))
	f.equal(0, len(must(f.Keys.SigningKeys(ctx))(f)))
	f.ok(f.Keys.AddSigningKey(ctx, older, nil))
	f.ok(f.Keys.AddSigningKey(ctx, newer, map[string]time.Time{"older": start.Add(2 * time.Hour)}))
	older.ExpiresAt = start.Add(2 * time.Hour)
	f.equal([]arena.SigningKey{older, newer}, must(f.Keys.SigningKeys(ctx))(f))

	f.fails(arena.CodeConflict, f.Keys.AddSigningKey(ctx, newer, nil))
	f.fails(arena.CodeNotFound, f.Keys.AddSigningKey(ctx, key("third", start), map[string]time.Time{"none": start}))
	f.equal(2, len(must(f.Keys.SigningKeys(ctx))(f)))
}

func firstSigningKey(f *fixture) {
	ctx := f.t.Context()
	nodes := []*store.Keys{f.Keys, f.another().Keys}
	var wg sync.WaitGroup
	got := make([][]arena.SigningKey, 8)
	errs := make([]error, len(got))
	for i := range got {
		wg.Go(func() {
			k := key(fmt.Sprintf("k%d", i), start)
			got[i], errs[i] = nodes[i%2].FirstSigningKey(ctx, k)
		})
	}
	wg.Wait()
	for i := range got {
		f.ok(errs[i])
		f.equal(1, len(got[i]))
		f.equal(got[0], got[i])
	}
}

func rotateToken(f *fixture) {
	ctx := f.t.Context()
	f.owner("a")
	f.owner("b")
	entry := arena.AuditEntry{At: start, Actor: "ow_a", Action: "rotate-token", Target: "to_a"}
	second, third := token("to_second", "ow_a"), token("to_third", "ow_a")
	f.ok(f.Accounts.RotateToken(ctx, "to_a", second, start.Add(time.Hour), entry))
	f.equal(start.Add(time.Hour), must(f.Accounts.TokenByHash(ctx, token("to_a", "").Hash))(f).ExpiresAt)
	f.fails(arena.CodeNotFound, f.Accounts.RotateToken(ctx, "to_a", third, start.Add(2*time.Hour), entry)) // a grace is not extended
	f.fails(arena.CodeNotFound, f.Accounts.RotateToken(ctx, "to_b", third, start, entry))                  // another's
	f.ok(f.Accounts.RotateToken(ctx, "to_second", third, start, entry))
	_, err := f.Accounts.TokenByHash(ctx, second.Hash)
	f.fails(arena.CodeNotFound, err)
	f.equal([]string{"to_second"}, must(f.PulledTasks.RevokedSince(ctx, start))(f))
	f.clock.advance(time.Hour)
	_, err = f.Accounts.TokenByHash(ctx, token("to_a", "").Hash)
	f.fails(arena.CodeNotFound, err)
	f.equal(third, must(f.Accounts.TokenByHash(ctx, third.Hash))(f))
	entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 10})
	f.ok(err)
	f.equal(2, len(entries))
}

// Nothing that an owner gave is left, whatever it was; what others gave is.
func eraseOwner(f *fixture) {
	ctx := f.t.Context()
	const secret = "kimsecret"
	f.owner("b")
	kim := arena.Owner{ID: "ow_kim", Name: secret, Email: secret + "@example.org", Network: secret, CreatedAt: start}
	first := token("to_kim", kim.ID)
	first.Name = secret
	f.ok(f.Accounts.CreateOwner(ctx, kim, first))
	f.league("trivia")
	f.agent("ant", func(a *arena.Agent) {
		a.OwnerID, a.OwnerName, a.Name, a.Endpoint, a.EndpointKey = kim.ID, secret, secret, "https://"+secret+".example", secret+".example:443"
		a.PublicKey, a.Version, a.Description, a.Health.Detail, a.Health.Reason = secret, secret, secret, secret, secret
		a.Health.Capabilities = []string{secret}
	})
	f.agent("bee", func(a *arena.Agent) { a.OwnerID, a.OwnerName = "ow_b", "b" })
	f.ok(f.Operations.Audit(ctx, arena.AuditEntry{At: start, Actor: kim.ID, Action: "update-agent", Target: "ag_ant", Before: json.RawMessage(`"` + secret + `"`)}))
	f.over("m_1", start, "ag_ant", "ag_bee")
	f.open("m_2", "ag_ant", "ag_bee")
	login := arena.Session{ID: "ss_1", OwnerID: kim.ID, Hash: [32]byte{9}, Browser: secret, CreatedAt: start, LastUsedAt: start}
	f.ok(f.People.CreateSession(ctx, login))
	f.ok(f.People.CreateInvitation(ctx, arena.Invitation{ID: "in_1", Hash: [32]byte{8}, Name: secret, Email: secret, Uses: 2, CreatedAt: start, ExpiresAt: start.Add(time.Hour)}))
	f.ok(second(f.Accounts.Join(ctx, [32]byte{8}, func(i arena.Invitation) (arena.Joined, error) {
		role := arena.Owner{ID: kim.ID, Role: arena.Role{Scope: arena.ScopeModerator}}
		return arena.Joined{Owner: role, Accept: func(arena.Owner) error { return nil }, Audit: []arena.AuditEntry{{At: start, Actor: kim.ID, Action: "join", Target: i.ID}}}, nil
	})))
	f.ok(f.Operations.Audit(ctx, arena.AuditEntry{At: start, Actor: "admin", Action: "invite", Target: "in_1", After: json.RawMessage(`"` + secret + `"`)}))
	f.ok(f.Outbox.ConfirmEmail(ctx, kim.ID, kim.Email, start))
	asked, notice := queued("ml_1", arena.MailReset, strings.ToUpper(kim.Email), start), queued("ml_2", arena.MailPause, secret, start)
	notice.OwnerID = kim.ID
	f.ok(f.Outbox.QueueMail(ctx, asked, mailLimits))
	f.ok(f.Outbox.QueueMail(ctx, notice, mailLimits))
	f.ok(f.Outbox.AddMailLinks(ctx, []arena.MailLink{{Hash: [32]byte{7}, Kind: arena.MailReset, OwnerID: kim.ID, Address: kim.Email, ExpiresAt: start.Add(time.Hour)}}))

	f.fails(arena.CodeNotFound, f.Accounts.EraseOwner(ctx, arena.OwnerErasure{OwnerID: "ow_none", At: start}))
	at := start.Add(time.Minute)
	f.clock.advance(time.Minute)
	for range 2 { // again changes nothing
		f.ok(f.Accounts.EraseOwner(ctx, arena.OwnerErasure{OwnerID: kim.ID, At: at}, arena.AuditEntry{At: at, Actor: "admin", Action: "delete-owner", Target: kim.ID}))
		f.equal([]arena.OwnerErasure{{OwnerID: kim.ID, At: at}}, must(f.Accounts.OwnerErasures(ctx, "", 10))(f))
	}
	_, err := f.Accounts.TokenByHash(ctx, first.Hash)
	f.fails(arena.CodeNotFound, err)
	_, err = f.People.SessionByHash(ctx, login.Hash)
	f.fails(arena.CodeNotFound, err)
	f.fails(arena.CodeConflict, f.People.CreateSession(ctx, login)) // of a sign-in that had begun
	_, err = f.People.SetRole(ctx, kim.ID, arena.Role{Scope: arena.ScopeAdmin}, nil)
	f.fails(arena.CodeConflict, err)
	f.equal(arena.Owner{ID: kim.ID, Name: arena.DeletedOwner, CreatedAt: start, ErasedAt: at}, must(f.Accounts.Owner(ctx, kim.ID))(f))
	g := must(f.Agents.Agent(ctx, "ag_ant"))(f)
	f.equal([]any{arena.DeletedAgent, "", "", at, 0}, []any{g.Name, g.Endpoint, g.Version, g.RetiredAt, len(g.Leagues)})
	f.equal("bee", must(f.Agents.Agent(ctx, "ag_bee"))(f).Name)
	_, err = f.Accounts.SuspendOwner(ctx, kim.ID, at, "", arena.AuditEntry{})
	f.fails(arena.CodeConflict, err)
	_, err = f.Accounts.ReplaceTokens(ctx, kim.ID, []arena.Token{token("to_new", kim.ID)})
	f.fails(arena.CodeConflict, err)
	_, err = f.Outbox.ClaimMail(ctx, at, func(m arena.QueuedMail) time.Time { return m.NextAt })
	f.fails(arena.CodeNotFound, err)
	_, _, err = f.Accounts.ResetTokens(ctx, [32]byte{7}, nil)
	f.fails(arena.CodeNotFound, err)
	f.fails(arena.CodeConflict, f.Outbox.SetMailSettings(ctx, kim.ID, arena.MailSettings{}))

	seats, open, err := f.Accounts.ErasableSeats(ctx, kim.ID, 10)
	f.ok(err)
	f.equal([]arena.SeatTexts{{MatchID: "m_1", AgentID: "ag_ant"}}, seats)
	f.equal(1, open)
	f.equal(1, len(must(f.Accounts.UnfinishedErasures(ctx, 10))(f)))
	f.ok(f.Matches.EraseTexts(ctx, arena.TextErasure{MatchID: "m_1", AgentID: "ag_ant", Commitments: map[string]string{"/seats/0/name": "c"}}))
	seats, _, err = f.Accounts.ErasableSeats(ctx, kim.ID, 10)
	f.ok(err)
	f.equal(0, len(seats))
	f.ok(f.Accounts.FinishErasure(ctx, kim.ID))
	f.equal(0, len(must(f.Accounts.UnfinishedErasures(ctx, 10))(f)))

	entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 10})
	f.ok(err)
	f.equal(5, len(entries))
	for _, shown := range []any{g, entries, must(f.People.Invitations(ctx, 10))(f), must(f.Accounts.Owner(ctx, kim.ID))(f), must(f.Accounts.Token(ctx, "to_kim"))(f)} {
		if text := fmt.Sprintf("%+v", shown); strings.Contains(text, secret) {
			f.t.Errorf("a personal text is left: %s", text)
		}
	}
}
