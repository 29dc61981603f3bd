package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// The kinds of moments, and the bounds of their rules (docs/watching.md).
const (
	momentUpset        = "upset"
	momentComeback     = "comeback"
	momentPerfect      = "perfect"
	momentLastStanding = "last_standing"
	momentClose        = "close"

	recapMatches    = 500 // the last ones of a day or season
	recapPage       = 100
	recapLooked     = 20                 // duels that are read for a comeback
	comebackLeast   = 2 * arena.OnePoint // behind
	perfectLeast    = 5                  // rounds
	standingLeast   = 4                  // seats of an elimination
	closeLeast      = 3                  // rounds
	closeMost       = arena.OnePoint     // ahead
	recapLogPart    = 1000               // events
	recapLogLongest = 50_000             // events
)

// recapHandlers serve the best moments of a day or season.
type recapHandlers struct {
	rows    Rows
	visible Visible
	now     func() time.Time
}

type recapInput struct {
	Day    string `query:"day" maxLength:"20" doc:"A day in UTC such as 2026-11-28. Left out: the last one on which a match that has finished began."`
	League string `query:"league" maxLength:"40" doc:"With season: of a season in place of a day."`
	Season int    `query:"season" minimum:"0" maximum:"1000000" doc:"With league: the number of a finished season."`
}

type recapView struct {
	Day     string       `json:"day,omitempty" example:"2026-11-28" doc:"In UTC; absent for a season, and in an arena without finished matches."`
	Earlier string       `json:"earlier,omitempty" example:"2026-11-27" doc:"The last day before with finished matches."`
	Later   string       `json:"later,omitempty" example:"2026-11-29" doc:"The first day after with finished matches."`
	Matches int          `json:"matches" doc:"The finished matches that the moments were chosen from, at most 500: the last to start."`
	Moments []momentView `json:"moments" doc:"At most one of each kind, and one of each match."`
}

// momentView is one moment. Which numbers it has depends on its kind.
type momentView struct {
	Kind    string        `json:"kind" enum:"upset,comeback,perfect,last_standing,close"`
	MatchID string        `json:"match_id"`
	League  string        `json:"league"`
	Round   int           `json:"round" doc:"0: the whole match."`
	Seq     int64         `json:"seq,omitempty" doc:"Of the event with which that round closed."`
	Agents  []momentAgent `json:"agents" doc:"The first two, the winner first."`
	Seats   int           `json:"seats" doc:"Of the match."`
	Rounds  int           `json:"rounds" doc:"Played in the match."`
	Chance  *float64      `json:"chance,omitempty" doc:"upset: the expected score of the winner before the match, 0 to 1."`
	Behind  *arena.Points `json:"behind,omitempty" doc:"comeback: the largest deficit of the winner after a round."`
	Ahead   *arena.Points `json:"ahead,omitempty" doc:"close: the lead of the winner in points; 0: lost rounds decided."`
}

type momentAgent struct {
	AgentID string       `json:"agent_id"`
	Name    string       `json:"name"`
	Points  arena.Points `json:"points"`
}

type recapOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         recapView
}

func (h *recapHandlers) get(ctx context.Context, in *recapInput) (*recapOutput, error) {
	v, err := h.view(ctx, in)
	if err != nil {
		return nil, err
	}
	return &recapOutput{CacheControl: "public, max-age=60", Body: v}, nil
}

func (h *recapHandlers) view(ctx context.Context, in *recapInput) (recapView, error) {
	switch {
	case in.League != "" && in.Season > 0:
		if in.Day != "" {
			return recapView{}, arena.Invalid("day", "must be absent with league and season")
		}
		return h.season(ctx, in.League, in.Season)
	case in.League != "":
		return recapView{}, arena.Invalid("season", "must be the number of a season of the league")
	case in.Season > 0:
		return recapView{}, arena.Invalid("league", "must be the league of the season")
	}
	return h.day(ctx, in.Day)
}

// season returns the moments of a finished season: while it runs its results may be
// hidden.
func (h *recapHandlers) season(ctx context.Context, league string, no int) (recapView, error) {
	s, pairings, err := h.rows.Leagues.Season(ctx, league, no)
	if err != nil {
		return recapView{}, err
	}
	if s.Status != arena.SeasonFinished {
		return recapView{Moments: []momentView{}}, nil
	}
	matches, err := h.finished(ctx, arena.MatchFilter{League: league, From: s.StartedAt, To: s.FinishedAt.Add(time.Millisecond)})
	if err != nil {
		return recapView{}, err
	}
	played := map[string]bool{}
	for _, p := range pairings {
		played[p.MatchID] = true
	}
	return h.recap(ctx, slices.DeleteFunc(matches, func(m visibility.Match) bool { return !played[m.ID] }))
}

// day returns the moments of the matches that began on a day.
func (h *recapHandlers) day(ctx context.Context, text string) (recapView, error) {
	const length = 24 * time.Hour
	if text == "" {
		last, err := h.next(ctx, arena.MatchFilter{To: h.now().UTC().Truncate(length).Add(length)})
		if err != nil || last == "" {
			return recapView{Moments: []momentView{}}, err
		}
		text = last
	}
	from, err := time.Parse(time.DateOnly, text)
	if err != nil || from.Year() < 1970 {
		return recapView{}, arena.Invalid("day", "must be a day such as 2026-11-28")
	}
	matches, err := h.finished(ctx, arena.MatchFilter{From: from, To: from.Add(length)})
	if err != nil {
		return recapView{}, err
	}
	v, err := h.recap(ctx, matches)
	if err != nil {
		return recapView{}, err
	}
	v.Day = text
	if v.Earlier, err = h.next(ctx, arena.MatchFilter{To: from}); err != nil {
		return recapView{}, err
	}
	v.Later, err = h.next(ctx, arena.MatchFilter{From: from.Add(length), Soonest: true})
	return v, err
}

// next returns the day of the first match of a filter that has finished, or "".
func (h *recapHandlers) next(ctx context.Context, f arena.MatchFilter) (string, error) {
	f.Statuses = []arena.MatchStatus{arena.MatchFinished}
	matches, _, err := h.visible.Matches(ctx, f, arena.Page{Limit: 1})
	if err != nil || len(matches) == 0 {
		return "", err
	}
	return matches[0].StartsAt.UTC().Format(time.DateOnly), nil
}

// finished returns the matches of a filter whose end spectators have seen, the last to
// start first.
func (h *recapHandlers) finished(ctx context.Context, f arena.MatchFilter) (all []visibility.Match, err error) {
	f.Statuses = []arena.MatchStatus{arena.MatchFinished}
	page := arena.Page{Limit: recapPage}
	for range recapMatches / recapPage {
		matches, next, err := h.visible.Matches(ctx, f, page)
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			if m.Status == arena.MatchFinished {
				all = append(all, m)
			}
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	return all, nil
}

// recap chooses the moments of matches, which are in the order of finished.
func (h *recapHandlers) recap(ctx context.Context, matches []visibility.Match) (recapView, error) {
	v := recapView{Matches: len(matches), Moments: []momentView{}}
	won := wonMatches(matches)
	for _, choose := range []func(context.Context, []wonMatch) (momentView, bool, error){h.upset, h.comeback, perfect, h.lastStanding, closest} {
		found, ok, err := choose(ctx, won)
		if err != nil {
			return recapView{}, err
		}
		if ok {
			v.Moments = append(v.Moments, found)
			won = slices.DeleteFunc(won, func(w wonMatch) bool { return w.ID == found.MatchID })
		}
	}
	return v, nil
}

func (w wonMatch) ahead() arena.Points { return w.seats[0].Points - w.seats[1].Points }

// asks reports whether the rounds of a match are questions with a point at most for
// each answer, and not moves or speeches.
func (w wonMatch) asks() bool { return w.Settings.Game == nil && w.Settings.Debate == nil }

func (w wonMatch) moment(kind string) momentView {
	v := momentView{Kind: kind, MatchID: w.ID, League: w.League, Seats: len(w.seats), Rounds: w.Round}
	for _, s := range w.seats[:2] {
		v.Agents = append(v.Agents, momentAgent{AgentID: s.AgentID, Name: s.Name, Points: s.Points})
	}
	return v
}

// upset chooses the least likely upset.
func (h *recapHandlers) upset(ctx context.Context, won []wonMatch) (v momentView, ok bool, err error) {
	found, err := upsetsOf(ctx, h.rows, won)
	if err != nil || len(found) == 0 {
		return v, false, err
	}
	v = found[0].moment(momentUpset)
	v.Chance = &found[0].chance
	return v, true, nil
}

// comeback chooses the winner that was furthest behind after a round, among the duels
// with the narrowest results.
func (h *recapHandlers) comeback(ctx context.Context, won []wonMatch) (v momentView, ok bool, err error) {
	var duels []wonMatch
	for _, w := range won {
		if len(w.seats) == 2 && w.asks() && w.Round > 2*int(comebackLeast/arena.OnePoint) {
			duels = append(duels, w)
		}
	}
	slices.SortStableFunc(duels, func(x, y wonMatch) int { return cmp.Compare(x.ahead(), y.ahead()) })
	var best wonMatch
	var behind arena.Points
	for _, w := range duels[:min(len(duels), recapLooked)] {
		rounds, err := h.visible.ClosedRounds(ctx, w.Match)
		if err != nil {
			return v, false, err
		}
		if n, at := deficit(rounds, w.seats[0].AgentID); n >= comebackLeast && n > behind {
			best, behind, v = w, n, w.moment(momentComeback)
			v.Round, v.Behind = at, &n
		}
	}
	if behind == 0 {
		return v, false, nil
	}
	v.Seq, err = h.closing(ctx, best.Match, v.Round)
	return v, true, err
}

// deficit returns how many points the winner of a duel was behind at most, and after
// which round.
func deficit(rounds []visibility.ClosedRound, winner string) (behind arena.Points, round int) {
	var lead arena.Points
	for _, r := range rounds {
		for _, a := range r.Answers {
			if a.AgentID == winner {
				lead += a.Points
			} else {
				lead -= a.Points
			}
		}
		if -lead > behind {
			behind, round = -lead, r.No
		}
	}
	return behind, round
}

// perfect chooses the match with the most rounds in which the winner got every point.
func perfect(_ context.Context, won []wonMatch) (v momentView, ok bool, err error) {
	for _, w := range won {
		if w.asks() && w.Round >= perfectLeast && w.seats[0].Points == arena.Points(w.Round)*arena.OnePoint && w.Round > v.Rounds {
			v, ok = w.moment(momentPerfect), true
		}
	}
	return v, ok, nil
}

// lastStanding chooses the elimination that took the most rounds until one agent was left.
func (h *recapHandlers) lastStanding(ctx context.Context, won []wonMatch) (v momentView, ok bool, err error) {
	var best wonMatch
	for _, w := range won {
		left := slices.ContainsFunc(w.seats[1:], func(s arena.Seat) bool { return s.State == arena.SeatActive })
		if w.Settings.Format == arena.FormatElimination && len(w.seats) >= standingLeast && !left && w.Round > best.Round {
			best, ok = w, true
		}
	}
	if !ok {
		return v, false, nil
	}
	v = best.moment(momentLastStanding)
	v.Round = best.Round
	v.Seq, err = h.closing(ctx, best.Match, v.Round)
	return v, true, err
}

// closest chooses the match with the smallest lead of its winner; of equal ones that
// with the most rounds.
func closest(_ context.Context, won []wonMatch) (v momentView, ok bool, err error) {
	var best wonMatch
	for _, w := range won {
		if !w.asks() || w.Settings.Format == arena.FormatElimination || w.Round < closeLeast || w.ahead() < 0 || w.ahead() > closeMost {
			continue
		}
		if !ok || w.ahead() < best.ahead() || w.ahead() == best.ahead() && w.Round > best.Round {
			best, ok = w, true
		}
	}
	if !ok {
		return v, false, nil
	}
	v = best.moment(momentClose)
	v.Ahead = new(best.ahead())
	return v, true, nil
}

// closing returns the seq of the event with which a round of a finished match closed, or
// 0 if its log no longer has it.
func (h *recapHandlers) closing(ctx context.Context, m visibility.Match, round int) (int64, error) {
	for since := int64(0); since < recapLogLongest; {
		events, err := h.visible.Events(ctx, m.Log(), since, recapLogPart)
		if err != nil || len(events) == 0 {
			return 0, err
		}
		for _, e := range events {
			if e.Type == arena.EventRoundClosed && e.Round == round {
				return e.Seq, nil
			}
		}
		since = events[len(events)-1].Seq
	}
	return 0, nil
}
