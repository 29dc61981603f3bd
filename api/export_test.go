package api

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/fill"
	"github.com/agora-arena/arena/visibility"
)

// duels fills the league quiz of four agents with finished duels of one round.
func (w *world) duels(n int) {
	w.t.Helper()
	w.league("quiz", nil)
	var agents []string
	for i := range 4 {
		agents = append(agents, w.agent(w.alice, fmt.Sprintf("a%d", i), "quiz"))
	}
	db, err := sql.Open("sqlite", strings.TrimPrefix(w.database, "sqlite:"))
	w.ok(err)
	defer func() { w.ok(db.Close()) }()
	w.ok(fill.Duels{Leagues: []string{"quiz"}, Agents: agents, Matches: n, Events: 1, From: testNow}.Fill(w.t.Context(), db, func(int, int) {}))
}

// lines returns the lines of an export.
func (r response) lines() (lines []object) {
	r.t.Helper()
	if kind := r.header.Get("Content-Type"); kind != ndjsonType {
		r.t.Errorf("the export is %q", kind)
	}
	for line := range strings.Lines(string(r.is(200).body)) {
		var v object
		if err := json.Unmarshal([]byte(line), &v); err != nil || !strings.HasSuffix(line, "\n") {
			r.t.Fatalf("line %q: %v", line, err)
		}
		lines = append(lines, v)
	}
	return lines
}

// Every kind has every settled match in the order of the settlements, and continues
// after any of them.
func TestAPI_export(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const matches = 2*exportPage + 7
	w.duels(matches)
	for kind, each := range map[string]int{"matches": 1, "rounds": 1, "answers": 2, "verdicts": 0, "ratings": 1} {
		path := "/v1/leagues/quiz/export?kind=" + kind
		all := w.do("GET", path, "", nil)
		lines := all.lines()
		if len(lines) != each*matches {
			t.Fatalf("%s: %d lines", kind, len(lines))
		}
		for i, line := range lines {
			if seq := i/each + 1; line["settlement"] != float64(seq) || line["match_id"] != fmt.Sprintf("m_%010d", seq-1) {
				t.Fatalf("%s, line %d: %v", kind, i+1, line)
			}
		}
		for _, since := range []int{1, exportPage, matches} {
			want := bytes.Join(bytes.SplitAfter(all.body, []byte("\n"))[since*each:], nil)
			if got := w.do("GET", fmt.Sprintf("%s&since=%d", path, since), "", nil).is(200); !bytes.Equal(got.body, want) {
				t.Errorf("%s after %d: %d bytes, want %d", kind, since, len(got.body), len(want))
			}
		}
	}
	first := func(kind string) object { return w.do("GET", "/v1/leagues/quiz/export?kind="+kind, "", nil).lines()[0] }
	if m := first("matches"); m["score_mode"] != "match" || m["rules_version"] == nil || len(m["seats"].([]any)) != 2 {
		t.Errorf("a match: %v", m)
	}
	if r := first("rounds"); r["correct"] != "4" || r["seats"] != nil || r["task"].(object)["description"] != "2+2?" {
		t.Errorf("a round: %v", r)
	}
	if a := first("answers"); a["answer"] != "4" || a["round"] != 1.0 || a["outcome"] != "answered" {
		t.Errorf("an answer: %v", a)
	}
	if c := first("ratings")["changes"].([]any)[0].(object); c["rating_before"] != 1500.0 || c["rating_after"] != 1508.0 || c["k"] != 32.0 {
		t.Errorf("a change: %v", c)
	}
	w.run([]scenario{
		{name: "unknown league", method: "GET", path: "/v1/leagues/none/export?kind=matches", status: 404, code: arena.CodeNotFound},
		{name: "unknown kind", method: "GET", path: "/v1/leagues/quiz/export?kind=secrets", status: 422, code: arena.CodeInvalid, fields: []string{"kind"}},
		{name: "before the first", method: "GET", path: "/v1/leagues/quiz/export?kind=matches&since=-1", status: 422, code: arena.CodeInvalid, fields: []string{"since"}},
	})
}

// The data card has numbers and fields of what there is.
func TestAPI_export_card(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.duels(3)
	card := w.do("GET", "/v1/leagues/quiz/export", "", nil).is(200)
	for at, want := range map[string]any{
		"name": "quiz", "title": "League quiz", "license": "unknown", "settlement": 3.0, "matches": 3.0, "rounds": 3.0,
		"from": "2025-06-01T12:00:00.900Z", "till": "2025-06-01T12:00:02.900Z", "links.standings": "https://arena.example/v1/leagues/quiz/standings",
		"kinds.2.kind": "answers", "kinds.2.url": "https://arena.example/v1/leagues/quiz/export?kind=answers",
	} {
		if got := card.at(at); got != want {
			t.Errorf("%s is %v, want %v", at, got, want)
		}
	}
	for _, k := range into[struct{ Kinds []exportKindView }](card).Kinds {
		listed, sent := map[string]bool{}, w.do("GET", "/v1/leagues/quiz/export?kind="+k.Kind, "", nil).lines()
		for _, f := range k.Fields {
			if listed[f.Name] {
				t.Errorf("%s: %s is listed twice", k.Kind, f.Name)
			}
			listed[f.Name] = true
		}
		for _, line := range sent {
			for name := range line {
				if !listed[name] {
					t.Errorf("%s: %s is not listed", k.Kind, name)
				}
			}
		}
	}
	w.league("empty", nil)
	if card := w.do("GET", "/v1/leagues/empty/export?kind=card", "", nil).is(200); card.at("matches") != 0.0 || card.at("from") != nil {
		t.Errorf("without a match: %s", card.body)
	}
	if lines := w.do("GET", "/v1/leagues/empty/export?kind=matches", "", nil).lines(); len(lines) > 0 {
		t.Errorf("without a match: %v", lines)
	}
}

// While a table is hidden, its data is too, but for those who run the league.
func TestAPI_export_frozen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	w.do("POST", "/v1/leagues/quiz/start", w.admin, nil).is(200)
	w.do("POST", "/v1/leagues/quiz/freeze", w.admin, nil).is(200)
	for _, query := range []string{"", "?kind=ratings"} {
		w.do("GET", "/v1/leagues/quiz/export"+query, w.alice, nil).is(409)
		w.do("GET", "/v1/leagues/quiz/export"+query, w.admin, nil).is(200)
	}
}

// Deleted names and erased answers are erased in the export as well.
func TestAPI_export_erased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	id := w.settle(a, b)
	answers := func() string {
		return string(w.do("GET", "/v1/leagues/quiz/export?kind=answers", "", nil).is(200).body)
	}
	matches := func() string {
		return string(w.do("GET", "/v1/leagues/quiz/export?kind=matches", "", nil).is(200).body)
	}
	if !strings.Contains(answers(), "SECRET reply") || !strings.Contains(matches(), `"name":"a"`) {
		t.Fatalf("before: %s%s", matches(), answers())
	}
	w.ok(w.store.Matches.EraseTexts(t.Context(), arena.TextErasure{MatchID: id, AgentID: a}))
	if strings.Contains(answers(), "SECRET reply") || strings.Contains(matches(), `"name":"a"`) || !strings.Contains(matches(), arena.DeletedAgent) {
		t.Errorf("after: %s%s", matches(), answers())
	}
}

// meter reads the memory in use after every tenth part of an export.
type meter struct {
	http.ResponseWriter

	bytes, parts int
	used         []uint64
}

func (m *meter) Write(p []byte) (int, error) {
	m.bytes += len(p)
	if m.parts++; m.parts%10 == 0 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		m.used = append(m.used, stats.HeapAlloc)
	}
	return len(p), nil
}

// The memory of an export does not depend on its length. Not parallel: other tests
// would use memory meanwhile.
func TestAPI_export_memory(t *testing.T) { //nolint:paralleltest // see above
	w := newWorld(t)
	const matches = 10_000
	w.duels(matches)
	m := &meter{ResponseWriter: httptest.NewRecorder()}
	w.api.ServeHTTP(m, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/leagues/quiz/export?kind=matches", nil))
	if len(m.used) < 10 || m.bytes < matches*500 {
		t.Fatalf("%d bytes in %d parts: too little to see", m.bytes, m.parts)
	}
	begin, most := m.used[0], uint64(0)
	for _, used := range m.used {
		most = max(most, used)
	}
	if grown := int64(most) - int64(begin); grown > int64(m.bytes/4) || grown > 4<<20 {
		t.Errorf("%d bytes were written, and memory grew by %d", m.bytes, grown)
	}
}

// gone is a client that goes away after a part.
type gone struct {
	*httptest.ResponseRecorder

	leave context.CancelFunc
}

func (g gone) Write(p []byte) (int, error) {
	g.leave()
	return g.ResponseRecorder.Write(p)
}

// A client that goes away ends its export, and the connection breaks off: nobody takes
// the part for the whole. Its stream counts no longer.
func TestAPI_export_gone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.Limits.StreamsPerAddress = 1 })
	w.duels(3 * exportPage)
	ctx, leave := context.WithCancel(t.Context())
	out := gone{httptest.NewRecorder(), leave}
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // a sentinel, passed to panic as it is
				t.Errorf("ended with %v", v)
			}
		}()
		w.api.ServeHTTP(out, httptest.NewRequestWithContext(ctx, "GET", "/v1/leagues/quiz/export?kind=ratings", nil))
	}()
	if n := bytes.Count(out.Body.Bytes(), []byte("\n")); n != exportPage {
		t.Errorf("%d lines were written, want a page", n)
	}
	if lines := w.do("GET", "/v1/leagues/quiz/export?kind=ratings", "", nil).lines(); len(lines) != 3*exportPage {
		t.Errorf("%d lines", len(lines))
	}
}

// failing reads the first page of matches only.
type failing struct {
	Visible

	pages int
}

func (f *failing) Matches(ctx context.Context, filter arena.MatchFilter, p arena.Page) ([]visibility.Match, string, error) {
	if f.pages++; f.pages > 1 {
		return nil, "", arena.Errorf(arena.CodeUnavailable, "the database is away")
	}
	return f.Visible.Matches(ctx, filter, p)
}

// What fails in the middle of an export breaks its connection, compressed or not: a
// reader has an error and not the end of a file. What fails before is answered.
func TestAPI_export_fails(t *testing.T) {
	t.Parallel()
	visible := &failing{}
	w := newWorld(t, func(o *parts) {
		visible.Visible = o.Matches.Visible
		o.Matches.Visible = visible
	})
	w.duels(2 * exportPage)
	w.now.Store(time.Now().UnixMilli()) // of the sockets
	compressed, err := Compress(w.api)
	w.ok(err)
	for _, h := range []http.Handler{w.api, compressed} {
		visible.pages = 0
		server := httptest.NewServer(h)
		defer server.Close()
		req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/leagues/quiz/export?kind=matches", nil)
		w.ok(err)
		resp, err := server.Client().Do(req)
		w.ok(err)
		body, err := io.ReadAll(resp.Body)
		w.ok(resp.Body.Close())
		if n := bytes.Count(body, []byte("\n")); resp.StatusCode != 200 || n != exportPage || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("status %d, %d lines, %v", resp.StatusCode, n, err)
		}
	}
	w.do("GET", "/v1/leagues/quiz/export?kind=matches", "", nil).is(503)
}

// Threat V7: an export waits for its turn among the dear routes for each part, and
// holds none while its reader is slow.
func TestAPI_export_dear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.duels(2 * exportPage)
		read, wrote := make(chan struct{}), make(chan int, 10)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.api.ServeHTTP(slow{httptest.NewRecorder(), read, wrote}, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/leagues/quiz/export?kind=ratings", nil))
		}()
		<-wrote // the first part is being written
		for range dearAtOnce {
			w.api.dear <- struct{}{} // all turns are free, and taken now
		}
		read <- struct{}{}
		synctest.Wait()
		if len(wrote) > 0 {
			t.Error("a part was made without a turn")
		}
		for range dearAtOnce {
			<-w.api.dear
		}
		<-wrote
		read <- struct{}{}
		<-done
	})
}

// slow is a client that takes a part when it is told to.
type slow struct {
	*httptest.ResponseRecorder

	read  <-chan struct{}
	wrote chan<- int
}

func (s slow) Write(p []byte) (int, error) {
	s.wrote <- len(p)
	<-s.read
	return len(p), nil
}
