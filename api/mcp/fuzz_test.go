package mcp

import (
	"encoding/json"
	"testing"

	"github.com/agora-arena/arena/internal/strictjson"
)

// Arguments of a task are split into a task_id and one strict JSON object without it,
// or refused. Threats R5 and G8.
func FuzzSplitTaskID(f *testing.F) {
	for _, seed := range []string{
		`{"task_id":"tk_1","answer":"4"}`, `{"answer":{"a":[1,2]},"task_id":"tk_1"}`, `{"task_id":"tk_1"}`, `{}`, `[]`, `{"task_id":null}`,
		`{"task_id":"a","task_id":"b"}`, `{"Task_ID":"a","task_id":"b","\u0061nswer":1}`, `{"task_id":"\ud800"}`, "{\"task_id\":\"tk_1\",\"x\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		id, rest, err := splitTaskID(args)
		if err != nil {
			return
		}
		if id == "" {
			t.Errorf("no id in %q", args)
		}
		var members map[string]any
		if err := strictjson.Unmarshal(rest, &members); err != nil {
			t.Errorf("%q became %q: %v", args, rest, err)
		}
		if _, kept := members["task_id"]; kept {
			t.Errorf("%q became %q", args, rest)
		}
	})
}

// A body is one message or a batch of them, each strict JSON with the id that it has, or
// is refused. Threats R5 and G8.
func FuzzReadMessages(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `[{"id":"a","method":"ping"},{"method":"x"}]`, `[]`, `[[]]`, ` [{}]`, `{"id":1,"id":2}`, `{"method":7}`, `[{"id":null}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		messages, isBatch, err := readMessages(body)
		if err != nil {
			return
		}
		if len(messages) == 0 || len(messages) > maxBatch || !isBatch && len(messages) != 1 {
			t.Fatalf("%q has %d messages", body, len(messages))
		}
		for _, m := range messages {
			var members map[string]json.RawMessage
			if err := strictjson.Unmarshal(m.body, &members); err != nil {
				t.Errorf("%q: %v", m.body, err)
			}
			if string(members["id"]) != string(m.id) {
				t.Errorf("%q has the id %q", m.body, m.id)
			}
		}
	})
}
