package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// puller is an agent that fetches its tasks.
type puller struct {
	t     *testing.T
	owner *apiclient.Client
	id    string
	key   string
}

// pulled is what a poll brings.
type pulled struct {
	Task     json.RawMessage
	Token    string
	TaskID   string `json:"task_id"`
	Deadline time.Time
	Attempt  int
}

func (p *process) puller(name string, leagues ...string) *puller {
	p.t.Helper()
	a := &puller{t: p.t, owner: p.owner(name + " & co")}
	var made struct {
		ID     string `json:"agent_id"`
		Key    string `json:"agent_key"`
		Status string
		Pull   bool
	}
	p.call(a.owner, http.MethodPost, "/v1/agents", map[string]any{"name": name, "leagues": leagues}, &made)
	if made.Status != "pending" || !made.Pull || made.Key == "" {
		p.t.Fatalf("registered %+v", made)
	}
	a.id, a.key = made.ID, made.Key
	return a
}

// do sends a request with the agent's key.
func (a *puller) do(ctx context.Context, method, url string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// play fetches and answers tasks until ctx ends.
func (a *puller) play(ctx context.Context, base string, answer func(protocoltest.Request) string) {
	for ctx.Err() == nil {
		status, body, err := a.do(ctx, http.MethodGet, base+"/v1/agents/"+a.id+"/tasks?wait=10", nil)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			a.t.Errorf("poll: %v", err)
			return
		case status == http.StatusNoContent:
			continue
		case status != http.StatusOK:
			a.t.Errorf("poll: %d %s", status, body)
			return
		}
		var p pulled
		if err := json.Unmarshal(body, &p); err != nil {
			a.t.Errorf("poll: %v: %s", err, body)
			return
		}
		a.checkToken(p)
		var r protocoltest.Request
		if err := json.Unmarshal(p.Task, &r.Task); err != nil {
			a.t.Error(err)
		}
		given, _ := json.Marshal(map[string]any{"answer": answer(r)}) //nolint:errchkjson // a string
		status, body, err = a.do(ctx, http.MethodPost, base+"/v1/agents/"+a.id+"/tasks/"+p.TaskID+"/answer", given)
		if ctx.Err() == nil && (err != nil || status != http.StatusAccepted || !strings.Contains(string(body), "answered")) {
			a.t.Errorf("answer: %d %s %v", status, body, err)
		}
	}
}

// checkToken checks that the token covers the bytes of the task.
func (a *puller) checkToken(p pulled) {
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(p.Token, claims); err != nil {
		a.t.Error(err)
	}
	hash := sha256.Sum256(p.Task)
	if claims["bh"] != base64.RawURLEncoding.EncodeToString(hash[:]) || claims["agent_id"] != a.id {
		a.t.Errorf("claims %v of task %s", claims, p.Task)
	}
}

// An agent without an endpoint registers, polls, plays a match against one with
// an endpoint, and is not paused.
func TestE2E_Pull(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	ada := p.puller("Ada", "trivia")
	bob := p.contestant("Bob", answers("no idea"), "trivia")

	var me map[string]any
	p.call(p.admin.As(ada.key), http.MethodGet, "/v1/me", nil, &me)
	if me["agent_id"] != ada.id || me["scope"] != "agent" || me["owner_id"] == "" {
		t.Errorf("me is %v", me)
	}
	p.refused(p.admin.As(ada.key), http.MethodPatch, "/v1/agents/"+ada.id, map[string]any{"version": "2"}, 403, "forbidden")
	p.refused(p.admin.As(ada.key), http.MethodPost, "/v1/agents", map[string]any{"name": "Eve"}, 403, "forbidden")
	p.refused(apiclient.New(p.url, ""), http.MethodGet, "/v1/agents/"+ada.id+"/tasks", nil, 401, "unauthorized")
	p.refused(p.owner("Eve"), http.MethodGet, "/v1/agents/"+ada.id+"/tasks", nil, 401, "unauthorized")
	p.refused(p.admin.As(ada.key), http.MethodGet, "/v1/agents/"+bob.id+"/tasks", nil, 401, "unauthorized")
	p.refused(p.admin.As(ada.key), http.MethodGet, "/v1/agents/ag_none/tasks", nil, 404, "not_found")
	p.refused(bob.owner, http.MethodGet, "/v1/agents/"+bob.id+"/tasks", nil, 409, "agent_has_endpoint")

	ctx, stop := context.WithCancel(t.Context())
	played := make(chan struct{})
	go func() {
		defer close(played)
		ada.play(ctx, p.url, correct)
	}()
	defer func() { stop(); <-played }()
	testwait.Until(t, "Ada is active", func() bool {
		var a struct{ Status string }
		p.call(p.admin, http.MethodGet, "/v1/agents/"+ada.id, nil, &a)
		return a.Status == "active"
	})
	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "trivia", "agents": []string{ada.id, bob.id}}, &m)
	var result finished
	s := p.watch(m.ID, 0)
	s.end(&result)
	for _, seat := range result.Seats {
		if want := map[string]float64{ada.id: 3, bob.id: 0}[seat.AgentID]; seat.Points != want {
			t.Errorf("%+v", seat)
		}
	}
	p.refused(p.admin.As(ada.key), http.MethodPost, "/v1/agents/"+ada.id+"/tasks/tk_none/answer", map[string]any{"answer": "4"}, 409, "task_not_found")

	// A revoked key ends the poll that waits.
	var keys struct {
		Items []struct {
			ID string `json:"key_id"`
		}
	}
	p.call(ada.owner, http.MethodGet, "/v1/agents/"+ada.id+"/keys", nil, &keys)
	stop()
	<-played
	over := make(chan int, 1)
	go func() {
		status, _, _ := ada.do(t.Context(), http.MethodGet, p.url+"/v1/agents/"+ada.id+"/tasks?wait=60", nil)
		over <- status
	}()
	p.call(ada.owner, http.MethodDelete, "/v1/agents/"+ada.id+"/keys/"+keys.Items[0].ID, nil, nil)
	if status := <-over; status != http.StatusNoContent && status != http.StatusUnauthorized {
		t.Errorf("the poll of a revoked key ended with %d", status)
	}
	p.refused(p.admin.As(ada.key), http.MethodGet, "/v1/agents/"+ada.id+"/tasks", nil, 401, "unauthorized")
}
