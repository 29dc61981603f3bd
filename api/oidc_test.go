package api

import (
	"context"
	"strings"
	"testing"

	"github.com/agora-arena/arena/account"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
)

// issuer stands in for the check of OIDC tokens: "who.is.kim" is Kim's.
type issuer struct{}

func (issuer) Verify(_ context.Context, token string) (arena.Identity, error) {
	who := arena.Identity{Issuer: "https://issuer.example", Subject: token, Name: " Kim\u202e\n of " + strings.Repeat("é", 60)}
	switch {
	case strings.HasPrefix(token, "admin."):
		who.Admin = true
	case strings.HasPrefix(token, "away."):
		return arena.Identity{}, arena.Errorf(arena.CodeUnavailable, "the issuer of this token cannot be asked now")
	case !strings.HasPrefix(token, "who."):
		return arena.Identity{}, arena.Errorf(arena.CodeUnauthorized, "the token is not valid")
	}
	return who, nil
}

// Threat A1: a person of the OIDC issuer is an owner or an admin like any other and
// cannot see other owners.
func TestAPI_oidc(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.Issuer = issuer{} })
	kim := w.do("GET", "/v1/me", "who.is.kim", nil).is(200)
	if kim.str("scope") != "owner" || kim.str("token_id") != "oidc:who.is.kim" || !strings.HasPrefix(kim.str("name"), "Kim of é") || len([]rune(kim.str("name"))) > account.MaxName {
		t.Errorf("%s", kim.body)
	}
	if again := w.do("GET", "/v1/me", "who.is.kim", nil).is(200); again.str("owner_id") != kim.str("owner_id") {
		t.Errorf("%s, then %s", kim.body, again.body)
	}
	if lee := w.do("GET", "/v1/me", "who.is.lee", nil).is(200); lee.str("owner_id") == kim.str("owner_id") {
		t.Error("two people are one owner")
	}
	mine := w.agent("who.is.kim", "a")
	w.do("PATCH", "/v1/agents/"+mine, "who.is.lee", object{"description": "x"}).is(404)
	w.do("PATCH", "/v1/agents/"+mine, "who.is.kim", object{"description": "x"}).is(200)
	own := w.do("POST", "/v1/me/tokens", "who.is.kim", object{"name": "cli"}).is(201)
	if me := w.do("GET", "/v1/me", own.str("token"), nil).is(200); me.str("owner_id") != kim.str("owner_id") {
		t.Errorf("the token made is of %s", me.body)
	}
	w.do("GET", "/v1/admin/status", "who.is.kim", nil).is(403)

	if me := w.do("GET", "/v1/me", "admin.is.ann", nil).is(200); me.str("scope") != "admin" {
		t.Errorf("%s", me.body)
	}
	w.league("quiz", nil)
	w.now.Add(1) // the log distinguishes its entries by time
	w.do("PATCH", "/v1/leagues/quiz", "admin.is.ann", object{"title": "Another"}).is(200)
	if log := w.do("GET", "/v1/admin/audit?limit=1", "admin.is.ann", nil).is(200); log.str("items.0.token") != "oidc:admin.is.ann" {
		t.Errorf("%s", log.body)
	}
	w.do("POST", "/v1/me/tokens", "admin.is.ann", object{"name": "x"}).is(403)

	w.do("GET", "/v1/agents", "bad.is.bad", nil).is(401)
	w.do("GET", "/v1/agents", "away.is.away", nil).is(503)
	w.do("GET", "/v1/agents", "who.is", nil).is(401) // no JWT: the issuer is not asked
}

func TestAPI_oidc_modes(t *testing.T) {
	t.Parallel()
	for mode, status := range map[string]int{account.SignupOpen: 200, account.SignupInvite: 200, account.SignupClosed: 403} {
		w := newWorld(t, func(o *parts) { o.Issuer, o.SignupMode = issuer{}, mode })
		w.do("GET", "/v1/me", "who.is.kim", nil).is(status)
		if _, err := w.store.Accounts.AdoptOwner(t.Context(), arena.Owner{ID: "ow_old", CreatedAt: testNow}, arena.Identity{Issuer: "https://issuer.example", Subject: "who.was.here"}); err != nil {
			t.Fatal(err)
		}
		if me := w.do("GET", "/v1/me", "who.was.here", nil).is(200); me.str("owner_id") != "ow_old" {
			t.Errorf("%s: %s", mode, me.body)
		}
	}
	w := newWorld(t)
	w.do("GET", "/v1/me", "who.is.kim", nil).is(401) // no issuer is set
}

// Threat A4: guessed OIDC tokens count against the address, whatever the issuer
// answers.
func TestAPI_oidc_limits(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"bad.is.bad", "away.is.away"} {
		w := newWorld(t, func(o *parts) { o.Issuer, o.Limits = issuer{}, quota.Limits{AddressPerMinute: 5} })
		statuses := map[int]int{}
		for range 8 {
			statuses[w.do("GET", "/v1/agents", token, nil).status]++
		}
		if statuses[429] != 3 {
			t.Errorf("%s: %v", token, statuses)
		}
	}
}
