package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	atOnce     = 6 // tasks that an agent with an endpoint works on
	pullAtOnce = 3 // and one that polls
	pollWait   = 5 * time.Second
	pollSlack  = 3 * time.Second // for a node that is slow or frozen
)

// start lets an agent without an endpoint fetch its tasks until the fleet is
// closed.
func (a *agent) start() {
	for range pullAtOnce {
		a.fleet.wg.Go(func() {
			for a.fleet.ctx.Err() == nil {
				if !a.fetch() {
					wait(a.fleet.ctx, a.chance.between(100*time.Millisecond, time.Second))
				}
			}
		})
	}
}

// delivery is what a poll brings.
type delivery struct {
	Task   json.RawMessage `json:"task"`
	Token  string          `json:"token"`
	TaskID string          `json:"task_id"`
}

// fetch polls some node once and answers the task that it gets. It returns false
// when no node answered.
func (a *agent) fetch() bool {
	status, data := a.request(http.MethodGet, fmt.Sprintf("/v1/agents/%s/tasks?wait=%g", a.id, pollWait.Seconds()), nil)
	switch status {
	case http.StatusNoContent:
		return true
	case http.StatusOK:
	default:
		return false
	}
	at := time.Now()
	var d delivery
	if err := json.Unmarshal(data, &d); err != nil {
		a.fleet.cluster.problems.add("14", "a poll of agent %s got %.300s: %v", a.id, data, err)
		return false
	}
	p, n := a.note(at, d.Token, d.Task)
	if a.kind != honest && a.kind != late {
		a.misbehavePulled(d.TaskID, p)
		return true
	}
	if !wait(a.fleet.ctx, a.think(d.Token, p)) {
		return true
	}
	a.mu.Lock()
	first, known := a.given[d.TaskID]
	if !known {
		first = p
		a.given[d.TaskID] = p
	}
	a.posts[n].answer, a.posts[n].secret = first.answer, first.secret // the same task has the same answer
	a.mu.Unlock()
	reply, _ := json.Marshal(map[string]any{"answer": first.answer, "reasoning": first.secret, "confidence": 0.5}) // always encodes
	for time.Since(at) < p.limit {
		status, _ := a.request(http.MethodPost, "/v1/agents/"+a.id+"/tasks/"+d.TaskID+"/answer", reply)
		switch {
		case status == http.StatusAccepted:
			a.mu.Lock()
			a.posts[n].replied = time.Now()
			a.mu.Unlock()
			return true
		case status >= 400 && status < 500 && status != http.StatusTooManyRequests:
			return true // late, or no longer asked for
		}
		if !wait(a.fleet.ctx, 50*time.Millisecond) {
			return true
		}
	}
	return true
}

// request calls some node with the agent's key. Status 0: nothing is known.
func (a *agent) request(method, path string, body []byte) (status int, data []byte) {
	url := a.chance.url(a.fleet.cluster)
	if url == "" {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(a.fleet.ctx, pollWait+pollSlack)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	r.Header.Set("Authorization", "Bearer "+a.key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := a.fleet.polls.Do(r)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	data, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	if resp.StatusCode == http.StatusInternalServerError {
		a.fleet.cluster.problems.add("C5", "%s %s: a fault of the storage is no fault of ours, yet status 500: %.300s", method, path, data)
	}
	return resp.StatusCode, data
}

// misbehavePulled does with a task what the agent's kind does. Kinds that only
// an endpoint can be drop the task.
func (a *agent) misbehavePulled(task string, p post) {
	var body string
	switch a.kind {
	case kind500:
		body = `{"status":500}`
	case kind503:
		body = `{"status":503}`
	case kind429:
		body = `{"status":429}`
	case garbage:
		body = `{"answer": `
	case huge:
		body = `{"answer":"` + strings.Repeat("x", 200<<10) + `"}`
	case stalling:
		wait(a.fleet.ctx, p.limit)
		return
	default:
		wait(a.fleet.ctx, 100*time.Millisecond) // and polls again, as if it had lost the task
		return
	}
	a.request(http.MethodPost, "/v1/agents/"+a.id+"/tasks/"+task+"/answer", []byte(body))
}
