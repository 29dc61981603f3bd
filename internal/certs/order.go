package certs

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/crypto/acme"
)

// Types of challenges, and the files with their answers. An answer stays until
// the next one: after its challenge it is of no use to anyone.
const (
	http01    = "http-01"
	tlsALPN01 = "tls-alpn-01"
)

// order has a certificate issued, stores it and presents it.
func (s *acmeSource) order(ctx context.Context, c *acme.Client) error {
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	defer c.HTTPClient.CloseIdleConnections()
	if err := s.register(ctx, c); err != nil {
		return err
	}
	ready, err := s.authorize(ctx, c)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err //nolint:wrapcheck // the system has no randomness
	}
	request := &x509.CertificateRequest{DNSNames: []string{s.host}}
	if ip := net.ParseIP(s.host); ip != nil {
		request = &x509.CertificateRequest{IPAddresses: []net.IP{ip}}
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, request, key)
	if err != nil {
		return fmt.Errorf("request certificate: %w", err)
	}
	chain, _, err := c.CreateCertFromOrder(ctx, ready, csr, true)
	if err != nil {
		return fmt.Errorf("request certificate: %w", err)
	}
	value, err := encodePEM(chain, key)
	if err != nil {
		return err
	}
	cert, err := tls.X509KeyPair(value, value)
	if err == nil {
		err = cert.Leaf.VerifyHostname(s.host)
	}
	if err != nil {
		return fmt.Errorf("issued certificate: %w", err)
	}
	err = s.Store.PutTLSFile(ctx, s.folder+"/certificate", value)
	s.current.Store(&cert) // also if it cannot be stored
	if err == nil && s.due(&cert) {
		// Without an error, the next order would follow at once.
		err = fmt.Errorf("the clock of this server is at %s, but the issued certificate is valid from %s to %s",
			s.now().UTC().Format(time.RFC3339), cert.Leaf.NotBefore.Format(time.RFC3339), cert.Leaf.NotAfter.Format(time.RFC3339))
	}
	return err //nolint:wrapcheck // it names the operation
}

// register makes the client use the account of the arena. Its key is made once for
// all nodes; the server recognizes a key that it already has.
func (s *acmeSource) register(ctx context.Context, c *acme.Client) error {
	file := "account/" + s.Email
	der, err := s.stored(ctx, file)
	if err != nil {
		return err
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil { // it was never stored, or cannot be read
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err == nil {
			der, err = x509.MarshalECPrivateKey(key)
		}
		if err == nil {
			err = s.Store.PutTLSFile(ctx, s.folder+"/"+file, der)
		}
		if err != nil {
			return fmt.Errorf("make key of the account: %w", err)
		}
	}
	c.Key = key
	account := &acme.Account{}
	if s.Email != "" {
		account.Contact = []string{"mailto:" + s.Email}
	}
	if _, err = c.Register(ctx, account, acme.AcceptTOS); err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return fmt.Errorf("register at the ACME server: %w", err)
	}
	return nil
}

// authorize returns an order that is ready for a certificate, by the first
// challenge that succeeds. A failed challenge invalidates its order, so each
// challenge gets its own.
func (s *acmeSource) authorize(ctx context.Context, c *acme.Client) (*acme.Order, error) {
	kinds := []string{tlsALPN01}
	if s.HTTP {
		kinds = []string{http01, tlsALPN01}
	}
	var failed error
	for _, kind := range kinds {
		order, err := s.prove(ctx, c, kind)
		if err == nil {
			return order, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", kind, err))
		if _, refused := errors.AsType[*acme.Error](err); refused || ctx.Err() != nil {
			break // another order would be refused too
		}
	}
	return nil, failed
}

// prove places an order and returns it once the server has validated a challenge
// of this kind.
func (s *acmeSource) prove(ctx context.Context, c *acme.Client, kind string) (*acme.Order, error) {
	ids := acme.DomainIDs(s.host)
	if net.ParseIP(s.host) != nil {
		ids = acme.IPIDs(s.host)
	}
	order, err := c.AuthorizeOrder(ctx, ids)
	if err != nil {
		return nil, err //nolint:wrapcheck // authorize does
	}
	for _, url := range order.AuthzURLs {
		authz, err := c.GetAuthorization(ctx, url)
		if err != nil {
			return nil, err //nolint:wrapcheck // authorize does
		}
		if authz.Status == acme.StatusValid {
			continue // since an earlier order
		}
		i := slices.IndexFunc(authz.Challenges, func(c *acme.Challenge) bool { return c.Type == kind })
		if i < 0 {
			return nil, errors.New("the ACME server does not offer this challenge")
		}
		answer, err := s.answer(c, kind, authz.Challenges[i].Token)
		if err != nil {
			return nil, err
		}
		if err := s.Store.PutTLSFile(ctx, s.folder+"/"+kind, answer); err != nil {
			return nil, err //nolint:wrapcheck // it names the operation
		}
		if _, err := c.Accept(ctx, authz.Challenges[i]); err != nil {
			return nil, err //nolint:wrapcheck // authorize does
		}
		if _, err := c.WaitAuthorization(ctx, url); err != nil {
			return nil, err //nolint:wrapcheck // authorize does
		}
	}
	return c.WaitOrder(ctx, order.URI) //nolint:wrapcheck // authorize does
}

// answer returns the answer to a challenge: the body for HTTP-01, the certificate
// with its key for TLS-ALPN-01.
func (s *acmeSource) answer(c *acme.Client, kind, token string) ([]byte, error) {
	if kind == http01 {
		text, err := c.HTTP01ChallengeResponse(token)
		return []byte(text), err //nolint:wrapcheck // authorize does
	}
	cert, err := c.TLSALPN01ChallengeCert(token, s.host)
	if err != nil {
		return nil, err //nolint:wrapcheck // authorize does
	}
	return encodePEM(cert.Certificate, cert.PrivateKey)
}

// encodePEM returns a private key and the chain of its certificate as PEM.
func encodePEM(chain [][]byte, key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	for _, cert := range chain {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})...)
	}
	return text, nil
}
