package api

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// Every act for which a token was needed is kept: who did what to what, with
// what it changed, and no secret.
func TestAPI_audit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", object{"entry": object{"password": "sesame"}})
	ann := w.agent(w.alice, "Ann")
	w.do("PUT", "/v1/leagues/quiz/entries/"+ann, w.alice, nil, "X-League-Password", "sesame").is(204)
	w.do("POST", "/v1/leagues/quiz/start", w.admin, nil).is(200)
	w.do("POST", "/v1/leagues/quiz/start", w.admin, nil).is(409) // refused: not an act
	w.do("PATCH", "/v1/agents/"+ann, w.alice, object{"description": "fast"}).is(200)
	w.do("POST", "/v1/agents/"+ann+"/pause", w.admin, nil).is(200)
	w.do("GET", "/v1/agents/"+ann+"/deliveries", w.alice, nil).is(200) // reading
	secret := w.do("POST", "/v1/me/tokens", w.alice, object{"name": "ci"}).is(201).str("token")

	var got []string
	log := w.do("GET", "/v1/admin/audit", w.admin, nil).is(200)
	for _, e := range into[struct {
		Items []struct {
			Actor, Action, Target string
			Before, After         any
		}
	}](log).Items {
		who := map[string]string{"admin": "admin", w.aliceI: "alice"}[e.Actor]
		target := strings.NewReplacer(ann, "Ann").Replace(e.Target)
		if i := strings.Index(target, "_"); i > 0 {
			target = target[:i]
		}
		got = append(got, who+" "+e.Action+" "+target)
	}
	want := []string{
		"alice create-token to", "admin pause-agent Ann", "alice update-agent Ann", "admin start-league quiz",
		"alice enter-league quiz", "alice create-agent Ann", "admin create-league quiz", "admin create-pack pk",
	}
	slices.Sort(want) // all of one millisecond: in no order
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	body := string(log.body)
	for _, hidden := range []string{"sesame", secret, w.alice, w.admin} {
		if strings.Contains(body, hidden) {
			t.Errorf("the log shows %q", hidden)
		}
	}
	for _, shown := range []string{`"before":"open","after":"running"`, `"description":"fast"`} {
		if !strings.Contains(body, shown) {
			t.Errorf("the log does not show %s: %s", shown, body)
		}
	}
	w.do("GET", "/v1/admin/audit", w.alice, nil).is(403)

	// Each entry says what its ids are called, and filters take names.
	count := func(query string) int {
		t.Helper()
		return len(into[struct{ Items []struct{} }](w.do("GET", "/v1/admin/audit?"+query, w.admin, nil).is(200)).Items)
	}
	for query, want := range map[string]int{
		"actor=admin": 4, "actor=" + w.aliceI: 4, "actor=ALICE": 4, "actor=nobody": 0, "action=create-agent,enter-league": 2, "action=enter-league&actor=admin": 0,
		"from=2000-01-01T00:00:00Z": 8, "to=2000-01-01T00:00:00Z": 0, "from=2200-01-01T00:00:00Z": 0, "to=2200-01-01T00:00:00Z&limit=3": 3,
	} {
		if got := count(query); got != want {
			t.Errorf("%s: %d entries, want %d", query, got, want)
		}
	}
	entered := into[struct {
		Items []struct{ Names map[string]string }
	}](w.do("GET", "/v1/admin/audit?action=enter-league", w.admin, nil).is(200))
	if d := cmp.Diff(map[string]string{w.aliceI: "alice", ann: "Ann", "quiz": "League quiz"}, entered.Items[0].Names); d != "" {
		t.Error(d)
	}
	w.do("GET", "/v1/admin/audit?from=yesterday", w.admin, nil).is(422)
}

// Operations of an admin that no service performs are recorded as well.
func TestAPI_audit_operations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("POST", "/v1/admin/banner", w.admin, object{"text": "Down at six"}).is(200)
	w.do("POST", "/v1/admin/banner", w.admin, object{"text": "Up again"}).is(200)
	w.do("POST", "/v1/admin/ratings/verify", w.admin, nil).is(200)
	w.do("POST", "/v1/admin/drain", w.admin, nil).is(202)
	log := w.do("GET", "/v1/admin/audit", w.admin, nil).is(200)
	var got []string
	for _, e := range into[struct {
		Items []struct {
			Actor, Action, Target string
			Before, After         json.RawMessage
		}
	}](log).Items {
		got = append(got, strings.TrimSpace(e.Actor+" "+e.Action+" "+e.Target+" "+string(e.Before)+" "+string(e.After)))
	}
	want := []string{
		`admin drain-node`, `admin set-banner banner "" "Down at six"`, `admin set-banner banner "Down at six" "Up again"`, `admin verify-ratings`,
	}
	slices.Sort(got) // all of one millisecond: in no order
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAPI_scores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	if r := w.do("POST", "/v1/admin/ratings/verify", w.admin, nil).is(200); strings.TrimSpace(string(r.body)) != `{"ok":true,"leagues":[]}` {
		t.Errorf("%s", r.body)
	}
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	w.settle(a, b)
	db, err := sql.Open("sqlite", strings.TrimPrefix(w.database, "sqlite:")+"?_pragma=busy_timeout(5000)")
	w.ok(err)
	_, err = db.ExecContext(t.Context(), "UPDATE ratings SET melo = melo + 1 WHERE agent_id = ?", a)
	w.ok(errors.Join(err, db.Close()))
	w.run([]scenario{
		{name: "rescore a match", method: "POST", path: "/v1/matches/m_1/rescore", token: w.admin, status: 200, says: `"changed":[{"match_id":"m_1"`},
		{name: "rescore a league", method: "POST", path: "/v1/leagues/quiz/rescore", token: w.admin, status: 200, says: `"matches":2`},
		{name: "rescore is the admin's", method: "POST", path: "/v1/leagues/quiz/rescore", token: w.alice, status: 403, code: arena.CodeForbidden},
		{name: "verify", method: "POST", path: "/v1/admin/ratings/verify", token: w.admin, status: 200, says: `{"ok":false,"problem":"check ratings: `},
		{name: "rebuild", method: "POST", path: "/v1/admin/ratings/rebuild", token: w.admin, body: object{"league": "quiz"}, status: 200, says: `"settlements":3`},
		{name: "verdicts of no match", method: "GET", path: "/v1/matches/m_none/verdicts", status: 404, code: arena.CodeNotFound},
	})
}
