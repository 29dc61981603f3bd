package recount

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/scoring"
)

type object = map[string]any

// export is a played league in the lines that an arena exports, by file.
type export struct {
	lines   map[string][]string
	results []arena.RatedResult
	ratings map[string]arena.Rating
	records map[string]record.Record
}

const (
	agents = 7 // of six owners: the first two have one
	played = 60
)

func group(agent int) string { return fmt.Sprintf("ow_%d", max(agent, 1)) }

// play plays a league of quizzes with two to four seats.
func play(t *testing.T) *export {
	t.Helper()
	e := &export{lines: map[string][]string{}, ratings: map[string]arena.Rating{}, records: map[string]record.Record{}}
	random := rand.New(rand.NewPCG(1, 2))
	drift := arena.MilliElo(0)
	for n := 1; n <= played; n++ {
		seq, id := int64(10*n), fmt.Sprintf("m_%d", n)
		set := arena.Settings{Rated: true, Format: arena.FormatLadder, ScoreMode: arena.ScoreMatch}
		var seats []arena.Seat
		for _, agent := range random.Perm(agents)[:2+random.IntN(3)] {
			seats = append(seats, arena.Seat{No: len(seats), AgentID: fmt.Sprintf("ag_%d", agent), Name: fmt.Sprintf("Agent %d", agent), OwnerID: group(agent), State: arena.SeatActive})
		}
		var answers []arena.Answer
		for round := 1; round <= 3; round++ {
			for i := range seats {
				a := arena.Answer{Round: round, AgentID: seats[i].AgentID, Outcome: arena.OutcomeAnswered}
				switch roll := random.IntN(10); {
				case n == 1: // nobody is better
				case roll < 5:
					a.Points = arena.OnePoint
				case roll == 8:
					a.Outcome = arena.OutcomeRateLimited
				case roll == 9:
					a.Outcome = arena.OutcomeTimeout
				}
				seats[i] = seats[i].Closed(round, a.Outcome)
				seats[i].Points += a.Points
				answers = append(answers, a)
			}
		}
		seats = scoring.PlaceSeats(set, seats)
		changes := scoring.Rate(set, seats, answers, e.ratings)
		if changes == nil {
			continue
		}
		e.add(t, seq, id, seats, answers, changes, &drift)
	}
	if len(e.results) < played*3/4 {
		t.Fatalf("only %d matches were rated", len(e.results))
	}
	return e
}

// add writes the lines of a match.
func (e *export) add(t *testing.T, seq int64, id string, seats []arena.Seat, answers []arena.Answer, changes []arena.RatingChange, drift *arena.MilliElo) {
	t.Helper()
	moved := map[string]arena.RatingChange{}
	result := arena.RatedResult{Seq: seq, MatchID: id}
	r := record.Record{Match: record.Match{MatchID: id}, Rounds: make([]record.Round, 3)}
	for _, c := range changes {
		*drift += c.After - c.Before
		moved[c.AgentID] = c
		e.ratings[c.AgentID] = arena.Rating{AgentID: c.AgentID, MilliElo: c.After, Matches: c.Matches, Peak: max(c.After, e.ratings[c.AgentID].Peak, arena.StartRating)}
		r.RatingChanges = append(r.RatingChanges, record.Change{
			AgentID: c.AgentID, Before: record.Milli(c.Before), After: record.Milli(c.After), Delta: record.Milli(c.Delta), K: c.K, Score: record.Milli(c.Score), Matches: c.Matches,
		})
	}
	match := object{"settlement": seq, "match_id": id, "league": "quiz", "format": "ladder", "score_mode": "match"}
	var views []object
	for _, s := range seats {
		v := object{"agent_id": s.AgentID, "name": s.Name, "owner_id": s.OwnerID, "state": s.State, "points": s.Points, "lost_rounds": s.LostRounds, "place": s.Place}
		if c, ok := moved[s.AgentID]; ok {
			v["rating_before"], v["rating_delta"] = c.Before, c.Delta
			result.Seats = append(result.Seats, arena.RatedSeat{AgentID: s.AgentID, OwnerID: s.OwnerID, Place: s.Place})
		}
		views = append(views, v)
		r.Seats = append(r.Seats, record.Seat{AgentID: s.AgentID, State: s.State, Points: record.Milli(s.Points), Place: s.Place})
	}
	match["seats"] = views
	e.line(t, Matches, match)
	for _, a := range answers {
		a.Body = &arena.AnswerBody{Answer: "Paris"}
		text := record.Text{Value: json.RawMessage(`{"answer":"Paris"}`)}
		if a.Outcome != arena.OutcomeAnswered {
			a.Body, text = nil, record.Text{}
		}
		shown := a.Closed()
		e.line(t, Answers, object{"settlement": seq, "match_id": id, "round": a.Round, "agent_id": a.AgentID, "answer": shown.Answer, "points": a.Points, "outcome": a.Outcome, "elapsed_ms": 5})
		r.Rounds[a.Round-1].Round = a.Round
		r.Rounds[a.Round-1].Answers = append(r.Rounds[a.Round-1].Answers, record.Answer{AgentID: a.AgentID, Outcome: a.Outcome, Points: record.Milli(a.Points), ElapsedMS: 5, Answer: text})
	}
	e.line(t, Ratings, object{"settlement": seq, "match_id": id, "drift": *drift, "changes": changes})
	e.results = append(e.results, result)
	e.records[id] = r
}

func (e *export) line(t *testing.T, file string, v object) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	// The settlement first, as the arena writes it.
	e.lines[file] = append(e.lines[file], string(data)+"\n")
}

// table returns the table of the arena with a refit of the first results.
func (e *export) table(t *testing.T, fitted int) []byte {
	t.Helper()
	fit, err := scoring.Fit(e.results[:fitted])
	if err != nil {
		t.Fatal(err)
	}
	items := []object{}
	lines := map[string]arena.FitLine{}
	for _, l := range fit {
		lines[l.AgentID] = l
	}
	for i := range agents {
		id := fmt.Sprintf("ag_%d", i)
		item := object{"agent_id": id, "rating": e.ratings[id].MilliElo, "rated_matches": e.ratings[id].Matches}
		if l, ok := lines[id]; ok {
			item["fit"] = l
		}
		items = append(items, item)
	}
	items = append(items, object{"agent_id": "ag_new", "rating": arena.StartRating, "rated_matches": 0})
	data, err := json.Marshal(object{"league": "quiz", "fit_settlement": e.results[fitted-1].Seq, "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (e *export) verify(t *testing.T, table []byte, records map[string]record.Record) (Result, error) {
	t.Helper()
	file := func(name string) *strings.Reader { return strings.NewReader(strings.Join(e.lines[name], "")) }
	in := Export{Matches: file(Matches), Answers: file(Answers), Ratings: file(Ratings), Records: records}
	if table != nil {
		var err error
		if in.Table, err = ReadTable(table); err != nil {
			t.Fatal(err)
		}
	}
	return Verify(in)
}

// An export leads to the ratings and the refit of the arena, whether its refit is of all
// results or older.
func TestVerify(t *testing.T) {
	t.Parallel()
	e := play(t)
	for _, fitted := range []int{len(e.results), len(e.results) - 3, 1} {
		r, err := e.verify(t, e.table(t, fitted), e.records)
		if err != nil {
			t.Fatalf("fit of %d: %v", fitted, err)
		}
		if r.League != "quiz" || r.Settlements != len(e.results) || r.Fitted != e.results[fitted-1].Seq || len(r.Lines) != agents {
			t.Errorf("fit of %d: %+v", fitted, r)
		}
		for i, line := range r.Lines {
			if line.Rating != e.ratings[line.AgentID].MilliElo || line.Matches != e.ratings[line.AgentID].Matches || line.Name != "Agent "+line.AgentID[3:] {
				t.Errorf("%+v", line)
			}
			if i > 0 && r.Lines[i-1].Rating < line.Rating {
				t.Errorf("line %d is not in order", i)
			}
		}
	}
	r, err := e.verify(t, nil, nil)
	if err != nil || r.Lines[0].Fit == nil {
		t.Errorf("without a table: %+v, %v", r, err)
	}
}

// Every changed value is found, and the line of its match named.
func TestVerify_changed(t *testing.T) {
	t.Parallel()
	const at = 20 // the line of matches and ratings that is changed
	for name, c := range map[string]struct {
		file     string
		from, to string // the first match of from becomes to
		in       string // the file that is named, "" for file
		say      string
		records  bool
	}{
		"place":                {file: Matches, from: `"place":1`, to: `"place":2`, say: "has place 2, the points give place 1"},
		"points of a seat":     {file: Matches, from: `"points":\d`, to: `"points":7`, say: "points, its answers sum to"},
		"state":                {file: Matches, from: `"state":"active"`, to: `"state":"left"`, say: "place"},
		"rating of a seat":     {file: Matches, from: `"rating_before":1`, to: `"rating_before":2`, say: "another rating_before"},
		"league":               {file: Matches, from: `"league":"quiz"`, to: `"league":"quip"`, say: `league "quip"`},
		"match":                {file: Matches, from: `"match_id":"m_`, to: `"match_id":"n_`, say: "the same place of ratings.jsonl"},
		"points of an answer":  {file: Answers, from: `"points":\d`, to: `"points":0.5`, in: Matches, say: "its answers sum to"},
		"outcome":              {file: Answers, from: `"outcome":"answered"`, to: `"outcome":"answereb"`, in: Ratings, say: "the match leads to"},
		"agent":                {file: Answers, from: `"agent_id":"ag_\d"`, to: `"agent_id":"ag_x"`, say: "agent ag_x has no seat"},
		"rating before":        {file: Ratings, from: `"rating_before":1`, to: `"rating_before":2`, say: "the match leads to"},
		"rating after":         {file: Ratings, from: `"rating_after":1`, to: `"rating_after":2`, say: "the match leads to"},
		"delta":                {file: Ratings, from: `"rating_delta":`, to: `"rating_delta":9`, say: "the match leads to"},
		"K":                    {file: Ratings, from: `"k":40`, to: `"k":20`, say: "at K = 20"},
		"score":                {file: Ratings, from: `"score":[0-9.]+`, to: `"score":0.125`, say: "score 0.125"},
		"number of matches":    {file: Ratings, from: `"matches":`, to: `"matches":1`, say: "as match 1"},
		"drift":                {file: Ratings, from: `"drift":`, to: `"drift":9`, say: "the drift is"},
		"order":                {file: Ratings, from: `"settlement":\d+`, to: `"settlement":1`, say: "settlement 1 follows settlement"},
		"no JSON":              {file: Ratings, from: `^\{`, to: `[`, say: ""},
		"a member twice":       {file: Ratings, from: `^\{`, to: `{"match_id":"m_1",`, say: "duplicate"},
		"text of an answer":    {file: Answers, from: `"answer":"Paris"`, to: `"answer":"Pariz"`, say: "differs from the signed record", records: true},
		"time of an answer":    {file: Answers, from: `"elapsed_ms":5`, to: `"elapsed_ms":6`, say: "differs from the signed record", records: true},
		"a name in any letter": {file: Matches, from: `"match_id"`, to: `"Match_id"`, say: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := play(t)
			table := e.table(t, len(e.results))
			line := at
			id := e.results[at-1].MatchID
			if c.file == Answers {
				for line = 1; !strings.Contains(e.lines[Answers][line-1], `"match_id":"`+id+`"`) || !regexp.MustCompile(c.from).MatchString(e.lines[Answers][line-1]); {
					line++
				}
			}
			place := regexp.MustCompile(c.from).FindStringIndex(e.lines[c.file][line-1])
			if place == nil {
				t.Fatalf("no %s in %s", c.from, e.lines[c.file][line-1])
			}
			was := e.lines[c.file][line-1]
			e.lines[c.file][line-1] = was[:place[0]] + c.to + was[place[1]:]
			records := map[string]record.Record{}
			if c.records {
				records = e.records
			}
			_, err := e.verify(t, table, records)
			var d *DifferenceError
			if !errors.As(err, &d) || !strings.Contains(d.Reason, c.say) {
				t.Fatalf("%v", err)
			}
			want, in := line, c.in
			if in == "" {
				in = c.file
			} else {
				want = at
			}
			if c.say != "" && (d.File != in || d.Line != want) {
				t.Errorf("named %s, line %d; want %s, line %d: %v", d.File, d.Line, in, want, err)
			}
		})
	}
}

// Lines that are missing or added are found.
func TestVerify_lines(t *testing.T) {
	t.Parallel()
	without := func(file string, line int) func(*export) {
		return func(e *export) { e.lines[file] = append(e.lines[file][:line-1:line-1], e.lines[file][line:]...) }
	}
	for name, change := range map[string]func(*export){
		"no match":      without(Matches, 3),
		"no settlement": without(Ratings, 3),
		"no answer": func(e *export) {
			without(Answers, 1+slices.IndexFunc(e.lines[Answers], func(l string) bool { return strings.Contains(l, `"points":1`) }))(e)
		},
		"one owner": func(e *export) {
			e.lines[Matches][1] = regexp.MustCompile(`"owner_id":"ow_\d"`).ReplaceAllString(e.lines[Matches][1], `"owner_id":"ow_x"`)
		},
		"no last one":  func(e *export) { e.lines[Ratings] = e.lines[Ratings][:len(e.lines[Ratings])-1] },
		"answer twice": func(e *export) { e.lines[Answers] = append([]string{e.lines[Answers][0]}, e.lines[Answers]...) },
		"whole match gone": func(e *export) {
			id := `"match_id":"` + e.results[4].MatchID + `"`
			for file, lines := range e.lines {
				var rest []string
				for _, l := range lines {
					if !strings.Contains(l, id) {
						rest = append(rest, l)
					}
				}
				e.lines[file] = rest
			}
		},
		"a long line": func(e *export) { e.lines[Ratings][2] = strings.Repeat(" ", maxLine) + e.lines[Ratings][2] },
		"no file":     func(e *export) { e.lines[Answers] = nil },
	} {
		e := play(t)
		table := e.table(t, len(e.results))
		change(e)
		_, err := e.verify(t, table, nil)
		if d := (*DifferenceError)(nil); !errors.As(err, &d) {
			t.Errorf("%s: %v", name, err)
		}
	}
	e := play(t)
	table := e.table(t, len(e.results))
	// What another file has at its end is newer.
	e.lines[Matches] = append(e.lines[Matches], strings.ReplaceAll(e.lines[Matches][0], "m_1", "m_next"))
	if _, err := e.verify(t, table, nil); err != nil {
		t.Errorf("a newer match: %v", err)
	}
	if _, err := e.verify(t, table, map[string]record.Record{"m_other": {}}); err == nil || !strings.Contains(err.Error(), "m_other: the export does not have this match") {
		t.Errorf("a record of another league: %v", err)
	}
}

// Each number of the table is compared.
func TestVerify_table(t *testing.T) {
	t.Parallel()
	e := play(t)
	table := e.table(t, len(e.results))
	for _, member := range []string{"rating", "rated_matches", "low", "high", "rank_low", "rank_high", "island"} {
		number := regexp.MustCompile(`"` + member + `":[0-9]`)
		all := number.FindAllIndex(table, -1)
		for i, place := range all {
			changed := bytes.Clone(table)
			digit := &changed[place[1]-1]
			*digit = '1' + (*digit-'0')%8
			_, err := e.verify(t, changed, nil)
			d := (*DifferenceError)(nil)
			if member == "rating" && i == len(all)-1 {
				continue // of an agent without a match
			}
			if !errors.As(err, &d) || d.File != Standings {
				t.Errorf("%s %d: %v", member, i, err)
			}
		}
	}
	without := regexp.MustCompile(`\{"agent_id":"ag_3"[^}]*\}[^}]*\},`).ReplaceAll(table, nil)
	if bytes.Equal(without, table) {
		t.Fatal("no agent was removed")
	}
	if _, err := e.verify(t, without, nil); err == nil {
		t.Error("a missing agent was not found")
	}
	later := regexp.MustCompile(`"fit_settlement":\d+`).ReplaceAll(table, []byte(`"fit_settlement":99999`))
	if _, err := e.verify(t, later, nil); err == nil || !strings.Contains(err.Error(), "export again") {
		t.Errorf("a newer refit: %v", err)
	}
}

// An agent that plays as a new version has K = 40 after its first matches.
func TestVerify_newVersion(t *testing.T) {
	t.Parallel()
	e := &export{lines: map[string][]string{}, ratings: map[string]arena.Rating{}, records: map[string]record.Record{}}
	drift := arena.MilliElo(0)
	set := arena.Settings{Rated: true, Format: arena.FormatLadder, ScoreMode: arena.ScoreMatch}
	for n := 1; n <= arena.ProvisionalMatches+10; n++ {
		seats := []arena.Seat{{AgentID: "ag_0", OwnerID: "ow_0", Points: 1000, State: arena.SeatActive}, {AgentID: "ag_1", OwnerID: "ow_1", State: arena.SeatActive}}
		answers := []arena.Answer{{Round: 1, AgentID: "ag_0", Outcome: arena.OutcomeAnswered, Points: 1000}, {Round: 1, AgentID: "ag_1", Outcome: arena.OutcomeAnswered}}
		before := map[string]arena.Rating{}
		for id, r := range e.ratings {
			if r.NewVersion = 0; n > arena.ProvisionalMatches+5 && id == "ag_1" {
				r.NewVersion = 1
			}
			before[id] = r
		}
		seats = scoring.PlaceSeats(set, seats)
		e.add(t, int64(n), fmt.Sprintf("m_%d", n), seats, answers, scoring.Rate(set, seats, answers, before), &drift)
	}
	if last := e.lines[Ratings][len(e.lines[Ratings])-1]; !strings.Contains(last, `"k":20`) || !strings.Contains(last, `"k":40`) {
		t.Fatalf("the last settlement: %s", last)
	}
	if _, err := e.verify(t, nil, nil); err != nil {
		t.Error(err)
	}
}
