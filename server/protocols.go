package server

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agora-arena/arena/api"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/a2a"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/protocol/aap/pull"
	"github.com/agora-arena/arena/protocol/agentprotocol"
	"github.com/agora-arena/arena/protocol/agora"
	"github.com/agora-arena/arena/protocol/builtin"
	"github.com/agora-arena/arena/protocol/envelope"
	"github.com/agora-arena/arena/protocol/envelope/relay"
	"github.com/agora-arena/arena/protocol/mailbox"
	"github.com/agora-arena/arena/registry"
	"github.com/agora-arena/arena/registry/rehearsal"
	"github.com/agora-arena/arena/store"
)

// driver sends tasks and health checks over one protocol.
type driver interface {
	Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error)
	Probe(ctx context.Context, a arena.Agent) arena.Health
}

// protocolParts are the parts of one protocol on this node.
type protocolParts struct {
	driver    driver
	trickling driver           // the same, over a network that passes few bytes at a time
	profile   protocol.Profile // for the conformance kit and rehearsals
	pulled    protocol.Profile // the same for agents that fetch their tasks, if they may

	rules *registry.Protocol // nil: agents cannot be registered
	wait  func()             // for what still runs once nothing comes in; may be nil
}

// profileOf returns the profile by which an agent is checked.
func (p *protocolParts) profileOf(g arena.Agent) protocol.Profile {
	if g.Pulls() {
		return p.pulled
	}
	return p.profile
}

// protocols are the parts by the name of the protocol.
type protocols map[string]*protocolParts

func (p protocols) drivers() map[string]engine.Driver {
	drivers := make(map[string]engine.Driver, len(p))
	for name, l := range p {
		drivers[name] = l.driver
	}
	return drivers
}

func (p protocols) probers(now func() time.Time) map[string]health.Prober {
	probers := make(map[string]health.Prober, len(p))
	for name, l := range p {
		probers[name] = l.driver
		if l.rules != nil && l.rules.CheckKey != nil {
			probers[name] = proved{l.driver, now}
		}
	}
	return probers
}

// rehearsed returns the drivers of rehearsals.
func (p protocols) rehearsed() map[string]rehearsal.Protocol {
	rehearsed := make(map[string]rehearsal.Protocol, len(p))
	for name, l := range p {
		r := rehearsal.Protocol{Driver: l.driver, Silent: l.profile.Silent}
		if l.trickling != nil {
			r.Trickling = l.trickling
		}
		if f, ok := l.profile.Forgery("token.expired"); ok {
			r.Expired, r.Stale = prepares(f.Send), f.What
		}
		rehearsed[name] = r
	}
	return rehearsed
}

// prepares makes a rehearsal's driver of a function.
type prepares protocol.Sender

func (p prepares) Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error) {
	return p(ctx, a)
}

// rules returns the rules of the protocols in which agents can be registered.
func (p protocols) rules() map[string]registry.Protocol {
	rules := make(map[string]registry.Protocol, len(p))
	for name, l := range p {
		if l.rules != nil {
			rules[name] = *l.rules
		}
	}
	return rules
}

// inbound serves the requests of agents of one protocol.
type inbound struct {
	handler api.Inbound // nil: the API serves the polls itself
	stop    func()      // ends polls and sockets, which the shutdown of a listener would wait for; may be nil
}

// handlers returns the handlers of inbound requests by protocol.
func (s *Server) handlers() map[string]api.Inbound {
	handlers := make(map[string]api.Inbound, len(s.inbound))
	for name, in := range s.inbound {
		if in.handler != nil {
			handlers[name] = in.handler
		}
	}
	return handlers
}

// aapDriver sends the tasks of AAP: to the endpoint of an agent, or to its
// polls if it has none.
type aapDriver struct {
	endpoint *aap.Driver
	pull     *pull.Driver
}

// Prepare prepares a request to the endpoint, or a task for the polls.
func (d aapDriver) Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error) {
	if a.Seat.Endpoint == "" {
		return d.pull.Prepare(ctx, a)
	}
	return d.endpoint.Prepare(ctx, a)
}

// Probe checks the endpoint, or the presence of an agent without one.
func (d aapDriver) Probe(ctx context.Context, a arena.Agent) arena.Health {
	if a.Endpoint == "" {
		return d.pull.Probe(ctx, a)
	}
	return d.endpoint.Probe(ctx, a)
}

// Warm opens a connection to an endpoint.
func (d aapDriver) Warm(endpoint string) {
	if endpoint != "" {
		d.endpoint.Warm(endpoint)
	}
}

// outbound is what calls agents, beside the drivers themselves.
type outbound struct {
	guard    *protocol.Guard
	aap      *aap.Driver
	notifier *mailbox.Notifier
	box      *mailbox.Inbox
	log      *envelope.Log
	signed   *agentprotocol.Driver
}

// notifications returns what carries notifications between nodes; nil: nothing does.
func (s *Server) notifications() mailbox.Bus {
	if s.bus != nil {
		return s.bus
	}
	if _, own := s.cfg.databaseFile(); own { // SQLite: see Store.Lock
		return mailbox.SingleNode{}
	}
	return nil
}

// signTask returns what signs the tokens of tasks.
func (s *Server) signTask() func(arena.TaskClaims) (string, error) {
	if s.cfg.TaskTokens == TokensMatch {
		return s.ofMatch.Sign
	}
	return s.keys.Sign
}

// newOutbound returns the guarded client and the drivers of all protocols.
// Drivers that receive events of agents pass them to s.events.
func (s *Server) newOutbound(ctx context.Context) (*outbound, error) {
	o := &outbound{notifier: mailbox.NewNotifier(s.notifications())}
	roots, err := extraRoots(s.cfg.ExtraCAFile)
	if err != nil {
		return nil, err
	}
	if o.guard, err = protocol.NewGuard(protocol.GuardOptions{
		Allow: s.cfg.AllowCIDRs, AllowHTTP: s.cfg.AllowHTTPEndpoints, OwnHosts: s.ownHosts(),
	}); err != nil {
		return nil, err
	}
	if s.client, err = protocol.NewClient(o.guard, protocol.ClientOptions{
		ExtraRoots: roots, MaxConnsPerHost: ConnsPerHost, Now: s.now, Dial: s.opts.World.Dial,
	}); err != nil {
		return nil, err
	}
	o.box = mailbox.NewInbox(s.store.Messages, o.notifier, s.now)
	key := s.opts.Identity // the arena's own, for all protocols that need one
	if key == nil {
		if key, err = envelope.LoadKey(ctx, s.store.Keys); err != nil {
			return nil, err
		}
	}
	o.aap = aap.New(aap.Options{Client: s.client, Sign: s.signTask(), Now: s.now, TraceParent: s.traceParent()})
	s.pulls = pull.NewHub(pull.HubOptions{
		Store: s.store.PulledTasks, Notifier: o.notifier, Interval: s.cfg.HealthInterval, Now: s.now, Logger: s.log,
	})
	pulled := pull.NewDriver(s.pulls)
	agoraDriver, err := agora.New(agora.Options{
		Client: s.client, Inbox: o.box, Bases: s.store.Protocols, Ways: s.store.Protocols, Now: s.now,
		PlainHTTP: len(s.cfg.AllowCIDRs) > 0 || s.cfg.AllowHTTPEndpoints, // an arena that plays on a private network
	})
	if err != nil {
		return nil, err
	}
	o.log = envelope.NewLog(s.store.Relay, o.notifier, envelope.NewIdentity(key, "Agora Arena"), s.now)
	envelopeDriver := envelope.NewDriver(o.log, s.log, s.now)
	s.crawler = s.client.Crawl(tricklePart, tricklePause)
	actions := agentprotocol.Lookups(agentReads{s.store.Agents, s.store.Ratings, s.store.Leagues}, s.recordOf, s.url)
	actions["arena:agent"] = s.whoAmI
	if o.signed, err = agentprotocol.New(agentprotocol.Options{
		Key: key, Client: s.client, Peers: s.store.Protocols, Mail: o.box, Folder: s.cfg.AgentProtocolDir, Logger: s.log, Now: s.now,
		Actions: actions,
	}); err != nil {
		return nil, err
	}
	a2aDriver := a2a.New(a2a.Options{Client: s.client, Key: key, Sign: s.signTask(), Events: s.events, Now: s.now})
	foreign, err := token.New(ctx, token.Options{Store: &token.MemoryStore{}, Issuer: s.url, Alg: s.cfg.JWTAlg, Now: s.now, Logger: s.log})
	if err != nil {
		return nil, err
	}
	envelopeProfile, err := envelopeDriver.Profile()
	if err != nil {
		return nil, err
	}
	signedProfile, err := o.signed.Profile()
	if err != nil {
		return nil, err
	}
	trickling := agoraDriver.WithClient(s.crawler)
	s.protocols = protocols{
		arena.ProtocolAAP: {
			driver: aapDriver{o.aap, pulled}, trickling: o.aap.WithClient(s.crawler), profile: o.aap.Profile(s.keys.Sign, foreign.Sign), pulled: pulled.Profile(),
			rules: &registry.Protocol{Polls: true}, wait: s.pulls.Wait,
		},
		arena.ProtocolAgora: {
			driver: agoraDriver, trickling: trickling, profile: agoraDriver.Profile(), rules: &registry.Protocol{Polls: true},
			wait: func() { agoraDriver.Close(); trickling.Close() },
		},
		arena.ProtocolEnvelope: {
			driver: envelopeDriver, profile: envelopeProfile, rules: &registry.Protocol{CheckKey: envelope.CheckKey, TrustKeys: s.opts.TrustKeys, Polls: true},
		},
		arena.ProtocolAgentProtocol: {
			driver: o.signed, trickling: o.signed.WithClient(s.crawler), profile: signedProfile,
			rules: &registry.Protocol{CheckKey: agentprotocol.CheckKey, TrustKeys: s.opts.TrustKeys, Polls: true},
		},
		arena.ProtocolA2A: {
			driver: a2aDriver, trickling: a2aDriver.WithClient(s.crawler), profile: a2aDriver.Profile(s.keys.Sign, foreign.Sign),
			rules: &registry.Protocol{CheckEndpoint: a2aDriver.CheckEndpoint}, wait: a2aDriver.Close,
		},
		arena.ProtocolBuiltIn: {driver: builtin.New(builtin.Options{Played: s.played, Now: s.now, Logger: s.log})},
	}
	return o, nil
}

// played returns what built-in opponents must know of a match that asks them.
func (s *Server) played(ctx context.Context, matchID string) (arena.Settings, uint64, error) {
	m, err := s.store.Matches.Match(ctx, matchID)
	return m.Settings, m.Seed, err
}

// agentReads are what agents of signed messages may look up. The alias names the
// embedded field, since the subject has a method of its own name.
type agentReads struct {
	*agentRows
	*store.Ratings
	*store.Leagues
}

type agentRows = store.Agents

// newInbound makes the handlers of what agents of the protocols send.
func (s *Server) newInbound(o *outbound, services *services) (err error) {
	s.inbound = map[string]inbound{arena.ProtocolAAP: {stop: s.pulls.Close}}
	polls, err := agora.NewServer(agora.ServerOptions{
		Store: s.store.Protocols, Inbox: o.box, Accounts: services.accounts, Agents: services.agents, Reads: s.store.Leagues, Visible: s.visible,
		PublicURL: s.url, Now: s.now, Logger: s.log, Events: s.events, Awake: s.awake,
	})
	if err != nil {
		return err
	}
	s.inbound[arena.ProtocolAgora] = inbound{polls, polls.Close}
	s.tasks = pull.NewServer(pull.ServerOptions{
		Hub: s.pulls, Agents: s.store.Agents, Sign: s.signTask(), Events: s.events, Awake: s.awake, Uncount: services.quotas.Return, TraceParent: s.traceParent(),
	})
	s.relay = relay.NewServer(relay.Options{
		Log: o.log, Notifier: o.notifier, Store: s.store.Relay, Agents: s.store.Agents, Events: s.events, Addresses: services.quotas.Polls, OwnerBytes: s.cfg.RelayMiBPerOwner << 20, Dev: s.opts.RelayDev, Now: s.now, Logger: s.log, Awake: s.awake,
	})
	s.inbound[arena.ProtocolEnvelope] = inbound{s.relay, s.relay.Close}
	s.signed = agentprotocol.NewServer(agentprotocol.ServerOptions{
		Driver: o.signed, Agents: s.store.Agents, Events: s.events, Refusals: services.quotas.Refused, Sockets: services.quotas.Sockets, Awake: s.awake,
	})
	s.inbound[arena.ProtocolAgentProtocol] = inbound{s.signed, s.signed.Close}
	questions, err := a2a.NewServer(a2a.ServerOptions{
		URL: s.url, Version: s.version(), Ask: polls.Ask, Skills: skills(polls, services, agentprotocol.Lookups(agentReads{s.store.Agents, s.store.Ratings, s.store.Leagues}, s.recordOf, s.url)), Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.inbound[arena.ProtocolA2A] = inbound{handler: questions}
	return nil
}

// skills are the questions that the arena answers over A2A. The lookups are
// those of AgentProtocol; each counts as a read of the client's address.
func skills(polls *agora.Server, services *services, lookups map[string]agentprotocol.Action) []a2a.Skill {
	look := func(document string) a2a.Action {
		return func(ctx context.Context, address string, params json.RawMessage) (any, error) {
			return polls.Look(ctx, address, document, orEmpty(params))
		}
	}
	lookup := func(name string) a2a.Action {
		return func(ctx context.Context, address string, params json.RawMessage) (any, error) {
			if _, err := services.accounts.Identify(ctx, arena.Credentials{Address: address}); err != nil {
				return nil, err
			}
			return lookups[name](ctx, arena.Agent{}, params)
		}
	}
	return []a2a.Skill{
		{ID: "ask", Name: "Ask in words", Description: "Leagues, rules, standings, ratings and matches, in English or Spanish.", Examples: []string{"Which leagues are there?", "Who leads trivia?", "What is the rating of Ann?"}},
		{ID: "rules", Name: "Rules and leagues", Description: `Data: {"action": "rules", "params": {"league"?}}.`, Action: look("rules")},
		{ID: "standings", Name: "Standings", Description: `The table of a league. Data: {"action": "standings", "params": {"league", "limit"?}}.`, Action: look("standings")},
		{ID: "matches", Name: "Matches", Description: `Data: {"action": "matches", "params": {"match_id"?, "league"?, "status"?, "limit"?}}.`, Action: look("matches")},
		{ID: "directory.search", Name: "Directory", Description: `Agents by name and league. Data: {"action": "directory.search", "params": {"query"?, "league"?, "limit"?, "cursor"?}}.`, Action: lookup("directory.search")},
		{ID: "reputation.get", Name: "Reputation", Description: `The ratings of an agent, with 95 % intervals. Data: {"action": "reputation.get", "params": {"agent_id", "league"?}}.`, Action: lookup("reputation.get")},
		{ID: "proofs.get", Name: "Proofs", Description: `The signed record of a finished match. Data: {"action": "proofs.get", "params": {"match_id"}}.`, Action: lookup("proofs.get")},
	}
}

// orEmpty returns params, an empty object if there are none.
func orEmpty(params json.RawMessage) []byte {
	if len(params) == 0 {
		return []byte("{}")
	}
	return params
}

// whoAmI returns an agent as the arena has registered it.
func (s *Server) whoAmI(_ context.Context, a arena.Agent, _ json.RawMessage) (any, error) {
	return map[string]any{
		"agent_id": a.ID, "name": a.Name, "status": a.StatusAt(s.now()), "leagues": a.Leagues, "healthy": a.Health.OK,
	}, nil
}

// awake checks an agent that counted as unavailable and now asks for its tasks.
func (s *Server) awake(ctx context.Context, agentID string) {
	if _, err := s.sweeper.Check(ctx, agentID); err != nil {
		s.log.WarnContext(ctx, "agent that is back not checked", "agent_id", agentID, "error", err)
	}
}

// proved finds no agent healthy whose key was not proved: it must not play
// under a key that may be another's.
type proved struct {
	driver
	now func() time.Time
}

func (p proved) Probe(ctx context.Context, a arena.Agent) arena.Health {
	if a.KeyProvedAt.IsZero() {
		return arena.Health{CheckedAt: p.now(), Reason: "key_not_proved", Detail: "sign the agent's key_challenge and send it to POST /v1/agents/{id}/key"}
	}
	return p.driver.Probe(ctx, a)
}
