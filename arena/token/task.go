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
	"github.com/agora-arena/arena/arena/strictjson"
)

// jtiPrefix begins the id of a token that came without one.
const jtiPrefix = "jt_"

// maxSignature is how many bytes a signature mostly has at most: those of
// RS256 have more.
const maxSignature = 64

// claims are a task token's claims as they stand on the wire. Times are unix
// seconds, whole numbers.
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
	Round     int    `json:"round"`
	BodyHash  string `json:"bh"`
}

// Sign makes the token of one task. c needs AgentID, MatchID and ExpiresAt;
// ID is made when it is empty, and IssuedAt is now unless it is set. Times
// are cut to whole seconds. A token that Verify would refuse is not signed.
func (k *Keys) Sign(c arena.TaskClaims) (string, error) {
	now := k.now()
	if c.IssuedAt.IsZero() {
		c.IssuedAt = now
	}
	wire := claims{
		AgentID: c.AgentID, MatchID: c.MatchID, ExpiresAt: c.ExpiresAt.Unix(),
		Issuer: k.issuer, Subject: c.AgentID, Audience: c.AgentID,
		IssuedAt: min(c.IssuedAt.Unix(), now.Unix()), Expiry: c.ExpiresAt.Unix(),
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

// Verify checks a task token and gives its claims (threats E6, E7). Every
// failure has the code arena.CodeUnauthorized and one message; the reason is
// the wrapped error, for the log alone.
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
	// The decoder below passes over line breaks, so that one signature would
	// have many spellings.
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
// alg, kid and typ: a key that a token brings along (jwk, jku, x5u, x5c) or a
// demand that we would not honour (crit) is a refusal.
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
	if !strings.HasPrefix(header.KID, kidPrefix) { // none of ours, ever: no need to ask the store
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

// reloadForUnknown looks for keys of another node's rotation, but not more
// often than every few seconds: anybody can send an unknown kid.
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

// check holds the rules of a task token that are ours alone.
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
	case c.IssuedAt <= 0 || c.IssuedAt > now.Add(leeway).Unix():
		return errors.New("iat is missing or in the future")
	case c.Expiry <= c.IssuedAt || c.Expiry-c.IssuedAt > longest:
		return fmt.Errorf("lives %d seconds; 1 to %d are allowed", c.Expiry-c.IssuedAt, longest)
	}
	return nil
}

// UnmarshalJSON refuses what one reader would take for one thing and the next
// for another: duplicate members, members that differ only in case, fractions
// and exponents in times, lists for a string.
func (c *claims) UnmarshalJSON(data []byte) error {
	type plain claims
	var p plain
	if err := strictjson.UnmarshalOpen(data, &p, "agent_id", "match_id", "expires_at", "iss", "sub", "aud", "iat", "exp", "jti", "round", "bh"); err != nil {
		return err
	}
	*c = claims(p)
	return nil
}

// GetExpirationTime is exp. Like the next ones it lets the library check a
// claim; a missing time is zero on the wire and nil here.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return date(c.Expiry), nil }

// GetIssuedAt is iat.
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return date(c.IssuedAt), nil }

// GetNotBefore is nil: a task token is good at once.
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return nil, nil }

// GetIssuer is iss.
func (c *claims) GetIssuer() (string, error) { return c.Issuer, nil }

// GetSubject is sub.
func (c *claims) GetSubject() (string, error) { return c.Subject, nil }

// GetAudience is aud.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return jwt.ClaimStrings{c.Audience}, nil }

func date(seconds int64) *jwt.NumericDate {
	if seconds == 0 {
		return nil
	}
	return jwt.NewNumericDate(time.Unix(seconds, 0))
}
