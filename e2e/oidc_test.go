package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/agora-arena/arena/internal/apiclient"
)

// The real server and an OIDC issuer: a person becomes an owner, another
// an admin by their role, and a token for somebody else opens nothing. Nothing
// of a token is logged. Threat A1.
func TestE2E_OIDC(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	public, err := jwkset.NewJWKFromKey(&key.PublicKey, jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: "k1", ALG: jwkset.AlgES256}})
	must(t, err)
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]any{"keys": []any{public.Marshal()}}
		if r.URL.Path == "/realm/.well-known/openid-configuration" {
			body = map[string]any{"issuer": issuer.URL + "/realm", "jwks_uri": issuer.URL + "/keys"}
		}
		_ = json.NewEncoder(w).Encode(body) // the server sees what is missing
	}))
	t.Cleanup(issuer.Close)
	token := func(change jwt.MapClaims) string {
		now := time.Now().Unix()
		c := jwt.MapClaims{"iss": issuer.URL + "/realm", "aud": []string{"arena-test"}, "sub": "u-1", "name": "Kim", "iat": now, "exp": now + 300}
		maps.Copy(c, change)
		tok := jwt.NewWithClaims(jwt.SigningMethodES256, c)
		tok.Header["kid"] = "k1"
		text, err := tok.SignedString(key)
		must(t, err)
		return text
	}
	p := serve(t, t.TempDir(), "ARENA_OIDC_ISSUER="+issuer.URL+"/realm", "ARENA_OIDC_AUDIENCE=arena-test",
		"ARENA_OIDC_ADMIN_CLAIM=realm_access.roles", "ARENA_OIDC_ADMIN_VALUE=boss")
	var me struct {
		Scope   string
		Name    string
		OwnerID string `json:"owner_id"`
	}
	kim := apiclient.New(p.url, token(nil))
	p.call(kim, http.MethodGet, "/v1/me", nil, &me)
	if me.Scope != "owner" || me.Name != "Kim" || me.OwnerID == "" {
		t.Errorf("%+v", me)
	}
	p.refused(kim, http.MethodGet, "/v1/admin/status", nil, 403, "forbidden")
	boss := kim.As(token(jwt.MapClaims{"sub": "u-2", "realm_access": map[string]any{"roles": []string{"boss"}}}))
	p.call(boss, http.MethodGet, "/v1/admin/status", nil, nil)
	p.refused(kim.As(token(jwt.MapClaims{"aud": "other"})), http.MethodGet, "/v1/me", nil, 401, "unauthorized")
	p.refused(kim.As(token(jwt.MapClaims{"exp": time.Now().Unix() - 60})), http.MethodGet, "/v1/me", nil, 401, "unauthorized")
}
