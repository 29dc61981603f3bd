//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agora"
	"github.com/agora-arena/arena/store/storetest"
)

// Two agents that only poll, each at another node, play a match of one of the
// two: tasks and answers find their way.
func pollingAgents(t *testing.T, server *storetest.Server) {
	t.Helper()
	c := newCluster(t, server, 2)
	p := c.node(0)
	p.league("mixed", p.pack(12), map[string]any{"format": "ladder", "rounds": 3, "min_seats": 2, "max_seats": 2, "time_limit_seconds": 30, "visibility": "live"})
	ctx, cancel := context.WithCancel(t.Context())
	var playing sync.WaitGroup
	defer playing.Wait()
	defer cancel()
	var ids []string
	for i, name := range []string{"Ann", "Bob"} {
		r, err := agora.Register(t.Context(), c.node(i+1).url, agora.Registration{Name: name, Leagues: []string{"mixed"}})
		must(t, err)
		ids = append(ids, r.AgentID)
		base := c.node(i).url + strings.TrimPrefix(r.Base, "http://127.0.0.1:9") // the cluster's one public URL leads nowhere
		playing.Go(func() {
			err := agora.Poll(ctx, agora.Config{Base: base, Logger: discard()}, func(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
				events.Thinking("well")
				p.awaitThoughts(ctx, task)
				return arenaagent.Answer{Value: strings.Replace(task.Description, "question", "right answer", 1)}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for _, id := range ids {
		p.active(p.admin, id)
	}
	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "mixed", "agents": ids}, &m)
	stream := p.watch(m.ID, 0)
	var end finished
	stream.end(&end)
	thoughts := map[string]int{}
	for _, e := range stream.seen {
		var said struct {
			Outcome   string
			ElapsedMS int `json:"elapsed_ms"`
		}
		must(t, json.Unmarshal(e.Raw, &said))
		switch e.Type {
		case "thinking":
			thoughts[e.AgentID]++
		case "seat_outcome":
			if said.Outcome != "answered" {
				t.Errorf("%s", e.Raw)
			}
			t.Logf("round %d: %d ms", e.Round, said.ElapsedMS)
		}
	}
	if end.Seats[0].Points != 3 || end.Seats[1].Points != 3 || thoughts[ids[0]] != 3 || thoughts[ids[1]] != 3 {
		t.Errorf("%+v, thoughts %v", end, thoughts)
	}
}
