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
	var agents []arena.Agent
	var days []uptimeRow
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
		changed.ID = p.AgentID
		agents = append(agents, changed)
		days = append(days, newUptimeRow(p, at))
	}
	if _, err := updateProbed.Exec(ctx, tx, agents...); err != nil {
		return nil, err
	}
	_, err = countUptime.Exec(ctx, tx, days...)
	return done, err
}

// uptimeRow is a row of uptime.
type uptimeRow struct {
	arena.UptimeDay

	agentID string
}

func newUptimeRow(p arena.Probe, at time.Time) uptimeRow {
	row := uptimeRow{agentID: p.AgentID, UptimeDay: arena.UptimeDay{Day: day(at)}}
	if p.OK {
		row.OK = 1
	} else {
		row.Failed = 1
	}
	return row
}

var uptimeTable = db.NewTable("uptime", "u",
	db.Text("agent_id", func(u *uptimeRow) *string { return &u.agentID }),
	db.Text("day", func(u *uptimeRow) *string { return &u.Day }),
	db.Int("ok", func(u *uptimeRow) *int { return &u.OK }),
	db.Int("failed", func(u *uptimeRow) *int { return &u.Failed }),
)

var countUptime = db.NewInsert(uptimeTable,
	`ON CONFLICT (agent_id, day) DO UPDATE SET ok = uptime.ok + excluded.ok, failed = uptime.failed + excluded.failed`)

// probed locks the agents and gives them by id.
func (s *Store) probed(ctx context.Context, tx *db.Tx, probes []arena.Probe) (map[string]arena.Agent, error) {
	ids := make([]string, len(probes))
	for i, p := range probes {
		ids[i] = p.AgentID
	}
	var c db.Clauses
	db.In(&c, "a.id", ids)
	agents, err := agentTable.All(ctx, tx, agentOwner+c.Where()+` ORDER BY a.id`+s.d.Lock("a"), c.Args...)
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
	rows, err := uptimeTable.All(ctx, s.reader, ` WHERE u.agent_id = $1 AND u.day >= $2 ORDER BY u.day`, id, day(since))
	var days []arena.UptimeDay
	for _, r := range rows {
		days = append(days, r.UptimeDay)
	}
	return days, s.wrap(err, "read uptime of agent %s", id)
}
