package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/agora-arena/arena/arena"
)

const (
	discoveryKept  = time.Hour        // before the provider is asked again
	discoveryRetry = 5 * time.Second  // after a failure
	callTimeout    = 10 * time.Second // of one request
	maxReply       = 1 << 20          // bytes
)

// Options are the parts of a Provider. All but ClientSecret are needed.
type Options struct {
	Issuer       string // to the letter
	ClientID     string
	ClientSecret string // "": a public client
	RedirectURL  string
	// Person returns who claims of the issuer describe. Later ones complete
	// earlier ones.
	Person func(claims ...json.RawMessage) (arena.Identity, error)
	// HTTP calls the issuer that the operator has configured. It must not follow
	// redirects.
	HTTP   *http.Client
	Now    func() time.Time
	Logger *slog.Logger
}

// Provider signs people in. It is safe for concurrent use.
type Provider struct {
	o Options

	mu       sync.Mutex
	found    *discovered // nil: not yet
	foundAt  time.Time
	failed   error // of the last discovery
	failedAt time.Time
}

// discovered is the provider's metadata.
type discovered struct {
	provider *oidc.Provider
	oauth    oauth2.Config
	userInfo bool
}

// New returns a Provider. It does not call the issuer yet, so that an arena can
// start without it.
func New(o Options) *Provider {
	client := *o.HTTP
	client.Timeout, client.Transport = callTimeout, limited{client.Transport}
	o.HTTP = &client
	return &Provider{o: o}
}

// limited caps the replies of a transport.
type limited struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // a transport returns the error of the one below
	}
	reply.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(reply.Body, maxReply), reply.Body}
	return reply, nil
}

// Ready returns nil when people can sign in now, else why not: the error is for
// the operator.
func (p *Provider) Ready(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

// Authenticate returns nil if the provider accepts the id and the secret of the
// client. It offers a code that was never issued, so that a provider which accepts
// them refuses the code (RFC 6749, section 5.2).
func (p *Provider) Authenticate(ctx context.Context) error {
	d, err := p.discover(ctx)
	if err != nil {
		return err
	}
	_, err = d.oauth.Exchange(oidc.ClientContext(ctx, p.o.HTTP), "check", oauth2.VerifierOption(oauth2.GenerateVerifier()))
	var reply *oauth2.RetrieveError // its text is the issuer's, which may repeat the secret
	switch {
	case !errors.As(err, &reply):
		return err
	case reply.ErrorCode == "invalid_client" || reply.ErrorCode == "unauthorized_client":
		return fmt.Errorf("the issuer refuses the client: %s", reply.ErrorCode)
	case reply.ErrorCode == "":
		return fmt.Errorf("the token endpoint answered %d", reply.Response.StatusCode)
	}
	return nil
}

// discover returns the provider's metadata. Cached metadata stays in use while the
// provider is unavailable.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Now()
	if p.found != nil && now.Sub(p.foundAt) < discoveryKept {
		return p.found, nil
	}
	if p.failed == nil || now.Sub(p.failedAt) >= discoveryRetry {
		found, err := p.ask(ctx)
		if err == nil {
			p.found, p.foundAt, p.failed = found, now, nil
			return found, nil
		}
		if ctx.Err() != nil { // the caller has gone
			return nil, err
		}
		p.failed, p.failedAt = err, now
		p.o.Logger.WarnContext(ctx, "oidc provider unavailable", "error", err)
	}
	if p.found != nil {
		return p.found, nil
	}
	return nil, p.failed
}

func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.o.HTTP), p.o.Issuer)
	var mismatch *oidc.IssuerMismatchError
	switch {
	case errors.As(err, &mismatch):
		return nil, fmt.Errorf("the issuer names itself %q: the setting must be the same to the letter", mismatch.Discovered)
	case err != nil:
		return nil, fmt.Errorf("discovery failed: %w", err)
	}
	var more struct {
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
		UserInfo    string   `json:"userinfo_endpoint"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("discovery failed: %w", err)
	}
	endpoint := provider.Endpoint()
	if endpoint.AuthURL == "" || endpoint.TokenURL == "" {
		return nil, errors.New("the issuer has no authorization code flow: its discovery document names no authorization_endpoint or token_endpoint")
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the default of the standard
	if p.o.ClientSecret == "" || len(more.AuthMethods) > 0 && !slices.Contains(more.AuthMethods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &discovered{provider: provider, userInfo: more.UserInfo != "", oauth: oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: endpoint, RedirectURL: p.o.RedirectURL,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}}, nil
}

// Begin returns the address to which the browser goes to sign in, and what it
// must bring back from there. The code of an error is arena.CodeUnavailable.
func (p *Provider) Begin(ctx context.Context) (address string, a arena.SignInAttempt, err error) {
	d, err := p.discover(ctx)
	if err != nil {
		return "", a, unavailable(err)
	}
	a = arena.SignInAttempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return d.oauth.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), a, nil
}

// Finish returns the identity of the person whom the provider has sent back with
// the parameters of a query. The code of an error is arena.CodeForbidden if the
// person or the provider declined, arena.CodeUnauthorized if something does not
// fit, and arena.CodeUnavailable.
func (p *Provider) Finish(ctx context.Context, a arena.SignInAttempt, query url.Values) (arena.Identity, error) {
	if a.State == "" || !same(query.Get("state"), a.State) {
		return arena.Identity{}, arena.Errorf(arena.CodeUnauthorized, "this sign-in was begun elsewhere or is over; begin again")
	}
	if iss := query.Get("iss"); iss != "" && iss != p.o.Issuer { // RFC 9207
		return arena.Identity{}, p.refused(ctx, fmt.Errorf("the reply is of issuer %q", iss))
	}
	if problem := query.Get("error"); problem != "" {
		p.o.Logger.InfoContext(ctx, "sign-in declined", "reason", problem)
		return arena.Identity{}, arena.Errorf(arena.CodeForbidden, "the sign-in was declined")
	}
	d, err := p.discover(ctx)
	if err != nil {
		return arena.Identity{}, unavailable(err)
	}
	ctx = oidc.ClientContext(ctx, p.o.HTTP)
	tokens, err := d.oauth.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(a.Verifier))
	var reply *oauth2.RetrieveError
	switch {
	case errors.As(err, &reply) && reply.Response.StatusCode < http.StatusInternalServerError:
		return arena.Identity{}, p.refused(ctx, fmt.Errorf("the token endpoint answered %d %s", reply.Response.StatusCode, reply.ErrorCode))
	case err != nil:
		return arena.Identity{}, unavailable(err)
	}
	who, err := p.person(ctx, d, tokens, a.Nonce)
	if err != nil {
		return arena.Identity{}, p.refused(ctx, err)
	}
	return who, nil
}

// person checks the ID token and returns whom it describes.
func (p *Provider) person(ctx context.Context, d *discovered, tokens *oauth2.Token, nonce string) (arena.Identity, error) {
	raw, _ := tokens.Extra("id_token").(string)
	id, err := d.provider.Verifier(&oidc.Config{ClientID: p.o.ClientID, Now: p.o.Now}).Verify(ctx, raw)
	if err != nil {
		return arena.Identity{}, fmt.Errorf("id token: %w", err)
	}
	if !same(id.Nonce, nonce) {
		return arena.Identity{}, errors.New("id token: nonce is another's")
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(tokens.AccessToken); err != nil {
			return arena.Identity{}, fmt.Errorf("id token: %w", err)
		}
	}
	var claims, more json.RawMessage
	if err := id.Claims(&claims); err != nil {
		return arena.Identity{}, fmt.Errorf("id token: %w", err)
	}
	if !d.userInfo {
		return p.o.Person(claims)
	}
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return arena.Identity{}, fmt.Errorf("userinfo: %w", err)
	}
	if info.Subject != id.Subject { // OpenID Connect Core 1.0, section 5.3.2
		return arena.Identity{}, errors.New("userinfo: sub is another's")
	}
	if err := info.Claims(&more); err != nil {
		return arena.Identity{}, fmt.Errorf("userinfo: %w", err)
	}
	return p.o.Person(claims, more)
}

// refused logs why a sign-in failed. The person does not see the reason.
func (p *Provider) refused(ctx context.Context, reason error) error {
	p.o.Logger.WarnContext(ctx, "sign-in refused", "reason", reason)
	return &arena.Error{Code: arena.CodeUnauthorized, Message: "the sign-in failed; begin again", Err: reason}
}

func unavailable(err error) error {
	return &arena.Error{Code: arena.CodeUnavailable, Message: "the provider of sign-ins is unavailable; try again later", Err: err}
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
