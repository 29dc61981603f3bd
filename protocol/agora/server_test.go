package agora_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/agora"
)

// front is a server in a test, with a clock that the test moves.
type front struct {
	*agora.Server
	t      *testing.T
	memory *memoryStore
	api    *services

	mu     sync.Mutex
	ahead  time.Duration
	awake  []string
	events []string
}

func (f *front) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Add(f.ahead)
}

func (f *front) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += d
}

// Accept accepts events, but none that says so.
func (f *front) Accept(_ context.Context, matchID, agentID string, event []byte) error {
	if strings.Contains(string(event), "refuse") {
		return arena.Errorf(arena.CodeEventRefused, "no such event")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, matchID+" "+agentID+" "+string(event))
	return nil
}

func newFront(t *testing.T) *front {
	t.Helper()
	return newFrontOn(t, newMemoryStore())
}

// newFrontOn makes a front that shares its storage with others.
func newFrontOn(t *testing.T, m *memoryStore) *front {
	t.Helper()
	f := &front{t: t, memory: m, api: &services{t: t}}
	server, err := agora.NewServer(agora.ServerOptions{
		Store: f.memory, Inbox: f.memory.box(t), Accounts: f.api, Agents: f.api, Reads: f.api, Visible: f.api, Events: f, PublicURL: "https://arena.example", PerAddress: 3,
		Awake: func(_ context.Context, id string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.awake = append(f.awake, id)
		},
		Now: f.now, Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	f.Server = server
	t.Cleanup(server.Close)
	return f
}

// answer is what came back.
type answer struct {
	HTTP    int
	Header  http.Header
	Raw     string
	Status  string  `json:"status"`
	Body    *string `json:"body"`
	Error   *string `json:"error"`
	ID      string  `json:"conversationId"`
	Expires int64   `json:"conversationExpires"`
}

func (f *front) do(method, path, contentType, body string) answer {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), method, path, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.7:1234"
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	a := answer{HTTP: w.Code, Header: w.Header(), Raw: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil && path != "" && !strings.Contains(path, "/documents/") {
		f.t.Errorf("%s %s: %q is no JSON: %v", method, path, w.Body, err)
	}
	return a
}

func (f *front) post(path, body string) answer {
	f.t.Helper()
	return f.do(http.MethodPost, path, "application/json", body)
}

// under makes a message under a document.
func under(t *testing.T, name, body, more string) string {
	t.Helper()
	text, err := json.Marshal(body)
	must(t, err)
	return fmt.Sprintf(`{"protocolHash":%q,"protocolSources":[],"body":%s%s}`, doc(t, name).Hash(), text, more)
}

func (a answer) failedWith(status int, text string) bool {
	return a.HTTP == status && a.Status == "failure" && a.Error != nil && strings.Contains(*a.Error, text) && a.Body == nil
}

func (a answer) says(text string) bool {
	return a.HTTP == 200 && a.Status == "success" && a.Body != nil && strings.Contains(*a.Body, text) && a.Error == nil
}

// 5.1, 6.1, 10.1, 10.2: what is malformed and what is only refused.
func TestServer_messages(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for _, c := range []struct {
		name, body string
		status     int
		fails      string // "" it is answered
	}{
		{"plain", `{"protocolHash":null,"body":"hello"}`, 200, ""},
		{"no hash at all", `{"body":"hello"}`, 200, ""},
		{"extra members", `{"body":"hello","mood":{"a":[1]},"status":"success"}`, 200, ""},
		{"body as object", `{"body":{"text":"hello"}}`, 200, ""},
		{"empty text", `{"body":""}`, 200, ""},
		{"multiround false", `{"body":"hello","multiround":false}`, 200, ""},
		{"no body", `{"protocolHash":null}`, 200, "Missing field 'body'"},
		{"null body", `{"body":null}`, 200, "Missing field 'body'"},
		{"unknown hash", `{"protocolHash":"0000000000000000000000000000000000000001","body":"x"}`, 200, "Unsupported protocol"},
		{"unknown hash with its text", `{"protocolHash":"0000000000000000000000000000000000000001","protocolSources":["data:text/plain,a%0Ab"],"body":"x"}`, 200, "Unsupported protocol"},
		{"no hash of SHA-1", `{"protocolHash":"abc","body":"x"}`, 200, "Unsupported protocol"},
		{"negotiation", `{"protocolHash":"negotiation","protocolSources":null,"multiround":true,"body":"x"}`, 200, "Unsupported protocol"},
		{"unknown hash and no body", `{"protocolHash":"abc"}`, 200, "Unsupported protocol"},
		{"not JSON", `hello`, 400, "JSON"},
		{"nothing", ``, 400, "JSON"},
		{"a list", `[]`, 400, "JSON"},
		{"null", `null`, 400, "JSON"},
		{"two bodies", `{"body":"a","body":"b"}`, 400, "duplicate"},
		{"Body", `{"Body":"a"}`, 200, "Missing field 'body'"},
		{"number as body", `{"body":1}`, 400, "body must be"},
		{"list as body", `{"body":["a"]}`, 400, "body must be"},
		{"number as hash", `{"protocolHash":1,"body":"a"}`, 400, "protocolHash must be"},
		{"number as sources", `{"protocolSources":1,"body":"a"}`, 400, "protocolSources must be"},
		{"numbers as sources", `{"protocolSources":[1],"body":"a"}`, 400, "protocolSources must be"},
		{"text as multiround", `{"multiround":"yes","body":"a"}`, 400, "JSON"},
		{"text after", `{"body":"a"}{}`, 400, "JSON"},
		{"deep", `{"body":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`, 400, "nested"},
		{"lone surrogate", `{"body":"\ud800"}`, 400, "JSON"},
		{"over 64 KiB", `{"body":"` + strings.Repeat("x", agora.MaxBody) + `"}`, 413, "65536"},
	} {
		a := f.post("/agora", c.body)
		if a.HTTP != c.status || (c.fails == "") != a.says("Agora Arena") || c.fails != "" && !a.failedWith(c.status, c.fails) {
			t.Errorf("%s: %d %s", c.name, a.HTTP, a.Raw)
		}
		if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "no-store" || a.ID != "" || a.Expires != 0 {
			t.Errorf("%s: %v %s", c.name, a.Header, a.Raw)
		}
	}
}

// 5.1, 10.1: methods, types and places.
func TestServer_places(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	hello := `{"body":"hello"}`
	for _, c := range []struct {
		method, path, contentType string
		status                    int
	}{
		{"POST", "/agora", "application/json", 200},
		{"POST", "/agora/", "application/json; charset=UTF-8", 200},
		{"POST", "/agora", "text/plain", 415},
		{"POST", "/agora", "", 415},
		{"POST", "/agora", "application/json; charset=latin1", 415},
		{"GET", "/agora", "", 405},
		{"PUT", "/agora", "application/json", 405},
		{"GET", "/agora/wellknown", "", 200},
		{"POST", "/agora/wellknown", "application/json", 405},
		{"GET", "/agora/.wellknown", "", 404},
		{"GET", "/agora/conversations/x", "", 405},
		{"POST", "/agora/conversations/x", "application/json", 404},
		{"POST", "/agora/conversations/", "application/json", 404},
		{"POST", "/agora/nothing", "application/json", 404},
		{"POST", "/agorax", "application/json", 404},
		{"POST", "/agora/x/", "application/json", 404},
		{"POST", "/agora/x/wrong", "application/json", 404},
		{"GET", "/agora/documents/0000000000000000000000000000000000000001", "", 404},
		{"POST", "/agora/documents/x", "application/json", 405},
	} {
		a := f.do(c.method, c.path, c.contentType, hello)
		if a.HTTP != c.status || c.status == 405 && a.Header.Get("Allow") == "" || c.status >= 400 && a.Error == nil {
			t.Errorf("%s %s as %q: %d %s", c.method, c.path, c.contentType, a.HTTP, a.Raw)
		}
	}
}

// 10.1: our own faults are 500 and 503, and say nothing of themselves.
func TestServer_faults(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.api.down = true
	if a := f.post("/agora", under(t, "standings", `{"league":"trivia"}`, "")); !a.failedWith(500, "Internal error") {
		t.Errorf("%s", a.Raw)
	}
	if a := f.post("/agora", `{"body":"standings"}`); !a.failedWith(500, "Internal error") {
		t.Errorf("%s", a.Raw)
	}
	f.api.down = false
	f.memory.fail = arena.Errorf(arena.CodeUnavailable, "away")
	if a := f.post("/agora", `{"body":"hello","multiround":true}`); !a.failedWith(503, "Not available now") {
		t.Errorf("%s", a.Raw)
	}
	f.memory.fail = errors.New("secret detail")
	if a := f.post("/agora/x/any", `{"body":"hello"}`); !a.failedWith(500, "Internal error") {
		t.Errorf("%s", a.Raw)
	}
}

// 8.2, 8.3, 9: documents are identified by their hash, in any spelling, and listed
// with a source that has it.
func TestServer_documents(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	var list map[string][]string
	must(t, json.Unmarshal([]byte(f.do("GET", "/agora/wellknown", "", "").Raw), &list))
	for _, name := range []string{"standings", "matches", "rules", "registration", "agent"} {
		d := doc(t, name)
		sources := list[d.Hash()]
		if len(sources) != 2 {
			t.Fatalf("%s is not listed: %v", name, list)
		}
		if text, ok := agora.SourceText(sources[0]); !ok || text != d.Text {
			t.Errorf("%s: its source is %q", name, sources[0])
		}
		path, ok := strings.CutPrefix(sources[1], "https://arena.example")
		if got := f.do("GET", path, "", ""); !ok || got.Raw != d.Text || got.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %s gives %q", name, sources[1], got.Raw)
		}
	}
	if len(list) != 5 {
		t.Errorf("%d documents are listed", len(list))
	}
	round := doc(t, "round")
	if got := f.do("GET", "/agora/documents/"+round.Hash(), "", ""); got.Raw != round.Text {
		t.Error("the arena's own question is not to be had")
	}
	// What the arena asks, it does not answer.
	if a := f.post("/agora", under(t, "round", `{}`, "")); !a.failedWith(200, "Unsupported protocol") {
		t.Errorf("%s", a.Raw)
	}

	d := doc(t, "rules")
	raw, err := hex.DecodeString(d.Hash())
	must(t, err)
	for _, hash := range []string{d.Hash(), strings.ToUpper(d.Hash()), base64.StdEncoding.EncodeToString(raw)} {
		for _, sources := range []string{`null`, `[]`, `"` + d.Source() + `"`, `["` + d.Source() + `"]`, `["https://elsewhere.example/doc.txt"]`} {
			a := f.post("/agora", `{"protocolHash":"`+hash+`","protocolSources":`+sources+`,"body":"{}"}`)
			if !a.says(`"rules":"A match has`) {
				t.Errorf("%s with %s: %s", hash, sources, a.Raw)
			}
		}
	}
	// A text that is another one with the same hash, or with none: never acted on.
	for _, source := range []string{"data:text/plain;charset=utf-8,name%3A%20Other%0A---%0Aevil", "data:;base64,YQ==", "name: x\n---\ny"} {
		encoded, err := json.Marshal([]string{source})
		must(t, err)
		if a := f.post("/agora", `{"protocolHash":"`+d.Hash()+`","protocolSources":`+string(encoded)+`,"body":"{}"}`); !a.failedWith(200, "Unsupported protocol") {
			t.Errorf("%s: %s", source, a.Raw)
		}
	}
	half := len(d.Text) / 2
	parts, err := json.Marshal([]string{d.Text[:half], d.Text[half:]})
	must(t, err)
	if a := f.post("/agora", `{"protocolHash":"`+d.Hash()+`","protocolSources":`+string(parts)+`,"body":"{}"}`); !a.says("rules") {
		t.Errorf("a text in two parts: %s", a.Raw)
	}
}

// 7: a conversation from its beginning to its end.
func TestServer_conversation(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	first := f.post("/agora", `{"protocolHash":null,"body":"What are the standings of General Trivia?","multiround":true}`)
	if !first.says("1. Ann, 1620.500? after 12 rated matches") || len(first.ID) < 26 || first.Expires <= time.Now().Unix() {
		t.Fatalf("%s", first.Raw)
	}
	at := "/agora/conversations/" + first.ID
	if a := f.post(at, `{"status":"success","body":"And its matches, please."}`); !a.says("m_1 in trivia") || a.ID != first.ID || a.Expires < first.Expires {
		t.Errorf("%s", a.Raw)
	}
	for body, ok := range map[string]bool{
		`{"protocolHash":null,"protocolSources":null,"multiround":true,"body":"and again"}`: true, // as a library sends it
		`{"protocolHash":"` + doc(t, "rules").Hash() + `","body":"{}"}`:                     false,
		`{"protocolHash":"","body":"{}"}`:                                                   false,
		`{"status":"failure","error":"I do not understand","body":"help"}`:                  true,
		`{"status":1,"body":"help"}`:                                                        false,
	} {
		if a := f.post(at, body); ok != (a.HTTP == 200 && a.Status == "success") || !ok && a.HTTP != 400 {
			t.Errorf("%s: %d %s", body, a.HTTP, a.Raw)
		}
	}
	if a := f.post(at, `{"status":"success"}`); !a.failedWith(200, "Missing field 'body'") {
		t.Errorf("%s", a.Raw)
	}

	rules := f.post("/agora", under(t, "agent", `{}`, `,"multiround":true`)) // protocol-level faults do not end one
	if !rules.says(`{"error":"Use the secret base URL`) || rules.ID == "" {
		t.Fatalf("%s", rules.Raw)
	}
	followUp := "/agora/conversations/" + rules.ID
	if a := f.post(followUp, `{"protocolHash":"`+strings.ToUpper(doc(t, "agent").Hash())+`","body":"{}"}`); !a.says("error") {
		t.Errorf("%s", a.Raw)
	}
	if a := f.post(followUp, `{"protocolHash":null,"body":"{}"}`); a.HTTP != 400 {
		t.Errorf("%s", a.Raw)
	}
	if a := f.post("/agora", under(t, "rules", `{}`, `,"multiround":true`)); !a.failedWith(200, "Multiround not supported") {
		t.Errorf("%s", a.Raw)
	}

	// It lives as long as it is used, and differs from one that never was.
	f.advance(10 * time.Minute)
	if a := f.post(at, `{"body":"help"}`); a.Expires < time.Now().Add(20*time.Minute).Unix() {
		t.Errorf("not extended: %s", a.Raw)
	}
	f.advance(10 * time.Minute)
	if a := f.post(followUp, `{"body":"{}"}`); !a.failedWith(200, "Conversation expired") {
		t.Errorf("%d %s", a.HTTP, a.Raw)
	}
	if a := f.post(at, `{"body":"help"}`); !a.says("Agora Arena") {
		t.Errorf("%s", a.Raw)
	}
	if a := f.post("/agora/conversations/"+strings.ToLower(first.ID), `{"body":"help"}`); !a.failedWith(404, "Unknown conversation") {
		t.Errorf("%s", a.Raw)
	}
	for _, id := range []string{first.ID, first.ID, "never-was"} {
		if a := f.do("DELETE", "/agora/conversations/"+id, "", ""); a.HTTP != 200 || a.Raw != `{"status":"success"}` {
			t.Errorf("%d %s", a.HTTP, a.Raw)
		}
	}
	if a := f.post(at, `{"body":"help"}`); !a.failedWith(200, "Conversation expired") {
		t.Errorf("%s", a.Raw)
	}
}

// 11: ids cannot be guessed, belong to their base, and are few per address.
func TestServer_conversation_bounds(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	base := f.base("ag_a")
	hello := `{"body":"hello","multiround":true}`
	mine := f.post(base, hello)
	seen := map[string]bool{mine.ID: true}
	for range 3 {
		a := f.post("/agora", hello)
		if !a.says("Agora Arena") || seen[a.ID] {
			t.Fatalf("%s", a.Raw)
		}
		seen[a.ID] = true
		if a := f.post(base+"/conversations/"+a.ID, `{"body":"hello"}`); a.HTTP != 404 {
			t.Errorf("another's conversation under a secret base: %s", a.Raw)
		}
	}
	if a := f.post("/agora/conversations/"+mine.ID, `{"body":"hello"}`); a.HTTP != 404 {
		t.Errorf("an agent's conversation under the public base: %s", a.Raw)
	}
	if a := f.do("DELETE", "/agora/conversations/"+mine.ID, "", ""); a.HTTP != 200 {
		t.Errorf("%s", a.Raw)
	}
	if a := f.post(base+"/conversations/"+mine.ID, `{"body":"hello"}`); !a.says("Agora Arena") {
		t.Errorf("ended from another base: %s", a.Raw)
	}
	if a := f.post("/agora", hello); !a.failedWith(429, "Too many conversations") || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s", a.Raw)
	}
	f.advance(16 * time.Minute)
	if a := f.post("/agora", hello); !a.says("Agora Arena") {
		t.Errorf("%s", a.Raw)
	}
	for key, c := range f.memory.conversations {
		if strings.Contains(string(key[:])+c.State, mine.ID) {
			t.Error("an id is stored in clear text")
		}
	}
}

// base returns an agent a secret base and its path.
func (f *front) base(agentID string) string {
	f.t.Helper()
	a := f.post("/agora", under(f.t, "registration", `{"agent_id":"`+agentID+`","owner_token":"aro_1"}`, ""))
	var out struct{ Base string }
	if a.Body == nil || json.Unmarshal([]byte(*a.Body), &out) != nil || out.Base == "" {
		f.t.Fatalf("no base: %s", a.Raw)
	}
	return strings.TrimPrefix(out.Base, "https://arena.example")
}
