package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

// ReadRoots returns the certificate authorities in a PEM file.
func ReadRoots(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file) //nolint:gosec // G304: the operator names the file
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s holds no PEM certificate", file)
	}
	return roots, nil
}

// CheckDirectory returns why no ACME server answers at a URL.
func CheckDirectory(ctx context.Context, url string, roots *x509.CertPool) error {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err //nolint:wrapcheck // it names the URL
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err //nolint:wrapcheck // it names the URL
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	var directory struct {
		NewOrder string `json:"newOrder"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("get %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(body, &directory) != nil || directory.NewOrder == "" {
		return fmt.Errorf("get %s: %s, and no ACME directory", url, resp.Status)
	}
	return nil
}
