package certstest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Write makes a certificate for host, which may be an address, and puts it with
// its key into one PEM file, in one step. The certificate is its own authority.
func Write(t testing.TB, file, host string, notBefore, notAfter time.Time) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(t, err)
	template := x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, NotBefore: notBefore, NotAfter: notAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	var text bytes.Buffer
	must(t, pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	must(t, pem.Encode(&text, &pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	Replace(t, file, text.Bytes())
	return cert
}

// Replace writes a file in one step.
func Replace(t testing.TB, file string, data []byte) {
	t.Helper()
	next := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".new")
	must(t, os.WriteFile(next, data, 0o600))
	must(t, os.Rename(next, file))
}

// Pool returns a pool that trusts the certificates.
func Pool(list ...*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, cert := range list {
		pool.AddCert(cert)
	}
	return pool
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
