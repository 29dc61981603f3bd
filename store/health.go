package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// RecordProbes stores what health checks of different agents found, and counts
// them for the UTC day of at: what Apply changes of health, pauses and
// PassedAt. Agents share transactions; an error of Apply concerns its agent
// alone. What comes back stands in the order of probes.
func (s *Agents) RecordProbes(ctx context.Context, at time.Time, probes []arena.Probe) ([]arena.Probed, error) {
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

func (s *Agents) recordProbes(ctx context.Context, tx *db.Tx, at time.Time, probes []arena.Probe) ([]arena.Probed, error) {
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

// probed locks the agents and returns them by id.
func (s *Agents) probed(ctx context.Context, tx *db.Tx, probes []arena.Probe) (map[string]arena.Agent, error) {
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

// Uptime returns an agent's health checks by UTC day, oldest first, from the
// day of since on. Days without checks are left out.
func (s *Agents) Uptime(ctx context.Context, id string, since time.Time) ([]arena.UptimeDay, error) {
	rows, err := uptimeTable.All(ctx, s.reader, ` WHERE u.agent_id = $1 AND u.day >= $2 ORDER BY u.day`, id, day(since))
	var days []arena.UptimeDay
	for _, r := range rows {
		days = append(days, r.UptimeDay)
	}
	return days, s.wrap(err, "read uptime of agent %s", id)
}

// keptVersions is of how many versions of an agent the full check is kept.
const keptVersions = 20

// conformanceTable reads no reports: see Conformance.
var conformanceTable = db.NewTable("conformance", "c",
	db.Text("agent_id", func(c *arena.Conformance) *string { return &c.AgentID }),
	db.Text("version", func(c *arena.Conformance) *string { return &c.Version }),
	db.Time("checked_at", func(c *arena.Conformance) *time.Time { return &c.CheckedAt }),
	db.Bool("passed", func(c *arena.Conformance) *bool { return &c.Passed }),
	db.Int("must_pass", func(c *arena.Conformance) *int { return &c.MustPass }),
	db.Int("must_total", func(c *arena.Conformance) *int { return &c.MustTotal }),
	db.Int("should_pass", func(c *arena.Conformance) *int { return &c.ShouldPass }),
	db.Int("should_total", func(c *arena.Conformance) *int { return &c.ShouldTotal }),
	db.Written("report", db.TypeText, func(c *arena.Conformance) any { return string(c.Report) }),
)

var saveConformance = db.NewUpsert(conformanceTable, []string{"agent_id", "version"})

// SaveConformance stores a full check in the place of an earlier one of the
// same version, and forgets those of long ago. The audit entries about it are
// stored with it. not_found: there is no such agent.
func (s *Agents) SaveConformance(ctx context.Context, c arena.Conformance, audit ...arena.AuditEntry) error {
	err := s.write(ctx, c.AgentID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := oneAgent(ctx, tx, c.AgentID, s.d.Lock("a")); err != nil {
			return err
		}
		if _, err := saveConformance.Exec(ctx, tx, c); err != nil {
			return err
		}
		if _, err := db.Exec(ctx, tx, `DELETE FROM conformance WHERE agent_id = $1 AND version NOT IN
			(SELECT k.version FROM conformance k WHERE k.agent_id = $1 ORDER BY k.checked_at DESC, k.version DESC LIMIT $2)`, c.AgentID, keptVersions); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "save conformance of agent %s", c.AgentID)
}

// latestConformance holds for an agent's newest row.
const latestConformance = `NOT EXISTS (SELECT 1 FROM conformance n WHERE n.agent_id = c.agent_id AND
	(n.checked_at > c.checked_at OR n.checked_at = c.checked_at AND n.version > c.version))`

// Conformance returns an agent's last full check with its report. not_found:
// there was none.
func (s *Agents) Conformance(ctx context.Context, agentID string) (arena.Conformance, error) {
	var c arena.Conformance
	err := s.view(ctx, func(q db.Querier) (err error) {
		if c, err = conformanceTable.One(ctx, q, ` WHERE c.agent_id = $1 AND `+latestConformance, agentID); err != nil {
			return err
		}
		report, err := db.One(ctx, q, db.ScanText, `SELECT report FROM conformance WHERE agent_id = $1 AND version = $2`, agentID, c.Version)
		c.Report = json.RawMessage(report)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("full check of agent", agentID)
	}
	return c, s.wrap(err, "read conformance of agent %s", agentID)
}

// Conformances returns the last full check of each of the agents, without the
// report. Agents without any are left out.
func (s *Agents) Conformances(ctx context.Context, ids []string) (map[string]arena.Conformance, error) {
	found := make(map[string]arena.Conformance, len(ids))
	for part := range slices.Chunk(ids, db.MaxIDs) {
		var c db.Clauses
		db.In(&c, "c.agent_id", part)
		c.And(latestConformance)
		rows, err := conformanceTable.All(ctx, s.reader, c.Where(), c.Args...)
		if err != nil {
			return nil, s.wrap(err, "read conformance of %d agents", len(ids))
		}
		for _, row := range rows {
			found[row.AgentID] = row
		}
	}
	return found, nil
}

// DueForConformance returns an agent whose version is another than that of its
// last full check, which was before a time. It is well, takes seats, and holds
// none. ok is false when there is none.
func (s *Agents) DueForConformance(ctx context.Context, now, before time.Time) (a arena.Agent, ok bool, err error) {
	a, err = agentTable.One(ctx, s.reader, agentOwner+` JOIN conformance c ON c.agent_id = a.id AND `+latestConformance+`
		WHERE a.retired_at = 0 AND a.passed_at > 0 AND a.health_ok = 1 AND a.paused_until <= $1 AND c.version <> a.version
		AND c.checked_at <= $2 AND NOT (a.protocol = 'aap' AND a.endpoint = '') AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.agent_id = a.id AND s.playing = 1)
		ORDER BY c.checked_at, a.id LIMIT 1`, db.Millis(now), db.Millis(before))
	if errors.Is(err, sql.ErrNoRows) {
		return a, false, nil
	}
	return a, err == nil, s.wrap(err, "read agent to check in full")
}
