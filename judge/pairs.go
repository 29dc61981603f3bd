package judge

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agora-arena/arena/arena"
)

// decision returns the better one of two answers by the ids of their agents; "":
// a tie. ok is false if they were not compared.
type decision func(a, b string) (better string, ok bool)

// score turns the results of all pairs into points: a win is a point and a tie half
// a point. An answer gets the mean over its opponents, rounded down to thousandths.
func score(answers []arena.JudgedAnswer, decide decision) ([]arena.SeatVerdict, error) {
	if len(answers) < 2 {
		return nil, errors.New("there is nothing to compare")
	}
	halves := make([]int, len(answers))
	for i, a := range answers {
		for k, b := range answers[:i] {
			better, ok := decide(a.AgentID, b.AgentID)
			switch {
			case !ok:
				return nil, fmt.Errorf("the answers of %s and %s were not compared", b.AgentID, a.AgentID)
			case better == a.AgentID:
				halves[i] += 2
			case better == b.AgentID:
				halves[k] += 2
			default:
				halves[i]++
				halves[k]++
			}
		}
	}
	seats := make([]arena.SeatVerdict, len(answers))
	for i, a := range answers {
		points := arena.OnePoint * arena.Points(halves[i]) / arena.Points(2*(len(answers)-1))
		seats[i] = arena.SeatVerdict{AgentID: a.AgentID, Points: points}
	}
	return seats, nil
}

// byMajority lets the judges of a panel decide each pair. A judge whose opinion
// depends on the order counts as a tie, and a judge with an opinion in only one
// order does not count. The opinion of more than half of them wins; otherwise the
// pair is a tie.
func byMajority(ballots []arena.Ballot) decision {
	return func(a, b string) (string, bool) {
		first := map[string]string{} // the opinion of a judge when a came first
		for _, v := range ballots {
			if v.First == a && v.Second == b {
				first[v.Judge] = v.Choice
			}
		}
		count, judges := map[string]int{}, 0
		for _, v := range ballots {
			choice, both := first[v.Judge]
			if v.First != b || v.Second != a || !both {
				continue
			}
			if choice != v.Choice {
				choice = ""
			}
			count[choice]++
			judges++
		}
		for _, better := range []string{a, b} {
			if 2*count[better] > judges {
				return better, true
			}
		}
		return "", judges > 0
	}
}

// juror is one judge that compares two answers.
type juror struct {
	name    string // as on its ballots
	owner   string // it never judges its owner's agents; "": it has none
	atOnce  int    // questions that it takes at a time
	compare func(ctx context.Context, first, second arena.JudgedAnswer) (opinion, error)
}

func (r juror) barred(a, b arena.JudgedAnswer) bool {
	return r.owner != "" && (r.owner == a.OwnerID || r.owner == b.OwnerID)
}

// opinion is a judge's opinion on two answers.
type opinion struct {
	choice choice
	reason string
}

// choice is one of three words.
type choice int

const (
	tie choice = iota
	firstIsBetter
	secondIsBetter
)

// comparison is one question to one judge.
type comparison struct {
	juror         juror
	turn          chan struct{} // of the juror
	first, second arena.JudgedAnswer
	ballot        *arena.Ballot // nil: none was given
	err           error
}

func (c *comparison) make(ctx context.Context, all chan struct{}) {
	for _, turn := range []chan struct{}{c.turn, all} {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			c.err = context.Cause(ctx)
			return
		}
	}
	o, err := c.juror.compare(ctx, c.first, c.second)
	if err != nil {
		c.err = err
		return
	}
	c.ballot = &arena.Ballot{Judge: c.juror.name, First: c.first.AgentID, Second: c.second.AgentID, Reason: plain(o.reason)}
	switch o.choice {
	case firstIsBetter:
		c.ballot.Choice = c.first.AgentID
	case secondIsBetter:
		c.ballot.Choice = c.second.AgentID
	case tie:
	}
}

// ask has every juror compare every pair in both orders, and returns the ballots in
// a fixed order. It returns an error if a pair was not compared both ways.
func (s *Judges) ask(ctx context.Context, j arena.Judging, jurors []juror) (ballots []arena.Ballot, decide decision, err error) {
	bound, cancel := context.WithTimeoutCause(ctx, overall, fmt.Errorf("the judges took longer than %v", overall))
	defer cancel()
	var made []*comparison
	for _, r := range jurors {
		turn := make(chan struct{}, max(1, r.atOnce))
		for i, b := range j.Answers {
			for _, a := range j.Answers[:i] {
				if !r.barred(a, b) {
					made = append(made, &comparison{juror: r, turn: turn, first: a, second: b},
						&comparison{juror: r, turn: turn, first: b, second: a})
				}
			}
		}
	}
	all := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, c := range made {
		wg.Go(func() { c.make(bound, all) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	failures := errors.New("no judge may compare them")
	for _, c := range made {
		if c.ballot != nil {
			ballots = append(ballots, *c.ballot)
			continue
		}
		failures = c.err
		s.o.Logger.DebugContext(ctx, "no ballot", "match_id", j.MatchID, "judge", c.juror.name, "error", c.err)
	}
	decide = byMajority(ballots)
	if _, err := score(j.Answers, decide); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", err, failures)
	}
	return ballots, decide, nil
}
