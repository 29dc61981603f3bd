package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// A short soak of the real programs: hostile agents cost honest ones no round,
// spectators miss nothing, and nothing stays open. Threats R1 to R9, E1, E2,
// V1 and R12 together.
func TestE2E_Soak(t *testing.T) {
	t.Parallel()
	arena := buildArena(t)
	must(t, goBuild(t.Context(), filepath.Join(filepath.Dir(arena), "arena-bench"), "github.com/agora-arena/arena/cmd/arena-bench"))
	var errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), arena, "bench", "soak", "--short", "--json")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	type state struct {
		Goroutines int `json:"goroutines"`
		Files      int `json:"files"`
	}
	var f struct {
		HonestRounds   int            `json:"honest_rounds"`
		HonestAnswered int            `json:"honest_answered"`
		HostileRounds  map[string]int `json:"hostile_rounds"`
		Deliveries     int64          `json:"deliveries"`
		Wrong          int64          `json:"out_of_order"`
		Closed         int64          `json:"spectators_closed"`
		Before         state          `json:"before"`
		Most           state          `json:"most"`
		After          state          `json:"after"`
	}
	must(t, json.Unmarshal(out, &f))
	if f.HonestRounds == 0 || f.HonestAnswered != f.HonestRounds || f.HostileRounds["timeout"] == 0 || f.HostileRounds["invalid"] == 0 {
		t.Errorf("rounds: %s", out)
	}
	if f.Deliveries == 0 || f.Wrong != 0 || f.Closed != 0 {
		t.Errorf("spectators: %s", out)
	}
	if f.After.Goroutines > f.Before.Goroutines+5 || f.After.Files > f.Before.Files+5 || f.Most.Files <= f.Before.Files {
		t.Errorf("left behind: %s", out)
	}
}
