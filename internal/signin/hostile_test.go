package signin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/agora-arena/arena/arena"
)

// forger is an issuer whose token endpoint answers what a test wants.
type forger struct {
	*httptest.Server
	key      *ecdsa.PrivateKey
	status   int
	tokens   map[string]any
	userInfo map[string]any
}

func newForger(t *testing.T) *forger {
	t.Helper()
	f := &forger{status: http.StatusOK}
	var err error
	if f.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	answer := func(path string, body func() (int, map[string]any)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			status, v := body()
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(v) // the caller sees what is missing
		})
	}
	answer("/.well-known/openid-configuration", func() (int, map[string]any) {
		return 200, map[string]any{
			"issuer": f.URL, "jwks_uri": f.URL + "/keys", "authorization_endpoint": f.URL + "/auth", "token_endpoint": f.URL + "/token", "userinfo_endpoint": f.URL + "/me",
			"id_token_signing_alg_values_supported": []string{"ES256"},
		}
	})
	answer("/keys", func() (int, map[string]any) {
		point, err := f.key.PublicKey.Bytes() // 4, x, y
		if err != nil {
			return 500, nil
		}
		part := base64.RawURLEncoding.EncodeToString
		return 200, map[string]any{"keys": []map[string]any{{"kty": "EC", "crv": "P-256", "kid": "k", "alg": "ES256", "use": "sig", "x": part(point[1:33]), "y": part(point[33:])}}}
	})
	answer("/token", func() (int, map[string]any) { return f.status, f.tokens })
	answer("/me", func() (int, map[string]any) { return 200, f.userInfo })
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// Whatever does not fit in the provider's replies refuses the sign-in. Threat A1.
func TestProvider_forged(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	p := newProvider(t, f.URL, "arena", "")
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := arena.SignInAttempt{State: "s", Nonce: "n", Verifier: "v"}
	query := url.Values{"state": {"s"}, "code": {"c"}}
	now := time.Now()
	type claims = jwt.MapClaims
	token := func(method jwt.SigningMethod, key any, change claims) string {
		t.Helper()
		c := claims{"iss": f.URL, "aud": "arena", "sub": "kim", "nonce": "n", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix()}
		maps.Copy(c, change)
		maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
		made := jwt.NewWithClaims(method, c)
		made.Header["kid"] = "k"
		text, err := made.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	es := jwt.SigningMethodES256
	finish := func(idToken any, sub string) (arena.Identity, error) {
		f.tokens = map[string]any{"access_token": "at", "token_type": "Bearer", "id_token": idToken}
		f.userInfo = map[string]any{"sub": sub, "name": "Kim"}
		return p.Finish(t.Context(), a, query)
	}
	if who, err := finish(token(es, f.key, nil), "kim"); err != nil || who != (arena.Identity{Subject: "kim", Name: "Kim"}) {
		t.Fatalf("%+v, %v", who, err)
	}
	for name, idToken := range map[string]any{
		"another audience":      token(es, f.key, claims{"aud": "another"}),
		"no audience":           token(es, f.key, claims{"aud": nil}),
		"another issuer":        token(es, f.key, claims{"iss": "https://foreign.example"}),
		"expired":               token(es, f.key, claims{"exp": now.Add(-time.Minute).Unix()}),
		"another nonce":         token(es, f.key, claims{"nonce": "m"}),
		"no nonce":              token(es, f.key, claims{"nonce": nil}),
		"another access token":  token(es, f.key, claims{"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}),
		"another key":           token(es, foreign, nil),
		"no signature":          token(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"a shared secret":       token(jwt.SigningMethodHS256, []byte("k"), nil),
		"no token":              nil,
		"rubbish":               "a.b.c",
		"a number for a string": 7,
	} {
		if who, err := finish(idToken, "kim"); arena.CodeOf(err) != arena.CodeUnauthorized || who != (arena.Identity{}) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	if who, err := finish(token(es, f.key, nil), "ann"); arena.CodeOf(err) != arena.CodeUnauthorized || who != (arena.Identity{}) {
		t.Errorf("userinfo of another: %+v, %v", who, err)
	}
	f.status = http.StatusBadGateway
	if _, err := finish(token(es, f.key, nil), "kim"); arena.CodeOf(err) != arena.CodeUnavailable {
		t.Error(err)
	}
}
