package mailbox

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// PulledTasks are the tasks of agents without an endpoint, and their presence.
type PulledTasks struct{ base *base.Base }

// NewPulledTasks returns the pulled tasks of a database.
func NewPulledTasks(b *base.Base) *PulledTasks { return &PulledTasks{base: b} }

var pulledTable = db.NewTable("pulled_tasks", "x",
	db.Text("agent_id", func(t *arena.PulledTask) *string { return &t.AgentID }),
	db.Text("task_id", func(t *arena.PulledTask) *string { return &t.TaskID }),
	db.Text("id", func(t *arena.PulledTask) *string { return &t.ID }),
	db.Text("match_id", func(t *arena.PulledTask) *string { return &t.MatchID }),
	db.Int("round", func(t *arena.PulledTask) *int { return &t.Round }),
	db.Int("attempt", func(t *arena.PulledTask) *int { return &t.Attempt }),
	db.Bytes("body", func(t *arena.PulledTask) *[]byte { return &t.Body }),
	db.Untrusted("output_format", func(t *arena.PulledTask) *string { return &t.OutputFormat }),
	db.Time("deadline", func(t *arena.PulledTask) *time.Time { return &t.Deadline }),
	db.Time("sent_at", func(t *arena.PulledTask) *time.Time { return &t.SentAt }),
	db.Time("expires_at", func(t *arena.PulledTask) *time.Time { return &t.ExpiresAt }),
	db.Int("deliveries", func(t *arena.PulledTask) *int { return &t.Deliveries }),
	db.Time("fetched_at", func(t *arena.PulledTask) *time.Time { return &t.FetchedAt }),
	db.Time("answered_at", func(t *arena.PulledTask) *time.Time { return &t.AnsweredAt }),
	db.Bytes("answer", func(t *arena.PulledTask) *[]byte { return &t.Answer }),
)

// A task that is dispatched again, by a retry or after a take-over, replaces
// the earlier dispatch.
var putPulled = db.NewUpsert(pulledTable, []string{"agent_id", "task_id"}, "id", "match_id", "round", "attempt", "body", "output_format",
	"deadline", "sent_at", "expires_at", "deliveries", "fetched_at", "answered_at", "answer")

const (
	// pulledKept is how long a task that is over is kept, so that late and repeated
	// answers are recognized.
	pulledKept = 10 * time.Minute
	// maxPulled is how often a task is delivered at most.
	maxPulled = 10
)

// PutPulled makes a task available to the polls of its agent from now on, for
// limit, and replaces an earlier dispatch of it. It returns the stored task, whose
// attempt is higher than those of all earlier deliveries.
func (s *PulledTasks) PutPulled(ctx context.Context, t arena.PulledTask, limit time.Duration) (arena.PulledTask, error) {
	err := s.base.Write(ctx, t.AgentID, func(ctx context.Context, tx *db.Tx) error {
		t.SentAt = db.FromMillis(db.Millis(s.base.Now())) // the time spent in the queue is not the agent's
		t.ExpiresAt = t.SentAt.Add(limit)
		if t.Attempt > 1 { // a retry, or after a take-over
			earlier, err := onePulled(ctx, tx, t.AgentID, t.TaskID)
			if err != nil && arena.CodeOf(err) != arena.CodeTaskNotFound {
				return err
			}
			t.Attempt = max(t.Attempt, earlier.Attempt+earlier.Deliveries)
		}
		_, err := putPulled.Exec(ctx, tx, t)
		return err
	})
	return t, s.base.Wrap(err, "put task %s for agent %s", t.TaskID, t.AgentID)
}

// TakePulled delivers a task to a poll of its agent: the oldest one that waits.
// Without one, it delivers again the oldest delivery that is not acknowledged,
// by an answer or an event, if there are more of those than most. ok is false
// when there is nothing to deliver.
func (s *PulledTasks) TakePulled(ctx context.Context, agentID string, most int, now time.Time) (t arena.PulledTask, ok bool, err error) {
	for range 3 { // another poll may be faster
		if t, ok, err = s.nextPulled(ctx, agentID, most, now); err != nil || !ok {
			return arena.PulledTask{}, false, s.base.Wrap(err, "find a task of agent %s", agentID)
		}
		var n int64
		err = s.base.Write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
			n, err = db.Exec(ctx, tx, `UPDATE pulled_tasks SET fetched_at = $1, deliveries = deliveries + 1
				WHERE id = $2 AND deliveries = $3 AND answered_at = 0`, db.Millis(now), t.ID, t.Deliveries)
			return err
		})
		if err != nil {
			return arena.PulledTask{}, false, s.base.Wrap(err, "take a task of agent %s", agentID)
		}
		if n > 0 {
			t.FetchedAt = db.FromMillis(db.Millis(now))
			t.Deliveries++
			return t, true, nil
		}
	}
	return arena.PulledTask{}, false, nil
}

// nextPulled returns the task that TakePulled would deliver.
func (s *PulledTasks) nextPulled(ctx context.Context, agentID string, most int, now time.Time) (arena.PulledTask, bool, error) {
	const open = ` WHERE x.agent_id = $1 AND x.answered_at = 0 AND x.expires_at > $2 AND x.deliveries < $3`
	args := []any{agentID, db.Millis(now), maxPulled}
	t, err := pulledTable.One(ctx, s.base.Reader, open+` AND x.fetched_at = 0 ORDER BY x.sent_at, x.task_id LIMIT 1`, args...)
	if !errors.Is(err, sql.ErrNoRows) {
		return t, err == nil, err
	}
	ids, err := db.All(ctx, s.base.Reader, db.ScanText, `SELECT x.id FROM pulled_tasks x`+open+` AND x.fetched_at > 0 AND NOT EXISTS (
		SELECT 1 FROM events e WHERE e.match_id = x.match_id AND e.round = x.round AND e.agent_id = x.agent_id AND e.at >= x.fetched_at)
		ORDER BY x.fetched_at, x.task_id`, args...)
	if err != nil || len(ids) <= max(0, most) {
		return arena.PulledTask{}, false, err
	}
	t, err = pulledTable.One(ctx, s.base.Reader, ` WHERE x.id = $1`, ids[0])
	if errors.Is(err, sql.ErrNoRows) { // replaced meanwhile
		return arena.PulledTask{}, false, nil
	}
	return t, err == nil, err
}

// ReturnPulled makes a task available again whose delivery failed.
func (s *PulledTasks) ReturnPulled(ctx context.Context, t arena.PulledTask) error {
	err := s.base.Write(ctx, t.AgentID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `UPDATE pulled_tasks SET fetched_at = 0 WHERE id = $1 AND deliveries = $2 AND answered_at = 0`, t.ID, t.Deliveries)
		return err
	})
	return s.base.Wrap(err, "return task %s of agent %s", t.TaskID, t.AgentID)
}

// Pulled returns the last dispatch of a task. task_not_found: the agent has
// none.
func (s *PulledTasks) Pulled(ctx context.Context, agentID, taskID string) (arena.PulledTask, error) {
	t, err := onePulled(ctx, s.base.Reader, agentID, taskID)
	return t, s.base.Wrap(err, "read task %s of agent %s", taskID, agentID)
}

func onePulled(ctx context.Context, q db.Querier, agentID, taskID string) (arena.PulledTask, error) {
	t, err := pulledTable.One(ctx, q, ` WHERE x.agent_id = $1 AND x.task_id = $2`, agentID, db.Storable(taskID))
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeTaskNotFound, "the agent has no such task now")
	}
	return t, err
}

// AnswerPulled stores the answer to a task; the same answer again changes
// nothing, and first is false. task_not_found: the agent has no such task; answer_late: its time is
// over; answer_repeated: it has another answer.
func (s *PulledTasks) AnswerPulled(ctx context.Context, agentID, taskID string, answer []byte, now time.Time) (t arena.PulledTask, first bool, err error) {
	err = s.base.Write(ctx, agentID, func(ctx context.Context, tx *db.Tx) (err error) {
		first = false // it may run again
		if t, err = onePulled(ctx, tx, agentID, taskID); err != nil {
			return err
		}
		switch {
		case !t.AnsweredAt.IsZero() && bytes.Equal(t.Answer, answer):
			return nil
		case !t.AnsweredAt.IsZero():
			return arena.Errorf(arena.CodeAnswerRepeated, "the task has another answer already; an agent that runs twice gets its tasks twice")
		case now.After(t.ExpiresAt):
			return arena.Errorf(arena.CodeAnswerLate, "the answer came after the deadline")
		}
		n, err := db.Exec(ctx, tx, `UPDATE pulled_tasks SET answered_at = $1, answer = $2 WHERE id = $3 AND answered_at = 0`, db.Millis(now), answer, t.ID)
		if err == nil && n == 0 { // at another node, in the same moment
			return arena.Errorf(arena.CodeAnswerRepeated, "the task has another answer already; an agent that runs twice gets its tasks twice")
		}
		t.AnsweredAt, t.Answer, first = db.FromMillis(db.Millis(now)), answer, true
		return err
	})
	return t, first, s.base.Wrap(err, "answer task %s of agent %s", taskID, agentID)
}

// DropPulled removes a dispatch that waits for no answer any more.
func (s *PulledTasks) DropPulled(ctx context.Context, t arena.PulledTask) error {
	err := s.base.Write(ctx, t.AgentID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `DELETE FROM pulled_tasks WHERE id = $1`, t.ID)
		return err
	})
	return s.base.Wrap(err, "drop task %s of agent %s", t.TaskID, t.AgentID)
}

// PulledChanges returns the agents of tasks that wait for a poll, one for each
// task, and the dispatches that were answered since a time.
func (s *PulledTasks) PulledChanges(ctx context.Context, now, since time.Time) (agents, answered []string, err error) {
	agents, err = db.All(ctx, s.base.Reader, db.ScanText, `SELECT x.agent_id FROM pulled_tasks x
		WHERE x.fetched_at = 0 AND x.answered_at = 0 AND x.expires_at > $1`, db.Millis(now))
	if err == nil {
		answered, err = db.All(ctx, s.base.Reader, db.ScanText, `SELECT x.id FROM pulled_tasks x WHERE x.answered_at > 0 AND x.answered_at >= $1`, db.Millis(since))
	}
	return agents, answered, s.base.Wrap(err, "read changes of pulled tasks")
}

// RevokedSince returns the ids of the tokens that were revoked, the owners that
// were suspended, and the agents that were retired or got an endpoint since a
// time.
func (s *PulledTasks) RevokedSince(ctx context.Context, since time.Time) ([]string, error) {
	ids, err := db.All(ctx, s.base.Reader, db.ScanText, `SELECT t.id FROM tokens t WHERE t.revoked_at > 0 AND t.revoked_at >= $1
		UNION ALL SELECT o.id FROM owners o WHERE o.suspended_at > 0 AND o.suspended_at >= $1
		UNION ALL SELECT a.id FROM agents a WHERE a.retired_at > 0 AND a.retired_at >= $1
		UNION ALL SELECT a.id FROM agents a WHERE a.endpoint_since > 0 AND a.endpoint_since >= $1 AND a.endpoint <> ''`, db.Millis(since))
	return ids, s.base.Wrap(err, "read what was revoked")
}

var presenceTable = db.NewTable("presence", "p",
	db.Text("agent_id", func(p *arena.Presence) *string { return &p.AgentID }),
	db.Time("until", func(p *arena.Presence) *time.Time { return &p.Until }),
)

var putPresence = db.NewInsert(presenceTable,
	"ON CONFLICT (agent_id) DO UPDATE SET until = CASE WHEN presence.until < excluded.until THEN excluded.until ELSE presence.until END")

// ExtendPresence records until when agents count as present. An earlier time
// than the one that is stored changes nothing.
func (s *PulledTasks) ExtendPresence(ctx context.Context, present []arena.Presence) error {
	if len(present) == 0 {
		return nil
	}
	err := s.base.Write(ctx, "presence", func(ctx context.Context, tx *db.Tx) error {
		_, err := putPresence.Exec(ctx, tx, present...)
		return err
	})
	return s.base.Wrap(err, "extend the presence of %d agents", len(present))
}

// PresentUntil returns until when an agent counts as present, zero when it never
// polled.
func (s *PulledTasks) PresentUntil(ctx context.Context, agentID string) (until time.Time, err error) {
	_, err = db.One(ctx, s.base.Reader, func(r db.Row) (struct{}, error) { return struct{}{}, r.Scan(db.IntoTime(&until)) },
		`SELECT p.until FROM presence p WHERE p.agent_id = $1`, agentID)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return until, s.base.Wrap(err, "read the presence of agent %s", agentID)
}
