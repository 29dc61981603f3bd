package token

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// oidcIssuer serves discovery and keys over HTTP.
type oidcIssuer struct {
	*httptest.Server
	mu    sync.Mutex
	keys  []map[string]any
	extra string // after the keys
	name  string // how it calls itself, "" its URL
	jwks  string // jwks_uri, "" its own
	down  bool
	calls int
}

func newOIDCIssuer(t testing.TB) *oidcIssuer {
	t.Helper()
	o := &oidcIssuer{}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		o.answer(w, func() any {
			name, jwks := o.name, o.jwks
			if name == "" {
				name = o.URL
			}
			if jwks == "" {
				jwks = o.URL + "/keys"
			}
			return map[string]any{"issuer": name, "jwks_uri": jwks, "token_endpoint": "x"}
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		o.answer(w, func() any { return map[string]any{"keys": o.keys, "pad": o.extra} })
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/keys", http.StatusFound) })
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

func (o *oidcIssuer) answer(w http.ResponseWriter, body func() any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	if o.down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	_ = json.NewEncoder(w).Encode(body()) // the caller sees what is missing
}

func (o *oidcIssuer) set(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// publish makes a public key one of the issuer's.
func (o *oidcIssuer) publish(t testing.TB, kid string, public any, change map[string]any) {
	t.Helper()
	key, err := jwkset.NewJWKFromKey(public, jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: kid, USE: jwkset.UseSig}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(key.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	maps.Copy(m, change)
	o.set(func() { o.keys = append(o.keys, m) })
}

type claimsOf = map[string]any

// oidcSetup is a verifier, its issuer with one EC key, and the token it signs.
type oidcSetup struct {
	*OIDCVerifier
	t      testing.TB
	issuer *oidcIssuer
	clock  *clock
	ec     *ecdsa.PrivateKey
}

func newOIDCSetup(t testing.TB) *oidcSetup {
	t.Helper()
	s := &oidcSetup{t: t, issuer: newOIDCIssuer(t), clock: newClock()}
	var err error
	if s.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	s.issuer.publish(t, "ec", &s.ec.PublicKey, nil)
	client := s.issuer.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.OIDCVerifier = NewOIDCVerifier(OIDCOptions{
		Issuer: s.issuer.URL, Audience: "arena", AdminClaim: "realm.roles", AdminValue: "arena-admin", HTTP: client, Now: s.clock.now,
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	return s
}

// sign makes a token; a nil claim or header is left out.
func (s *oidcSetup) sign(method jwt.SigningMethod, key any, header, change claimsOf) string {
	s.t.Helper()
	now := s.clock.now().Unix()
	c := jwt.MapClaims{"iss": s.issuer.URL, "aud": "arena", "sub": "u-1", "iat": now, "exp": now + 300}
	tok := jwt.NewWithClaims(method, c)
	tok.Header["kid"] = "ec"
	for to, with := range map[string]claimsOf{"c": change, "h": header} {
		for name, v := range with {
			m := map[string]any(c)
			if to == "h" {
				m = tok.Header
			}
			if m[name] = v; v == nil {
				delete(m, name)
			}
		}
	}
	text, err := tok.SignedString(key)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

func (s *oidcSetup) code(token string) arena.Code {
	_, err := s.Verify(s.t.Context(), token)
	return arena.CodeOf(err)
}

// Threats A1 and A4: a token is valid if its issuer signed it for
// this arena. All others get the same 401.
func TestOIDCVerifier_Verify(t *testing.T) {
	t.Parallel()
	s := newOIDCSetup(t)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s.issuer.publish(t, "rsa", &rsaKey.PublicKey, nil)
	s.issuer.publish(t, "rsa-only-ps", &rsaKey.PublicKey, claimsOf{"alg": "PS256"})
	s.issuer.publish(t, "weak", &weak.PublicKey, nil)
	s.issuer.publish(t, "ed", edPublic, nil)
	s.issuer.publish(t, "enc", &rsaKey.PublicKey, claimsOf{"use": "enc"})
	s.issuer.set(func() {
		s.issuer.keys = append(s.issuer.keys, claimsOf{"kty": "oct", "kid": "shared", "k": "c2VjcmV0"}, claimsOf{"kty": "EC", "crv": "P-0", "kid": "odd"})
	})
	der, err := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	rsaPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	now := s.clock.now().Unix()
	es, none := jwt.SigningMethodES256, claimsOf(nil)
	good := s.sign(es, s.ec, none, none)
	for name, token := range map[string]string{
		"ES256":              good,
		"RS256":              s.sign(jwt.SigningMethodRS256, rsaKey, claimsOf{"kid": "rsa"}, none),
		"PS256":              s.sign(jwt.SigningMethodPS256, rsaKey, claimsOf{"kid": "rsa-only-ps"}, none),
		"EdDSA":              s.sign(jwt.SigningMethodEdDSA, edKey, claimsOf{"kid": "ed"}, none),
		"at+jwt":             s.sign(es, s.ec, claimsOf{"typ": "application/at+JWT"}, none),
		"several audiences":  s.sign(es, s.ec, none, claimsOf{"aud": []string{"x", "arena"}}),
		"within the leeway":  s.sign(es, s.ec, none, claimsOf{"exp": now - 29, "nbf": now + 29, "iat": now + 29}),
		"fractions in times": s.sign(es, s.ec, none, claimsOf{"exp": float64(now) + 60.5, "iat": nil}),
		"jwk is not read":    s.sign(es, s.ec, claimsOf{"jwk": claimsOf{"kty": "oct", "k": "c2VjcmV0"}}, none),
	} {
		who, err := s.Verify(t.Context(), token)
		if who.IssuedAt = (time.Time{}); err != nil || who != (arena.Identity{Issuer: s.issuer.URL, Subject: "u-1"}) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	unsigned := strings.Join(strings.Split(s.sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, none, none), ".")[:2], ".") + "."
	twice := strings.Replace(mustPayload(t, good), `"aud":"arena"`, `"aud":"x","aud":"arena"`, 1)
	doubled, err := es.Sign(strings.Split(good, ".")[0]+"."+b64(twice), s.ec)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"empty": "", "no token": "a.b.c", "too long": good + strings.Repeat("x", maxOIDCToken),
		"alg none":                    unsigned,
		"HS256 with the public key":   s.sign(jwt.SigningMethodHS256, rsaPEM, claimsOf{"kid": "rsa"}, none),
		"HS256 with the shared key":   s.sign(jwt.SigningMethodHS256, []byte("secret"), claimsOf{"kid": "shared"}, none),
		"RS512":                       s.sign(jwt.SigningMethodRS512, rsaKey, claimsOf{"kid": "rsa"}, none),
		"RS256 by a key for PS256":    s.sign(jwt.SigningMethodRS256, rsaKey, claimsOf{"kid": "rsa-only-ps"}, none),
		"RS256 by a short key":        s.sign(jwt.SigningMethodRS256, weak, claimsOf{"kid": "weak"}, none),
		"a key for encryption":        s.sign(jwt.SigningMethodRS256, rsaKey, claimsOf{"kid": "enc"}, none),
		"a key of no known curve":     s.sign(es, s.ec, claimsOf{"kid": "odd"}, none),
		"another's key":               s.sign(es, other, none, none),
		"another's key, brought":      s.sign(es, other, claimsOf{"kid": "new", "jku": "https://evil.example/keys"}, none),
		"the wrong key":               s.sign(es, s.ec, claimsOf{"kid": "rsa"}, none),
		"no kid":                      s.sign(es, s.ec, claimsOf{"kid": nil}, none),
		"kid is no text":              s.sign(es, s.ec, claimsOf{"kid": []string{"ec"}}, none),
		"crit":                        s.sign(es, s.ec, claimsOf{"crit": []string{"x"}}, none),
		"typ of a task token":         s.sign(es, s.ec, claimsOf{"typ": typ}, none),
		"another issuer":              s.sign(es, s.ec, none, claimsOf{"iss": "https://evil.example"}),
		"the issuer with a slash":     s.sign(es, s.ec, none, claimsOf{"iss": s.issuer.URL + "/"}),
		"another audience":            s.sign(es, s.ec, none, claimsOf{"aud": "other"}),
		"no audience":                 s.sign(es, s.ec, none, claimsOf{"aud": nil}),
		"two audiences of one name":   strings.Join([]string{strings.Split(good, ".")[0], b64(twice), b64(string(doubled))}, "."),
		"expired":                     s.sign(es, s.ec, none, claimsOf{"exp": now - 31}),
		"no exp":                      s.sign(es, s.ec, none, claimsOf{"exp": nil}),
		"exp in the year 10000":       s.sign(es, s.ec, none, claimsOf{"exp": int64(253402300800)}),
		"exp beyond all":              s.sign(es, s.ec, none, claimsOf{"exp": 1e300}),
		"nbf ahead":                   s.sign(es, s.ec, none, claimsOf{"nbf": now + 31}),
		"iat ahead":                   s.sign(es, s.ec, none, claimsOf{"iat": now + 31}),
		"no subject":                  s.sign(es, s.ec, none, claimsOf{"sub": ""}),
		"long subject":                s.sign(es, s.ec, none, claimsOf{"sub": strings.Repeat("s", maxSubject+1)}),
		"claims in another spelling":  s.sign(es, s.ec, none, claimsOf{"Aud": "arena"}),
		"a line break in the signing": good[:len(good)-10] + "\n" + good[len(good)-10:],
	} {
		_, err := s.Verify(t.Context(), token)
		if arena.CodeOf(err) != arena.CodeUnauthorized || !strings.HasPrefix(err.Error(), "the token is not valid") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func mustPayload(t *testing.T, token string) string {
	t.Helper()
	c := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(token, c); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOIDCVerifier_Verify_who(t *testing.T) {
	t.Parallel()
	s := newOIDCSetup(t)
	for name, tc := range map[string]struct {
		claims claimsOf
		want   arena.Identity
	}{
		"named":              {claimsOf{"name": "Kim", "preferred_username": "k"}, arena.Identity{Name: "Kim"}},
		"user name":          {claimsOf{"preferred_username": "k"}, arena.Identity{Name: "k"}},
		"name is no text":    {claimsOf{"name": 3}, arena.Identity{}},
		"verified address":   {claimsOf{"email": "a@b.example", "email_verified": true}, arena.Identity{Email: "a@b.example"}},
		"unverified address": {claimsOf{"email": "a@b.example", "email_verified": "true"}, arena.Identity{}},
		"admin in a list":    {claimsOf{"realm": claimsOf{"roles": []string{"x", "arena-admin"}}}, arena.Identity{Admin: true}},
		"admin alone":        {claimsOf{"realm": claimsOf{"roles": "arena-admin"}}, arena.Identity{Admin: true}},
		"admin by its name":  {claimsOf{"realm.roles": []string{"arena-admin"}}, arena.Identity{Admin: true}},
		"the name wins":      {claimsOf{"realm.roles": "no", "realm": claimsOf{"roles": "arena-admin"}}, arena.Identity{}},
		"not quite":          {claimsOf{"realm": claimsOf{"roles": "arena-admin x"}}, arena.Identity{}},
		"another place":      {claimsOf{"roles": "arena-admin"}, arena.Identity{}},
		"a number in it":     {claimsOf{"realm": claimsOf{"roles": []any{1, "arena-admin"}}}, arena.Identity{}},
		"no object":          {claimsOf{"realm": "roles"}, arena.Identity{}},
	} {
		tc.want.Issuer, tc.want.Subject, tc.want.IssuedAt = s.issuer.URL, "u-1", s.clock.now().Truncate(time.Second)
		got, err := s.Verify(t.Context(), s.sign(jwt.SigningMethodES256, s.ec, nil, tc.claims))
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// Keys are fetched when they are needed and not more often than the issuer
// can be asked to.
func TestOIDCVerifier_keys(t *testing.T) {
	t.Parallel()
	s := newOIDCSetup(t)
	next, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	es := jwt.SigningMethodES256
	old, rotated := s.sign(es, s.ec, nil, claimsOf{"exp": s.clock.now().Unix() + 1e6}), s.sign(es, next, claimsOf{"kid": "next"}, claimsOf{"exp": s.clock.now().Unix() + 1e6})
	expect := func(step string, token string, want arena.Code, calls int) {
		t.Helper()
		before := 0
		s.issuer.set(func() { before = s.issuer.calls })
		if got := s.code(token); got != want {
			t.Errorf("%s: code %q, want %q", step, got, want)
		}
		s.issuer.set(func() {
			if made := s.issuer.calls - before; made != calls {
				t.Errorf("%s: %d calls of the issuer, want %d", step, made, calls)
			}
		})
	}
	down := func(yes bool) { s.issuer.set(func() { s.issuer.down = yes }) }

	down(true)
	expect("the issuer is unavailable from the start", old, arena.CodeUnavailable, 1)
	down(false)
	expect("too soon for another look", old, arena.CodeUnavailable, 0)
	s.clock.add(issuerRetry)
	expect("first look", old, "", 2)
	expect("known", old, "", 0)
	expect("unknown key, too soon", rotated, arena.CodeUnauthorized, 0)
	s.issuer.publish(t, "next", &next.PublicKey, nil)
	s.clock.add(issuerRetry)
	expect("rotated", rotated, "", 2)
	expect("the old key is still published", old, "", 0)
	s.issuer.set(func() { s.issuer.keys = s.issuer.keys[1:] })
	expect("withdrawn a moment ago", old, "", 0)
	s.clock.add(issuerFresh)
	expect("withdrawn", old, arena.CodeUnauthorized, 2)

	s.clock.add(issuerFresh)
	down(true)
	expect("the issuer is unavailable", rotated, "", 1)
	expect("not asked again", rotated, "", 0)
	expect("the key cannot be checked", old, arena.CodeUnavailable, 0)
	s.clock.add(issuerKeep)
	expect("too long away", rotated, arena.CodeUnavailable, 1)
	down(false)
	s.clock.add(issuerRetry)
	expect("back", rotated, "", 2)

	s.clock.add(issuerFresh)
	for name, change := range map[string]func(){
		"too large":          func() { s.issuer.extra = strings.Repeat("x", issuerBody) },
		"another issuer":     func() { s.issuer.name = "https://evil.example" },
		"keys by file":       func() { s.issuer.jwks = "file:///etc/passwd" },
		"keys with a user":   func() { s.issuer.jwks = strings.Replace(s.issuer.URL, "//", "//u:p@", 1) + "/keys" },
		"keys moved":         func() { s.issuer.jwks = s.issuer.URL + "/moved" },
		"one name, two":      func() { s.issuer.keys = append(s.issuer.keys, s.issuer.keys[0]) },
		"a flood of keys":    func() { s.issuer.keys = make([]map[string]any, issuerMost+1) },
		"plain http keys":    func() { s.issuer.jwks = "ftp://127.0.0.1/keys" },
		"no list of keys":    func() { s.issuer.jwks = s.issuer.URL + "/nothing" },
		"an odd discovery":   func() { s.issuer.name = s.issuer.URL + "/" },
		"a longer discovery": func() { s.issuer.name = strings.Repeat("x", issuerBody) },
	} {
		var keys []map[string]any
		s.issuer.set(func() {
			keys = s.issuer.keys
			change()
		})
		s.clock.add(issuerRetry)
		if err := s.keys.look(t.Context()); err == nil {
			t.Errorf("%s: taken", name)
		}
		s.issuer.set(func() { s.issuer.keys, s.issuer.extra, s.issuer.name, s.issuer.jwks = keys, "", "", "" })
	}
}

// While one caller waits for the issuer, those with known keys do not.
func TestOIDCVerifier_keys_noWait(t *testing.T) {
	t.Parallel()
	s := newOIDCSetup(t)
	good := s.sign(jwt.SigningMethodES256, s.ec, nil, claimsOf{"exp": s.clock.now().Unix() + 1e6})
	if s.code(good) != "" {
		t.Fatal("refused")
	}
	s.clock.add(issuerFresh)
	s.keys.looking.Lock() // a look that takes its time
	defer s.keys.looking.Unlock()
	if code := s.code(good); code != "" {
		t.Errorf("code %q", code)
	}
}

// No answer of an issuer makes a key of anything else. Threat E7.
func FuzzReadKeys(f *testing.F) {
	f.Add([]byte(`{"kty":"EC","crv":"P-256","kid":"a","x":"AA","y":"AA"}`))
	f.Add([]byte(`{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB","use":"sig"}`))
	f.Add([]byte(`{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`))
	f.Add([]byte(`{"kty":"oct","kid":"a","k":"c2VjcmV0"}`))
	f.Fuzz(func(t *testing.T, one []byte) {
		if !json.Valid(one) {
			return
		}
		found, err := readKeys(t.Context(), []json.RawMessage{one})
		if err != nil {
			return
		}
		for kid := range found.kids {
			key, err := found.Storage().KeyRead(t.Context(), kid)
			if err != nil {
				t.Fatal(err)
			}
			switch public := key.Key().(type) {
			case *rsa.PublicKey:
				if public.N.BitLen() < issuerRSABits {
					t.Fatalf("%q: %d bits", one, public.N.BitLen())
				}
			case *ecdsa.PublicKey, ed25519.PublicKey:
			default:
				t.Fatalf("%q: a %T", one, public)
			}
		}
	})
}
