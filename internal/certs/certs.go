package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
)

// Options are the parts of Certificates. Exactly one of ACME and Files is set.
type Options struct {
	Host   string // that clients connect to
	ACME   *ACME
	Files  *Files
	Now    func() time.Time
	Logger *slog.Logger
}

// Certificates are the TLS certificates of a node.
type Certificates struct {
	host     string
	source   source
	fallback *tls.Certificate
}

// source is where certificates come from.
type source interface {
	newest() *tls.Certificate // with its leaf; nil: there is none
	// challenge returns the certificate of an open TLS-ALPN-01 challenge, nil when
	// none is open.
	challenge(hello *tls.ClientHelloInfo) (*tls.Certificate, error)
	challenges(next http.Handler) http.Handler // of HTTP-01
	run(ctx context.Context)
}

// Open returns the certificates of a node. Wrong files and an unreachable ACME
// server are no errors: they are logged, and may be right later.
func Open(o Options) (*Certificates, error) {
	fallback, err := selfSigned(o.Host, o.Now())
	if err != nil {
		return nil, fmt.Errorf("make self-signed certificate: %w", err)
	}
	c := &Certificates{host: o.Host, fallback: fallback}
	if o.Files != nil {
		c.source = newFiles(*o.Files, o.Now, o.Logger)
	} else {
		c.source = newACME(*o.ACME, o.Host, o.Now, o.Logger)
	}
	return c, nil
}

// Config returns a configuration that presents the current certificate: TLS 1.2 or
// newer, with HTTP/2. A client that names another server gets the alert
// unrecognized_name; one that names none is served.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1", acme.ALPNProto}, GetCertificate: c.present,
	}
}

func (c *Certificates) present(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
		return c.source.challenge(hello)
	}
	cert := c.source.newest()
	if cert == nil {
		cert = c.fallback
	}
	if name := hello.ServerName; name == "" || strings.EqualFold(name, c.host) || cert.Leaf.VerifyHostname(name) == nil {
		return cert, nil
	}
	return nil, nil //nolint:nilnil // crypto/tls then sends unrecognized_name
}

// Expires returns when the current certificate expires, zero while there is
// none but the self-signed one.
func (c *Certificates) Expires() time.Time {
	if cert := c.source.newest(); cert != nil {
		return cert.Leaf.NotAfter
	}
	return time.Time{}
}

// Challenges returns a handler of plain HTTP that answers the challenges of an ACME
// server and passes all other requests to next.
func (c *Certificates) Challenges(next http.Handler) http.Handler { return c.source.challenges(next) }

// Run obtains, renews or reads certificates until ctx ends.
func (c *Certificates) Run(ctx context.Context) { c.source.run(ctx) }

// selfSigned returns a certificate that no client trusts.
func selfSigned(host string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller does
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "self-signed until there is a certificate"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller does
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller does
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
