package arenaagent

import (
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

// taskTyp is the typ of a task token; the arena signs no other kind with it.
const taskTyp = "aap-task+jwt"

const (
	keysRefresh   = 5 * time.Minute // as long as the arena lets its keys be cached: a new one is known before it signs
	keysTimeout   = 5 * time.Second
	maxKeySetSize = 64 << 10
	looksAtOnce   = 4               // for unknown kids, one after the other
	looksPause    = 5 * time.Second // until there may be one more
)

var (
	errUnauthorized = errors.New("not a token of this arena for this task")
	errNoKeys       = errors.New("the arena's keys could not be read")
)

// Claims are the claims of the arena's token for a task (AAP, "Authentication",
// and the arena's additions). The token of a whole match has neither round nor
// body hash.
type Claims struct {
	ID        string // jti
	AgentID   string
	MatchID   string
	Round     int    // 0: the token serves the whole match
	BodyHash  string // base64url SHA-256 of the request's body; "": the token serves the whole match
	IssuedAt  time.Time
	ExpiresAt time.Time
}

// cover reports whether the claims are for the match and the round of a task.
func (c Claims) cover(t *Task) bool {
	return c.MatchID == t.MatchID && (c.ofMatch() || c.Round == t.Round)
}

// ofMatch reports whether the token serves a whole match.
func (c Claims) ofMatch() bool { return c.BodyHash == "" }

// tokenClaims are the claims on the wire.
type tokenClaims struct {
	jwt.RegisteredClaims
	AgentID  string `json:"agent_id"`
	MatchID  string `json:"match_id"`
	Expires  int64  `json:"expires_at"`
	Round    int    `json:"round"`
	BodyHash string `json:"bh"`

	ofMatch bool // neither round nor bh is there
}

// UnmarshalJSON accepts times only as numbers (RFC 7519, section 2); the library
// alone accepts them as text too.
func (c *tokenClaims) UnmarshalJSON(data []byte) error {
	type plain tokenClaims
	var raw struct {
		ExpiresAt float64         `json:"exp"`
		IssuedAt  float64         `json:"iat"`
		NotBefore float64         `json:"nbf"`
		Round     json.RawMessage `json:"round"`
		BodyHash  json.RawMessage `json:"bh"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	c.ofMatch = raw.Round == nil && raw.BodyHash == nil
	return json.Unmarshal(data, (*plain)(c))
}

// verifier checks task tokens against the arena's published keys.
type verifier struct {
	parser  *jwt.Parser
	agentID atomic.Pointer[string]

	anyAgent bool // while agentID is empty

	loaded  chan struct{}  // closed when storage is set
	storage jwkset.Storage // refreshes itself until the agent is closed
	looking chan struct{}  // holds one: a single look for an unknown kid at a time
	looks   *rate.Limiter  // for unknown kids
	issuer  string
}

func newVerifier(c Config) *verifier {
	v := &verifier{
		loaded: make(chan struct{}), looking: make(chan struct{}, 1),
		looks: rate.NewLimiter(rate.Every(looksPause), looksAtOnce), anyAgent: c.AnyAgent,
	}
	v.setIssuer(c, c.Issuer)
	v.agentID.Store(&c.AgentID)
	return v
}

// setIssuer sets the iss that tokens must have. It must not be called once
// tokens are verified.
func (v *verifier) setIssuer(c Config, issuer string) {
	v.issuer = issuer
	v.parser = jwt.NewParser(
		jwt.WithValidMethods([]string{"ES256", "EdDSA", "RS256"}),
		jwt.WithIssuer(issuer), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(c.Leeway), jwt.WithStrictDecoding(), jwt.WithTimeFunc(c.Now),
	)
}

// load reads the key set, and has it read again until ctx ends. It waits for
// the first read, so it runs beside the agent's other work.
func (v *verifier) load(ctx context.Context, c Config, client *http.Client) error {
	capped := *client
	capped.Transport = cappedTransport{base: client.Transport, limit: maxKeySetSize}
	url := c.Arena + "/.well-known/jwks.json"
	remote, err := jwkset.NewStorageFromHTTP(url, jwkset.HTTPClientStorageOptions{
		Client: &capped, Ctx: ctx, HTTPTimeout: keysTimeout, RefreshInterval: keysRefresh, NoErrorReturnFirstHTTPReq: true,
		RefreshErrorHandler: func(ctx context.Context, err error) {
			if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
				c.Logger.WarnContext(ctx, "arena keys not read", slog.String("url", url), slog.Any("error", err))
			}
		},
	})
	if err == nil {
		v.storage, err = jwkset.NewHTTPClient(jwkset.HTTPClientOptions{
			HTTPURLs: map[string]jwkset.Storage{url: remote}, RateLimitWaitMax: keysTimeout,
			RefreshUnknownKID: rate.NewLimiter(rate.Inf, 0), // key bounds the rate: here a task would wait for its turn
		})
	}
	if err != nil {
		return fmt.Errorf("read the arena's keys: %w", err)
	}
	close(v.loaded)
	return nil
}

// verify checks everything about a token but its fit to the task. The error
// is errNoKeys when the arena's keys are not there, errUnauthorized otherwise.
func (v *verifier) verify(ctx context.Context, token string, body []byte) (Claims, error) {
	select {
	case <-v.loaded:
	case <-ctx.Done():
		return Claims{}, errNoKeys
	}
	var c tokenClaims
	parsed, err := v.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) { return v.key(ctx, t) })
	if errors.Is(err, errNoKeys) {
		return Claims{}, errNoKeys
	}
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", errUnauthorized, err)
	}
	if err := v.check(parsed, c, body); err != nil {
		return Claims{}, fmt.Errorf("%w: %w", errUnauthorized, err)
	}
	return Claims{
		ID: c.ID, AgentID: c.AgentID, MatchID: c.MatchID, Round: c.Round, BodyHash: c.BodyHash,
		IssuedAt: c.IssuedAt.Time, ExpiresAt: c.ExpiresAt.Time,
	}, nil
}

// check verifies claims that JWT libraries ignore.
func (v *verifier) check(t *jwt.Token, c tokenClaims, body []byte) error {
	sum := sha256.Sum256(body)
	switch own := *v.agentID.Load(); {
	case t.Header["typ"] != taskTyp:
		return errors.New("another kind of token")
	case c.IssuedAt == nil:
		return errors.New("iat is missing")
	case c.AgentID == "" || c.Subject != c.AgentID || !slices.Equal(c.Audience, jwt.ClaimStrings{c.AgentID}):
		return errors.New("agent_id, sub and aud are not one agent")
	case own == "" && !v.anyAgent:
		return errors.New("this agent's id is not known: set AgentID or AnyAgent")
	case own != "" && c.AgentID != own:
		return errors.New("the token is for another agent")
	case c.Expires != c.ExpiresAt.Unix():
		return errors.New("exp and expires_at differ")
	case !c.ofMatch && c.BodyHash != base64.RawURLEncoding.EncodeToString(sum[:]):
		return errors.New("the token is for another body")
	}
	return nil
}

// key finds the arena's key that the token names. Keys that a token brings
// along are never used; a token without a kid would be tried with every key.
func (v *verifier) key(ctx context.Context, t *jwt.Token) (any, error) {
	for _, name := range []string{"jwk", "jku", "x5u", "x5c", "crit"} {
		if _, ok := t.Header[name]; ok {
			return nil, fmt.Errorf("header %s is not allowed", name)
		}
	}
	kid, ok := t.Header["kid"].(string)
	if !ok || kid == "" {
		return nil, errors.New("no kid")
	}
	if !v.knows(ctx, kid) {
		if c, ok := t.Claims.(*tokenClaims); !ok || c.Issuer != v.issuer {
			return nil, errors.New("another issuer")
		}
		// Reading an unknown kid makes the storage read the key set again, at
		// once. One caller reads, the others wait and find the new keys.
		select {
		case v.looking <- struct{}{}:
			defer func() { <-v.looking }()
		case <-ctx.Done():
			return nil, errNoKeys
		}
		if !v.knows(ctx, kid) && !v.looks.Allow() {
			return nil, errors.New("kid is not known")
		}
	}
	jwk, err := v.storage.KeyRead(ctx, kid)
	if err != nil {
		if all, readErr := v.storage.KeyReadAll(ctx); readErr == nil && len(all) == 0 {
			return nil, errNoKeys
		}
		return nil, fmt.Errorf("key %q: %w", kid, err)
	}
	switch m := jwk.Marshal(); {
	case m.USE != jwkset.UseSig:
		return nil, fmt.Errorf("key %q does not sign", kid)
	case m.ALG != "" && m.ALG.String() != t.Method.Alg():
		return nil, fmt.Errorf("key %q is for another algorithm", kid)
	}
	return publicKey(jwk.Key()), nil
}

// publicKey returns the public half of a private key, and any other key as it is.
func publicKey(key any) any {
	if private, ok := key.(interface{ Public() crypto.PublicKey }); ok {
		return private.Public()
	}
	return key
}

func (v *verifier) knows(ctx context.Context, kid string) bool {
	all, err := v.storage.KeyReadAll(ctx)
	return err == nil && slices.ContainsFunc(all, func(k jwkset.JWK) bool { return k.Marshal().KID == kid })
}

// cappedTransport bounds the bodies that the key storage reads.
type cappedTransport struct {
	base  http.RoundTripper
	limit int64
}

// RoundTrip calls the base transport and limits the length of the body.
func (c cappedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := c.base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, c.limit), resp.Body}
	return resp, nil
}
