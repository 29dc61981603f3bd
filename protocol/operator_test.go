package protocol_test

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agora-arena/arena/protocol"
)

// The operator's service may run on this machine. It cannot redirect the arena or
// fill its memory with the head of a reply, and it needs a trusted certificate.
func TestNewOperatorClient(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
		case "/head":
			w.Header().Set("X-Long", strings.Repeat("x", protocol.MaxHeader))
		}
		_, _ = io.WriteString(w, "here")
	}))
	t.Cleanup(srv.Close)
	get := func(client *http.Client, path string) (int, error) {
		t.Cleanup(client.CloseIdleConnections)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	client, err := protocol.NewOperatorClient(protocol.ClientOptions{ExtraRoots: []*x509.Certificate{srv.Certificate()}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/": 200, "/moved": 307, "/head": 0} {
		if status, err := get(client, path); status != want || (err != nil) != (want == 0) {
			t.Errorf("%s: %d, %v, want %d", path, status, err, want)
		}
	}
	untrusted, err := protocol.NewOperatorClient(protocol.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if status, err := get(untrusted, "/"); err == nil {
		t.Errorf("an unknown certificate was taken: %d", status)
	}
}
