package record_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/record"
	"github.com/agora-arena/arena/arena/token"
)

// A match whose record was in format 1 has one in format 2 that verifies, with
// all texts and after they were erased.
func TestUpgraded(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	g := played(t)
	n := 0
	upgraded, salts := record.Upgraded(g.rows(), func() string { n++; return fmt.Sprint("salt ", n) })
	if len(salts) != len(g.m.Seats) || g.m.Seats[0].Salt != "" {
		t.Fatalf("salts %v, seats %+v", salts, g.m.Seats)
	}
	g.m.Seats = upgraded.Match.Seats
	if _, again := record.Upgraded(g.rows(), nil); again != nil {
		t.Errorf("upgraded twice: %v", again)
	}
	before := signedPart(t, g.record(t, keys, nil))
	if fault := verify(g.record(t, keys, nil), jwks); fault != nil {
		t.Errorf("with texts: %v", fault)
	}
	g.erase(t, "ag_a")
	file := g.record(t, keys, nil)
	if fault := verify(file, jwks); fault != nil {
		t.Errorf("after the erasure: %v", fault)
	}
	want, err := record.Erase(before, "ag_a")
	if err != nil {
		t.Fatal(err)
	}
	if after := signedPart(t, file); !bytes.Equal(want.Record, after.Record) {
		t.Errorf("more than the texts changed:\n%s\n%s", want.Record, after.Record)
	}
}

// Hiding removes what one agent wrote in a round, wherever the log repeats it, and
// nothing of another agent.
func TestNewHiding(t *testing.T) {
	t.Parallel()
	g := talkative(t)
	e, err := record.NewHiding(g.rows(), "ag_a", 1, arena.HiddenText)
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range e.Events {
		g.log[changed.Seq-1].Body = changed.Body
	}
	var names, texts int
	notices := 0
	for _, event := range g.log {
		if event.Round == 1 {
			texts += strings.Count(string(event.Body), "by Ada")
		} else {
			names += strings.Count(string(event.Body), "by Ada")
		}
		notices += strings.Count(string(event.Body), arena.HiddenText)
	}
	if texts != 0 || names == 0 || notices < 3 {
		t.Errorf("%d texts are left, %d names, %d notices", texts, names, notices)
	}
	if !slices.ContainsFunc(g.log, func(e arena.Event) bool { return strings.Contains(string(e.Body), "by Bob") }) {
		t.Error("texts of the other agent are gone")
	}
	for place := range e.Commitments {
		if strings.HasPrefix(place, "/seats/") {
			t.Errorf("the name at %s is erased", place)
		}
	}
}
