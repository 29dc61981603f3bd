package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// LetsEncrypt is the URL of the directory of Let's Encrypt.
const LetsEncrypt = certmagic.LetsEncryptProductionCA

// retryEvery is the pause after a failure that the ACME client does not repeat
// itself, such as one of the database.
const retryEvery = time.Minute

// ACME is a certificate of an ACME server, which this package obtains and renews.
type ACME struct {
	Store     Store
	Directory string // URL
	Email     string // of the account; "": none
	CAFile    string // PEM file of the authorities of the server's own certificate; "": the system's
	Addr      string // host:port that this node answers TLS on
	HTTPAddr  string // host:port that it answers HTTP-01 on; "": only TLS-ALPN-01 is used
}

// acmeSource presents a certificate that certmagic keeps up to date.
type acmeSource struct {
	host     string
	caFile   string // "": none, or it has been read
	log      *slog.Logger
	storage  *storage
	cache    *certmagic.Cache
	template certmagic.ACMEIssuer
	client   atomic.Pointer[client]
}

// client is the ACME client. It is replaced when the authorities become known.
type client struct {
	config *certmagic.Config
	issuer *certmagic.ACMEIssuer
}

func newACME(o ACME, host string, log *slog.Logger) (*acmeSource, error) {
	if o.Store == nil || o.Directory == "" {
		return nil, errors.New("certificates: ACME needs a store and a directory")
	}
	listenHost, port, err := splitAddr(o.Addr)
	if err != nil {
		return nil, err
	}
	s := &acmeSource{host: host, caFile: o.CAFile, log: log, storage: newStorage(o.Store, log), template: certmagic.ACMEIssuer{
		CA: o.Directory, Email: o.Email, Agreed: true, ListenHost: listenHost, AltTLSALPNPort: port,
		DisableHTTPChallenge: o.HTTPAddr == "", Logger: quiet(log),
	}}
	if o.HTTPAddr != "" {
		if _, s.template.AltHTTPPort, err = splitAddr(o.HTTPAddr); err != nil {
			return nil, err
		}
	}
	s.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return s.client.Load().config, nil },
		Logger:           quiet(log),
	})
	var roots *x509.CertPool
	if o.CAFile != "" {
		roots = x509.NewCertPool() // trusts nothing until the file is read
	}
	s.connect(roots)
	return s, nil
}

// connect makes the client. nil roots: those of the system.
func (s *acmeSource) connect(roots *x509.CertPool) {
	c := &client{config: certmagic.New(s.cache, certmagic.Config{
		Storage: s.storage, Logger: quiet(s.log), OnEvent: s.event, DisableStorageCheck: true,
		OCSP: certmagic.OCSPConfig{DisableStapling: true}, // browsers and authorities have given it up
	})}
	template := s.template
	template.TrustedRoots = roots
	c.issuer = certmagic.NewACMEIssuer(c.config, template)
	c.config.Issuers = []certmagic.Issuer{c.issuer}
	s.client.Store(c)
}

func splitAddr(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil {
		return "", 0, fmt.Errorf("address for ACME challenges: %w", err)
	}
	return host, port, nil
}

// event logs what the ACME client has done.
func (s *acmeSource) event(ctx context.Context, event string, data map[string]any) error {
	switch event {
	case "cert_obtained":
		s.log.InfoContext(ctx, "certificate obtained", "name", s.host, "renewal", data["renewal"])
	case "cert_failed":
		s.failed(ctx, data["error"])
	}
	return nil
}

func (s *acmeSource) failed(ctx context.Context, err any) {
	inUse := "the stored certificate"
	if s.newest() == nil {
		inUse = "a self-signed certificate, which clients refuse"
	}
	s.log.ErrorContext(ctx, "certificate not obtained", "name", s.host, "error", err, "in_use", inUse,
		"cure", "let the name of ARENA_PUBLIC_URL lead to this server, and let the ACME server reach its port 443, or port 80 with ARENA_HTTP_ADDR; arena config --check tests ARENA_ACME_URL; it is tried again without a restart")
}

// newest returns the certificate that is valid the longest, nil when there is none.
func (s *acmeSource) newest() *tls.Certificate {
	var newest *tls.Certificate
	for _, c := range s.cache.AllMatchingCertificates(s.host) {
		if newest == nil || c.Leaf.NotAfter.After(newest.Leaf.NotAfter) {
			newest = &c.Certificate
		}
	}
	return newest
}

func (s *acmeSource) challenge(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName != s.host {
		return nil, nil //nolint:nilnil // no challenge is open for this name
	}
	return s.client.Load().config.GetCertificate(hello) //nolint:wrapcheck // to crypto/tls
}

func (s *acmeSource) challenges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.client.Load().issuer.HTTPChallengeHandler(next).ServeHTTP(w, r)
	})
}

func (s *acmeSource) run(ctx context.Context) {
	for {
		err := s.obtain(ctx)
		if err == nil || ctx.Err() != nil {
			break
		}
		s.failed(ctx, err)
		select {
		case <-ctx.Done():
		case <-time.After(retryEvery):
		}
	}
	<-ctx.Done()
}

// obtain loads the stored certificate, or has one issued. Other nodes wait
// meanwhile and load that one. The client repeats what fails until ctx ends.
func (s *acmeSource) obtain(ctx context.Context) error {
	var unread error // what is stored is of use all the same
	if s.caFile != "" {
		var roots *x509.CertPool
		if roots, unread = ReadRoots(s.caFile); unread == nil {
			s.caFile = ""
			s.connect(roots)
		} else {
			unread = fmt.Errorf("ARENA_ACME_CA_FILE: %w", unread)
		}
	}
	config := s.client.Load().config
	_, err := config.CacheManagedCertificate(ctx, s.host)
	switch {
	case unread != nil:
		return unread
	case !errors.Is(err, fs.ErrNotExist):
		if err != nil {
			return fmt.Errorf("load certificate: %w", err)
		}
		return s.cache.RenewManagedCertificates(ctx) //nolint:wrapcheck // logged as it is
	}
	s.log.WarnContext(ctx, "no certificate yet: a self-signed one is presented until the ACME server has issued one", "name", s.host)
	if err = config.ObtainCertAsync(ctx, s.host); err == nil {
		_, err = config.CacheManagedCertificate(ctx, s.host)
	}
	return err //nolint:wrapcheck // it names the operation
}

func (s *acmeSource) close() {
	s.cache.Stop()
	s.storage.close()
}

// quiet returns a logger for the ACME client, whose messages are of use to
// debug only: event logs what matters.
func quiet(log *slog.Logger) *zap.Logger { return zap.New(&debugCore{log: log}) }
