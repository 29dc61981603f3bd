package record_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
)

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
