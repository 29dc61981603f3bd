package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agora-arena/arena/examples/agents"
	"github.com/agora-arena/arena/internal/testwait"
)

// realFile reads a file of real questions that lies beside the checkout, and
// skips where there is none.
func realFile(t *testing.T, name string) []byte {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", name)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("real questions are not here: %s", path)
	}
	must(t, err)
	return data
}

type imported struct {
	ID      string `json:"pack_id"`
	Tasks   int    `json:"tasks"`
	Skipped []struct {
		Line   int    `json:"line"`
		Reason string `json:"reason"`
	} `json:"skipped"`
}

// Real question files through the API: how many are taken, what is said of
// the bad ones.
func TestE2E_ImportTable(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	rows := []struct {
		file, format string
		skipBad      bool
		tasks        int   // 0: refused
		bad          []int // lines
	}{
		{"opentriviaqa-geography.txt", "opentriviaqa", false, 842, nil},
		{"gsm8k-test.jsonl", "gsm8k", false, 1319, nil},
		{"opentriviaqa-history.txt", "opentriviaqa", false, 0, []int{1698, 4268}},
		{"opentriviaqa-history.txt", "opentriviaqa", true, 1643, []int{1698, 4268}},
		{"gsm8k-test.jsonl", "auto", false, 1319, nil},
		{"opentriviaqa-history.txt", "auto", true, 1643, []int{1698, 4268}},
		{"gsm8k-test.jsonl", "jsonl", false, 0, nil},
		{"gsm8k-test.jsonl", "opentriviaqa", true, 0, nil},
	}
	for _, r := range rows {
		data := realFile(t, r.file)
		path := fmt.Sprintf("/v1/packs?format=%s&name=%s&skip_bad=%v", r.format, r.file, r.skipBad)
		if r.tasks == 0 {
			refusal := p.refused(p.admin, http.MethodPost, path, data, 422, "pack_invalid")
			for i, line := range r.bad {
				if len(refusal.Errors) != len(r.bad) || refusal.Errors[i].Field != fmt.Sprintf("line %d", line) {
					t.Errorf("%s: bad lines are reported as %+v, want %v", r.file, refusal.Errors, r.bad)
				}
			}
			continue
		}
		var got imported
		p.call(p.admin, http.MethodPost, path, data, &got)
		if got.Tasks != r.tasks || len(got.Skipped) != len(r.bad) {
			t.Errorf("%s: %d tasks, skipped %+v; want %d and %v", r.file, got.Tasks, got.Skipped, r.tasks, r.bad)
		}
		for i, line := range r.bad {
			if i < len(got.Skipped) && (got.Skipped[i].Line != line || got.Skipped[i].Reason == "") {
				t.Errorf("%s: skipped %+v, want line %d with a reason", r.file, got.Skipped[i], line)
			}
		}
	}
}

// A league on real word problems, played by real agents of the SDK until
// ratings have moved.
func TestE2E_RealQuestions(t *testing.T) {
	t.Parallel()
	data := realFile(t, "gsm8k-test.jsonl")
	p := serve(t, t.TempDir())
	var pack imported
	p.call(p.admin, http.MethodPost, "/v1/packs?format=gsm8k&name=gsm8k", data, &pack)
	p.league("gsm8k", pack.ID, map[string]any{
		"format": "ladder", "min_seats": 2, "max_seats": 2, "judge": map[string]any{"kind": "number"}, "rounds": 10, "time_limit_seconds": 10,
	})
	known := map[string]string{}
	for line := range strings.Lines(string(data)) {
		var q struct{ Question, Answer string }
		must(t, json.Unmarshal([]byte(line), &q))
		_, answer, _ := strings.Cut(q.Answer, "####")
		known[q.Question] = strings.TrimSpace(answer)
	}
	fleet, err := agents.Start(context.WithoutCancel(t.Context()), agents.Options{
		Arena: p.url, Leagues: []string{"gsm8k"}, Knowledge: known, Count: 8, Seed: 3, Logger: discard(),
	})
	must(t, err)
	t.Cleanup(fleet.Close)
	var ids []string
	for _, a := range fleet.Agents() {
		var made struct {
			ID string `json:"agent_id"`
		}
		p.call(p.owner("owner of "+a.Name), http.MethodPost, "/v1/agents",
			map[string]any{"name": a.Name, "endpoint": a.Endpoint, "leagues": []string{"gsm8k"}}, &made)
		must(t, fleet.Joined(a.Name, made.ID, ""))
		ids = append(ids, made.ID)
	}
	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "gsm8k", "agents": ids[:2]}, &m)
	s := p.watch(m.ID, 0)
	var result finished
	s.end(&result)
	s.gapless(1)
	if !result.Rated {
		t.Error("two agents of two owners played an unrated match")
	}
	// The verdicts are those of a comparison of the file with the answers.
	points, judged, question := map[string]float64{}, 0, ""
	for _, e := range s.seen {
		var round struct {
			Task struct {
				Description string `json:"description"`
			} `json:"task"`
			Seats []struct {
				AgentID string  `json:"agent_id"`
				Answer  *string `json:"answer"`
				Points  float64 `json:"points"`
			} `json:"seats"`
		}
		switch e.Type {
		case "round_started":
			must(t, json.Unmarshal(e.Raw, &round))
			question = round.Task.Description
		case "round_closed":
			must(t, json.Unmarshal(e.Raw, &round))
			for _, seat := range round.Seats {
				want := 0.0
				if seat.Answer != nil && number(t, *seat.Answer) == number(t, known[question]) {
					want = 1
				}
				if seat.Points != want {
					t.Errorf("%q, answer in the file %s: %s got %g points, want %g", question, known[question], e.Raw, seat.Points, want)
				}
				points[seat.AgentID] += want
				judged++
			}
		}
	}
	if judged != 20 {
		t.Errorf("%d answers were judged in ten rounds of two", judged)
	}
	for _, seat := range result.Seats {
		if seat.Points != points[seat.AgentID] {
			t.Errorf("%s has %g points at the end, %g by its rounds", seat.AgentID, seat.Points, points[seat.AgentID])
		}
	}
	p.call(p.admin, http.MethodPost, "/v1/leagues/gsm8k/start", nil, nil)
	testwait.Until(t, "the ladder has played by itself", func() bool {
		var list struct{ Items []json.RawMessage }
		p.call(p.admin, http.MethodGet, "/v1/matches?league=gsm8k&status=finished&limit=10", nil, &list)
		return len(list.Items) >= 4
	})
}

// number reads an answer of the file's kind: 1,234 or 12.5.
func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	must(t, err)
	return n
}
