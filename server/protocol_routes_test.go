package server

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/mailbox"
)

// What the routes of the other protocols answer to a request that is not
// signed, by operation id. They know signatures and secrets of their own:
// whatever bearer token comes along, the answer is the same.
func protocolAnswers() map[string]int {
	return map[string]int{
		"agora": 200, "agora-follow-up": 404, "agora-end": 200, "agora-wellknown": 200, "agora-document": 404,
		"agora-agent": 404, "agora-agent-follow-up": 404, "agora-agent-end": 404, "agora-agent-wellknown": 404,
		"relay-submit": 401, "relay-submit-alias": 401, "relay-events": 200, "relay-events-alias": 200, "relay-health": 200,
		"relay-seed": 404, "relay-manifest": 200, "relay-discover": 200, // a manifest is not kept
		"agentprotocol": 400, "agentprotocol-hello": 200, "agentprotocol-socket": 426,
		"a2a": 200, "a2a-card": 200,
	}
}

// A row of TestAPI_matrix for each route that is not one of the API's own,
// over the real handlers: no token of an owner, an admin or a task opens what a
// signature has to. Threat A1.
func TestProtocolRoutes_matrix(t *testing.T) {
	t.Parallel()
	node := newTestServer(t)
	ask := func(method, path, token, body string) *httptest.ResponseRecorder {
		t.Helper()
		return request(t, node, method, path, token, body)
	}
	var owner struct{ Token string }
	must(t, json.Unmarshal(ask("POST", "/v1/owners", "", `{"name":"alice"}`).Body.Bytes(), &owner))
	task, err := node.keys.Sign(arena.TaskClaims{AgentID: "ag_1", MatchID: "m_1", ExpiresAt: time.Now().Add(time.Minute)})
	must(t, err)
	callers := map[string]string{"an owner": owner.Token, "an admin": testAdmin, "an agent with its task": task, "a liar": "wrong"}

	var document struct {
		Paths map[string]map[string]struct {
			ID   string   `json:"operationId"`
			Tags []string `json:"tags"`
		} `json:"paths"`
	}
	must(t, json.Unmarshal(ask("GET", "/v1/openapi.json", "", "").Body.Bytes(), &document))
	want := protocolAnswers()
	for path, methods := range document.Paths {
		for method, op := range methods {
			if !slices.Contains(op.Tags, "protocols") {
				continue
			}
			status, known := want[op.ID]
			if !known {
				t.Errorf("%s %s (%s) has no row: say what it answers", method, path, op.ID)
			}
			delete(want, op.ID)
			body := ""
			if method == "post" {
				body = "{}"
			}
			path := strings.NewReplacer("{id}", "x", "{hash}", "x", "{token}", "x").Replace(path)
			if strings.HasPrefix(op.ID, "relay-events") {
				path += "?timeout=0" // else it waits for an envelope
			}
			nobody := ask(strings.ToUpper(method), path, "", body)
			if nobody.Code != status {
				t.Errorf("%s %s (%s) answers nobody with %d, want %d: %s", method, path, op.ID, nobody.Code, status, nobody.Body)
			}
			for who, token := range callers {
				if got := ask(strings.ToUpper(method), path, token, body); got.Code != nobody.Code {
					t.Errorf("%s %s (%s) answers %s with %d, nobody with %d: %s", method, path, op.ID, who, got.Code, nobody.Code, got.Body)
				}
			}
		}
	}
	for id := range want {
		t.Errorf("there is a row for %s, which is no route", id)
	}
	if last, err := node.store.Relay.LastEnvelope(t.Context()); last != 0 || err != nil {
		t.Errorf("the relay holds envelope %d (%v)", last, err)
	}
}

// Each protocol refuses an address over its limit in its own form. Threat V6.
func TestProtocolRoutes_limits(t *testing.T) {
	t.Parallel()
	for path, says := range map[string]string{
		"/v1/stream":      `"code":"rate_limited"`,
		"/relay/health":   `"error":"RATE_LIMITED"`,
		"/agora/nothing":  `"status":"failure"`,
		"/agentprotocol":  `"code":"RATE_LIMITED"`,
		"/llms.txt":       `"code":"rate_limited"`,
		"/a/page.of.ours": `"code":"rate_limited"`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			node := newTestServer(t, "ARENA_REQUESTS_PER_ADDRESS=3", "ARENA_PAGES_PER_ADDRESS=3")
			for range 3 {
				if got := request(t, node, "GET", path, "", ""); got.Code == 429 {
					t.Fatalf("refused within the limit: %s", got.Body)
				}
			}
			got := request(t, node, "GET", path, "", "")
			if got.Code != 429 || got.Header().Get("Retry-After") != "20" || !strings.Contains(got.Body.String(), says) {
				t.Errorf("status %d, Retry-After %q: %s", got.Code, got.Header().Get("Retry-After"), got.Body)
			}
		})
	}
}

// Whoever waits for a task or a message reads the database again and again where
// other nodes may store it without a word.
func TestServer_notifications(t *testing.T) {
	t.Parallel()
	for database, want := range map[string]bool{"sqlite:arena.db": true, "postgres://arena@db/arena": false} {
		s := &Server{cfg: testConfig(t, database)}
		if got := mailbox.NewNotifier(s.notifications()).Linked(); got != want {
			t.Errorf("%s: linked is %t", database, got)
		}
	}
}
