package arena_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

func TestNote_String(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	seen := map[arena.NoteCode]bool{}
	for _, tt := range []struct {
		note         arena.Note
		text, params string
		code         arena.NoteCode
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
		{arena.GathersNote(3, 2, time.Time{}), "3 agents are ready; 2 still play elsewhere", `{"ready":3,"playing":2}`, arena.NoteGathers},
		{
			arena.PlaysElsewhereNote(2, "Ann", noon), "round 2 waits for Ann, which plays elsewhere, until 2026-11-21T12:00:00Z at the latest",
			`{"round":2,"agent":"Ann","until":"2026-11-21T12:00:00Z"}`, arena.NotePlaysElsewhere,
		},
		{
			arena.NotOfferedNote(4, 1, "cup", []string{"Ann", "Bob", "Cid", "Dan"}), "needs 4 idle agents, has 1; these do not list cup in their health checks: Ann, Bob, Cid, …",
			`{"least":4,"has":1,"league":"cup","agents":"Ann, Bob, Cid, …"}`, arena.NoteNotOffered,
		},
		{arena.WaitsForAgentNote(2, "{round}"), "round 2 waits for {round}", `{"round":2,"agent":"{round}"}`, arena.NoteWaitsForAgent},
		{
			arena.GameFailedNote("m_1", "nim.js:3:7: no: such move"), "the rules of the game failed in match m_1: nim.js:3:7: no: such move",
			`{"match_id":"m_1","fault":"nim.js:3:7: no: such move"}`, arena.NoteGameFailed,
		},
		{
			arena.JudgeNote(arena.JudgeMeasure{Name: arena.BiasOrder, N: 40, Low: 0.619, Limit: 0.5}),
			"the judge contradicts itself when answers are swapped: at least 61 % of comparisons in 40 matches, the limit is 50 %",
			`{"matches":40,"least_percent":61,"limit_percent":50}`, arena.NoteJudgeOrder,
		},
		{
			arena.JudgeNote(arena.JudgeMeasure{Name: arena.BiasLength, N: 40, Low: 0.8, Limit: 0.75}),
			"the judge prefers longer answers: they win at least 80 % of comparable comparisons in 40 matches, the limit is 75 %",
			`{"matches":40,"least_percent":80,"limit_percent":75}`, arena.NoteJudgeLength,
		},
		{
			arena.JudgeNote(arena.JudgeMeasure{Name: arena.BiasFamily, N: 40, Low: 0.65, Limit: 0.6}),
			"the judge prefers answers of its own model family, compared with the other judges: a share of at least 65 % in 40 matches, 50 % is fair, the limit is 60 %",
			`{"matches":40,"least_percent":65,"limit_percent":60}`, arena.NoteJudgeFamily,
		},
		{
			arena.AuditNote([]string{arena.CheatCopier, arena.FoundDelay}), "the audit found that agents can cheat: copier, short_delay",
			`{"cheats":"copier, short_delay"}`, arena.NoteAudit,
		},
		{
			arena.JudgeNote(arena.JudgeMeasure{Name: arena.BiasGold, N: 40, Low: 0.55, Limit: 0.5}),
			"the judge does not choose the better answer where it is known: in at least 55 % of 40 gold items, the limit is 50 %",
			`{"items":40,"least_percent":55,"limit_percent":50}`, arena.NoteJudgeGold,
		},
	} {
		body, err := json.Marshal(tt.note.Params)
		if tt.note.String() != tt.text || tt.note.Code != tt.code || string(body) != tt.params || err != nil {
			t.Errorf("got %s: %q with %s, %v; want %s: %q with %s", tt.note.Code, tt.note, body, err, tt.code, tt.text, tt.params)
		}
		seen[tt.note.Code] = true
	}
	for _, code := range arena.NoteCodes() {
		if !seen[code] {
			t.Errorf("no note has the code %s", code)
		}
	}
	if got := (arena.Note{}).String(); got != "" {
		t.Errorf("the zero note is %q", got)
	}
}

func TestNote_Equal(t *testing.T) {
	t.Parallel()
	note := arena.NeedsAgentsNote(2, 1)
	for other, want := range map[arena.Note]bool{
		arena.NeedsAgentsNote(2, 1): true, arena.NeedsAgentsNote(2, 0): false, arena.BudgetsStopNote(2, 1, 1): false, {}: false,
	} {
		if note.Equal(other) != want {
			t.Errorf("%q equals %q: %t", note, other, !want)
		}
	}
}
