package e2e

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The record of an uploaded game is played again with the source of the game and
// with no other; a move that was changed in the database of the arena is found.
func TestE2E_Record_game(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir)
	nim, err := os.ReadFile("../examples/games/nim.js")
	must(t, err)
	var made struct {
		SHA256 string `json:"sha256"`
	}
	p.call(p.admin, http.MethodPost, "/v1/games", nim, &made)
	p.call(p.admin, http.MethodPost, "/v1/leagues", map[string]any{
		"slug": "sticks", "title": "Sticks", "game": map[string]any{"name": "nim", "games_per_match": 1}, "visibility": "live",
		"time_limit_seconds": 30, "rated": true, "format": "ladder", "min_seats": 2, "max_seats": 2,
	}, nil)
	id := p.schedule("sticks", p.contestant("Ada", answers("1"), "sticks"), p.contestant("Bob", answers("1"), "sticks"))
	p.watch(id, 0).end(nil)

	file, keys, other := filepath.Join(dir, "match.json"), filepath.Join(dir, "keys.json"), filepath.Join(dir, "other.js")
	save(t, p.url+"/v1/matches/"+id+"/record", file)
	save(t, p.url+"/.well-known/jwks.json", keys)
	must(t, os.WriteFile(other, append(nim, '\n'), 0o600))
	verify := func(want int, say string, args ...string) {
		t.Helper()
		if code, out, errs := call(t, append([]string{"verify", file, "--jwks", keys}, args...)...); code != want || !strings.Contains(out+errs, say) {
			t.Errorf("%v: exit code %d, no %q in %q, %q", args, code, say, out, errs)
		}
	}
	source := p.url + "/v1/games/nim?sha256=" + made.SHA256
	verify(exitOK, "nim: played all games again", "--game", "../examples/games/nim.js")
	verify(exitOK, "nim: played all games again", "--game", source)
	verify(exitFailure, "the game nim was not played again: give its source with --game; it is at "+source)
	verify(exitFailure, "/record/match/script_sha256: ", "--game", other)

	db, err := sql.Open("sqlite", filepath.Join(dir, "arena.db"))
	must(t, err)
	for _, change := range []string{
		`UPDATE answers SET body = replace(body, '"answer":"1"', '"answer":"2"') WHERE round = 3`,
		`UPDATE events SET body = replace(replace(body, '"answer":"1"', '"answer":"2"'), '"move":"1"', '"move":"2"') WHERE round = 3 AND type IN ('seat_outcome', 'round_closed')`,
	} {
		_, err := db.ExecContext(t.Context(), change)
		must(t, err)
	}
	must(t, db.Close())
	save(t, p.url+"/v1/matches/"+id+"/record", file)
	verify(exitFailure, "round 3 lead to", "--game", source)
}
