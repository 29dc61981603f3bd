package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// judgedLeague is a running league with a language model as its judge, whose matches are
// stored as the engine stores them.
type judgedLeague struct {
	t       *testing.T
	s       *Server
	slug    string
	rated   bool
	agents  []string
	matches int
}

func newJudgedLeague(t *testing.T, s *Server, slug string, rated bool) *judgedLeague {
	t.Helper()
	l := &judgedLeague{t: t, s: s, slug: slug, rated: rated}
	for _, name := range []string{slug + "a", slug + "b"} {
		owner := arena.Owner{ID: "ow_" + name, Name: name, CreatedAt: s.now()}
		must(t, s.store.Accounts.CreateOwner(t.Context(), owner, arena.Token{ID: "to_" + name, OwnerID: owner.ID, Scope: arena.ScopeOwner, Name: "x", Hash: [32]byte([]byte(fmt.Sprintf("%32s", name))), CreatedAt: s.now()}))
		a := arena.Agent{ID: "ag_" + name, OwnerID: owner.ID, Name: name, Protocol: "aap", Endpoint: "https://" + name + ".example.org", Version: "1", CreatedAt: s.now(), PassedAt: s.now()}
		a.Health.OK, a.Health.MaxConcurrent = true, 1000 // matches stay open
		must(t, s.store.Agents.CreateAgent(t.Context(), a))
		l.agents = append(l.agents, a.ID)
	}
	must(t, s.store.Leagues.CreateLeague(t.Context(), arena.League{Slug: slug, Title: slug, Status: arena.LeagueRunning, Settings: l.settings(), CreatedAt: s.now()}))
	return l
}

func (l *judgedLeague) settings() arena.Settings {
	return arena.Settings{
		Format: arena.FormatLadder, Judge: arena.JudgeSpec{Kind: arena.JudgeModel, Criteria: "the funnier"}, Rounds: 1, MinSeats: 2, MaxSeats: 2,
		TimeLimit: time.Second, Rated: l.rated, Visibility: arena.VisibilitySealed, ScoreMode: arena.ScoreMatch,
	}
}

// play plays matches. A judge that flips prefers the first answer in both orders.
func (l *judgedLeague) play(n int, flips bool) {
	l.t.Helper()
	ctx, rows, now := l.t.Context(), l.s.store.Matches, l.s.now()
	nothing := func([]arena.Event) ([]arena.Event, error) { return nil, nil }
	for range n {
		l.matches++
		m := arena.Match{ID: fmt.Sprintf("m_%s%03d", l.slug, l.matches), League: l.slug, Settings: l.settings(), Seed: 5, CreatedAt: now, StartsAt: now}
		for i, id := range l.agents {
			m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: id, Protocol: "aap", Version: "1", State: arena.SeatActive})
		}
		scheduled := arena.Event{MatchID: m.ID, At: now, Type: arena.EventMatchScheduled, Body: json.RawMessage(`{}`)}
		_, lease, err := rows.CreateAndClaim(ctx, m, scheduled, "nd_1", time.Hour)
		must(l.t, err)
		_, err = rows.StartMatch(ctx, lease, m.Seats, now, &arena.Round{MatchID: m.ID, No: 1, OpenedAt: now, Task: arena.Task{ID: "tk_1", Description: "A joke."}}, nil)
		must(l.t, err)
		for i, id := range l.agents {
			_, err := rows.SaveAnswer(ctx, lease, arena.Answer{
				MatchID: m.ID, Round: 1, AgentID: id, Outcome: arena.OutcomeAnswered, Attempts: 1, Body: &arena.AnswerBody{Answer: strings.Repeat("ha", 3-(i+l.matches)%2)},
			}, nil, nil)
			must(l.t, err)
		}
		a, b := l.agents[0], l.agents[1]
		v := arena.Verdict{Round: 1, Judge: arena.JudgeModel, Version: "model-2/x", At: now, Ballots: []arena.Ballot{
			{Judge: "x", First: a, Second: b, Choice: a}, {Judge: "x", First: b, Second: a, Choice: a},
		}}
		if flips {
			v.Ballots[1].Choice = b
		}
		_, err = rows.CloseRound(ctx, lease, arena.RoundClose{Round: 1, Seats: m.Seats, Verdict: v}, nothing)
		must(l.t, err)
	}
}

// look runs the job and checks the league afterwards.
func (l *judgedLeague) look(w *judgeWatch, status arena.LeagueStatus, code arena.NoteCode) {
	l.t.Helper()
	must(l.t, w.run(l.t.Context()))
	got, err := l.s.store.Leagues.League(l.t.Context(), l.slug)
	must(l.t, err)
	if got.Status != status || got.Note.Code != code {
		l.t.Fatalf("after %d matches %s is %s: %s; want %s, %s", l.matches, l.slug, got.Status, got.Note, status, code)
	}
}

// A rated league whose judge contradicts itself pauses and notes why. After it was
// resumed, only new verdicts count. Other leagues go on.
func TestJudgeWatch(t *testing.T) {
	t.Parallel()
	var ticks atomic.Int64 // no two times are the same
	began := time.Now()
	now := func() time.Time { return began.Add(time.Duration(ticks.Add(1)) * time.Millisecond) }
	s, err := New(t.Context(), testConfig(t, "sqlite:"+filepath.Join(t.TempDir(), "arena.db")), slog.New(slog.DiscardHandler), Options{World: World{Now: now}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	rated, unrated, honest := newJudgedLeague(t, s, "rated", true), newJudgedLeague(t, s, "unrated", false), newJudgedLeague(t, s, "honest", true)
	w := s.newJudgeWatch()
	rated.play(10, true)
	rated.look(w, arena.LeagueRunning, "") // too few
	rated.play(2, true)
	unrated.play(12, true)
	honest.play(40, false)
	rated.look(w, arena.LeaguePaused, arena.NoteJudgeOrder)
	unrated.look(w, arena.LeagueRunning, "")
	honest.look(w, arena.LeagueRunning, "")

	type card struct {
		Card []struct {
			Name  string
			N     int
			Share *float64
			Over  bool
		}
		CardSince *time.Time `json:"card_since"`
	}
	read := func(slug string) (c card) {
		t.Helper()
		r := request(t, s, http.MethodGet, "/v1/leagues/"+slug+"/judge", "", "")
		must(t, json.Unmarshal(r.Body.Bytes(), &c))
		if len(c.Card) != 3 {
			t.Fatalf("%d: %s", r.Code, r.Body)
		}
		return c
	}
	if c := read("rated"); c.Card[0].Name != "order" || c.Card[0].N != 12 || *c.Card[0].Share != 1 || !c.Card[0].Over || c.CardSince != nil {
		t.Errorf("the paused league has the card %+v", c)
	}
	// The same agent wins with the longer and with the shorter answer.
	if c := read("honest"); *c.Card[0].Share != 0 || c.Card[1].N != 40 || *c.Card[1].Share != 0.5 || c.Card[2].Share != nil {
		t.Errorf("the honest league has the card %+v", c)
	}

	if r := request(t, s, http.MethodPost, "/v1/leagues/rated/resume", testAdmin, ""); r.Code != http.StatusOK {
		t.Fatalf("%d: %s", r.Code, r.Body)
	}
	rated.look(s.newJudgeWatch(), arena.LeagueRunning, "") // as another node
	if c := read("rated"); c.Card[0].N != 0 || c.CardSince == nil {
		t.Errorf("the resumed league has the card %+v", c)
	}
	rated.play(10, true)
	rated.look(w, arena.LeagueRunning, "")
	rated.play(1, true)
	rated.look(w, arena.LeaguePaused, arena.NoteJudgeOrder)
	// A pause for another reason keeps the card.
	for _, action := range []string{"resume", "pause", "resume"} {
		rated.play(1, true)
		if r := request(t, s, http.MethodPost, "/v1/leagues/rated/"+action, testAdmin, ""); r.Code != http.StatusOK {
			t.Fatalf("%d: %s", r.Code, r.Body)
		}
	}
	if c := read("rated"); c.Card[0].N != 2 {
		t.Errorf("the league that was paused by hand has the card %+v", c)
	}
}
