// Package userconfig finds and writes the files that the command line keeps for a
// user: logins, and keys of agents. Files have mode 0600 in folders of mode
// 0700 and are replaced at once, so that no reader sees half of one.
package userconfig
