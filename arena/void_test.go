package arena_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// The texts are published: matches that are stored have them.
func TestVoidCode_Reason(t *testing.T) {
	t.Parallel()
	want := map[arena.VoidCode]string{
		arena.VoidTooFewAgents:      "fewer than two agents were left",
		arena.VoidAgentsUnreachable: "the arena could not reach its agents",
		arena.VoidInterrupted:       "interrupted too often",
		arena.VoidGameFailed:        "the game failed",
		arena.VoidTaskSourceFailed:  "the task source failed",
		arena.VoidRequestFailed:     "the arena could not prepare a request",
		arena.VoidArenaFailed:       "the arena failed",
		arena.VoidSeasonFinished:    "the season was finished",
		arena.VoidedByAdmin:         "voided by an admin",
		arena.VoidedByOrganizer:     "voided by an organizer",
		arena.VoidedByModerator:     "voided by a moderator",
		arena.CancelledByAdmin:      "cancelled by an admin",
		arena.CancelledByOrganizer:  "cancelled by an organizer",
		arena.CancelledByModerator:  "cancelled by a moderator",
		arena.VoidOperator:          "",
	}
	got := map[arena.VoidCode]string{}
	for _, code := range arena.VoidCodes() {
		got[code] = code.Reason()
		if back := arena.VoidCodeOf(code.Reason()); code != arena.VoidOperator && back != code {
			t.Errorf("the reason of %s has the code %q", code, back)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("reasons (-want +got):\n%s", d)
	}
}

func TestVoidCodeOf_otherTexts(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]arena.VoidCode{
		"": "", "rain": arena.VoidOperator, "The arena failed": arena.VoidOperator, "the arena failed twice": arena.VoidOperator,
	} {
		if got := arena.VoidCodeOf(reason); got != want {
			t.Errorf("%q has the code %q, want %q", reason, got, want)
		}
	}
}

func TestMatch_VoidEvent(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"the game failed": `{"league":"quiz","reason":"the game failed","void_code":"game_failed"}`,
		"rain":            `{"league":"quiz","reason":"rain","void_code":"operator"}`,
	} {
		e, err := arena.Match{ID: "m_1", League: "quiz"}.VoidEvent(time.Time{}, reason)
		if err != nil || string(e.Body) != want {
			t.Errorf("%q: %s, %v; want %s", reason, e.Body, err, want)
		}
	}
}
