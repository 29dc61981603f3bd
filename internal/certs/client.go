package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"golang.org/x/crypto/acme"
)

// newClient returns a client for an ACME server without an account. caFile is a
// PEM file of the authorities of the server's certificate; "": the system's.
func newClient(directory, caFile string) (*acme.Client, error) {
	var roots *x509.CertPool
	if caFile != "" {
		data, err := os.ReadFile(caFile) //nolint:gosec // G304: the operator names the file
		if err != nil {
			return nil, fmt.Errorf("ARENA_ACME_CA_FILE: %w", err)
		}
		if roots = x509.NewCertPool(); !roots.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("ARENA_ACME_CA_FILE: %s holds no PEM certificate", caFile)
		}
	}
	return &acme.Client{DirectoryURL: directory, UserAgent: "agora-arena", RetryBackoff: backoff, HTTPClient: &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}}, nil
}

// backoff returns the pause before a request is repeated, zero when it is not.
func backoff(n int, _ *http.Request, resp *http.Response) time.Duration {
	if resp.StatusCode == http.StatusTooManyRequests || n > 3 {
		return 0 // retryAfter reads when to order again
	}
	return time.Duration(n) * time.Second
}

// retryAfter returns the pause that the ACME server asks for with an error.
func retryAfter(err error) time.Duration {
	if refused, ok := errors.AsType[*acme.Error](err); ok {
		after, _ := acme.RateLimit(refused)
		return min(after, afterMax)
	}
	return 0
}

// CheckDirectory returns why no ACME server answers at a URL. For caFile see ACME.
func CheckDirectory(ctx context.Context, directory, caFile string) error {
	c, err := newClient(directory, caFile)
	if err != nil {
		return err
	}
	defer c.HTTPClient.CloseIdleConnections()
	_, err = c.Discover(ctx)
	if _, unreachable := errors.AsType[*url.Error](err); err != nil && !unreachable { // which names the URL
		err = fmt.Errorf("get %s: %w, and no ACME directory", directory, err)
	}
	if err != nil {
		return fmt.Errorf("ARENA_ACME_URL: the ACME server does not answer: %w", err)
	}
	return nil
}
