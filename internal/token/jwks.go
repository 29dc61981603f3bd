package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// JWKS serves the JWK set (RFC 7517) of the published keys, public parts
// only: those that sign, those that will, and those whose tokens still live.
// It answers GET and HEAD; caches may keep it for five minutes.
func (k *Keys) JWKS() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		body, err := k.jwks(k.now())
		if err != nil {
			k.log.ErrorContext(r.Context(), "key set not encoded", "error", err)
			http.Error(w, "internal", http.StatusInternalServerError)
			return
		}
		sum := sha256.Sum256(body)
		etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		h := w.Header()
		h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(cacheFor.Seconds())))
		h.Set("ETag", etag)
		h.Set("Content-Type", "application/json")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body)) // handles lists and weak forms of If-None-Match
	})
}

func (k *Keys) jwks(now time.Time) ([]byte, error) {
	set := struct {
		Keys []json.RawMessage `json:"keys"`
	}{Keys: []json.RawMessage{}}
	for _, key := range k.ring.Load().keys {
		if key.published(now) {
			set.Keys = append(set.Keys, key.jwk)
		}
	}
	return json.Marshal(set)
}
