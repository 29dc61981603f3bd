package seal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility/seal"
)

func TestEvent_HidesTextKeepsWhoDoesWhat(t *testing.T) {
	t.Parallel()
	const secret = "Canberra"
	cases := []struct {
		kind arena.EventType
		body string
		open []string // members that stay readable, beside the commitment
	}{
		{arena.EventThinking, `{"message":"Canberra"}`, nil},
		{arena.EventSpawn, `{"name":"Analyzer","role":"Canberra"}`, []string{"name"}},
		{arena.EventToolCall, `{"tool":"python_exec","args":{"q":"Canberra"}}`, []string{"tool"}},
		{arena.EventToolResponse, `{"result":"Canberra","duration_ms":800}`, []string{"duration_ms"}},
		{arena.EventIntermediate, `{"data":{"x":["Canberra"]}}`, nil},
		{arena.EventAnswer, `{"final":true,"value":"Canberra"}`, []string{"final"}},
		{arena.EventError, `{"message":"Canberra","fatal":false}`, []string{"fatal"}},
		{arena.EventSeatOutcome, `{"outcome":"answered","elapsed_ms":340,"attempts":1,"answer":"Canberra","confidence":0.95,` +
			`"reasoning":"r","subagents_used":["s"],"tools_used":["t"],"tokens":7,"latency_ms":3}`, []string{"outcome", "elapsed_ms", "attempts"}},
	}
	for _, c := range cases {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			e, err := seal.Event(arena.Event{Type: c.kind, Body: json.RawMessage(c.body)})
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(e.Body, []byte(secret)) {
				t.Errorf("the open part holds the secret: %s", e.Body)
			}
			if !bytes.Contains(e.Hidden, []byte(secret)) {
				t.Errorf("the hidden part lost the secret: %s", e.Hidden)
			}
			var open map[string]any
			if err := json.Unmarshal(e.Body, &open); err != nil {
				t.Fatal(err)
			}
			for _, name := range c.open {
				if _, ok := open[name]; !ok {
					t.Errorf("%s is hidden", name)
				}
			}
			if len(open) != len(c.open)+1 {
				t.Errorf("open part is %s, want %v and a commitment", e.Body, c.open)
			}
			commitment, _ := open["commitment"].(string)
			if err := seal.Verify(e.Hidden, commitment); err != nil {
				t.Error(err)
			}
			// Another program may have written the hidden part in its own way.
			var parsed map[string]any
			_ = json.Unmarshal(e.Hidden, &parsed)
			again, _ := json.MarshalIndent(parsed, "", " ")
			if err := seal.Verify(again, commitment); err != nil {
				t.Errorf("the commitment depends on white space: %v", err)
			}
			parsed["nonce"] = "other"
			forged, _ := json.Marshal(parsed)
			if seal.Verify(forged, commitment) == nil {
				t.Error("a changed hidden part passes")
			}
		})
	}
}

// Four options can be hashed by anyone: only the nonce keeps a commitment to
// one of them from being guessed. So no two are alike, and no byte of it is
// known before. Threat F1.
func TestEvent_CommitmentsOfEqualAnswersDiffer(t *testing.T) {
	t.Parallel()
	e := arena.Event{Type: arena.EventSeatOutcome, Body: json.RawMessage(`{"outcome":"answered","answer":"B"}`)}
	const events = 64
	commitments := map[string]bool{}
	var values [16]map[byte]bool // of each byte
	for range events {
		sealed, err := seal.Event(e)
		if err != nil {
			t.Fatal(err)
		}
		commitments[string(sealed.Body)] = true
		var hidden struct{ Nonce string }
		err = json.Unmarshal(sealed.Hidden, &hidden)
		nonce, decodeErr := base64.RawURLEncoding.DecodeString(hidden.Nonce)
		if err != nil || decodeErr != nil || len(nonce) != len(values) {
			t.Fatalf("nonce %q: %v, %v", hidden.Nonce, err, decodeErr)
		}
		for i, b := range nonce {
			if values[i] == nil {
				values[i] = map[byte]bool{}
			}
			values[i][b] = true
		}
	}
	if len(commitments) != events {
		t.Errorf("%d commitments to %d equal answers", len(commitments), events)
	}
	for i, seen := range values {
		if len(seen) < 8 { // of 64 random ones there are fewer in one of 10^90
			t.Errorf("byte %d of the nonce has %d values", i, len(seen))
		}
	}
}

func TestEvent_LeavesAlone(t *testing.T) {
	t.Parallel()
	for _, e := range []arena.Event{
		{Type: arena.EventRoundClosed, Body: json.RawMessage(`{"correct":"Canberra"}`)},
		{Type: arena.EventSeatOutcome, Body: json.RawMessage(`{"outcome":"timeout","elapsed_ms":30000,"attempts":1}`)},
		{Type: arena.EventSubagentDone, Body: json.RawMessage(`{"name":"Analyzer","duration_ms":1}`)},
	} {
		got, err := seal.Event(e)
		if err != nil || !bytes.Equal(got.Body, e.Body) || got.Hidden != nil {
			t.Errorf("%s: got %s hidden %s, %v", e.Type, got.Body, got.Hidden, err)
		}
	}
}

// Members with the names of ours do not take their place.
func TestEvent_OwnNames(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"message":"x","nonce":"n","commitment":"c"}`, `{"nonce":"n"}`, `{"a\"b<c":1,"nonce":{"x":[1]}}`} {
		e, err := seal.Event(arena.Event{Type: arena.EventThinking, Body: json.RawMessage(body)})
		if err != nil {
			t.Fatal(err)
		}
		var open, hidden map[string]any
		if err := errors.Join(json.Unmarshal(e.Body, &open), json.Unmarshal(e.Hidden, &hidden)); err != nil {
			t.Fatal(err)
		}
		commitment, _ := open["commitment"].(string)
		if nonce, _ := hidden["nonce"].(string); len(open) != 1 || len(nonce) != 22 || seal.Verify(e.Hidden, commitment) != nil {
			t.Errorf("%s: %s hides %s", body, e.Body, e.Hidden)
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	e := arena.Event{Type: arena.EventSeatOutcome, Body: json.RawMessage(
		`{"outcome":"answered","elapsed_ms":3,"attempts":1,"answer":"42","confidence":0.9,"reasoning":"","subagents_used":null,"tools_used":null,"tokens":12,"latency_ms":null}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := seal.Event(e); err != nil {
			b.Fatal(err)
		}
	}
}
