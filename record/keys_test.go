package record_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/agora-arena/arena/internal/token"
)

// keySet is the published key set, as anyone gets it.
func keySet(t testing.TB, keys *token.Keys) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	keys.JWKS().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/.well-known/jwks.json", nil))
	return w.Body.Bytes()
}
