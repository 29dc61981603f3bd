package agora_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agora-arena/arena/protocol/agora"
)

func FuzzDecodeMessage(f *testing.F) {
	for _, s := range []string{
		`{"protocolHash":null,"body":"x"}`, `{"protocolHash":"a","protocolSources":["data:,x"],"body":{"a":1},"multiround":true}`,
		`{"status":"failure","error":"x","body":""}`, `{"protocolSources":"x"}`, `null`, `{"body":null}`, `{"body":[1]}`, "{\"body\":\"\xff\"}", `{"Body":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = agora.DecodeMessage(data) })
}

func FuzzDecodeReply(f *testing.F) {
	for _, s := range []string{
		`{"status":"success","body":"{\"answer\":\"x\"}"}`, `{"status":"success","body":{"answer":1},"conversationId":"a","conversationExpires":1}`,
		`{"status":"error","message":"x"}`, `{"status":"failure","error":1}`, `{}`, `{"status":"success","conversationExpires":1e99}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = agora.DecodeReply(data) })
}

func FuzzDocument(f *testing.F) {
	for _, s := range []string{
		"name: A\ndescription: B\nmultiround: true\n---\nx", "---\nname: A\n---\n", "data:text/plain;base64,YQ==", "data:,%41",
		"a9993e364706816aba3e25717850c26c9cd0d89d", "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=", "name: &a [*a]\n---\n", "? ? ?\n---\n", "a: !!binary x\n---\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := agora.ParseDocument(s); err == nil && (d.Text != s || !utf8.ValidString(s)) {
			t.Fatalf("%q became %q", s, d.Text)
		}
		if hash := agora.NormalHash(s); hash != "" && (len(hash) != 40 || agora.NormalHash(hash) != hash) {
			t.Fatalf("%q became %q", s, hash)
		}
		d := agora.Document{Text: s}
		if text, ok := agora.SourceText(d.Source()); !ok || text != s {
			t.Fatalf("%q came back as %q", s, text)
		}
		agora.SourceText(s)
		agora.DecodeWellknown([]byte(s))
	})
}

// Whatever is sent, the answer is JSON of one of the two shapes.
func FuzzServer(f *testing.F) {
	for _, s := range []string{`{"body":"standings of trivia"}`, `{"body":"x","multiround":true}`, `{"protocolHash":null}`, `[`, `{"body":{"op":"next"}}`} {
		f.Add("/agora", s)
	}
	f.Add("/agora/conversations/x", `{"body":"x"}`)
	f.Add("/agora/x/y/conversations/../z", `{}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		front := newFront(t)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.URL.Path, r.RemoteAddr = path, "192.0.2.7:1234"
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		front.ServeHTTP(w, r)
		var a answer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || (a.Status == "success") != (a.Body != nil) || (a.Status == "failure") != (a.Error != nil) {
			t.Fatalf("%s", w.Body)
		}
	})
}
