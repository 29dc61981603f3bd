package stream

import "testing"

func TestJoinMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ topic, first, then, want string }{
		{"match:m_1", ".7\na\nb", ".9\nc", ".7\na\nb\nc"},
		{"match:m_1", ".7\na", "!8\nc", "!7\na\nc"}, // the last of the match
		{"match:m_1", "!7\na", ".8\nc", ""},         // after it comes nothing
		{"match:m_1", ".7\na\nb", ".8\nc", ""},      // again
		{"match:m_1", ".7\na", ".9\nc", ""},         // one is missing
		{"match:m_1", ".7\na", ".8", ""},
		{"match:m_1", ".x\na", ".8\nb", ""},
		{"league:cup", "\na", "\nb\nc", "\na\nb\nc"},
		{"lobby", "\na", "\nb", "\na\nb"},
		{"node:viewers", "a", "b", ""},
	} {
		got, ok := JoinMessages(c.topic, []byte(c.first), []byte(c.then))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s, %q and %q: %q, %t", c.topic, c.first, c.then, got, ok)
		}
	}
}
