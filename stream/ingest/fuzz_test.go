package ingest

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/agora-arena/arena/internal/strictjson"
)

// A message that is taken becomes one line of clean JSON, and reading that
// line again changes nothing. Threats E4 and R5.
func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{
		`{"type":"thinking","message":"hm"}`, `{"type":"tool_call","tool":"t","args":{"a":[1,null,"\u202e"]}}`, `{"type":"tool_response","result":null,"duration_ms":1.5}`,
		`{"type":"spawn_subagent","name":"a","role":"b"}`, `{"type":"answer","value":"x","final":true}`, `{"type":"auth","token":"x"}`, `{"type":"error","message":"\u001b[2J","fatal":false}`,
		`{"type":"intermediate_result","data":1e400}`, `{"type":"thinking","Message":"x"}`, `{"type":"subagent_done","name":"\ud800","duration_ms":"1"}`, `{"type":1}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r strictjson.Reader
		m, err := parseMessage(&r, text)
		if err != nil {
			return
		}
		if !utf8.Valid(text) {
			t.Fatalf("taken: %q", text)
		}
		_ = m.forges(seatKey{match: "m_1", agent: "ag_1"})
		body, err := m.body()
		if err != nil {
			return
		}
		if !json.Valid(body) || !utf8.Valid(body) || bytes.ContainsAny(body, "\x00\x1b\n\r") || suspect(body) {
			t.Fatalf("%q became %q", text, body)
		}
		again, err := parseMessage(&r, append([]byte(`{"type":`+quote(string(m.typ))+`,`), append(bytes.TrimPrefix(body, []byte("{")), ' ')...))
		if len(body) == len("{}") {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if second, err := again.body(); err != nil || !bytes.Equal(body, second) {
			t.Fatalf("%q, then %q, %v", body, second, err)
		}
	})
}

func quote(s string) string {
	b, _ := json.Marshal(s) // strings always encode
	return string(b)
}

func BenchmarkParseMessage(b *testing.B) {
	text := []byte(`{"type":"tool_call","tool":"python_exec","args":{"code":"print(2 + 2)","timeout":30}}`)
	var r strictjson.Reader
	b.ReportAllocs()
	for b.Loop() {
		m, err := parseMessage(&r, text)
		if err == nil {
			_, err = m.body()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
