package join

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent/agenttest"
)

// world is an arena with one league and the part of the API that join calls.
type world struct {
	*testing.T
	arena *agenttest.Arena

	mu         sync.Mutex
	calls      []string // of the API, as "METHOD path"
	bodies     []string // and headers, of every recorded call
	matches    map[string]string
	leagues    []string // entered
	pause      string   // its reason
	key        string   // that the arena accepts
	requestKey string   // of a registration whose connection broke
	owners     map[string]bool
	retired    bool
	closed     bool          // no sign-ups
	taken      bool          // every name
	broken     bool          // the connection of the next registration
	noAgents   bool          // the agent is not known
	changed    chan struct{} // closed when the pause changes
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, arena: agenttest.New(t), matches: map[string]string{}, key: agenttest.AgentKey, owners: map[string]bool{}, changed: make(chan struct{})}
	w.arena.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		w.record(r)
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case r.URL.Path == "/v1/agents/"+agenttest.AgentID:
			if w.noAgents {
				refuse(rw, 404, "not_found")
			} else {
				send(rw, 200, w.agent())
			}
			return true
		case r.Header.Get("Authorization") != "Bearer "+w.key:
			refuse(rw, 401, "unauthorized")
			return true
		case w.key != agenttest.AgentKey:
			r.Header.Set("Authorization", "Bearer "+agenttest.AgentKey)
		}
		return false
	})
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request){
		"POST /v1/owners":                        w.signUp,
		"POST /v1/agents":                        w.register,
		"GET /v1/leagues":                        w.listLeagues,
		"PUT /v1/leagues/{slug}/entries/{agent}": w.enter,
		"POST /v1/agents/{id}/pause":             w.setPause("owner"),
		"POST /v1/agents/{id}/resume":            w.setPause(""),
		"POST /v1/agents/{id}/keys":              w.newKey,
		"GET /v1/matches/{id}":                   w.match,
	} {
		w.arena.Handle(pattern, func(rw http.ResponseWriter, r *http.Request) {
			w.record(r)
			w.mu.Lock()
			defer w.mu.Unlock()
			h(rw, r)
		})
	}
	return w
}

func (w *world) record(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, r.Method+" "+r.URL.Path)
	w.bodies = append(w.bodies, fmt.Sprint(r.Header, string(body)))
}

// sent returns the headers and bodies of all calls.
func (w *world) sent() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.bodies, "\n")
}

// count returns how often a call was made.
func (w *world) count(call string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if c == call {
			n++
		}
	}
	return n
}

func send(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body)
}

func refuse(rw http.ResponseWriter, status int, code string) {
	send(rw, status, map[string]any{"status": status, "code": code, "detail": "refused"})
}

func (w *world) agent() map[string]any {
	view := map[string]any{"agent_id": agenttest.AgentID, "name": "stub-abcde", "status": "active", "pull": true, "max_concurrent": 1, "leagues": slices.Clone(w.leagues)}
	if w.retired {
		view["status"] = "retired"
	}
	if w.pause != "" {
		view["pause"] = map[string]string{"reason": w.pause}
	}
	return view
}

func (w *world) signUp(rw http.ResponseWriter, r *http.Request) {
	if w.closed && r.Header.Get("Authorization") != "Bearer invitation" {
		refuse(rw, 403, "forbidden")
		return
	}
	token := fmt.Sprint("owner_", len(w.owners)+1)
	w.owners[token] = true
	send(rw, 201, map[string]string{"owner_id": "ow_1", "token": token})
}

// owned reports whether the request has the token of an owner.
func (w *world) owned(rw http.ResponseWriter, r *http.Request) bool {
	if !w.owners[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
		refuse(rw, 401, "unauthorized")
		return false
	}
	return true
}

func (w *world) register(rw http.ResponseWriter, r *http.Request) {
	switch {
	case !w.owned(rw, r):
	case w.taken:
		refuse(rw, 409, "name_taken")
	case w.broken:
		w.broken, w.requestKey = false, r.Header.Get("Idempotency-Key")
		panic(http.ErrAbortHandler)
	case w.requestKey != "" && w.requestKey != r.Header.Get("Idempotency-Key"):
		refuse(rw, 409, "name_taken")
	default:
		w.retired, w.noAgents = false, false
		view := w.agent()
		view["agent_key"] = w.key
		send(rw, 201, view)
	}
}

func (w *world) listLeagues(rw http.ResponseWriter, _ *http.Request) {
	entry := func(slug, status string, entry map[string]any) map[string]any {
		return map[string]any{"slug": slug, "status": status, "entry": entry}
	}
	send(rw, 200, map[string]any{"items": []any{
		entry("trivia", "running", map[string]any{}), entry("math", "open", map[string]any{}), entry("strict", "open", map[string]any{"min_matches": 5}),
		entry("old", "finished", map[string]any{}), entry("private", "open", map[string]any{"password_required": true}),
		entry("chosen", "open", map[string]any{"allow": []string{"ag_other"}}),
	}})
}

func (w *world) enter(rw http.ResponseWriter, r *http.Request) {
	slug := r.PathValue("slug")
	if !w.owned(rw, r) {
		return
	}
	if slug != "trivia" && slug != "math" {
		refuse(rw, 422, "invalid")
		return
	}
	w.leagues = append(w.leagues, slug)
	rw.WriteHeader(http.StatusNoContent)
}

func (w *world) setPause(reason string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if w.owned(rw, r) {
			w.pause = reason
			close(w.changed)
			w.changed = make(chan struct{})
			send(rw, 200, w.agent())
		}
	}
}

func (w *world) newKey(rw http.ResponseWriter, r *http.Request) {
	if w.owned(rw, r) {
		w.key = "ak_new"
		send(rw, 201, map[string]string{"key_id": "k_2", "agent_key": w.key})
	}
}

// match wants the agent's key: without it, all agents of an address share a rate.
func (w *world) match(rw http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+w.key {
		refuse(rw, 429, "rate_limited")
		return
	}
	body, ok := w.matches[r.PathValue("id")]
	if !ok {
		refuse(rw, 404, "not_found")
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(rw, body)
}

// running and finished are snapshots of a duel with Bob.
const (
	running  = `{"league":"trivia","status":"running","round":1,"total_rounds":3,"seats":[{"agent_id":"ag_test","name":"stub-abcde","points":0},{"agent_id":"ag_bob","name":"Bob\u001b[31m","points":1}]}`
	finished = `{"league":"trivia","status":"finished","round":3,"total_rounds":3,"seats":[{"agent_id":"ag_test","name":"stub-abcde","points":2.5,"place":1,"rating_before":1500.000,"rating_delta":12.345},{"agent_id":"ag_bob","name":"Bob","points":1,"place":2}]}`
	voided   = `{"league":"trivia","status":"void","void_reason":"no opponent","seats":[{"agent_id":"ag_test","name":"stub-abcde"},{"agent_id":"ag_bob","name":"Bob"}]}`
)

func (w *world) setMatch(id, snapshot string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.matches[id] = snapshot
}

func (w *world) pausedFor() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pause
}

// awaitPause waits until the agent is paused for a reason, "" for none.
func (w *world) awaitPause(reason string) {
	w.Helper()
	timer := time.NewTimer(plenty)
	defer timer.Stop()
	for {
		w.mu.Lock()
		pause, changed := w.pause, w.changed
		w.mu.Unlock()
		if pause == reason {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			w.Fatalf("paused for %q, want %q", pause, reason)
		}
	}
}

// printed is the output of a run.
type printed struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed at each write
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
	return p.text.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// player is one run of the command.
type player struct {
	*testing.T
	out   *printed
	stop  context.CancelFunc
	ended chan error
}

// start runs the command until the test ends.
func (w *world) start(folder string, source Source, change func(*Options)) *player {
	w.Helper()
	p := &player{T: w.T, out: &printed{changed: make(chan struct{})}, ended: make(chan error, 1)}
	o := Options{Arena: w.arena.URL() + "/", Source: source, Folder: folder, Out: p.out, Now: time.Now, Interval: 5 * time.Millisecond}
	if change != nil {
		change(&o)
	}
	ctx, stop := context.WithCancel(w.Context())
	p.stop = stop
	go func() {
		err := Run(ctx, o)
		p.ended <- err
		close(p.ended)
	}()
	w.Cleanup(func() {
		stop()
		_ = p.wait() // a test that cares has looked
	})
	return p
}

// wait returns the error that the run ended with.
func (p *player) wait() error {
	p.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(plenty):
		p.Errorf("the run did not end; it printed\n%s", p.out)
		return nil
	}
}

// await waits until the output contains a text.
func (p *player) await(text string) {
	p.Helper()
	timer := time.NewTimer(plenty)
	defer timer.Stop()
	for {
		p.out.mu.Lock()
		found, changed := strings.Contains(p.out.text.String(), text), p.out.changed
		p.out.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			p.Fatalf("no %q in\n%s", text, p.out)
		}
	}
}

func (w *world) answered(taskID string) agenttest.Reply {
	w.Helper()
	r, err := w.arena.Answered(w.Context(), taskID)
	if err != nil {
		w.Fatal(err)
	}
	return r
}
