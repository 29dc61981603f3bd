package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// agentTable joins the owners: see agentOwner. Reads include all that belongs to
// an agent: the owner's name, the leagues entered, the seats in running matches.
var agentTable = db.NewTable("agents", "a",
	db.Text("id", func(a *arena.Agent) *string { return &a.ID }),
	db.Text("owner_id", func(a *arena.Agent) *string { return &a.OwnerID }),
	db.Computed("o.name", func(a *arena.Agent) any { return &a.OwnerName }),
	db.Computed("o.suspended_at", func(a *arena.Agent) any { return db.IntoTime(&a.OwnerSuspendedAt) }),
	db.Text("name", func(a *arena.Agent) *string { return &a.Name }),
	db.Written("name_key", db.TypeText, func(a *arena.Agent) any { return foldCase(a.Name) }),
	db.Text("protocol", func(a *arena.Agent) *string { return &a.Protocol }),
	db.Text("endpoint", func(a *arena.Agent) *string { return &a.Endpoint }),
	db.Text("public_key", func(a *arena.Agent) *string { return &a.PublicKey }),
	db.Text("version", func(a *arena.Agent) *string { return &a.Version }),
	db.Text("model", func(a *arena.Agent) *string { return &a.Model }),
	db.Text("mark", func(a *arena.Agent) *string { return &a.Mark }),
	db.Text("description", func(a *arena.Agent) *string { return &a.Description }),
	db.Column[arena.Agent]{
		Name: "pauses", Type: db.TypeText,
		Value: func(a *arena.Agent) any { return pausesValue(a.Pauses) },
		Into:  func(a *arena.Agent) any { return pausesInto{&a.Pauses} },
	},
	db.Written("paused_until", db.TypeInt, func(a *arena.Agent) any { return pausedUntil(a.Pauses) }),
	db.Time("created_at", func(a *arena.Agent) *time.Time { return &a.CreatedAt }),
	db.Time("passed_at", func(a *arena.Agent) *time.Time { return &a.PassedAt }),
	db.Time("retired_at", func(a *arena.Agent) *time.Time { return &a.RetiredAt }),
	db.Bool("health_ok", func(a *arena.Agent) *bool { return &a.Health.OK }),
	db.Time("checked_at", func(a *arena.Agent) *time.Time { return &a.Health.CheckedAt }),
	db.Int("latency_ns", func(a *arena.Agent) *time.Duration { return &a.Health.Latency }),
	db.Untrusted("health_reason", func(a *arena.Agent) *string { return &a.Health.Reason }),
	db.Untrusted("health_detail", func(a *arena.Agent) *string { return &a.Health.Detail }),
	db.JSON("capabilities", func(a *arena.Agent) *[]string { return &a.Health.Capabilities }),
	db.Int("declared_latency_ns", func(a *arena.Agent) *time.Duration { return &a.Health.DeclaredLatency }),
	db.Int("max_concurrent", func(a *arena.Agent) *int { return &a.Health.MaxConcurrent }).
		With(func(a *arena.Agent) any { return int64(max(1, a.Health.MaxConcurrent)) }),
	db.Int("pull_concurrent", func(a *arena.Agent) *int { return &a.PullConcurrent }).
		With(func(a *arena.Agent) any { return int64(max(1, a.PullConcurrent)) }),
	db.Int("pause_after", func(a *arena.Agent) *int { return &a.PauseAfter }),
	db.JSON("budget", func(a *arena.Agent) *arena.Budget { return &a.Budget }),
	db.Int("round_tokens", func(a *arena.Agent) *int64 { return &a.RoundTokens }),
	db.Time("resumed_at", func(a *arena.Agent) *time.Time { return &a.ResumedAt }),
	db.Int("failures", func(a *arena.Agent) *int { return &a.Health.Failures }),
	db.Int("successes", func(a *arena.Agent) *int { return &a.Health.Successes }),
	db.Time("endpoint_since", func(a *arena.Agent) *time.Time { return &a.EndpointSince }),
	db.Text("endpoint_key", func(a *arena.Agent) *string { return &a.EndpointKey }),
	db.Written("endpoint_domain", db.TypeText, func(a *arena.Agent) any { return domainOf(a.EndpointKey) }),
	db.Time("key_proved_at", func(a *arena.Agent) *time.Time { return &a.KeyProvedAt }),
	db.Computed(`(SELECT string_agg(e.league, ',' ORDER BY e.entered_at, e.league) FROM entries e
		WHERE e.agent_id = a.id AND e.withdrawn_at = 0)`, func(a *arena.Agent) any { return slugsInto{&a.Leagues} }),
	db.Computed(`(SELECT count(*) FROM seats s WHERE s.agent_id = a.id AND s.playing = 1)`, func(a *arena.Agent) any { return &a.Running }),
)

// agentOwner joins the owners to agentTable.
const agentOwner = ` JOIN owners o ON o.id = a.owner_id`

var (
	insertAgents = db.NewInsert(agentTable, "ON CONFLICT (owner_id, name_key) WHERE retired_at = 0 DO NOTHING")
	updateAgents = db.NewUpdate(agentTable, []string{"id"}, []string{
		"name", "name_key", "endpoint", "endpoint_key", "endpoint_domain", "endpoint_since", "public_key", "version", "model", "mark", "description", "pauses", "paused_until", "passed_at", "retired_at",
		"health_ok", "checked_at", "latency_ns", "health_reason", "health_detail", "capabilities", "declared_latency_ns",
		"max_concurrent", "failures", "successes", "key_proved_at", "pull_concurrent",
		"pause_after", "resumed_at", "budget", "round_tokens",
	})
	updateProbed = db.NewUpdate(agentTable, []string{"id"}, []string{
		"pauses", "paused_until", "passed_at", "health_ok", "checked_at", "latency_ns", "health_reason", "health_detail",
		"capabilities", "declared_latency_ns", "max_concurrent", "failures", "successes",
	})
)

// slugsInto scans slugs, which hold no comma, that are separated by commas.
type slugsInto struct{ slugs *[]string }

func (i slugsInto) Scan(src any) error {
	if text, ok := src.(string); ok {
		*i.slugs = strings.Split(text, ",")
	} else if src != nil {
		return fmt.Errorf("scan slugs: got %T", src)
	}
	return nil
}

// pauseDoc is a pause as it is stored.
type pauseDoc struct {
	Reason arena.PauseReason `json:"reason"`
	Since  int64             `json:"since"` // unix ms
	Until  int64             `json:"until"` // unix ms, 0: until it is lifted
}

// pausesValue returns the stored form of pauses.
func pausesValue(pauses []arena.Pause) any {
	docs := make([]pauseDoc, len(pauses))
	for i, p := range pauses {
		docs[i] = pauseDoc{Reason: p.Reason, Since: db.Millis(p.Since), Until: db.Millis(p.Until)}
	}
	return db.Encode(docs)
}

// pausedUntil returns the stored form of the end of the last pause.
func pausedUntil(pauses []arena.Pause) (until int64) {
	for _, p := range pauses {
		if p.Until.IsZero() {
			return db.NoEnd
		}
		until = max(until, db.Millis(p.Until))
	}
	return until
}

// pausesInto scans the stored form of pauses.
type pausesInto struct{ pauses *[]arena.Pause }

func (i pausesInto) Scan(src any) error {
	if src == "[]" || src == "null" { // nearly all agents
		*i.pauses = nil
		return nil
	}
	var docs []pauseDoc
	if err := db.IntoJSON(&docs).Scan(src); err != nil {
		return err
	}
	*i.pauses = nil
	for _, d := range docs {
		*i.pauses = append(*i.pauses, arena.Pause{Reason: d.Reason, Since: db.FromMillis(d.Since), Until: db.FromMillis(d.Until)})
	}
	return nil
}

// foldCase returns the form in which names are compared. Upper case first
// brings letters with two lower-case forms (ſ, K) together.
func foldCase(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// likeLiteral returns text as a LIKE pattern that matches only it, with \ as the
// escape character.
func likeLiteral(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// CreateAgent stores an agent, enters it into a.Leagues and stores the audit
// entries about it. name_taken: an agent that is not retired has that name, or
// one that looks the same (plaintext.NameKeys). not_found: the owner or a
// league does not exist.
func (s *Agents) CreateAgent(ctx context.Context, a arena.Agent, audit ...arena.AuditEntry) error {
	return s.createAgent(ctx, a, nil, audit)
}

// CreateAgentWithKey is CreateAgent for an agent with its first key.
func (s *Agents) CreateAgentWithKey(ctx context.Context, a arena.Agent, key arena.Token, audit ...arena.AuditEntry) error {
	return s.createAgent(ctx, a, []arena.Token{key}, audit)
}

func (s *Agents) createAgent(ctx context.Context, a arena.Agent, keys []arena.Token, audit []arena.AuditEntry) error {
	err := s.write(ctx, a.ID, func(ctx context.Context, tx *db.Tx) error {
		n, err := insertAgents.Exec(ctx, tx, a)
		if err != nil {
			return err
		}
		if n == 0 {
			return nameTaken(agentName, a.Name)
		}
		if a.RetiredAt.IsZero() {
			if err := claimName(ctx, tx, agentName, a.ID, a.Name); err != nil {
				return err
			}
		}
		for _, league := range a.Leagues {
			if err := enter(ctx, tx, league, a.ID, a.CreatedAt); err != nil {
				return err
			}
		}
		if _, err := insertTokens.Exec(ctx, tx, keys...); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "create agent %s", a.ID)
}

// Agent returns one agent.
func (s *Agents) Agent(ctx context.Context, id string) (arena.Agent, error) {
	a, err := oneAgent(ctx, s.reader, id, "")
	return a, s.wrap(err, "read agent %s", id)
}

func oneAgent(ctx context.Context, q db.Querier, id, lock string) (arena.Agent, error) {
	a, err := agentTable.One(ctx, q, agentOwner+` WHERE a.id = $1`+lock, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("agent", id)
	}
	return a, err
}

// AgentsByID returns the agents that exist among ids.
func (s *Agents) AgentsByID(ctx context.Context, ids []string) (map[string]arena.Agent, error) {
	found := make(map[string]arena.Agent, len(ids))
	for part := range slices.Chunk(ids, db.MaxIDs) {
		var c db.Clauses
		db.In(&c, "a.id", part)
		agents, err := agentTable.All(ctx, s.reader, agentOwner+c.Where(), c.Args...)
		if err != nil {
			return nil, s.wrap(err, "read %d agents", len(ids))
		}
		for _, a := range agents {
			found[a.ID] = a
		}
	}
	return found, nil
}

// maxMarks is the most marks that Marks returns.
const maxMarks = 5000

// Marks returns the marks that owners have chosen, by agent. If there are more
// than maxMarks, it leaves out retired agents first, then those registered first.
func (s *Agents) Marks(ctx context.Context) (map[string]string, error) {
	marks := map[string]string{}
	_, err := db.All(ctx, s.reader, func(r db.Row) (id string, err error) {
		var mark string
		err = r.Scan(&id, &mark)
		marks[id] = mark
		return id, err
	}, `SELECT id, mark FROM agents WHERE mark <> '' ORDER BY retired_at > 0, id DESC LIMIT $1`, maxMarks)
	return marks, s.wrap(err, "read marks")
}

// ownerLinkSource returns the source of each kind of arena.OwnerLink: the table,
// its column with the owner, and the column with the value, or "".
func ownerLinkSource(kind arena.UnratedReason) (table, owner, column string) {
	switch kind {
	case arena.UnratedSharedKey:
		return "agents", "owner_id", "public_key"
	case arena.UnratedSharedDomain:
		return "agents", "owner_id", "endpoint_domain"
	case arena.UnratedSharedNetwork:
		return "owners", "id", "network"
	default:
		return "agents", "owner_id", "endpoint_key"
	}
}

// OwnerLinks returns the links of the given kinds that owners have, those of
// retired agents included, each with the agent or owner that had it first.
func (s *Agents) OwnerLinks(ctx context.Context, ownerIDs []string, kinds []arena.UnratedReason) (links []arena.OwnerLink, err error) {
	for part := range slices.Chunk(ownerIDs, db.MaxIDs) {
		for _, kind := range kinds {
			table, owner, column := ownerLinkSource(kind)
			var c db.Clauses
			db.In(&c, "g."+owner, part)
			c.And("g." + column + " <> ''")
			found, err := db.All(ctx, s.reader, func(r db.Row) (l arena.OwnerLink, err error) {
				l.Kind = kind
				return l, r.Scan(&l.OwnerID, &l.Value, &l.First, &l.FirstOf)
			}, fmt.Sprintf(`SELECT DISTINCT g.%[2]s, g.%[3]s, f.id, f.%[2]s FROM %[1]s g JOIN %[1]s f ON f.id = (
				SELECT min(x.id) FROM %[1]s x WHERE x.%[3]s = g.%[3]s AND x.%[3]s <> '')`, table, owner, column)+c.Where(), c.Args...)
			if err != nil {
				return nil, s.wrap(err, "read links of %d owners", len(ownerIDs))
			}
			links = append(links, found...)
		}
	}
	return links, nil
}

// domainOf returns the registrable domain (public-suffix list) of an endpoint
// key that is a host and port, "" when it has none.
func domainOf(endpointKey string) string {
	host, _, err := net.SplitHostPort(endpointKey)
	if err != nil || net.ParseIP(host) != nil {
		return ""
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return "" // a public suffix itself: its users have nothing to do with each other
	}
	return domain
}

// Cooldowns returns the agents that are paused at the given time or retired.
func (s *Agents) Cooldowns(ctx context.Context, agentIDs []string, at time.Time) (map[string]arena.Cooldown, error) {
	found := map[string]arena.Cooldown{}
	for part := range slices.Chunk(agentIDs, db.MaxIDs) {
		c := db.Clauses{Args: []any{db.Millis(at)}}
		db.In(&c, "a.id", part)
		if _, err := db.All(ctx, s.reader, func(r db.Row) (id string, err error) {
			var cooldown arena.Cooldown
			err = r.Scan(&id, pausesInto{&cooldown.Pauses}, &cooldown.Retired)
			found[id] = cooldown
			return id, err
		}, `SELECT a.id, a.pauses, a.retired_at <> 0 FROM agents a`+c.Where()+` AND (a.paused_until > $1 OR a.retired_at <> 0)`, c.Args...); err != nil {
			return nil, s.wrap(err, "read cooldowns of %d agents", len(agentIDs))
		}
	}
	return found, nil
}

// Agents lists agents, newest first.
func (s *Agents) Agents(ctx context.Context, f arena.AgentFilter, p arena.Page) (items []arena.Agent, next string, err error) {
	after, err := listAgents.open(p)
	if err != nil {
		return nil, "", err
	}
	var c db.Clauses
	if f.OwnerID != "" {
		c.And("a.owner_id = ?", f.OwnerID)
	}
	if f.League != "" {
		c.And("EXISTS (SELECT 1 FROM entries x WHERE x.league = ? AND x.agent_id = a.id AND x.withdrawn_at = 0)", f.League)
	}
	if f.Query != "" {
		c.And(`a.name_key LIKE ? ESCAPE '\'`, "%"+likeLiteral(foldCase(db.Storable(f.Query)))+"%")
	}
	if !f.Retired {
		c.And("a.retired_at = 0")
	}
	if after != "" {
		c.And("a.id < ?", after)
	}
	items, err = agentTable.All(ctx, s.reader, agentOwner+c.Where()+` ORDER BY a.id DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list agents")
	}
	items, next = closePage(listAgents, p, items, func(a arena.Agent) string { return a.ID })
	return items, next, nil
}

// DueForProbe returns every agent that is not retired, by id.
func (s *Agents) DueForProbe(ctx context.Context) ([]arena.Agent, error) {
	agents, err := agentTable.All(ctx, s.reader, agentOwner+` WHERE a.retired_at = 0 ORDER BY a.id`)
	return agents, s.wrap(err, "read agents to probe")
}

// HealthyEndpoints returns healthy agents that have an endpoint, one of each
// owner, in random order.
func (s *Agents) HealthyEndpoints(ctx context.Context, limit int) ([]arena.Agent, error) {
	agents, err := agentTable.All(ctx, s.reader, agentOwner+` JOIN (SELECT g.id, row_number() OVER (PARTITION BY g.owner_id ORDER BY random()) AS n
		FROM agents g WHERE g.retired_at = 0 AND g.passed_at > 0 AND g.health_ok = 1 AND g.endpoint <> '') p ON p.id = a.id
		WHERE p.n = 1 ORDER BY random() LIMIT $1`, limit)
	return agents, s.wrap(err, "read a sample of healthy endpoints")
}

// UpdateAgent changes an agent by apply, which gets the stored one and runs
// inside the transaction, perhaps more than once; its error undoes the change
// and comes back. Declaring another version, or a first one, starts the new version's count in every league;
// retiring withdraws the agent from its leagues and releases its name. before and after are as stored. The audit entries
// that audit returns about the change are stored with it.
func (s *Agents) UpdateAgent(ctx context.Context, id string, apply func(*arena.Agent) error, audit ...arena.AgentAudit) (before, after arena.Agent, err error) {
	err = s.write(ctx, id, func(ctx context.Context, tx *db.Tx) (err error) {
		if before, after, err = s.updateAgent(ctx, tx, id, apply); err != nil {
			return err
		}
		return auditChange(ctx, tx, before, after, audit)
	})
	return before, after, s.wrap(err, "update agent %s", id)
}

func (s *Agents) updateAgent(ctx context.Context, tx *db.Tx, id string, apply func(*arena.Agent) error) (before, after arena.Agent, err error) {
	if before, err = oneAgent(ctx, tx, id, s.d.Lock("a")); err != nil {
		return before, after, err
	}
	changed := before
	changed.Leagues = slices.Clone(before.Leagues)
	changed.Pauses = slices.Clone(before.Pauses)
	changed.Health.Capabilities = slices.Clone(before.Health.Capabilities)
	if err := apply(&changed); err != nil {
		return before, after, err
	}
	changed.ID = id
	_, err = updateAgents.Exec(ctx, tx, changed)
	if s.d.Is(err, db.FaultUnique) { // an update can break two unique constraints
		if err = nameTaken(agentName, changed.Name); changed.Name == before.Name {
			err = arena.Errorf(arena.CodeConflict, "another agent has this public key")
		}
	}
	if err != nil {
		return before, after, err
	}
	if changed.Name != before.Name {
		if err := releaseName(ctx, tx, id); err != nil {
			return before, after, err
		}
	}
	if changed.Name != before.Name && changed.RetiredAt.IsZero() {
		if err := claimName(ctx, tx, agentName, id, changed.Name); err != nil {
			return before, after, err
		}
	}
	if changed.Version != before.Version && changed.Version != "" {
		if _, err := db.Exec(ctx, tx, `UPDATE ratings SET new_version = $1 WHERE agent_id = $2`, arena.NewVersionMatches, id); err != nil {
			return before, after, err
		}
	}
	if before.RetiredAt.IsZero() && !changed.RetiredAt.IsZero() {
		if err := retireAgents(ctx, tx, "id", id, changed.RetiredAt); err != nil {
			return before, after, err
		}
	}
	after, err = oneAgent(ctx, tx, id, "")
	return before, after, err
}

// retireAgents retires the agents with a value in a column, id or owner_id: it
// withdraws them from their leagues and releases their names.
func retireAgents(ctx context.Context, tx *db.Tx, column, value string, at time.Time) error {
	which := `(SELECT a.id FROM agents a WHERE a.` + column + ` = $1)`
	if _, err := db.Exec(ctx, tx, `DELETE FROM names WHERE holder IN `+which, value); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, tx, `UPDATE entries SET withdrawn_at = $2 WHERE withdrawn_at = 0 AND agent_id IN `+which, value, db.Millis(at)); err != nil {
		return err
	}
	_, err := db.Exec(ctx, tx, `UPDATE agents SET retired_at = $2 WHERE retired_at = 0 AND `+column+` = $1`, value, db.Millis(at))
	return err
}

// Deliveries lists the attempts sent to agents, newest first.
func (s *Agents) Deliveries(ctx context.Context, f arena.DeliveryFilter, p arena.Page) ([]arena.Delivery, string, error) {
	after, err := listDeliveries.open(p)
	if err != nil {
		return nil, "", err
	}
	var c db.Clauses
	if f.AgentID != "" {
		c.And("d.agent_id = ?", f.AgentID)
	}
	if f.MatchID != "" {
		c.And("d.match_id = ?", f.MatchID)
	}
	if f.Outcome != "" {
		c.And("d.outcome = ?", string(f.Outcome))
	}
	if after != "" {
		c.And("d.id < ?", after)
	}
	items, err := deliveryTable.All(ctx, s.reader, deliveredAnswers+c.Where()+` ORDER BY d.id DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list deliveries")
	}
	items, next := closePage(listDeliveries, p, items, func(d arena.Delivery) string { return d.ID })
	return items, next, nil
}
