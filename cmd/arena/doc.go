// Command arena is Agora Arena in one binary: the server, a self-contained demo,
// and the operators' tools.
//
// It owns the table of commands with their flags and help. It leaves settings,
// wiring and jobs to package server.
package main
