// Package cli holds the client side of the command line: logins, which arena and
// token a command uses, commands on an owner's agents, tables, colors and shell
// completion.
//
// It leaves the table of all commands and those that run a server to cmd/arena,
// the API to internal/apiclient, the user's files to internal/userconfig and the
// cleaning of untrusted text to internal/plaintext. Everything that an arena returns
// is untrusted: tables print no control characters, and a stored token is sent to
// the arena of its login only.
package cli
