package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	gold    string // pack
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
		Format: arena.FormatLadder, Judge: arena.JudgeSpec{Kind: arena.JudgeModel, Criteria: "the funnier", Gold: l.gold}, Rounds: 1, MinSeats: 2, MaxSeats: 2,
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

// goldItem is what a language model receives about a pair of answers.
type goldItem struct{ Criteria, Task, A, B string }

// chatModel is a language model by HTTP that chooses "A" or "B". It counts the
// comparisons of the task "Item n.".
func chatModel(t *testing.T, choose func(goldItem) string) (url string, asked *sync.Map) {
	t.Helper()
	asked = &sync.Map{}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []struct{ Content string } }
		var item goldItem
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) != 2 || json.Unmarshal([]byte(q.Messages[1].Content), &item) != nil {
			t.Errorf("the model cannot read its request: %v", err)
		}
		if strings.Contains(q.Messages[1].Content, "m_") || item.Criteria != "the funnier" {
			t.Errorf("an item is told from a round by %s", q.Messages[1].Content)
		}
		n, _ := asked.LoadOrStore(item.Task, new(atomic.Int64))
		n.(*atomic.Int64).Add(1) //nolint:forcetypeassert // stored above
		content, _ := json.Marshal(map[string]string{"winner": choose(item), "reason": "so"})
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"content": string(content)}}}})
	}))
	t.Cleanup(model.Close)
	return model.URL, asked
}

func goldPack(t *testing.T, s *Server, id string) string {
	t.Helper()
	var items []arena.Task
	for i := range 12 {
		pair := []string{fmt.Sprintf("good %d", i), fmt.Sprintf("dull %d", i)}
		item := arena.Task{ID: fmt.Sprintf("tk_%s%d", id, i), Description: fmt.Sprintf("Item %d.", i), Options: pair, Answers: []string{pair[0]}}
		if i%2 == 1 {
			slices.Reverse(item.Options)
		}
		items = append(items, item)
	}
	must(t, s.store.Packs.CreatePack(t.Context(), arena.Pack{ID: id, Name: id, CreatedAt: s.now()}, items))
	return id
}

// After every ten judged rounds the judge is asked about one gold item. A rated league
// pauses when it is wrong too often; an honest judge keeps judging, and an unrated league
// keeps playing.
func TestJudgeWatch_gold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		choose func(goldItem) string
		unfit  bool
		asked  int // items with a verdict
		share  float64
	}{
		"honest": {func(i goldItem) string {
			if strings.HasPrefix(i.A, "good") {
				return "A"
			}
			return "B"
		}, false, 12, 0},
		"always the first": {func(goldItem) string { return "A" }, true, 11, 1},
		"nonsense":         {func(goldItem) string { return "the funnier" }, false, 0, 0}, // voids its rounds, too
		"always a tie":     {func(goldItem) string { return "tie" }, true, 11, 1},
		"the worse": {func(i goldItem) string {
			if strings.HasPrefix(i.A, "good") {
				return "B"
			}
			return "A"
		}, true, 11, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ticks atomic.Int64
			began := time.Now()
			now := func() time.Time { return began.Add(time.Duration(ticks.Add(1)) * time.Millisecond) }
			url, asked := chatModel(t, tt.choose)
			cfg := testConfig(t, "sqlite:"+filepath.Join(t.TempDir(), "arena.db"), "ARENA_JUDGE_URL="+url, "ARENA_JUDGE_MODEL=x")
			s, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler), Options{World: World{Now: now}})
			must(t, err)
			t.Cleanup(func() { must(t, s.Close()) })
			l := newJudgedLeague(t, s, "gold", true)
			l.gold = goldPack(t, s, "pk_gold")
			_, err = s.store.Leagues.UpdateLeague(t.Context(), l.slug, func(stored *arena.League) error { stored.Settings = l.settings(); return nil })
			must(t, err)
			w := s.newJudgeWatch()
			for looks := 1; looks <= 14; looks++ {
				l.play(9, false)
				l.look(w, arena.LeagueRunning, "")
				if n := comparisons(asked); n != 2*(looks-1) {
					t.Fatalf("after %d rounds the judge was asked %d times", l.matches, n)
				}
				l.play(1, false)
				if tt.unfit && looks == 11 {
					l.look(w, arena.LeaguePaused, arena.NoteJudgeGold)
					break
				}
				l.look(w, arena.LeagueRunning, "")
			}
			r := request(t, s, http.MethodGet, "/v1/leagues/gold/judge", "", "")
			var c struct {
				Card []struct {
					Name  string
					N     int
					Share *float64
					Over  bool
				}
			}
			must(t, json.Unmarshal(r.Body.Bytes(), &c))
			if len(c.Card) != 4 || c.Card[3].Name != "gold" || c.Card[3].N != tt.asked || c.Card[3].Over != tt.unfit || tt.asked > 0 && *c.Card[3].Share != tt.share {
				t.Errorf("the card is %s", r.Body)
			}
			for _, path := range []string{"/v1/leagues/gold/judge", "/v1/leagues/gold", "/v1/leagues", "/v1/leagues/gold/export?kind=verdicts"} {
				if body := request(t, s, http.MethodGet, path, "", "").Body.String(); strings.Contains(body, "Item ") || strings.Contains(body, "dull") {
					t.Errorf("%s has a gold item: %s", path, body)
				}
			}
		})
	}
}

// comparisons counts the questions to a chatModel about items.
func comparisons(asked *sync.Map) (n int) {
	asked.Range(func(_, count any) bool {
		n += int(count.(*atomic.Int64).Load()) //nolint:forcetypeassert // stored by chatModel
		return true
	})
	return n
}

// Gold items of which the judge of an unrated league is wrong do not pause it.
func TestJudgeWatch_goldUnrated(t *testing.T) {
	t.Parallel()
	url, asked := chatModel(t, func(goldItem) string { return "tie" })
	s := newTestServer(t, "ARENA_JUDGE_URL="+url, "ARENA_JUDGE_MODEL=x")
	l := newJudgedLeague(t, s, "casual", false)
	l.gold = goldPack(t, s, "pk_gold")
	_, err := s.store.Leagues.UpdateLeague(t.Context(), l.slug, func(stored *arena.League) error { stored.Settings = l.settings(); return nil })
	must(t, err)
	l.play(10, false)
	l.look(s.newJudgeWatch(), arena.LeagueRunning, "")
	if n := comparisons(asked); n != 2 {
		t.Errorf("the judge was asked %d times about items", n)
	}
}
