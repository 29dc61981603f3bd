//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/store/storetest"
)

// fetch polls until a task comes.
func (a *puller) fetch(p *process) (d pulled) {
	a.t.Helper()
	for {
		status, body, err := a.do(a.t.Context(), http.MethodGet, p.url+"/v1/agents/"+a.id+"/tasks?wait=10", nil)
		must(a.t, err)
		switch status {
		case http.StatusNoContent:
		case http.StatusOK:
			must(a.t, json.Unmarshal(body, &d))
			a.checkToken(d)
			return d
		default:
			a.t.Fatalf("poll: %d %s", status, body)
		}
	}
}

// answer answers a task correctly.
func (a *puller) answer(p *process, d pulled) {
	a.t.Helper()
	var r protocoltest.Request
	must(a.t, json.Unmarshal(d.Task, &r.Task))
	given, err := json.Marshal(document{"answer": correct(r)})
	must(a.t, err)
	status, body, err := a.do(a.t.Context(), http.MethodPost, p.url+"/v1/agents/"+a.id+"/tasks/"+d.TaskID+"/answer", given)
	if err != nil || status != http.StatusAccepted {
		a.t.Fatalf("answer: %d %s %v", status, body, err)
	}
}

// Two of three nodes are killed while an agent works on a task that it fetched
// there: first one that only delivered it, then the one that runs the match. The
// last node delivers both tasks again as attempt 2, and no round is lost.
func pullingAgents(t *testing.T, server *storetest.Server, env ...string) {
	t.Helper()
	const rounds = 3
	c := newCluster(t, server, 3, env...)
	p := c.node(0)
	p.league("trivia", p.pack(12), document{"format": "ladder", "rounds": rounds, "min_seats": 2, "max_seats": 2, "time_limit_seconds": 60})
	ada, bob := p.puller("Ada", "trivia"), p.puller("Bob", "trivia")
	for _, a := range []*puller{ada, bob} {
		_, _, err := a.do(t.Context(), http.MethodGet, p.url+"/v1/agents/"+a.id+"/tasks?wait=0", nil)
		must(t, err)
		testwait.Until(t, "the agent is active", func() bool {
			var g struct{ Status string }
			p.call(p.admin, http.MethodGet, "/v1/agents/"+a.id, nil, &g)
			return g.Status == "active"
		})
	}
	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", document{"league": "trivia", "agents": []string{ada.id, bob.id}}, &m)
	s := c.open()
	var runs string
	testwait.Until(t, "a node runs the match", func() bool {
		stored, err := s.Matches.Match(t.Context(), m.ID)
		must(t, err)
		runs = stored.Lease.Node
		return runs != ""
	})
	i := slices.IndexFunc([]int{0, 1, 2}, func(i int) bool { return c.node(i).id() == runs })
	owner, delivers, survivor := c.node(i), c.node(i+1), c.node(i+2)

	ctx, stop := context.WithCancel(t.Context())
	var playing sync.WaitGroup
	defer playing.Wait()
	defer stop()
	playing.Go(func() { bob.play(ctx, survivor.url, correct) })

	lost := ada.fetch(delivers)
	delivers.kill()
	again := ada.fetch(survivor)
	if lost.Attempt != 1 || again.Attempt != 2 || again.TaskID != lost.TaskID || again.Token == lost.Token {
		t.Fatalf("attempt %d of %s, then attempt %d of %s", lost.Attempt, lost.TaskID, again.Attempt, again.TaskID)
	}
	ada.answer(survivor, again)
	lost = ada.fetch(owner)
	owner.kill()
	// The answer to a delivery before the take-over is asked for once more.
	for again = ada.fetch(survivor); again.TaskID == lost.TaskID; again = ada.fetch(survivor) {
		if lost.Attempt != 1 || again.Attempt < 2 {
			t.Errorf("attempt %d of %s, then attempt %d", lost.Attempt, lost.TaskID, again.Attempt)
		}
		ada.answer(survivor, again)
	}
	if again.Attempt != 1 {
		t.Errorf("the last round begins with attempt %d", again.Attempt)
	}
	ada.answer(survivor, again)
	testwait.Until(t, "the match has finished", func() bool {
		stored, err := s.Matches.Match(t.Context(), m.ID)
		must(t, err)
		return stored.Status != arena.MatchRunning
	})
	c.finished(s, m.ID, rounds, true)
}
