// Package userconfig knows where the command line keeps a user's own files, and
// writes them: logins, and keys of agents. Files have mode 0600 in folders of mode
// 0700 and are replaced at once, so that no reader sees half of one.
//
// internal/cli, internal/join and cmd/arena import it. It imports the standard
// library only.
package userconfig
