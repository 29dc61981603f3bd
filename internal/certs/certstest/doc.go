// Package certstest has certificates for tests: a self-made one in files, and
// those of Pebble, an ACME server for tests, which it starts on free ports of this
// machine.
package certstest
