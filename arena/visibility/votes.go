package visibility

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// tailEvents is how many events of a log are read at a time, from its end.
const tailEvents = 200

// Vote is an open vote of spectators on the open round of a match. It is the
// one case in which spectators read answers before the round has closed; they
// see no authors.
type Vote struct {
	Match    Match
	Until    time.Time
	Criteria string
	Entries  []arena.BlindAnswer
}

// JudgeInput returns a round of a match as its judge sees it.
type JudgeInput func(ctx context.Context, m arena.Match, answers []arena.Answer, round int) (arena.Judging, error)

// Votes reads open votes.
type Votes struct {
	reader     *Reader
	judgeInput JudgeInput
}

// NewVotes returns the Votes on the matches of r.
func NewVotes(r *Reader, in JudgeInput) (*Votes, error) {
	if r == nil || in == nil {
		return nil, errors.New("visibility: votes need a reader and the judge's input")
	}
	return &Votes{reader: r, judgeInput: in}, nil
}

// Open returns the vote that is open on a match; ok is false when none is. The
// error has arena.CodeNotFound if there is no such match.
func (v *Votes) Open(ctx context.Context, matchID string) (vote Vote, ok bool, err error) {
	m, err := v.reader.store.Match(ctx, matchID)
	if err != nil {
		return Vote{}, false, err
	}
	if m.Settings.Judge.Kind != arena.JudgeCrowd || !m.RoundOpen || m.Status != arena.MatchRunning {
		return Vote{}, false, nil
	}
	opened, found, err := v.lastOpened(ctx, m)
	if err != nil || !found {
		return Vote{}, false, err
	}
	until, err := time.Parse(arena.TimeFormat, opened.Until)
	if err != nil {
		return Vote{}, false, fmt.Errorf("vote on match %s: %w", matchID, err)
	}
	if !v.reader.now().Before(until) {
		return Vote{}, false, nil
	}
	answers, err := v.reader.store.Answers(ctx, matchID)
	if err != nil {
		return Vote{}, false, err
	}
	in, err := v.judgeInput(ctx, m, answers, m.Round)
	if err != nil {
		return Vote{}, false, err
	}
	visible, err := v.reader.visible(ctx, m)
	return Vote{Match: visible, Until: until, Criteria: opened.Criteria, Entries: in.Blind()}, err == nil, err
}

// lastOpened finds the opening of the vote on the open round. A node that
// takes a match over opens the vote anew: the last one counts.
func (v *Votes) lastOpened(ctx context.Context, m arena.Match) (b arena.VoteOpenedBody, found bool, err error) {
	for before := m.Seq; before > 0; before -= tailEvents {
		events, err := v.reader.store.EventsAfter(ctx, m.ID, max(0, before-tailEvents), tailEvents)
		if err != nil {
			return b, false, err
		}
		for _, e := range slices.Backward(events) {
			switch {
			case e.Type == arena.EventVoteOpened && e.Round == m.Round:
				if err := json.Unmarshal(e.Body, &b); err != nil {
					return b, false, fmt.Errorf("vote on match %s: %w", m.ID, err)
				}
				return b, true, nil
			case e.Type == arena.EventRoundStarted && e.Round == m.Round:
				return b, false, nil
			}
		}
	}
	return b, false, nil
}
