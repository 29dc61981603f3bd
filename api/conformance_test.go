package api

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// fullCheck finds one thing wrong.
func (w *world) fullCheck(_ context.Context, g arena.Agent) (arena.Conformance, error) {
	found := arena.Conformance{
		AgentID: g.ID, Version: g.Version, CheckedAt: testNow, Passed: true, MustPass: 12, MustTotal: 12, ShouldPass: 10, ShouldTotal: 11,
		Report: []byte(`{"endpoint":"https://secret.example","league":"quiz","agent_id":"` + g.ID + `","passed":true,"checks":[` +
			`{"id":"token.other_agent","level":"SHOULD","title":"t","clause":"c","result":"fail","sent":"sent secret","got":"got secret","cure":"cure secret"}]}`),
	}
	return found, nil
}

// The badge is the last full check; what was said between arena and agent is
// for its owner.
func TestAPI_conformance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	path := "/v1/agents/" + w.agent(w.alice, "steady", "quiz")
	badge := func(want string) {
		t.Helper()
		r := w.do("GET", path+"/badge.svg", "", nil).is(200)
		if kind := r.header.Get("Content-Type"); kind != "image/svg+xml; charset=utf-8" || !strings.Contains(string(r.body), want) {
			t.Errorf("the badge is %s: %s", kind, r.body)
		}
		for d := xml.NewDecoder(strings.NewReader(string(r.body))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	w.run([]scenario{
		{name: "before the first check", method: "GET", path: path + "/conformance", status: 404, code: arena.CodeNotFound},
		{name: "of nobody", method: "GET", path: "/v1/agents/ag_none/badge.svg", status: 404, code: arena.CodeNotFound},
	})
	badge("AAP 1.0: not checked")
	if a := w.do("GET", path, "", nil).is(200); a.at("conformance") != nil {
		t.Errorf("before a check there is %s", a.body)
	}
	checked := w.do("POST", path+"/check?full=true", w.alice, nil).is(200)
	if checked.at("conformance.passed") != true {
		t.Errorf("after the check: %s", checked.body)
	}
	w.do("PATCH", path, w.alice, map[string]any{"version": "2"}).is(200)
	if a := w.do("GET", path, "", nil).is(200); a.str("version") != "2" || a.at("conformance.version") != "" || a.at("conformance.should.total") != 11.0 {
		t.Errorf("the check of the version before is %s", a.body)
	}
	badge("AAP 1.0: MUST 12/12 · SHOULD 10/11")
	for token, secrets := range map[string]int{"": 0, w.bob: 0, w.alice: 3, w.admin: 3} {
		r := w.do("GET", path+"/conformance", token, nil).is(200)
		if n := strings.Count(string(r.body), "secret"); n != secrets || r.str("checks.0.id") != "token.other_agent" || r.str("league") != "quiz" {
			t.Errorf("%d secrets, want %d: %s", n, secrets, r.body)
		}
	}
}
