package signin_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/signin"
	"github.com/agora-arena/arena/internal/signin/signintest"
)

const callback = "http://127.0.0.1:9/v1/signin/callback"

// personOf keeps what the claims say, for tests to look at.
func personOf(claims ...json.RawMessage) (id arena.Identity, err error) {
	for _, set := range claims {
		var c struct {
			Sub   string   `json:"sub"`
			Name  string   `json:"name"`
			Email string   `json:"email"`
			Roles []string `json:"roles"`
		}
		if err := json.Unmarshal(set, &c); err != nil {
			return id, err
		}
		if c.Sub != "" {
			id.Subject = c.Sub
		}
		if c.Name != "" {
			id.Name = c.Name
		}
		if c.Email != "" {
			id.Email = c.Email
		}
		id.Admin = id.Admin || len(c.Roles) > 0
	}
	return id, nil
}

func newProvider(t *testing.T, issuer, id, secret string) *signin.Provider {
	t.Helper()
	client := &http.Client{
		Transport:     http.DefaultTransport.(*http.Transport).Clone(), //nolint:forcetypeassert // of net/http
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(client.CloseIdleConnections)
	p := signin.New(signin.Options{
		Issuer: issuer, ClientID: id, ClientSecret: secret, RedirectURL: callback, Person: personOf, HTTP: client, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	return p
}

// The whole flow against a real provider, which demands PKCE, with and without a
// client secret. Threat A1.
func TestProvider_real(t *testing.T) {
	t.Parallel()
	idp := signintest.Start(t, callback)
	for name, p := range map[string]*signin.Provider{
		"with a secret": newProvider(t, idp.Issuer, idp.ClientID, idp.ClientSecret),
		"public":        newProvider(t, idp.Issuer, idp.PublicClientID, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if err := p.Ready(ctx); err != nil {
				t.Fatal(err)
			}
			// begin takes kim to the provider and back.
			begin := func() (arena.SignInAttempt, url.Values) {
				t.Helper()
				address, a, err := p.Begin(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{"code_challenge_method=S256", "response_type=code", "state=" + a.State, "nonce=" + a.Nonce} {
					if !strings.Contains(address, want) {
						t.Errorf("%s is without %s", address, want)
					}
				}
				back := idp.SignIn(t, address, "kim")
				if got := back.Scheme + "://" + back.Host + back.Path; got != callback {
					t.Fatalf("sent back to %s", back)
				}
				return a, back.Query()
			}
			refused := func(what string, code arena.Code, a arena.SignInAttempt, query url.Values) {
				t.Helper()
				if who, err := p.Finish(ctx, a, query); arena.CodeOf(err) != code || who != (arena.Identity{}) {
					t.Errorf("%s: %+v, %v", what, who, err)
				}
			}

			a, query := begin()
			for _, state := range []string{"", "x", a.State + "x"} { // before the code is used
				refused("state "+state, arena.CodeUnauthorized, a, url.Values{"code": query["code"], "iss": query["iss"], "state": {state}})
			}
			want := arena.Identity{Subject: "kim", Name: "kim of the tests", Email: "kim@example.org"}
			if who, err := p.Finish(ctx, a, query); err != nil || who != want {
				t.Fatalf("%+v, %v", who, err)
			}
			refused("a replayed code", arena.CodeUnauthorized, a, query)

			other, otherQuery := begin()
			if other.State == a.State || other.Nonce == a.Nonce || other.Verifier == a.Verifier {
				t.Error("two attempts are alike")
			}
			refused("the state of another attempt", arena.CodeUnauthorized, a, otherQuery)
			refused("no attempt", arena.CodeUnauthorized, arena.SignInAttempt{}, url.Values{"code": otherQuery["code"], "state": {""}})
			mixed := other
			mixed.Verifier = a.Verifier
			refused("another verifier", arena.CodeUnauthorized, mixed, otherQuery)

			stale, staleQuery := begin()
			stale.Nonce = a.Nonce
			refused("another nonce", arena.CodeUnauthorized, stale, staleQuery)

			foreign, foreignQuery := begin()
			foreignQuery.Set("iss", "https://stranger.example")
			refused("a reply of another issuer", arena.CodeUnauthorized, foreign, foreignQuery)
			foreignQuery.Set("iss", idp.Issuer)
			foreignQuery.Set("code", "guessed")
			refused("a guessed code", arena.CodeUnauthorized, foreign, foreignQuery)
			refused("declined", arena.CodeForbidden, foreign, url.Values{"state": {foreign.State}, "error": {"access_denied"}})
		})
	}
	t.Run("a wrong secret", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, idp.Issuer, idp.ClientID, "wrong")
		address, a, err := p.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Finish(t.Context(), a, idp.SignIn(t, address, "kim").Query()); arena.CodeOf(err) != arena.CodeUnauthorized {
			t.Error(err)
		}
	})
	t.Run("an issuer that names itself otherwise", func(t *testing.T) {
		t.Parallel()
		p := newProvider(t, idp.Issuer+"/", idp.ClientID, idp.ClientSecret)
		if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "names itself") {
			t.Error(err)
		}
		if _, _, err := p.Begin(t.Context()); arena.CodeOf(err) != arena.CodeUnavailable {
			t.Error(err)
		}
	})
}
