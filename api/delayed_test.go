package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/visibility"
)

// What happens in a delayed match reaches nobody before its time, by any
// route; then everyone. docs/rules.md, section 5; threat F1.
func TestAPI_delayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) {
		o.Matches.Card = func(m visibility.Match, _ string, _ map[string]string, _ json.RawMessage) ([]byte, error) {
			return fmt.Appendf(nil, "round %d", m.Round), nil
		}
	})
	w.league("quiz", object{"visibility": "delayed:30"})
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	id := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	path := "/v1/matches/" + id
	lease, match := w.play(id)
	w.closeRound(lease, match)
	leaks := func() []string { return w.leaks("SECRET", "quiz", id, a, b) }

	type view struct {
		seq, round, points float64
		rounds, events     int
		current            bool
	}
	see := func(when string, want view) {
		t.Helper()
		for _, token := range []string{"", w.alice, w.admin} {
			m := w.do("GET", path, token, nil).is(200)
			got := view{
				seq: m.at("seq").(float64), round: m.at("round").(float64), points: m.at("seats.0.points").(float64),
				rounds:  len(w.do("GET", path+"/rounds", token, nil).is(200).at("items").([]any)),
				events:  len(w.do("GET", path+"/events", token, nil).is(200).at("items").([]any)),
				current: m.at("current_round") != nil,
			}
			if got != want {
				t.Errorf("%s: %+v, want %+v", when, got, want)
			}
			for _, list := range []string{"/v1/matches", "/v1/leagues/quiz/matches", "/v1/agents/" + a + "/matches"} {
				first := w.do("GET", list, token, nil).is(200)
				if diff := cmp.Diff([]any{want.seq, want.round, want.points, want.current}, []any{first.at("items.0.seq"), first.at("items.0.round"), first.at("items.0.seats.0.points"), first.at("items.0.current_round") != nil}); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", when, list, diff)
				}
			}
			if card := string(w.do("GET", path+"/card.png", token, nil).is(200).body); card != fmt.Sprintf("round %g", want.round) {
				t.Errorf("%s: card of %s", when, card)
			}
			if lobby := w.do("GET", "/v1/lobby", token, nil).is(200); lobby.at("live.0.seq") != want.seq || (lobby.at("live.0.current_round") != nil) != want.current {
				t.Errorf("%s: lobby %s", when, lobby.body)
			}
		}
	}
	see("at once", view{seq: 1, events: 1})
	if paths := leaks(); len(paths) > 0 {
		t.Errorf("a delayed round leaks in %v", paths)
	}
	w.now.Add((29 * time.Second).Milliseconds())
	see("too early", view{seq: 1, events: 1})
	w.now.Add(time.Second.Milliseconds())
	see("in time", view{seq: 4, round: 1, points: 1, rounds: 1, events: 4, current: true})
	shown := leaks()
	for _, part := range []string{"/rounds", "/events", "/verdicts"} {
		if !slices.Contains(shown, path+part) {
			t.Errorf("%s never shows it: this test could not fail", part)
		}
	}
}
