package e2e

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// The commands of `arena admin` against a real server.
func TestE2E_Admin(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	admin := func(stdin string, want int, args ...string) string {
		t.Helper()
		var out, failures bytes.Buffer
		env := []string{"ARENA_URL=" + p.url, "ARENA_ADMIN_TOKEN=" + e2eAdmin}
		if code := execArena(t.Context(), buildArena(t), append([]string{"admin"}, args...), env, strings.NewReader(stdin), &out, &failures); code != want {
			t.Errorf("arena admin %s: exit %d, want %d: %s%s", strings.Join(args, " "), code, want, out.String(), failures.String())
		}
		return out.String() + failures.String()
	}
	says := func(got string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%q is not in %s", w, got)
			}
		}
	}
	const league = `{"slug":"cup","title":"Cup","generator":{"name":"arithmetic"},"judge":"number","format":"knockout","rounds":3,"time_limit_seconds":5,"rated":true}`
	says(admin(league, exitOK, "league", "create", "-"), `"status": "open"`, `"format": "knockout"`)
	says(admin(league, exitFailure, "league", "create", "-"), "name_taken")
	says(admin("", exitOK, "league", "list"), `"slug": "cup"`)
	says(admin(`{"title":"Grand cup"}`, exitOK, "league", "update", "cup", "-"), `"title": "Grand cup"`)
	says(admin("", exitOK, "league", "start", "cup"), `"status": "running"`)
	says(admin("", exitFailure, "league", "start", "cup"), "409 conflict: league cup is running; start needs it to be open")
	says(admin("", exitOK, "league", "freeze", "cup"), `"status": "frozen"`)
	says(admin("", exitOK, "league", "table", "cup"), `"items": []`)
	says(admin("", exitOK, "league", "archive", "cup"), `"archived_at"`)
	says(admin("", exitFailure, "league", "start-now", "cup"), "unarchive it first")
	says(admin("", exitOK, "league", "unarchive", "cup"), `"status": "frozen"`)
	says(admin("", exitOK, "league", "rescore", "cup"), `"matches": 0`)
	says(admin("", exitFailure, "match", "show", "m_none"), "404 not_found")
	says(admin("", exitOK, "match", "list"), `"items": []`)
	says(admin("", exitOK, "agent", "list", "--limit", "5"), `"items": []`)
	says(admin("", exitOK, "pack", "upload", "../examples/packs/motions.jsonl"), `"name": "motions"`, `"pack_id": "pk_`)
	says(admin("", exitOK, "game", "add", "../examples/games/nim.js"), `"name": "nim"`, `"version": "1"`)
	says(admin("", exitOK, "game", "list"), `"name": "nim"`, `"name": "connect_four"`, `"sha256": "`)
	says(admin("", exitOK, "league", "create", "--slug", "c4", "--title", "Connect four", "--time-limit", "20s", "--game", "connect_four", "--game-option", "games_per_match=4", "--game-option", "show_legal_moves=false"),
		`"slug": "c4"`, `"time_limit_seconds": 20`, `"name": "connect_four"`, `"games_per_match": 4`, `"show_legal_moves": false`)
	says(admin("", exitFailure, "league", "create", "--slug", "c5", "--title", "C", "--game", "connect_four", "--game-option", "games_per_match=many"), "--game-option games_per_match")
	says(admin("", exitOK, "ratings", "verify"), `"ok": true`)
	says(admin("", exitOK, "ratings", "rebuild", "cup"), `"settlements": 0`)
	says(admin("", exitOK, "audit", "--limit", "3"), `"action": "rebuild-ratings"`)
	says(admin("", exitOK, "audit", "--find", "create-league"), `"target": "cup"`)
	says(admin("", exitOK, "banner", "Down at six"), `"text": "Down at six"`)
	says(admin("", exitOK, "banner"), `"text": ""`)
	says(admin("", exitOK, "status"), `"version": "`, `"alive": true`, `"due": 0`)
	says(admin("", exitFailure, "--token", "wrong", "status"), "not logged in to "+p.url)
	says(admin("", exitOK, "league", "finish", "cup"), `"status": "finished"`)
	says(admin("", exitOK, "league", "delete", "cup"), "done")
	says(admin("", exitFailure, "league", "show", "cup"), "404 not_found")
	var owner struct{ Token string }
	if made := admin("", exitOK, "token", "invite", "Ada", "--email", "ada@example.org"); json.Unmarshal([]byte(made), &owner) != nil || owner.Token == "" {
		t.Fatalf("no token of the new owner: %s", made)
	}
	var second struct {
		Token string
		ID    string `json:"token_id"`
	}
	if made := admin("", exitOK, "token", "create", "ci", "--token", owner.Token); json.Unmarshal([]byte(made), &second) != nil || second.ID == "" {
		t.Fatalf("no second token: %s", made)
	}
	says(admin("", exitOK, "token", "list", "--token", second.Token), `"name": "ci"`, `"name": "first"`)
	says(admin("", exitOK, "token", "revoke", second.ID, "--token", owner.Token), "done")
	says(admin("", exitFailure, "token", "list", "--token", second.Token), "not logged in to "+p.url)
	var cup struct {
		ID    string `json:"token_id"`
		Token string
	}
	if made := admin("", exitOK, "token", "create", "desk", "--scope", "moderator", "--expires", "1h"); json.Unmarshal([]byte(made), &cup) != nil || cup.Token == "" {
		t.Fatalf("no token of a moderator: %s", made)
	}
	says(admin("", exitOK, "token", "list"), `"name": "desk"`, `"name": "ARENA_ADMIN_TOKEN"`)
	says(admin("", exitFailure, "token", "list", "--token", cup.Token), "403 forbidden")
	says(admin("", exitOK, "token", "revoke", cup.ID), "done")
	says(admin("", exitFailure, "token", "list", "--token", cup.Token), "not logged in to "+p.url)
	says(admin("", exitFailure, "token", "create", "x", "--scope", "admin", "--expires", "soon"), "neither a duration")
	var who struct {
		Items []struct {
			ID string `json:"owner_id"`
		}
	}
	if list := admin("", exitOK, "owner", "list", "--find", "ada@"); json.Unmarshal([]byte(list), &who) != nil || len(who.Items) != 1 {
		t.Fatalf("no owner: %s", list)
	}
	says(admin("", exitOK, "owner", "suspend", who.Items[0].ID), "suspended_at")
	says(admin("", exitFailure, "token", "list", "--token", owner.Token), "403 forbidden", "suspended")
	says(admin("", exitOK, "owner", "restore", who.Items[0].ID), who.Items[0].ID)
	says(admin("", exitOK, "owner", "reissue", who.Items[0].ID), `"revoked": 1`)
	says(admin("", exitFailure, "token", "list", "--token", owner.Token), "not logged in to "+p.url)
	says(admin("", exitOK, "owner", "tokens", who.Items[0].ID), `"name": "re-issued"`)
	says(admin("", exitOK, "owner", "revoke", who.Items[0].ID), "done")
}
