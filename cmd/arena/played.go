package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
)

// played is a match of two agents that was read from its log. Arrays have the value
// of the first agent and of the second, whatever seats they had.
type played struct {
	units  []unit
	asked  [2]int            // tasks or moves
	missed [2]map[string]int // tasks and moves without an answer, by outcome
	tokens [2]int64          // that the agents declared
	void   string            // why the match does not count, "" if it does
	took   time.Duration
}

// unit is what a match is scored by: a question, or a game of a series.
type unit struct {
	points     [2]float64
	counts     bool // neither agent was out of reach
	transcript []string

	// Of a question.
	topic, question, correct string
	answers                  [2]string
	answered                 [2]bool
	outcomes                 [2]string // "answered", or the reason why it brought no points
}

// result returns the half points of the second agent: 2 for a win, 1 for a draw.
func (u unit) result() int {
	switch {
	case u.points[1] > u.points[0]:
		return 2
	case u.points[1] < u.points[0]:
		return 0
	}
	return 1
}

// transcript returns a hash of everything that was played, in any order of the
// units: a game that is played again with the other agent in the first seat of the
// match is the same game.
func (p played) transcript() [sha256.Size]byte {
	var all []string
	for _, u := range p.units {
		all = append(all, strings.Join(u.transcript, "\n"))
	}
	slices.Sort(all)
	return sha256.Sum256([]byte(strings.Join(all, "\n\n")))
}

// reading reads the events of a match.
type reading struct {
	played

	agents   [2]string     // ids
	open     unit          // that has begun and not ended
	game     int           // of the open unit, from 1; 0: the match asks questions
	outcomes map[int64]int // agents by the seq of sealed outcomes
	started  time.Time
}

// readMatch follows a match of two agents to its end.
func readMatch(ctx context.Context, arena *apiclient.Client, match string, agents [2]string) (played, error) {
	r := reading{agents: agents, outcomes: map[int64]int{}}
	r.missed = [2]map[string]int{{}, {}}
	err := follow(ctx, arena, url.Values{"match": {match}}, func(e liveEvent) error {
		r.event(e)
		if e.ends() {
			return errStop
		}
		return nil
	})
	return r.played, err
}

func (r *reading) event(e liveEvent) {
	w := e.words()
	switch e.Type {
	case "match_started":
		r.started = e.TS
	case "round_started":
		r.begin(w)
	case "seat_outcome":
		if i := slices.Index(r.agents[:], e.AgentID); i >= 0 {
			r.outcomes[e.Seq] = i
			if r.asked[i]++; w.Outcome != string(arena.OutcomeAnswered) {
				r.missed[i][w.Outcome]++
			}
			r.spend(i, e.raw)
		}
	case "reveal":
		for _, hidden := range w.Events {
			if i, ok := r.outcomes[hidden.Seq]; ok {
				r.spend(i, hidden.Hidden)
			}
		}
	case "round_closed":
		r.close(w)
	case "match_void":
		r.void = w.Reason
	}
	if e.ends() && !r.started.IsZero() {
		r.took = e.TS.Sub(r.started)
	}
}

// spend adds the tokens that an agent declares in an outcome.
func (r *reading) spend(agent int, outcome json.RawMessage) {
	var declared struct {
		Tokens int64 `json:"tokens"`
	}
	if json.Unmarshal(outcome, &declared) == nil && declared.Tokens > 0 {
		r.tokens[agent] += declared.Tokens
	}
}

// begin notes the task of a round. A game begins with its first position, which is
// the deal.
func (r *reading) begin(w eventWords) {
	if len(w.State) == 0 {
		r.open = unit{topic: w.Task.Topic, question: w.Task.Description, counts: true}
		r.note("task", w.Task.Description, w.Task.Options)
		return
	}
	if at := decodeState[seriesWords](w.State); at.Game != r.game {
		r.game, r.open = at.Game, unit{counts: true}
		r.note("position", r.position(w.State))
	}
}

// close notes the answers or moves of a round, and ends the unit if it is over.
func (r *reading) close(w eventWords) {
	for i, id := range r.agents {
		s := slices.IndexFunc(w.Seats, func(s seatWords) bool { return s.AgentID == id })
		if s < 0 {
			continue // it had no move
		}
		seat := w.Seats[s]
		r.open.counts = r.open.counts && arena.Outcome(seat.Outcome).Counted()
		r.open.outcomes[i], r.open.answered[i] = seat.Outcome, seat.Outcome == string(arena.OutcomeAnswered)
		if seat.Reason != "" && seat.Points == 0 {
			r.open.outcomes[i] = seat.Reason
		}
		if r.game == 0 {
			r.open.points[i] = seat.Points
			if seat.Answer != nil {
				r.open.answers[i] = *seat.Answer
			}
			r.note("answer", i, seat.Outcome, r.open.answers[i], seat.Points)
		}
	}
	if r.game == 0 {
		r.open.correct = w.Correct
		r.units = append(r.units, r.open)
		return
	}
	for _, m := range w.Moves {
		r.note("move", slices.Index(r.agents[:], m.AgentID), m.Move, m.Legal)
	}
	at := decodeState[seriesWords](w.State)
	if !at.Over {
		return
	}
	for player, points := range at.Points {
		if player < len(at.Players) {
			if i := slices.Index(r.agents[:], at.Players[player]); i >= 0 {
				r.open.points[i] = points
			}
		}
	}
	r.note("over", r.position(w.State))
	r.units = append(r.units, r.open)
}

// position returns a public position without its place in the match, and with the
// agents in the place of their ids.
func (r *reading) position(state json.RawMessage) string {
	members := decodeState[map[string]json.RawMessage](state)
	for _, place := range []string{"game", "games", "turn"} {
		delete(members, place)
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return string(state)
	}
	return strings.NewReplacer(r.agents[0], "first agent", r.agents[1], "second agent").Replace(string(raw))
}

// note adds a line to the transcript of the open unit.
func (r *reading) note(values ...any) {
	line, err := json.Marshal(values)
	if err != nil {
		line = []byte(err.Error()) // no value above can fail
	}
	r.open.transcript = append(r.open.transcript, string(line))
}
