package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/scoring/sprt"
)

// Programs that know every answer of wordPack, and none.
const (
	knowing  = `know=exec:sed -n 's/^Say \(w[0-9]*\)$/ANSWER: \1/p'`
	clueless = `guess=exec:echo 'ANSWER: nothing'`
)

// wordPack writes a pack of n tasks whose text contains the answer.
func wordPack(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"description":"Say w%d","answer":"w%d"}`+"\n", i, i)
	}
	file := filepath.Join(t.TempDir(), "words.jsonl")
	must(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return file
}

// duelResult plays a duel and returns its exit code and report.
func duelResult(t *testing.T, args ...string) (code int, r duelReport, errs string) {
	t.Helper()
	code, out, errs := call(t, os.Environ(), append([]string{"duel", "--addr", "127.0.0.1:0", "--json", "--seed", "7"}, args...)...)
	if out != "" {
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
	}
	return code, r, errs
}

func TestDuel_pack(t *testing.T) {
	t.Parallel()
	pack := wordPack(t, 60)
	t.Run("better", func(t *testing.T) {
		t.Parallel()
		code, r, errs := duelResult(t, "--pack", pack, "--elo1", "100", clueless, knowing)
		// Each pair that is won is worth ln(s1/½).
		if code != exitOK || r.Verdict != verdictBetter || r.Pairs != (sprt.Pairs{0, 0, 0, 0, 12}) || r.Elo.Mean != nil || r.Elo.Low == nil {
			t.Fatalf("code %d, %+v, %s", code, r, errs)
		}
		if r.Old != "guess" || r.New != "know" || r.Matches != 12 || r.Identical+r.Failed != 0 || r.Asked.New != 24 || !strings.Contains(r.Summary, "better: know beats guess") {
			t.Errorf("%+v", r)
		}
		for _, want := range []string{"old: guess", "test: Elo 0 against 100", "forecast: ", "time: ", "matches: LLR "} {
			if !strings.Contains(errs, want) {
				t.Errorf("no %q in %s", want, errs)
			}
		}
	})
	t.Run("not better", func(t *testing.T) {
		t.Parallel()
		code, r, errs := duelResult(t, "--pack", pack, "--elo1", "100", knowing, clueless)
		if code != exitNotBetter || r.Verdict != verdictNotBetter || r.Pairs[0] != r.Matches {
			t.Errorf("code %d, %+v, %s", code, r, errs)
		}
	})
	t.Run("undecided at the cap", func(t *testing.T) {
		t.Parallel()
		code, r, errs := duelResult(t, "--pack", pack, "--max-matches", "3", knowing, strings.Replace(knowing, "know", "other", 1))
		if code != exitUndecided || r.Verdict != verdictUndecided || r.Reason != reasonMatches || r.Pairs != (sprt.Pairs{0, 0, 3, 0, 0}) {
			t.Errorf("code %d, %+v, %s", code, r, errs)
		}
	})
	t.Run("out of tasks", func(t *testing.T) {
		t.Parallel()
		pack := wordPack(t, 7)
		data, err := os.ReadFile(pack)
		must(t, err)
		must(t, os.WriteFile(pack, append(data, data[:3*len(data)/7]...), 0o600)) // three tasks twice
		code, r, errs := duelResult(t, "--pack", pack, `counting=exec:echo '{"answer":"no","tokens":7}'`, knowing)
		if code != exitUndecided || r.Reason != reasonTasks || r.Matches != 3 || r.Tokens.Old != 6*7 || r.Tokens.New != 0 || !strings.Contains(errs, "left out: 3 tasks") {
			t.Errorf("code %d, %+v, %s", code, r, errs)
		}
	})
	t.Run("a program that fails", func(t *testing.T) {
		t.Parallel()
		code, r, errs := duelResult(t, "--pack", pack, "broken=exec:false", knowing)
		if code != exitUsage || r.Verdict != "" || !strings.Contains(errs, "arena: duel: broken did not answer 10 of 10 tasks (error 10); the last because: exit status 1") {
			t.Errorf("code %d, %+v, %s", code, r, errs)
		}
	})
}

// Built-in opponents play each match anew; programs that always do the same end the
// duel.
func TestDuel_game(t *testing.T) {
	t.Parallel()
	t.Run("better", func(t *testing.T) {
		t.Parallel()
		code, r, errs := duelResult(t, "--game", "connect_four", "--elo1", "200", "random", "minimax")
		if code != exitOK || r.Verdict != verdictBetter || r.Matches > 30 || r.New != "2 minimax" {
			t.Errorf("code %d, %+v, %s", code, r, errs)
		}
	})
	t.Run("a game that they do not know", func(t *testing.T) {
		t.Parallel()
		code, _, errs := duelResult(t, "--game", "negotiation", "--max-matches", "2", "minimax", "a=minimax")
		if code != exitUsage || !strings.Contains(errs, "did not answer 1 of 1 moves (unavailable 1); the last because: the agent is not available") {
			t.Errorf("code %d, %s", code, errs)
		}
	})
	t.Run("repeats", func(t *testing.T) {
		t.Parallel()
		const last = `exec:sed -n 's/^- \(.*\)$/ANSWER: \1/p'`
		code, r, errs := duelResult(t, "--game", "tic_tac_toe", "a="+last, "b="+last)
		if code != exitUndecided || r.Reason != reasonRepeats || r.Pairs.N() != 1 || r.Identical != mostRepeats {
			t.Errorf("code %d, %+v, %s", code, r, errs)
		}
	})
}

// The public settings of a league are enough, unless it asks questions of a pack.
func TestDuel_league(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	admin := o.arena.admin
	nim, err := os.ReadFile("../../examples/games/nim.js")
	must(t, err)
	short := strings.Replace(string(nim), "default: 21, min: 1, max: 100", "default: 2, min: 1, max: 2", 1) // each arena plays 200 games before it accepts one
	must(t, admin.Call(t.Context(), http.MethodPost, "/v1/games", []byte(short), nil))
	var pack struct {
		ID string `json:"pack_id"`
	}
	words := wordPack(t, 6)
	data, err := os.ReadFile(words)
	must(t, err)
	must(t, admin.Call(t.Context(), http.MethodPost, "/v1/packs?format=jsonl&name=words", data, &pack))
	for slug, body := range map[string]map[string]any{
		"nim":   {"game": map[string]any{"name": "nim", "games_per_match": 4}},
		"words": {"pack_id": pack.ID, "judge": "exact", "max_tokens": 9, "rounds": 5, "rules": []string{"short"}},
		"talk":  {"pack_id": pack.ID, "judge": map[string]any{"kind": "crowd", "criteria": "clear", "window_seconds": 10, "min_votes": 1}, "rounds": 1},
	} {
		body["slug"], body["title"], body["time_limit_seconds"], body["rated"] = slug, slug, 10, false
		must(t, admin.Call(t.Context(), http.MethodPost, "/v1/leagues", body, nil))
	}
	for _, test := range []struct {
		args   string
		code   int
		played string // or an error
	}{
		{"--league nim --max-matches 2 random a=random", exitUndecided, "league nim of " + o.arena.LocalURL()},
		{"--league sums --max-matches 2 a=GUESS b=GUESS", exitUndecided, "league sums of " + o.arena.LocalURL()},
		{"--league words --max-matches 2 --pack PACK a=GUESS b=GUESS", exitUndecided, "league words of " + o.arena.LocalURL() + " with words.jsonl"},
		{"--league words a=GUESS b=GUESS", exitUsage, "give one with --pack"},
		{"--league talk --pack PACK a=GUESS b=GUESS", exitUsage, "the judge crowd"},
		{"--league nim --pack PACK a=GUESS b=GUESS", exitUsage, "plays a game: leave out --pack"},
		{"--league none a=GUESS b=GUESS", exitUsage, "--league none: "},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(test.args)
			for i, arg := range args {
				args[i] = strings.NewReplacer("GUESS", strings.TrimPrefix(clueless, "guess="), "PACK", words).Replace(arg)
			}
			code, r, errs := duelResult(t, append(args, "--url", o.arena.LocalURL())...)
			if code != test.code || r.Played != test.played && !strings.Contains(errs, test.played) {
				t.Fatalf("code %d, %+v, %s", code, r, errs)
			}
			if code == exitUndecided && (r.Matches != 2 || r.Failed != 0) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// An interrupted duel ends with what it has.
func TestDuel_interrupted(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out bytes.Buffer
	progress := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte(": LLR ")) {
			stop()
		}
		return len(p), nil
	})
	code := run(ctx, []string{"duel", "--addr", "127.0.0.1:0", "--json", "--pack", wordPack(t, 60), clueless, knowing}, os.Environ(), strings.NewReader(""), &out, progress)
	var r duelReport
	must(t, json.Unmarshal(out.Bytes(), &r))
	if code != exitUndecided || r.Reason != reasonInterrupted || r.Matches == 0 || r.Matches == 30 || !strings.Contains(r.Summary, "undecided, because it was interrupted") {
		t.Errorf("code %d, %+v", code, r)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestDuel_refuses(t *testing.T) {
	t.Parallel()
	pack := wordPack(t, 4)
	for want, args := range map[string][]string{
		"--pack=FILE, --game=NAME or --league=SLUG": {"random", "random"},
		"can't be used together":                    {"--game", "chess", "--pack", pack, "random", "random"},
		"--game and --league":                       {"--game", "chess", "--league", "l", "random", "random"},
		"--elo0 must be below --elo1":               {"--game", "chess", "--elo1", "0", "random", "random"},
		"--max-matches must be 1 to":                {"--game", "chess", "--max-matches", "0", "random", "random"},
		"--concurrency must be 1 to":                {"--game", "chess", "--concurrency", "65", "random", "random"},
		"--option needs --game":                     {"--pack", pack, "--option", "a=1", "random", "random"},
		"--url needs --league":                      {"--pack", pack, "--url", "http://127.0.0.1:1", "random", "random"},
		"has its own":                               {"--league", "l", "--judge", "exact", "random", "random"},
		"known are chess":                           {"--game", "go", "random", "random"},
		"named by the URL":                          {"--pack", pack, "random", "random"},
		"exec:no-such-program-anywhere":             {"--pack", pack, "exec:no-such-program-anywhere", knowing},
		"OPENAI_API_KEY":                            {"--pack", pack, "model:m", knowing},
		"needs 2 tasks or more":                     {"--pack", wordPack(t, 1), knowing, knowing},
		"no such file":                              {"--pack", pack + "x", knowing, knowing},
		"cannot reach http://127.0.0.1:1":           {"--league", "l", "--url", "http://127.0.0.1:1", knowing, knowing},
	} {
		code, out, errs := call(t, []string{"PATH=" + os.Getenv("PATH"), "ARENA_CONFIG_DIR=" + t.TempDir()}, append([]string{"duel", "--addr", "127.0.0.1:0"}, args...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %s%s; want %q", args, code, out, errs, want)
		}
	}
}

// matchOf returns a match with the half points of its two units and a text that makes
// it different from others.
func matchOf(text string, results ...int) (p played) {
	p.missed = [2]map[string]int{{}, {}}
	for i, half := range results {
		p.units = append(p.units, unit{points: [2]float64{float64(2 - half), float64(half)}, counts: true, transcript: []string{text, fmt.Sprint(i)}})
		p.asked[0]++
		p.asked[1]++
	}
	return p
}

// Matches count in the order in which they were begun, and none after the verdict.
func TestTally_order(t *testing.T) {
	t.Parallel()
	test := sprt.Test{Elo0: 0, Elo1: 200}
	inOrder := newTally(test)
	for n := range 40 {
		inOrder.add(n, matchOf(fmt.Sprint(n), 2, min(2, n%5)))
	}
	if inOrder.verdict != sprt.Better || inOrder.matches == 40 {
		t.Fatalf("%+v", inOrder)
	}
	for name, order := range map[string]func([]int){
		"backwards": slices.Reverse[[]int],
		"the won ones first": func(n []int) {
			slices.SortStableFunc(n, func(a, b int) int { return min(2, b%5) - min(2, a%5) })
		},
	} {
		numbers := make([]int, 40)
		for i := range numbers {
			numbers[i] = i
		}
		order(numbers)
		other := newTally(test)
		for _, n := range numbers {
			other.add(n, matchOf(fmt.Sprint(n), 2, min(2, n%5)))
		}
		if other.pairs != inOrder.pairs || other.matches != inOrder.matches {
			t.Errorf("%s: %v, in order %v", name, other.pairs, inOrder.pairs)
		}
	}
}

func TestTally_counts(t *testing.T) {
	t.Parallel()
	c := newTally(sprt.Test{Elo0: 0, Elo1: 20})
	swapped := matchOf("same", 2, 0)
	slices.Reverse(swapped.units)
	short, lost, void := matchOf("short", 2), matchOf("lost", 2, 2), matchOf("void", 2, 2)
	lost.units[1].counts = false
	void.void = "an agent left"
	for n, p := range []played{matchOf("same", 2, 0), swapped, short, lost, void, matchOf("new", 1, 0)} {
		c.add(n, p)
	}
	if c.pairs != (sprt.Pairs{0, 1, 1, 0, 0}) || c.matches != 6 || c.identical != 1 || c.failed != 3 || c.voids["an agent left"] != 1 {
		t.Errorf("%+v", c)
	}

	c = newTally(sprt.Test{Elo0: 0, Elo1: 20})
	for n := range 5 {
		p := matchOf(fmt.Sprint(n), 2, 2)
		p.missed[0]["timeout"] = 2
		p.missed[1]["error"] = 1
		c.add(n, p)
	}
	if c.broken(fewestAsked) != 0 || c.misses(0) != 10 || !c.over() {
		t.Errorf("%+v", c)
	}
}

// An example of a workflow must stay a call that the program understands.
func TestDuel_workflow(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../examples/ci/duel.yml")
	must(t, err)
	_, line, found := strings.Cut(string(data), "arena duel ")
	line, _, ended := strings.Cut(line, ">duel.json")
	if !found || !ended {
		t.Fatal("there is no call of arena duel")
	}
	line = strings.ReplaceAll(strings.ReplaceAll(line, `"`, ""), "\\\n", " ")
	code, _, errs := call(t, []string{"PATH=" + os.Getenv("PATH")}, append([]string{"duel"}, strings.Fields(line)...)...)
	if code != exitUsage || !strings.Contains(errs, "no such file") || strings.Contains(errs, "--help") {
		t.Errorf("code %d, %s", code, errs)
	}
}

// Agents that name leagues in their health play in one that both name.
func TestLocalPlan_choose(t *testing.T) {
	t.Parallel()
	agent := func(leagues ...string) (r registered) {
		r.Health.Capabilities = leagues
		return r
	}
	for want, agents := range map[string][]registered{
		"duel":   {agent(), agent("trivia", "duel")},
		"trivia": {agent("four", "trivia"), agent("trivia")},
		"four":   {agent("four"), agent()},
		"":       {agent("four"), agent("trivia")},
	} {
		p := localPlan{slug: "duel"}
		if err := p.choose(agents); want == "" && err == nil || want != "" && (err != nil || p.slug != want) {
			t.Errorf("%+v: %s, %v; want %s", agents, p.slug, err, want)
		}
	}
}
