package agenttest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// AgentKey is the key that the arena accepts from an agent that fetches its tasks.
const AgentKey = "ak_test"

// pulls are the tasks that agents fetch.
type pulls struct {
	limit   int // max_concurrent of the agent
	polls   int
	waiting []*offer
	unacked []*offer // delivered, neither answered nor seen in an event, oldest first
	offers  map[string]*offer
	refuse  func(w http.ResponseWriter, r *http.Request) bool
}

// offer is one task that an agent may fetch.
type offer struct {
	task  Task
	id    string
	body  []byte // of the answer
	reply *Reply
}

func newPulls() pulls { return pulls{limit: 1, offers: map[string]*offer{}} }

// Intercept makes the arena call f before it serves a request for the tasks, the
// answers or the view of an agent. If f returns true, it has written the response.
func (a *Arena) Intercept(f func(w http.ResponseWriter, r *http.Request) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pulls.refuse = f
}

// SetMaxConcurrent sets the limit that the agent registered; 1 until then.
func (a *Arena) SetMaxConcurrent(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pulls.limit = n
}

// Offer makes a task available to agents that fetch their tasks and returns its
// id.
func (a *Arena) Offer(task Task) (taskID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	task.Attempt = cmp.Or(task.Attempt, 1)
	o := &offer{task: task, id: cmp.Or(task.TaskID, fmt.Sprintf("tk_%s_%d", cmp.Or(task.MatchID, "m_test"), cmp.Or(task.Round, 1)))}
	o.task.TaskID = o.id
	a.pulls.offers[o.id] = o
	a.pulls.waiting = append(a.pulls.waiting, o)
	a.signal()
	return o.id
}

// Answered waits for the answer to an offered task until ctx ends, at most half
// a minute. A status object becomes the status of the reply.
func (a *Arena) Answered(ctx context.Context, taskID string) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		a.mu.Lock()
		o, changed := a.pulls.offers[taskID], a.changed
		var reply *Reply
		if o != nil {
			reply = o.reply
		}
		a.mu.Unlock()
		if reply != nil {
			return *reply, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Reply{}, fmt.Errorf("no answer to %s: %w", taskID, ctx.Err())
		}
	}
}

// Polls returns how many polls wait for a task now.
func (a *Arena) Polls() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pulls.polls
}

// AwaitPolls waits until n polls wait for a task, at most half a minute.
func (a *Arena) AwaitPolls(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		a.mu.Lock()
		now, changed := a.pulls.polls, a.changed
		a.mu.Unlock()
		if now == n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d polls of %d: %w", now, n, ctx.Err())
		}
	}
}

// signal wakes everything that waits for a change. It needs a.mu.
func (a *Arena) signal() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// pulling serves a request that needs the agent key.
func (a *Arena) pulling(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		refuse := a.pulls.refuse
		a.mu.Unlock()
		if refuse != nil && refuse(w, r) || a.isDown(w) {
			return
		}
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(key), []byte(AgentKey)) == 0 {
			problem(w, http.StatusUnauthorized, "unauthorized", "this needs the agent's key")
			return
		}
		serve(w, r)
	}
}

func problem(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "code": code, "detail": detail})
}

func (a *Arena) serveMe(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"agent_id": AgentID, "owner_id": "ow_test", "scope": "agent"})
}

func (a *Arena) serveAgent(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	limit, refuse := a.pulls.limit, a.pulls.refuse
	a.mu.Unlock()
	if refuse != nil && refuse(w, r) || a.isDown(w) {
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"agent_id": r.PathValue("id"), "pull": true, "max_concurrent": limit})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (a *Arena) serveTasks(w http.ResponseWriter, r *http.Request) {
	wait, err := time.ParseDuration(cmp.Or(r.URL.Query().Get("wait"), "30") + "s")
	if err != nil || wait < 0 || wait > time.Minute {
		problem(w, http.StatusBadRequest, "invalid", "wait must be between 0 and 60")
		return
	}
	a.mu.Lock()
	if a.pulls.polls > a.pulls.limit {
		a.mu.Unlock()
		w.Header().Set("Retry-After", "1")
		problem(w, http.StatusTooManyRequests, "rate_limited", "too many parallel polls")
		return
	}
	a.pulls.polls++
	a.requeue()
	a.signal()
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.pulls.polls--
		a.signal()
	}()
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	for {
		a.mu.Lock()
		o := a.fetch()
		changed := a.changed
		a.mu.Unlock()
		if o != nil {
			a.deliver(w, o)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
}

// requeue makes the oldest unacknowledged delivery available again when polls
// and unacknowledged deliveries exceed the agent's limit. It needs a.mu.
func (a *Arena) requeue() {
	p := &a.pulls
	if len(p.unacked) > 0 && p.polls+len(p.unacked) > p.limit {
		lost := p.unacked[0]
		p.unacked = p.unacked[1:]
		lost.task.Attempt++
		p.waiting = append([]*offer{lost}, p.waiting...)
	}
}

// fetch returns the next task. It needs a.mu.
func (a *Arena) fetch() *offer {
	p := &a.pulls
	if len(p.waiting) == 0 {
		return nil
	}
	o := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.unacked = append(p.unacked, o)
	return o
}

func (a *Arena) deliver(w http.ResponseWriter, o *offer) {
	a.mu.Lock()
	task := o.task
	a.mu.Unlock()
	body, token, err := a.Make(task)
	if err != nil {
		a.tb.Error(err)
		return
	}
	if task.Body != nil {
		body = task.Body
	}
	// Written by hand: an encoder may change the bytes that the token covers.
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"task":%s,"token":%q,"task_id":%q,"deadline":%q,"attempt":%d}`, body, token, o.id,
		time.Now().Add(cmp.Or(task.TimeLimit, 10*time.Second)).UTC().Format("2006-01-02T15:04:05.000Z"), task.Attempt) //nolint:forbidigo // a test kit lives in real time
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out.Bytes())
}

func (a *Arena) serveAnswer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		problem(w, http.StatusRequestEntityTooLarge, "too_large", "an answer has at most 64 KiB")
		return
	}
	reply, err := readReply(body)
	if err != nil {
		problem(w, http.StatusBadRequest, "malformed", err.Error())
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.pulls.offers[r.PathValue("task")]
	switch {
	case o == nil:
		problem(w, http.StatusConflict, "task_not_found", "no such task")
		return
	case o.reply != nil && !bytes.Equal(o.body, body):
		problem(w, http.StatusConflict, "answer_repeated", "the task was answered")
		return
	}
	o.body, o.reply = body, &reply
	a.acknowledge(func(other *offer) bool { return other == o })
	a.signal()
	writeJSON(w, http.StatusAccepted, map[string]any{})
}

// acknowledge removes deliveries that need not be repeated. It needs a.mu.
func (a *Arena) acknowledge(done func(*offer) bool) {
	a.pulls.unacked = slices.DeleteFunc(a.pulls.unacked, done)
}

// readReply reads an AAP response or a status object.
func readReply(body []byte) (Reply, error) {
	var status struct {
		Status int `json:"status"`
	}
	if err := json.Unmarshal(body, &status); err != nil {
		return Reply{}, fmt.Errorf("decode the answer: %w", err)
	}
	r := Reply{Status: http.StatusOK, Body: body}
	if status.Status != 0 {
		r.Status = status.Status
		return r, nil
	}
	if err := r.decode(); err != nil {
		return r, err
	}
	if !bytes.Contains(body, []byte(`"answer"`)) {
		return r, errors.New("answer is missing")
	}
	return r, nil
}
