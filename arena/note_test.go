package arena_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
)

// The texts are published: leagues that are stored have them.
func TestNoteOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		note, text, params string
		code               arena.NoteCode
	}{
		{arena.NeedsAgentsNote(2, 0), "needs 2 idle agents, has 0", `{"least":2,"has":0}`, arena.NoteNeedsAgents},
		{
			arena.BudgetsStopNote(2, 1, 3), "needs 2 idle agents, has 1; the budgets of their owners stop 3 more",
			`{"least":2,"has":1,"stopped":3}`, arena.NoteBudgetsStop,
		},
		{arena.JustMetNote(2), "2 idle agents have just met; they wait for another opponent", `{"idle":2}`, arena.NoteJustMet},
		{
			arena.WaitsForOpponentNote(4, 7.5), "4 idle agents have just met or can meet only unrated; they wait up to 7.5 s for another opponent",
			`{"idle":4,"seconds":7.5}`, arena.NoteWaitsForOpponent,
		},
		{
			arena.OnlyUnratedNote(3, 3), "3 idle agents can meet only unrated: they are of one owner, or have met 3 times in 24 h",
			`{"idle":3,"meetings":3}`, arena.NoteOnlyUnrated,
		},
		{arena.WaitsForAgentNote(2, "Ann: 50 % of it"), "round 2 waits for Ann: 50 % of it", `{"round":2,"agent":"Ann: 50 % of it"}`, arena.NoteWaitsForAgent},
		{
			arena.WaitsForBudgetNote(2, "Ann"), "round 2 waits for Ann: the budget of its owner stops it",
			`{"round":2,"agent":"Ann"}`, arena.NoteWaitsForBudget,
		},
		{arena.GathersNote(3, 2), "3 agents are ready; 2 still play elsewhere", `{"ready":3,"playing":2}`, arena.NoteGathers},
		{
			arena.GameFailedNote("m_1", "nim.js:3:7: no: such move"), "the rules of the game failed in match m_1: nim.js:3:7: no: such move",
			`{"match_id":"m_1","fault":"nim.js:3:7: no: such move"}`, arena.NoteGameFailed,
		},
	} {
		code, params := arena.NoteOf(tt.note)
		body, err := json.Marshal(params)
		if tt.note != tt.text || code != tt.code || string(body) != tt.params || err != nil {
			t.Errorf("%q has the code %q and the parameters %s, %v; want %q, %q and %s", tt.note, code, body, err, tt.text, tt.code, tt.params)
		}
	}
}

// Each code has a text, and each text that can be made is found again.
func TestNoteOf_any(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<40)
		word := rapid.StringMatching(`[\pL\d:;,%. ]{0,20}`)
		seconds := rapid.Float64Range(0, 1e6).Draw(t, "seconds")
		a, b, c := n.Draw(t, "a"), n.Draw(t, "b"), n.Draw(t, "c")
		name, id := word.Draw(t, "name"), rapid.StringMatching(`m_[0-9a-z]{26}`).Draw(t, "id")
		notes := map[arena.NoteCode]string{
			arena.NoteNeedsAgents: arena.NeedsAgentsNote(a, b), arena.NoteBudgetsStop: arena.BudgetsStopNote(a, b, c),
			arena.NoteJustMet: arena.JustMetNote(a), arena.NoteWaitsForOpponent: arena.WaitsForOpponentNote(a, seconds),
			arena.NoteOnlyUnrated: arena.OnlyUnratedNote(a, b), arena.NoteWaitsForAgent: arena.WaitsForAgentNote(a, name),
			arena.NoteWaitsForBudget: arena.WaitsForBudgetNote(a, name), arena.NoteGathers: arena.GathersNote(a, b),
			arena.NoteGameFailed: arena.GameFailedNote(id, name),
		}
		for _, code := range arena.NoteCodes() {
			note, known := notes[code]
			if got, params := arena.NoteOf(note); !known || got != code || params == nil {
				t.Fatalf("%s: %q has the code %q and the parameters %v", code, note, got, params)
			}
		}
	})
}

// A text of an older node, of a newer one or of a person has no code.
func TestNoteOf_otherTexts(t *testing.T) {
	t.Parallel()
	for _, note := range []string{
		"", "needs rain", "needs 2 idle agents, has 1 or more", "needs -2 idle agents, has 1", "it needs 2 idle agents, has 1", "needs 2 idle agents, has ",
		"needs 2 idle agents, has 1; the budgets of their owners stop some more", "round two waits for Ann",
		"needs 99999999999999999999 idle agents, has 1", "needs 02 idle agents, has 1",
	} {
		if code, params := arena.NoteOf(note); code != "" || params != nil {
			t.Errorf("%q has the code %q and the parameters %v", note, code, params)
		}
	}
}

func TestNoteCodes(t *testing.T) {
	t.Parallel()
	codes := arena.NoteCodes()
	unique := slices.Compact(slices.Sorted(slices.Values(codes)))
	if d := cmp.Diff(len(codes), len(unique)); d != "" || slices.ContainsFunc(codes, func(c arena.NoteCode) bool { return strings.ContainsAny(string(c), " .-") }) {
		t.Errorf("codes %v", codes)
	}
}
