package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/agora-arena/arena/internal/strictjson"
)

// a2aMessage is a message as an A2A agent reads it.
type a2aMessage struct {
	Params struct {
		Message struct {
			Parts    []struct{ Data json.RawMessage }
			Metadata struct {
				Token string `json:"arena_token"`
			}
		}
	}
}

// a2aAgent is an A2A agent that verifies task tokens of the arena at issuer,
// except for whom they are, and answers with the first option.
func a2aAgent(t *testing.T, issuer string) (endpoint string) {
	t.Helper()
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the arena may have hung up
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
		reply(w, document{"name": "First option", "supportedInterfaces": []document{{
			"url": "http://" + r.Host + "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
		}}})
	})
	mux.HandleFunc("POST /rpc", func(w http.ResponseWriter, r *http.Request) {
		var m a2aMessage
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || len(m.Params.Message.Parts) != 2 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		data := m.Params.Message.Parts[1].Data
		if err := verifyTask(t, issuer, m.Params.Message.Metadata.Token, data); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var task struct{ Task struct{ Options []string } }
		_ = json.Unmarshal(data, &task) // strict JSON: its canonical form was made
		reply(w, document{"jsonrpc": "2.0", "id": 1, "result": document{"message": document{
			"messageId": "1", "role": "ROLE_AGENT", "parts": []document{{"data": document{"answer": append(task.Task.Options, "?")[0]}}},
		}}})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// verifyTask verifies the token of a task over A2A.
func verifyTask(t *testing.T, issuer, token string, data []byte) error {
	t.Helper()
	keys, err := keyfunc.NewDefaultCtx(t.Context(), []string{issuer + "/.well-known/jwks.json"})
	if err != nil {
		return err
	}
	claims := jwt.MapClaims{}
	if _, err := jwt.ParseWithClaims(token, claims, keys.Keyfunc, jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuer(issuer), jwt.WithLeeway(10*time.Second)); err != nil {
		return err
	}
	canonical, err := strictjson.Canonical(data)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(canonical)
	if claims["bh"] != base64.RawURLEncoding.EncodeToString(hash[:]) {
		return jwt.ErrTokenInvalidClaims
	}
	return nil
}
