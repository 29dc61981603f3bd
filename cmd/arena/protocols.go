package main

import (
	"context"
	"net/http"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/api"
	"github.com/agora-arena/arena/arena/runner"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/protocol/mailbox"
)

// driver speaks one protocol to agents.
type driver interface {
	Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error)
	Probe(ctx context.Context, a arena.Agent) arena.Health
}

// language is one protocol as this node speaks it.
type language struct {
	driver driver
	rules  api.Protocol
	server http.Handler // what agents of the protocol talk to; nil: they only listen
}

// protocols are the languages by name.
type protocols map[string]language

func (p protocols) drivers() map[string]runner.Driver {
	drivers := make(map[string]runner.Driver, len(p))
	for name, l := range p {
		drivers[name] = l.driver
	}
	return drivers
}

func (p protocols) probers() map[string]health.Prober {
	probers := make(map[string]health.Prober, len(p))
	for name, l := range p {
		probers[name] = l.driver
		if l.rules.CheckKey != nil {
			probers[name] = proved{l.driver}
		}
	}
	return probers
}

func (p protocols) rules() map[string]api.Protocol {
	rules := make(map[string]api.Protocol, len(p))
	for name, l := range p {
		rules[name] = l.rules
	}
	return rules
}

func (p protocols) speakers() map[string]http.Handler {
	speakers := make(map[string]http.Handler, len(p))
	for name, l := range p {
		if l.server != nil {
			speakers[name] = l.server
		}
	}
	return speakers
}

// newBell wakes who waits for messages, on other nodes by the bus.
func (s *server) newBell() *mailbox.Bell {
	if s.bus == nil {
		return mailbox.NewBell(nil)
	}
	return mailbox.NewBell(s.bus)
}

// proved finds no agent healthy whose key was not proved: it must not play
// under a key that may be another's.
type proved struct{ driver }

func (p proved) Probe(ctx context.Context, a arena.Agent) arena.Health {
	if a.KeyProvedAt.IsZero() {
		return arena.Health{CheckedAt: time.Now(), Reason: "key_not_proved", Detail: "sign the agent's key_challenge and send it to POST /v1/agents/{id}/key"}
	}
	return p.driver.Probe(ctx, a)
}
