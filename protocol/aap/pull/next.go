package pull

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Next waits for a task of an agent, under the rules for polls. The task has the
// body and the attempt of this delivery. ok is false if no task came in time or the
// node shuts down. A task that was taken for a ctx that has ended goes to the next
// poll.
func (s *Server) Next(ctx context.Context, caller arena.Caller, agentID string, wait time.Duration) (t arena.PulledTask, ok bool, err error) {
	g, err := s.agent(ctx, caller, agentID)
	if err != nil {
		return t, false, err
	}
	p, most, err := s.begin(ctx, caller, g, wait)
	if err != nil {
		return t, false, err
	}
	defer s.o.Hub.end(p)
	d, ok, err := s.take(ctx, p, most)
	if err == nil && !ok {
		d, ok, err = s.hold(ctx, p, wait)
	}
	if err != nil || !ok {
		return t, false, err
	}
	if ctx.Err() != nil {
		s.giveBack(ctx, d)
		return t, false, ctx.Err()
	}
	t = d.task
	t.Body, t.Attempt = d.request, number(d.task)
	return t, true, nil
}

// hold waits for a task of a poll without a connection of its own, for at most
// limit. ok is false if no task came in time or the node shuts down; the error is
// ctx.Err() if ctx ended.
func (s *Server) hold(ctx context.Context, p *poll, limit time.Duration) (d delivery, ok bool, err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for err == nil && !ok {
		switch p.awaitSignal(ctx, timer.C) {
		case lost:
			return d, false, ctx.Err()
		case over:
			s.uncount(p)
			return d, false, nil
		case woken:
			d, ok, err = s.take(ctx, p, unlimited) // only a new poll gets a lost delivery
		}
	}
	return d, ok, err
}

// Submit stores the answer to a task as Answer does. body is an AAP response.
func (s *Server) Submit(ctx context.Context, caller arena.Caller, agentID, taskID string, body []byte) (arena.Outcome, error) {
	g, err := s.agent(ctx, caller, agentID)
	if err != nil {
		return "", err
	}
	given := answerOf(body)
	given.ContentType = "application/json"
	return s.accept(ctx, caller, g, taskID, given)
}

// Report shows an event of an agent at work on a task to spectators.
func (s *Server) Report(ctx context.Context, caller arena.Caller, agentID, taskID string, event []byte) error {
	g, err := s.agent(ctx, caller, agentID)
	if err != nil {
		return err
	}
	t, err := s.o.Hub.o.Store.Pulled(ctx, g.ID, taskID)
	switch {
	case err != nil:
		return err
	case !t.AnsweredAt.IsZero():
		return arena.Errorf(arena.CodeRoundClosed, "the task is answered; report before the answer")
	case s.o.Hub.o.Now().After(t.ExpiresAt):
		return arena.Errorf(arena.CodeRoundClosed, "the time of the task is over")
	}
	return s.o.Events.Accept(ctx, t.MatchID, g.ID, event)
}
