// Package mailtest starts an SMTP server for tests: Debian's python3-aiosmtpd, with
// STARTTLS and a password if the test wants them.
package mailtest
