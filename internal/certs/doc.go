// Package certs presents TLS certificates: those of an ACME server, which nodes
// share through the database, or those in files, which it reads again when they
// change. While there is none it presents a self-signed certificate, so that the
// arena runs on and no client takes it for verified.
//
// It is the only package that imports the ACME client. What is served over TLS
// is left to server, which alone imports it.
package certs
