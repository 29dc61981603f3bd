package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// Files are two PEM files: a certificate with its chain, and its private key.
type Files struct {
	Cert, Key string // paths
}

// filesEvery is how often files are read.
const filesEvery = time.Second

// fileSource presents the certificate in files.
type fileSource struct {
	files   Files
	now     func() time.Time
	log     *slog.Logger
	current atomic.Pointer[tls.Certificate] // the last good one
	read    [2][]byte                       // contents at the last attempt; nil: unreadable
	failed  string                          // the error of the last attempt
}

func newFiles(f Files, now func() time.Time, log *slog.Logger) *fileSource {
	s := &fileSource{files: f, now: now, log: log}
	s.refresh()
	return s
}

func (s *fileSource) newest() *tls.Certificate { return s.current.Load() }

func (s *fileSource) challenge(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return nil, nil //nolint:nilnil // no challenge is ever open
}

func (s *fileSource) challenges(next http.Handler) http.Handler { return next }

func (s *fileSource) run(ctx context.Context) {
	tick := time.NewTicker(filesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.refresh()
		}
	}
}

// refresh reads the files, and parses them if they have changed.
func (s *fileSource) refresh() {
	read, err := s.files.read()
	var cert *tls.Certificate
	if err == nil {
		if bytes.Equal(read[0], s.read[0]) && bytes.Equal(read[1], s.read[1]) {
			return
		}
		cert, err = parsePair(s.files, read)
	}
	s.read = read
	if err != nil {
		if err.Error() != s.failed {
			s.failed = err.Error()
			s.log.Error("certificate files not loaded", "error", err, "in_use", s.inUse(),
				"cure", "put a PEM certificate and the key that matches it into the files of ARENA_TLS; they are read again every second")
		}
		return
	}
	s.failed = ""
	s.current.Store(cert)
	if err := validity(cert.Leaf, s.now()); err != nil {
		s.log.Error("certificate is not valid", "error", err, "cure", "renew it and replace the files of ARENA_TLS; no restart is needed")
		return
	}
	s.log.Info("certificate loaded", "names", names(cert.Leaf), "expires_at", cert.Leaf.NotAfter)
}

func (s *fileSource) inUse() string {
	if s.current.Load() == nil {
		return "a self-signed certificate, which clients refuse"
	}
	return "the previous certificate"
}

// read returns the contents of both files.
func (f Files) read() (read [2][]byte, err error) {
	for i, path := range []string{f.Cert, f.Key} {
		if read[i], err = os.ReadFile(path); err != nil { //nolint:gosec // G304: the operator names the files
			return [2][]byte{}, err //nolint:wrapcheck // it names the file
		}
	}
	return read, nil
}

func parsePair(f Files, read [2][]byte) (*tls.Certificate, error) {
	cert, err := tls.X509KeyPair(read[0], read[1])
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", f.Cert, f.Key, err)
	}
	return &cert, nil
}

// Check returns what is wrong with the files for clients that connect to host.
func (f Files) Check(host string, now time.Time) error {
	read, err := f.read()
	if err != nil {
		return err
	}
	cert, err := parsePair(f, read)
	if err != nil {
		return err
	}
	if err := validity(cert.Leaf, now); err != nil {
		return fmt.Errorf("%s: %w", f.Cert, err)
	}
	if cert.Leaf.VerifyHostname(host) != nil {
		return fmt.Errorf("%s: the certificate is for %v, and the host of ARENA_PUBLIC_URL is %s", f.Cert, names(cert.Leaf), host)
	}
	return nil
}

func validity(leaf *x509.Certificate, now time.Time) error {
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the certificate has expired at %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the certificate is not valid before %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// names returns the names and addresses that a certificate is for.
func names(leaf *x509.Certificate) []string {
	list := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		list = append(list, ip.String())
	}
	return list
}
