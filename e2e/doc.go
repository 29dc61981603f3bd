// Package e2e holds the end-to-end tests: they build the program and run it as
// its users do, over HTTP, WebSocket and the command line. Tests of the pages in
// a browser are in web/tests. It contains no other code.
package e2e
