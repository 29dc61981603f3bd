// Package certs presents TLS certificates, either from an ACME server, shared by
// nodes through the database, or from files, which it reads again when they
// change. Until it has one it presents a self-signed certificate, so that the
// arena runs on and no client takes it for verified.
//
// It leaves what is served over TLS to server.
package certs
