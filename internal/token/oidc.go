package token

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

const (
	oidcLeeway   = 30 * time.Second     // for differing clocks
	oidcLongest  = 366 * 24 * time.Hour // remaining lifetime of a token
	maxOIDCToken = 8 << 10              // bytes
	maxSubject   = 255                  // bytes (OpenID Connect Core 1.0, section 2)
)

// OIDCOptions are the parts of an OIDCVerifier.
type OIDCOptions struct {
	Issuer   string // iss, to the letter; an http(s) URL
	Audience string // one of aud
	// AdminClaim names the claim that identifies admins: it is, or lists,
	// AdminValue. If there is no claim of that name, its dots separate the names
	// of nested objects: realm_access.roles. With an empty AdminValue there are no
	// admins.
	AdminClaim, AdminValue string
	// HTTP calls the issuer that the operator has configured. It must not follow
	// redirects.
	HTTP interface {
		Do(*http.Request) (*http.Response, error)
	}
	Now    func() time.Time
	Logger *slog.Logger
}

// OIDCVerifier verifies tokens of an OIDC issuer (OpenID Connect Core 1.0; RFC 9068
// for access tokens). It has no goroutine: callers fetch keys when they need
// them. It is safe for concurrent use.
type OIDCVerifier struct {
	o    OIDCOptions
	keys issuerKeys
}

// NewOIDCVerifier returns an OIDCVerifier. It does not call the issuer yet, so that an
// arena can start without it.
func NewOIDCVerifier(o OIDCOptions) *OIDCVerifier {
	return &OIDCVerifier{o: o, keys: issuerKeys{issuer: o.Issuer, http: o.HTTP, now: o.Now, log: o.Logger}}
}

// Verify verifies a token and returns its identity. The code of an error is
// arena.CodeUnauthorized, with the same message for every reason, or
// arena.CodeUnavailable if the token's key is unknown and the issuer is
// unreachable.
func (v *OIDCVerifier) Verify(ctx context.Context, token string) (arena.Identity, error) {
	who, err := v.verify(ctx, token)
	if err == nil {
		return who, nil
	}
	v.o.Logger.DebugContext(ctx, "oidc token refused", "reason", err)
	if errors.Is(err, errIssuerUnreachable) {
		return arena.Identity{}, &arena.Error{Code: arena.CodeUnavailable, Message: "the issuer of this token cannot be asked now", Err: err}
	}
	return arena.Identity{}, &arena.Error{Code: arena.CodeUnauthorized, Message: "the token is not valid", Err: err}
}

func (v *OIDCVerifier) verify(ctx context.Context, token string) (arena.Identity, error) {
	if len(token) > maxOIDCToken {
		return arena.Identity{}, fmt.Errorf("longer than %d bytes", maxOIDCToken)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return !inToken(r) }) {
		return arena.Identity{}, errors.New("a character that no token has")
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods(oidcMethods()), jwt.WithIssuer(v.o.Issuer), jwt.WithAudience(v.o.Audience), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithLeeway(oidcLeeway), jwt.WithStrictDecoding(), jwt.WithTimeFunc(v.o.Now),
	)
	var c oidcClaims
	if _, err := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if c.Issuer != v.o.Issuer {
			return nil, errors.New("iss is another issuer") // never fetch another issuer's keys
		}
		return v.keyFor(ctx, t)
	}); err != nil {
		return arena.Identity{}, err
	}
	switch {
	case c.Subject == "" || len(c.Subject) > maxSubject:
		return arena.Identity{}, fmt.Errorf("sub has %d bytes; 1 to %d are allowed", len(c.Subject), maxSubject)
	case c.ExpiresAt.After(v.o.Now().Add(oidcLongest)):
		return arena.Identity{}, errors.New("exp lies more than a year ahead")
	}
	return c.person(v.o.AdminClaim, v.o.AdminValue), nil
}

// PersonOf returns the identity that claims of an issuer describe, which have
// been verified. Later sets of claims complete earlier ones. See OIDCOptions
// about admins.
func PersonOf(issuer, adminClaim, adminValue string, sets ...json.RawMessage) (arena.Identity, error) {
	var c oidcClaims
	for _, set := range sets {
		var more oidcClaims
		if err := more.UnmarshalJSON(set); err != nil {
			return arena.Identity{}, err
		}
		if c.all == nil {
			c = more
		}
		for name, value := range more.all {
			if _, known := c.all[name]; !known {
				c.all[name] = value
			}
		}
	}
	if c.Subject == "" || len(c.Subject) > maxSubject {
		return arena.Identity{}, fmt.Errorf("sub has %d bytes; 1 to %d are allowed", len(c.Subject), maxSubject)
	}
	c.Issuer = issuer
	return c.person(adminClaim, adminValue), nil
}

// person returns the identity that the claims describe.
func (c *oidcClaims) person(adminClaim, adminValue string) arena.Identity {
	who := arena.Identity{
		Issuer: c.Issuer, Subject: c.Subject, Name: cmp.Or(c.text("name"), c.text("preferred_username")),
		Admin: adminValue != "" && slices.Contains(c.list(adminClaim), adminValue),
	}
	if c.IssuedAt != nil {
		who.IssuedAt = c.IssuedAt.Time
	}
	if string(c.all["email_verified"]) == "true" {
		who.Email = c.text("email")
	}
	return who
}

// keyFor returns the key that the token's header names, if the issuer publishes
// it. It ignores keys in the token itself (jwk, jku, x5c).
func (v *OIDCVerifier) keyFor(ctx context.Context, t *jwt.Token) (any, error) {
	raw, err := headerOf(t.Raw)
	if err != nil {
		return nil, err
	}
	var header struct {
		Alg  string          `json:"alg"`
		KID  string          `json:"kid"`
		Typ  string          `json:"typ"`
		Crit json.RawMessage `json:"crit"`
	}
	if err := strictjson.UnmarshalOpen(raw, &header, "alg", "kid", "typ", "crit"); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	switch typ := strings.TrimPrefix(strings.ToLower(header.Typ), "application/"); {
	case header.KID == "":
		return nil, errors.New("kid is needed")
	case header.Crit != nil:
		return nil, errors.New("crit names an unsupported extension")
	case typ != "" && typ != "jwt" && typ != "at+jwt":
		return nil, errors.New("typ is for another kind of token")
	}
	keys, err := v.keys.with(ctx, header.KID)
	if err != nil {
		return nil, err
	}
	return keys.KeyfuncCtx(ctx)(t)
}

// oidcClaims are the claims that the library checks, and all by name.
type oidcClaims struct {
	jwt.RegisteredClaims
	all map[string]json.RawMessage
}

// UnmarshalJSON rejects JSON that parsers may interpret differently.
func (c *oidcClaims) UnmarshalJSON(data []byte) error {
	if err := strictjson.UnmarshalOpen(data, &c.RegisteredClaims, "iss", "sub", "aud", "exp", "nbf", "iat", "jti"); err != nil {
		return err
	}
	return strictjson.Unmarshal(data, &c.all)
}

// text returns a claim that is text, or "".
func (c *oidcClaims) text(name string) string {
	var s string
	if strictjson.Unmarshal(c.all[name], &s) != nil {
		return ""
	}
	return s
}

// list returns a claim that is text or a list of texts.
func (c *oidcClaims) list(name string) []string {
	raw, ok := c.all[name]
	for in := c.all; !ok && in != nil; {
		head, rest, more := strings.Cut(name, ".")
		if raw, ok = in[head]; !ok || !more {
			break
		}
		in = nil
		if ok = false; strictjson.Unmarshal(raw, &in) != nil {
			return nil
		}
		name = rest
	}
	var one string
	if strictjson.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var several []string
	if strictjson.Unmarshal(raw, &several) != nil {
		return nil
	}
	return several
}

// oidcMethods lists the signature algorithms that are accepted from an OIDC
// issuer. Algorithms with a shared secret and "none" are not among them.
func oidcMethods() []string { return []string{RS256, "PS256", ES256, EdDSA} }
