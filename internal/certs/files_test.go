package certs

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/internal/certs/certstest"
)

// handshake returns the certificate that a client receives that names a server, ""
// none. nil roots: it accepts every certificate.
func handshake(t *testing.T, c *Certificates, name string, roots *x509.CertPool, now time.Time) (*x509.Certificate, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	defer theirs.Close() //nolint:errcheck // a pipe
	served := make(chan error, 1)
	go func() {
		defer ours.Close() //nolint:errcheck // a pipe
		served <- tls.Server(ours, c.Config()).HandshakeContext(t.Context())
	}()
	client := tls.Client(theirs, &tls.Config{
		ServerName: name, RootCAs: roots, InsecureSkipVerify: roots == nil, MinVersion: tls.VersionTLS12,
		Time: func() time.Time { return now },
	})
	err := client.HandshakeContext(t.Context())
	_ = theirs.Close()
	<-served //nolint:errcheck // the client's error is the one that counts
	if err != nil {
		return nil, err
	}
	return client.ConnectionState().PeerCertificates[0], nil
}

// Files are read again when they have changed. A pair that cannot be used leaves
// the certificate before in place. Threat O11.
func TestFiles_reload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "all.pem")
		start := time.Now()
		log, logger := newTestLog()
		first := certstest.Write(t, file, "arena.test", start, start.Add(48*time.Hour))
		c, err := Open(Options{Host: "arena.test", Files: &Files{Cert: file, Key: file}, Now: time.Now, Logger: logger})
		must(t, err)
		go c.Run(t.Context())
		presents := func(want *x509.Certificate) {
			t.Helper()
			got, err := handshake(t, c, "arena.test", certstest.Pool(want), time.Now())
			if err != nil || !got.Equal(want) || !c.Expires().Equal(want.NotAfter) {
				t.Errorf("%v, it expires at %v, want %v", err, c.Expires(), want.NotAfter)
			}
		}
		pass := func() {
			time.Sleep(filesEvery + time.Millisecond)
			synctest.Wait()
		}
		presents(first)
		second := certstest.Write(t, file, "arena.test", start, start.Add(72*time.Hour))
		presents(first)
		pass()
		presents(second)

		for _, wrong := range []string{"no certificate", ""} {
			certstest.Replace(t, file, []byte(wrong))
			pass()
			pass()
			presents(second)
		}
		must(t, os.Remove(file))
		pass()
		presents(second)
		if got := strings.Count(log.String(), "certificate files not loaded"); got != 2 {
			t.Errorf("%d errors in the log, want one for each kind:\n%s", got, log)
		}
		third := certstest.Write(t, file, "arena.test", start, start.Add(96*time.Hour))
		pass()
		presents(third)
		certstest.Write(t, file, "arena.test", start.Add(-48*time.Hour), start.Add(-24*time.Hour))
		pass()
		if !strings.Contains(log.String(), "the certificate has expired at") {
			t.Errorf("an expired certificate is not logged:\n%s", log)
		}
	})
}

// Files that are wrong at the start are no reason not to serve.
func TestFiles_wrongAtStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "all.pem")
		log, logger := newTestLog()
		c, err := Open(Options{Host: "arena.test", Files: &Files{Cert: file, Key: file}, Now: time.Now, Logger: logger})
		must(t, err)
		go c.Run(t.Context())
		own, err := handshake(t, c, "", nil, time.Now())
		if err != nil || own.Subject.CommonName != "self-signed until there is a certificate" || !c.Expires().IsZero() {
			t.Errorf("presents %v, %v", own, err)
		}
		if text := log.String(); !strings.Contains(text, "no such file") || !strings.Contains(text, "ARENA_TLS") {
			t.Errorf("the log does not say what to do: %s", text)
		}
		cert := certstest.Write(t, file, "arena.test", time.Now(), time.Now().Add(time.Hour))
		time.Sleep(filesEvery + time.Millisecond)
		synctest.Wait()
		if _, err := handshake(t, c, "arena.test", certstest.Pool(cert), time.Now()); err != nil {
			t.Error(err)
		}
	})
}

// Only the arena's own names are served. Threat O9.
func TestCertificates_names(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "all.pem")
	certstest.Write(t, file, "*.example.org", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c, err := Open(Options{Host: "arena.test", Files: &Files{Cert: file, Key: file}, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	for name, served := range map[string]bool{
		"arena.test": true, "ARENA.test": true, "": true, "any.example.org": true, "10.1.2.3": true, // clients do not send addresses
		"other.test": false, "example.org": false, "arena.test.evil.example": false,
	} {
		_, err := handshake(t, c, name, nil, time.Now())
		if served && err != nil || !served && (err == nil || !strings.Contains(err.Error(), "unrecognized name")) {
			t.Errorf("a client that names %q gets %v", name, err)
		}
	}
}

func TestFiles_Check(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	good, other, old, early := filepath.Join(dir, "good.pem"), filepath.Join(dir, "other.pem"), filepath.Join(dir, "old.pem"), filepath.Join(dir, "early.pem")
	certstest.Write(t, good, "arena.test", now.Add(-time.Hour), now.Add(time.Hour))
	certstest.Write(t, other, "other.test", now.Add(-time.Hour), now.Add(time.Hour))
	certstest.Write(t, old, "arena.test", now.Add(-2*time.Hour), now.Add(-time.Hour))
	certstest.Write(t, early, "arena.test", now.Add(time.Hour), now.Add(2*time.Hour))
	for name, tc := range map[string]struct {
		files Files
		want  string
	}{
		"good":          {Files{good, good}, ""},
		"no file":       {Files{filepath.Join(dir, "none.pem"), good}, "none.pem: no such file"},
		"not its key":   {Files{good, other}, "private key does not match"},
		"another host":  {Files{other, other}, "the certificate is for [other.test], and the host of ARENA_PUBLIC_URL is arena.test"},
		"expired":       {Files{old, old}, "the certificate has expired at "},
		"not yet valid": {Files{early, early}, "the certificate is not valid before "},
	} {
		err := tc.files.Check("arena.test", now)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
