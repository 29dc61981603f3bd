// Package signintest runs an OpenID Connect provider for tests: oidc-provider, by
// Node.js, as npm has installed it in web.
//
// It owns the process of the provider and what a person does in a browser there.
package signintest
