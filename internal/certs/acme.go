package certs

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/certificates"
)

// LetsEncrypt is the URL of the directory of Let's Encrypt.
const LetsEncrypt = acme.LetsEncryptURL

const (
	checkEvery = time.Minute      // between two reads of the stored certificate
	pollEvery  = time.Second      // the same while another node orders the first certificate
	orderLimit = 90 * time.Second // for an order
	lockTTL    = 2 * time.Minute  // after which the lock of a lost node is free: longer than an order and than checkEvery
	freeLimit  = 10 * time.Second // for the database to free it
	firstRetry = time.Minute      // after a failed order; doubled after each further one
	maxRetry   = time.Hour        // Let's Encrypt allows five failed orders an hour
	afterMax   = 24 * time.Hour   // of the pause that an ACME server asks for
)

// ACME is a certificate of an ACME server, which this package orders and renews.
type ACME struct {
	Store     *certificates.Files // what the nodes share: certificate, account and open challenges
	Directory string              // URL
	Email     string              // of the account; "": none
	CAFile    string              // PEM file of the authorities of the server's own certificate; "": the system's
	HTTP      bool                // Challenges is served on plain HTTP, so HTTP-01 is used besides TLS-ALPN-01
}

// acmeSource presents the certificate that the nodes share. One of them at a
// time holds the lock and orders; all of them answer its challenge.
type acmeSource struct {
	ACME
	host    string
	folder  string // of everything stored; also the name of the lock
	holder  string // of the lock
	now     func() time.Time
	log     *slog.Logger
	current atomic.Pointer[tls.Certificate]

	held     bool      // the lock, at the last attempt to get it
	failures int       // consecutive failed orders of this node
	retryAt  time.Time // this node places no order before; zero: its last order succeeded
}

func newACME(o ACME, host string, now func() time.Time, log *slog.Logger) *acmeSource {
	return &acmeSource{ACME: o, host: host, folder: o.Directory + "/" + host, holder: rand.Text(), now: now, log: log}
}

func (s *acmeSource) newest() *tls.Certificate { return s.current.Load() }

func (s *acmeSource) challenge(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if !strings.EqualFold(hello.ServerName, s.host) {
		return nil, nil //nolint:nilnil // no challenge is open for this name
	}
	answer, err := s.stored(hello.Context(), tlsALPN01)
	if err != nil || answer == nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(answer, answer)
	return &cert, err //nolint:wrapcheck // to crypto/tls
}

func (s *acmeSource) challenges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token, ok := strings.CutPrefix(r.URL.Path, "/.well-known/acme-challenge/"); ok {
			answer, err := s.stored(r.Context(), http01)
			if err == nil && strings.HasPrefix(string(answer), token+".") {
				_, _ = w.Write(answer)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// stored returns a file of the folder, nil when there is none.
func (s *acmeSource) stored(ctx context.Context, name string) ([]byte, error) {
	value, err := s.Store.TLSFile(ctx, s.folder+"/"+name)
	if arena.CodeOf(err) == arena.CodeNotFound {
		return nil, nil
	}
	return value, err //nolint:wrapcheck // it names the operation
}

func (s *acmeSource) run(ctx context.Context) {
	defer s.release(ctx)
	for {
		err := s.obtain(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := checkEvery
		if err != nil {
			s.failed(ctx, err)
		} else if s.newest() == nil && s.retryAt.IsZero() {
			pause = pollEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// obtain loads the stored certificate. If it is missing or due for renewal and
// no other node orders one, it orders one. While it waits to repeat a failed
// order, each call extends the lock, so that only one node retries.
func (s *acmeSource) obtain(ctx context.Context) error {
	cert, err := s.load(ctx)
	if err != nil {
		return err
	}
	c, err := newClient(s.Directory, s.CAFile) // the file may come after the start
	if err != nil {
		return err
	}
	if !s.due(cert) {
		s.failures, s.retryAt = 0, time.Time{}
		s.release(ctx)
		return nil
	}
	if s.held, err = s.Store.HoldTLSLock(ctx, s.folder, s.holder, lockTTL); err != nil || !s.held || s.now().Before(s.retryAt) {
		return err //nolint:wrapcheck // it names the operation
	}
	if cert, err = s.load(ctx); err != nil || !s.due(cert) {
		return err // another node has stored one before this one held the lock
	}
	if cert == nil && s.failures == 0 {
		s.log.WarnContext(ctx, "no certificate yet: a self-signed one is presented until the ACME server has issued one", "name", s.host)
	}
	if err = s.order(ctx, c); err != nil {
		s.retryAt = s.now().Add(max(min(firstRetry<<min(s.failures, 10), maxRetry), retryAfter(err)))
		s.failures++
		return err
	}
	s.release(ctx)
	s.log.InfoContext(ctx, "certificate obtained", "name", s.host, "renewal", cert != nil)
	return nil
}

// load presents the stored certificate and returns it, nil when there is none.
func (s *acmeSource) load(ctx context.Context) (*tls.Certificate, error) {
	value, err := s.stored(ctx, "certificate")
	if err != nil || value == nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(value, value)
	if err != nil {
		s.log.ErrorContext(ctx, "stored certificate not loaded; another one is ordered", "name", s.host, "error", err)
		return nil, nil //nolint:nilnil // it counts as missing
	}
	s.current.Store(&cert)
	return &cert, nil
}

// due reports whether a third or less of a certificate's lifetime is left.
func (s *acmeSource) due(cert *tls.Certificate) bool {
	return cert == nil || s.now().After(cert.Leaf.NotAfter.Add(-cert.Leaf.NotAfter.Sub(cert.Leaf.NotBefore)/3))
}

// release frees the lock, if this node holds it, also after ctx has ended.
func (s *acmeSource) release(ctx context.Context) {
	if !s.held {
		return
	}
	s.held = false
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeLimit)
	defer cancel()
	if err := s.Store.ReleaseTLSLock(limited, s.folder, s.holder); err != nil {
		s.log.WarnContext(ctx, "lock of certificates not released", "lock", s.folder, "error", err)
	}
}

func (s *acmeSource) failed(ctx context.Context, err error) {
	inUse := "the stored certificate"
	if s.newest() == nil {
		inUse = "a self-signed certificate, which clients refuse"
	}
	s.log.ErrorContext(ctx, "certificate not obtained", "name", s.host, "error", err, "in_use", inUse,
		"cure", "let the name of ARENA_PUBLIC_URL lead to this server, and let the ACME server reach its port 443, or port 80 with ARENA_HTTP_ADDR; arena config --check tests ARENA_ACME_URL; it is tried again without a restart")
}
