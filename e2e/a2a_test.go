package e2e

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// An agent on the official A2A SDK for JavaScript, as a process beside the real
// binary: the arena reads its card, plays a rated match with it, and shows its
// status updates. The client of the same SDK asks the arena. Cards that lie are refused at registration. Threat S9.
func TestE2E_A2A(t *testing.T) {
	t.Parallel()
	example := root(t) + "/examples/a2a"
	needed(t, []string{example + "/node_modules/@a2a-js/sdk"})
	p := serve(t, t.TempDir())
	p.league("trivia", p.choices(), map[string]any{
		"format": "ladder", "min_seats": 2, "max_seats": 2, "time_limit_seconds": 20, "visibility": "live",
	})
	endpoint := startAgent(t, p.url, "a2a", []string{"node", example + "/agent.mjs"}, "URL=http://"+freeAddr(t)+"/")
	js := p.registerA2A("First option", endpoint)
	rival, _ := p.goAgent(p.awaitThoughts)
	p.playsRated(js, rival, "a2a")

	asked, err := exec.CommandContext(t.Context(), "node", example+"/ask.mjs", p.url, "Who leads trivia?").Output()
	if err != nil || !strings.Contains(string(asked), "Gopher") || !strings.Contains(string(asked), `"protocol":"a2a"`) {
		t.Errorf("the arena answered %q, %v", asked, err)
	}

	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		detail string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, endpoint, http.StatusFound) }, "redirect"},
		"10 MB": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"x":"` + strings.Repeat("x", 10<<20) + `"}`)) // the arena hangs up
		}, "too large"},
		"another host": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"supportedInterfaces":[{"url":"https://bank.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`))
		}, "https://bank.example"},
	} {
		liar := httptest.NewServer(c.serve)
		refusal := p.refused(p.owner(name), http.MethodPost, "/v1/agents", map[string]any{"name": name, "protocol": "a2a", "endpoint": liar.URL}, 422, "endpoint_invalid")
		if len(refusal.Errors) != 1 || !strings.Contains(refusal.Errors[0].Message, c.detail) {
			t.Errorf("%s: %+v", name, refusal)
		}
		liar.Close()
	}
}

// registerA2A registers an A2A agent under an owner of its own.
func (p *process) registerA2A(name, endpoint string) *contestant {
	p.t.Helper()
	c := &contestant{owner: p.owner(name + " & co")}
	var made struct {
		ID     string `json:"agent_id"`
		Status string `json:"status"`
	}
	p.call(c.owner, http.MethodPost, "/v1/agents", map[string]any{"name": name, "protocol": "a2a", "endpoint": endpoint, "leagues": []string{"trivia"}}, &made)
	if made.Status != "active" {
		p.t.Fatalf("agent %s is %s after its check", name, made.Status)
	}
	c.id = made.ID
	return c
}
