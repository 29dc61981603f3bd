package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/players"
)

// evalResult evaluates an agent in a league of an arena.
func evalResult(t *testing.T, o owner, args ...string) (code int, r evalReport, topics evalTopics, errs string) {
	t.Helper()
	code, out, errs := call(t, os.Environ(), append([]string{"eval", "--addr", "127.0.0.1:0", "--json", "--seed", "7", "--url", o.arena.LocalURL()}, args...)...)
	if out != "" {
		must(t, json.Unmarshal([]byte(out), &r))
		topics = r.Topics
	}
	return code, r, topics, errs
}

func TestEval(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `{"description":"Say w%d","answer":"w%d","topic":"%s"}`+"\n", i, i, []string{"even", "odd"}[i%2])
	}
	words := filepath.Join(t.TempDir(), "words.jsonl")
	must(t, os.WriteFile(words, []byte(b.String()), 0o600))
	var pack struct {
		ID string `json:"pack_id"`
	}
	must(t, o.arena.admin.Call(t.Context(), http.MethodPost, "/v1/packs?format=jsonl&name=words", []byte(b.String()), &pack))
	for slug, body := range map[string]map[string]any{
		"words": {"pack_id": pack.ID, "judge": "exact", "rounds": 3},
		"xo":    {"game": map[string]any{"name": "tic_tac_toe"}},
		"regex": {"pack_id": pack.ID, "judge": "regex", "rounds": 1},
	} {
		body["slug"], body["title"], body["time_limit_seconds"], body["rated"] = slug, slug, 10, false
		must(t, o.arena.admin.Call(t.Context(), http.MethodPost, "/v1/leagues", body, nil))
	}

	t.Run("a pack, each task once", func(t *testing.T) {
		t.Parallel()
		// Knows the words below w16, and all but the last two tasks fit in six matches.
		code, r, topics, errs := evalResult(t, o, "--league", "words", "--pack", words, `exec:sed -n 's/^Say \(w[0-9]\)$/ANSWER: \1/p; s/^Say \(w1[0-5]\)$/ANSWER: \1/p; s/^Say w1[6-9]/ANSWER: no/p'`)
		if code != exitOK {
			t.Fatalf("code %d, %s", code, errs)
		}
		right := topics.Total.Right
		if r.Matches != 6 || r.Failed != 0 || topics.Total.Answered != 18 || right < 14 || len(r.Losses) != 18-right || len(topics.Items) != 2 {
			t.Errorf("%+v, %+v, %d losses", r, topics, len(r.Losses))
		}
		for _, s := range append(topics.Items, topics.Total) {
			if s.Matches < 1 || s.Matches > 6 || !s.TooFew || s.Low > s.Share || s.High < s.Share || s.Low == 0 && s.High == 1 {
				t.Errorf("%+v", s)
			}
		}
		seen := map[string]bool{}
		for _, raw := range r.Losses {
			var l evalLoss
			must(t, json.Unmarshal(raw, &l))
			if seen[l.Description] || l.Answer != "no" || l.Correct == "" || l.Topic == "" {
				t.Errorf("lost %+v", l)
			}
			seen[l.Description] = true
		}
		played := 0
		for _, opponent := range r.Opponents {
			if played += opponent.Matches; opponent.Matches != 2 || opponent.Wins+opponent.Draws+opponent.Losses != 2 || opponent.High <= opponent.Low {
				t.Errorf("%+v", opponent)
			}
		}
		if played != 6 {
			t.Errorf("%+v", r.Opponents)
		}
	})
	t.Run("a generator", func(t *testing.T) {
		t.Parallel()
		code, r, topics, errs := evalResult(t, o, "--league", "sums", "--matches", "10", "--opponent", "p100", clueless)
		if code != exitOK || topics.Total.Answered != 10 || topics.Total.TooFew || topics.Total.High < arena.ShareOf(0, 10).High || topics.Total.Right != 0 || len(r.Opponents) != 1 || r.Opponents[0].Losses != 10 || r.Opponents[0].Name != "p100" {
			t.Errorf("code %d, %+v, %+v, %s", code, r, topics, errs)
		}
	})
	t.Run("a game, as tables", func(t *testing.T) {
		t.Parallel()
		code, out, errs := call(t, nil, "eval", "--addr", "127.0.0.1:0", "--league", "xo", "--url", o.arena.LocalURL(), "--matches", "8", "me=minimax")
		if code != exitOK || !strings.Contains(out, "OPPONENT  MATCHES  WON") || !strings.Contains(out, "\nGAMES  WON  DRAWN") || strings.Contains(out, "TOPIC") || !strings.Contains(out, "against random, greedy, search") {
			t.Errorf("code %d, %s%s", code, out, errs)
		}
	})
	for want, args := range map[string][]string{
		"did not answer error 10 of 10 tasks; the last because: exit status 1": {"--league", "sums", "--matches", "20", "broken=exec:false"},
		"no built-in opponent is called \"minimax\"":                           {"--league", "sums", "--opponent", "minimax", clueless},
		"no built-in opponent of tic_tac_toe is called \"p60\"":                {"--league", "xo", "--opponent", "p60", "random"},
		"have no answers that p60 could know":                                  {"--league", "regex", "--pack", words, "--opponent", "p60", clueless},
		"give one with --pack":                                                 {"--league", "words", clueless},
		"must be 1 to 500":                                                     {"--league", "words", "--matches", "501", clueless},
		"missing flags: --league":                                              {clueless},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			code, _, _, errs := evalResult(t, o, args...)
			if code == exitOK || !strings.Contains(errs, want) {
				t.Errorf("code %d, %s", code, errs)
			}
		})
	}
}

// A player knows about the share in its name, and the same answers each time.
func TestKnower(t *testing.T) {
	t.Parallel()
	tasks := make([]arena.Task, 1000)
	for i := range tasks {
		tasks[i] = arena.Task{Description: fmt.Sprint("question ", i), Answers: []string{"right"}, Options: []string{"right", "wrong"}}
	}
	right, judge := 0, arena.JudgeSpec{Kind: arena.JudgeExact}
	for _, task := range tasks {
		asked := &arenaagent.Task{Description: task.Description, Options: []string{"wrong", "right"}}
		answer, err := knower(60, judge, tasks)(t.Context(), asked, nil)
		again, _ := knower(60, judge, tasks)(t.Context(), asked, nil)
		must(t, err)
		if same := players.Answer(60, judge, task); answer.Value != again.Value || answer.Value != same { // as in a league
			t.Errorf("%s: %q, %q, in a league %q", task.Description, answer.Value, again.Value, same)
		}
		if answer.Value == "right" {
			right++
		}
	}
	if right < 550 || right > 650 {
		t.Errorf("p60 knows %d of 1,000", right)
	}
	if answer, err := knower(100, judge, tasks)(t.Context(), &arenaagent.Task{Description: "another"}, nil); err == nil {
		t.Errorf("another question: %+v", answer)
	}
}
