package game

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// quiz puts the task to every active seat and has each answer judged.
type quiz struct{}

// Init returns no state: the rounds of a quiz are independent.
func (quiz) Init(context.Context, Position) (State, error) { return nil, nil }

// Over reports whether the rounds of the settings are played or fewer than two
// seats are active. A match whose agents have left, but for one, is void.
func (quiz) Over(p Position) (End, error) {
	if present(p.Seats) < 2 {
		return End{Void: arena.VoidTooFewAgents}, nil
	}
	return End{Over: scoring.Over(p.Settings, p.Seats, p.Round-1)}, nil
}

// present returns the number of seats that have not left.
func present(seats []arena.Seat) (n int) {
	for _, s := range seats {
		if s.State != arena.SeatLeft {
			n++
		}
	}
	return n
}

// Check refuses nothing: a wrong answer is an answer.
func (quiz) Check(context.Context, Position, Reply) (string, error) { return "", nil }

// Turn returns the zero Turn.
func (quiz) Turn(context.Context, Position) (arena.Turn, error) { return arena.Turn{}, nil }

// Closing returns Asks for a judge that compares answers in pairs. The others
// compare them with right ones, or have them run.
func (quiz) Closing(s arena.Settings) Closing {
	if s.Judge.Compares() {
		return Asks
	}
	return Evaluates
}

// Ask returns the answers that an external judge must judge.
func (quiz) Ask(_ context.Context, p Position, replies []Reply) (*Question, error) {
	return ask(p.Settings.Judge, judgeInputs(p, replies), 0), nil
}

// Close returns the points of the judge.
func (quiz) Close(_ context.Context, p Position, replies []Reply, v *arena.Verdict) (Result, error) {
	spec := p.Settings.Judge
	inputs := judgeInputs(p, replies)
	asked := ask(spec, inputs, 0) != nil
	switch {
	case asked && v == nil:
		return void(replies), nil
	case spec.Compares():
		result := compared(p, replies, inputs, v)
		keepForfeits(result.Scores, replies)
		return result, nil
	}
	given := verdict(spec)
	if asked {
		given.Version, given.Ballots = v.Version, v.Ballots
	}
	result := Result{Scores: make([]Score, len(replies))}
	given.Seats = make([]arena.SeatVerdict, len(replies))
	for i, r := range replies {
		s := arena.SeatVerdict{AgentID: p.Seats[r.Seat].AgentID}
		switch {
		case arena.Forfeits(r.Reason):
			s.Reason = r.Reason
		case r.Outcome != arena.OutcomeAnswered:
		case asked:
			s = seatVerdict(v, s.AgentID)
		default:
			s.Points = scoring.Judge(spec, p.Task, r.Text)
		}
		given.Seats[i], result.Scores[i] = s, Score{Points: s.Points, Reason: s.Reason}
	}
	result.Verdict = given
	return result, nil
}

// judgeInputs returns the answers that an external judge may judge, but not
// those that exceeded a limit.
func judgeInputs(p Position, replies []Reply) (inputs []arena.JudgedAnswer) {
	spec := p.Settings.Judge
	if !spec.External() {
		return nil
	}
	for _, r := range replies {
		usable := r.Outcome == arena.OutcomeAnswered
		if spec.Compares() {
			usable = r.Text != ""
		}
		if usable && !arena.Forfeits(r.Reason) {
			inputs = append(inputs, judgeInput(p, r.Seat, r.Text))
		}
	}
	return inputs
}

// judgeInput returns a text of a seat as its judge receives it.
func judgeInput(p Position, seat int, text string) arena.JudgedAnswer {
	s := &p.Seats[seat]
	return arena.JudgedAnswer{AgentID: s.AgentID, OwnerID: s.OwnerID, Text: text}
}

// ask returns the question to a judge, or nil if it has nothing to judge or, when
// it compares, to compare.
func ask(spec arena.JudgeSpec, inputs []arena.JudgedAnswer, turns int) *Question {
	if len(inputs) == 0 || spec.Compares() && len(inputs) == 1 {
		return nil
	}
	return &Question{Answers: inputs, Turns: turns, Window: spec.Window}
}

// verdict returns a verdict of a judge without points.
func verdict(spec arena.JudgeSpec) arena.Verdict {
	return arena.Verdict{Judge: spec.Kind, Version: scoring.Version(spec)}
}

// compared returns the result of a round whose judge compares texts. The only
// seat that answered wins the round (docs/rules.md, section 3).
func compared(p Position, replies []Reply, inputs []arena.JudgedAnswer, v *arena.Verdict) Result {
	given := verdict(p.Settings.Judge)
	switch {
	case len(inputs) > 1:
		given = *v
	case len(inputs) == 1:
		given.Seats = []arena.SeatVerdict{{AgentID: inputs[0].AgentID, Points: arena.OnePoint}}
	}
	result := Result{Verdict: given, Scores: make([]Score, len(replies))}
	for i, r := range replies {
		s := seatVerdict(&given, p.Seats[r.Seat].AgentID)
		result.Scores[i] = Score{Points: s.Points, Reason: s.Reason}
	}
	return result
}

// keepForfeits sets the reason in the scores of answers that get no points.
func keepForfeits(scores []Score, replies []Reply) {
	for i, r := range replies {
		if arena.Forfeits(r.Reason) {
			scores[i].Reason = r.Reason
		}
	}
}

// seatVerdict returns the verdict on a seat; a seat without one has no points.
func seatVerdict(v *arena.Verdict, agentID string) arena.SeatVerdict {
	for _, s := range v.Seats {
		if s.AgentID == agentID {
			return s
		}
	}
	return arena.SeatVerdict{AgentID: agentID}
}

// void returns the result of a round whose judge failed: it counts for no seat.
func void(replies []Reply) Result {
	result := Result{Scores: make([]Score, len(replies))}
	for i, r := range replies {
		result.Scores[i].Void = r.Outcome.Counted()
	}
	return result
}
