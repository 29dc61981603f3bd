package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/registry"
	"github.com/agora-arena/arena/arena/runner"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/protocol/agentprotocol"
	"github.com/agora-arena/arena/protocol/agora"
	"github.com/agora-arena/arena/protocol/envelope"
	"github.com/agora-arena/arena/protocol/envelope/relay"
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
	rules  registry.Protocol
	server http.Handler // what agents of the protocol talk to; nil: they only listen
	hangUp func()       // ends polls and sockets, which a server that shuts down would wait for, or wait for ever; may be nil
	wait   func()       // for what still runs once nothing comes in; may be nil
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

func (p protocols) rules() map[string]registry.Protocol {
	rules := make(map[string]registry.Protocol, len(p))
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

// speakOthers adds the protocols beside AAP. The API and the stream are made
// later; nothing asks for them before the server listens.
func (s *server) speakOthers(ctx context.Context) error {
	s.bell = s.newBell()
	box, err := mailbox.NewBox(s.store, s.bell, time.Now)
	if err != nil {
		return err
	}
	s.box = box
	key, err := envelope.LoadKey(ctx, s.store) // the arena's own, for both protocols that need one
	if err != nil {
		return err
	}
	for name, speak := range map[string]func() (language, error){
		arena.ProtocolAgora:         func() (language, error) { return s.speakAgora(box) },
		arena.ProtocolEnvelope:      func() (language, error) { return s.speakEnvelope(key) },
		arena.ProtocolAgentProtocol: func() (language, error) { return s.speakAgentProtocol(key, box) },
	} {
		if s.protocols[name], err = speak(); err != nil {
			return fmt.Errorf("protocol %s: %w", name, err)
		}
	}
	return nil
}

// speakAgora makes the driver of two-party Agora.
func (s *server) speakAgora(box *mailbox.Box) (language, error) {
	driver, err := agora.New(agora.Options{
		Client: s.client, Box: box, Bases: s.store, Now: time.Now,
		PlainHTTP: len(s.cfg.AllowCIDRs) > 0, // an arena that plays on a private network
	})
	if err != nil {
		return language{}, err
	}
	return language{driver: driver, rules: registry.Protocol{Polls: true}, wait: driver.Close}, nil
}

// serveAgora makes what agents of two-party Agora talk to.
func (s *server) serveAgora(accounts agora.Accounts, agents agora.Agents) error {
	server, err := agora.NewServer(agora.ServerOptions{
		Store: s.store, Box: s.box, Accounts: accounts, Agents: agents, Reads: s.store,
		PublicURL: s.url, Now: time.Now, Logger: s.log, Events: s.streams, Awake: s.awake,
	})
	if err != nil {
		return fmt.Errorf("protocol %s: %w", arena.ProtocolAgora, err)
	}
	l := s.protocols[arena.ProtocolAgora]
	l.server, l.hangUp = server, server.Close
	s.protocols[arena.ProtocolAgora] = l
	return nil
}

// speakEnvelope makes the relay and the driver that plays through it.
func (s *server) speakEnvelope(key ed25519.PrivateKey) (language, error) {
	log, err := envelope.NewLog(s.store, s.bell, envelope.NewIdentity(key, "Agora Arena"), time.Now)
	if err != nil {
		return language{}, err
	}
	driver, err := envelope.NewDriver(envelope.DriverOptions{Log: log, Logger: s.log, Now: time.Now})
	if err != nil {
		return language{}, err
	}
	s.relay, err = relay.NewServer(relay.Options{
		Log: log, Bell: s.bell, Store: s.store, Events: eventsLater{s}, Dev: s.opts.relayDev, Now: time.Now, Logger: s.log, Awake: s.awake,
	})
	if err != nil {
		return language{}, err
	}
	return language{driver: driver, rules: registry.Protocol{CheckKey: envelope.CheckKey, Polls: true}, server: s.relay, hangUp: s.relay.Close}, nil
}

// speakAgentProtocol makes the arena's side of AgentProtocol.
func (s *server) speakAgentProtocol(key ed25519.PrivateKey, box *mailbox.Box) (l language, err error) {
	s.signed, err = agentprotocol.NewServer(agentprotocol.Options{
		Key: key, Client: s.client, Agents: s.store, Peers: s.store, Mail: box, Events: eventsLater{s},
		Folder: s.cfg.AgentProtocolDir, Logger: s.log, Now: time.Now, Awake: s.awake,
		Actions: map[string]agentprotocol.Action{"arena:agent": whoAmI},
	})
	if err != nil {
		return language{}, err
	}
	return language{driver: s.signed.Driver(), rules: registry.Protocol{CheckKey: agentprotocol.CheckKey, Polls: true}, server: s.signed, hangUp: s.signed.Close}, nil
}

// whoAmI tells an agent how the arena sees it.
func whoAmI(_ context.Context, a arena.Agent, _ json.RawMessage) (any, error) {
	return map[string]any{
		"agent_id": a.ID, "name": a.Name, "status": a.StatusAt(time.Now()), "leagues": a.Leagues, "healthy": a.Health.OK,
	}, nil
}

// awake has an agent checked that counted as away and now asks for its tasks.
func (s *server) awake(ctx context.Context, agentID string) {
	if _, err := s.sweeper.Check(ctx, agentID); err != nil {
		s.log.WarnContext(ctx, "agent that is back not checked", "agent_id", agentID, "error", err)
	}
}

// eventsLater hands agents' events to the stream, which is made after the
// protocols.
type eventsLater struct{ s *server }

func (e eventsLater) Accept(ctx context.Context, matchID, agentID string, event []byte) error {
	return e.s.streams.Accept(ctx, matchID, agentID, event)
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
