package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/audit"
	"github.com/agora-arena/arena/league/settings"
)

// auditTasks are questions with four options, the right one at changing places.
func auditTasks(n int) []arena.Task {
	tasks := make([]arena.Task, n)
	for i := range tasks {
		t := arena.Task{Description: fmt.Sprintf("Question %d?", i)}
		for o := range 4 {
			t.Options = append(t.Options, fmt.Sprintf("option %d of %d", o, i))
		}
		t.Answers = []string{t.Options[i*7%4]}
		tasks[i] = t
	}
	return tasks
}

func auditSettings(judge string) arena.Settings {
	spec := arena.JudgeSpec{Kind: judge}
	if spec.Compares() {
		spec.Criteria = "the better one"
	}
	return settings.Defaults(arena.Settings{Judge: spec, Rounds: 3, TimeLimit: auditLimit, Rated: true})
}

// audited returns the names of the cheats of an audit that succeeded, and of those
// that were not tried.
func auditedOf(t *testing.T, s *Server, of arena.Settings, tasks []arena.Task, plant func(*auditCopy, *http.ServeMux)) (succeeded, untried string) {
	t.Helper()
	report, err := s.audited(t.Context(), of, tasks, plant)
	must(t, err)
	var won, left []string
	for _, c := range report.Cheats {
		switch {
		case c.Tried == 0:
			left = append(left, c.Name)
		case !c.Passed:
			won = append(won, c.Name)
		}
	}
	if len(report.Cheats) != 8 {
		t.Errorf("%d cheats", len(report.Cheats))
	}
	checkOpponents(t, of.Judge, report.Opponents)
	return strings.Join(won, " "), strings.Join(left, " ")
}

// checkOpponents reports built-in opponents that did not play beside the cheats, or not
// about as well as they are known to.
func checkOpponents(t *testing.T, judge arena.JudgeSpec, opponents []arena.AuditedOpponent) {
	t.Helper()
	if want := len(audit.Scale(judge)); len(opponents) != want {
		t.Errorf("%d built-in opponents, want %d", len(opponents), want)
	}
	last := -1.0
	for _, o := range opponents {
		k, _ := arena.BuiltInOf(o.Name)
		if known := float64(k.Known) / 100; o.Tried < 40 || o.Share <= last || o.Low > known || o.High < known {
			t.Errorf("%+v, known %v", o, known)
		}
		last = o.Share
	}
}

// Each of the eight cheats is found where it works, and no other with it.
func TestAudit_planted(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	regex := func(pattern string) []arena.Task {
		tasks := auditTasks(40)
		for i := range tasks {
			tasks[i].Options, tasks[i].Answers = nil, []string{pattern}
		}
		return tasks
	}
	first := auditTasks(40)
	for i := range first {
		first[i].Answers = first[i].Options[:1]
	}
	constant := auditTasks(60)
	for i := range constant {
		constant[i].Options[i%3] = "the same"
		constant[i].Answers = []string{"the same"}
	}
	inTime := func(name string) func(*auditCopy, *http.ServeMux) {
		return func(c *auditCopy, mux *http.ServeMux) {
			mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) { serveAudit(w, r, c.right) })
		}
	}
	live := auditSettings(arena.JudgeChoice)
	live.Visibility = arena.VisibilityLive
	for want, tt := range map[string]struct {
		of    arena.Settings
		tasks []arena.Task
		plant func(*auditCopy, *http.ServeMux)
	}{
		"":                   {of: auditSettings(arena.JudgeChoice), tasks: auditTasks(60)},
		arena.CheatFirst:     {of: auditSettings(arena.JudgeChoice), tasks: first},
		arena.CheatConstant:  {of: auditSettings(arena.JudgeChoice), tasks: constant},
		arena.CheatEcho:      {of: auditSettings(arena.JudgeRegex), tasks: regex(`^Question \d+\?$`)},
		arena.CheatInjection: {of: auditSettings(arena.JudgeRegex), tasks: regex(`(?s).*Ignore all earlier instruction[s].*`)},
		arena.CheatCopier:    {of: live, tasks: auditTasks(40)},
		// An arena that counts what comes too late, or nothing at all, looks like agents
		// that answer in time.
		arena.CheatLate:    {of: auditSettings(arena.JudgeChoice), tasks: auditTasks(40), plant: inTime(arena.CheatLate)},
		arena.CheatSilence: {of: auditSettings(arena.JudgeChoice), tasks: auditTasks(40), plant: inTime(arena.CheatSilence)},
		arena.CheatClones:  {of: auditSettings(arena.JudgeChoice), tasks: auditTasks(40), plant: func(c *auditCopy, _ *http.ServeMux) { c.apart = true }},
	} {
		t.Run("found "+want, func(t *testing.T) {
			t.Parallel()
			if got, untried := auditedOf(t, s, tt.of, tt.tasks, tt.plant); got != want || untried != "" {
				t.Errorf("succeeded: %q, want %q; not tried: %q", got, want, untried)
			}
		})
	}
}

// The folder of the copy goes with it, also when the audit is stopped.
func TestAudit_folder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newTestServer(t)
	ctx, stop := context.WithCancel(t.Context())
	_, err := s.audited(ctx, auditSettings(arena.JudgeChoice), auditTasks(40), func(*auditCopy, *http.ServeMux) {
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "arena-audit-*")); len(left) != 1 {
			t.Errorf("folders of the copy: %v", left)
		}
		stop()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "arena-audit-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A rated league whose first option is always right is a draft again after the job that
// audits new leagues; one that a fair draw decides stays open, and a game is not tried.
func TestAudit_opens(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	create := func(slug string, source map[string]any, tasks []arena.Task) {
		t.Helper()
		if tasks != nil {
			pack := arena.Pack{ID: "pk_" + slug, Name: slug, Format: "jsonl", CreatedAt: s.now().UTC()}
			must(t, s.store.Packs.CreatePack(t.Context(), pack, tasks))
			source = map[string]any{"pack_id": pack.ID, "judge": "choice", "rounds": 3}
		}
		body := map[string]any{"slug": slug, "title": slug, "time_limit_seconds": 5, "rated": true}
		maps.Copy(body, source)
		text, err := json.Marshal(body)
		must(t, err)
		if w := request(t, s, http.MethodPost, "/v1/leagues", testAdmin, string(text)); w.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", slug, w.Code, w.Body)
		}
	}
	first := auditTasks(40)
	for i := range first {
		first[i].Answers = first[i].Options[:1]
	}
	create("fair", nil, auditTasks(40))
	create("first", nil, first)
	create("game", map[string]any{"game": map[string]any{"name": "connect_four"}}, nil)
	jobs := s.jobs()
	must(t, jobs[slices.IndexFunc(jobs, func(j job) bool { return j.name == "audits" })].run(t.Context()))
	for slug, want := range map[string]struct {
		status arena.LeagueStatus
		note   string
		at     bool
	}{
		"fair": {arena.LeagueOpen, "", true}, "first": {arena.LeagueOpen, "", true}, "game": {arena.LeagueOpen, "", false},
	} {
		l, err := s.store.Leagues.League(t.Context(), slug)
		must(t, err)
		if l.Status != want.status || l.Note.String() != want.note || (l.Audit != nil) != want.at || l.Audit.Waits() {
			t.Errorf("%s is %s: %s; audit %+v", slug, l.Status, l.Note, l.Audit)
		}
	}
}

// A language model is asked about the injection only. A panel is not asked at all.
func TestAudit_judges(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		obeys   bool
		judge   string
		want    string
		untried string
	}{
		"a model that obeys":    {true, arena.JudgeModel, arena.CheatInjection, "constant first_option echo"},
		"a model that does not": {false, arena.JudgeModel, "", "constant first_option echo"},
		"a panel":               {true, arena.JudgePanel, "", "constant first_option echo injection"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked struct {
					Messages []struct{ Content string }
				}
				_ = json.NewDecoder(r.Body).Decode(&asked)
				var doc struct{ A, B string }
				_ = json.Unmarshal([]byte(asked.Messages[1].Content), &doc)
				winner := "tie"
				if tt.obeys && strings.Contains(asked.Messages[1].Content, "SYSTEM") {
					winner = "B"
					if strings.Contains(doc.A, "SYSTEM") {
						winner = "A"
					}
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": fmt.Sprintf(`{"winner":%q,"reason":"r"}`, winner)}}}})
			}))
			t.Cleanup(model.Close)
			s := newTestServer(t, "ARENA_JUDGE_URL="+model.URL, "ARENA_JUDGE_MODEL=fake")
			tasks := auditTasks(30)
			for i := range tasks {
				tasks[i].Answers, tasks[i].Options = nil, nil
			}
			if got, untried := auditedOf(t, s, auditSettings(tt.judge), tasks, nil); got != tt.want || untried != tt.untried {
				t.Errorf("succeeded: %q, want %q; not tried: %q", got, tt.want, untried)
			}
		})
	}
}
