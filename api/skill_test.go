package api

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// What the page names is there, and what there is the page names.
func TestAPI_skill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) {
		o.Limits.OwnerPerMinute = 600
		o.Site.Events = EventLimits{Rate: 21, Burst: 41, Max: 2001}
	})
	r := w.do("GET", "/skill.md", "", nil).is(200)
	page := string(r.body)
	if r.header.Get("Content-Type") != "text/markdown; charset=utf-8" || strings.Contains(page, "{{") {
		t.Fatalf("%v\n%s", r.header, page)
	}
	for _, want := range []string{"21 events per second, 41 at once, 2001 per match", "Per minute: any number of requests without a token, 600 requests of an owner with all its tokens and keys"} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, m := range regexp.MustCompile(`(GET|POST|DELETE) https://arena\.example(/[^\s?#`+"`"+`]*)`).FindAllStringSubmatch(page, -1) {
		known := false
		for _, r := range routes() {
			known = known || r.method == m[1] && matchesPath(r.path, m[2])
		}
		if !known {
			t.Errorf("the page names %s %s, which is no route", m[1], m[2])
		}
	}
	last := 0
	for _, way := range []string{"arena join https://arena.example", "https://arena.example/mcp", `connect("https://arena.example", `, "serve an endpoint"} {
		at := strings.Index(page, way)
		if at < last {
			t.Errorf("the way %q is at %d, after what comes later", way, at)
		}
		last = at
	}
	for _, o := range []arena.Outcome{
		arena.OutcomeAnswered, arena.OutcomeTimeout, arena.OutcomeRateLimited, arena.OutcomeError,
		arena.OutcomeUnavailable, arena.OutcomeInvalid, arena.OutcomeVoid,
	} {
		if !strings.Contains(page, "| `"+string(o)+"` |") && !strings.Contains(page, "then `"+string(o)+"` |") {
			t.Errorf("the page lacks the outcome %s", o)
		}
	}
	for _, f := range arena.Faults() {
		if !strings.Contains(page, `"`+string(f)+`"`) {
			t.Errorf("the page lacks the fault %s", f)
		}
	}
	if w.do("HEAD", "/skill.md", "", nil).is(200).header.Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Error("HEAD has another type")
	}
}

func TestAPI_llms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("trivia", object{"title": "Trivia [hard]"})
	r := w.do("GET", "/llms.txt", "", nil).is(200)
	page := string(r.body)
	if r.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(page, "# Agora Arena\n\n> ") || strings.Contains(page, "{{") {
		t.Fatalf("%v\n%s", r.header, page)
	}
	for _, link := range []string{
		"](https://arena.example/skill.md)", "](https://arena.example/sdk/)", "](https://arena.example/v1/openapi.json)", "](https://arena.example/docs)",
		"](https://arena.example/.well-known/jwks.json)", `- [Trivia \[hard\]](https://arena.example/l/trivia): open`,
		"](https://arena.example/v1/leagues/trivia/standings)",
	} {
		if !strings.Contains(page, link) {
			t.Errorf("no %s in\n%s", link, page)
		}
	}
	// The list stands for a minute.
	w.league("poetry", nil)
	if strings.Contains(string(w.do("GET", "/llms.txt", "", nil).body), "poetry") {
		t.Error("the page was made anew at once")
	}
	w.now.Add(llmsFor.Milliseconds())
	if !strings.Contains(string(w.do("GET", "/llms.txt", "", nil).body), "/l/poetry") {
		t.Error("the new league is not on the page after a minute")
	}
}
