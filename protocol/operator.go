package protocol

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"time"
)

// NewOperatorClient makes an HTTP client for a service that the operator of
// the arena names, such as a language model: no guard stands before it, since
// the operator's services may well be on a private network, and the operator's
// own proxy is used. It follows no redirect, keeps no cookies and reads at most
// MaxHeader of a reply's head; times and bodies are for the caller to bound. Of
// o, Now and SetupTimeout are not used.
func NewOperatorClient(o ClientOptions) (*http.Client, error) {
	roots, err := rootsWith(o.ExtraRoots)
	if err != nil {
		return nil, fmt.Errorf("operator client: %w", err)
	}
	dialer := &net.Dialer{Timeout: cmp.Or(o.DialTimeout, 3*time.Second)}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    cmp.Or(o.TLSTimeout, 5*time.Second),
			MaxResponseHeaderBytes: MaxHeader,
			MaxConnsPerHost:        cmp.Or(o.MaxConnsPerHost, 16),
			MaxIdleConnsPerHost:    cmp.Or(o.MaxConnsPerHost, 16),
			IdleConnTimeout:        30 * time.Second,
		},
	}, nil
}

// rootsWith returns the system's certificate authorities and some more; nil, for
// the system's alone, when there are no more.
func rootsWith(extra []*x509.Certificate) (*x509.CertPool, error) {
	if len(extra) == 0 {
		return nil, nil //nolint:nilnil // nil has a meaning to crypto/tls
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("system roots: %w", err)
	}
	for _, c := range extra {
		roots.AddCert(c)
	}
	return roots, nil
}
