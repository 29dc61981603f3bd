package arena_test

import (
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

func TestVoidReason_String(t *testing.T) {
	t.Parallel()
	texts := map[string]arena.VoidCode{}
	for _, code := range arena.VoidCodes() {
		text := arena.VoidReason{Code: code}.String()
		if other, taken := texts[text]; taken || (text == "") != (code == arena.VoidOperator) {
			t.Errorf("%s has the text %q, as %q", code, text, other)
		}
		texts[text] = code
	}
	if got := arena.OperatorReason("rain").String(); got != "rain" {
		t.Errorf("got %q", got)
	}
}

func TestMatch_VoidEvent(t *testing.T) {
	t.Parallel()
	for want, reason := range map[string]arena.VoidReason{
		`{"league":"quiz","reason":"the game failed","void_code":"game_failed"}`: {Code: arena.VoidGameFailed},
		// A text that a person wrote stays an operator's reason, even if a code has the same text.
		`{"league":"quiz","reason":"the game failed","void_code":"operator"}`: arena.OperatorReason("the game failed"),
	} {
		e, err := arena.Match{ID: "m_1", League: "quiz"}.VoidEvent(time.Time{}, reason)
		if err != nil || string(e.Body) != want {
			t.Errorf("%s, %v; want %s", e.Body, err, want)
		}
	}
}
