package e2e

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent/agora"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/examples/agents"
	"github.com/agora-arena/arena/internal/testwait"
)

// Demo agents of all four protocols play one rated match of ten rounds: the
// same tasks, the same table, events from all. None has an answer, so that
// none is dropped. Three of the five have no
// address at all: they only ask.
func TestE2E_FourProtocols(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	for _, slug := range []string{"trivia", "arithmetic", "last-one-standing", "swiss-cup"} { // where demo agents register
		p.league(slug, p.pack(12), map[string]any{"format": "elimination", "rounds": 10, "min_seats": 3, "max_seats": 8, "time_limit_seconds": 30, "visibility": "live", "rated": true})
	}
	fleet, err := agents.Start(t.Context(), agents.Options{
		Arena: p.url, Leagues: []string{"trivia"}, Count: 8, Seed: 7, Speed: 0.05, Logger: discard(),
		Key: func(name string) ed25519.PrivateKey {
			seed := sha256.Sum256([]byte(name))
			return ed25519.NewKeyFromSeed(seed[:])
		},
	})
	must(t, err)
	t.Cleanup(fleet.Close)

	protocolOf, hidden := map[string]string{}, 0 // agent -> protocol
	var seats []string
	for i, a := range fleet.Agents() {
		if i > 3 && a.Protocol == agents.AAP { // one is enough, and these have moods
			continue
		}
		id := p.registerDemo(a)
		base := ""
		if a.Protocol == agents.Agora {
			r, err := agora.FreshBase(t.Context(), p.url, id, p.admin.Token)
			must(t, err)
			base = r.Base
		}
		must(t, fleet.Joined(a.Name, id, base))
		if seats, protocolOf[id] = append(seats, id), a.Protocol; a.Endpoint == "" {
			hidden++
		}
	}
	for id, protocol := range protocolOf {
		testwait.Until(t, protocol+" is active", func() bool {
			var a struct{ Status, Protocol string }
			p.call(p.admin, http.MethodGet, "/v1/agents/"+id, nil, &a)
			return a.Status == "active" && a.Protocol == protocol
		})
	}
	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "trivia", "agents": seats}, &m)
	s := p.watch(m.ID, 0)
	var end finished
	s.end(&end)
	s.gapless(1)

	outcomes, events := map[string]map[string]int{}, map[string]int{}
	for _, protocol := range protocolOf {
		outcomes[protocol] = map[string]int{}
	}
	rounds := 0
	for _, e := range s.seen {
		switch {
		case e.Type == "round_closed":
			rounds++
		case e.Type == "seat_outcome":
			var said struct{ Outcome, Reason string }
			must(t, json.Unmarshal(e.Raw, &said))
			outcomes[protocolOf[e.AgentID]][said.Outcome+" "+said.Reason]++
		case e.AgentID != "":
			events[protocolOf[e.AgentID]]++
		}
	}
	want := map[string]int{arena.ProtocolAAP: 10, arena.ProtocolAgora: 20, arena.ProtocolEnvelope: 10, arena.ProtocolAgentProtocol: 10}
	for protocol, n := range want {
		if outcomes[protocol]["answered "] != n || events[protocol] == 0 {
			t.Errorf("%s: outcomes %v, want %d answers; %d events", protocol, outcomes[protocol], n, events[protocol])
		}
	}
	if rounds != 10 || hidden != 3 || !end.Rated || len(end.RatingChanges) != len(seats) {
		t.Errorf("%d rounds, %d agents without an address, result %+v", rounds, hidden, end)
	}
}

// registerDemo registers an agent of the demo under an owner of its own and
// proves its key when it has one.
func (p *process) registerDemo(a agents.Info) (id string) {
	p.t.Helper()
	owner := p.owner(a.Name)
	agent := document{"name": a.Name, "protocol": a.Protocol, "leagues": []string{"trivia"}}
	for member, value := range map[string]string{"endpoint": a.Endpoint, "public_key": a.PublicKey} {
		if value != "" {
			agent[member] = value
		}
	}
	var made struct {
		ID        string `json:"agent_id"`
		Challenge string `json:"key_challenge"`
	}
	p.call(owner, http.MethodPost, "/v1/agents", agent, &made)
	if a.Prove != nil {
		p.call(owner, http.MethodPost, "/v1/agents/"+made.ID+"/key", document{"signature": a.Prove(made.Challenge)}, nil)
	}
	return made.ID
}
