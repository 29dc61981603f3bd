package agora

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// polledTask is a task on its way to an agent that polls.
type polledTask struct {
	Key      string          `json:"key"` // names the inbox of the answer; cannot be guessed
	MatchID  string          `json:"match_id"`
	Deadline int64           `json:"deadline"` // unix milliseconds
	Request  json.RawMessage `json:"request"`
}

func taskInbox(agentID string) string { return "agora/task/" + agentID }
func answerInbox(key string) string   { return "agora/answer/" + key }

// spare is how much longer than its time limit a message is kept.
const spare = 5 * time.Second

// dispatchPolled puts the task into the inbox of an agent that polls and waits
// for its answer, which any node may receive. The clock starts when the task is
// stored.
func (d *Driver) dispatchPolled(ctx context.Context, a arena.Attempt, body []byte) arena.Reply {
	r := arena.Reply{Outcome: arena.OutcomeVoid, Request: body}
	out := polledTask{Key: rand.Text(), MatchID: a.MatchID, Deadline: d.o.Now().Add(a.TimeLimit).UnixMilli(), Request: body}
	mail, err := encode(out)
	if err == nil {
		err = d.o.Inbox.Put(ctx, taskInbox(a.Seat.AgentID), out.Key, mail, a.TimeLimit+spare)
	}
	if err != nil {
		r.Reason, r.Detail = "not_stored", "the arena could not leave the task for the agent"
		return r
	}
	r.SentAt = d.o.Now()
	waiting, cancel := context.WithTimeout(ctx, a.TimeLimit)
	defer cancel()
	got, err := d.o.Inbox.Next(waiting, answerInbox(out.Key), 0, 1)
	r.Elapsed = d.o.Now().Sub(r.SentAt)
	var v protocol.Verdict
	switch {
	case ctx.Err() != nil:
		v, _ = protocol.Judge(protocol.Exchange{Failure: protocol.FailCancelled})
	case len(got) == 1 && r.Elapsed <= a.TimeLimit:
		if v, r.Answer = readAnswer(string(got[0].Body), false, a.Task.OutputFormat); r.Answer == nil {
			r.Head = got[0].Body[:min(len(got[0].Body), headBytes)]
		}
	case len(got) == 1:
		v, _ = protocol.Judge(protocol.Exchange{Failure: protocol.FailLate})
	case err != nil:
		v = protocol.Verdict{Outcome: arena.OutcomeVoid, Reason: "not_stored", Detail: "the arena could not wait for the answer"}
	default:
		v = d.silent(ctx, a.Seat.AgentID)
	}
	r.Outcome, r.Reason, r.Detail, r.Unreached, r.Retry = v.Outcome, v.Reason, v.Detail, v.Unreached, v.Retry
	return r
}

// silent returns the verdict on a task without an answer: a timeout, or
// unreached if the agent has stopped polling.
func (d *Driver) silent(ctx context.Context, agentID string) protocol.Verdict {
	until, _, err := d.o.Bases.AliveUntil(ctx, agentID)
	if err == nil && !d.o.Now().Before(until) {
		return protocol.Verdict{Outcome: arena.OutcomeError, Reason: "not_polling", Detail: awayDetail, Unreached: true}
	}
	v, _ := protocol.Judge(protocol.Exchange{Failure: protocol.FailTimeout})
	return v
}
