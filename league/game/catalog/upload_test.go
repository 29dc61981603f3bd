package catalog_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/playout"
)

// Threat J8: an upload is checked by random games, and refused with the reason.
func TestCatalog_Check(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../examples/games/nim.js")
	if err != nil {
		t.Fatal(err)
	}
	nim := strings.Replace(string(source), "default: 21, min: 1, max: 100", "default: 2, min: 1, max: 3", 1) // short games
	c := newCatalog(t, nil)
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Hour); return now } // only processor time ends a check
	g, err := c.Check(t.Context(), nim, clock)
	if err != nil {
		t.Fatal(err)
	}
	var report playout.Report
	if err := json.Unmarshal(g.Report, &report); err != nil || report.Games != 200 || !report.OK() || report.Checked.IsZero() {
		t.Errorf("%s, %v", g.Report, err)
	}
	if g.Name != "nim" || g.Version != "1" || g.Title != "Nim" || len(g.SHA256) != 64 || g.Source != nim {
		t.Errorf("%+v", g)
	}
	for from, to := range map[string]string{
		"name: 'nim'":                "name: 'tic_tac_toe'",
		"min_seats: 2, max_seats: 2": "min_seats: 4, max_seats: 6",
		"title: 'Nim'":               "title: ''",
		"[1, 2, 3]":                  "[0]",
		"state.next = 1":             "throw new Error('no sticks'); state.next = 1",
		"state.next = 1 ":            "for (;;); state.next = 1 ",
		"[1, 0] : [0, 1]":            "[1, 0] : [0, 2]",
		"const info":                 "const const",
	} {
		want := map[string]string{
			"min_seats: 2, max_seats: 2": "info.min_seats is 4, and no league plays with so many",
			"name: 'nim'":                "tic_tac_toe is a game of the arena", "title: 'Nim'": "info.title", "[1, 2, 3]": "endless (seed 0", "state.next = 1": "18:9: Error: no sticks",
			"state.next = 1 ": "too many steps", "[1, 0] : [0, 1]": "must be 0 to 1", "const info": "2:7: syntax",
		}[from]
		_, err := c.Check(t.Context(), strings.Replace(nim, from, to, 1), clock)
		if arena.CodeOf(err) != arena.CodeInvalid || !strings.Contains(err.Error(), "file: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", to, err, want)
		}
	}
	listed, err := newCatalog(t, fakeUploads{g}).Listed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]arena.ListedGame{}
	for _, g := range listed {
		found[g.Name] = g
	}
	if len(found["nim"].Uploaded) != 1 || len(found["chess"].Uploaded) != 0 || found["chess"].Title == "" || found["colonel_blotto"].Options[0].Name != "battlefields" {
		t.Errorf("%+v", listed)
	}
}
