package api

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// noNotation is a match of a game without a notation.
func noNotation(_ context.Context, m visibility.Match, league string, rounds []visibility.ClosedRound) (arena.Notation, error) {
	return arena.Notation{}, arena.Errorf(arena.CodeNotFound, "match %s of %s has %d rounds and no notation", m.ID, league, len(rounds))
}

func TestAPI_card(t *testing.T) {
	t.Parallel()
	m := newMatrixWorld(t)
	id := m.match("one")
	got := m.do("GET", "/v1/matches/"+id+"/card.png", "", nil).is(200)
	if want := "picture of " + id + " in "; len(got.body) < len(want) || string(got.body[:len(want)]) != want {
		t.Errorf("card: %q", got.body)
	}
	if kind, keep := got.header.Get("Content-Type"), got.header.Get("Cache-Control"); kind != pngType || keep != "public, max-age=30" {
		t.Errorf("headers %q, %q", kind, keep)
	}
	m.do("POST", "/v1/matches/"+id+"/void", m.admin, nil).is(200)
	if keep := m.do("GET", "/v1/matches/"+id+"/card.png", "", nil).is(200).header.Get("Cache-Control"); keep != "public, max-age=86400" {
		t.Errorf("of a match that is over: %q", keep)
	}
	m.do("GET", "/v1/matches/m_00000000000000000000000000/card.png", "", nil).is(404)
}

// The card of a match of a game gets the position, as spectators see it.
func TestAPI_card_position(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("POST", "/v1/leagues", w.admin, object{"slug": "fours", "title": "Fours", "game": object{"name": "connect_four"}, "time_limit_seconds": 5, "rated": false}).is(201)
	a, b := w.agent(w.alice, "a", "fours"), w.agent(w.bob, "b", "fours")
	id := w.do("POST", "/v1/matches", w.admin, object{"league": "fours", "agents": []string{a, b}}).is(201).str("match_id")
	card := func(want string) {
		t.Helper()
		if got := string(w.do("GET", "/v1/matches/"+id+"/card.png", "", nil).is(200).body); !strings.HasSuffix(got, " in Fours with map[] "+want) {
			t.Errorf("got %q, want the position %q", got, want)
		}
	}
	card("")
	lease, m := w.play(id)
	card("")
	closed := arena.Event{MatchID: id, Round: 1, At: testNow, Type: arena.EventRoundClosed, Body: json.RawMessage(`{"seats":[],"state":{"kind":"grid"}}`)}
	if _, err := w.store.Matches.CloseRound(t.Context(), lease, arena.RoundClose{Round: 1, Seats: m.Seats}, func([]arena.Event) ([]arena.Event, error) {
		return []arena.Event{closed}, nil
	}); err != nil {
		t.Fatal(err)
	}
	card(`{"kind":"grid"}`)
}
