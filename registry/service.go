package registry

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/store"
)

// Limits of the texts that describe an agent, in characters.
const (
	maxName        = 40
	maxEndpoint    = 2048
	maxVersion     = 32
	maxModel       = 80
	maxDescription = 500
	maxPublicKey   = 2000
	maxLeagues     = 20

	maxConcurrent = 1000
)

// checkTimeout bounds the check of an endpoint after a change: the probe's own
// limit of 5 s and the time to store the result.
const checkTimeout = 6 * time.Second

// Protocol is what registration requires of agents of one protocol.
type Protocol struct {
	// CheckKey returns the canonical form of a public key and the key itself. nil:
	// the protocol has no keys, and the text is kept as it is.
	CheckKey func(text string) (canonical string, key ed25519.PublicKey, err error)
	// TrustKeys makes a key count as proved as soon as it is registered: for arenas
	// whose only owner is the operator.
	TrustKeys bool
	// Polls reports whether an agent may fetch its tasks and needs no endpoint.
	Polls bool
	// CheckEndpoint checks what an endpoint that is being registered serves. nil:
	// the first health check reports everything. It returns an *arena.Error about
	// the endpoint.
	CheckEndpoint func(ctx context.Context, endpoint string) error
}

// Checker probes an agent's endpoint now, stores what it found and returns the
// agent after it. An unhealthy endpoint is not an error.
type Checker interface {
	Check(ctx context.Context, agentID string) (arena.Agent, error)
}

// Endpoints returns the canonical form of an agent's URL and the key that
// endpoints on the same server share, or an *arena.Error with an endpoint code
// about the named field.
type Endpoints interface {
	Endpoint(ctx context.Context, field, raw string) (canonical, key string, err error)
}

// Entries decides which agents may enter a league.
type Entries interface {
	MayEnter(ctx context.Context, slug string, g arena.Agent, password string) error
}

// Quota is how often each caller may do one thing.
type Quota interface {
	Take(ctx context.Context, caller string) error
}

// Options are the parts of a Service. All but AgentsPerOwner are needed.
type Options struct {
	Store     *store.Store
	Pauses    *Pauses
	Protocols map[string]Protocol // in which agents may be registered, by name
	Endpoints Endpoints
	Checker   Checker
	// FullCheck runs the conformance kit over an agent's endpoint, within
	// FullCheckTime.
	FullCheck func(ctx context.Context, g arena.Agent) (arena.Conformance, error)
	// Rehearse plays a rehearsal. It ends within a minute.
	Rehearse       func(ctx context.Context, r arena.Rehearsal) (arena.RehearsalReport, error)
	Entries        Entries
	Checks         Quota  // endpoint checks, by owner: each makes the arena call an untrusted endpoint
	HostChecks     Quota  // the same by server, over all owners
	Rehearsals     Quota  // by owner
	AgentsPerOwner int    // that are not retired; 0: no limit
	PublicURL      string // of the arena
	KeySecret      []byte // makes the first keys of agents whose registration may be repeated; the same on all nodes
	Now            func() time.Time
	Logger         *slog.Logger
}

// Service is the service for agents.
type Service struct{ o Options }

// New makes a Service.
func New(o Options) *Service {
	return &Service{o: o}
}

// now returns the current time in UTC, truncated to milliseconds.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

// Own returns an agent that the caller may act for. Another's is not found.
// forbidden: it comes with the program and belongs to the arena.
func (s *Service) Own(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error) {
	g, err := s.o.Store.Agents.Agent(ctx, id)
	if err != nil {
		return arena.Agent{}, err
	}
	if !caller.Owns(g.OwnerID) {
		return arena.Agent{}, arena.Errorf(arena.CodeNotFound, "you have no agent %s", id)
	}
	return g, g.NotBuiltIn()
}

// Register stores an agent of the calling owner, enters it into its leagues and
// checks it. It is registered even if the check cannot be made now. key is the
// secret of its first key if it fetches its tasks.
func (s *Service) Register(ctx context.Context, caller arena.Caller, in arena.Registration) (g arena.Agent, key string, err error) {
	g, key, err = s.create(ctx, caller, in)
	if code := arena.CodeOf(err); code == arena.CodeNameTaken || code == arena.CodeConflict {
		return s.registered(ctx, caller, in, err)
	}
	if err != nil {
		return arena.Agent{}, "", err
	}
	checked, err := s.check(ctx, g.ID)
	if err == nil {
		return checked, key, nil
	}
	if arena.CodeOf(err) != arena.CodeRateLimited {
		s.o.Logger.WarnContext(ctx, "first check failed", "agent_id", g.ID, "error", err)
	}
	g, err = s.o.Store.Agents.Agent(context.WithoutCancel(ctx), g.ID) // the next sweep checks it again
	return g, key, err
}

// registered returns the agent that an earlier request with the same idempotency key
// registered, with its first key. If there was none, it returns the reason why the
// agent cannot be registered.
func (s *Service) registered(ctx context.Context, caller arena.Caller, in arena.Registration, reason error) (g arena.Agent, secret string, err error) {
	if in.IdempotencyKey == "" {
		return g, "", reason
	}
	secret, hash := s.firstKey(caller, in)
	key, err := s.o.Store.Accounts.TokenByHash(ctx, hash)
	if arena.CodeOf(err) == arena.CodeNotFound {
		return g, "", reason
	}
	if err == nil {
		g, err = s.o.Store.Agents.Agent(ctx, key.AgentID)
	}
	switch {
	case err != nil:
		return arena.Agent{}, "", err
	case g.Name != in.Name:
		return arena.Agent{}, "", arena.Errorf(arena.CodeConflict, "this Idempotency-Key registered another agent, %s", g.ID)
	}
	return g, secret, nil
}

// firstKey returns the secret of the first key of an agent whose registration may
// be repeated, and its hash.
func (s *Service) firstKey(caller arena.Caller, in arena.Registration) (secret string, hash [32]byte) {
	return token.DerivedSecret(token.AgentSecretPrefix, s.o.KeySecret, caller.OwnerID+" "+in.IdempotencyKey)
}

// create stores an agent that is being registered, with its first key if it
// fetches its tasks.
func (s *Service) create(ctx context.Context, caller arena.Caller, in arena.Registration) (g arena.Agent, secret string, err error) {
	if caller.Scope != arena.ScopeOwner || caller.OwnerID == "" {
		return g, "", arena.Errorf(arena.CodeForbidden, "an owner token is required")
	}
	if err := checkRegistration(in); err != nil {
		return g, "", err
	}
	if in.PullConcurrent != 0 {
		if err := checkConcurrent(in.PullConcurrent, in.Protocol, in.Endpoint); err != nil {
			return g, "", err
		}
	}
	publicKey, err := s.checkProtocol(in.Protocol, in.Endpoint, in.PublicKey)
	if err != nil {
		return g, "", err
	}
	if err := s.o.Checks.Take(ctx, caller.Account()); err != nil {
		return g, "", err
	}
	if err := s.checkCount(ctx, caller.OwnerID); err != nil {
		return g, "", err
	}
	endpoint, endpointKey, err := s.checkEndpoint(ctx, in.Endpoint)
	if err != nil {
		return g, "", err
	}
	now := s.now()
	g = arena.Agent{
		ID: arena.NewID(arena.AgentPrefix, now), OwnerID: caller.OwnerID, Name: in.Name, Protocol: in.Protocol,
		Endpoint: endpoint, EndpointKey: endpointKey, PublicKey: publicKey, Version: in.Version, Model: in.Model, Mark: in.Mark, Description: in.Description,
		Leagues: in.Leagues, CreatedAt: now, PullConcurrent: max(1, in.PullConcurrent), PauseAfter: arena.DefaultPauseAfter,
	}
	if p := s.o.Protocols[in.Protocol]; p.CheckKey != nil && p.TrustKeys {
		g.KeyProvedAt = now
	}
	for i, slug := range g.Leagues {
		if err := s.o.Entries.MayEnter(ctx, slug, g, ""); err != nil {
			return g, "", arena.AtField(fmt.Sprintf("leagues[%d]", i), err)
		}
	}
	created, err := caller.Audit(now, "create-agent", g.ID, nil, audited(g))
	if err != nil {
		return g, "", err
	}
	if err := s.checkServes(ctx, g.Protocol, g.Endpoint); err != nil {
		return g, "", err
	}
	if !g.Pulls() {
		return g, "", s.o.Store.Agents.CreateAgent(ctx, g, created)
	}
	key, secret := token.NewAgentKey(g, "first", now)
	if in.IdempotencyKey != "" {
		secret, key.Hash = s.firstKey(caller, in)
	}
	keyed, err := caller.Audit(now, "create-agent-key", key.ID, nil, map[string]any{"agent_id": g.ID, "name": key.Name})
	if err != nil {
		return g, "", err
	}
	return g, secret, s.o.Store.Agents.CreateAgentWithKey(ctx, g, key, created, keyed)
}

func checkRegistration(in arena.Registration) error {
	seen := map[string]bool{}
	for _, slug := range in.Leagues {
		if seen[slug] {
			return arena.Invalid("leagues", "must be unique; %s is there twice", slug)
		}
		seen[slug] = true
	}
	if len(in.Leagues) > maxLeagues {
		return arena.Invalid("leagues", "must be at most %d", maxLeagues)
	}
	if err := plaintext.CheckLength("endpoint", in.Endpoint, 0, maxEndpoint); err != nil {
		return err
	}
	if err := plaintext.CheckLength("public_key", in.PublicKey, 0, maxPublicKey); err != nil {
		return err
	}
	if err := checkName(in.Name); err != nil {
		return err
	}
	if err := checkTexts(in.Version, in.Model, in.Description); err != nil {
		return err
	}
	if err := checkMark(in.Mark); err != nil {
		return err
	}
	return plaintext.CheckLine("public_key", in.PublicKey)
}

// checkConcurrent checks how many matches an agent may play at once.
func checkConcurrent(n int, protocol, endpoint string) error {
	switch {
	case !(arena.Agent{Protocol: protocol, Endpoint: endpoint}).Pulls():
		return arena.Invalid("max_concurrent", "is for aap agents without an endpoint; others declare it in their health checks")
	case n < 1 || n > maxConcurrent:
		return arena.Invalid("max_concurrent", "must be between 1 and %d", maxConcurrent)
	}
	return nil
}

func checkName(name string) error {
	if err := plaintext.CheckLength("name", name, 1, maxName); err != nil {
		return err
	}
	return plaintext.CheckLine("name", name)
}

func checkTexts(version, model, description string) error {
	if err := plaintext.CheckLength("version", version, 0, maxVersion); err != nil {
		return err
	}
	if err := plaintext.CheckLength("model", model, 0, maxModel); err != nil {
		return err
	}
	if err := plaintext.CheckLength("description", description, 0, maxDescription); err != nil {
		return err
	}
	if err := plaintext.CheckLine("version", version); err != nil {
		return err
	}
	if err := plaintext.CheckLine("model", model); err != nil {
		return err
	}
	return plaintext.CheckText("description", description)
}

// checkMark checks a chosen mark; "" is none.
func checkMark(mark string) error {
	marks := arena.AllMarks()
	if _, _, ok := marks.Find(mark); ok || mark == "" {
		return nil
	}
	var shapes, colors []string
	for _, s := range marks.Shapes {
		shapes = append(shapes, s.Name)
	}
	for _, c := range marks.Colors {
		colors = append(colors, c.Name)
	}
	return arena.Invalid("mark", "must be empty, or a shape and a color such as star-teal; shapes: %s; colors: %s",
		strings.Join(shapes, ", "), strings.Join(colors, ", "))
}

// checkProtocol checks an agent's endpoint and key against its protocol and
// returns the key's canonical form.
func (s *Service) checkProtocol(name, endpoint, publicKey string) (canonical string, err error) {
	p, known := s.o.Protocols[name]
	switch {
	case !known:
		return "", arena.Invalid("protocol", "must be one of: %s", s.protocolNames())
	case endpoint == "" && !p.Polls:
		return "", arena.Invalid("endpoint", "an agent of protocol %s needs one", name)
	case p.CheckKey == nil:
		return publicKey, nil
	case publicKey == "":
		return "", arena.Invalid("public_key", "an agent of protocol %s needs one", name)
	}
	if canonical, _, err = p.CheckKey(publicKey); err != nil {
		return "", arena.Invalid("public_key", "%s", err)
	}
	return canonical, nil
}

// checkCount rejects another agent of an owner that has all it may have.
func (s *Service) checkCount(ctx context.Context, ownerID string) error {
	most := s.o.AgentsPerOwner
	if most <= 0 {
		return nil
	}
	for count, page := 0, (arena.Page{Limit: 100}); ; {
		agents, next, err := s.o.Store.Agents.Agents(ctx, arena.AgentFilter{OwnerID: ownerID}, page)
		if err != nil {
			return err
		}
		switch count += len(agents); {
		case count >= most:
			return arena.Errorf(arena.CodeConflict, "an owner may have %d agents; retire one first", most)
		case next == "":
			return nil
		}
		page.Cursor = next
	}
}

// checkEndpoint returns the canonical form of an endpoint and its key, "" for
// none.
func (s *Service) checkEndpoint(ctx context.Context, endpoint string) (canonical, key string, err error) {
	if endpoint == "" {
		return "", "", nil
	}
	return s.o.Endpoints.Endpoint(ctx, "endpoint", endpoint)
}

// checkServes checks what an endpoint serves, if its protocol requires that.
func (s *Service) checkServes(ctx context.Context, protocol, endpoint string) error {
	check := s.o.Protocols[protocol].CheckEndpoint
	if check == nil || endpoint == "" {
		return nil
	}
	return check(ctx, endpoint)
}

// audited is what an owner may change in an agent.
func audited(g arena.Agent) map[string]string {
	values := map[string]string{"name": g.Name, "endpoint": g.Endpoint, "version": g.Version, "model": g.Model, "mark": g.Mark, "description": g.Description}
	if !g.Budget.IsZero() {
		values["budget"] = describeBudget(g.Budget)
	}
	if g.Pulls() {
		values["max_concurrent"] = strconv.Itoa(max(1, g.PullConcurrent))
	}
	return values
}

// act returns the audit entry about what the caller does to an agent; changes
// adds what it changed.
func (s *Service) act(caller arena.Caller, at time.Time, action string, changes bool) arena.AgentAudit {
	return func(before, after arena.Agent) (arena.AuditEntry, error) {
		if !changes {
			return caller.Audit(at, action, after.ID, nil, nil)
		}
		return caller.Audit(at, action, after.ID, audited(before), audited(after))
	}
}

// Update changes an agent. A new endpoint must pass a check before the agent
// plays again; the check is made at once.
func (s *Service) Update(ctx context.Context, caller arena.Caller, id string, in arena.AgentUpdate) (arena.Agent, error) {
	g, err := s.Own(ctx, caller, id)
	if err != nil {
		return arena.Agent{}, err
	}
	if in.Name != nil {
		if err := checkName(*in.Name); err != nil {
			return arena.Agent{}, err
		}
	}
	if err := checkTexts(orElse(in.Version, ""), orElse(in.Model, ""), orElse(in.Description, "")); err != nil {
		return arena.Agent{}, err
	}
	if err := checkMark(orElse(in.Mark, "")); err != nil {
		return arena.Agent{}, err
	}
	if n := orElse(in.PauseAfter, 0); n < 0 || n > arena.MaxPauseAfter {
		return arena.Agent{}, arena.Invalid("pause_after", "must be 0 to %d failed rounds in a row, got %d", arena.MaxPauseAfter, n)
	}
	if in.Budget != nil {
		if err := checkBudget(*in.Budget); err != nil {
			return arena.Agent{}, err
		}
	}
	if in.Endpoint != nil && *in.Endpoint == g.Endpoint {
		in.Endpoint = nil // registered under the rules of its time
	}
	endpoint, key := orElse(in.Endpoint, g.Endpoint), g.EndpointKey
	if in.PullConcurrent != nil {
		if err := checkConcurrent(*in.PullConcurrent, g.Protocol, endpoint); err != nil {
			return arena.Agent{}, err
		}
	}
	if in.Endpoint != nil {
		if err := plaintext.CheckLength("endpoint", endpoint, 0, maxEndpoint); err != nil {
			return arena.Agent{}, err
		}
		if _, err := s.checkProtocol(g.Protocol, endpoint, g.PublicKey); err != nil {
			return arena.Agent{}, err
		}
		if err := s.o.Checks.Take(ctx, caller.Account()); err != nil {
			return arena.Agent{}, err
		}
		if endpoint, key, err = s.checkEndpoint(ctx, endpoint); err != nil {
			return arena.Agent{}, err
		}
		if err := s.checkServes(ctx, g.Protocol, endpoint); err != nil {
			return arena.Agent{}, err
		}
	}
	now := s.now()
	before, after, err := s.o.Store.Agents.UpdateAgent(ctx, g.ID, func(g *arena.Agent) error {
		if err := g.NotRetired(); err != nil {
			return err
		}
		g.Name = orElse(in.Name, g.Name)
		g.Version = orElse(in.Version, g.Version)
		g.Model = orElse(in.Model, g.Model)
		g.Mark = orElse(in.Mark, g.Mark)
		g.Description = orElse(in.Description, g.Description)
		g.PauseAfter = orElse(in.PauseAfter, g.PauseAfter)
		g.Budget = orElse(in.Budget, g.Budget)
		if in.Endpoint != nil && endpoint != g.Endpoint {
			g.Endpoint, g.EndpointKey, g.EndpointSince, g.PassedAt, g.Health = endpoint, key, now, time.Time{}, arena.Health{}
			g.LiftPause(arena.PauseExpired)
			g.LiftPause(arena.PauseFailing)
		}
		if in.PullConcurrent != nil && g.Pulls() {
			g.PullConcurrent = *in.PullConcurrent
			g.Health.MaxConcurrent = g.PullConcurrent // as its next check declares
		}
		return nil
	}, s.act(caller, now, "update-agent", true))
	if err != nil || before.Endpoint == after.Endpoint {
		return after, err
	}
	if err := s.o.Pauses.publish(ctx, before, after, now); err != nil {
		return arena.Agent{}, err
	}
	return s.checkChange(ctx, after)
}

func orElse[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// Retire withdraws an agent from its leagues for good. Retiring it again
// changes nothing.
func (s *Service) Retire(ctx context.Context, caller arena.Caller, id string) error {
	g, err := s.Own(ctx, caller, id)
	if err != nil {
		return err
	}
	now := s.now()
	_, _, err = s.o.Store.Agents.UpdateAgent(ctx, g.ID, func(g *arena.Agent) error {
		if g.RetiredAt.IsZero() {
			g.RetiredAt = now
		}
		return nil
	}, s.act(caller, now, "retire-agent", false))
	return err
}
