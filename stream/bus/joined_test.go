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
	first := append(make([]byte, 0, 8), "a1"...) // with spare capacity
	large := strings.Repeat("l", maxJoined)
	of := func(topic, text string) message {
		return message{topic: topic, kind: kindMessage, payload: []byte(text)}
	}
	batch := []message{
		{topic: "a", kind: kindMessage, payload: first},
		of("b", "b1"), of("a", "a2"), of("other", "o1"), of("a", "a3"),
		of("other", "o2"),
		{topic: "b", kind: kindMissed},
		of("b", "b2"), of("a", "x"), of("a", "a4"),
		of("c", large), of("c", "c2"),
	}
	want := []message{
		of("a", "a1a2a3"), of("b", "b1"), of("other", "o1"), of("other", "o2"),
		{topic: "b", kind: kindMissed},
		of("b", "b2"), of("a", "xa4"), of("c", large), of("c", "c2"),
	}
	if d := cmp.Diff(want, b.joined(batch), cmp.AllowUnexported(message{})); d != "" {
		t.Error(d)
	}
	if string(first) != "a1" || string(first[:4]) == "a1a2" {
		t.Errorf("the publisher's message became %q", first[:4])
	}
}
