package e2e

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/store"
)

// Anyone recomputes the tables of a league of questions and of one of games from what
// the arena exports. A byte that was changed in an answer, a place or a rating is found.
func TestE2E_Export(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir)
	p.league("quiz", p.pack(9), nil)
	p.call(p.admin, http.MethodPost, "/v1/leagues", map[string]any{
		"slug": "toes", "title": "Toes", "game": map[string]any{"name": "tic_tac_toe", "games_per_match": 2}, "visibility": "sealed", "time_limit_seconds": 30, "rated": true,
		"format": "ladder", "min_seats": 2, "max_seats": 2, "pace": map[string]any{"matches_per_day": 0, "pause_seconds": 0, "unrated_filler": true},
	}, nil)
	first := func(r protocoltest.Request) protocoltest.Behaviour {
		return protocoltest.Answer(r.Task.Task.Options[0])
	}
	last := func(r protocoltest.Request) protocoltest.Behaviour {
		return protocoltest.Answer(r.Task.Task.Options[len(r.Task.Task.Options)-1])
	}
	even := func(r protocoltest.Request) protocoltest.Behaviour {
		if r.Task.Round%2 == 0 {
			return protocoltest.Answer(correct(r))
		}
		return protocoltest.Answer("Paris")
	}
	ada, bob, eve := p.contestant("Ada", answers(""), "quiz"), p.contestant("Bob", answers("no"), "quiz"), p.contestant("Eve", even, "quiz")
	hal, joe := p.contestant("Hal", first, "toes"), p.contestant("Joe", last, "toes")
	for range 2 {
		id := p.schedule("quiz", ada, bob, eve)
		p.watch(id, 0).end(nil)
		id = p.schedule("toes", hal, joe)
		p.watch(id, 0).end(nil)
	}
	p.stop()
	refit(t, dir, "quiz", "toes") // which the arena does each minute
	p = serve(t, dir)
	keys := p.url + "/.well-known/jwks.json"
	for slug, agents := range map[string]int{"quiz": 3, "toes": 2} {
		out := filepath.Join(dir, slug)
		if code, said, errs := call(t, "export", slug, "--url", p.url, "--out", out); code != exitOK || strings.Count(said, "new\n") != 5 {
			t.Fatalf("export: %d, %q, %q", code, said, errs)
		}
		file := func(name string) string { return filepath.Join(out, name) }
		var matches struct {
			Items []struct {
				ID string `json:"match_id"`
			}
		}
		p.call(p.admin, http.MethodGet, "/v1/leagues/"+slug+"/matches?status=finished", nil, &matches)
		if len(matches.Items) != 2 {
			t.Fatalf("matches: %+v", matches)
		}
		args := []string{"verify", "--board", "--jwks", keys}
		for _, name := range []string{"card.json", "standings.json", "matches.jsonl", "rounds.jsonl", "answers.jsonl", "verdicts.jsonl", "ratings.jsonl"} {
			args = append(args, file(name))
		}
		for _, m := range matches.Items {
			save(t, p.url+"/v1/matches/"+m.ID+"/record", file(m.ID+".json"))
			args = append(args, file(m.ID+".json"))
		}
		code, said, errs := call(t, args...)
		if code != exitOK || !strings.HasPrefix(said, "good: league "+slug+", 2 settlements to settlement ") || !strings.Contains(said, "; 2 signed records agree\n  the table of the arena agrees, and its refit") || strings.Count(said, "\nag_") != agents {
			t.Fatalf("verify: %d, %q, %q", code, said, errs)
		}
		for _, change := range []struct{ name, from, to, say string }{
			{"answers.jsonl", `"answer":"`, `"answer":"x`, "answers.jsonl, line "},
			{"answers.jsonl", `"outcome":"answered"`, `"outcome":"timeout"`, "jsonl, line "},
			{"matches.jsonl", `"place":1`, `"place":2`, "matches.jsonl, line 1, match " + matches.Items[1].ID},
			{"ratings.jsonl", `"rating_after":15`, `"rating_after":16`, "ratings.jsonl, line 1, match " + matches.Items[1].ID},
			{"standings.json", `"rank_low": 1`, `"rank_low": 2`, "standings.json: agent "},
		} {
			was, err := os.ReadFile(file(change.name))
			must(t, err)
			changed := bytes.Replace(was, []byte(change.from), []byte(change.to), 1)
			if bytes.Equal(was, changed) {
				t.Errorf("%s has no %s: %s", change.name, change.from, was)
			}
			must(t, os.WriteFile(file(change.name), changed, 0o600))
			if code, said, errs := call(t, args...); code != exitFailure || !strings.Contains(errs, change.say) {
				t.Errorf("%s, %s: %d, %q, %q", change.name, change.to, code, said, errs)
			}
			must(t, os.WriteFile(file(change.name), was, 0o600))
		}
	}
}

// refit stores the refits of leagues with their two settlements.
func refit(t *testing.T, dir string, leagues ...string) {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(dir, "arena.db"), store.Options{Logger: discard(), Now: time.Now})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	for _, slug := range leagues {
		results, err := s.Leagues.RatedResults(t.Context(), slug, 0, 10)
		must(t, err)
		lines, err := scoring.Fit(results)
		must(t, err)
		must(t, s.Leagues.SaveFit(t.Context(), arena.Fit{League: slug, Settlement: results[1].Seq, At: time.Now(), Lines: lines}))
	}
}
