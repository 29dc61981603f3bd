// Package certstest has certificates for tests: a self-signed one in files, and
// certificates of Pebble, an ACME server for tests, which it starts on free ports
// of this machine.
package certstest
