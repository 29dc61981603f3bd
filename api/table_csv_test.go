package api

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// A table as CSV has what the JSON has, and no cell that a spreadsheet would compute.
func TestAPI_standings_csv(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.duels(4)
	fitted := w.do("GET", "/v1/leagues/quiz/standings", "", nil).str("items.0.agent_id")
	w.ok(w.store.Leagues.SaveFit(t.Context(), arena.Fit{League: "quiz", Settlement: 4, At: testNow, Lines: []arena.FitLine{
		{AgentID: fitted, Rating: 1_600_000, Low: 1_500_500, High: 1_700_000, Tier: 1, RankLow: 1, RankHigh: 3, Component: 1},
	}}))
	names := []string{`=HYPERLINK("x")`, "+1", "-1", "@a", "＝1", `a "b", c`, "plain"}
	for i, name := range names {
		w.do("POST", "/v1/agents", w.bob, object{"name": name, "endpoint": fmt.Sprintf("https://b%d.example/?plays=quiz", i), "leagues": []string{"quiz"}}).is(201)
	}
	path := "/v1/leagues/quiz/standings"
	table := w.do("GET", path, "", nil, "Accept", "text/csv").is(200)
	if kind := table.header.Get("Content-Type"); kind != "text/csv; charset=utf-8" {
		t.Errorf("the table is %q", kind)
	}
	rows, err := csv.NewReader(bytes.NewReader(table.body)).ReadAll()
	w.ok(err)
	items := w.do("GET", path, "", nil).is(200).at("items").([]any)
	if len(rows) != 1+len(items) || strings.Count(string(table.body), "\r\n") != len(rows) {
		t.Fatalf("%d rows of %d agents: %s", len(rows), len(items), table.body)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	found := map[string]bool{}
	for i, row := range rows[1:] {
		item := items[i].(object)
		found[row[column["name"]]] = true
		if row[column["agent_id"]] != item["agent_id"] || row[column["rating"]] != fmt.Sprintf("%.3f", item["rating"]) {
			t.Errorf("row %v of %v", row, item)
		}
		want, tier := make([]string, 6), ""
		if item["agent_id"] == fitted {
			want = []string{"1600.000", "1500.500", "1700.000", "1", "3", "1"}
			tier = "1"
		}
		if row[column["tier"]] != tier {
			t.Errorf("tier %q, want %q", row[column["tier"]], tier)
		}
		if diff := cmp.Diff(want, row[column["fit_rating"]:]); diff != "" {
			t.Errorf("fit (-want +got):\n%s", diff)
		}
	}
	for _, want := range []string{`'=HYPERLINK("x")`, "'+1", "'-1", "'@a", "'＝1", `a "b", c`, "plain"} {
		if !found[want] {
			t.Errorf("no name %q in %v", want, found)
		}
	}
	part := w.do("GET", path+"?limit=2", "", nil, "Accept", "text/csv").is(200)
	next, ok := strings.CutSuffix(strings.TrimPrefix(part.header.Get("Link"), "<"), `>; rel="next"`)
	if rest := w.do("GET", next, "", nil, "Accept", "text/csv"); !ok || !bytes.HasPrefix(rest.body, []byte("rank,")) || !strings.Contains(next, "limit=2") {
		t.Errorf("next part %q: %s", next, rest.body)
	}
	// Other answers have no form as CSV.
	if r := w.do("GET", "/v1/leagues", "", nil, "Accept", "text/csv").is(200); r.header.Get("Content-Type") != jsonType {
		t.Errorf("leagues are %q", r.header.Get("Content-Type"))
	}
	for _, bad := range []string{"/v1/leagues/none/standings", path + "?limit=x"} {
		if r := w.do("GET", bad, "", nil, "Accept", "text/csv"); r.header.Get("Content-Type") != problemType {
			t.Errorf("%s is %q", bad, r.header.Get("Content-Type"))
		}
	}
}
