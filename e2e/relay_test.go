package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/envelope"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/testneed"
	"github.com/agora-arena/arena/internal/testwait"
)

// poller is an agent that plays through the relay alone: nothing could call it.
type poller struct {
	id  string
	key envelope.Key
}

// registerPoller registers an agent, proves its key and starts it. It is
// active once it has polled.
func (p *process) registerPoller(name string, handler arenaagent.Handler, leagues ...string) *poller {
	p.t.Helper()
	key := envelope.NewKey()
	k := p.registerKeyed(name, map[string]any{"protocol": "envelope", "public_key": key.DID(), "leagues": leagues})
	k.prove(envelope.NewKey().Prove(k.challenge), key.Prove(k.challenge))
	p.runs(name, func(ctx context.Context) error {
		return envelope.Run(ctx, envelope.Config{Arena: p.url, Key: key, Name: name, Leagues: leagues}, handler)
	})
	k.active()
	return &poller{id: k.id, key: key}
}

// The TypeScript SDK's agent, as a real process that only polls.
func TestE2E_RelayTypeScript(t *testing.T) {
	t.Parallel()
	sdk := filepath.Join(root(t), "sdk", "typescript")
	for _, file := range []string{"dist/envelope.js", "node_modules/canonicalize"} {
		if _, err := os.Stat(filepath.Join(sdk, file)); err != nil && testneed.Required("sdk") {
			t.Fatalf("make test-sdk comes first: %v", err)
		} else if err != nil {
			t.Skipf("make test-sdk comes first: %v", err)
		}
	}
	p := serve(t, t.TempDir())
	p.league("trivia", p.choices(), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "time_limit_seconds": 30, "visibility": "live"})
	node := func(env ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "node", filepath.Join(sdk, "examples", "relay.mjs"))
		cmd.Env = append(os.Environ(), append(env, "ARENA="+p.url, "KEY_FILE="+filepath.Join(p.cmd.Env[1][len("HOME="):], "agent.pem"))...)
		return cmd
	}
	agent := node()
	said, err := agent.StdoutPipe()
	must(t, err)
	must(t, agent.Start())
	t.Cleanup(func() {
		_ = agent.Process.Signal(os.Interrupt)
		if err := agent.Wait(); err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	})
	did, err := bufio.NewReader(said).ReadString('\n')
	must(t, err)
	k := p.registerKeyed("Poller", map[string]any{"protocol": "envelope", "public_key": strings.TrimSpace(did), "leagues": []string{"trivia"}})
	proof, err := node("CHALLENGE=" + k.challenge).Output()
	must(t, err)
	k.prove("", strings.TrimSpace(string(proof)))
	k.active()
	rival, _ := p.goAgent(p.awaitThoughts)
	p.playsRated(&contestant{id: k.id}, rival, "typescript")
}

// Agents behind a closed firewall play through the relay, against one that
// listens.
func TestE2E_Relay(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	var keys []string
	p.playMixed("mixed", func(name string, handler arenaagent.Handler) string {
		a := p.registerPoller(name, handler, "mixed")
		keys = append(keys, a.key.DID())
		return a.id
	})

	// The relay's log has the whole conversation, now that it has ended.
	testwait.Until(t, "the RESULTs are shown", func() bool {
		var page struct {
			Events []struct {
				Type   string
				Sender struct{ ID string }
			}
		}
		body, err := p.relayGet("/events?timeout=0&type=RESULT")
		must(t, err)
		must(t, json.Unmarshal(body, &page))
		senders := []string{}
		for _, e := range page.Events {
			senders = append(senders, e.Sender.ID)
		}
		return len(senders) == 8 && slices.Contains(senders, keys[0]) && slices.Contains(senders, keys[1])
	})
}

func (p *process) relayGet(path string) (json.RawMessage, error) {
	var raw json.RawMessage
	err := apiclient.New(p.url, "").Call(p.t.Context(), http.MethodGet, "/relay"+path, nil, &raw)
	return raw, err
}
