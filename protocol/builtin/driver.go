package builtin

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/players"
)

// Options are the parts of a Driver. All are needed.
type Options struct {
	// Played returns what the reply to a task of a match follows from beside the task:
	// the settings, and the seed, which is secret until the match is over.
	Played func(ctx context.Context, matchID string) (s arena.Settings, seed uint64, err error)
	Now    func() time.Time
	Logger *slog.Logger
}

// Driver answers for built-in opponents. It is safe for concurrent use.
type Driver struct {
	o     Options
	kinds map[string]arena.BuiltInKind // by the id of the agent
	slots chan struct{}                // one for each reply that may be computed now
}

// New returns a Driver. It computes replies on half of the processors, at least on one.
func New(o Options) *Driver {
	d := &Driver{o: o, kinds: map[string]arena.BuiltInKind{}, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	for _, k := range arena.BuiltInKinds() {
		d.kinds[k.Agent(time.Time{}).ID] = k
	}
	return d
}

// Probe finds every opponent healthy: it is part of the program that asks.
func (d *Driver) Probe(context.Context, arena.Agent) arena.Health {
	return arena.BuiltInHealth(d.o.Now())
}

// Prepare returns a function that computes the reply.
func (d *Driver) Prepare(_ context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error) {
	k, known := d.kinds[a.Seat.AgentID]
	if !known {
		return nil, fmt.Errorf("agent %s is no built-in opponent", a.Seat.AgentID)
	}
	return func(ctx context.Context) arena.Reply {
		reply := arena.Reply{SentAt: d.o.Now()}
		ctx, cancel := context.WithTimeout(ctx, a.TimeLimit)
		defer cancel()
		text, err := d.answer(ctx, k, a)
		reply.Elapsed = d.o.Now().Sub(reply.SentAt)
		switch {
		case err == nil:
			reply.Outcome, reply.Answer = arena.OutcomeAnswered, &arena.AnswerBody{Answer: text}
		case ctx.Err() != nil:
			reply.Outcome, reply.Reason, reply.Detail = arena.OutcomeTimeout, "timeout", "the arena had too many replies to compute"
		default:
			d.o.Logger.ErrorContext(ctx, "built-in opponent has no answer", "match_id", a.MatchID, "round", a.Round, "agent_id", a.Seat.AgentID, "error", err)
			reply.Outcome, reply.Reason, reply.Detail = arena.OutcomeError, "built_in", "the opponent that comes with the program has no answer"
		}
		return reply
	}, nil
}

// answer computes the reply to a task when a slot is free.
func (d *Driver) answer(ctx context.Context, k arena.BuiltInKind, a arena.Attempt) (string, error) {
	s, seed, err := d.o.Played(ctx, a.MatchID)
	if err != nil {
		return "", fmt.Errorf("read the match: %w", err)
	}
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if k.Fits == arena.BuiltInQuestions {
		return players.Answer(k.Known, s.Judge, a.Task), nil
	}
	if s.Game == nil {
		return "", fmt.Errorf("%s plays games, and the match asks questions", k.Name)
	}
	// Opponents do not know the seed and so cannot know the dice. A reply that is
	// computed again after a take-over is the same.
	text, err := players.Move(k.Name, s.Game.Name, a.Task.Observation, players.Dice(strconv.FormatUint(seed, 10), a.MatchID, a.Seat.AgentID, strconv.Itoa(a.Round)))
	if err != nil {
		return "", fmt.Errorf("choose a move: %w", err)
	}
	return text, nil
}
