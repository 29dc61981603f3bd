package game

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/scoring"
)

// Verify plays the games of a record again, from the seed and the agents' answers,
// and compares moves, positions, points and places. It returns how many rounds it
// played: 0 if the match asked questions, fewer than the record has if answers were
// erased. The error is a *record.FaultError that names the first difference. The
// parts of the record must agree: see record.Verify.
func Verify(ctx context.Context, l Library, r record.Record) (rounds int, err error) {
	spec := r.Match.GameSpec()
	if spec == nil {
		return 0, nil
	}
	found, err := l.Rules(ctx, *spec)
	if err != nil {
		return 0, fault("/record/match/game", "cannot be played again: %v", err)
	}
	if err := playable(r, *spec, found.Info()); err != nil {
		return 0, err
	}
	v := verifier{r: r, g: newSeries(found), points: make([]arena.Points, len(r.Seats))}
	if err := v.readLog(); err != nil {
		return 0, err
	}
	return v.play(ctx, v.match(spec))
}

// maxGames is the highest number of games of a match.
const maxGames = 20

// playable returns a fault if a game cannot be played as a record says.
func playable(r record.Record, spec arena.GameSpec, info rules.Info) error {
	wrong := info.Check("options", spec.Options)
	switch n := len(r.Seats); {
	case info.Version != spec.Version:
		return fault("/record/match/game_version", "is %q; the rules of %s at hand have the version %q", spec.Version, spec.Name, info.Version)
	case n < info.MinPlayers || n > info.MaxPlayers:
		return fault("/record/seats", "there are %d seats; %s has %d to %d players", n, spec.Name, info.MinPlayers, info.MaxPlayers)
	case spec.Games < 1 || spec.Games > maxGames:
		return fault("/record/match/series/games", "must be between 1 and %d", maxGames)
	case len(wrong) > 0:
		return fault("/record/match/options", "%s %s", wrong[0].Field, wrong[0].Message)
	}
	return nil
}

func fault(pointer, format string, args ...any) error {
	return &record.FaultError{Pointer: pointer, Reason: fmt.Sprintf(format, args...)}
}

// verifier plays a record again.
type verifier struct {
	r       record.Record
	g       series
	started map[int]roundEvent
	closed  map[int]roundEvent
	points  []arena.Points // by seat, so far
}

// roundEvent is what is compared of the event that opens or closes a round.
type roundEvent struct {
	Type       arena.EventType `json:"type"`
	Round      int             `json:"round"`
	SeatsToAct []string        `json:"seats_to_act"`
	State      record.Text     `json:"state"`
	Moves      []playedMove    `json:"moves"`
	Seats      []struct {
		AgentID    string `json:"agent_id"`
		OverTokens bool   `json:"over_max_tokens"`
	} `json:"seats"`
	Standings []struct {
		AgentID string       `json:"agent_id"`
		Points  record.Milli `json:"points"`
	} `json:"standings"`
	at string
}

// playedMove is arena.PlayedMove, to be read.
type playedMove struct {
	AgentID string      `json:"agent_id"`
	Move    record.Text `json:"move"`
	Legal   bool        `json:"legal"`
}

func (v *verifier) readLog() error {
	v.started, v.closed = map[int]roundEvent{}, map[int]roundEvent{}
	for i, raw := range v.r.Log {
		var kind struct {
			Type arena.EventType `json:"type"`
		}
		e := roundEvent{at: fmt.Sprintf("/record/log/%d", i)}
		err := json.Unmarshal(raw, &kind)
		into := v.started
		switch kind.Type {
		case arena.EventRoundStarted:
		case arena.EventRoundClosed:
			into = v.closed
		default:
			continue
		}
		if err == nil {
			err = json.Unmarshal(raw, &e)
		}
		if err != nil {
			return fault(e.at, "is not what %s has: %v", kind.Type, err)
		}
		into[e.Round] = e
	}
	return nil
}

// match returns the match as far as games look at it. Time banks decide nothing
// but deadlines.
func (v *verifier) match(spec *arena.GameSpec) arena.Match {
	m := arena.Match{ID: v.r.Match.MatchID}
	_, _ = fmt.Sscan(v.r.Match.Seed, &m.Seed) // record.Verify has read it
	again := *spec
	again.TimeBank = 0
	m.Settings = arena.Settings{Game: &again, Format: v.r.Match.Format, ScoreMode: v.r.Match.ScoreMode}
	if v.r.Match.Series.ZeroPointsOverTokens {
		m.Settings.MaxTokensPolicy = arena.ZeroPointsTokens
	}
	for i, s := range v.r.Seats {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: s.AgentID, State: s.State, OutRound: s.OutRound, Points: arena.Points(s.Points)})
	}
	return m
}

func (v *verifier) play(ctx context.Context, m arena.Match) (rounds int, err error) {
	state, err := v.g.Init(ctx, NewPosition(m, arena.Round{No: 1}, nil))
	if err != nil {
		return 0, fault("/record/match", "the first game cannot be set up: %v", err)
	}
	for i, r := range v.r.Rounds {
		p := NewPosition(m, arena.Round{No: r.Round}, state)
		if end, err := v.g.Over(p); err != nil || end.Over || end.Void != "" {
			return i, fault(fmt.Sprintf("/record/rounds/%d", i), "the games were over before round %d", r.Round)
		}
		replies, complete := v.replies(p, r)
		if !complete {
			return i, nil
		}
		if state, err = v.round(ctx, p, i, replies); err != nil {
			return i, err
		}
	}
	n := len(v.r.Rounds)
	if end, err := v.g.Over(NewPosition(m, arena.Round{No: n + 1}, state)); err != nil || !end.Over {
		return n, fault("/record/rounds", "the games are not over after round %d: rounds are missing", n)
	}
	return n, v.seats(m)
}

// replies returns the replies of a round. complete is false if one of them was
// erased.
func (v *verifier) replies(p Position, r record.Round) (replies []Reply, complete bool) {
	complete = true
	replies = p.Replies(func(agentID string) (arena.Answer, bool) {
		i := slices.IndexFunc(r.Answers, func(a record.Answer) bool { return a.AgentID == agentID })
		if i < 0 {
			return arena.Answer{}, false
		}
		from := r.Answers[i]
		a := arena.Answer{Outcome: from.Outcome, Reason: from.Reason}
		for _, s := range v.closed[r.Round].Seats {
			a.OverTokens = a.OverTokens || s.AgentID == agentID && s.OverTokens
		}
		if from.Answer.Erased() {
			complete = false
		} else if err := json.Unmarshal(from.Answer.Value, &a.Body); err != nil {
			a.Body = nil // record.Verify has read it
		}
		return a, true
	})
	return replies, complete
}

// round plays round i (0-based) and returns the state after it.
func (v *verifier) round(ctx context.Context, p Position, i int, replies []Reply) (State, error) {
	r := v.r.Rounds[i]
	at, started, closed := fmt.Sprintf("/record/rounds/%d", i), v.started[r.Round], v.closed[r.Round]
	turn, err := v.g.Turn(ctx, p)
	if err != nil {
		return nil, fault(at, "round %d cannot be played again: %v", r.Round, err)
	}
	switch {
	case !slices.Equal(turn.SeatsToAct, started.SeatsToAct):
		return nil, fault(started.at+"/seats_to_act", "are not the players who move in round %d: %v", r.Round, turn.SeatsToAct)
	case !sameState(turn.State, started.State):
		return nil, fault(started.at+"/state", "is not the position that the moves before round %d lead to", r.Round)
	case len(replies) != len(r.Answers):
		return nil, fault(at+"/answers", "there are %d answers, and %d seats act in round %d", len(r.Answers), len(replies), r.Round)
	}
	result, err := v.g.Close(ctx, p, replies, nil)
	if err != nil {
		return nil, fault(at, "round %d cannot be played again: %v", r.Round, err)
	}
	if err := v.moves(closed, result.Closed); err != nil {
		return nil, err
	}
	if !sameState(result.Closed.State, closed.State) {
		return nil, fault(closed.at+"/state", "is not the position that the moves of round %d lead to", r.Round)
	}
	for j, reply := range replies {
		id := p.Seats[reply.Seat].AgentID
		k := slices.IndexFunc(r.Answers, func(a record.Answer) bool { return a.AgentID == id })
		here := fmt.Sprintf("%s/answers/%d", at, k)
		score := result.Scores[j].Points
		switch a := r.Answers[k]; {
		case arena.Points(a.Points) != score:
			return nil, fault(here+"/points", "are %s, and the rules give %s", a.Points, record.Milli(score))
		case a.Reason == arena.ReasonIllegalMove && result.Closed.Move(id) != nil:
			return nil, fault(here+"/reason", "is %s, and the rules accept the move of %s in round %d", a.Reason, id, r.Round)
		}
		v.points[reply.Seat] += score
	}
	for seat, award := range result.Awards {
		v.points[seat] += award
	}
	for j, s := range closed.Standings {
		seat := slices.IndexFunc(p.Seats, func(seat arena.Seat) bool { return seat.AgentID == s.AgentID })
		if seat < 0 || arena.Points(s.Points) != v.points[seat] {
			return nil, fault(fmt.Sprintf("%s/standings/%d/points", closed.at, j), "are not what the rules give after round %d", r.Round)
		}
	}
	return result.State, nil
}

// moves compares the moves of a round.
func (v *verifier) moves(e roundEvent, played arena.ClosedGame) error {
	if len(e.Moves) != len(played.Moves) {
		return fault(e.at+"/moves", "there are %d moves in round %d, and the rules have %d", len(e.Moves), e.Round, len(played.Moves))
	}
	for i, shown := range e.Moves {
		at, want := fmt.Sprintf("%s/moves/%d", e.at, i), played.Moves[i]
		text, err := json.Marshal(want.Move)
		if err != nil {
			return fmt.Errorf("encode a move: %w", err)
		}
		switch {
		case shown.AgentID != want.AgentID:
			return fault(at+"/agent_id", "agent %s does not move here in round %d, but %s", shown.AgentID, e.Round, want.AgentID)
		case shown.Legal != want.Legal:
			return fault(at+"/legal", "is %t, and the rules say %t", shown.Legal, want.Legal)
		case !shown.Move.Erased() && !same(text, shown.Move.Value):
			return fault(at+"/move", "the answer of %s in round %d is the move %q", want.AgentID, e.Round, want.Move)
		}
	}
	return nil
}

// seats compares the end of the match.
func (v *verifier) seats(m arena.Match) error {
	for i := range m.Seats {
		if m.Seats[i].Points != v.points[i] {
			return fault(fmt.Sprintf("/record/seats/%d/points", i), "are %s, and the games give %s", v.r.Seats[i].Points, record.Milli(v.points[i]))
		}
	}
	for i, s := range scoring.PlaceSeats(m.Settings, m.Seats) {
		if s.Place != v.r.Seats[i].Place {
			return fault(fmt.Sprintf("/record/seats/%d/place", i), "is %d, and the points give %d", v.r.Seats[i].Place, s.Place)
		}
	}
	return nil
}

// sameState reports whether a position is the one of the log. One that was erased
// is.
func sameState(state json.RawMessage, shown record.Text) bool {
	return shown.Erased() || same(state, shown.Value)
}

// same reports whether two JSON values are equal.
func same(a, b json.RawMessage) bool {
	x, errX := strictjson.Canonical(a)
	y, errY := strictjson.Canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
