package agentprotocol

import (
	"encoding/json"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Whatever the parameters of a lookup are, it answers or names what is wrong.
func FuzzLookups(f *testing.F) {
	actions := Lookups(newTables(), records, "https://arena.example")
	for _, params := range []string{
		``, `null`, `{}`, `[]`, `{"query":"a","league":"trivia","limit":1e0,"cursor":"ag_1"}`, `{"agent_id":"ag_1","league":"chess"}`, `{"match_id":"m_1"}`, `{"limit":-1}`,
	} {
		f.Add(actionDirectory, []byte(params))
		f.Add(actionReputation, []byte(params))
		f.Add(actionProofs, []byte(params))
	}
	f.Fuzz(func(t *testing.T, name string, params []byte) {
		action, ok := actions[name]
		if !ok {
			return
		}
		result, err := action(t.Context(), arena.Agent{}, params)
		if err != nil {
			if code := arena.CodeOf(err); code != arena.CodeMalformed && code != arena.CodeNotFound {
				t.Fatalf("%s: %v", code, err)
			}
			return
		}
		if text, err := json.Marshal(result); err != nil || len(text) > MaxMessage {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
	})
}
