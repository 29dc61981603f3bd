package recount

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/scoring"
)

// Export is the exported data of a league, from its first settlement on.
type Export struct {
	Matches, Answers, Ratings io.Reader

	Table   *Table                   // nil: nothing is compared with the result
	Records map[string]record.Record // verified ones, by match
}

// Result is what an export leads to.
type Result struct {
	League      string
	Settlements int
	Last        int64 // the newest settlement
	Fitted      int64 // the newest settlement in the refit
	NoFit       error // why there is no refit
	Lines       []Line
}

// Line is an agent in the table.
type Line struct {
	AgentID string
	Name    string
	Rating  arena.MilliElo
	Matches int
	Fit     *arena.FitLine // nil: it is not in the refit
}

// Verify computes a league's table from its export. The error is a *DifferenceError if a
// line does not follow from the others, if the table of the arena or a record
// differs from the result, or if a line cannot be read.
//
// One file may go further than another: it ends with the shortest. What no line
// shows is K = 40 of a new version, which is taken from the settlement.
func Verify(e Export) (Result, error) {
	v := &verifier{
		Export: e, refit: scoring.NewRefit(), ratings: map[string]arena.Rating{}, names: map[string]string{}, unseen: maps.Clone(e.Records), awaited: map[string]TableLine{},
		matches: newReader[match](Matches, e.Matches), answers: newReader[answer](Answers, e.Answers), changes: newReader[settlement](Ratings, e.Ratings),
	}
	if e.Table != nil {
		for _, line := range e.Table.Items {
			if line.RatedMatches > 0 {
				v.awaited[line.AgentID] = line
			}
		}
	}
	for {
		more, err := v.next()
		if err != nil {
			return v.Result, err
		}
		if !more {
			return v.Result, v.finish()
		}
	}
}

// verifier is one run of Verify.
type verifier struct {
	Export
	Result

	matches *reader[match]
	answers *reader[answer]
	changes *reader[settlement]

	ratings map[string]arena.Rating
	drift   arena.MilliElo
	names   map[string]string
	refit   *scoring.Refit
	awaited map[string]TableLine // agents whose live rating was not reached yet
	unseen  map[string]record.Record
}

// next verifies the next settlement; more is false at the end of a file.
func (v *verifier) next() (more bool, err error) {
	s, err := v.changes.take()
	if err != nil || s == nil {
		return false, err
	}
	m, err := v.matches.take()
	if err != nil || m == nil {
		return false, err
	}
	first, err := v.answers.peek()
	if err != nil || first == nil {
		return false, err
	}
	switch {
	case s.Settlement <= v.Last:
		return false, v.changes.fault(s.MatchID, "settlement %d follows settlement %d", s.Settlement, v.Last)
	case m.Settlement != s.Settlement || m.MatchID != s.MatchID:
		return false, v.matches.fault(m.MatchID, "settlement %d, but the same place of %s has settlement %d of match %s", m.Settlement, Ratings, s.Settlement, s.MatchID)
	case v.League != "" && m.League != v.League:
		return false, v.matches.fault(m.MatchID, "league %q, but the lines before are of league %q", m.League, v.League)
	}
	answers, err := v.answersOf(m)
	if err != nil {
		return false, err
	}
	for _, check := range []func(*match, []answer, *settlement) error{v.checkSeats, v.checkRatings, v.checkRecord} {
		if err := check(m, answers, s); err != nil {
			return false, err
		}
	}
	v.League, v.Last, v.Settlements = m.League, s.Settlement, v.Settlements+1
	return true, v.settle(m, s)
}

// answersOf takes the answers of a match.
func (v *verifier) answersOf(m *match) (answers []answer, err error) {
	type place struct {
		round int
		agent string
	}
	seen := map[place]bool{}
	for {
		a, err := v.answers.peek()
		switch {
		case err != nil:
			return nil, err
		case a == nil, a.Settlement > m.Settlement:
			if len(answers) == 0 {
				return nil, v.answers.fault(m.MatchID, "settlement %d has no answers", m.Settlement)
			}
			return answers, nil
		case a.Settlement != m.Settlement || a.MatchID != m.MatchID:
			return nil, v.answers.fault(a.MatchID, "settlement %d, but the answers of settlement %d of match %s are next", a.Settlement, m.Settlement, m.MatchID)
		case !slices.ContainsFunc(m.Seats, func(s seat) bool { return s.AgentID == a.AgentID }):
			return nil, v.answers.fault(a.MatchID, "agent %s has no seat", a.AgentID)
		case seen[place{a.Round, a.AgentID}]:
			return nil, v.answers.fault(a.MatchID, "a second answer of agent %s in round %d", a.AgentID, a.Round)
		}
		seen[place{a.Round, a.AgentID}] = true
		answers = append(answers, *a)
		if _, err := v.answers.take(); err != nil {
			return nil, err
		}
	}
}

// domain returns a match and its answers as the rules take them.
func domain(m *match, lines []answer) (set arena.Settings, seats []arena.Seat, answers []arena.Answer) {
	set = arena.Settings{Rated: true, Format: m.Format, ScoreMode: m.ScoreMode}
	if m.ZeroPointsOverTokens {
		set.MaxTokensPolicy = arena.ZeroPointsTokens
	}
	skipped := map[string]int{}
	for _, a := range lines {
		answers = append(answers, arena.Answer{Round: a.Round, AgentID: a.AgentID, Outcome: a.Outcome, Reason: a.Reason, OverTokens: a.OverTokens, Points: a.Points})
		if a.Outcome == arena.OutcomeRateLimited {
			skipped[a.AgentID]++
		}
	}
	for _, s := range m.Seats {
		seats = append(seats, arena.Seat{
			AgentID: s.AgentID, OwnerID: s.OwnerID, OwnerGroup: s.OwnerGroup, State: s.State, OutRound: s.OutRound, Points: s.Points,
			LostRounds: s.LostRounds, SkippedRounds: skipped[s.AgentID], Place: s.Place,
		})
	}
	return set, seats, answers
}

// checkSeats compares the points of the seats with their answers, and the places
// with the points. Only a replay shows what a game gives: its signed record has one.
func (v *verifier) checkSeats(m *match, lines []answer, _ *settlement) error {
	set, seats, answers := domain(m, lines)
	total := map[string]arena.Points{}
	for _, a := range answers {
		total[a.AgentID] += a.Points
	}
	placed := scoring.PlaceSeats(set, seats)
	for i, s := range m.Seats {
		v.names[s.AgentID] = s.Name
		switch {
		case m.Game == nil && s.Points != total[s.AgentID]:
			return v.matches.fault(m.MatchID, "agent %s has %s points, its answers sum to %s", s.AgentID, points(s.Points), points(total[s.AgentID]))
		case s.Place != placed[i].Place:
			return v.matches.fault(m.MatchID, "agent %s has place %d, the points give place %d", s.AgentID, s.Place, placed[i].Place)
		}
	}
	return nil
}

// checkRatings rates the match again.
func (v *verifier) checkRatings(m *match, lines []answer, s *settlement) error {
	set, seats, answers := domain(m, lines)
	before := make(map[string]arena.Rating, len(seats))
	for _, seat := range seats {
		r, ok := v.ratings[seat.AgentID]
		if !ok {
			r = arena.NewRating("", seat.AgentID)
		}
		before[seat.AgentID] = r
	}
	for _, c := range s.Changes {
		if r, ok := before[c.AgentID]; ok {
			before[c.AgentID] = r.Before(c)
		}
	}
	changes := scoring.Rate(set, seats, answers, before)
	if slices.ContainsFunc(answers, func(a arena.Answer) bool { return a.Outcome == arena.OutcomeVoid }) {
		changes = arena.WithUnmoved(changes, s.Changes, before) // the reason of a void answer is not public
	}
	if len(changes) != len(s.Changes) {
		return v.changes.fault(s.MatchID, "%d changes, the match leads to %d", len(s.Changes), len(changes))
	}
	drift := v.drift
	for i, want := range changes {
		if got := s.Changes[i]; got != want {
			return v.changes.fault(s.MatchID, "agent %s has %s, the match leads to agent %s with %s", got.AgentID, change(got), want.AgentID, change(want))
		}
		drift += want.After - want.Before
	}
	if s.Drift != drift {
		return v.changes.fault(s.MatchID, "the drift is %s, the changes lead to %s", elo(s.Drift), elo(drift))
	}
	for _, seat := range m.Seats {
		i := slices.IndexFunc(changes, func(c arena.RatingChange) bool { return c.AgentID == seat.AgentID })
		if rated := seat.Delta != nil && seat.Before != nil; rated != (i >= 0) || rated && (*seat.Before != changes[i].Before || *seat.Delta != changes[i].Delta) {
			return v.matches.fault(m.MatchID, "agent %s has another rating_before or rating_delta than in %s", seat.AgentID, Ratings)
		}
	}
	return nil
}

// checkRecord compares the lines of a match with its signed record, if it was given.
func (v *verifier) checkRecord(m *match, lines []answer, s *settlement) error {
	r, ok := v.unseen[m.MatchID]
	if !ok {
		return nil
	}
	delete(v.unseen, m.MatchID)
	for _, seat := range m.Seats {
		i := slices.IndexFunc(r.Seats, func(s record.Seat) bool { return s.AgentID == seat.AgentID })
		if i < 0 || len(r.Seats) != len(m.Seats) || arena.Points(r.Seats[i].Points) != seat.Points || r.Seats[i].Place != seat.Place || r.Seats[i].State != seat.State {
			return v.matches.fault(m.MatchID, "the seat of agent %s differs from the signed record", seat.AgentID)
		}
	}
	for i, c := range s.Changes {
		want := record.Change{
			AgentID: c.AgentID, Before: record.Milli(c.Before), After: record.Milli(c.After), Delta: record.Milli(c.Delta), K: c.K, Score: record.Milli(c.Score), Matches: c.Matches,
		}
		if len(r.RatingChanges) != len(s.Changes) || r.RatingChanges[i] != want {
			return v.changes.fault(m.MatchID, "the change of agent %s differs from the signed record", c.AgentID)
		}
	}
	return v.checkRecordAnswers(m, lines, r)
}

func (v *verifier) checkRecordAnswers(m *match, lines []answer, r record.Record) error {
	recorded := 0
	for _, round := range r.Rounds {
		for _, want := range round.Answers {
			recorded++
			i := slices.IndexFunc(lines, func(a answer) bool { return a.Round == round.Round && a.AgentID == want.AgentID })
			if i < 0 {
				return v.answerFault(m, lines, len(lines)-1, "the signed record has an answer of agent %s in round %d, which is missing", want.AgentID, round.Round)
			}
			var body struct{ Answer string }
			if want.Answer.Value != nil {
				if err := json.Unmarshal(want.Answer.Value, &body); err != nil {
					return v.answerFault(m, lines, i, "its answer in the signed record cannot be read: %v", err)
				}
			}
			got := lines[i]
			// A text that was erased here or there cannot be compared.
			text := got.Answer == nil || want.Answer.Value == nil || *got.Answer == body.Answer
			if !text || got.Outcome != want.Outcome || got.Points != arena.Points(want.Points) || got.ElapsedMS != want.ElapsedMS {
				return v.answerFault(m, lines, i, "the answer of agent %s in round %d differs from the signed record", want.AgentID, round.Round)
			}
		}
	}
	if recorded != len(lines) {
		return v.answerFault(m, lines, len(lines)-1, "%d answers, the signed record has %d", len(lines), recorded)
	}
	return nil
}

// answerFault is a *DifferenceError at one of the answers that were taken last.
func (v *verifier) answerFault(m *match, lines []answer, i int, format string, args ...any) error {
	last := v.answers.no
	if v.answers.held != nil { // the first one of the next match
		last--
	}
	return &DifferenceError{File: Answers, Line: last - (len(lines) - 1 - i), Match: m.MatchID, Reason: fmt.Sprintf(format, args...)}
}

// settle adds a verified settlement to the ratings and to the refit.
func (v *verifier) settle(m *match, s *settlement) error {
	group, place := map[string]string{}, map[string]int{}
	for _, seat := range m.Seats {
		group[seat.AgentID], place[seat.AgentID] = cmp.Or(seat.OwnerGroup, seat.OwnerID), seat.Place
	}
	result := arena.RatedResult{Seq: s.Settlement, MatchID: s.MatchID}
	for _, c := range s.Changes {
		r, ok := v.ratings[c.AgentID]
		if !ok {
			r = arena.NewRating("", c.AgentID)
		}
		v.drift += c.After - c.Before
		r.MilliElo, r.Peak, r.Matches = c.After, max(r.Peak, c.After), c.Matches
		v.ratings[c.AgentID] = r
		result.Seats = append(result.Seats, arena.RatedSeat{AgentID: c.AgentID, OwnerID: group[c.AgentID], Place: place[c.AgentID]})
		if shown, ok := v.awaited[c.AgentID]; ok && shown.RatedMatches == r.Matches {
			delete(v.awaited, c.AgentID)
			if shown.Rating != r.MilliElo {
				return v.tableFault("agent %s has the rating %s after %d matches, the settlements lead to %s", c.AgentID, elo(shown.Rating), r.Matches, elo(r.MilliElo))
			}
		}
	}
	if v.Table == nil || v.Table.FitSettlement == 0 || s.Settlement <= v.Table.FitSettlement {
		v.refit.Add(result)
		v.Fitted = s.Settlement
	}
	return nil
}

func (v *verifier) tableFault(format string, args ...any) error {
	return &DifferenceError{File: Standings, Reason: fmt.Sprintf(format, args...)}
}

// finish computes the table and compares it with the one of the arena.
func (v *verifier) finish() error {
	for _, id := range slices.Sorted(maps.Keys(v.unseen)) {
		return &DifferenceError{File: "signed record", Match: id, Reason: "the export does not have this match"}
	}
	for _, id := range slices.Sorted(maps.Keys(v.awaited)) {
		return v.tableFault("agent %s has %d rated matches, the export ends with %d of them at settlement %d: export again", id, v.awaited[id].RatedMatches, v.ratings[id].Matches, v.Last)
	}
	fits := map[string]*arena.FitLine{}
	lines, err := v.refit.Lines()
	v.NoFit = err
	for i := range lines {
		fits[lines[i].AgentID] = &lines[i]
	}
	if err := v.compareFits(fits); err != nil {
		return err
	}
	for id, r := range v.ratings {
		v.Lines = append(v.Lines, Line{AgentID: id, Name: v.names[id], Rating: r.MilliElo, Matches: r.Matches, Fit: fits[id]})
	}
	slices.SortFunc(v.Lines, func(a, b Line) int { return cmp.Or(cmp.Compare(b.Rating, a.Rating), cmp.Compare(a.AgentID, b.AgentID)) })
	return nil
}

// compareFits compares the refit of the arena with the result.
func (v *verifier) compareFits(fits map[string]*arena.FitLine) error {
	if v.Table == nil || v.Table.FitSettlement == 0 {
		return nil
	}
	if v.Fitted != v.Table.FitSettlement {
		return v.tableFault("the refit goes to settlement %d, the export to %d: export again", v.Table.FitSettlement, v.Last)
	}
	if v.NoFit != nil {
		return v.tableFault("there is a refit, but %v", v.NoFit)
	}
	seen := 0
	for _, line := range v.Table.Items {
		want := fits[line.AgentID]
		if want != nil {
			seen++
		}
		switch {
		case (want == nil) != (line.Fit == nil):
			return v.tableFault("agent %s is in the refit of only one of the table and the export", line.AgentID)
		case want != nil && *line.Fit != (Fit{want.Rating, want.Low, want.High, want.RankLow, want.RankHigh, want.Component}):
			return v.tableFault("agent %s has the refit %s, the export leads to %s", line.AgentID, fit(*line.Fit),
				fit(Fit{want.Rating, want.Low, want.High, want.RankLow, want.RankHigh, want.Component}))
		}
	}
	if seen != len(fits) {
		return v.tableFault("%d agents with a refit, the export leads to %d", seen, len(fits))
	}
	return nil
}

func points(p arena.Points) string {
	b, _ := p.MarshalJSON() // never fails
	return string(b)
}

func elo(m arena.MilliElo) string { return string(m.AppendJSON(nil)) }

func change(c arena.RatingChange) string {
	return fmt.Sprintf("%s to %s (%s) at K = %d, score %s, as match %d", elo(c.Before), elo(c.After), elo(c.Delta), c.K, points(c.Score), c.Matches)
}

func fit(f Fit) string {
	return fmt.Sprintf("%s (%s to %s), ranks %d to %d, component %d", elo(f.Rating), elo(f.Low), elo(f.High), f.RankLow, f.RankHigh, f.Component)
}
