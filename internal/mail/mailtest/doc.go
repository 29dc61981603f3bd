// Package mailtest starts an SMTP server for tests: Debian's python3-aiosmtpd, with
// STARTTLS and a password if the test wants them.
//
// It is for tests, and imports only internal/testneed.
package mailtest
