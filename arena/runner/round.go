package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/seal"
	"github.com/agora-arena/arena/scoring"
)

// round is the open round of a play.
type round struct {
	arena.Round
	deadline time.Time
	answers  map[string]arena.Answer // by agent id: what is stored
}

// nextRound picks a task and opens the next round with it.
func (p *play) nextRound(ctx context.Context) (*round, error) {
	no := p.m.Round + 1
	task, err := p.r.o.Tasks.Pick(ctx, p.m, no)
	if err != nil {
		p.log.Error("no task for the round", "round", no, "error", err)
		return nil, &voidError{"the task source failed"}
	}
	return p.open(ctx, arena.Round{MatchID: p.m.ID, No: no, Task: task})
}

// open stores the round as open and shows its task. An interrupted round is
// opened again: the time limit starts anew, stored answers stay.
func (p *play) open(ctx context.Context, r arena.Round) (*round, error) {
	now := p.r.o.Now()
	r.OpenedAt = now
	open := &round{Round: r, deadline: now.Add(p.m.Settings.TimeLimit), answers: map[string]arena.Answer{}}
	for _, a := range p.answers {
		if a.Round == r.No {
			open.answers[a.AgentID] = a
		}
	}
	e := p.event(arena.EventRoundStarted, "", r.No, arena.RoundStartedBody{
		Task: arena.TaskBody{
			TaskID: r.Task.ID, Description: r.Task.Description, InputFormat: r.Task.InputFormat,
			OutputFormat: r.Task.OutputFormat, Options: r.Task.Options, Topic: r.Task.Topic,
		},
		TimeLimitSeconds: p.m.Settings.TimeLimit.Seconds(),
		Deadline:         open.deadline.UTC().Format(arena.TimeFormat),
		Interrupted:      r.Interruptions > 0,
	})
	stored, err := retry(ctx, p, func() ([]arena.Event, error) {
		return p.r.o.Store.OpenRound(ctx, p.m.Lease, r, []arena.Event{e})
	})
	if err != nil {
		return nil, fmt.Errorf("open round %d: %w", r.No, err)
	}
	p.m.Round, p.m.RoundOpen, p.correct[r.No] = r.No, true, correct(r.Task)
	p.publish(stored)
	return open, nil
}

// playRound asks every active seat that has no stored answer yet, all behind
// one start gun, waits for all outcomes and closes the round.
func (p *play) playRound(ctx context.Context, open *round) error {
	agents, err := p.agents(ctx)
	if err != nil {
		return err
	}
	active := 0
	for _, s := range p.m.Seats {
		if s.State == arena.SeatActive {
			active++
		}
	}
	var asks []*ask
	for i := range p.m.Seats {
		s := &p.m.Seats[i]
		if _, stored := open.answers[s.AgentID]; stored || s.State != arena.SeatActive {
			continue
		}
		a := &ask{p: p, round: open, seat: s, agent: agents[s.AgentID], opponents: active - 1, first: 2*open.Interruptions + 1}
		if err := a.prepare(ctx); err != nil {
			p.log.Error("request could not be prepared", "agent_id", s.AgentID, "error", err)
			return &voidError{"the arena could not prepare a request"}
		}
		asks = append(asks, a)
	}
	// Random order, so that no seat is always the first to hear the question.
	p.rand.Shuffle(len(asks), func(i, j int) { asks[i], asks[j] = asks[j], asks[i] })

	gun := make(chan struct{})
	failed := make(chan error, len(asks))
	var seats sync.WaitGroup
	for _, a := range asks {
		seats.Go(func() {
			<-gun
			if err := a.play(ctx); err != nil {
				failed <- err
			}
		})
	}
	close(gun)
	seats.Wait()
	close(failed)
	for err := range failed {
		return err
	}
	for _, a := range asks {
		open.answers[a.seat.AgentID] = a.answer
	}
	return p.closeRound(ctx, open)
}

// closeRound judges the stored answers, adds the points, applies the format's
// rule and shows what was sealed.
func (p *play) closeRound(ctx context.Context, open *round) error {
	judged := arena.RoundClose{Round: open.No, Seats: append([]arena.Seat(nil), p.m.Seats...)}
	for i := range judged.Seats {
		s := &judged.Seats[i]
		a, ok := open.answers[s.AgentID]
		if !ok {
			continue
		}
		if a.Outcome == arena.OutcomeAnswered {
			a.Points = scoring.Judge(p.m.Settings.Judge, open.Task, a.Body.Answer)
		}
		a.Judged = true
		s.Points += a.Points
		s.Outcome = a.Outcome
		if a.Outcome == arena.OutcomeUnavailable {
			s.State, s.OutRound = arena.SeatLeft, open.No
		}
		open.answers[s.AgentID] = a
		judged.Answers = append(judged.Answers, a)
	}
	if p.m.Settings.Format == arena.FormatElimination {
		judged.Seats = scoring.Eliminate(judged.Seats, open.No, open.answers)
	}
	stored, err := retry(ctx, p, func() ([]arena.Event, error) {
		return p.r.o.Store.CloseRound(ctx, p.m.Lease, judged, func(hidden []arena.Event) ([]arena.Event, error) {
			return p.closingEvents(open, judged, hidden)
		})
	})
	if err != nil {
		return fmt.Errorf("close round %d: %w", open.No, err)
	}
	p.m.Seats, p.m.RoundOpen = judged.Seats, false
	p.answers = slices.DeleteFunc(p.answers, func(a arena.Answer) bool { return a.Round == open.No })
	p.answers = append(p.answers, judged.Answers...)
	p.publish(stored)
	return nil
}

func (p *play) closingEvents(open *round, c arena.RoundClose, hidden []arena.Event) ([]arena.Event, error) {
	var events []arena.Event
	if len(hidden) > 0 {
		body := arena.RevealBody{Events: make([]arena.RevealedEvent, len(hidden))}
		for i, h := range hidden {
			body.Events[i] = arena.RevealedEvent{Seq: h.Seq, AgentID: h.AgentID, Hidden: h.Hidden}
		}
		events = append(events, p.event(arena.EventReveal, "", open.No, body))
	}
	body := arena.RoundClosedBody{Seats: []arena.ClosedSeat{}}
	body.Correct = correct(open.Task)
	for _, a := range c.Answers {
		seat := arena.ClosedSeat{AgentID: a.AgentID, Points: a.Points, Outcome: a.Outcome, ElapsedMS: a.Elapsed.Milliseconds()}
		if a.Body != nil {
			seat.Answer = &a.Body.Answer
		}
		body.Seats = append(body.Seats, seat)
	}
	for _, s := range scoring.PlaceSeats(p.m.Settings.Format, c.Seats) {
		body.Standings = append(body.Standings, arena.StandingBrief{
			AgentID: s.AgentID, Points: s.Points, Place: s.Place, State: s.State,
		})
	}
	return append(events, p.event(arena.EventRoundClosed, "", open.No, body)), nil
}

// outcomeEvent is the seat_outcome of an answer, sealed when the match is.
func (p *play) outcomeEvent(a arena.Answer) (arena.Event, error) {
	e := p.event(arena.EventSeatOutcome, a.AgentID, a.Round, arena.SeatOutcomeBody{
		Outcome: a.Outcome, Reason: a.Reason, ElapsedMS: a.Elapsed.Milliseconds(), Attempts: a.Attempts, AnswerBody: a.Body,
	})
	if p.m.Settings.Visibility != arena.VisibilitySealed {
		return e, nil
	}
	return seal.Event(e)
}

// previous tells a seat how its last closed round went.
func (p *play) previous(agentID string, before int) *arena.PreviousRound {
	for _, a := range slices.Backward(p.answers) {
		if a.AgentID == agentID && a.Round < before && a.Judged {
			return &arena.PreviousRound{
				Outcome: a.Outcome, Correct: p.correct[a.Round], Points: a.Points, Measured: a.Elapsed,
			}
		}
	}
	return nil
}

// correct is the answer shown as the right one, "" when the task has none.
func correct(t arena.Task) string {
	if len(t.Answers) == 0 {
		return ""
	}
	return t.Answers[0]
}
