package api

import (
	"context"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/visibility"
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
