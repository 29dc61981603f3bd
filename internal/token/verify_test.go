package token

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// forge signs any header and claims with the arena's own key, so that only
// the rule under test can refuse the token.
type forge struct {
	t      *testing.T
	k      *Keys
	header map[string]any
	claims map[string]any
}

func (f forge) raw(header, claims string) string {
	key := f.k.ring.Load().keys[0]
	text := b64(header) + "." + b64(claims)
	sig, err := key.method.Sign(text, key.signer)
	if err != nil {
		f.t.Fatal(err)
	}
	return text + "." + b64(string(sig))
}

func (f forge) with(header, claims map[string]any) string {
	return f.raw(merged(f.t, f.header, header), merged(f.t, f.claims, claims))
}

func merged(t *testing.T, base, change map[string]any) string {
	t.Helper()
	m := maps.Clone(base)
	for name, v := range change {
		if v == nil {
			delete(m, name)
		} else {
			m[name] = v
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// Threats E6 and E7: the table of tokens that must not open anything.
func TestKeys_Verify(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := open(t, &rows{}, c, ES256)
	key := k.ring.Load().keys[0]
	now := c.now().Unix()
	f := forge{t, k, map[string]any{"alg": ES256, "kid": key.KID, "typ": typ}, map[string]any{
		"agent_id": "ag_a", "sub": "ag_a", "aud": "ag_a", "match_id": "m_1", "iss": issuer, "jti": "jt_1",
		"bh": "aGFzaA", "round": 1, "iat": now, "exp": now + 30, "expires_at": now + 30,
	}}
	type m = map[string]any
	good := f.with(nil, nil)
	head, rest, _ := strings.Cut(good, ".")
	payload, signature, _ := strings.Cut(rest, ".")

	der, err := x509.MarshalPKIXPublicKey(key.signer.Public())
	if err != nil {
		t.Fatal(err)
	}
	hs256 := func(secret []byte) string {
		text := b64(merged(t, f.header, m{"alg": "HS256"})) + "." + payload
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		return text + "." + b64(string(mac.Sum(nil)))
	}
	none := func(alg string) string { return b64(merged(t, f.header, m{"alg": alg})) + "." + payload + "." }
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ownJWK, err := jwkset.NewJWKFromKey(own.Public(), jwkset.JWKOptions{})
	if err != nil {
		t.Fatal(err)
	}
	byOwnKey := func(header m) string {
		text := b64(merged(t, f.header, header)) + "." + payload
		sig, err := jwt.SigningMethodES256.Sign(text, own)
		if err != nil {
			t.Fatal(err)
		}
		return text + "." + b64(string(sig))
	}

	for name, token := range map[string]string{
		"alg none":                    none("none"),
		"alg None":                    none("None"),
		"alg NONE":                    none("NONE"),
		"HS256 with the public DER":   hs256(der),
		"HS256 with the public PEM":   hs256(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"HS256 with the JWK":          hs256(key.jwk),
		"other alg of the same key":   f.with(m{"alg": "ES384"}, nil),
		"alg missing":                 f.with(m{"alg": nil}, nil),
		"embedded jwk":                byOwnKey(m{"jwk": ownJWK.Marshal()}),
		"embedded jwk, good key":      f.with(m{"jwk": ownJWK.Marshal()}, nil),
		"jku":                         f.with(m{"jku": "https://evil.example/jwks.json"}, nil),
		"x5u":                         f.with(m{"x5u": "https://evil.example/cert.pem"}, nil),
		"x5c":                         f.with(m{"x5c": []string{"AAAA"}}, nil),
		"crit":                        f.with(m{"crit": []string{"exp"}}, nil),
		"signed by another key":       byOwnKey(nil),
		"kid with a path":             f.with(m{"kid": "../../" + key.KID}, nil),
		"kid list":                    f.with(m{"kid": []string{key.KID}}, nil),
		"kid number":                  f.with(m{"kid": 1}, nil),
		"no kid":                      f.with(m{"kid": nil}, nil),
		"unknown kid":                 f.with(m{"kid": "key_00000000000000000000000000"}, nil),
		"no typ":                      f.with(m{"typ": nil}, nil),
		"typ of another kind":         f.with(m{"typ": "JWT"}, nil),
		"no exp":                      f.with(nil, m{"exp": nil}),
		"no expires_at":               f.with(nil, m{"expires_at": nil}),
		"exp and expires_at differ":   f.with(nil, m{"expires_at": now + 31}),
		"no iss":                      f.with(nil, m{"iss": nil}),
		"no aud":                      f.with(nil, m{"aud": nil}),
		"no iat":                      f.with(nil, m{"iat": nil}),
		"no agent":                    f.with(nil, m{"agent_id": nil}),
		"no match":                    f.with(nil, m{"match_id": nil}),
		"no round":                    f.with(nil, m{"round": nil}),
		"no bh":                       f.with(nil, m{"bh": nil}),
		"expired":                     f.with(nil, m{"exp": now - 6, "expires_at": now - 6, "iat": now - 60}),
		"exp in year 10^11":           f.with(nil, m{"exp": 3_155_760_000_000_000_000, "expires_at": 3_155_760_000_000_000_000}),
		"exp a minute too far":        f.with(nil, m{"exp": now + 72*60, "expires_at": now + 72*60}),
		"exp before iat":              f.with(nil, m{"iat": now + 4, "exp": now + 3, "expires_at": now + 3}),
		"exp text":                    f.with(nil, m{"exp": fmt.Sprint(now + 30)}),
		"iat in the future":           f.with(nil, m{"iat": now + 7}),
		"wrong iss":                   f.with(nil, m{"iss": issuer + ".evil.example"}),
		"aud of another agent":        f.with(nil, m{"aud": "ag_b"}),
		"aud list":                    f.with(nil, m{"aud": []string{"ag_a", "ag_b"}}),
		"sub of another agent":        f.with(nil, m{"sub": "ag_b"}),
		"padded base64":               head + "." + payload + "." + signature + "==",
		"padded header":               head + "=" + "." + rest,
		"loose last bits":             good[:len(good)-1] + loosened(good[len(good)-1]),
		"a fourth segment":            good + ".AAAA",
		"text after it":               good + " x",
		"line break inside":           good[:len(good)-4] + "\n" + good[len(good)-4:],
		"text after the claims":       f.raw(merged(t, f.header, nil), merged(t, f.claims, nil)+"{}"),
		"duplicate header member":     f.raw(strings.Replace(merged(t, f.header, nil), "{", `{"kid":"key_x",`, 1), merged(t, f.claims, nil)),
		"duplicate claim":             f.raw(merged(t, f.header, nil), strings.Replace(merged(t, f.claims, nil), "{", `{"agent_id":"ag_b",`, 1)),
		"claim in another case":       f.raw(merged(t, f.header, nil), strings.Replace(merged(t, f.claims, nil), "{", `{"Agent_ID":"ag_b",`, 1)),
		"claims null":                 f.raw(merged(t, f.header, nil), "null"),
		"claims a list":               f.raw(merged(t, f.header, nil), "[]"),
		"signature cut":               good[:len(good)-10],
		"signature of another token":  head + "." + b64(merged(t, f.claims, m{"agent_id": "ag_b", "sub": "ag_b", "aud": "ag_b"})) + "." + signature,
		"empty":                       "",
		"two dots":                    "..",
		"longer than any token":       good + strings.Repeat("A", maxTokenLength),
		"a bearer secret":             OwnerSecretPrefix + "abc",
		"a claim that is not a claim": f.raw(merged(t, f.header, nil), merged(t, f.claims, m{"exp": nil})[:20]),
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			got, err := k.Verify(t.Context(), token)
			if arena.CodeOf(err) != arena.CodeUnauthorized {
				t.Fatalf("Verify = %+v, %v; want unauthorized", got, err)
			}
			var e *arena.Error
			if !errors.As(err, &e) || e.Message != "the task token is not valid" {
				t.Errorf("message is %q; it must not say why", e.Message)
			}
			if diff := cmp.Diff(arena.TaskClaims{}, got); diff != "" {
				t.Errorf("claims of a refused token:\n%s", diff)
			}
		})
	}
	for name, token := range map[string]string{
		"as signed":           good,
		"of a match":          f.with(nil, m{"round": nil, "bh": nil}),
		"one more claim":      f.with(nil, m{"later": "addition"}),
		"expired 4 s ago":     f.with(nil, m{"exp": now - 3, "expires_at": now - 3, "iat": now - 60}),
		"iat 4 s ahead of us": f.with(nil, m{"iat": now + 4}),
	} {
		if _, err := k.Verify(t.Context(), token); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// loosened returns a base64 character that decodes to the same bytes when the
// unused bits at the end are ignored.
func loosened(last byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, last)|1])
}
