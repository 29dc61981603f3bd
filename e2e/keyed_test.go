package e2e

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// keyed is an agent that has to prove its key before it plays.
type keyed struct {
	p                   *process
	owner               *apiclient.Client
	id, name, challenge string
}

// registerKeyed registers an agent by a body that names protocol and key.
func (p *process) registerKeyed(name string, body map[string]any) *keyed {
	p.t.Helper()
	k := &keyed{p: p, owner: p.owner(name + " & co"), name: name}
	var made struct {
		ID        string `json:"agent_id"`
		Challenge string `json:"key_challenge"`
	}
	body["name"] = name
	p.call(k.owner, http.MethodPost, "/v1/agents", body, &made)
	k.id, k.challenge = made.ID, made.Challenge
	return k
}

// prove sends a signature by another key, which is refused, and then the
// right one.
func (k *keyed) prove(forged, signature string) {
	k.p.t.Helper()
	path := "/v1/agents/" + k.id + "/key"
	if forged != "" {
		k.p.refused(k.owner, http.MethodPost, path, map[string]any{"signature": forged}, http.StatusUnprocessableEntity, "invalid")
	}
	k.p.call(k.owner, http.MethodPost, path, map[string]any{"signature": signature}, nil)
}

// active waits until the arena has received a message of the agent.
func (k *keyed) active() {
	k.p.t.Helper()
	testwait.Until(k.p.t, k.name+" is active", func() bool {
		var g struct{ Status string }
		k.p.call(k.owner, http.MethodGet, "/v1/agents/"+k.id, nil, &g)
		return g.Status == "active"
	})
}

// runs runs an agent that asks for its tasks until the test is over.
func (p *process) runs(name string, run func(context.Context) error) {
	ctx, stop := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	p.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			p.t.Errorf("agent %s ended with %v", name, err)
		}
	})
}

// playMixed plays a rated match of two agents of some protocol against one of
// AAP: the same tasks, events, outcomes and table. Ann reports events, Bob
// fails once and is asked again.
func (p *process) playMixed(league string, register func(name string, handler arenaagent.Handler) (id string)) {
	t := p.t
	t.Helper()
	p.league(league, p.pack(12), map[string]any{"rounds": 4, "time_limit_seconds": 30})
	right := func(task *arenaagent.Task) string {
		return strings.Replace(task.Description, "question", "right answer", 1)
	}
	ann := register("Ann", func(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		events.Thinking("ann thinks of " + task.Description)
		p.awaitThoughtsOf(ctx, task, 1)
		return arenaagent.Answer{Value: right(task), Confidence: 0.9}, nil
	})
	var failures atomic.Int32
	bob := register("Bob", func(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
		if task.Round == 2 && failures.CompareAndSwap(0, 1) {
			return arenaagent.Answer{}, errors.New("out of order")
		}
		return arenaagent.Answer{Value: right(task)}, nil
	})
	cyd := p.contestant("Cyd", func(r protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer(correct(r)) }, league)

	s := p.watch(p.schedule(league, &contestant{id: ann}, &contestant{id: bob}, cyd), 0)
	var last struct {
		Rated bool
		Seats []struct {
			AgentID string  `json:"agent_id"`
			Points  float64 `json:"points"`
			Place   int
		}
	}
	s.end(&last)
	s.gapless(1)
	if len(last.Seats) != 3 || !last.Rated {
		t.Fatalf("%+v", last)
	}
	for _, seat := range last.Seats {
		if seat.Points != 4 || seat.Place != 1 {
			t.Errorf("%+v", seat)
		}
	}
	if failures.Load() != 1 {
		t.Error("Bob was not asked in round 2")
	}
	thoughts, revealed := 0, false
	for _, e := range s.seen {
		if e.Type == "thinking" && e.AgentID == ann {
			thoughts++
			if strings.Contains(string(e.Raw), "ann thinks") {
				t.Errorf("a sealed event is open: %s", e.Raw)
			}
		}
		revealed = revealed || e.Type == "reveal" && strings.Contains(string(e.Raw), "ann thinks of question")
	}
	if thoughts != 4 || !revealed {
		t.Errorf("%d thoughts, revealed: %t", thoughts, revealed)
	}
}
