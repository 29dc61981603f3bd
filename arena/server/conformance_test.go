package server

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// The conformance job checks an agent again once it has declared another
// version, not too soon after the last full check, and only once.
func TestServer_recheck(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	call := func(method, path, token, body string, out any) {
		t.Helper()
		got := request(t, s, method, path, token, body)
		if got.Code/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, got.Code, got.Body)
		}
		must(t, json.Unmarshal(got.Body.Bytes(), out))
	}
	var owner struct{ Token string }
	call(http.MethodPost, "/v1/owners", "", `{"name":"alice"}`, &owner)
	var agent struct {
		ID     string `json:"agent_id"`
		Status string
	}
	fake := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
	call(http.MethodPost, "/v1/agents", owner.Token, `{"name":"ada","endpoint":"`+fake.Endpoint()+`"}`, &agent)
	if agent.Status != "active" {
		t.Fatalf("the agent is %s", agent.Status)
	}
	call(http.MethodPost, "/v1/agents/"+agent.ID+"/check?full=true", owner.Token, "", &struct{}{})
	type badge struct {
		Version   string
		CheckedAt string `json:"checked_at"`
	}
	// after runs the job at a time and returns what the agent's page shows then.
	after := func(now time.Time) (got badge) {
		t.Helper()
		must(t, s.recheck(t.Context(), now))
		var report struct {
			CheckedAt string `json:"checked_at"`
		}
		call(http.MethodGet, "/v1/agents/"+agent.ID+"/conformance", "", "", &report)
		var page struct{ Conformance badge }
		call(http.MethodGet, "/v1/agents/"+agent.ID, "", "", &page)
		return badge{page.Conformance.Version, report.CheckedAt}
	}
	later := time.Now().Add(2 * recheckPause)
	first := after(later)
	if first.Version != "" || first.CheckedAt == "" {
		t.Errorf("before the change of version: %+v", first)
	}
	call(http.MethodPatch, "/v1/agents/"+agent.ID, owner.Token, `{"version":"2"}`, &struct{}{})
	if soon := after(time.Now()); soon != first {
		t.Errorf("checked again too soon: %+v", soon)
	}
	second := after(later)
	if second.Version != "2" || second.CheckedAt == first.CheckedAt {
		t.Errorf("after the change of version: %+v", second)
	}
	if third := after(later.Add(time.Hour)); third != second {
		t.Errorf("checked twice: %+v", third)
	}
}
