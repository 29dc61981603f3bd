package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/visibility/seal"
)

// event is what the checks read of an event.
type event struct {
	Seq        int64           `json:"seq"`
	MatchID    string          `json:"match_id"`
	Round      int             `json:"round"`
	AgentID    string          `json:"agent_id"`
	TS         string          `json:"ts"`
	Type       arena.EventType `json:"type"`
	raw        json.RawMessage
	Commitment string `json:"commitment"`
}

// readLog checks the numbers of the events and finds those that the other
// parts are held against.
func (c *checker) readLog() error {
	c.outcomes, c.closed, c.started, c.revealed = map[turn]event{}, map[int]event{}, map[int]event{}, map[turn]Text{}
	for i, raw := range c.r.Log {
		at := fmt.Sprintf("/record/log/%d", i)
		e := event{raw: raw}
		if err := json.Unmarshal(raw, &e); err != nil {
			return fault(at, "is not an event: %v", err)
		}
		switch {
		case e.Seq != int64(i+1):
			return fault(at+"/seq", "is %d, want %d: an event is missing or out of order", e.Seq, i+1)
		case e.MatchID != c.r.Match.MatchID:
			return fault(at+"/match_id", "is %q, the record is of match %q", e.MatchID, c.r.Match.MatchID)
		}
		c.events = append(c.events, e)
		switch e.Type {
		case arena.EventSeatOutcome:
			c.outcomes[turn{e.Round, e.AgentID}] = e
		case arena.EventRoundClosed:
			c.closed[e.Round] = e
		case arena.EventRoundStarted:
			c.started[e.Round] = e
		default: // of no weight for the result
		}
	}
	if n := len(c.events); n == 0 || c.events[n-1].Type != arena.EventMatchFinished {
		return fault("/record/log", "does not end with match_finished")
	}
	return nil
}

// seed holds the seed and the version of the rules against match_started.
func (c *checker) seed() error {
	var started struct {
		SeedCommitment string           `json:"seed_commitment"`
		RulesVersion   int              `json:"rules_version"`
		Game           *arena.GameBrief `json:"game"`
	}
	m := c.r.Match
	for i, e := range c.events {
		if e.Type != arena.EventMatchStarted {
			continue
		}
		if err := json.Unmarshal(e.raw, &started); err != nil {
			return fault(fmt.Sprintf("/record/log/%d", i), "is not what match_started has: %v", err)
		}
		break
	}
	if m.RulesVersion != started.RulesVersion {
		return fault("/record/match/rules_version", "differs from match_started, which has %d", started.RulesVersion)
	}
	if m.RulesVersion != arena.RulesVersion {
		return fault("/record/match/rules_version", "is %d; this version checks matches under the rules of version %d", m.RulesVersion, arena.RulesVersion)
	}
	if !reflect.DeepEqual(m.GameSpec().Brief(), started.Game) {
		return fault("/record/match/game", "the game and its settings differ from match_started")
	}
	seed, err := strconv.ParseUint(m.Seed, 10, 64)
	if err != nil {
		return fault("/record/match/seed", "is not a number of 64 bits")
	}
	commitment, err := SeedCommitment(m.MatchID, m.SeedSalt, seed)
	if err != nil {
		return fault("/record/match/seed_salt", "%v", err)
	}
	if commitment != started.SeedCommitment {
		return fault("/record/match/seed", "is not what match_started committed to")
	}
	return nil
}

// reveals holds every revealed part against the commitment that was published
// while its round was open (docs/rules.md, section 5).
func (c *checker) reveals() error {
	for i, e := range c.events {
		if e.Type != arena.EventReveal {
			continue
		}
		var body struct {
			Events []struct {
				Seq    int64
				Hidden Text
			}
		}
		if err := json.Unmarshal(e.raw, &body); err != nil {
			return fault(fmt.Sprintf("/record/log/%d/events", i), "is not the content of a reveal: %v", err)
		}
		for j, part := range body.Events {
			at := fmt.Sprintf("/record/log/%d/events/%d", i, j)
			if part.Seq < 1 || part.Seq >= e.Seq {
				return fault(at+"/seq", "names no event before the reveal")
			}
			if of := c.events[part.Seq-1]; of.Type == arena.EventSeatOutcome {
				c.revealed[turn{of.Round, of.AgentID}] = part.Hidden
			}
			if part.Hidden.Erased() {
				continue
			}
			if err := seal.Verify(part.Hidden.Value, c.events[part.Seq-1].Commitment); err != nil {
				return fault(at+"/hidden", "is not what event %d committed to: %v", part.Seq, err)
			}
		}
	}
	return nil
}

// closedSeat is arena.ClosedSeat, to be read.
type closedSeat struct {
	AgentID   string        `json:"agent_id"`
	Answer    Text          `json:"answer"`
	Points    Milli         `json:"points"`
	Outcome   arena.Outcome `json:"outcome"`
	ElapsedMS int64         `json:"elapsed_ms"`
}

// untilEnd reports whether answers stayed sealed until the match had finished.
func (c *checker) untilEnd() bool {
	return arena.Settings{Visibility: c.r.Match.Visibility, Game: c.r.Match.GameSpec()}.UntilEnd()
}

// revealedAnswer returns the answer that a seat_outcome event had sealed; the zero
// Text if there was none.
func (c *checker) revealedAnswer(of turn) (Text, error) {
	hidden, ok := c.revealed[of]
	if !ok || hidden.Erased() {
		return hidden, nil
	}
	var body struct{ Answer json.RawMessage }
	if err := json.Unmarshal(hidden.Value, &body); err != nil {
		return Text{}, fault("/record/log", "a revealed reply cannot be read: %v", err)
	}
	return Text{Value: body.Answer}, nil
}

func (c *checker) rounds() (err error) {
	if len(c.r.Rounds) != len(c.closed) {
		return fault("/record/rounds", "%d rounds, but the log closed %d", len(c.r.Rounds), len(c.closed))
	}
	for i, r := range c.r.Rounds {
		at := fmt.Sprintf("/record/rounds/%d", i)
		if r.Round != i+1 {
			return fault(at+"/round", "is %d, want %d", r.Round, i+1)
		}
		var started struct{ Task Text }
		var closed struct {
			Correct string
			Seats   []closedSeat
		}
		if json.Unmarshal(c.started[r.Round].raw, &started) != nil || json.Unmarshal(c.closed[r.Round].raw, &closed) != nil {
			return fault(at, "the log does not hold this round")
		}
		switch {
		case !started.Task.Erased() && !sameTask(started.Task, r.Task):
			return fault(at+"/task", "is not the task that round_started showed")
		case closed.Correct != r.Correct:
			return fault(at+"/correct", "is not what round_closed showed")
		case len(closed.Seats) != len(r.Answers):
			return fault(at+"/answers", "%d answers, but round_closed has %d", len(r.Answers), len(closed.Seats))
		}
		shown := map[string]closedSeat{}
		for _, s := range closed.Seats {
			shown[s.AgentID] = s
		}
		for j, a := range r.Answers {
			s, ok := shown[a.AgentID]
			if !ok {
				return fault(fmt.Sprintf("%s/answers/%d/agent_id", at, j), "is not a seat of round_closed")
			}
			if c.untilEnd() { // round_closed shows only the move, which a replay of the game checks
				if s.Answer, err = c.revealedAnswer(turn{r.Round, a.AgentID}); err != nil {
					return err
				}
			}
			if err := c.answer(fmt.Sprintf("%s/answers/%d", at, j), r.Round, a, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameTask reports whether round_started showed a task. In a debate it also showed the turn and the names of the sides.
func sameTask(shown Text, task json.RawMessage) bool {
	if bytes.Equal(shown.Value, task) {
		return true
	}
	var a, b arena.TaskBody
	if json.Unmarshal(shown.Value, &a) != nil || json.Unmarshal(task, &b) != nil {
		return false
	}
	if !strings.HasPrefix(a.Description, b.Description+"\n\nTurn ") {
		return false
	}
	a.Description = b.Description
	motion, err := strictjson.CanonicalOf(a)
	return err == nil && bytes.Equal(motion, task)
}

// answer holds one answer against its receipt and the two events about it.
func (c *checker) answer(at string, round int, a Answer, shown closedSeat) error {
	outcome := c.outcomes[turn{round, a.AgentID}]
	var body struct{ Answer string }
	var text string
	if !a.Answer.null() && !a.Answer.Erased() {
		if err := json.Unmarshal(a.Answer.Value, &body); err != nil {
			return fault(at+"/answer", "is not a reply: %v", err)
		}
	}
	if !shown.Answer.null() && !shown.Answer.Erased() {
		if err := json.Unmarshal(shown.Answer.Value, &text); err != nil {
			return fault(at+"/answer", "is not the answer that round_closed showed: %v", err)
		}
	}
	switch {
	case (a.Receipt == nil) != a.Answer.null():
		return fault(at+"/receipt", "every answer has a receipt, and nothing else has")
	case a.Receipt != nil && a.Receipt.ArrivedAt != outcome.TS:
		return fault(at+"/receipt/arrived_at", "differs from the log, which has %s", outcome.TS)
	case a.Answer.null() != shown.Answer.null(), body.Answer != text && !a.Answer.Erased() && !shown.Answer.Erased():
		return fault(at+"/answer", "is not the answer that round_closed showed")
	case a.Points != shown.Points:
		return fault(at+"/points", "is not what round_closed showed")
	case a.Outcome != shown.Outcome:
		return fault(at+"/outcome", "is not what round_closed showed")
	case a.ElapsedMS != shown.ElapsedMS:
		return fault(at+"/elapsed_ms", "is not what round_closed showed")
	}
	return nil
}

// finished is the body of the log's last event.
func (c *checker) finished() (seats map[string]Seat, changes []Change, err error) {
	last := len(c.events) - 1
	var body struct {
		Seats   []Seat   `json:"seats"`
		Changes []Change `json:"rating_changes"`
	}
	if err := json.Unmarshal(c.events[last].raw, &body); err != nil {
		return nil, nil, fault(fmt.Sprintf("/record/log/%d", last), "is not what match_finished has: %v", err)
	}
	seats = map[string]Seat{}
	for _, s := range body.Seats {
		seats[s.AgentID] = s
	}
	return seats, body.Changes, nil
}

// seats adds up the verdicts.
func (c *checker) seats() error {
	shown, _, err := c.finished()
	if err != nil {
		return err
	}
	total := map[string]Milli{}
	for _, r := range c.r.Rounds {
		for _, a := range r.Answers {
			total[a.AgentID] += a.Points
		}
	}
	for i, s := range c.r.Seats {
		at := fmt.Sprintf("/record/seats/%d", i)
		last, ok := shown[s.AgentID]
		switch {
		case !ok || len(shown) != len(c.r.Seats):
			return fault(at+"/agent_id", "the seats differ from match_finished")
		case c.r.Match.Series == nil && s.Points != total[s.AgentID]: // the points of a game follow from a replay
			return fault(at+"/points", "is not the sum of its verdicts, %s", total[s.AgentID])
		case s.Points != last.Points:
			return fault(at+"/points", "is not what match_finished showed")
		case s.Place != last.Place:
			return fault(at+"/place", "is not what match_finished showed")
		case s.State != last.State:
			return fault(at+"/state", "is not what match_finished showed")
		}
	}
	return nil
}

// ratings checks each change and their sum: with the same K for all a match
// moves ratings and makes none, but for the floor (docs/rules.md, section 7).
func (c *checker) ratings() error {
	_, changes, err := c.finished()
	if err != nil {
		return err
	}
	if len(changes) != len(c.r.RatingChanges) {
		return fault("/record/rating_changes", "%d changes, but match_finished has %d", len(c.r.RatingChanges), len(changes))
	}
	var drift Milli
	conserved := true
	for i, ch := range c.r.RatingChanges {
		at := fmt.Sprintf("/record/rating_changes/%d", i)
		switch {
		case ch.Before+ch.Delta != ch.After:
			return fault(at+"/rating_delta", "before and after differ by %s", ch.After-ch.Before)
		case ch != changes[i]:
			return fault(at, "is not what match_finished showed")
		}
		drift += ch.Delta
		conserved = conserved && ch.K == c.r.RatingChanges[0].K && ch.After > Milli(arena.FloorRating)
	}
	if conserved && drift != 0 {
		return fault("/record/rating_changes", "the changes sum to %s, want 0", drift)
	}
	return nil
}
