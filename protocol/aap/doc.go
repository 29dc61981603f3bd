// Package aap implements the Agora Agent Protocol, version 1.0, to agents: the
// task POST, its reply and the health check.
//
// It owns the wire shapes of both sides (pinned by golden files in testdata),
// the claims of a task's token and the one function that gives every status,
// body and failure its outcome (docs/rules.md, section 3). It leaves connections,
// limits and blocked addresses to protocol, the signing of tokens to
// internal/token, retries and pauses to match/engine, and what follows from a
// failed health check to health.
package aap
