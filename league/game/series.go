package game

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// maxVoidTurns is how often in a row the network of the arena may break a turn
// before the match is void.
const maxVoidTurns = 5

// maxListed is how many legal moves the reason of an illegal one lists.
const maxListed = 12

// series plays the turn-based games of a match one after the other. The seats
// change places after each (docs/games.md). A round of the match is a turn of a
// game: only the players who act are asked.
type series struct {
	rules rules.Rules
	last  *lastState
}

func newSeries(r rules.Rules) series { return series{r, &lastState{}} }

// progress is the state of a series.
type progress struct {
	Game  int             `json:"game"`            // 0-based; the number of games when all are over
	Turn  int             `json:"turn"`            // of the game, 0-based
	State rules.State     `json:"state"`           // of the game
	Moved []bool          `json:"moved"`           // by seat: it has answered once
	Banks []time.Duration `json:"banks,omitempty"` // by seat
	Void  int             `json:"void,omitempty"`  // turns in a row that did not count

	Moves  []rules.Move        `json:"moves,omitempty"`  // of the game so far
	First  int                 `json:"first"`            // the player who had the first move of the game; -1: several had, or none yet
	Missed []arena.RoundResult `json:"missed,omitempty"` // by seat: why the first default move of the game was played for it
	Ended  []ended             `json:"ended,omitempty"`  // the games that are over
}

// ended is how a game of a series ended, by seat.
type ended struct {
	End    arena.GameEnd       `json:"end"`
	Order  []arena.TurnOrder   `json:"order"`
	Points []arena.Points      `json:"points"`
	Causes []arena.RoundResult `json:"causes"`
	Moves  []rules.Move        `json:"moves,omitempty"` // of the latest games, for their observations
}

// player returns the number of a seat in the game, and seat the reverse.
func (s progress) player(seat, n int) int { return (seat + s.Game) % n }
func (s progress) seat(player, n int) int { return ((player-s.Game)%n + n) % n }

// copy returns a copy that may change without s.
func (s progress) copy() progress {
	s.Moved, s.Banks, s.Moves = slices.Clone(s.Moved), slices.Clone(s.Banks), slices.Clone(s.Moves)
	s.Missed, s.Ended = slices.Clone(s.Missed), slices.Clone(s.Ended)
	return s
}

// progressOf returns the state of a position.
func (g series) progressOf(p Position) (s progress, err error) {
	if s, err = g.last.decode(p.State); err != nil {
		return s, err
	}
	if n := len(p.Seats); n == 0 || len(s.Moved) != n || len(s.Banks) != n {
		return s, fmt.Errorf("the state of a series has %d seats, the match %d", len(s.Moved), n)
	}
	return s, nil
}

func (s progress) encode() (State, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the state of a series: %w", err)
	}
	return raw, nil
}

// Init sets up the first game.
func (g series) Init(ctx context.Context, p Position) (State, error) {
	s := progress{Moved: make([]bool, len(p.Seats)), Banks: make([]time.Duration, len(p.Seats))}
	for i := range s.Banks {
		s.Banks[i] = p.Settings.Game.TimeBank
	}
	if err := g.setup(ctx, p, &s); err != nil {
		return nil, err
	}
	at, err := g.rules.Position(ctx, s.State)
	if err != nil {
		return nil, err
	}
	left := gone(p.Seats, nil)
	if present(p.Seats) > 1 && !g.someoneActs(at, s, p, left) {
		if err := g.play(ctx, p, &s, at, nil, left, &Result{}); err != nil {
			return nil, err
		}
	}
	return s.encode()
}

// setup begins game s.Game.
func (g series) setup(ctx context.Context, p Position, s *progress) (err error) {
	spec := p.Settings.Game
	deal := s.Game
	if spec.Duplicate && g.rules.Info().Deals {
		deal /= len(p.Seats)
	}
	s.Turn, s.First, s.Missed, s.Moves = 0, -1, nil, nil
	s.State, err = g.rules.Setup(ctx, rules.Start{Seed: dealSeed(p.Seed, deal), Players: len(p.Seats), Options: spec.Options})
	if err != nil {
		return fmt.Errorf("set up game %d: %w", s.Game+1, err)
	}
	return nil
}

// dealSeed returns the seed of a deal of a match. The seed of a deal discloses
// neither the seed of another deal nor the match's.
func dealSeed(seed uint64, deal int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "agora game %d/%d", seed, deal))
	return binary.BigEndian.Uint64(sum[:])
}

// Over reports whether all games are over, or only one agent is left. Then the
// match is void if one of those who left had not moved.
func (g series) Over(p Position) (End, error) {
	s, err := g.progressOf(p)
	if err != nil {
		return End{}, err
	}
	if s.Void >= maxVoidTurns {
		return End{Void: arena.VoidAgentsUnreachable}, nil
	}
	alone := present(p.Seats) < 2
	for i, seat := range p.Seats {
		if alone && seat.State == arena.SeatLeft && !s.Moved[i] {
			return End{Void: arena.VoidTooFewAgents}, nil
		}
	}
	if !alone && s.Game < p.Settings.Game.Games {
		return End{}, nil
	}
	return End{Over: true, Games: s.records(p)}, nil
}

// records returns how the games that are over ended for each seat.
func (s progress) records(p Position) (records []arena.GameRecord) {
	for _, e := range s.Ended {
		best := slices.Max(e.Points)
		winners := 0
		for _, points := range e.Points {
			if points == best {
				winners++
			}
		}
		for i, seat := range p.Seats {
			r := arena.GameRecord{AgentID: seat.AgentID, Order: e.Order[i], End: e.End, Cause: e.Causes[i]}
			r.Games, r.Points = 1, e.Points[i]
			switch {
			case e.Points[i] < best:
				r.Losses = 1
			case winners > 1:
				r.Draws = 1
			default:
				r.Wins = 1
			}
			records = append(records, r)
		}
	}
	return records
}

// Turn returns the observations of the players who act.
func (g series) Turn(ctx context.Context, p Position) (arena.Turn, error) {
	s, err := g.progressOf(p)
	if err != nil {
		return arena.Turn{}, err
	}
	at, err := g.rules.Position(ctx, s.State)
	if err != nil {
		return arena.Turn{}, err
	}
	info, spec, n := g.rules.Info(), p.Settings.Game, len(p.Seats)
	turn := arena.Turn{
		Description: fmt.Sprintf("%s, game %d of %d, turn %d", info.Title, s.Game+1, spec.Games, s.Turn+1), StopsClock: true,
	}
	for _, a := range at.ToAct {
		seat := s.seat(a.Player, n)
		if p.Seats[seat].State != arena.SeatActive {
			continue
		}
		observation, err := s.observation(p, a)
		if err != nil {
			return arena.Turn{}, err
		}
		prompt := arena.Prompt{
			Seat: p.Seats[seat].No, Description: s.intro(p, a.Player) + "\n\n" + a.Text, Options: a.Legal, OutputFormat: info.OutputFormat, Observation: observation, Bank: s.Banks[seat],
		}
		if spec.HideLegal {
			prompt.Options = nil
		}
		turn.Prompts = append(turn.Prompts, prompt)
		turn.SeatsToAct = append(turn.SeatsToAct, p.Seats[seat].AgentID)
	}
	if spec.TimeBank > 0 {
		for i, seat := range p.Seats {
			turn.TimeBanks = append(turn.TimeBanks, arena.TimeBank{AgentID: seat.AgentID, Seconds: s.Banks[i].Seconds()})
		}
	}
	turn.State, err = s.public(p, at, nil)
	return turn, err
}

// Closing returns Decides: Check has read the moves.
func (series) Closing(arena.Settings) Closing { return Decides }

// Check returns why the rules refuse a move, with the legal moves where they are
// few.
func (g series) Check(ctx context.Context, p Position, r Reply) (string, error) {
	s, err := g.progressOf(p)
	if err != nil {
		return "", err
	}
	player := s.player(r.Seat, len(p.Seats))
	_, err = g.parse(ctx, s, player, r)
	illegal, ok := errors.AsType[*rules.IllegalError](err)
	switch {
	case !ok:
		return "", err
	case p.Settings.Game.HideLegal:
		return illegal.Reason, nil
	}
	at, err := g.rules.Position(ctx, s.State)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(at.ToAct, func(a rules.ToAct) bool { return a.Player == player })
	if i < 0 || len(at.ToAct[i].Legal) == 0 || len(at.ToAct[i].Legal) > maxListed {
		return illegal.Reason, nil
	}
	return illegal.Reason + "; legal moves: " + strings.Join(at.ToAct[i].Legal, ", "), nil
}

// parse returns the move of a reply in its canonical form.
func (g series) parse(ctx context.Context, s progress, player int, r Reply) (string, error) {
	switch {
	case r.Outcome != arena.OutcomeAnswered:
		return "", rules.Illegalf("no answer")
	case arena.Forfeits(r.Reason):
		return "", rules.Illegalf("the answer exceeds a limit: %s", r.Reason)
	}
	return g.readMove(ctx, s.State, player, r.Text)
}

// Ask returns nil: the rules decide.
func (series) Ask(context.Context, Position, []Reply) (*Question, error) {
	return nil, nil //nolint:nilnil // no question: not an error
}

// Close plays the moves of a turn. A seat without a legal one plays the default
// move of the game, or loses the game if there is none.
func (g series) Close(ctx context.Context, p Position, replies []Reply, _ *arena.Verdict) (Result, error) {
	s, err := g.progressOf(p)
	if err != nil {
		return Result{}, err
	}
	at, err := g.rules.Position(ctx, s.State)
	if err != nil {
		return Result{}, err
	}
	result := Result{Scores: make([]Score, len(replies))}
	if slices.ContainsFunc(replies, func(r Reply) bool { return r.Outcome == arena.OutcomeVoid }) {
		s.Void++ // the same turn again
		if result.Closed.State, err = s.public(p, at, nil); err == nil {
			result.State, err = s.encode()
		}
		return result, err
	}
	s.Void = 0
	s.spend(p, replies)
	if err := g.play(ctx, p, &s, at, replies, gone(p.Seats, replies), &result); err != nil {
		return Result{}, err
	}
	result.State, err = s.encode()
	return result, err
}

// play plays a turn, and the following turns in which only agents that have left
// must act, until the match is over or an agent must be asked.
func (g series) play(ctx context.Context, p Position, s *progress, at rules.Position, replies []Reply, gone map[int]bool, result *Result) error {
	for {
		moves, forfeits, err := g.moves(ctx, p, s, at, replies, gone, &result.Closed)
		if err != nil {
			return err
		}
		replies = nil // of the first turn
		if s.Turn == 0 && len(at.ToAct) == 1 {
			s.First = at.ToAct[0].Player
		}
		s.Moves = append(s.Moves, moves...)
		var points []arena.Points
		if len(forfeits) > 0 {
			points = forfeited(len(p.Seats), forfeits)
		} else if s.State, err = g.rules.Move(ctx, s.State, moves); err != nil {
			return fmt.Errorf("play %v: %w", moves, err)
		} else if at, err = g.rules.Position(ctx, s.State); err != nil {
			return err
		} else if at.Over() {
			points = at.Points
		}
		s.Turn++
		if points == nil && s.Turn >= g.rules.Info().MaxTurns {
			return fmt.Errorf("the game %s is not over after %d turns", g.rules.Info().Name, s.Turn)
		}
		if result.Closed.State, err = s.public(p, at, points); err != nil {
			return err
		}
		if points != nil {
			if err := g.next(ctx, p, s, points, forfeits, gone, result); err != nil || s.Game >= p.Settings.Game.Games {
				return err
			}
			if at, err = g.rules.Position(ctx, s.State); err != nil {
				return err
			}
		}
		if g.someoneActs(at, *s, p, gone) {
			return nil
		}
	}
}

// gone returns the seats that have left, with those that leave in this round.
func gone(seats []arena.Seat, replies []Reply) map[int]bool {
	left := map[int]bool{}
	for i, seat := range seats {
		if seat.State != arena.SeatActive {
			left[i] = true
		}
	}
	for _, r := range replies {
		if r.Outcome == arena.OutcomeUnavailable {
			left[r.Seat] = true
		}
	}
	return left
}

// spend records which players have moved, and subtracts from the time banks what the
// replies took beyond the time limit of a move.
func (s *progress) spend(p Position, replies []Reply) {
	for _, r := range replies {
		s.Moved[r.Seat] = s.Moved[r.Seat] || r.Outcome == arena.OutcomeAnswered
		s.Banks[r.Seat] -= min(max(r.Elapsed-p.Settings.TimeLimit, 0), s.Banks[r.Seat])
	}
}

// moves returns the moves of the players who act, and the players who lose the game
// because they have no move. It adds both to shown, and to s why a player has no move.
func (g series) moves(ctx context.Context, p Position, s *progress, at rules.Position, replies []Reply, gone map[int]bool, shown *arena.ClosedGame) (moves []rules.Move, forfeits []int, err error) {
	n := len(p.Seats)
	for _, a := range at.ToAct {
		seat := s.seat(a.Player, n)
		move, legal, cause := a.Default, false, arena.RoundResult(arena.OutcomeUnavailable)
		if n == 2 && gone[seat] {
			move = "" // the other player need not play on alone
		}
		if i := slices.IndexFunc(replies, func(r Reply) bool { return r.Seat == seat }); i >= 0 && !gone[seat] {
			cause = causeOf(replies[i])
			parsed, err := g.parse(ctx, *s, a.Player, replies[i])
			if _, illegal := errors.AsType[*rules.IllegalError](err); err != nil && !illegal {
				return nil, nil, err
			}
			if err == nil {
				move, legal = parsed, true
			}
		}
		if !legal {
			s.miss(seat, n, cause, move == "")
		}
		if move == "" {
			forfeits = append(forfeits, a.Player)
		}
		moves = append(moves, rules.Move{Player: a.Player, Move: move})
		shown.Moves = append(shown.Moves, arena.PlayedMove{AgentID: p.Seats[seat].AgentID, Move: move, Legal: legal})
	}
	return moves, forfeits, nil
}

// causeOf returns why a reply has no legal move.
func causeOf(r Reply) arena.RoundResult {
	switch {
	case r.Outcome != arena.OutcomeAnswered:
		return arena.RoundResult(r.Outcome)
	case arena.Forfeits(r.Reason):
		return arena.RoundResult(r.Reason)
	}
	return arena.ResultIllegal
}

// miss notes why a seat has no move: the first time, unless it loses the game by
// it.
func (s *progress) miss(seat, n int, cause arena.RoundResult, forfeits bool) {
	if s.Missed == nil {
		s.Missed = make([]arena.RoundResult, n)
	}
	if s.Missed[seat] == "" || forfeits {
		s.Missed[seat] = cause
	}
}

// end returns how the game under way ends. The seats that did not forfeit a
// forfeited game have no cause.
func (s progress) end(n int, points []arena.Points, forfeits []int) ended {
	e := ended{Moves: s.Moves, End: arena.GamePlayedOut, Order: make([]arena.TurnOrder, n), Points: make([]arena.Points, n), Causes: make([]arena.RoundResult, n)}
	switch {
	case len(forfeits) > 0:
		e.End = arena.GameForfeit
	case s.Missed != nil:
		e.End = arena.GameDefaultMoves
	}
	for seat := range n {
		player := s.player(seat, n)
		e.Points[seat] = points[player]
		if s.First == player {
			e.Order[seat] = arena.MovedFirst
		} else if s.First >= 0 {
			e.Order[seat] = arena.MovedLater
		}
		if s.Missed != nil && (len(forfeits) == 0 || slices.Contains(forfeits, player)) {
			e.Causes[seat] = s.Missed[seat]
		}
	}
	return e
}

// forfeited returns the points of a game that some players lose without a move:
// each of the others wins.
func forfeited(n int, players []int) []arena.Points {
	points := make([]arena.Points, n)
	for i := range points {
		if !slices.Contains(players, i) {
			points[i] = arena.OnePoint
		}
	}
	return points
}

// next awards the points of a game that is over and begins the next one. When an
// opponent of a duel has left, it forfeits the games that are left.
func (g series) next(ctx context.Context, p Position, s *progress, points []arena.Points, forfeits []int, gone map[int]bool, result *Result) error {
	n := len(p.Seats)
	if len(points) != n {
		return fmt.Errorf("the game %s gives points to %d of %d players", g.rules.Info().Name, len(points), n)
	}
	if result.Awards == nil {
		result.Awards = make([]arena.Points, n)
	}
	award := func(e ended) {
		for seat := range p.Seats {
			result.Awards[seat] += e.Points[seat]
		}
		s.Ended = append(s.Ended, e)
		s.forget()
		s.Game++
	}
	award(s.end(n, points, forfeits))
	for n == 2 && len(gone) == 1 && s.Game < p.Settings.Game.Games {
		s.First, s.Missed, s.Moves = -1, nil, nil
		for seat := range gone {
			s.miss(seat, n, arena.RoundResult(arena.OutcomeUnavailable), true)
			forfeits = []int{s.player(seat, n)}
		}
		award(s.end(n, forfeited(n, forfeits), forfeits))
	}
	if s.Game >= p.Settings.Game.Games {
		s.State, s.Turn = nil, 0
		return nil
	}
	return g.setup(ctx, p, s)
}

// someoneActs reports whether a player acts whose agent is present.
func (g series) someoneActs(at rules.Position, s progress, p Position, gone map[int]bool) bool {
	return slices.ContainsFunc(at.ToAct, func(a rules.ToAct) bool { return !gone[s.seat(a.Player, len(p.Seats))] })
}
