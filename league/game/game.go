package game

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// State is what a game keeps from one round to the next, as JSON. A game whose
// first state is nil is stateless.
type State = json.RawMessage

// Game is a deterministic fold over the rounds of a match. Implementations keep
// nothing between two calls. ctx bounds code that runs outside this process.
type Game interface {
	// Init returns the state in which the first round opens.
	Init(ctx context.Context, p Position) (State, error)
	// Over returns whether the match ends instead of opening round p.Round.
	Over(p Position) (End, error)
	// Turn returns what a round asks of the seats. The engine stores it when the
	// round opens, and a take-over uses the stored one.
	Turn(ctx context.Context, p Position) (arena.Turn, error)
	// Check returns why a reply with an answer is refused, or "". The seat is asked
	// once more for a refused one.
	Check(ctx context.Context, p Position, r Reply) (refused string, err error)
	// Ask returns what an external judge must be asked about the replies, or nil.
	Ask(ctx context.Context, p Position, replies []Reply) (*Question, error)
	// Close returns the result of a round. v is the verdict on the Question that
	// Ask returned. If there is none, the round is void.
	Close(ctx context.Context, p Position, replies []Reply, v *arena.Verdict) (Result, error)
	// Closing returns what closing a round takes.
	Closing(s arena.Settings) Closing
}

// Closing states what closing a round requires once every seat has an outcome.
type Closing int

// The ways to close a round.
const (
	// Decides: the rules decide at once, and on nothing that Check has not read.
	Decides Closing = iota
	// Evaluates: this node runs replies or compares them with right answers, so
	// that a reply could break it.
	Evaluates
	// Asks: a judge is asked, which may take minutes.
	Asks
)

// Library finds the rules of turn-based games.
type Library interface {
	// Rules returns the rules that a match names. invalid: there are none.
	Rules(ctx context.Context, spec arena.GameSpec) (rules.Rules, error)
	// Pin returns the game of a match that is created now, with the version of its
	// rules and the hash of its script.
	Pin(ctx context.Context, spec arena.GameSpec) (arena.GameSpec, error)
}

// For returns the game of a match with these settings.
func For(ctx context.Context, l Library, s arena.Settings) (Game, error) {
	switch {
	case s.Game != nil:
		r, err := l.Rules(ctx, *s.Game)
		if err != nil {
			return nil, fmt.Errorf("rules of the game %s: %w", s.Game.Name, err)
		}
		if v := r.Info().Version; s.Game.Version != "" && s.Game.Version != v {
			return nil, fmt.Errorf("the game %s has version %s now, the match has %s", s.Game.Name, v, s.Game.Version)
		}
		return newSeries(&remembering{Rules: r}), nil
	case s.Debate != nil:
		return debate{}, nil
	case s.Format == arena.FormatElimination:
		return elimination{}, nil
	default:
		return quiz{}, nil
	}
}

// Pin returns the settings of a match that is created now, with the version of
// the rules of its game.
func Pin(ctx context.Context, l Library, s arena.Settings) (arena.Settings, error) {
	if s.Game == nil {
		return s, nil
	}
	pinned, err := l.Pin(ctx, *s.Game)
	if err != nil {
		return s, fmt.Errorf("pin the game %s: %w", s.Game.Name, err)
	}
	s.Game = &pinned
	return s, nil
}

// TaskUse is how the rounds of a match use the tasks of its league.
type TaskUse int

// The uses of tasks.
const (
	TaskEachRound TaskUse = iota
	TaskOfMatch           // all rounds put the task of the first one
	TaskNone              // rounds put positions of a game
)

// UseOfTasks returns how a match with these settings uses tasks.
func UseOfTasks(s arena.Settings) TaskUse {
	switch {
	case s.Game != nil:
		return TaskNone
	case s.Debate != nil:
		return TaskOfMatch
	default:
		return TaskEachRound
	}
}

// End states whether a match continues.
type End struct {
	Over bool
	Void arena.VoidCode // why the match is void; "": it is not
	// Games are the games of a match that is over, if it is a series: each ended in
	// one way for every seat. Their league is not set.
	Games []arena.GameRecord
}

// Position is a match as its game sees it when a round opens. It holds only
// what is the same whenever the match is played again from its log.
type Position struct {
	Settings arena.Settings
	Seed     uint64
	Seats    []arena.Seat // number, agent, owner, name, state and skipped rounds only
	Round    int          // 1-based
	Task     arena.Task   // of the round; none in Init and Over
	State    State        // none in Init
}

// NewPosition returns the position of a match when a round opened, with the
// round's task and the state before it. A seat that went out or left during that
// round or later was active.
func NewPosition(m arena.Match, r arena.Round, s State) Position {
	p := Position{
		Settings: m.Settings, Seed: m.Seed, Seats: make([]arena.Seat, len(m.Seats)), Round: r.No, Task: r.Task, State: s,
	}
	for i := range m.Seats {
		seat := &m.Seats[i]
		p.Seats[i] = arena.Seat{
			No: seat.No, AgentID: seat.AgentID, OwnerID: seat.OwnerID, Name: seat.Name, State: seat.State, OutRound: seat.OutRound,
			SkippedRounds: seat.SkippedRounds,
		}
		if seat.OutRound >= r.No {
			p.Seats[i].State, p.Seats[i].OutRound = arena.SeatActive, 0
		}
	}
	return p
}

// Reply is the outcome of one seat's turn.
type Reply struct {
	Seat    int // index in Position.Seats
	Outcome arena.Outcome
	Reason  string
	Text    string        // the answer; "" if there is none
	Elapsed time.Duration // from request to reply
}

// Replies returns the replies of a round in the order of the seats. answer
// returns the stored answer of an agent in the round. The replies of a round that
// the network of the arena broke have no text.
func (p Position) Replies(answer func(agentID string) (arena.Answer, bool)) []Reply {
	replies := make([]Reply, 0, len(p.Seats))
	for i := range p.Seats {
		a, ok := answer(p.Seats[i].AgentID)
		if !ok {
			continue
		}
		r := Reply{Seat: i, Outcome: a.Outcome, Reason: a.Reason, Elapsed: a.Elapsed}
		if a.Body != nil && a.Reason != arena.ReasonCutOff {
			r.Text = a.Body.Answer
		}
		if a.OverTokens && p.Settings.MaxTokensPolicy == arena.ZeroPointsTokens {
			r.Reason = arena.ReasonTokenLimit
		}
		replies = append(replies, r)
	}
	return replies
}

// Question is what an external judge must be asked before a round can close.
type Question struct {
	Answers []arena.JudgedAnswer // in the order of the seats
	Turns   int                  // speeches in each answer; 0: an answer is one text
	Window  time.Duration        // how long spectators vote on it; 0: they do not
}

// Result is a closed round.
type Result struct {
	State   State         // in which the next round opens
	Verdict arena.Verdict // Judge is "" if nothing was judged
	Scores  []Score       // of the replies, in their order
	// Awards are points in addition to the replies' points, by index in
	// Position.Seats; nil means no awards. A seat that did not act may get some.
	Awards []arena.Points
	Closed arena.ClosedGame // what spectators see
}

// Score is the result of one seat's reply.
type Score struct {
	Points arena.Points
	Reason string // replaces the reply's reason unless empty
	Void   bool   // the round does not count for the seat
	Out    bool   // the seat is eliminated
}
