package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// block is a fenced block of a page: what stands behind the fence, and the
// text in it.
type block struct{ kind, text string }

func blocksOf(page string) []block {
	var blocks []block
	var open *block
	for line := range strings.Lines(page) {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{kind: strings.TrimSpace(fence)}
		case isFence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line
		}
	}
	return blocks
}

// reader is a program that uses only its page of the arena.
type reader struct {
	t      *testing.T
	page   string
	blocks []block
	next   int // block

	mu   sync.Mutex
	fill map[string]string // placeholder -> what the page says to put in
}

func (r *reader) put(placeholder, value string) {
	r.t.Helper()
	if !strings.Contains(r.page, "| `<"+placeholder+">` |") {
		r.t.Fatalf("the page's table does not name the placeholder %s", placeholder)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fill["<"+placeholder+">"] = value
}

// filled returns a text with its placeholders put in.
func (r *reader) filled(text string, more ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for placeholder, value := range r.fill {
		text = strings.ReplaceAll(text, placeholder, value)
	}
	return strings.NewReplacer(more...).Replace(text)
}

// turn goes to the next block of this kind.
func (r *reader) turn(kind string) string {
	r.t.Helper()
	for r.next++; r.next <= len(r.blocks); r.next++ {
		if b := r.blocks[r.next-1]; b.kind == kind {
			return b.text
		}
	}
	r.t.Fatalf("the page has no further block %q", kind)
	return ""
}

// request reads a request as it stands on the page.
func (r *reader) request(text string) *http.Request {
	r.t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, address, ok := strings.Cut(lines[0], " ")
	if !ok {
		r.t.Fatalf("no request: %q", lines[0])
	}
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, address, in)
	must(r.t, err)
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	return req
}

// send sends a request of the page and returns the reply.
func (r *reader) send(text string) (status int, body []byte) {
	r.t.Helper()
	if i := strings.Index(text, "<"); i >= 0 {
		r.t.Fatalf("nothing on the page says what to put in: %s", text[i:])
	}
	status, body, err := exchange(r.request(text))
	must(r.t, err)
	return status, body
}

func exchange(req *http.Request) (status int, body []byte, err error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close() //nolint:errcheck // only read from
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// step sends the next request of the page and holds the reply against the one
// that the page shows.
func (r *reader) step() document {
	r.t.Helper()
	request := r.filled(r.turn("http request"))
	rest := r.page[strings.Index(r.page, r.blocks[r.next-1].text):]
	_, after, _ := strings.Cut(rest, "status ")
	want, err := strconv.Atoi(after[:3])
	must(r.t, err)
	shown := r.turn("json reply")
	status, body := r.send(request)
	if status != want {
		r.t.Fatalf("status %d, the page says %d: %s\n%s", status, want, request, body)
	}
	return r.like(shown, body)
}

// like checks that a document has every member that the page shows, with a
// value of the same kind.
func (r *reader) like(shown string, got []byte) document {
	r.t.Helper()
	var want, have any
	must(r.t, json.Unmarshal([]byte(shown), &want))
	must(r.t, json.Unmarshal(got, &have))
	lacks(r.t, "", want, have)
	out, _ := have.(document)
	return out
}

func lacks(t *testing.T, at string, want, have any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			t.Errorf("%s is no object", at)
			return
		}
		for name := range want {
			if v, ok := have[name]; ok {
				lacks(t, at+"."+name, want[name], v)
			} else {
				t.Errorf("the page shows %s.%s, the arena sent %.300s", at, name, fmt.Sprint(have))
			}
		}
	case []any:
		have, ok := have.([]any)
		if !ok {
			t.Errorf("%s is no list", at)
			return
		}
		if len(want) > 0 && len(have) > 0 {
			lacks(t, at+"[0]", want[0], have[0])
		}
	case nil:
	default:
		if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", have) {
			t.Errorf("%s is a %T, the page shows a %T", at, have, want)
		}
	}
}

// endpoint is the agent that the page describes: its replies are the page's
// blocks, and it checks tokens by the page's list.
type endpoint struct {
	*reader
	health, task, reply, events, taken string // blocks
	arena                              string
	keys                               keyfunc.Keyfunc
	accepted                           atomic.Int64 // events
	refused                            atomic.Int64 // tasks
	answers                            sync.Map     // by task_id
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(q.URL.Path, "/health") {
		_, _ = io.WriteString(w, e.filled(e.health))
		return
	}
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the arena hung up
	}
	token := strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
	if err := e.check(token, body); err != nil {
		e.refused.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var task struct {
		Round  int    `json:"round"`
		TaskID string `json:"task_id"`
		Task   struct {
			Description string   `json:"description"`
			Options     []string `json:"options"`
		} `json:"task"`
		Previous struct {
			Outcome string `json:"outcome"`
		} `json:"previous"`
	}
	if err := json.Unmarshal(body, &task); err != nil {
		e.t.Errorf("task: %v", err)
	}
	_, shown, _ := strings.Cut(e.task, "\n\n")
	var page document
	must(e.t, json.Unmarshal([]byte(shown), &page))
	switch previous, _ := page["previous"].(document); {
	case task.Round == 1: // the page: absent in the first round
		delete(page, "previous")
	case task.Previous.Outcome != "answered": // the page: the receipt is for an answer
		delete(previous, "receipt")
	}
	filled, err := json.Marshal(page)
	must(e.t, err)
	e.like(string(filled), body)
	answer := "I do not know"
	for _, option := range task.Task.Options { // the page: the text of one of them
		if answer == "I do not know" || strings.HasPrefix(option, "right") {
			answer = option
		}
	}
	if old, again := e.answers.LoadOrStore(task.TaskID, answer); again {
		answer, _ = old.(string)
	}
	quoted, _ := json.Marshal(answer) // text always encodes
	put := []string{`"<ANSWER>"`, string(quoted), "<TASK_TOKEN>", token}
	// In a rehearsal they are refused, and at the end of the test no agent is left.
	if status, reply, err := exchange(e.request(e.filled(e.events, put...))); err == nil && status == http.StatusOK {
		e.like(e.taken, reply)
		var r struct{ Accepted int64 }
		_ = json.Unmarshal(reply, &r) // counted below
		e.accepted.Add(r.Accepted)
	}
	_, _ = io.WriteString(w, e.filled(e.reply, put...))
}

// check is the page's list.
func (e *endpoint) check(token string, body []byte) error {
	options := []jwt.ParserOption{jwt.WithIssuer(e.arena), jwt.WithExpirationRequired()}
	if id := e.filled("<AGENT_ID>"); !strings.HasPrefix(id, "<") {
		options = append(options, jwt.WithAudience(id))
	}
	parsed, err := jwt.Parse(token, e.keys.Keyfunc, options...)
	if err != nil {
		return err
	}
	if claims, _ := parsed.Claims.(jwt.MapClaims); claims["bh"] != bodyHash(body) {
		return fmt.Errorf("bh is %v", claims["bh"])
	}
	return nil
}

// A program that reads only /skill.md ends in a finished match.
func TestE2E_Skill(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	var pack bytes.Buffer
	for i := range 5 {
		fmt.Fprintf(&pack, `{"description":"question %d","answer":"right %d","options":["wrong","right %d","bad"]}`+"\n", i, i, i)
	}
	var made struct {
		ID string `json:"pack_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=choices", pack.Bytes(), &made)
	p.league("trivia", made.ID, map[string]any{"judge": "choice", "format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": 2, "time_limit_seconds": 10})
	p.call(p.admin, http.MethodPost, "/v1/leagues/trivia/start", nil, nil)

	res, err := http.Get(p.url + "/skill.md") //nolint:noctx // the page that all begins with
	must(t, err)
	page, err := io.ReadAll(res.Body)
	must(t, err)
	must(t, res.Body.Close())
	if kind := res.Header.Get("Content-Type"); kind != "text/markdown; charset=utf-8" || bytes.Contains(page, []byte("{{")) {
		t.Fatalf("%s\n%s", kind, page)
	}
	r := &reader{t: t, page: string(page), blocks: blocksOf(string(page)), fill: map[string]string{}}

	// 1. Sign up. 2. Choose a league.
	r.put("OWNER_NAME", "A reader")
	r.put("AGENT_NAME", "Reads the manual")
	r.put("TOKEN", str(r.step(), "token"))
	leagues, _ := r.step()["items"].([]any)
	for _, l := range leagues {
		if l := l.(document); slices.Contains([]string{"running", "open"}, str(l, "status")) {
			r.put("LEAGUE", str(l, "slug"))
		}
	}

	// 3. Serve your endpoint.
	e := &endpoint{reader: r, arena: p.url}
	if !strings.HasPrefix(r.turn("http request from the arena"), "GET <ENDPOINT>/health") {
		t.Error("the page does not begin with the health check")
	}
	e.health = r.turn("json reply to the arena")
	e.task, e.reply = r.turn("http request from the arena"), r.turn("json reply to the arena")
	for i, b := range r.blocks {
		if strings.Contains(b.text, "<TASK_TOKEN>") && b.kind == "http request" {
			e.events, e.taken = b.text, r.blocks[i+1].text
		}
	}
	e.keys, err = keyfunc.NewDefaultCtx(t.Context(), []string{p.url + "/.well-known/jwks.json"})
	must(t, err)
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	r.put("ENDPOINT", server.URL+"/tasks")

	// 4. Register, 5. rehearse.
	r.put("AGENT_ID", str(r.step(), "agent_id"))
	if status := str(r.step(), "status"); status != "active" {
		t.Fatalf("after the check it is %s", status)
	}
	report := r.step()
	if report["passed"] != 7.0 || report["failed"] != 0.0 || e.refused.Load() != 1 {
		t.Errorf("rehearsal: %d tasks refused", e.refused.Load())
		for _, round := range report["rounds"].([]any) {
			t.Logf("%v %v: %v", round.(document)["fault"], round.(document)["verdict"], round.(document)["explanation"])
		}
	}

	// 6. Play: another agent is there, and the league pairs them.
	p.contestant("rival", func(protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer("no idea") }, "trivia")
	ask := r.filled(r.turn("http request"))
	shown := r.turn("json reply")
	var body []byte
	testwait.Every(t, time.Second, "the league pairs the reader", func() bool { // a reader keeps to the rate of its address
		_, body = r.send(ask)
		return bytes.Contains(body, []byte(`"match_id"`))
	})
	match, _ := r.like(shown, body)["items"].([]any)[0].(document)
	r.put("MATCH_ID", str(match, "match_id"))

	// 7. was done by the endpoint. 8. Watch to the end.
	r.turn("http request")
	r.turn("json reply")
	types := r.watch(r.filled(r.turn("http request")))
	if n := len(types); n == 0 || types[n-1] != "match_finished" {
		t.Fatalf("the match ended with %v", types)
	}
	for _, b := range slices.Concat(types, []string{"match_void"}) {
		if !strings.Contains(r.page, "`"+b+"`") && !strings.Contains(r.page, `"`+b+`"`) {
			t.Errorf("the page does not name the event %s", b)
		}
	}
	if n := e.accepted.Load(); n < 2*8 || n%8 != 0 { // the next match may have begun
		t.Errorf("%d events were accepted, want all 8 of each round", n)
	}

	// 9. See what went wrong: nothing. 10. Read the standings.
	for _, d := range r.step()["items"].([]any) {
		if str(d.(document), "outcome") != "answered" {
			t.Errorf("delivery: %v", d)
		}
	}
	first := r.step()["items"].([]any)[0].(document)
	if str(first, "name") != "Reads the manual" || first["rating"].(float64) <= 1500 {
		t.Errorf("the reader did not win: %v", first)
	}
}

// watch reads the server-sent events to their end and returns their types.
func (r *reader) watch(text string) (types []string) {
	r.t.Helper()
	res, err := http.DefaultClient.Do(r.request(text))
	must(r.t, err)
	defer res.Body.Close() //nolint:errcheck // only read from
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var e struct{ Type string }
		if !ok || json.Unmarshal([]byte(data), &e) != nil || e.Type == "hello" || e.Type == "viewers" {
			continue
		}
		types = append(types, e.Type)
	}
	return types
}

func str(d document, member string) string {
	s, _ := d[member].(string)
	return s
}
