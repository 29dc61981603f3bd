package token

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

const issuer = "https://arena.example"

// rows is a store of signing keys in memory: the other side of Keys.
type rows struct {
	mu    sync.Mutex
	keys  []arena.SigningKey
	reads int
	err   error
}

func (r *rows) SigningKeys(context.Context) ([]arena.SigningKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	return slices.Clone(r.keys), r.err
}

func (r *rows) AddSigningKey(_ context.Context, k arena.SigningKey, retire map[string]time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.keys {
		if at, ok := retire[r.keys[i].KID]; ok {
			r.keys[i].ExpiresAt = at
		}
	}
	r.keys = append(r.keys, k)
	return r.err
}

func (r *rows) FirstSigningKey(_ context.Context, k arena.SigningKey) ([]arena.SigningKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 {
		r.keys = append(r.keys, k)
	}
	return slices.Clone(r.keys), r.err
}

// clock is set by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 21, 12, 0, 0, 700e6, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func open(t testing.TB, s *rows, c *clock, alg string) *Keys {
	t.Helper()
	k, err := New(t.Context(), Options{Store: s, Issuer: issuer + "/", Alg: alg, Now: c.now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func task(c *clock) arena.TaskClaims {
	return arena.TaskClaims{
		ID: "jt_1", AgentID: "ag_a", MatchID: "m_1", Round: 3, BodyHash: "aGFzaA",
		ExpiresAt: c.now().Add(35 * time.Second),
	}
}

func sign(t testing.TB, k *Keys, c *clock) string {
	t.Helper()
	s, err := k.Sign(task(c))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKeys_Sign(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{ES256, EdDSA, RS256} {
		t.Run(alg, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			k := open(t, &rows{}, c, alg)
			s := sign(t, k, c)

			got, err := k.Verify(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			want := task(c)
			want.IssuedAt = c.now().Truncate(time.Second).Add(-5 * time.Second)
			want.ExpiresAt = want.ExpiresAt.Truncate(time.Second)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}

			// A library with its defaults and the served key set, on a clock that is behind.
			behind := func() time.Time { return c.now().Add(-4 * time.Second) }
			var set jwkset.JWKSMarshal
			if err := json.Unmarshal(served(t, k).Body.Bytes(), &set); err != nil {
				t.Fatal(err)
			}
			keys, err := set.ToStorage()
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := jwt.Parse(s, func(tok *jwt.Token) (any, error) {
				jwk, err := keys.KeyRead(t.Context(), tok.Header["kid"].(string))
				return jwk.Key(), err
			}, jwt.WithTimeFunc(behind), jwt.WithIssuedAt(), jwt.WithAudience("ag_a"), jwt.WithIssuer(issuer))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(jwt.MapClaims{
				"agent_id": "ag_a", "sub": "ag_a", "aud": "ag_a", "match_id": "m_1", "iss": issuer, "jti": "jt_1", "bh": "aGFzaA",
				"round": 3.0, "iat": float64(want.IssuedAt.Unix()), "exp": float64(want.ExpiresAt.Unix()), "expires_at": float64(want.ExpiresAt.Unix()),
			}, parsed.Claims); diff != "" {
				t.Errorf("claims on the wire (-want +got):\n%s", diff)
			}
			if parsed.Header["typ"] != "aap-task+jwt" || parsed.Header["alg"] != alg {
				t.Errorf("header is %v", parsed.Header)
			}
		})
	}
}

func TestKeys_Sign_refuses(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := open(t, &rows{}, c, ES256)
	for name, change := range map[string]func(*arena.TaskClaims){
		"no agent":       func(x *arena.TaskClaims) { x.AgentID = "" },
		"no match":       func(x *arena.TaskClaims) { x.MatchID = "" },
		"no expiry":      func(x *arena.TaskClaims) { x.ExpiresAt = time.Time{} },
		"expired":        func(x *arena.TaskClaims) { x.ExpiresAt = c.now().Add(-time.Second) },
		"round alone":    func(x *arena.TaskClaims) { x.BodyHash = "" },
		"body alone":     func(x *arena.TaskClaims) { x.Round = 0 },
		"lives too long": func(x *arena.TaskClaims) { x.ExpiresAt = c.now().Add(DefaultMaxLifetime + 2*time.Minute) },
	} {
		x := task(c)
		change(&x)
		if s, err := k.Sign(x); err == nil {
			t.Errorf("%s: signed %s", name, s)
		}
	}
	x := task(c)
	x.ID, x.IssuedAt = "", c.now().Add(time.Hour)
	s, err := k.Sign(x)
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Verify(t.Context(), s)
	if err != nil || got.ID == "" || got.IssuedAt.After(c.now()) {
		t.Errorf("Verify = %+v, %v; want a made jti and iat not in the future", got, err)
	}
}

func served(t *testing.T, k *Keys) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	k.JWKS().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/.well-known/jwks.json", nil))
	return w
}

func TestKeys_JWKS(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{ES256, EdDSA, RS256} {
		t.Run(alg, func(t *testing.T) {
			t.Parallel()
			k := open(t, &rows{}, newClock(), alg)
			w := served(t, k)
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type is %q", got)
			}
			if got := w.Header().Get("Cache-Control"); got != "public, max-age=300" {
				t.Errorf("Cache-Control is %q", got)
			}
			var set struct{ Keys []map[string]any }
			if err := json.Unmarshal(w.Body.Bytes(), &set); err != nil {
				t.Fatal(err)
			}
			if len(set.Keys) != 1 || set.Keys[0]["alg"] != alg || set.Keys[0]["use"] != "sig" || set.Keys[0]["kid"] != k.Keys()[0].KID {
				t.Errorf("set is %s", w.Body)
			}
			for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
				if _, ok := set.Keys[0][private]; ok {
					t.Errorf("private member %q is served", private)
				}
			}
			tag := w.Header().Get("ETag")
			// Proxies list tags and make them weak (RFC 9110, section 13.1.2).
			for known, want := range map[string]int{tag: 304, `"other", ` + tag: 304, "W/" + tag: 304, "*": 304, `"other"`: 200} {
				again := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
				again.Header.Set("If-None-Match", known)
				w2 := httptest.NewRecorder()
				k.JWKS().ServeHTTP(w2, again)
				if w2.Code != want || (w2.Body.Len() == 0) != (want == http.StatusNotModified) || w2.Header().Get("ETag") != tag {
					t.Errorf("GET with If-None-Match %s: %d with %d bytes", known, w2.Code, w2.Body.Len())
				}
			}
			w3 := httptest.NewRecorder()
			k.JWKS().ServeHTTP(w3, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
			if w3.Code != http.StatusMethodNotAllowed {
				t.Errorf("POST: %d", w3.Code)
			}
		})
	}
}

func TestKeys_Rotate(t *testing.T) {
	t.Parallel()
	c, s := newClock(), &rows{}
	a := open(t, s, c, ES256)
	b := open(t, s, c, ES256) // another node
	if len(s.keys) != 1 {
		t.Fatalf("two nodes made %d keys", len(s.keys))
	}
	old := a.Keys()[0].KID

	next, err := a.Rotate(t.Context(), DefaultOverlap)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(k *Keys, want map[string]State) {
		t.Helper()
		got := map[string]State{}
		for _, i := range k.Keys() {
			got[i.KID] = i.State
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	}
	signedBy := func(k *Keys) string {
		t.Helper()
		tok, _, err := jwt.NewParser().ParseUnverified(sign(t, k, c), jwt.MapClaims{})
		if err != nil {
			t.Fatal(err)
		}
		return tok.Header["kid"].(string)
	}
	expect(a, map[string]State{old: StateSigning, next: StateNext})
	if body := served(t, a).Body.String(); !strings.Contains(body, next) {
		t.Errorf("the next key is not published: %s", body)
	}
	if got := signedBy(a); got != old {
		t.Errorf("signed by %s before the overlap ended", got)
	}

	c.add(DefaultOverlap)
	expect(a, map[string]State{old: StateRetiring, next: StateSigning})
	if got := signedBy(a); got != next {
		t.Errorf("signed by %s after the overlap", got)
	}
	late := sign(t, b, c) // b has not reloaded: it signs with the old key still
	if _, err := a.Verify(t.Context(), late); err != nil {
		t.Errorf("a token of a node that lags: %v", err)
	}
	if _, err := b.Verify(t.Context(), sign(t, a, c)); err != nil { // b loads the new key at once
		t.Errorf("a token of a rotation elsewhere: %v", err)
	}
	expect(b, map[string]State{old: StateRetiring, next: StateSigning})

	c.add(DefaultMaxLifetime + lifetimeSlack + staleSigner)
	expect(a, map[string]State{old: StateRetiring, next: StateSigning})
	c.add(leeway)
	expect(a, map[string]State{old: StateExpired, next: StateSigning})
	if body := served(t, a).Body.String(); strings.Contains(body, old) {
		t.Errorf("an expired key is published: %s", body)
	}

	now, err := b.Rotate(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := signedBy(b); got != now {
		t.Errorf("signed by %s after a rotation without overlap", got)
	}
	if _, err := b.Rotate(t.Context(), -time.Second); arena.CodeOf(err) != arena.CodeInvalid {
		t.Errorf("a delay below zero: %v", err)
	}
}

// A rotation in haste overtakes one that waits.
func TestKeys_Rotate_overtakes(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := open(t, &rows{}, c, EdDSA)
	if _, err := k.Rotate(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	c.add(time.Minute)
	hasty, err := k.Rotate(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := k.ring.Load().signing(c.now()).KID; got != hasty {
			t.Errorf("%s signs, want the newest", got)
		}
		c.add(time.Hour)
	}
}

func TestKeys_New(t *testing.T) {
	t.Parallel()
	t.Run("keeps_keys", func(t *testing.T) {
		t.Parallel()
		c, s := newClock(), &rows{}
		signed := sign(t, open(t, s, c, ES256), c)
		if _, err := open(t, s, c, ES256).Verify(t.Context(), signed); err != nil {
			t.Errorf("after a restart: %v", err)
		}
	})
	t.Run("other_algorithm_overlaps", func(t *testing.T) {
		t.Parallel()
		c, s := newClock(), &rows{}
		open(t, s, c, ES256)
		k := open(t, s, c, EdDSA)
		if got := k.ring.Load().signing(c.now()).Alg; got != ES256 {
			t.Errorf("%s signs at once", got)
		}
		c.add(DefaultOverlap)
		if got := k.ring.Load().signing(c.now()).Alg; got != EdDSA {
			t.Errorf("%s signs after the overlap", got)
		}
		open(t, s, c, EdDSA)
		if len(s.keys) != 2 {
			t.Errorf("a restart left %d keys", len(s.keys))
		}
	})
	t.Run("clock_behind_the_first_key", func(t *testing.T) {
		t.Parallel()
		c, s := newClock(), &rows{}
		open(t, s, c, ES256)
		c.add(-3 * time.Second)
		sign(t, open(t, s, c, ES256), c)
	})
	t.Run("refuses", func(t *testing.T) {
		t.Parallel()
		c := newClock()
		full := Options{Store: &rows{}, Issuer: issuer, Alg: ES256, Now: c.now, Logger: slog.New(slog.DiscardHandler)}
		for name, change := range map[string]func(*Options){
			"no store":   func(o *Options) { o.Store = nil },
			"no issuer":  func(o *Options) { o.Issuer = "/" },
			"HS256":      func(o *Options) { o.Alg = "HS256" },
			"no clock":   func(o *Options) { o.Now = nil },
			"no logger":  func(o *Options) { o.Logger = nil },
			"lifetime":   func(o *Options) { o.MaxLifetime = -1 },
			"store down": func(o *Options) { o.Store = &rows{err: errors.New("down")} },
			"bad row":    func(o *Options) { o.Store = &rows{keys: []arena.SigningKey{{KID: "key_x", Alg: ES256}}} },
		} {
			o := full
			change(&o)
			if _, err := New(t.Context(), o); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
}

// Threat E7: unknown kids must not become reads of the database.
func TestKeys_Verify_unknown_kid_reloads_seldom(t *testing.T) {
	t.Parallel()
	c, s := newClock(), &rows{}
	k := open(t, s, c, ES256)
	foreign := open(t, &rows{}, c, ES256)
	c.add(time.Minute)
	before := s.reads
	for range 50 {
		if _, err := k.Verify(t.Context(), sign(t, foreign, c)); err == nil {
			t.Fatal("another arena's token was accepted")
		}
	}
	if got := s.reads - before; got != 1 {
		t.Errorf("%d reads for 50 unknown kids, want 1", got)
	}
}

func TestKeys_concurrent(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := open(t, &rows{}, c, EdDSA)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				s, err := k.Sign(task(c))
				if err == nil {
					_, err = k.Verify(t.Context(), s)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		if _, err := k.Rotate(t.Context(), 0); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	a, hash := NewSecret(OwnerSecretPrefix)
	b, _ := NewSecret(OwnerSecretPrefix)
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(a, OwnerSecretPrefix))
	if err != nil || len(raw) != 32 || !strings.HasPrefix(a, "aro_") {
		t.Errorf("secret %q holds %d bytes, %v", a, len(raw), err)
	}
	if a == b || hash != Hash(a) || hash == Hash(b) {
		t.Error("secrets or hashes repeat")
	}
}

func BenchmarkKeys_Sign(b *testing.B) {
	c := newClock()
	k, err := New(b.Context(), Options{Store: &rows{}, Issuer: issuer, Alg: ES256, Now: c.now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := k.Sign(task(c)); err != nil {
			b.Fatal(err)
		}
	}
}
