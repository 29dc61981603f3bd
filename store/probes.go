package store

import (
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// RecordProbes stores what health checks of different agents found, and counts
// them for the UTC day of at: what Apply changes of health, pauses and
// PassedAt. Agents share transactions; an error of Apply concerns its agent
// alone. What comes back stands in the order of probes.
func (s *Store) RecordProbes(ctx context.Context, at time.Time, probes []arena.Probe) ([]arena.Probed, error) {
	recorded := make([]arena.Probed, 0, len(probes))
	for part := range slices.Chunk(probes, db.MaxIDs) {
		var done []arena.Probed
		// Alone: it locks many rows.
		err := s.writeAlone(ctx, "probes", func(ctx context.Context, tx *db.Tx) (err error) {
			done, err = s.recordProbes(ctx, tx, at, part)
			return err
		})
		if err != nil {
			return nil, s.wrap(err, "record probes of %d agents", len(probes))
		}
		recorded = append(recorded, done...)
	}
	return recorded, nil
}

func (s *Store) recordProbes(ctx context.Context, tx *db.Tx, at time.Time, probes []arena.Probe) ([]arena.Probed, error) {
	before, err := s.probed(ctx, tx, probes)
	if err != nil {
		return nil, err
	}
	done := make([]arena.Probed, len(probes))
	var agents, days [][]any
	for i, p := range probes {
		was, known := before[p.AgentID]
		if !known {
			done[i].Err = notFound("agent", p.AgentID)
			continue
		}
		changed := was
		changed.Pauses = slices.Clone(was.Pauses)
		if done[i].Err = p.Apply(&changed); done[i].Err != nil {
			continue
		}
		done[i].Before, done[i].After = was, changed
		columns, err := agentColumns(changed)
		if err != nil {
			return nil, err
		}
		agents = append(agents, slices.Concat([]any{p.AgentID}, columns[6:9], columns[10:20]))
		days = append(days, []any{p.AgentID, day(at), db.Flag(p.OK), db.Flag(!p.OK)})
	}
	if _, err := db.Update(ctx, tx, `UPDATE agents SET pauses = v.column2, paused_until = v.column3, passed_at = v.column4, health_ok = v.column5,
		checked_at = v.column6, latency_ns = v.column7, health_reason = v.column8, health_detail = v.column9, capabilities = v.column10,
		declared_latency_ns = v.column11, max_concurrent = v.column12, failures = v.column13, successes = v.column14`, `agents.id = v.column1`,
		"TEXT,TEXT,BIGINT,BIGINT,BIGINT,BIGINT,BIGINT,TEXT,TEXT,TEXT,BIGINT,BIGINT,BIGINT,BIGINT", agents); err != nil {
		return nil, err
	}
	return done, db.Bulk(ctx, tx, `INSERT INTO uptime (agent_id, day, ok, failed)`,
		`ON CONFLICT (agent_id, day) DO UPDATE SET ok = uptime.ok + excluded.ok, failed = uptime.failed + excluded.failed`, days)
}

// probed locks the agents and gives them by id.
func (s *Store) probed(ctx context.Context, tx *db.Tx, probes []arena.Probe) (map[string]arena.Agent, error) {
	ids := make([]string, len(probes))
	for i, p := range probes {
		ids[i] = p.AgentID
	}
	var c db.Clauses
	db.In(&c, "a.id", ids)
	agents, err := db.All(ctx, tx, scanAgent, agentRows+c.Where()+` ORDER BY a.id`+s.d.Lock("a"), c.Args...)
	found := make(map[string]arena.Agent, len(agents))
	for _, a := range agents {
		found[a.ID] = a
	}
	return found, err
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Uptime gives an agent's health checks by UTC day, oldest first, from the
// day of since on. Days without checks are left out.
func (s *Store) Uptime(ctx context.Context, id string, since time.Time) ([]arena.UptimeDay, error) {
	days, err := db.All(ctx, s.reader, func(r db.Row) (d arena.UptimeDay, err error) {
		return d, r.Scan(&d.Day, &d.OK, &d.Failed)
	}, `SELECT day, ok, failed FROM uptime WHERE agent_id = $1 AND day >= $2 ORDER BY day`, id, day(since))
	return days, s.wrap(err, "read uptime of agent %s", id)
}
