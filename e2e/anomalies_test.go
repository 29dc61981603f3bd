package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// Threat F4, on the real server: one agent repeats what another said to the
// same question, in its round or in an earlier match; the report names the two
// and what the copycat said to a canary, and no honest agent.
func TestE2E_Anomalies(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	var lines bytes.Buffer
	const questions = 40
	for i := range questions {
		fmt.Fprintf(&lines, `{"description":"Which one, in case %d?","answer":"a%d","options":["a%d","b%d","c%d","d%d"]}`+"\n", i, i, i, i, i, i)
	}
	var pack struct {
		ID string `json:"pack_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=cases", lines.Bytes(), &pack)
	p.league("cases", pack.ID, map[string]any{
		"judge": "choice", "format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": 20, "canary": 5, "rated": true,
	})
	// Who is asked picks by name and question, so that all have other mistakes.
	pick := func(name string) func(protocoltest.Request) string {
		return func(r protocoltest.Request) string {
			sum := sha256.Sum256([]byte(name + r.Task.Task.Description))
			return r.Task.Task.Options[sum[0]%4]
		}
	}
	honest := func(name string) *contestant {
		say := pick(name)
		return p.contestant(name, func(r protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer(say(r)) }, "cases")
	}
	source := pick("Source")
	said := make(chan map[string]string, 1) // what it answered to a canary first
	said <- map[string]string{}
	remember := func(r protocoltest.Request) string {
		known := <-said
		defer func() { said <- known }()
		question := r.Task.Task.Description
		if strings.HasPrefix(question, "Which one, in case") {
			return source(r)
		}
		if known[question] == "" {
			known[question] = source(r)
		}
		return known[question]
	}
	all := []*contestant{
		p.contestant("Source", func(r protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer(source(r)) }, "cases"),
		p.contestant("Copycat", func(r protocoltest.Request) protocoltest.Behaviour { return protocoltest.Answer(remember(r)) }, "cases"),
	}
	for i := range 6 {
		all = append(all, honest(fmt.Sprintf("Honest %d", i)))
	}
	for i, a := range all {
		for _, b := range all[:i] {
			p.watch(p.schedule("cases", a, b), 0).end(nil)
		}
	}
	var report struct {
		Matches, Answers, Duels, Pairs int
		Items                          []struct {
			Kind     string
			AgentIDs []string `json:"agent_ids"`
			Chance   float64
			Observed int
		}
	}
	p.call(p.admin, http.MethodGet, "/v1/admin/anomalies?league=cases", nil, &report)
	if report.Matches != 28 || report.Answers != 28*20*2 || report.Duels != 28 || report.Pairs != 28 {
		t.Errorf("looked at %+v", report)
	}
	kinds := map[string]bool{}
	for _, a := range report.Items {
		kinds[a.Kind] = true
		for _, id := range a.AgentIDs {
			if id != all[0].id && id != all[1].id {
				t.Errorf("an honest agent stands in %+v", a)
			}
		}
		if a.Kind == "foreign_mark" && (len(a.AgentIDs) != 1 || a.AgentIDs[0] != all[1].id) {
			t.Errorf("%+v, want the copycat alone", a)
		}
	}
	if len(report.Items) != 2 || !kinds["copied_answers"] || !kinds["foreign_mark"] {
		t.Errorf("found %+v", report.Items)
	}
	var out bytes.Buffer
	env := []string{"ARENA_URL=" + p.url, "ARENA_ADMIN_TOKEN=" + e2eAdmin}
	if code := execArena(t.Context(), buildArena(t), []string{"admin", "anomalies", "cases"}, env, nil, &out, &out); code != exitOK || !strings.Contains(out.String(), `"kind": "foreign_mark"`) {
		t.Errorf("exit %d: %s", code, &out)
	}
}
