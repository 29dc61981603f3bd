package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/scoring"
)

// Driver sends tasks to agents of one protocol, as in a match.
type Driver interface {
	Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error)
}

// Protocol holds the drivers of one protocol. All but Driver are optional: a
// fault without its driver does not exist in the protocol.
type Protocol struct {
	Driver Driver
	// Expired is the same driver with credentials that have expired, and Stale
	// describes them: "a token that has expired".
	Expired Driver
	Stale   string
	// Trickling is the same driver over a network that passes few bytes at a time.
	// It is not used for agents without an endpoint.
	Trickling Driver
	// Silent reports that agents leave messages unanswered that they do not trust.
	Silent bool
}

// Options are the parts of a Stage. All are needed.
type Options struct {
	Protocols map[string]Protocol // by name
	Seed      func() uint64
	Now       func() time.Time // must carry a monotonic reading
	Limit     time.Duration    // of a whole rehearsal
}

// Stage plays rehearsals. It is safe for concurrent use.
type Stage struct{ o Options }

// New returns a Stage.
func New(o Options) *Stage {
	return &Stage{o}
}

// MaxRounds is the highest number of rounds of a rehearsal.
const MaxRounds = 10

// play is one running rehearsal.
type play struct {
	*Stage
	protocol Protocol
	r        arena.Rehearsal
	matchID  string
	seed     uint64
	rounds   []arena.RehearsedRound
	deadline time.Time
	previous *arena.PreviousRound
	receipt  *arena.Receipt // for the answer of the current round; nil without one
}

// Play plays the rehearsal and returns its report. It ends soon after the
// stage's limit, and at once when the context ends; the rounds left then are not
// played. It returns an error if nothing could be played: with code invalid for
// an unknown protocol, else for a failure of the arena.
func (s *Stage) Play(ctx context.Context, r arena.Rehearsal) (arena.RehearsalReport, error) {
	protocol, ok := s.o.Protocols[r.Agent.Protocol]
	if !ok {
		return arena.RehearsalReport{}, arena.Invalid("protocol", "rehearsals have no protocol %q", r.Agent.Protocol)
	}
	start := s.o.Now()
	p := &play{
		Stage: s, protocol: protocol, r: r, seed: s.o.Seed(), rounds: plan(r), deadline: start.Add(s.o.Limit),
		matchID: arena.NewID(arena.MatchPrefix, start),
	}
	for i := range p.rounds {
		if err := p.round(ctx, &p.rounds[i]); err != nil {
			return arena.RehearsalReport{}, err
		}
	}
	return arena.RehearsalReport{StartedAt: start, Elapsed: s.o.Now().Sub(start), Rounds: p.rounds}, nil
}

// plan returns the rounds with their faults; the first has none.
func plan(r arena.Rehearsal) []arena.RehearsedRound {
	n := r.Rounds
	if n == 0 {
		n = 1 + len(r.Faults)
	}
	rounds := make([]arena.RehearsedRound, min(n, MaxRounds))
	for i := range rounds {
		rounds[i].No = i + 1
		if i > 0 && len(r.Faults) > 0 {
			rounds[i].Fault = r.Faults[(i-1)%len(r.Faults)]
		}
	}
	return rounds
}

// timeOver explains a round for which no time was left.
const timeOver = "the time of the rehearsal was over"

// leastTime is the shortest time limit of a round.
const leastTime = time.Second

// share is the time limit of the next request: the league's, or an equal part
// of what is left of the rehearsal's time.
func (p *play) share(from int) time.Duration {
	requests := 0
	for _, r := range p.rounds[from:] {
		requests++
		if r.Fault == arena.FaultDuplicateDelivery {
			requests++
		}
	}
	left := p.deadline.Sub(p.o.Now()) / time.Duration(requests)
	return min(p.r.League.Settings.TimeLimit, left).Truncate(time.Millisecond)
}

// round plays one round and fills it in.
func (p *play) round(ctx context.Context, r *arena.RehearsedRound) error {
	task, err := p.task(p.r.League, p.seed, r.No)
	if err != nil {
		return err
	}
	task.ID = fmt.Sprintf("%s%s_%d", arena.TaskPrefix, p.matchID, r.No)
	r.Task, r.Reference, r.TimeLimit = task, task.Correct(), p.share(r.No-1)
	if r.TimeLimit < leastTime {
		r.Verdict, r.Explanation = arena.RehearsalNotPlayed, timeOver
		return nil
	}
	begin := p.o.Now()
	if err := p.act(ctx, r); err != nil {
		return err
	}
	if r.Elapsed == 0 {
		r.Elapsed = p.o.Now().Sub(begin)
	}
	if r.Outcome == "" { // nothing was sent
		return nil
	}
	p.previous = &arena.PreviousRound{Outcome: r.Outcome, Correct: task.Correct(), Points: r.Points, Measured: r.Elapsed, Receipt: p.receipt}
	return nil
}

// attempt makes the request number no of a round, not yet sent.
func (p *play) attempt(ctx context.Context, d Driver, r *arena.RehearsedRound, no int, limit time.Duration) (func(context.Context) arena.Reply, error) {
	s := p.r.League.Settings
	send, err := d.Prepare(ctx, arena.Attempt{
		MatchID: p.matchID, League: p.r.League.Slug, Round: r.No, TotalRounds: len(p.rounds), Number: no, Task: r.Task,
		TimeLimit: limit, RoundLimit: r.TimeLimit, MaxTokens: s.MaxTokens, MaxCostUSD: s.MaxCostUSD, Rules: slices.Clone(s.Rules), Opponents: 1,
		Deadline: p.o.Now().Add(r.TimeLimit), Previous: p.previous,
		Seat: arena.Seat{
			AgentID: p.r.Agent.ID, Name: p.r.Agent.Name, OwnerID: p.r.Agent.OwnerID, Protocol: p.r.Agent.Protocol,
			Endpoint: p.r.Agent.Endpoint, PublicKey: p.r.Agent.PublicKey, Version: p.r.Agent.Version,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("prepare round %d of the rehearsal of %s: %w", r.No, p.r.Agent.ID, err)
	}
	return send, nil
}

// ask sends one request and records its delivery.
func (p *play) ask(ctx context.Context, r *arena.RehearsedRound, no int, send func(context.Context) arena.Reply) arena.Reply {
	reply := send(ctx)
	sent := reply.SentAt
	if sent.IsZero() {
		sent = p.o.Now()
	}
	r.Attempts = append(r.Attempts, arena.Delivery{
		AgentID: p.r.Agent.ID, MatchID: p.matchID, League: p.r.League.Slug, Round: r.No, TaskID: r.Task.ID, Attempt: no,
		Status: reply.Status, Outcome: reply.Outcome, Reason: reply.Reason, Detail: reply.Detail,
		SentAt: sent, Elapsed: reply.Elapsed, Request: reply.Request, Response: reply.Head,
	})
	return reply
}

// askTwice plays the round of a seat as a match does: it asks once more within
// the same time limit where the outcome table allows it (docs/rules.md, section 3).
func (p *play) askTwice(ctx context.Context, r *arena.RehearsedRound, d Driver) (arena.Reply, error) {
	send, err := p.attempt(ctx, d, r, 1, r.TimeLimit)
	if err != nil {
		return arena.Reply{}, err
	}
	reply := p.ask(ctx, r, 1, send)
	left := r.TimeLimit - reply.Elapsed
	if !reply.Retry || reply.Unreached && r.No == 1 || left <= 0 {
		return reply, nil
	}
	if send, err = p.attempt(ctx, d, r, 2, left); err != nil {
		return arena.Reply{}, err
	}
	second := p.ask(ctx, r, 2, send)
	second.Elapsed += reply.Elapsed
	return second, nil
}

// settle stores the result of a reply in the round.
func (p *play) settle(r *arena.RehearsedRound, reply arena.Reply) {
	r.Outcome, r.Elapsed, p.receipt = reply.Outcome, reply.Elapsed, nil
	if reply.Unreached && r.No == 1 {
		r.Outcome = arena.OutcomeUnavailable
	}
	if reply.Answer != nil {
		r.Answer, r.Tokens, r.Declared = &reply.Answer.Answer, reply.Answer.SpentTokens(), reply.Answer.Tokens != nil
		r.Points = scoring.Judge(judgeOf(p.r.League), r.Task, reply.Answer.Answer)
		if receipt, err := record.ReceiptOf(*reply.Answer, p.o.Now()); err == nil { // a decoded answer always encodes
			p.receipt = &receipt
		}
	}
}
