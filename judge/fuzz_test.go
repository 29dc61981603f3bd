package judge

import (
	"testing"
	"unicode/utf8"
)

// Whatever a language model says, it is one of three choices with a short
// reason, or an error. Threat F8.
func FuzzReadReply(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"message":{"content":"{\"winner\":\"A\",\"reason\":\"r\"}"}}]}`,
		"{\"choices\":[{\"message\":{\"content\":\"```json\\n{\\\"winner\\\":\\\"tie\\\",\\\"reason\\\":\\\"\\\"}```\"}}]}",
		`{"choices":[]}`, `{"choices":[{},{}]}`, `{"Choices":[{}]}`, `{"choices":[{"message":{"content":"{\"winner\":\"C\",\"reason\":\"\"}"}}]}`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := readReply(body)
		if err != nil {
			return
		}
		if !utf8.ValidString(o.reason) || utf8.RuneCountInString(o.reason) > modelReason {
			t.Fatalf("reason %q", o.reason)
		}
	})
}
