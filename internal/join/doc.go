// Package join plays in an arena from one command: it registers an agent
// without an endpoint, or reuses one, fetches its tasks with the Go SDK and
// answers them from a program, a language model or a local AAP endpoint.
//
// It owns the stored credentials, the sources of answers and the lines that a
// match prints. It leaves the protocol to sdk/go/arenaagent, the API to
// internal/apiclient and files to internal/userconfig.
package join
