package pull

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/protocol/task"
)

const (
	// grace is how long the driver waits after the time limit for an answer that
	// came in time at another node.
	grace = 2 * pollAlone
	// dropLimit bounds how long the removal of a canceled task may take.
	dropLimit = 2 * time.Second
)

// Driver puts tasks to agents that fetch them. It is safe for concurrent use.
type Driver struct{ hub *Hub }

// NewDriver makes a Driver.
func NewDriver(h *Hub) *Driver {
	return &Driver{hub: h}
}

// Prepare returns a function that makes the task available to the agent's polls
// and waits for its answer. The time limit runs from the moment that the task is
// available. An error means that the arena could not make the request.
func (d *Driver) Prepare(_ context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error) {
	if a.TimeLimit <= 0 {
		return nil, fmt.Errorf("task of %s in match %s: no time", a.Seat.AgentID, a.MatchID)
	}
	body, err := task.Encode(a)
	if err != nil {
		return nil, fmt.Errorf("task of %s in match %s: %w", a.Seat.AgentID, a.MatchID, err)
	}
	t := arena.PulledTask{
		ID: rand.Text(), AgentID: a.Seat.AgentID, TaskID: a.Task.ID, MatchID: a.MatchID, Round: a.Round, Attempt: a.Number,
		Body: body, OutputFormat: a.Task.OutputFormat, Deadline: a.Deadline,
	}
	return func(ctx context.Context) arena.Reply { return d.send(ctx, t, a.TimeLimit) }, nil
}

func (d *Driver) send(ctx context.Context, t arena.PulledTask, limit time.Duration) arena.Reply {
	answered, stop := d.hub.await(t.ID)
	defer stop()
	t, err := d.hub.o.Store.PutPulled(ctx, t, limit)
	if err != nil {
		return arena.Reply{
			Outcome: arena.OutcomeVoid, Reason: "not_stored", Detail: "the arena could not make the task available", Request: t.Body,
		}
	}
	d.hub.o.Notifier.Notify(taskKey + t.AgentID)
	last, canceled := d.wait(ctx, t, answered, limit+grace)
	if canceled {
		d.drop(ctx, t)
		return void(t, string(protocol.FailCancelled), "the arena ended the request")
	}
	return replyTo(last)
}

func void(t arena.PulledTask, reason, detail string) arena.Reply {
	return arena.Reply{Outcome: arena.OutcomeVoid, Reason: reason, Detail: detail, SentAt: t.SentAt, Request: t.Body}
}

// wait returns the task once it is answered or its time is over. While the task
// cannot be read, an answer may have come in at another node: it waits for the
// storage, as all writes of the match do.
func (d *Driver) wait(ctx context.Context, t arena.PulledTask, answered <-chan struct{}, limit time.Duration) (last arena.PulledTask, canceled bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for over := false; ; {
		select {
		case <-ctx.Done():
			return t, true
		case <-timer.C:
			over = true
			timer.Reset(pollAlone)
		case <-answered:
		}
		last, err := d.hub.o.Store.Pulled(ctx, t.AgentID, t.TaskID)
		switch {
		case ctx.Err() != nil || arena.CodeOf(err) == arena.CodeTaskNotFound || err == nil && last.ID != t.ID: // another node has taken the match over
			return t, true
		case err == nil && (over || !last.AnsweredAt.IsZero()):
			return last, false
		}
	}
}

// drop removes a task that was canceled, so that no agent works on it.
func (d *Driver) drop(ctx context.Context, t arena.PulledTask) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropLimit)
	defer cancel()
	if err := d.hub.o.Store.DropPulled(ctx, t); err != nil {
		d.hub.o.Logger.WarnContext(ctx, "canceled task not dropped", "agent_id", t.AgentID, "match_id", t.MatchID, "error", err)
	}
}

// replyTo is the outcome of a task whose time is over, or that was answered.
func replyTo(t arena.PulledTask) arena.Reply {
	body := t.Body
	if number(t) > 1 {
		if again, err := task.Renumber(t.Body, number(t)); err == nil {
			body = again
		}
	}
	x := protocol.Exchange{SentAt: t.SentAt, Elapsed: t.ExpiresAt.Sub(t.SentAt), Failure: protocol.FailTimeout}
	if !t.AnsweredAt.IsZero() {
		var given answer
		_ = strictjson.Unmarshal(t.Answer, &given) // the server has encoded it
		x = given.exchange()
		x.SentAt, x.Elapsed = t.SentAt, min(max(t.AnsweredAt.Sub(t.SentAt), 0), t.ExpiresAt.Sub(t.SentAt))
	}
	r := aap.ReadReply(x, t.OutputFormat, body)
	if t.AnsweredAt.IsZero() && t.Deliveries == 0 {
		r.Reason, r.Detail, r.Unreached = "not_fetched", "the agent did not fetch the task", true
		if t.Round == 1 { // as an endpoint that cannot be reached
			r.Outcome = arena.OutcomeError
		}
	}
	return r
}

// Probe reports the presence of an agent: it polls, has polled within the
// interval of health checks, or is at work on a task.
func (d *Driver) Probe(ctx context.Context, a arena.Agent) arena.Health {
	now := d.hub.o.Now()
	h := arena.Health{CheckedAt: now, MaxConcurrent: max(1, a.PullConcurrent)}
	present, err := d.hub.presentAt(ctx, a.ID, now)
	switch {
	case err != nil: // not the agent's fault
		d.hub.o.Logger.WarnContext(ctx, "presence not read", "agent_id", a.ID, "error", err)
		h.OK, h.Reason, h.Detail = a.Health.OK, a.Health.Reason, a.Health.Detail
	case present:
		h.OK = true
	default:
		h.Reason, h.Detail = "not_polling", "the agent does not poll for tasks: GET /v1/agents/{id}/tasks"
	}
	return h
}
