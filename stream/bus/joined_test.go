package bus

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What waits on a topic goes as one message, in its order, and what the
// publisher gave stays as it was.
func TestBus_joined(t *testing.T) {
	t.Parallel()
	b := &Bus{join: func(topic string, first, then []byte) ([]byte, bool) {
		return append(first, then...), topic != "other" && string(then) != "x"
	}}
	first := append(make([]byte, 0, 8), "a1"...) // with room behind it
	large := strings.Repeat("l", maxJoined)
	message := func(topic, text string) letter { return letter{topic: topic, kind: kindMessage, payload: []byte(text)} }
	batch := []letter{
		{topic: "a", kind: kindMessage, payload: first},
		message("b", "b1"), message("a", "a2"), message("other", "o1"), message("a", "a3"),
		message("other", "o2"),
		{topic: "b", kind: kindMissed},
		message("b", "b2"), message("a", "x"), message("a", "a4"),
		message("c", large), message("c", "c2"),
	}
	want := []letter{
		message("a", "a1a2a3"), message("b", "b1"), message("other", "o1"), message("other", "o2"),
		{topic: "b", kind: kindMissed},
		message("b", "b2"), message("a", "xa4"), message("c", large), message("c", "c2"),
	}
	if d := cmp.Diff(want, b.joined(batch), cmp.AllowUnexported(letter{})); d != "" {
		t.Error(d)
	}
	if string(first) != "a1" || string(first[:4]) == "a1a2" {
		t.Errorf("the publisher's message became %q", first[:4])
	}
}
