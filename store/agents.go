package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// agentRows reads agents with all that belongs to them, in one statement:
// owner's name, leagues entered, seats held in running matches.
const agentRows = `SELECT a.id, a.owner_id, o.name, a.name, a.protocol, a.endpoint, a.public_key, a.version, a.description,
	a.pauses, a.created_at, a.passed_at, a.retired_at, a.health_ok, a.checked_at, a.latency_ns, a.health_reason,
	a.health_detail, a.capabilities, a.declared_latency_ns, a.max_concurrent, a.failures, a.successes, a.key_proved_at,
	(SELECT string_agg(e.league, ',' ORDER BY e.entered_at, e.league) FROM entries e
		WHERE e.agent_id = a.id AND e.withdrawn_at = 0),
	(SELECT count(*) FROM seats s WHERE s.agent_id = a.id AND s.playing = 1)
	FROM agents a JOIN owners o ON o.id = a.owner_id`

func scanAgent(r db.Row) (a arena.Agent, err error) {
	var leagues sql.NullString
	h := &a.Health
	err = r.Scan(&a.ID, &a.OwnerID, &a.OwnerName, &a.Name, &a.Protocol, &a.Endpoint, &a.PublicKey, &a.Version,
		&a.Description, pausesInto{&a.Pauses}, db.IntoTime(&a.CreatedAt), db.IntoTime(&a.PassedAt), db.IntoTime(&a.RetiredAt),
		&h.OK, db.IntoTime(&h.CheckedAt), &h.Latency, &h.Reason, &h.Detail, db.IntoJSON(&h.Capabilities),
		&h.DeclaredLatency, &h.MaxConcurrent, &h.Failures, &h.Successes, db.IntoTime(&a.KeyProvedAt), &leagues, &a.Running)
	if leagues.Valid { // slugs hold no comma
		a.Leagues = strings.Split(leagues.String, ",")
	}
	return a, err
}

// pauseDoc is a pause as it is stored.
type pauseDoc struct {
	Reason arena.PauseReason `json:"reason"`
	Since  int64             `json:"since"` // unix ms
	Until  int64             `json:"until"` // unix ms, 0: until it is lifted
}

// pausesText gives the stored form of pauses and when the last one ends.
func pausesText(pauses []arena.Pause) (text string, until int64, err error) {
	docs := make([]pauseDoc, len(pauses))
	for i, p := range pauses {
		docs[i] = pauseDoc{Reason: p.Reason, Since: db.Millis(p.Since), Until: db.Millis(p.Until)}
		if p.Until.IsZero() {
			until = db.NoEnd
		}
		until = max(until, docs[i].Until)
	}
	text, err = db.JSONText(docs)
	return text, until, err
}

// pausesInto scans the stored form of pauses.
type pausesInto struct{ pauses *[]arena.Pause }

func (i pausesInto) Scan(src any) error {
	if src == "[]" || src == "null" { // nearly all agents
		*i.pauses = nil
		return nil
	}
	var docs []pauseDoc
	if err := (db.IntoJSON(&docs)).Scan(src); err != nil {
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

// CreateAgent stores an agent and enters it into a.Leagues. name_taken: its
// owner has another agent of that name, in whatever case, that is not
// retired. not_found: the owner or a league does not exist.
func (s *Store) CreateAgent(ctx context.Context, a arena.Agent) error {
	err := s.write(ctx, a.ID, func(ctx context.Context, tx *db.Tx) error {
		columns, err := agentColumns(a)
		if err != nil {
			return err
		}
		n, err := db.Exec(ctx, tx, `INSERT INTO agents (name, name_key, endpoint, public_key, version, description, pauses,
			paused_until, passed_at, retired_at, health_ok, checked_at, latency_ns, health_reason, health_detail, capabilities,
			declared_latency_ns, max_concurrent, failures, successes, key_proved_at, id, owner_id, protocol, created_at)`+db.Values(1, 25)+
			`ON CONFLICT (owner_id, name_key) WHERE retired_at = 0 DO NOTHING`,
			append(columns, a.ID, a.OwnerID, a.Protocol, db.Millis(a.CreatedAt))...)
		if err != nil {
			return err
		}
		if n == 0 {
			return agentNameTaken(a.Name)
		}
		for _, league := range a.Leagues {
			if err := enter(ctx, tx, league, a.ID, a.CreatedAt); err != nil {
				return err
			}
		}
		return nil
	})
	return s.wrap(err, "create agent %s", a.ID)
}

func agentNameTaken(name string) error {
	return arena.Errorf(arena.CodeNameTaken, "the owner has an agent named %q already", name)
}

// agentColumns gives what an update of an agent may change, in the order of
// its statement.
func agentColumns(a arena.Agent) ([]any, error) {
	pauses, until, err := pausesText(a.Pauses)
	if err != nil {
		return nil, err
	}
	capabilities, err := db.JSONText(a.Health.Capabilities)
	if err != nil {
		return nil, err
	}
	h := a.Health
	return []any{
		a.Name, foldCase(a.Name), a.Endpoint, a.PublicKey, a.Version, a.Description, pauses, until, db.Millis(a.PassedAt),
		db.Millis(a.RetiredAt), db.Flag(h.OK), db.Millis(h.CheckedAt), int64(h.Latency), db.Storable(h.Reason), db.Storable(h.Detail), capabilities,
		int64(h.DeclaredLatency), max(1, h.MaxConcurrent), h.Failures, h.Successes, db.Millis(a.KeyProvedAt),
	}, nil
}

// Agent gives one agent.
func (s *Store) Agent(ctx context.Context, id string) (arena.Agent, error) {
	a, err := oneAgent(ctx, s.reader, id, "")
	return a, s.wrap(err, "read agent %s", id)
}

func oneAgent(ctx context.Context, q db.Querier, id, lock string) (arena.Agent, error) {
	a, err := db.One(ctx, q, scanAgent, agentRows+` WHERE a.id = $1`+lock, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("agent", id)
	}
	return a, err
}

// AgentsByID gives the agents that exist among ids.
func (s *Store) AgentsByID(ctx context.Context, ids []string) (map[string]arena.Agent, error) {
	found := make(map[string]arena.Agent, len(ids))
	for part := range slices.Chunk(ids, db.MaxIDs) {
		var c db.Clauses
		db.In(&c, "a.id", part)
		agents, err := db.All(ctx, s.reader, scanAgent, agentRows+c.Where(), c.Args...)
		if err != nil {
			return nil, s.wrap(err, "read %d agents", len(ids))
		}
		for _, a := range agents {
			found[a.ID] = a
		}
	}
	return found, nil
}

// Rests gives those among the agents that are paused at a time or retired.
func (s *Store) Rests(ctx context.Context, agentIDs []string, at time.Time) (map[string]arena.Rest, error) {
	found := map[string]arena.Rest{}
	for part := range slices.Chunk(agentIDs, db.MaxIDs) {
		c := db.Clauses{Args: []any{db.Millis(at)}}
		db.In(&c, "a.id", part)
		if _, err := db.All(ctx, s.reader, func(r db.Row) (id string, err error) {
			var rest arena.Rest
			err = r.Scan(&id, pausesInto{&rest.Pauses}, &rest.Retired)
			found[id] = rest
			return id, err
		}, `SELECT a.id, a.pauses, a.retired_at <> 0 FROM agents a`+c.Where()+` AND (a.paused_until > $1 OR a.retired_at <> 0)`, c.Args...); err != nil {
			return nil, s.wrap(err, "read rests of %d agents", len(agentIDs))
		}
	}
	return found, nil
}

// Agents lists agents, newest first.
func (s *Store) Agents(ctx context.Context, f arena.AgentFilter, p arena.Page) (items []arena.Agent, next string, err error) {
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
		literal := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(foldCase(db.Storable(f.Query)))
		c.And(`a.name_key LIKE ? ESCAPE '\'`, "%"+literal+"%")
	}
	if !f.Retired {
		c.And("a.retired_at = 0")
	}
	if after != "" {
		c.And("a.id < ?", after)
	}
	items, err = db.All(ctx, s.reader, scanAgent,
		agentRows+c.Where()+` ORDER BY a.id DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list agents")
	}
	items, next = closePage(listAgents, p, items, func(a arena.Agent) string { return a.ID })
	return items, next, nil
}

// DueForProbe gives every agent that is not retired, by id.
func (s *Store) DueForProbe(ctx context.Context) ([]arena.Agent, error) {
	agents, err := db.All(ctx, s.reader, scanAgent, agentRows+` WHERE a.retired_at = 0 ORDER BY a.id`)
	return agents, s.wrap(err, "read agents to probe")
}

// UpdateAgent changes an agent by apply, which gets the stored one and runs
// inside the transaction, perhaps more than once; its error undoes the change
// and comes back. What is written: name, endpoint, public key and when it
// was proved, version, description, pauses, health, passed_at, retired_at. Declaring another
// version, or a first one, starts the new version's count in every league; retiring withdraws
// the agent from its leagues. before and after are as stored.
func (s *Store) UpdateAgent(ctx context.Context, id string, apply func(*arena.Agent) error) (before, after arena.Agent, err error) {
	err = s.write(ctx, id, func(ctx context.Context, tx *db.Tx) (err error) {
		before, after, err = s.updateAgent(ctx, tx, id, apply)
		return err
	})
	return before, after, s.wrap(err, "update agent %s", id)
}

func (s *Store) updateAgent(ctx context.Context, tx *db.Tx, id string, apply func(*arena.Agent) error) (before, after arena.Agent, err error) {
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
	columns, err := agentColumns(changed)
	if err != nil {
		return before, after, err
	}
	_, err = db.Exec(ctx, tx, `UPDATE agents SET name = $1, name_key = $2, endpoint = $3, public_key = $4, version = $5,
		description = $6, pauses = $7, paused_until = $8, passed_at = $9, retired_at = $10, health_ok = $11, checked_at = $12,
		latency_ns = $13, health_reason = $14, health_detail = $15, capabilities = $16, declared_latency_ns = $17,
		max_concurrent = $18, failures = $19, successes = $20, key_proved_at = $21 WHERE id = $22`, append(columns, id)...)
	if s.d.Is(err, db.FaultUnique) { // an update can break two unique constraints
		if err = agentNameTaken(changed.Name); changed.Name == before.Name {
			err = arena.Errorf(arena.CodeConflict, "another agent has this public key")
		}
	}
	if err != nil {
		return before, after, err
	}
	if changed.Version != before.Version && changed.Version != "" {
		if _, err := db.Exec(ctx, tx, `UPDATE ratings SET new_version = $1 WHERE agent_id = $2`, arena.NewVersionMatches, id); err != nil {
			return before, after, err
		}
	}
	if before.RetiredAt.IsZero() && !changed.RetiredAt.IsZero() {
		if _, err := db.Exec(ctx, tx, `UPDATE entries SET withdrawn_at = $1 WHERE agent_id = $2 AND withdrawn_at = 0`,
			db.Millis(changed.RetiredAt), id); err != nil {
			return before, after, err
		}
	}
	after, err = oneAgent(ctx, tx, id, "")
	return before, after, err
}

// Deliveries lists the attempts sent to agents, newest first.
func (s *Store) Deliveries(ctx context.Context, f arena.DeliveryFilter, p arena.Page) ([]arena.Delivery, string, error) {
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
