// Package signin signs people in with an OpenID Connect provider, by the
// authorization code flow with PKCE, state and nonce (OpenID Connect Core 1.0,
// section 3.1; RFC 7636; RFC 9700).
//
// It owns the requests to the provider, which it discovers when they are needed,
// and the checks of what comes back. It leaves the browser to api, sessions
// to account, the meaning of claims to a function that its caller passes, and
// bearer tokens of the issuer to internal/token.
package signin
