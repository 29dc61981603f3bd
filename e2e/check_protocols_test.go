package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agentprotocol"
	"github.com/agora-arena/agora-go/arenaagent/agora"
	"github.com/agora-arena/agora-go/arenaagent/envelope"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/examples/agents"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/conformance"
)

// firstOption answers with the first option.
func firstOption(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
	return arenaagent.Answer{Value: append(task.Options, "?")[0]}, nil
}

// The conformance kit and rehearsals play the same situations with agents of
// every protocol, and say what does not exist in it.
func TestE2E_Check_every_protocol(t *testing.T) { //nolint:tparallel // one after the other: each check is a load
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("trivia", p.choices(), map[string]any{"format": "elimination", "rounds": 3, "time_limit_seconds": 10})
	seed := func(name string) ed25519.PrivateKey {
		return ed25519.NewKeyFromSeed([]byte(name + strings.Repeat(".", 32-len(name))))
	}
	converses, err := agora.New(agora.Config{}, firstOption)
	must(t, err)
	listener := httptest.NewServer(converses)
	t.Cleanup(listener.Close)
	connects, err := agentprotocol.New(agentprotocol.Config{Arena: p.url, Key: seed("connects")}, firstOption)
	must(t, err)
	endpoint, err := agentprotocol.New(agentprotocol.Config{Arena: p.url, Key: seed("endpoint")}, firstOption)
	must(t, err)
	called := httptest.NewServer(endpoint)
	t.Cleanup(called.Close)
	polls := envelope.KeyOf(seed("polls"))
	p.runs("connects", connects.Run)
	p.runs("polls", func(ctx context.Context) error {
		return envelope.Run(ctx, envelope.Config{Arena: p.url, Key: polls, Leagues: []string{"trivia"}}, firstOption)
	})
	sign := func(name string) func(string) string {
		return func(challenge string) string { return agentprotocol.SignChallenge(seed(name), challenge) }
	}
	all := []agents.Info{
		{Protocol: agents.AAP, Endpoint: sdkAgent(t, strings.TrimPrefix(p.url, "http://"), "")},
		{Protocol: agents.Agora, Endpoint: listener.URL},
		{Protocol: agents.Agora},
		{Protocol: agents.Envelope, PublicKey: polls.DID(), Prove: polls.Prove},
		{Protocol: agents.AgentProtocol, PublicKey: connects.PublicKey(), Prove: sign("connects")},
		{Protocol: agents.AgentProtocol, PublicKey: endpoint.PublicKey(), Prove: sign("endpoint"), Endpoint: called.URL},
		{Protocol: agents.AAP},
		{Protocol: "a2a", Endpoint: a2aAgent(t, p.url)},
	}
	tokens := func(ids ...string) (list []string) {
		for _, id := range ids {
			list = append(list, "token."+id)
		}
		return list
	}
	const unreachable = "body.broken http.get http.keep_alive"
	notApplicable := map[string][]string{ // by protocol and whether the agent has an endpoint
		"aap true":            nil,
		"agora true":          tokens("missing", "stranger", "signature", "none", "expired", "other_agent", "other_body"),
		"agora false":         append(append([]string{"health.fields"}, tokens("missing", "stranger", "signature", "none", "expired", "other_agent", "other_body")...), strings.Fields(unreachable)...),
		"envelope false":      append(tokens("missing", "none", "expired", "other_agent", "other_body"), strings.Fields(unreachable)...),
		"agentprotocol true":  tokens("none", "other_body"),
		"agentprotocol false": append(tokens("none", "other_body"), strings.Fields(unreachable)...),
		"aap false": append(append([]string{"health.fields", "load.over"},
			tokens("missing", "stranger", "signature", "none", "expired", "other_agent", "other_body")...), strings.Fields(unreachable)...),
		"a2a true": {"health.fields", "body.broken", "http.get"},
	}
	notPlayed := map[string][]string{
		"aap true": nil, "agora true": {"expired_token"}, "agora false": {"expired_token", "trickle"},
		"envelope false": {"expired_token", "trickle"}, "agentprotocol true": nil, "agentprotocol false": {"trickle"},
		"aap false": {"expired_token", "trickle"}, "a2a true": nil,
	}
	for i, a := range all {
		a.Name = fmt.Sprintf("agent %d", i)
		id := p.registerDemo(a)
		if a.Protocol == agents.Agora && a.Endpoint == "" {
			r, err := agora.FreshBase(t.Context(), p.url, id, p.admin.Token)
			must(t, err)
			p.runs(a.Name, func(ctx context.Context) error { return agora.Poll(ctx, agora.Config{Base: r.Base}, firstOption) })
		}
		if a.Protocol == agents.AAP && a.Endpoint == "" {
			p.connects(a.Name, id, firstOption)
		}
		kind := a.Protocol + " true"
		if a.Endpoint == "" {
			kind = a.Protocol + " false"
		}
		t.Run(kind, func(t *testing.T) {
			testwait.Until(t, kind+" is active", func() bool {
				var g struct{ Status string }
				p.call(p.admin, http.MethodGet, "/v1/agents/"+id, nil, &g)
				return g.Status == "active"
			})
			var got struct{ Report conformance.Report }
			p.call(p.admin, http.MethodPost, "/v1/agents/"+id+"/check?full=true", nil, &got)
			r := got.Report
			var not []string
			for _, f := range r.Checks {
				switch f.Result {
				case conformance.NotApplicable:
					not = append(not, f.ID)
				case conformance.Fail, conformance.Skip:
					if f.ID != "token.other_agent" || f.Level == conformance.Must { // the SDKs' agents have no id
						t.Errorf("%s %s %s: %s; %s", f.Result, f.Level, f.ID, f.Got, f.Cure)
					}
				case conformance.Pass:
				}
			}
			if diff := cmp.Diff(notApplicable[kind], not); diff != "" || !r.Passed || r.Protocol != a.Protocol || len(r.Checks) != 25 {
				t.Errorf("passed is %t over %q, %d checks; not applicable (-want +got):\n%s", r.Passed, r.Protocol, len(r.Checks), diff)
			}
			p.rehearses(t, id, notPlayed[kind])
		})
	}
}

// connects runs an agent that fetches its tasks, with another key of its own.
func (p *process) connects(name, id string, handler arenaagent.Handler) {
	p.t.Helper()
	var made struct {
		Key string `json:"agent_key"`
	}
	p.call(p.admin, http.MethodPost, "/v1/agents/"+id+"/keys", document{"name": "check"}, &made)
	p.runs(name, func(ctx context.Context) error {
		return arenaagent.Connect(ctx, arenaagent.Config{Arena: p.url, AgentKey: made.Key, Events: arenaagent.EventsOff}, handler)
	})
}

// rehearses plays a rehearsal in which no round fails.
func (p *process) rehearses(t *testing.T, id string, notPlayed []string) {
	t.Helper()
	var report struct {
		Rounds []struct {
			Fault, Verdict, Explanation, Outcome string
			Attempts                             []json.RawMessage
		}
	}
	p.call(p.admin, http.MethodPost, "/v1/agents/"+id+"/rehearse", document{"league": "trivia"}, &report)
	var not []string
	for _, r := range report.Rounds {
		switch {
		case r.Verdict == "not_played":
			if not = append(not, r.Fault); r.Explanation == "" || len(r.Attempts) != 0 {
				t.Errorf("%s: not played, %q, %d attempts", r.Fault, r.Explanation, len(r.Attempts))
			}
		case r.Verdict != "passed":
			t.Errorf("%s: %s: %s (%s)", r.Fault, r.Verdict, r.Explanation, r.Outcome)
		}
	}
	if !slices.Equal(not, notPlayed) || len(report.Rounds) != 1+len(arena.Faults()) {
		t.Errorf("%d rounds, not played %q, want %q", len(report.Rounds), not, notPlayed)
	}
}

// `arena check` and `arena play` start an arena for agents of every protocol,
// those without an address included.
func TestE2E_Play_every_protocol(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	converses, err := agora.New(agora.Config{}, firstOption)
	must(t, err)
	listener := httptest.NewServer(converses)
	t.Cleanup(listener.Close)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	signed, err := agentprotocol.New(agentprotocol.Config{Arena: "http://" + addr, Key: private}, firstOption)
	must(t, err)
	endpoint := httptest.NewServer(signed)
	t.Cleanup(endpoint.Close)
	polls := envelope.NewKey()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- envelope.Run(ctx, envelope.Config{Arena: "http://" + addr, Key: polls, Leagues: []string{"trivia"}}, firstOption)
	}()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
	identity := filepath.Join(t.TempDir(), "identity.pem")
	for name, protocol := range map[string]string{
		listener.URL:                            "agora",
		polls.DID():                             "envelope",
		signed.PublicKey() + "@" + endpoint.URL: "agentprotocol",
	} {
		r := checked(t, exitOK, name, "--protocol", "auto", "--keys-addr", addr, "--identity", identity, "--league", "trivia")
		if r.Protocol != protocol || !r.Passed || r.Must.Fail+r.Must.Skip != 0 || r.Must.NotApplicable == 0 {
			t.Errorf("%s over %s: %+v %+v", name, protocol, r.Must, r.Should)
		}
	}
	code, out, errs := call(t, "play", "--league", "trivia", "--rounds", "2", "--addr", addr, "--identity", identity,
		"ann="+sdkAgent(t, addr, ""), "bob=agora="+listener.URL, "cid=envelope="+polls.DID(), "dee=agentprotocol="+signed.PublicKey()+"@"+endpoint.URL)
	if code != exitOK || errs != "" || !strings.Contains(out, "finished") || strings.Count(out, "answered: ") < 4 {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
}
