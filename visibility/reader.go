package visibility

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility/mode"
)

// Store is the raw rows. No interface of a public package may contain one of
// these methods.
type Store interface {
	Match(ctx context.Context, id string) (arena.Match, error)
	Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) ([]arena.Match, string, error)
	Rounds(ctx context.Context, matchID string) ([]arena.Round, error)
	// RoundsAt returns a round of each of some matches, by their ids; at has the
	// numbers of the rounds.
	RoundsAt(ctx context.Context, at map[string]int) (map[string]arena.Round, error)
	Answers(ctx context.Context, matchID string) ([]arena.Answer, error)
	Verdicts(ctx context.Context, matchID string) ([]arena.Verdict, error)
	LostRounds(ctx context.Context, f arena.LossFilter, p arena.Page) ([]arena.LostRound, string, error)
	// VoteUntil returns when the vote on a round ends, or the zero time if none
	// was opened.
	VoteUntil(ctx context.Context, matchID string, round int) (time.Time, error)
	EventsAfter(ctx context.Context, matchID string, since int64, limit int) ([]arena.Event, error)
	// EventsOfTypes returns the events of a running match up to a seq that have
	// one of the types, in the order of seq.
	EventsOfTypes(ctx context.Context, matchID string, upTo int64, types ...arena.EventType) ([]arena.Event, error)
	// FirstEventSince returns the seq of the first event of a running match,
	// not counting match_scheduled, that is later than at or belongs to the
	// open round without being its round_started; 0 if there is none. An open
	// of 0 means that no round is open.
	FirstEventSince(ctx context.Context, matchID string, at time.Time, open int) (int64, error)
}

// Reader reads matches as spectators may see them.
type Reader struct {
	store Store
	now   func() time.Time
}

// NewReader returns a Reader of the rows in s.
func NewReader(s Store, now func() time.Time) *Reader {
	return &Reader{store: s, now: now}
}

// Match returns a match. The error has arena.CodeNotFound if there is none
// with this id.
func (r *Reader) Match(ctx context.Context, id string) (Match, error) {
	m, err := r.store.Match(ctx, id)
	if err != nil {
		return Match{}, err
	}
	return r.visible(ctx, m)
}

// Matches returns a page of matches and the cursor of the next one.
func (r *Reader) Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) (visible []Match, next string, err error) {
	rows, next, err := r.store.Matches(ctx, f, p)
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		m, err := r.visible(ctx, row)
		if err != nil {
			return nil, "", err
		}
		visible = append(visible, m)
	}
	return visible, next, nil
}

// Rounds returns the rounds that were visible when m was read. One that had
// not closed then has no ClosedAt. Prompts are for their seats alone until a game
// has finished.
func (r *Reader) Rounds(ctx context.Context, m Match) ([]arena.Round, error) {
	rounds, err := r.store.Rounds(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	rounds = rounds[:min(len(rounds), m.Round)]
	for i, round := range rounds {
		rounds[i] = m.shown(round)
	}
	return rounds, nil
}

// LastRounds returns the last round of each match that was visible when the
// match was read, as Rounds does, by the ids of the matches. A match before its
// first round has none.
func (r *Reader) LastRounds(ctx context.Context, matches ...Match) (map[string]arena.Round, error) {
	at := map[string]int{}
	for _, m := range matches {
		if m.Round > 0 {
			at[m.ID] = m.Round
		}
	}
	rounds, err := r.store.RoundsAt(ctx, at)
	if err != nil {
		return nil, err
	}
	for _, m := range matches {
		if round, ok := rounds[m.ID]; ok {
			rounds[m.ID] = m.shown(round)
		}
	}
	return rounds, nil
}

// ClosedRounds returns the rounds that had visibly closed when m was read,
// with their answers.
func (r *Reader) ClosedRounds(ctx context.Context, m Match) ([]ClosedRound, error) {
	rounds, err := r.Rounds(ctx, m)
	if err != nil {
		return nil, err
	}
	answers, err := r.store.Answers(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	games, err := r.closedGames(ctx, m)
	if err != nil {
		return nil, err
	}
	byRound := map[int][]arena.Answer{}
	for _, a := range answers {
		if m.hides() {
			a = onlyMove(a, games[a.Round])
		}
		byRound[a.Round] = append(byRound[a.Round], a)
	}
	var closed []ClosedRound
	for _, round := range rounds {
		if !round.ClosedAt.IsZero() {
			closed = append(closed, ClosedRound{Round: round, Answers: byRound[round.No], Game: games[round.No]})
		}
	}
	return closed, nil
}

// Losses returns a page of the rounds that an agent lost, newest first, and the cursor
// of the next one. Spectators get the rounds that they have seen close, which may leave
// a page short; own is for the owner of the agent, who gets all of them. Of the prompts
// of a round only that of the agent is in it, if the reader may see it.
func (r *Reader) Losses(ctx context.Context, f arena.LossFilter, own bool, p arena.Page) (visible []arena.LostRound, next string, err error) {
	rows, next, err := r.store.LostRounds(ctx, f, p)
	if err != nil {
		return nil, "", err
	}
	matches := map[string]Match{}
	for _, l := range rows {
		prompts := own
		if !own {
			m, ok := matches[l.Round.MatchID]
			if !ok {
				if m, err = r.Match(ctx, l.Round.MatchID); err != nil {
					return nil, "", err
				}
				matches[l.Round.MatchID] = m
			}
			if !m.closed(l.Round.No) {
				continue
			}
			if m.hides() {
				l.Answer.Body = nil
			}
			prompts = m.showsPrompts()
		}
		l.Round.Turn.Prompts = slices.DeleteFunc(l.Round.Turn.Prompts, func(p arena.Prompt) bool { return !prompts || p.Seat != l.Seat })
		visible = append(visible, l)
	}
	return visible, next, nil
}

// onlyMove returns an answer with nothing of its body but a legal move.
func onlyMove(a arena.Answer, g arena.ClosedGame) arena.Answer {
	a.Body = nil
	if move := g.Move(a.AgentID); move != nil {
		a.Body = &arena.AnswerBody{Answer: *move}
	}
	return a
}

// logPart is how many events of a log are read at once.
const logPart = 1000

// closedGames returns what the rounds of a game led to, by round. They are in the
// log alone.
func (r *Reader) closedGames(ctx context.Context, m Match) (map[int]arena.ClosedGame, error) {
	if m.Settings.Game == nil {
		return nil, nil //nolint:nilnil // the match asks questions: not an error
	}
	events, err := r.closings(ctx, m)
	if err != nil {
		return nil, err
	}
	games := map[int]arena.ClosedGame{}
	for _, e := range events {
		var g arena.ClosedGame
		if err := json.Unmarshal(e.Body, &g); err != nil {
			return nil, fmt.Errorf("match %s: event %d: %w", m.ID, e.Seq, err)
		}
		games[e.Round] = g
	}
	return games, nil
}

// closings returns the events with which rounds closed. The log of a match that is
// over may be packed.
func (r *Reader) closings(ctx context.Context, m Match) (found []arena.Event, err error) {
	if !m.Status.Over() {
		return r.store.EventsOfTypes(ctx, m.ID, m.Seq, arena.EventRoundClosed)
	}
	for since := int64(0); ; {
		part, err := r.store.EventsAfter(ctx, m.ID, since, logPart)
		if err != nil || len(part) == 0 {
			return found, err
		}
		for _, e := range part {
			if e.Type == arena.EventRoundClosed {
				found = append(found, e)
			}
		}
		since = part[len(part)-1].Seq
	}
}

// Verdicts returns the verdicts on the rounds that had visibly closed when m
// was read.
func (r *Reader) Verdicts(ctx context.Context, m Match) ([]arena.Verdict, error) {
	verdicts, err := r.store.Verdicts(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	var visible []arena.Verdict
	for _, v := range verdicts {
		if m.closed(v.Round) {
			visible = append(visible, v)
		}
	}
	return visible, nil
}

// Events returns at most limit events with a seq above since that are visible
// now, in the order of seq. A log without delay costs one read.
func (r *Reader) Events(ctx context.Context, l Log, since int64, limit int) ([]arena.Event, error) {
	if l.delayed {
		m, err := r.store.Match(ctx, l.matchID) // it may be over by now
		if err != nil {
			return nil, err
		}
		last, err := r.lastVisible(ctx, m, mode.Of(m))
		if err != nil {
			return nil, err
		}
		if limit = int(min(int64(limit), last-since)); limit <= 0 {
			return nil, nil
		}
	}
	return r.store.EventsAfter(ctx, l.matchID, since, limit)
}

// visible returns a row that was just read as spectators may see it.
func (r *Reader) visible(ctx context.Context, m arena.Match) (Match, error) {
	rules := mode.Of(m)
	if !rules.HoldsBack() {
		until, err := r.voteUntil(ctx, m)
		seen := newMatch(m, rules)
		seen.voteUntil = until
		return seen, err
	}
	last, err := r.lastVisible(ctx, m, rules)
	if err != nil {
		return Match{}, err
	}
	events, err := r.store.EventsOfTypes(ctx, m.ID, last, mode.RowEvents()...)
	if err != nil {
		return Match{}, err
	}
	m, err = mode.AsOf(m, last, events)
	return newMatch(m, rules), err
}

// lastVisible returns the seq of the last event that spectators see of a match
// that was just read. That it was scheduled is visible at once. Of an open
// round they see the task alone, however long the round takes.
func (r *Reader) lastVisible(ctx context.Context, m arena.Match, rules mode.Rules) (int64, error) {
	if !rules.HoldsBack() {
		return m.Seq, nil
	}
	open := 0
	if m.RoundOpen {
		open = m.Round
	}
	first, err := r.store.FirstEventSince(ctx, m.ID, r.now().Add(-rules.Delay), open)
	if err != nil || first > 0 {
		return first - 1, err
	}
	return m.Seq, nil // what was appended since m was read is younger than any delay
}
