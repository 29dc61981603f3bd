package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/testwait"
)

// codePack loads one task whose answers are programs.
func (p *process) codePack() string {
	p.t.Helper()
	var pack struct {
		ID string `json:"pack_id"`
	}
	line := `{"description": "Write solve(a, b): the sum.", "cases": [{"args": [1, 2], "want": 3}, {"args": [5, 5], "want": 10}]}` + "\n"
	p.call(p.admin, http.MethodPost, "/v1/packs?format=jsonl&name=code", []byte(line), &pack)
	return pack.ID
}

// workers returns the processes that a process has started.
func (p *process) workers() []int {
	p.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
	must(p.t, err)
	var ids []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // its thread has ended
		}
		for id := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(id)
			must(p.t, err)
			ids = append(ids, n)
		}
	}
	return ids
}

// peak returns the most memory that a process has had, in bytes.
func (p *process) peak() int64 {
	p.t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	must(p.t, err)
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			must(p.t, err)
			return n << 10
		}
	}
	p.t.Fatal("no VmHWM")
	return 0
}

// Threat J1: an answer of 32 KB that makes the parser of the interpreter
// allocate until its process dies ends a worker. The match continues, the server
// stays small, and owner and spectators see why the answer got nothing.
func TestE2E_ParserBomb(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	p.league("code", p.codePack(), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "rounds": 1, "judge": map[string]any{"kind": "code"}})
	bomb := p.contestant("Bomb", answers(strings.Repeat("a:", 16_300)+"function solve(){}"), "code")
	honest := p.contestant("Honest", answers("function solve(a, b) { return a + b }"), "code")
	id := p.schedule("code", bomb, honest)
	var end finished
	p.watch(id, 0).end(&end)
	p.wins("a parser bomb", end, honest, 1)
	var verdicts struct {
		Items []struct {
			Version string
			Seats   []struct {
				AgentID string `json:"agent_id"`
				Reason  string
			}
		}
	}
	p.call(p.admin, http.MethodGet, "/v1/matches/"+id+"/verdicts", nil, &verdicts)
	for _, v := range verdicts.Items {
		for _, s := range v.Seats {
			if want := map[bool]string{true: "judge_limit"}[s.AgentID == bomb.id]; s.Reason != want || v.Version != "code-3" {
				t.Errorf("verdict %+v", v)
			}
		}
	}
	var rounds struct {
		Items []struct{ Seats []json.RawMessage }
	}
	p.call(p.admin, http.MethodGet, "/v1/matches/"+id+"/rounds", nil, &rounds)
	if len(rounds.Items) != 1 || !slices.ContainsFunc(rounds.Items[0].Seats, func(s json.RawMessage) bool { return strings.Contains(string(s), `"reason":"judge_limit"`) }) {
		t.Errorf("rounds: %+v", rounds)
	}
	if peak := p.peak(); peak > 300<<20 {
		t.Errorf("the server has had %d MiB", peak>>20)
	}
}

// Threat J3: a server that is stopped ends although answers that need
// long are being judged, and leaves no process behind.
func TestE2E_EndsWhileItJudges(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "ARENA_SHUTDOWN_GRACE=1s")
	p.league("code", p.codePack(), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "judge": map[string]any{"kind": "code", "partial": true}})
	slow := answers(`const s = '\u4e00'.repeat(60000), a = s + 1, b = s + 1; function solve() { for (;;) a === b }`)
	p.schedule("code", p.contestant("A", slow, "code"), p.contestant("B", slow, "code"))
	var workers []int
	testwait.Until(t, "answers are judged", func() bool { workers = p.workers(); return len(workers) > 0 })
	began := time.Now()
	p.stop()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, id := range workers {
		testwait.Until(t, "the worker is gone", func() bool { return syscall.Kill(id, 0) != nil })
	}
}
