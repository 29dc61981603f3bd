package e2e

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

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
	p.checkLookups("signed")
}

// checkLookups reads an agent of a league, its ratings and the
// record of its last match, which a program that has the keys verifies.
func (p *process) checkLookups(league string) {
	t := p.t
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	must(t, err)
	id := base64.StdEncoding.EncodeToString(public)
	k := p.registerKeyed("Asker", map[string]any{"protocol": "agentprotocol", "public_key": id})
	k.prove("", agentprotocol.SignChallenge(key, k.challenge))
	ask := func(action string, params map[string]any, into any) {
		t.Helper()
		message := map[string]any{ // encoding/json writes it in the form that is signed
			"protocol": "agentprotocol/0.1", "id": rand.Text(), "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "type": "request",
			"from": map[string]any{"agentId": id}, "to": map[string]any{"broadcast": true},
			"payload": map[string]any{"action": action, "correlationId": "c", "params": params},
		}
		text, err := json.Marshal(message)
		must(t, err)
		message["signature"] = base64.StdEncoding.EncodeToString(ed25519.Sign(key, text))
		text, err = json.Marshal(message)
		must(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/agentprotocol", bytes.NewReader(text))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		defer resp.Body.Close() //nolint:errcheck // only read from
		var out struct {
			Payload struct {
				Status, Code, Message string
				Result                json.RawMessage
			}
		}
		must(t, json.NewDecoder(resp.Body).Decode(&out))
		if out.Payload.Status != "success" {
			t.Fatalf("%s: %d %+v", action, resp.StatusCode, out.Payload)
		}
		must(t, json.Unmarshal(out.Payload.Result, into))
	}
	var found struct {
		Agents []struct {
			AgentID string `json:"agent_id"`
			Name    string `json:"name"`
		} `json:"agents"`
	}
	ask("directory.search", map[string]any{"query": "an", "league": league}, &found)
	if len(found.Agents) != 1 || found.Agents[0].Name != "Ann" {
		t.Fatalf("directory: %+v", found)
	}
	ann := found.Agents[0].AgentID
	var reputation struct {
		Ratings []struct {
			League       string  `json:"league"`
			Rating       float64 `json:"rating"`
			RatedMatches int     `json:"rated_matches"`
		} `json:"ratings"`
	}
	ask("agentprotocol:reputation", map[string]any{"agent_id": ann}, &reputation)
	if len(reputation.Ratings) != 1 || reputation.Ratings[0].League != league || reputation.Ratings[0].RatedMatches != 1 || reputation.Ratings[0].Rating != 1500 {
		t.Errorf("reputation: %+v", reputation)
	}
	var matches struct {
		Items []struct {
			MatchID string `json:"match_id"`
		} `json:"items"`
	}
	p.call(p.admin, http.MethodGet, "/v1/agents/"+ann+"/matches", nil, &matches)
	if len(matches.Items) != 1 {
		t.Fatalf("matches: %+v", matches)
	}
	var proof struct {
		RecordURL string          `json:"record_url"`
		KeysURL   string          `json:"keys_url"`
		Record    json.RawMessage `json:"record"`
		Signature json.RawMessage `json:"signature"`
	}
	ask("proofs.get", map[string]any{"match_id": matches.Items[0].MatchID}, &proof)
	whole := filepath.Join(t.TempDir(), "whole.json")
	save(t, proof.RecordURL, whole)
	files := []string{whole}
	if proof.Record != nil {
		files = append(files, filepath.Join(t.TempDir(), "proof.json"))
		must(t, os.WriteFile(files[1], fmt.Appendf(nil, `{"record":%s,"signature":%s}`, proof.Record, proof.Signature), 0o600))
	} else {
		t.Error("the record of a short match was left out")
	}
	for _, file := range files {
		if code, out, errs := call(t, "verify", file, "--jwks", proof.KeysURL); code != exitOK {
			t.Errorf("exit code %d, %q, %q", code, out, errs)
		}
	}
}
