package api

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Every list takes limit and cursor. One that has no pages of its own comes
// whole without them.
func TestAPI_lists_parts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, slug := range []string{"one", "two", "three", "four", "five"} {
		w.league(slug, nil)
	}
	var got []string
	cursor := ""
	for {
		r := w.do("GET", "/v1/leagues?limit=2&cursor="+cursor, "", nil).is(200)
		items := r.at("items").([]any)
		if len(items) > 2 {
			t.Fatalf("%d items in a part of two", len(items))
		}
		for _, i := range items {
			got = append(got, i.(map[string]any)["slug"].(string))
		}
		if cursor = r.str("next_cursor"); cursor == "" {
			break
		}
	}
	whole := w.do("GET", "/v1/leagues", "", nil).is(200)
	var want []string
	for _, i := range whole.at("items").([]any) {
		want = append(want, i.(map[string]any)["slug"].(string))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") || len(want) != 5 || whole.str("next_cursor") != "" {
		t.Errorf("parts are %v, the whole list is %v", got, want)
	}

	id := w.agent(w.alice, "a1", "one")
	for _, path := range []string{
		"/v1/leagues", "/v1/leagues/one/standings", "/v1/leagues/one/rounds", "/v1/agents/" + id + "/uptime", "/v1/agents/" + id + "/opponents",
		"/v1/matches", "/v1/agents", "/v1/agents/" + id + "/matches", "/v1/leagues/one/matches", "/v1/leagues/one/seasons",
	} {
		w.run([]scenario{
			{name: path + " in parts", method: "GET", path: path + "?limit=1", status: 200},
			{name: path + " too many", method: "GET", path: path + "?limit=101", status: 422, code: arena.CodeInvalid, fields: []string{"limit"}},
			{name: path + " none", method: "GET", path: path + "?limit=0", status: 422, code: arena.CodeInvalid, fields: []string{"limit"}},
		})
	}
	for name, bad := range map[string]string{"no cursor at all": "x", "of another list": "YTphZ18x", "of the first item": "bzow", "below it": "bzotMQ", "no number": "bzp4"} {
		w.run([]scenario{{name: name, method: "GET", path: "/v1/leagues?cursor=" + bad, status: 422, code: arena.CodeInvalid, fields: []string{"cursor"}}})
	}
	if r := w.do("GET", "/v1/me/tokens?limit=1", w.alice, nil).is(200); len(r.at("items").([]any)) != 1 {
		t.Errorf("tokens: %s", r.body)
	}
	// Beyond the end is an empty part.
	if r := w.do("GET", "/v1/leagues?cursor=bzo5OQ", "", nil).is(200); string(r.body) != `{"items":[],"next_cursor":""}`+"\n" {
		t.Errorf("beyond the end: %s", r.body)
	}
}

// A query that cannot be read is refused, not read in part.
func TestAPI_brokenQuery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run([]scenario{
		{name: "broken escape", method: "GET", path: "/v1/agents?limit=1%zz", status: 400, code: arena.CodeMalformed, says: "%zz"},
		{name: "semicolon", method: "GET", path: "/v1/agents?limit=1;q=x", status: 400, code: arena.CodeMalformed, says: "semicolon"},
	})
}

// A list that comes whole ends at a number of bytes; the cursor continues it.
func TestWithinBytes(t *testing.T) {
	t.Parallel()
	items := []string{"aaaa", "bbbb", "cccc"} // 6 bytes each as JSON
	for limit, want := range map[int]int{1: 1, 6: 1, 11: 1, 12: 2, 18: 3, 100: 3} {
		if n, err := withinBytes(items, limit); err != nil || n != want {
			t.Errorf("%d bytes: %d items, %v; want %d", limit, n, err, want)
		}
	}
	many := make([]string, 3)
	for i := range many {
		many[i] = strings.Repeat("x", maxListBytes/2-100)
	}
	part, next, err := partOf(PartParams{}, many)
	if err != nil || len(part) != 2 || next == "" {
		t.Fatalf("%d items, next %q, %v", len(part), next, err)
	}
	if rest, next, err := partOf(PartParams{Cursor: next}, many); err != nil || len(rest) != 1 || next != "" {
		t.Errorf("then %d items, next %q, %v", len(rest), next, err)
	}
}
