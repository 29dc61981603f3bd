package arenaagent_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"
)

// The clock, the arena and the agent of all token vectors.
const (
	vectorNow    = 1_795_000_000 // unix seconds
	vectorIssuer = "https://arena.example"
	vectorAgent  = "ag_vector"
)

// tokenVectors is sdk/vectors/tokens.json.
type tokenVectors struct {
	Now           int64          `json:"now"`
	LeewaySeconds int            `json:"leeway_seconds"`
	Issuer        string         `json:"issuer"`
	AgentID       string         `json:"agent_id"`
	JWKS          map[string]any `json:"jwks"`
	Body          string         `json:"body"`
	Cases         []tokenCase    `json:"cases"`
	Rotation      rotation       `json:"rotation"`
}

// rotation is what an agent lives through in one piece: an arena that changes
// its keys, then others with unknown keys.
type rotation struct {
	Steps  []rotationStep  `json:"steps"`
	Floods []rotationFlood `json:"floods"`
}

// rotationStep publishes keys, and posts the task at once.
type rotationStep struct {
	Name          string         `json:"name"`
	JWKS          map[string]any `json:"jwks"`
	Authorization string         `json:"authorization"`
	Status        int            `json:"status"`
}

// rotationFlood posts the task many times, and is refused each time. Looks are
// how often the key set may be read meanwhile, in less than half a minute.
type rotationFlood struct {
	Name          string `json:"name"`
	Authorization string `json:"authorization"`
	Times         int    `json:"times"`
	LooksAtMost   int    `json:"looks_at_most"`
}

type tokenCase struct {
	Name          string  `json:"name"`
	Authorization *string `json:"authorization"` // null: no such header
	Body          string  `json:"body,omitempty"`
	Status        int     `json:"status"`
}

type object = map[string]any

// forge makes tokens. Its keys come from fixed seeds and its signatures from
// no randomness, so that a second run makes the same file.
type forge struct {
	t        *testing.T
	es, own  *ecdsa.PrivateKey // own is an unknown key
	ed       ed25519.PrivateKey
	rs       *rsa.PrivateKey
	bodyHash string
}

func newForge(t *testing.T, body string) *forge {
	t.Helper()
	ec := func(seed string) *ecdsa.PrivateKey {
		sum := sha256.Sum256([]byte(seed))
		k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	seed := sha256.Sum256([]byte("vector key EdDSA"))
	return &forge{
		t: t, es: ec("vector key ES256"), own: ec("a stranger's key"),
		ed: ed25519.NewKeyFromSeed(seed[:]), rs: fixedRSA(t), bodyHash: bodyHash(body),
	}
}

// fixedRSA makes a key of two primes that follow from a seed.
func fixedRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	e, one := big.NewInt(65537), big.NewInt(1)
	prime := func(seed string) *big.Int {
		var bits []byte
		for i := range 4 {
			sum := sha256.Sum256(fmt.Append(nil, seed, i))
			bits = append(bits, sum[:]...)
		}
		p := new(big.Int).SetBytes(bits)
		p.SetBit(p.SetBit(p.SetBit(p, 1023, 1), 1022, 1), 0, 1)
		for two := big.NewInt(2); ; p.Add(p, two) {
			rest := new(big.Int).Mod(new(big.Int).Sub(p, one), e)
			if rest.Sign() != 0 && p.ProbablyPrime(20) {
				return p
			}
		}
	}
	p, q := prime("vector prime p"), prime("vector prime q")
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	k := &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: 65537},
		D:         new(big.Int).ModInverse(e, phi), Primes: []*big.Int{p, q},
	}
	k.Precompute()
	if err := k.Validate(); err != nil {
		t.Fatal(err)
	}
	return k
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (f *forge) point(k *ecdsa.PrivateKey) (x, y []byte) {
	f.t.Helper()
	raw, err := k.PublicKey.Bytes()
	if err != nil {
		f.t.Fatal(err)
	}
	return raw[1:33], raw[33:]
}

func (f *forge) ecJWK(k *ecdsa.PrivateKey, kid, use string) object {
	f.t.Helper()
	x, y := f.point(k)
	return object{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": use, "kid": kid, "x": b64(x), "y": b64(y)}
}

func (f *forge) jwks() object {
	f.t.Helper()
	return object{"keys": []any{
		f.ecJWK(f.es, "key_es", "sig"),
		object{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": "key_ed", "x": b64(f.ed.Public().(ed25519.PublicKey))},
		object{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "key_rs", "n": b64(f.rs.N.Bytes()), "e": "AQAB"},
		f.ecJWK(f.es, "key_enc", "enc"),
	}}
}

type signer func(signed string) []byte

// es256 returns r and s side by side, as RFC 7518 wants it.
func (f *forge) es256(k *ecdsa.PrivateKey) signer {
	return func(signed string) []byte {
		var sig struct{ R, S *big.Int }
		if _, err := asn1.Unmarshal(f.der(k)(signed), &sig); err != nil {
			f.t.Fatal(err)
		}
		return append(sig.R.FillBytes(make([]byte, 32)), sig.S.FillBytes(make([]byte, 32))...)
	}
}

func (f *forge) der(k *ecdsa.PrivateKey) signer {
	return func(signed string) []byte {
		sum := sha256.Sum256([]byte(signed))
		der, err := k.Sign(nil, sum[:], crypto.SHA256) // no randomness: RFC 6979
		if err != nil {
			f.t.Fatal(err)
		}
		return der
	}
}

func (f *forge) eddsa(signed string) []byte { return ed25519.Sign(f.ed, []byte(signed)) }

func (f *forge) rs256(signed string) []byte {
	sum := sha256.Sum256([]byte(signed))
	sig, err := rsa.SignPKCS1v15(nil, f.rs, crypto.SHA256, sum[:])
	if err != nil {
		f.t.Fatal(err)
	}
	return sig
}

func hs256(key []byte) signer {
	return func(signed string) []byte {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(signed))
		return m.Sum(nil)
	}
}

func unsigned(string) []byte { return nil }

// token makes one with changed members: a nil value removes one.
func (f *forge) token(header, claims object, sign signer) string {
	f.t.Helper()
	h := object{"alg": "ES256", "kid": "key_es", "typ": "aap-task+jwt"}
	c := object{
		"agent_id": vectorAgent, "sub": vectorAgent, "aud": vectorAgent, "match_id": "m_vector", "iss": vectorIssuer,
		"iat": vectorNow, "exp": vectorNow + 35, "expires_at": vectorNow + 35, "jti": "jt_vector", "round": 5, "bh": f.bodyHash,
	}
	signed := f.segment(h, header) + "." + f.segment(c, claims)
	return signed + "." + b64(sign(signed))
}

func (f *forge) segment(m, change object) string {
	f.t.Helper()
	maps.Copy(m, change)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	data, err := json.Marshal(m)
	if err != nil {
		f.t.Fatal(err)
	}
	return b64(data)
}

func makeTokenVectors(t *testing.T) tokenVectors {
	t.Helper()
	body := vectorTask(t, nil)
	f := newForge(t, body)
	v := tokenVectors{Now: vectorNow, LeewaySeconds: 5, Issuer: vectorIssuer, AgentID: vectorAgent, JWKS: f.jwks(), Body: body}
	add := func(status int, name, authorization string) {
		v.Cases = append(v.Cases, tokenCase{Name: name, Authorization: &authorization, Status: status})
	}
	es := f.es256(f.es)
	header := func(name string, change object) { add(401, name, "Bearer "+f.token(change, nil, es)) }
	claims := func(status int, name string, change object) {
		add(status, name, "Bearer "+f.token(nil, change, es))
	}
	good := f.token(nil, nil, es)
	parts := strings.Split(good, ".")

	add(200, "good", "Bearer "+good)
	add(200, "good, EdDSA", "Bearer "+f.token(object{"alg": "EdDSA", "kid": "key_ed"}, nil, f.eddsa))
	add(200, "good, RS256", "Bearer "+f.token(object{"alg": "RS256", "kid": "key_rs"}, nil, f.rs256))
	add(200, "good, in quotes as the AAP text shows it", `Bearer "`+good+`"`)
	add(200, "good, scheme in lower case", "bearer "+good)
	claims(200, "good, aud is a list of one", object{"aud": []string{vectorAgent}})
	claims(200, "good, additive claim", object{"new": object{"a": 1}})
	claims(200, "good, expired within the leeway", object{"exp": vectorNow - 3, "expires_at": vectorNow - 3, "iat": vectorNow - 33})
	claims(200, "good, iat ahead within the leeway", object{"iat": vectorNow + 3})

	ofMatch := func(change object) object {
		c := object{"round": nil, "bh": nil, "exp": vectorNow + 600, "expires_at": vectorNow + 600}
		maps.Copy(c, change)
		return c
	}
	whole := f.token(nil, ofMatch(nil), es)
	add(200, "of a match: good", "Bearer "+whole)
	v.Cases = append(v.Cases, tokenCase{
		Name: "of a match: another body", Authorization: new("Bearer " + whole), Body: strings.Replace(body, "Australia", "Austria", 1), Status: 200,
	})
	claims(200, "of a match: issued minutes ago", ofMatch(object{"iat": vectorNow - 300}))
	for name, change := range map[string]object{
		"round alone": {"round": 5}, "round 0 alone": {"round": 0}, "round null": {"round": json.RawMessage("null")},
		"bh alone": {"bh": f.bodyHash}, "bh empty": {"bh": ""}, "bh null": {"bh": json.RawMessage("null")},
		"round 0 and bh empty": {"round": 0, "bh": ""}, "bh of another body": {"bh": bodyHash("another body")},
		"another match": {"match_id": "m_other"}, "no match": {"match_id": nil}, "aud another agent": {"aud": "ag_other"},
		"another agent": {"sub": "ag_other", "aud": "ag_other", "agent_id": "ag_other"}, "iss another": {"iss": "https://evil.example"},
		"expired": {"exp": vectorNow - 20, "expires_at": vectorNow - 20, "iat": vectorNow - 620}, "exp missing": {"exp": nil},
		"expires_at differs": {"expires_at": vectorNow + 601}, "iat in the future": {"iat": vectorNow + 60},
	} {
		claims(401, "of a match: "+name, ofMatch(change))
	}

	v.Cases = append(v.Cases,
		tokenCase{Name: "no header", Status: 401},
		tokenCase{Name: "another body", Authorization: new("Bearer " + good), Body: strings.Replace(body, "Australia", "Austria", 1), Status: 401})
	add(401, "empty", "Bearer ")
	add(401, "another scheme", "Basic "+good)
	add(401, "garbage", "Bearer abc.def.ghi")
	add(401, "two parts", "Bearer "+parts[0]+"."+parts[1])
	add(401, "four parts", "Bearer "+good+"."+parts[2])
	add(401, "signature cut", "Bearer "+good[:len(good)-9])
	add(401, "signature padded", "Bearer "+good+"=")
	add(401, "signature empty", "Bearer "+parts[0]+"."+parts[1]+".")
	add(401, "signature of zeros", "Bearer "+parts[0]+"."+parts[1]+"."+b64(make([]byte, 64)))
	add(401, "signature in DER", "Bearer "+f.token(nil, nil, f.der(f.es)))
	add(401, "claims changed after signing", "Bearer "+parts[0]+"."+strings.Split(f.token(nil, object{"jti": "jt_other"}, es), ".")[1]+"."+parts[2])
	add(401, "claims not an object", "Bearer "+f.raw(`[]`, es))
	add(401, "claims not JSON", "Bearer "+f.raw(`{`, es))
	add(401, "key of a stranger", "Bearer "+f.token(nil, nil, f.es256(f.own)))

	for _, alg := range []string{"none", "None", "NONE", ""} {
		add(401, fmt.Sprintf("alg %q, unsigned", alg), "Bearer "+f.token(object{"alg": alg}, nil, unsigned))
	}
	add(401, "alg none, signed", "Bearer "+f.token(object{"alg": "none"}, nil, es))
	add(401, "alg missing", "Bearer "+f.token(object{"alg": nil}, nil, es))
	x, y := f.point(f.es)
	jwk, err := json.Marshal(f.ecJWK(f.es, "key_es", "sig"))
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string][]byte{"point": append(append([]byte{4}, x...), y...), "JWK": jwk} {
		add(401, "alg HS256 with the public key as the secret, "+name, "Bearer "+f.token(object{"alg": "HS256"}, nil, hs256(key)))
	}
	add(401, "alg HS256 with the RSA modulus as the secret", "Bearer "+f.token(object{"alg": "HS256", "kid": "key_rs"}, nil, hs256(f.rs.N.Bytes())))
	add(401, "alg of another key: RS256 under key_es", "Bearer "+f.token(object{"alg": "RS256"}, nil, f.rs256))
	add(401, "alg of another key: EdDSA under key_es", "Bearer "+f.token(object{"alg": "EdDSA"}, nil, f.eddsa))
	add(401, "alg not the key's: PS256 under key_rs", "Bearer "+f.token(object{"alg": "PS256", "kid": "key_rs"}, nil, f.rs256))
	header("alg not the key's: ES384", object{"alg": "ES384"})

	header("kid missing", object{"kid": nil})
	header("kid empty", object{"kid": ""})
	header("kid a list", object{"kid": []string{"key_es"}})
	header("kid unknown", object{"kid": "key_9"})
	header("kid a path", object{"kid": "../../key_es"})
	header("kid of a key that is not for signatures", object{"kid": "key_enc"})
	own := f.es256(f.own)
	add(401, "jwk embedded", "Bearer "+f.token(object{"jwk": f.ecJWK(f.own, "key_own", "sig"), "kid": "key_own"}, nil, own))
	header("jwk embedded beside a good signature", object{"jwk": f.ecJWK(f.es, "key_es", "sig")})
	header("jku", object{"jku": "http://127.0.0.1:1/jwks.json"})
	header("x5u", object{"x5u": "http://127.0.0.1:1/cert.pem"})
	header("x5c", object{"x5c": []string{"AAAA"}})
	header("crit", object{"crit": []string{"exp"}, "exp": vectorNow + 35})
	header("crit empty", object{"crit": []string{}})
	header("b64 false", object{"b64": false, "crit": []string{"b64"}})
	header("typ JWT", object{"typ": "JWT"})
	header("typ missing", object{"typ": nil})
	header("typ in upper case", object{"typ": "AAP-TASK+JWT"})
	header("typ with application/", object{"typ": "application/aap-task+jwt"})

	for name, change := range map[string]object{
		"iss another": {"iss": "https://evil.example"}, "iss with a slash": {"iss": vectorIssuer + "/"}, "iss a list": {"iss": []string{vectorIssuer}},
		"exp text":           {"exp": fmt.Sprint(vectorNow + 35)},
		"expired":            {"exp": vectorNow - 20, "expires_at": vectorNow - 20, "iat": vectorNow - 50},
		"expires_at differs": {"expires_at": vectorNow + 36},
		"iat in the future":  {"iat": vectorNow + 60}, "iat text": {"iat": fmt.Sprint(vectorNow)}, "nbf in the future": {"nbf": vectorNow + 60},
		"aud another agent": {"aud": "ag_other"}, "aud a list with another agent": {"aud": []string{vectorAgent, "ag_other"}}, "aud an empty list": {"aud": []string{}},
		"sub another agent": {"sub": "ag_other"}, "agent_id another agent": {"agent_id": "ag_other"},
		"all for another agent": {"sub": "ag_other", "aud": "ag_other", "agent_id": "ag_other"},
		"match_id another":      {"match_id": "m_other"}, "round another": {"round": 6}, "round text": {"round": "5"},
		"bh another": {"bh": bodyHash("another body")}, "bh padded": {"bh": f.bodyHash + "="}, "bh empty": {"bh": ""},
	} {
		claims(401, name, change)
	}
	for _, name := range []string{"agent_id", "sub", "aud", "match_id", "iss", "iat", "exp", "expires_at", "round", "bh"} {
		claims(401, name+" missing", object{name: nil})
	}
	v.Rotation = f.rotation()
	return v
}

func (f *forge) rotation() rotation {
	all := f.jwks()["keys"].([]any)
	first, both, anew := object{"keys": all[:1]}, object{"keys": all[:2]}, object{"keys": all[2:3]}
	bearer := func(header, claims object, sign signer) string { return "Bearer " + f.token(header, claims, sign) }
	es, unknown := f.es256(f.es), object{"kid": "key_9"}
	ed := bearer(object{"alg": "EdDSA", "kid": "key_ed"}, nil, f.eddsa)
	return rotation{
		Steps: []rotationStep{
			{"one key", first, bearer(nil, nil, es), 200},
			{"a new key beside it", both, ed, 200},
			{"the old key goes on", both, bearer(nil, nil, es), 200},
			{"an arena that was made anew", anew, bearer(object{"alg": "RS256", "kid": "key_rs"}, nil, f.rs256), 200},
			{"a key that was withdrawn", anew, ed, 401},
		},
		Floods: []rotationFlood{
			{"another issuer", bearer(unknown, object{"iss": "https://evil.example"}, es), 20, 0},
			{"keys that nobody has", bearer(unknown, nil, es), 20, 10},
		},
	}
}

// raw signs a payload that need not be claims.
func (f *forge) raw(payload string, sign signer) string {
	f.t.Helper()
	signed := f.segment(object{"alg": "ES256", "kid": "key_es", "typ": "aap-task+jwt"}, nil) + "." + b64([]byte(payload))
	return signed + "." + b64(sign(signed))
}
