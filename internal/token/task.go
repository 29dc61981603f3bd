package token

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// jtiPrefix is the prefix of generated token ids.
const jtiPrefix = "jt_"

// maxSignature is the length of signatures in bytes, except for RS256 signatures,
// which are longer.
const maxSignature = 64

// claims is the wire form of a task token's claims. Times are whole Unix
// seconds.
type claims struct {
	AgentID   string `json:"agent_id"`
	MatchID   string `json:"match_id"`
	ExpiresAt int64  `json:"expires_at"`
	Issuer    string `json:"iss"`
	Subject   string `json:"sub"`
	Audience  string `json:"aud"`
	IssuedAt  int64  `json:"iat"`
	Expiry    int64  `json:"exp"`
	ID        string `json:"jti"`
	Round     int    `json:"round,omitempty"`
	BodyHash  string `json:"bh,omitempty"`
}

// Sign returns a task token. c needs AgentID, MatchID and ExpiresAt. An
// empty ID is generated, and a zero IssuedAt is set to now. The claim iat is leeway
// earlier, because many libraries refuse a token of a second from now and clocks
// differ by more; the SDKs add it to compute the time that is left. Times are truncated to whole seconds. Sign returns an error for claims that Verify would reject.
func (k *Keys) Sign(c arena.TaskClaims) (string, error) {
	now := k.now()
	if c.IssuedAt.IsZero() {
		c.IssuedAt = now
	}
	issued := min(c.IssuedAt.Unix(), now.Unix())
	if c.ExpiresAt.Unix() <= issued {
		return "", errors.New("sign a task token: it expires before it is issued")
	}
	wire := claims{
		AgentID: c.AgentID, MatchID: c.MatchID, ExpiresAt: c.ExpiresAt.Unix(),
		Issuer: k.issuer, Subject: c.AgentID, Audience: c.AgentID,
		IssuedAt: issued - int64(leeway/time.Second), Expiry: c.ExpiresAt.Unix(),
		ID: c.ID, Round: c.Round, BodyHash: c.BodyHash,
	}
	if wire.ID == "" {
		wire.ID = arena.NewID(jtiPrefix, now)
	}
	if err := k.check(wire, now); err != nil {
		return "", fmt.Errorf("sign a task token: %w", err)
	}
	payload, err := json.Marshal(wire)
	if err != nil {
		return "", fmt.Errorf("sign a task token: %w", err)
	}
	key := k.ring.Load().signing(now)
	if key == nil {
		return "", errors.New("sign a task token: no key may sign now")
	}
	enc := base64.RawURLEncoding
	signed := make([]byte, 0, len(key.header)+enc.EncodedLen(len(payload))+1+enc.EncodedLen(maxSignature))
	signed = enc.AppendEncode(append(signed, key.header...), payload)
	signature, err := key.sign(signed)
	if err != nil {
		return "", fmt.Errorf("sign a task token: %w", err)
	}
	return string(enc.AppendEncode(append(signed, '.'), signature)), nil
}

// Verify verifies a task token and returns its claims (threats E6, E7). Every
// error has the code arena.CodeUnauthorized and the same message; the reason is
// the wrapped error, for the log only.
func (k *Keys) Verify(ctx context.Context, token string) (arena.TaskClaims, error) {
	c, err := k.verify(ctx, token)
	if err != nil {
		return arena.TaskClaims{}, &arena.Error{
			Code: arena.CodeUnauthorized, Message: "the task token is not valid", Err: err,
		}
	}
	return arena.TaskClaims{
		ID: c.ID, AgentID: c.AgentID, MatchID: c.MatchID, Round: c.Round, BodyHash: c.BodyHash,
		IssuedAt: time.Unix(c.IssuedAt, 0).UTC(), ExpiresAt: time.Unix(c.Expiry, 0).UTC(),
	}, nil
}

func (k *Keys) verify(ctx context.Context, token string) (claims, error) {
	var c claims
	if len(token) > maxTokenLength {
		return c, fmt.Errorf("longer than %d bytes", maxTokenLength)
	}
	// The decoder below ignores line breaks, so that one signature would have
	// many encodings.
	if strings.ContainsFunc(token, func(r rune) bool { return !inToken(r) }) {
		return c, errors.New("a character that no token has")
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{ES256, EdDSA, RS256}), // and then the key's own alone, in keyFor
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway),
		jwt.WithIssuer(k.issuer), jwt.WithStrictDecoding(), jwt.WithTimeFunc(k.now),
	)
	if _, err := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) { return k.keyFor(ctx, t.Raw) }); err != nil {
		return c, err
	}
	return c, k.check(c, k.now())
}

func inToken(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

// keyFor returns the public key for the token. Its header must be exactly
// alg, kid and typ: it rejects tokens that include a key (jwk, jku, x5u, x5c) or
// an extension (crit).
func (k *Keys) keyFor(ctx context.Context, token string) (any, error) {
	raw, err := headerOf(token)
	if err != nil {
		return nil, err
	}
	var header struct {
		Alg string `json:"alg"`
		KID string `json:"kid"`
		Typ string `json:"typ"`
	}
	if err := strictjson.Unmarshal(raw, &header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if header.Typ != typ {
		return nil, fmt.Errorf("typ %q is not %q", header.Typ, typ)
	}
	if !strings.HasPrefix(header.KID, kidPrefix) { // never one of ours: do not query the store
		return nil, fmt.Errorf("kid %q is not known", header.KID)
	}
	key := k.ring.Load().find(header.KID, k.now())
	if key == nil && k.reloadForUnknown(ctx) {
		key = k.ring.Load().find(header.KID, k.now())
	}
	if key == nil {
		return nil, fmt.Errorf("kid %q is not known", header.KID)
	}
	if key.Alg != header.Alg {
		return nil, fmt.Errorf("alg %q is not the key's", header.Alg)
	}
	return key.signer.Public(), nil
}

// headerOf returns the JSON of a token's header.
func headerOf(token string) ([]byte, error) {
	segment, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(segment)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return raw, nil
}

// reloadForUnknown reloads the keys, because another node may have rotated them. It
// does so at most every few seconds, because any client can send an unknown kid.
func (k *Keys) reloadForUnknown(ctx context.Context) bool {
	k.reloading.Lock()
	defer k.reloading.Unlock()
	if since := k.now().Sub(k.reloadedAt); since >= 0 && since < reloadEvery {
		return true // another caller may just have loaded it
	}
	if err := k.reload(ctx); err != nil {
		k.log.WarnContext(ctx, "signing keys not reloaded", "error", err)
		return false
	}
	return true
}

// check makes the checks that are specific to task tokens.
func (k *Keys) check(c claims, now time.Time) error {
	longest := int64((k.maxLifetime + lifetimeSlack) / time.Second)
	switch {
	case c.AgentID == "" || c.MatchID == "" || c.ID == "":
		return errors.New("agent_id, match_id and jti are needed")
	case c.Subject != c.AgentID || c.Audience != c.AgentID:
		return errors.New("sub and aud are not the agent")
	case c.Issuer != k.issuer:
		return errors.New("iss is not this arena")
	case c.Expiry != c.ExpiresAt:
		return errors.New("exp and expires_at differ")
	case c.Round < 0:
		return errors.New("round is below zero")
	case (c.Round == 0) != (c.BodyHash == ""):
		return errors.New("round and bh come together")
	case c.IssuedAt <= 0 || c.IssuedAt > now.Add(leeway).Unix():
		return errors.New("iat is missing or in the future")
	case c.Expiry <= c.IssuedAt || c.Expiry-c.IssuedAt > longest:
		return fmt.Errorf("lives %d seconds; 1 to %d are allowed", c.Expiry-c.IssuedAt, longest)
	}
	return nil
}

// UnmarshalJSON rejects JSON that parsers may interpret differently: duplicate
// members, members that differ only in case, fractions and exponents in times,
// lists for a string.
func (c *claims) UnmarshalJSON(data []byte) error {
	type plain claims
	var p plain
	if err := strictjson.UnmarshalOpen(data, &p, "agent_id", "match_id", "expires_at", "iss", "sub", "aud", "iat", "exp", "jti", "round", "bh"); err != nil {
		return err
	}
	*c = claims(p)
	return nil
}

// GetExpirationTime returns exp. Like the following methods it lets the library
// check a claim; a missing time is zero on the wire and nil here.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return date(c.Expiry), nil }

// GetIssuedAt returns iat.
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return date(c.IssuedAt), nil }

// GetNotBefore returns nil: a task token is valid at once.
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return nil, nil }

// GetIssuer returns iss.
func (c *claims) GetIssuer() (string, error) { return c.Issuer, nil }

// GetSubject returns sub.
func (c *claims) GetSubject() (string, error) { return c.Subject, nil }

// GetAudience returns aud.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return jwt.ClaimStrings{c.Audience}, nil }

func date(seconds int64) *jwt.NumericDate {
	if seconds == 0 {
		return nil
	}
	return jwt.NewNumericDate(time.Unix(seconds, 0))
}
