package agora_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Questions of other protocols, as text and in the form of a document. Refusals are
// the domain's.
func TestServer_Ask_and_Look(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	said, err := f.Server.Ask(t.Context(), "192.0.2.7", "Which leagues are there?")
	if err != nil || !strings.Contains(said, "trivia") {
		t.Errorf("%q, %v", said, err)
	}
	found, err := f.Server.Look(t.Context(), "192.0.2.7", "standings", []byte(`{"league":"trivia"}`))
	must(t, err)
	data, err := json.Marshal(found)
	must(t, err)
	if !strings.Contains(string(data), `"league":"trivia"`) || !strings.Contains(string(data), `"standings":[`) {
		t.Errorf("%s", data)
	}
	for _, c := range []struct {
		document, body string
		code           arena.Code
		says           string
	}{
		{"standings", `{}`, arena.CodeMalformed, "league must be the slug of a league"},
		{"standings", `{"league":"trivia","limit":1000}`, arena.CodeMalformed, "limit must be from 1 to 100"},
		{"rules", `{"league":"nothing"}`, arena.CodeMalformed, "Unknown league"},
		{"rules", `[`, arena.CodeMalformed, "The body"},
		{"registration", `{}`, arena.CodeNotFound, "registration"},
	} {
		if _, err := f.Server.Look(t.Context(), "192.0.2.7", c.document, []byte(c.body)); arena.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %v", c.document, c.body, err)
		}
	}
}
