package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/visibility/seal"
)

// log: numbered without gaps, nothing after the end, each round reported once and
// in order, and what was revealed is what was committed to (invariant 11).
func (c *checker) log(m *matchFacts) {
	for i, e := range m.log {
		if e.Seq != int64(i+1) {
			c.broken("11", "match %s: event %d stands at place %d of the log", m.ID, e.Seq, i+1)
			return
		}
		switch end := e.Type == arena.EventMatchFinished || e.Type == arena.EventMatchVoid; {
		case end && i < len(m.log)-1:
			c.broken("11", "match %s: event %d follows its end", m.ID, e.Seq+1)
		case i == 0 && e.Type != arena.EventMatchScheduled:
			c.broken("11", "match %s begins with %s", m.ID, e.Type)
		}
	}
	if n := int64(len(m.log)); n != m.Seq {
		c.broken("11", "match %s has %d events, its row has %d", m.ID, n, m.Seq)
	}
	reported := story{c: c, m: m, outcomes: map[string]arena.Outcome{}, committed: map[int64]commitment{}}
	for _, e := range m.log {
		reported.event(e)
	}
	reported.over()
}

// story follows a log from event to event.
type story struct {
	c         *checker
	m         *matchFacts
	round     int // last round reported
	open      bool
	resumed   int // how often the open round was reported again
	outcomes  map[string]arena.Outcome
	committed map[int64]commitment
	starts    int
}

type commitment struct {
	sum   string
	agent string
	round int
}

func (s *story) bad(e arena.Event, format string, args ...any) {
	s.c.broken("11", "match %s, event %d (%s): %s", s.m.ID, e.Seq, e.Type, fmt.Sprintf(format, args...))
}

func (s *story) event(e arena.Event) {
	switch e.Type {
	case arena.EventMatchStarted:
		if s.starts++; s.starts > 1 {
			s.bad(e, "the match starts twice")
		}
	case arena.EventRoundStarted:
		s.roundStarted(e)
	case arena.EventSeatOutcome:
		s.seatOutcome(e)
	case arena.EventReveal:
		s.reveal(e)
	case arena.EventRoundClosed:
		if !s.open || e.Round != s.round {
			s.bad(e, "round %d closes, round %d is open: %t", e.Round, s.round, s.open)
		}
		s.open = false
	case arena.EventThinking, arena.EventToolCall:
		if !s.open || e.Round != s.round {
			s.bad(e, "an agent's event of round %d, round %d is open: %t", e.Round, s.round, s.open)
		}
		s.commit(e)
	default: // nothing follows from the others
	}
}

func (s *story) roundStarted(e arena.Event) {
	var body struct {
		Interrupted bool `json:"interrupted"`
	}
	if err := decode(e.Body, &body); err != nil {
		s.bad(e, "%v", err)
	}
	if s.open && e.Round == s.round && body.Interrupted {
		s.resumed++
		return
	}
	if s.open || e.Round != s.round+1 || body.Interrupted {
		s.bad(e, "round %d (interrupted: %t) starts after round %d (open: %t)", e.Round, body.Interrupted, s.round, s.open)
	}
	s.round, s.open, s.resumed = e.Round, true, 0
	clear(s.outcomes)
}

func (s *story) seatOutcome(e arena.Event) {
	var body struct {
		Outcome arena.Outcome `json:"outcome"`
	}
	if err := decode(e.Body, &body); err != nil {
		s.bad(e, "%v", err)
	}
	if !s.open || e.Round != s.round {
		s.bad(e, "an outcome of round %d, round %d is open: %t", e.Round, s.round, s.open)
	}
	if _, twice := s.outcomes[e.AgentID]; twice {
		s.bad(e, "a second outcome of agent %s in round %d", e.AgentID, e.Round)
	}
	s.outcomes[e.AgentID] = body.Outcome
	s.commit(e)
	for _, a := range s.m.answers {
		if a.Round == e.Round && a.AgentID == e.AgentID {
			if a.Outcome != body.Outcome {
				s.bad(e, "agent %s in round %d: reported %s, stored %s", e.AgentID, e.Round, body.Outcome, a.Outcome)
			}
			return
		}
	}
	s.bad(e, "the outcome of agent %s in round %d has no stored answer", e.AgentID, e.Round)
}

// commit keeps the commitment of a sealed event until its reveal.
func (s *story) commit(e arena.Event) {
	var body struct {
		Commitment string `json:"commitment"`
	}
	if err := decode(e.Body, &body); err != nil {
		s.bad(e, "%v", err)
	}
	if body.Commitment != "" {
		s.committed[e.Seq] = commitment{body.Commitment, e.AgentID, e.Round}
	}
	if s.m.Settings.Visibility == arena.VisibilitySealed && bytes.Contains(e.Body, []byte("secret-")) {
		s.c.broken("13", "match %s: event %d shows what is sealed", s.m.ID, e.Seq)
	}
}

func (s *story) reveal(e arena.Event) {
	var body struct {
		Events []struct {
			Seq     int64           `json:"seq"`
			AgentID string          `json:"agent_id"`
			Hidden  json.RawMessage `json:"hidden"`
		} `json:"events"`
	}
	if err := decode(e.Body, &body); err != nil {
		s.bad(e, "%v", err)
	}
	for _, r := range body.Events {
		was, ok := s.committed[r.Seq]
		switch {
		case !ok:
			s.bad(e, "it reveals event %d, which has no commitment", r.Seq)
		case was.round != e.Round || was.agent != r.AgentID:
			s.bad(e, "it reveals event %d of round %d", r.Seq, was.round)
		default:
			if err := seal.Verify(r.Hidden, was.sum); err != nil {
				s.bad(e, "event %d: %v", r.Seq, err)
			}
		}
		delete(s.committed, r.Seq)
	}
}

// over checks the state at the end of the log.
func (s *story) over() {
	if s.m.Settings.UntilEnd() && s.m.Status != arena.MatchFinished {
		clear(s.committed) // what a game has sealed stays so unless it finishes
	}
	for seq, was := range s.committed {
		if was.round <= len(s.m.rounds) && !s.m.rounds[was.round-1].ClosedAt.IsZero() {
			s.c.broken("11", "match %s: event %d was never revealed, round %d is closed", s.m.ID, seq, was.round)
		}
	}
	if s.round != len(s.m.rounds) {
		s.c.broken("11", "match %s: its log has %d rounds, %d are stored", s.m.ID, s.round, len(s.m.rounds))
	}
}

// points: every answer is worth what the judge decides now, and seats have the
// sums.
func (c *checker) points(m *matchFacts) {
	sums, err := awards(m)
	if err != nil {
		c.broken("7", "match %s: its games cannot be played again: %v", m.ID, err)
		return
	}
	for _, a := range m.answers {
		want := arena.Points(0)
		if m.Settings.Game == nil && a.Judged && a.Outcome == arena.OutcomeAnswered && a.Body != nil && a.Round <= len(m.rounds) {
			want = scoring.Judge(m.Settings.Judge, m.rounds[a.Round-1].Task, a.Body.Answer)
		}
		if a.Points != want {
			c.broken("7", "match %s: the answer of agent %s in round %d has %d points, the judge gives %d", m.ID, a.AgentID, a.Round, a.Points, want)
		}
		sums[a.AgentID] += a.Points
	}
	for _, s := range m.Seats {
		if s.Points != sums[s.AgentID] {
			c.broken("7", "match %s: agent %s has %d points, its answers %d", m.ID, s.AgentID, s.Points, sums[s.AgentID])
		}
	}
}

// awards returns the points of the games of a match by agent. They follow from the
// seed and the answers, whichever node played which turn; so do the positions in
// which its rounds opened.
func awards(m *matchFacts) (map[string]arena.Points, error) {
	sums := map[string]arena.Points{}
	if m.Settings.Game == nil {
		return sums, nil
	}
	ctx := context.Background()
	g, err := game.For(ctx, game.Builtin{}, m.Settings)
	if err != nil {
		return nil, err
	}
	state, err := g.Init(ctx, game.NewPosition(m.Match, arena.Round{No: 1}, nil))
	given := game.Answers(m.answers)
	for _, r := range m.rounds {
		if err != nil {
			return nil, err
		}
		p := game.NewPosition(m.Match, r, state)
		turn, err := g.Turn(ctx, p)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(turn.State, r.Turn.State) {
			return nil, fmt.Errorf("round %d opened with %s, a replay with %s", r.No, r.Turn.State, turn.State)
		}
		if r.ClosedAt.IsZero() {
			break
		}
		result, err := g.Close(ctx, p, p.Replies(given.In(r.No)), nil)
		if err != nil {
			return nil, err
		}
		state = result.State
		for i, points := range result.Awards {
			sums[p.Seats[i].AgentID] += points
		}
	}
	return sums, err
}

// replay: all settlements in their order, computed again from the stored
// answers, yield every rating bit for bit, and the drift of each league
// (invariants 4 and 5).
func (c *checker) replay() {
	ratings := map[ratingKey]arena.Rating{}
	drift := map[string]arena.MilliElo{}
	for _, s := range c.f.settlements {
		m, ok := c.f.matches[s.MatchID]
		if !ok {
			continue // settlementRows reports it
		}
		before := map[string]arena.Rating{}
		for _, seat := range m.Seats {
			r, ok := ratings[ratingKey{s.League, seat.AgentID}]
			if !ok {
				r = arena.NewRating(s.League, seat.AgentID)
			}
			before[seat.AgentID] = r
		}
		again := scoring.Rate(m.Settings, scoring.PlaceSeats(m.Settings, m.Seats), m.answers, before)
		if len(again) != len(s.Changes) {
			c.broken("4", "settlement %d of match %s has %d changes, a replay gives %d", s.Seq, s.MatchID, len(s.Changes), len(again))
			continue
		}
		for i, ch := range again {
			if ch != s.Changes[i] {
				c.broken("4", "settlement %d of match %s: stored %+v, a replay gives %+v", s.Seq, s.MatchID, s.Changes[i], ch)
			}
			r := before[ch.AgentID]
			r.MilliElo, r.Peak, r.Matches = ch.After, max(r.Peak, ch.After), r.Matches+1
			ratings[ratingKey{s.League, ch.AgentID}] = r
			drift[s.League] += ch.After - ch.Before
		}
		if s.Drift != drift[s.League] {
			c.broken("5", "settlement %d: drift %d, a replay gives %d", s.Seq, s.Drift, drift[s.League])
		}
	}
	if len(ratings) != len(c.f.ratings) {
		c.broken("4", "%d ratings are stored, a replay gives %d", len(c.f.ratings), len(ratings))
	}
	sums := map[string]arena.MilliElo{}
	for key, want := range ratings {
		got := c.f.ratings[key]
		if got.MilliElo != want.MilliElo || got.Peak != want.Peak || got.Matches != want.Matches || got.Wins+got.Draws+got.Losses != want.Matches {
			c.broken("4", "agent %s in %s: stored %+v, a replay gives %+v", key.agent, key.league, got, want)
		}
		sums[key.league] += got.MilliElo - arena.StartRating
	}
	for _, l := range c.f.leagues {
		if l.Drift != drift[l.Slug] || l.Drift != sums[l.Slug] {
			c.broken("5", "league %s: drift %d, a replay gives %d, the ratings %d", l.Slug, l.Drift, drift[l.Slug], sums[l.Slug])
		}
	}
}

// digest returns the log as spectators see it.
func digest(log []arena.Event) []seenEvent {
	sums := make([]seenEvent, len(log))
	for i, e := range log {
		sums[i] = seenEvent{e.Seq, sha256.Sum256(e.AppendJSON(nil))}
	}
	return sums
}

func decode(data []byte, to any) error {
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("body %.100s: %w", data, err)
	}
	return nil
}

// elo reads a rating in its wire form.
func elo(v float64) arena.MilliElo { return arena.MilliElo(math.Round(v * 1000)) }
