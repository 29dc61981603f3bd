package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/visibility/seal"
)

const (
	testMatch = "m_1"
	agentA    = "ag_a"
	agentB    = "ag_b"
)

// story of one rated, sealed duel of one round, taken over once, as the
// database and everyone else report it.
func peaceful(t *testing.T) (*facts, *journals) {
	t.Helper()
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	task := arena.Task{ID: "tk_1", Description: "question 1", Answers: []string{"right answer 1"}}
	settings := arena.Settings{
		Format: arena.FormatLadder, Judge: arena.JudgeSpec{Kind: arena.JudgeExact}, Rounds: 1, TimeLimit: 2 * time.Second,
		Rated: true, Visibility: arena.VisibilitySealed, ScoreMode: arena.ScoreMatch,
	}
	answer := func(agent, text string, points arena.Points) arena.Answer {
		return arena.Answer{
			MatchID: testMatch, Round: 1, AgentID: agent, Outcome: arena.OutcomeAnswered, Elapsed: time.Second, Attempts: 1,
			Body: &arena.AnswerBody{Answer: text, Reasoning: secretOf(testMatch, 1, agent, 1)}, Points: points, Judged: true,
		}
	}
	m := &matchFacts{
		Match: arena.Match{
			ID: testMatch, League: "duel", Status: arena.MatchFinished, Settings: settings, Round: 1, FinishedAt: at(5),
			Seats: []arena.Seat{
				{No: 0, AgentID: agentA, OwnerID: "ow_1", State: arena.SeatActive, Points: arena.OnePoint, Place: 1, Outcome: arena.OutcomeAnswered},
				{No: 1, AgentID: agentB, OwnerID: "ow_2", State: arena.SeatActive, Place: 2, Outcome: arena.OutcomeAnswered},
			},
			Lease: arena.Lease{MatchID: testMatch, Epoch: 2},
		},
		rounds: []arena.Round{{MatchID: testMatch, No: 1, Task: task, OpenedAt: at(1), ClosedAt: at(4), Interruptions: 1}},
		answers: []arena.Answer{
			answer(agentA, "right answer 1", arena.OnePoint), answer(agentB, "wrong", 0),
		},
	}
	changes := scoring.Rate(settings, m.Seats, m.answers, nil)
	f := &facts{
		matches:     map[string]*matchFacts{testMatch: m},
		settlements: []arena.Settlement{{Seq: 1, MatchID: testMatch, League: "duel", At: at(5), Changes: changes}},
		ratings:     map[ratingKey]arena.Rating{},
		leagues:     []arena.League{{Slug: "duel"}},
		deliveries:  []arena.Delivery{{MatchID: testMatch, AgentID: agentA, Round: 1, Attempt: 1, Status: 200}},
	}
	for i, c := range changes {
		m.Seats[i].Before, m.Seats[i].Delta = c.Before, &c.Delta
		f.ratings[ratingKey{"duel", c.AgentID}] = arena.Rating{
			League: "duel", AgentID: c.AgentID, MilliElo: c.After, Peak: max(c.Before, c.After), Matches: 1, Wins: 1 - i, Losses: i,
		}
	}
	m.log = duelLog(t, m, changes)
	m.Seq = int64(len(m.log))

	j := &journals{
		acked: []string{testMatch}, sightings: map[place]time.Time{{testMatch, 1}: at(4.01)},
		watched: []*watched{{match: testMatch, after: 2, events: digest(m.log)[2:], ended: true}},
		tenures: []tenure{
			{match: testMatch, epoch: 1, process: "1.1", claimed: span{at(1), at(1)}, to: span{at(2), at(2)}, how: "kill -9"},
			{match: testMatch, epoch: 2, process: "2.1", claimed: span{at(3), at(3)}, to: span{at(5), at(5)}, how: logLetGo},
		},
	}
	for _, a := range m.answers {
		j.posts = append(j.posts, post{
			agent: a.AgentID, kind: honest, at: at(1.1), match: testMatch, round: 1, attempt: 1, task: "tk_1", limit: 2 * time.Second,
			answer: a.Body.Answer, secret: a.Body.Reasoning, replied: at(1.5),
		})
	}
	return f, j
}

func duelLog(t *testing.T, m *matchFacts, changes []arena.RatingChange) []arena.Event {
	t.Helper()
	var log []arena.Event
	add := func(kind arena.EventType, agent string, round int, body any) {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		e, err := seal.Event(arena.Event{MatchID: m.ID, Round: round, AgentID: agent, At: m.FinishedAt, Type: kind, Body: data})
		if err != nil {
			t.Fatal(err)
		}
		e.Seq = int64(len(log) + 1)
		log = append(log, e)
	}
	add(arena.EventMatchScheduled, "", 0, map[string]any{})
	add(arena.EventMatchStarted, "", 0, map[string]any{})
	add(arena.EventRoundStarted, "", 1, map[string]any{})
	add(arena.EventSeatOutcome, agentA, 1, map[string]any{"outcome": "answered", "answer": "right answer 1"})
	add(arena.EventRoundStarted, "", 1, map[string]any{"interrupted": true})
	add(arena.EventSeatOutcome, agentB, 1, map[string]any{"outcome": "answered", "answer": "wrong"})
	var reveal arena.RevealBody
	for i, e := range log {
		if len(e.Hidden) > 0 {
			reveal.Events = append(reveal.Events, arena.RevealedEvent{Seq: e.Seq, AgentID: e.AgentID, Hidden: e.Hidden})
			log[i].Hidden = nil // as the store returns it
		}
	}
	add(arena.EventReveal, "", 1, reveal)
	add(arena.EventRoundClosed, "", 1, map[string]any{})
	add(arena.EventMatchFinished, "", 0, arena.MatchFinishedBody{Rated: true, RatingChanges: changes})
	return log
}

func TestCheck_peace(t *testing.T) {
	t.Parallel()
	if found := check(peaceful(t)); len(found) > 0 {
		t.Errorf("violations in a world without any: %v", found)
	}
}

// Each rule finds what breaks it.
func TestCheck_finds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rule string
		harm func(f *facts, m *matchFacts, j *journals)
	}{
		"an open match":         {"1", func(_ *facts, m *matchFacts, _ *journals) { m.Status = arena.MatchRunning }},
		"a lost match":          {"1", func(_ *facts, _ *matchFacts, j *journals) { j.acked = append(j.acked, "m_2") }},
		"a void that was not":   {"1", func(_ *facts, _ *matchFacts, j *journals) { j.voided = []string{testMatch} }},
		"an arena that gave up": {"1", func(_ *facts, m *matchFacts, _ *journals) { m.VoidReason.Code = arena.VoidArenaFailed }},
		"agents out of reach":   {"1", func(_ *facts, m *matchFacts, _ *journals) { m.VoidReason.Code = arena.VoidAgentsUnreachable }},
		"no request":            {"1", func(_ *facts, m *matchFacts, _ *journals) { m.VoidReason.Code = arena.VoidRequestFailed }},
		"no task":               {"1", func(_ *facts, m *matchFacts, _ *journals) { m.VoidReason.Code = arena.VoidTaskSourceFailed }},
		"a round left open":     {"1", func(_ *facts, m *matchFacts, _ *journals) { m.rounds[0].ClosedAt = time.Time{} }},
		"an end without time":   {"2", func(_ *facts, m *matchFacts, _ *journals) { m.FinishedAt = time.Time{} }},
		"another end in the log": {"2", func(_ *facts, m *matchFacts, _ *journals) {
			m.Status, m.VoidReason = arena.MatchVoid, arena.OperatorReason("chaos")
		}},
		"wrong changes reported":    {"2", func(f *facts, _ *matchFacts, _ *journals) { f.settlements[0].Changes[0].Delta++ }},
		"two settlements":           {"3", func(f *facts, _ *matchFacts, _ *journals) { f.settlements = append(f.settlements, f.settlements[0]) }},
		"a seat without its change": {"3", func(_ *facts, m *matchFacts, _ *journals) { m.Seats[0].Delta = nil }},
		"another rating":            {"4", func(f *facts, _ *matchFacts, _ *journals) { delete(f.ratings, ratingKey{"duel", agentA}) }},
		"another number of ratings": {"4", func(f *facts, _ *matchFacts, _ *journals) { f.ratings[ratingKey{"slow", agentA}] = arena.Rating{} }},
		"a change nobody computes": {"4", func(_ *facts, m *matchFacts, _ *journals) {
			m.answers[1].Outcome = arena.OutcomeTimeout
			m.answers = m.answers[:0]
		}},
		"points out of nowhere":    {"5", func(f *facts, _ *matchFacts, _ *journals) { f.settlements[0].Changes[0].Delta++ }},
		"drift":                    {"5", func(f *facts, _ *matchFacts, _ *journals) { f.leagues[0].Drift = 7 }},
		"a settled unrated match":  {"6", func(_ *facts, m *matchFacts, _ *journals) { m.Settings.Rated = false }},
		"two answers":              {"7", func(_ *facts, m *matchFacts, _ *journals) { m.answers = append(m.answers, m.answers[0]) }},
		"an answer lost":           {"7", func(_ *facts, m *matchFacts, _ *journals) { m.answers = m.answers[:1] }},
		"an answer turned down":    {"7", func(_ *facts, m *matchFacts, _ *journals) { m.answers[0].Outcome = arena.OutcomeTimeout }},
		"wrong points":             {"7", func(_ *facts, m *matchFacts, _ *journals) { m.answers[1].Points = 500 }},
		"a late answer":            {"8", func(_ *facts, m *matchFacts, _ *journals) { m.answers[0].Elapsed = 3 * time.Second }},
		"an answer never given":    {"8", func(_ *facts, m *matchFacts, _ *journals) { m.answers[0].Body.Answer = "forged" }},
		"a falling epoch":          {"9", func(_ *facts, _ *matchFacts, j *journals) { j.tenures[1].epoch = 1 }},
		"an epoch beyond the row":  {"9", func(_ *facts, m *matchFacts, _ *journals) { m.Lease.Epoch = 1 }},
		"a late take-over":         {"C1", func(_ *facts, _ *matchFacts, j *journals) { j.tenures[1].overdue = takeOverLimit + 1 }},
		"a lease kept by another":  {"9", func(_ *facts, _ *matchFacts, j *journals) { j.tenures[0].epoch = 2 }},
		"two owners":               {"10", func(_ *facts, _ *matchFacts, j *journals) { j.tenures[0].to = j.tenures[1].to }},
		"a gap in the log":         {"11", func(_ *facts, m *matchFacts, _ *journals) { m.log = slices.Delete(m.log, 3, 4) }},
		"an event after the end":   {"11", func(_ *facts, m *matchFacts, _ *journals) { m.log = append(m.log, arena.Event{Seq: m.Seq + 1}) }},
		"another number of events": {"11", func(_ *facts, m *matchFacts, _ *journals) { m.Seq++ }},
		"a round reported twice":   {"11", func(_ *facts, m *matchFacts, _ *journals) { m.log[4].Body = nil }},
		"a broken commitment": {"11", func(_ *facts, m *matchFacts, _ *journals) {
			m.log[3].Body = json.RawMessage(`{"outcome":"answered","commitment":"0"}`)
		}},
		"a wrong outcome reported": {"11", func(_ *facts, m *matchFacts, _ *journals) { m.answers[0].Outcome = arena.OutcomeError }},
		"bytes that changed":       {"11", func(_ *facts, m *matchFacts, _ *journals) { m.log[8].At = m.log[8].At.Add(time.Second) }},
		"a gap for a spectator": {"12", func(_ *facts, _ *matchFacts, j *journals) {
			w := j.watched[0]
			w.events = slices.Delete(w.events, 1, 2)
		}},
		"a duplicate": {"12", func(_ *facts, _ *matchFacts, j *journals) {
			w := j.watched[0]
			w.events = slices.Insert(w.events, 1, w.events[0])
		}},
		"an end too early":         {"12", func(_ *facts, _ *matchFacts, j *journals) { w := j.watched[0]; w.events = w.events[:2] }},
		"a spectator left waiting": {"12", func(_ *facts, _ *matchFacts, j *journals) { j.watched[0].ended = false }},
		"a sealed part seen":       {"13", func(_ *facts, m *matchFacts, j *journals) { j.sightings[place{testMatch, 1}] = m.rounds[0].OpenedAt }},
		"a sealed part in the log": {"13", func(_ *facts, m *matchFacts, _ *journals) {
			m.log[3].Body = json.RawMessage(`{"outcome":"answered","answer":"secret-1"}`)
		}},
		"a request not issued":       {"14", func(_ *facts, _ *matchFacts, j *journals) { j.posts[0].round = 2 }},
		"an attempt sent twice":      {"14", func(_ *facts, _ *matchFacts, j *journals) { j.posts = append(j.posts, j.posts[0]) }},
		"too many attempts":          {"14", func(_ *facts, _ *matchFacts, j *journals) { j.posts[0].attempt = 5 }},
		"another task":               {"14", func(_ *facts, _ *matchFacts, j *journals) { j.posts[0].task = "tk_2" }},
		"a request with a bad token": {"14", func(_ *facts, _ *matchFacts, j *journals) { j.posts[0].flaw = "it has no token" }},
		"blind journals":             {"harness", func(_ *facts, _ *matchFacts, j *journals) { j.tenures = nil }},
		"a delivery never received":  {"14", func(f *facts, _ *matchFacts, _ *journals) { f.deliveries[0].Attempt = 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, j := peaceful(t)
			tc.harm(f, f.matches[testMatch], j)
			found := check(f, j)
			if !slices.ContainsFunc(found, func(v violation) bool { return v.rule == tc.rule }) {
				t.Errorf("rule %s found nothing; all: %v", tc.rule, found)
			}
		})
	}
}

// The reason of a match that an operator ended excuses it, whatever its words.
func TestCheck_operatorsWords(t *testing.T) {
	t.Parallel()
	f, j := peaceful(t)
	f.matches[testMatch].VoidReason = arena.OperatorReason("the arena is closed today")
	if found := check(f, j); len(found) > 0 {
		t.Errorf("violations: %v", found)
	}
}

// A process that was frozen did nothing while another one owned the match,
// though a later line of its log reports the release.
func TestCheck_frozenOwner(t *testing.T) {
	t.Parallel()
	f, j := peaceful(t)
	j.tenures[0].to = span{j.tenures[0].from(), j.tenures[1].from().Add(time.Second)}
	if found := check(f, j); len(found) > 0 {
		t.Errorf("violations: %v", found)
	}
}

// A busy machine is not held against the arena.
func TestCheck_busyMachine(t *testing.T) {
	t.Parallel()
	turnedDown := func(starved ...span) int {
		f, j := peaceful(t)
		a := &f.matches[testMatch].answers[1]
		a.Outcome, a.Points = arena.OutcomeTimeout, 0
		j.starved = starved
		n := 0
		for _, v := range check(f, j) {
			if v.rule == "7" {
				n++
			}
		}
		return n
	}
	_, j := peaceful(t)
	if idle, busy := turnedDown(), turnedDown(span{j.posts[1].at, j.posts[1].replied}); idle != 1 || busy != 0 {
		t.Errorf("%d violations on an idle machine, %d on a busy one", idle, busy)
	}
}

// An agent that fetches its tasks may get one more often than an endpoint, and
// its answer may have come to a node that died; else the same rules hold.
func TestCheck_pulled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		harm    func(m *matchFacts, j *journals)
		pulled  []string // rules that are broken if the agent fetches its tasks
		carried []string // and if it has an endpoint
	}{
		"many attempts": {harm: func(_ *matchFacts, j *journals) {
			again := j.posts[1]
			again.attempt = 5
			j.posts = append(j.posts, again)
		}, carried: []string{"14", "14"}},
		"an answer to a dead node": {harm: func(m *matchFacts, _ *journals) {
			m.answers[1].Outcome, m.answers[1].Points = arena.OutcomeTimeout, 0
		}, carried: []string{"7"}},
		"an answer that is not stored": {harm: func(m *matchFacts, j *journals) {
			m.answers[1].Outcome, m.answers[1].Points = arena.OutcomeTimeout, 0
			m.rounds[0].Interruptions = 0
		}, pulled: []string{"7"}, carried: []string{"7"}},
		"an attempt twice": {harm: func(_ *matchFacts, j *journals) {
			j.posts = append(j.posts, j.posts[1])
		}, pulled: []string{"14"}, carried: []string{"14", "14"}},
	} {
		for _, pulled := range []bool{true, false} {
			f, j := peaceful(t)
			j.posts[1].pulled = pulled
			tc.harm(f.matches[testMatch], j)
			var broken []string
			for _, v := range check(f, j) {
				if v.rule == "7" || v.rule == "14" {
					broken = append(broken, v.rule)
				}
			}
			want := tc.carried
			if pulled {
				want = tc.pulled
			}
			if !slices.Equal(broken, want) {
				t.Errorf("%s, pulled %t: rules %q are broken, want %q", name, pulled, broken, want)
			}
		}
	}
}

// A process that could not reach the database kept its match.
func TestCheck_keptLease(t *testing.T) {
	t.Parallel()
	f, j := peaceful(t)
	first := &j.tenures[0]
	first.epoch, first.process, first.how = 2, j.tenures[1].process, logSuspect
	if found := check(f, j); len(found) > 0 {
		t.Errorf("violations: %v", found)
	}
	if gaps := handovers(j.tenures); len(gaps) > 0 {
		t.Errorf("a match that was kept changed hands: %v", gaps)
	}
}

// A take-over that had to wait for the database is not late.
func TestCheck_disturbedTakeOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault string
		after time.Duration // of the kill
		late  bool
	}{
		"no database":        {"database cut of all nodes", 500 * time.Millisecond, false},
		"no database before": {"database restart", -2 * time.Second, false},
		"long before":        {"database restart", -10 * time.Second, true},
		"no space":           {"disk full", 0, false},
		"a frozen node":      {"freeze node 2", 0, false},
		"another kill":       {"kill -9 node 2", 500 * time.Millisecond, true},
		"no Redis":           {"redis cut of node 1", 0, true},
		"a busy machine":     {"", 500 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, j := peaceful(t)
			j.nodes, j.tenures[1].overdue = 3, 2*takeOverLimit
			at := j.tenures[0].to.to.Add(tc.after)
			j.faults = []done{{tc.fault, span{at, at.Add(100 * time.Millisecond)}}}
			if tc.fault == "" {
				j.starved, j.faults = []span{j.faults[0].span}, nil
			}
			if found := check(f, j); (len(found) > 0) != tc.late {
				t.Errorf("violations: %v", found)
			}
		})
	}
}

func TestLoad_sighted(t *testing.T) {
	t.Parallel()
	l := &load{sightings: map[place]time.Time{}}
	now := time.Now()
	l.sighted(fmt.Sprintf(`{"a":%q,"b":%q}`, secretOf("m_x", 2, agentA, 1), secretOf("m_y", 13, agentB, 4)), now)
	l.sighted(secretOf("m_x", 2, agentB, 1), now.Add(-time.Second))
	l.sighted(`secret-m_z-rubbish and "secret-`, now)
	want := map[place]time.Time{{"m_x", 2}: now.Add(-time.Second), {"m_y", 13}: now}
	if got := l.seen(); len(got) != 2 || !got[place{"m_x", 2}].Equal(want[place{"m_x", 2}]) || !got[place{"m_y", 13}].Equal(now) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The points of a game must match a replay, even if the log and the rows agree.
func TestCheck_games(t *testing.T) {
	t.Parallel()
	play := func() *matchFacts {
		m := &matchFacts{Match: arena.Match{
			ID: testMatch, Status: arena.MatchFinished, Round: 1,
			Settings: arena.Settings{Game: &arena.GameSpec{Name: "connect_four", Games: 1}, ScoreMode: arena.ScoreResult, Visibility: arena.VisibilitySealed},
			Seats:    []arena.Seat{{No: 0, AgentID: agentA, State: arena.SeatActive}, {No: 1, AgentID: agentB, State: arena.SeatActive, Points: arena.OnePoint}},
		}}
		g, err := game.For(t.Context(), game.Builtin{}, m.Settings)
		if err != nil {
			t.Fatal(err)
		}
		state, err := g.Init(t.Context(), game.NewPosition(m.Match, arena.Round{No: 1}, nil))
		if err != nil {
			t.Fatal(err)
		}
		r := arena.Round{No: 1, ClosedAt: time.Now()}
		if r.Turn, err = g.Turn(t.Context(), game.NewPosition(m.Match, r, state)); err != nil {
			t.Fatal(err)
		}
		m.rounds = []arena.Round{r}
		m.answers = []arena.Answer{{Round: 1, AgentID: agentA, Outcome: arena.OutcomeTimeout, Judged: true}} // loses the only game
		return m
	}
	for name, tt := range map[string]struct {
		change func(*matchFacts)
		want   int
	}{
		"as played":        {func(*matchFacts) {}, 0},
		"other points":     {func(m *matchFacts) { m.Seats[1].Points = 0 }, 1},
		"another position": {func(m *matchFacts) { m.rounds[0].Turn.State = json.RawMessage(`{}`) }, 1},
	} {
		m, c := play(), &checker{}
		tt.change(m)
		if c.points(m); len(c.list) != tt.want {
			t.Errorf("%s: %v", name, c.list)
		}
	}
}
