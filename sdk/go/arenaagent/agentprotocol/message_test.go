package agentprotocol

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// The vectors that all SDKs share: what is signed, and what is verified.
func TestVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../vectors/agentprotocol.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Seed      []byte
		AgentID   string `json:"agent_id"`
		Challenge [2]string
		Sign      []struct {
			Draft           json.RawMessage
			Text, Signature string
		}
		Verify []struct {
			Name, Message string
			Valid         bool
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	key := ed25519.NewKeyFromSeed(v.Seed)
	if got := idOf(key.Public().(ed25519.PublicKey)); got != v.AgentID {
		t.Errorf("id %s, want %s", got, v.AgentID)
	}
	if got := SignChallenge(key, v.Challenge[0]); got != v.Challenge[1] {
		t.Errorf("challenge %s, want %s", got, v.Challenge[1])
	}
	for _, c := range v.Sign {
		text, err := canonical(c.Draft)
		if err != nil || string(text) != c.Text || base64.StdEncoding.EncodeToString(ed25519.Sign(key, text)) != c.Signature {
			t.Errorf("%s\nwant %s, %v", text, c.Text, err)
		}
	}
	for _, c := range v.Verify {
		if _, err := open([]byte(c.Message), v.AgentID); (err == nil) != c.Valid {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	sealed, err := seal(key, party{AgentID: v.AgentID}, v.AgentID, "hello", map[string]any{"version": "0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if m, err := open(sealed, v.AgentID); err != nil || m.Type != "hello" {
		t.Errorf("own message: %+v, %v", m, err)
	}
}

// A turn of a game may have an observation of 64 KiB.
func TestOpen_LongTask(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	id := base64.StdEncoding.EncodeToString(public)
	for size, fits := range map[int]bool{100 << 10: true, 1 << 20: false} {
		data, err := seal(key, party{AgentID: id}, "", "task", strings.Repeat("x", size), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(data, id); (err == nil) != fits {
			t.Errorf("a message of %d bytes: %v", len(data), err)
		}
	}
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{
		"no arena": {Key: key}, "arena without scheme": {Arena: "arena.example", Key: key}, "no key": {Arena: "https://arena.example"},
		"below zero": {Arena: "https://arena.example", Key: key, MaxConcurrent: -1}, "no handler": {Arena: "https://arena.example", Key: key},
	} {
		handler := arenaagent.Handler(nil)
		if name != "no handler" {
			handler = func(_ context.Context, _ *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
				return arenaagent.Answer{}, nil
			}
		}
		if _, err := New(c, handler); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
