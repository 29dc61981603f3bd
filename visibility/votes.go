package visibility

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Vote is an open vote of spectators on the open round of a match. Only here do
// spectators read answers before the round has closed, without authors.
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
func NewVotes(r *Reader, in JudgeInput) *Votes {
	return &Votes{reader: r, judgeInput: in}
}

// Open returns the vote that is open on a match; ok is false when none is. The
// error has arena.CodeNotFound if there is no such match.
func (v *Votes) Open(ctx context.Context, matchID string) (vote Vote, ok bool, err error) {
	m, err := v.reader.store.Match(ctx, matchID)
	if err != nil {
		return Vote{}, false, err
	}
	until, err := v.reader.voteUntil(ctx, m)
	if err != nil || until.IsZero() {
		return Vote{}, false, err
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
	return Vote{Match: visible, Until: until, Criteria: m.Settings.Judge.Criteria, Entries: in.Blind()}, err == nil, err
}

// Last returns a match with its last round, as spectators see them. Before the first
// round the round is zero. The error has arena.CodeNotFound if there is no such match.
func (v *Votes) Last(ctx context.Context, matchID string) (Match, arena.Round, error) {
	m, err := v.reader.Match(ctx, matchID)
	if err != nil {
		return Match{}, arena.Round{}, err
	}
	rounds, err := v.reader.LastRounds(ctx, m)
	return m, rounds[matchID], err
}

// voteUntil returns when the open vote on a match that was just read ends, or
// the zero time if no vote is open. A node that takes a match over opens the vote
// again.
func (r *Reader) voteUntil(ctx context.Context, m arena.Match) (time.Time, error) {
	if m.Settings.Judge.Kind != arena.JudgeCrowd || !m.RoundOpen || m.Status != arena.MatchRunning {
		return time.Time{}, nil
	}
	until, err := r.store.VoteUntil(ctx, m.ID, m.Round)
	if err != nil || !r.now().Before(until) {
		return time.Time{}, err
	}
	return until, nil
}
