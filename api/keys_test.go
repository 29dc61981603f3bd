package api

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// testKey is the key of the agents of these tests.
func testKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
}

func (w *world) sign(text string) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(testKey(), []byte(text)))
}

// keyed registers an agent of Alice's whose key is not proved. Only one can
// have the key, so the others retire.
func (w *world) keyed(name string) response {
	w.t.Helper()
	agents, _, err := w.store.Agents.Agents(w.t.Context(), arena.AgentFilter{}, arena.Page{Limit: 100})
	w.ok(err)
	for _, g := range agents {
		if g.Protocol == arena.ProtocolEnvelope {
			w.do("DELETE", "/v1/agents/"+g.ID, w.alice, nil).is(204)
		}
	}
	public, _ := testKey().Public().(ed25519.PublicKey)
	return w.do("POST", "/v1/agents", w.alice, object{
		"name": name, "protocol": "envelope", "public_key": strings.ToUpper(hex.EncodeToString(public)),
	}).is(201)
}

// An agent of a protocol with keys plays once its owner has proved the key.
func TestAPI_key_proof(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.keyed("ant")
	path := "/v1/agents/" + g.str("agent_id")
	challenge := g.str("key_challenge")
	for _, part := range []string{w.api.pages.url, g.str("agent_id"), g.str("public_key")} {
		if !strings.Contains(challenge, part) {
			t.Errorf("the challenge %q does not name %q", challenge, part)
		}
	}
	if key := g.str("public_key"); key != strings.ToLower(key) {
		t.Errorf("the key is kept as %q, not in its canonical form", key)
	}
	if seen := w.do("GET", path, "", nil).is(200); strings.Contains(string(seen.body), "key_challenge") {
		t.Error("everyone sees the challenge")
	}
	for name, c := range map[string]struct {
		token, signature string
		status           int
	}{
		"another's text":   {w.alice, w.sign(challenge + "x"), 422},
		"no base64":        {w.alice, strings.Repeat("*", 88), 422},
		"too short":        {w.alice, "AAAA", 422},
		"another owner":    {w.bob, w.sign(challenge), 404},
		"nobody":           {"", w.sign(challenge), 401},
		"non-canonical":    {w.alice, strings.TrimRight(w.sign(challenge), "=")[:85] + "/", 422},
		"broken by a line": {w.alice, w.sign(challenge)[:80] + "\n" + w.sign(challenge)[80:87], 422},
	} {
		if got := w.do("POST", path+"/key", c.token, object{"signature": c.signature}); got.status != c.status {
			t.Errorf("%s: status %d, want %d: %s", name, got.status, c.status, got.body)
		}
	}
	stored, err := w.store.Agents.Agent(t.Context(), g.str("agent_id"))
	if w.ok(err); !stored.KeyProvedAt.IsZero() {
		t.Fatal("a bad signature proved the key")
	}
	for range 2 { // again is nothing new
		url := strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(w.sign(challenge))
		if proved := w.do("POST", path+"/key", w.alice, object{"signature": url}).is(200); strings.Contains(string(proved.body), "key_challenge") {
			t.Error("the challenge is still there")
		}
	}
	if stored, err = w.store.Agents.Agent(t.Context(), g.str("agent_id")); stored.KeyProvedAt.IsZero() || err != nil {
		t.Errorf("the key is not proved: %v", err)
	}
	w.do("POST", "/v1/agents/"+w.agent(w.alice, "plain")+"/key", w.alice, object{"signature": w.sign(challenge)}).is(409)
	w.do("POST", "/v1/agents", w.alice, object{"name": "x", "protocol": "envelope"}).is(422)
	w.do("POST", "/v1/agents", w.alice, object{"name": "x", "protocol": "envelope", "public_key": "abc"}).is(422)
	polls := w.do("POST", "/v1/agents", w.alice, object{"name": "x", "protocol": "agora"}).is(201)
	w.do("PATCH", "/v1/agents/"+polls.str("agent_id"), w.alice, object{"endpoint": ""}).is(200)
	w.do("PATCH", "/v1/agents/"+w.agent(w.alice, "listens"), w.alice, object{"endpoint": ""}).is(200)
}
