package e2e

import (
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agentprotocol"
)

// registerSigned registers an agent of AgentProtocol, proves its key and waits
// until it is active. With listen it is called at an endpoint; without it, it
// opens a WebSocket and nothing could call it.
func (p *process) registerSigned(name string, listen bool, handler arenaagent.Handler, leagues ...string) (id string) {
	p.t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	must(p.t, err)
	_, other, err := ed25519.GenerateKey(nil)
	must(p.t, err)
	client := &http.Client{Transport: &http.Transport{}}
	p.t.Cleanup(client.CloseIdleConnections)
	agent, err := agentprotocol.New(agentprotocol.Config{Arena: p.url, Key: key, Name: name, HTTPClient: client, Logger: slog.New(slog.NewTextHandler(p.t.Output(), nil))}, handler)
	must(p.t, err)
	body := map[string]any{"protocol": "agentprotocol", "public_key": agent.PublicKey(), "leagues": leagues}
	if listen {
		web := httptest.NewServer(agent)
		p.t.Cleanup(web.Close)
		body["endpoint"] = web.URL + "/agentprotocol"
	}
	k := p.registerKeyed(name, body)
	if !listen { // before its key is proved: the arena does not let it in yet
		p.runs(name, agent.Run)
	}
	k.prove(agentprotocol.SignChallenge(other, k.challenge), agentprotocol.SignChallenge(key, k.challenge))
	k.active()
	return k.id
}

// Agents of AgentProtocol, one called at its endpoint and one behind a closed
// door, play against one of AAP.
func TestE2E_AgentProtocol(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.playMixed("signed", func(name string, handler arenaagent.Handler) string {
		return p.registerSigned(name, name == "Bob", handler, "signed")
	})
}
