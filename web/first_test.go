package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const testBody = "<!doctype html><title>the page</title><body>\n    <div></div>\n  </body>"

// at is the time at which all pages are made.
func at() time.Time { return time.Date(2026, 5, 1, 18, 30, 0, 0, time.UTC) }

// carried returns the answers in a page.
func carried(t *testing.T, page string) map[string]json.RawMessage {
	t.Helper()
	_, block, found := strings.Cut(page, `<script type="application/json" id="first">`)
	block, _, closed := strings.Cut(block, "</script>")
	if !found || !closed {
		return nil
	}
	var first struct {
		Date    time.Time
		Answers map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(block), &first); err != nil || !first.Date.Equal(at()) {
		t.Fatalf("%v in %s", err, block)
	}
	return first.Answers
}

// The API answers for a page what it would answer for its app.
func TestHandler_First(t *testing.T) {
	t.Parallel()
	files := builtFiles()
	files["index.html"].Data = []byte(testBody)
	answers := map[string]string{
		"/v1/lobby":                    `{"live":[]}`,
		"/v1/matches/m_1":              `{"league":"a b"}`,
		"/v1/leagues/a%20b":            `{"title":"Quiz"}`,
		"/v1/matches/m_2":              `{}`,
		"/v1/agents/ag_1/ratings":      `{"items":[]}`,
		"/v1/leagues":                  `{"items":[]}`,
		"/v1/leagues/trivia":           `{"title":"Trivia"}`,
		"/v1/leagues/trivia/seasons/2": `{"season":2}`,
		"/v1/leagues/trivia/seasons/":  `{"season":0}`,
		"/v1/leagues/trivia/standings": `not JSON, in spite of its type`,
		"/v1/marks":                    `{"marks":{}}`,
	}
	h := newHandler(files, nil, func(_ context.Context, path string) (Preview, bool) {
		return Preview{}, path != "/m/none"
	}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header) > 0 || r.Method != http.MethodGet || r.Host != "arena.example" || r.RemoteAddr != "192.0.2.1:1234" {
			t.Errorf("%s %s of %s on %s with %v", r.Method, r.URL, r.RemoteAddr, r.Host, r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		body, ok := answers[r.URL.EscapedPath()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			body = `{"code":"not_found"}`
		}
		_, _ = io.WriteString(w, body)
	}), at)
	for target, want := range map[string][]string{
		"/":                   {"/v1/lobby", "/v1/marks"},
		"/m/m_1":              {"/v1/matches/m_1", "/v1/leagues/a%20b", "/v1/marks"},
		"/m/m_2":              {"/v1/matches/m_2", "/v1/marks"}, // of no league
		"/m/m_3":              {"/v1/marks"},
		"/m/none":             nil,
		"/a/ag_1":             {"/v1/agents/ag_1/ratings", "/v1/leagues", "/v1/marks"},
		"/l/trivia":           {"/v1/leagues/trivia", "/v1/marks"},
		"/l/trivia/seasons/2": {"/v1/leagues/trivia", "/v1/leagues/trivia/seasons/2", "/v1/marks"},
		"/console":            nil,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			res := get(t, h, method, "http://arena.example"+target, http.Header{
				"Authorization": {"Bearer arena_secret"}, "Cookie": {"session=secret"}, "Accept-Language": {"es"},
			})
			page := readAll(t, res)
			if method == http.MethodHead {
				if page != "" {
					t.Errorf("HEAD %s has a body", target)
				}
				continue
			}
			got := carried(t, page)
			if len(got) != len(want) {
				t.Errorf("%s carries %v, want %v", target, got, want)
			}
			for _, address := range want {
				if string(got[address]) != answers[address] {
					t.Errorf("%s: %s is %s", target, address, got[address])
				}
			}
			if kept := res.Header.Get("Cache-Control"); len(want) > 0 && (kept != "no-store" || res.Header.Get("ETag") != "") {
				t.Errorf("%s may be kept: %q, ETag %q", target, kept, res.Header.Get("ETag"))
			}
		}
	}
}

// Few chosen avatars are in the page; many are left to the app.
func TestHandler_First_marks(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{100: true, 1000: false} {
		files := builtFiles()
		files["index.html"].Data = []byte(testBody)
		h := newHandler(files, nil, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := `{}`
			if r.URL.Path == "/v1/marks" {
				body = `{"marks":[` + strings.Repeat(`"ag_00000000000000000000000000",`, n) + `""]}`
			}
			_, _ = io.WriteString(w, body)
		}), at)
		got := carried(t, readAll(t, get(t, h, http.MethodGet, "/", nil)))
		if _, ok := got["/v1/marks"]; ok != want || got["/v1/lobby"] == nil {
			t.Errorf("%d marks: the page carries %v", n, got)
		}
	}
}

// Threat E3: no text that an agent wrote leaves the block of data.
func TestHandler_First_hostile(t *testing.T) {
	t.Parallel()
	files := builtFiles()
	files["index.html"].Data = []byte(testBody)
	const hostile = "</script><script>alert(1)</script><!-- </body> &lt; \u2028 \u2029 \u202e"
	h := newHandler(files, nil, nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"name":"`+hostile+`"}`) // as it is, where the API would escape it
	}), at)
	page := readAll(t, get(t, h, http.MethodGet, "/", nil))
	before, after, _ := strings.Cut(testBody, "</body>")
	block, ok := strings.CutPrefix(page, before+`<script type="application/json" id="first">`)
	block, closed := strings.CutSuffix(block, "</script>\n  </body>"+after)
	if !ok || !closed || strings.ContainsAny(block, "<>&\u2028\u2029") {
		t.Fatalf("the page: %s", page)
	}
	var first struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(carried(t, page)["/v1/lobby"], &first); err != nil || first.Name != hostile {
		t.Errorf("%q, %v", first.Name, err)
	}
}

// A page does not wait for an API that does not answer, nor ask on for a reader that has gone.
func TestHandler_First_silent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(builtFiles(), nil, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			w.WriteHeader(http.StatusServiceUnavailable)
		}), nil)
		res := get(t, h, http.MethodGet, "/l/trivia", nil)
		if body := readAll(t, res); res.StatusCode != http.StatusOK || body != testIndex {
			t.Errorf("%d, %s", res.StatusCode, body)
		}
		if kept := res.Header.Get("Cache-Control"); kept != cacheRevalidate {
			t.Errorf("Cache-Control %q", kept)
		}
	})
}
