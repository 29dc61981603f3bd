package main

import (
	"archive/zip"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/apiclient"
)

// What admins do on the pages, they can do with commands.
func TestAdmin(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	secret, _ := o.arena.AdminToken()
	o.environ = append(o.environ, "ARENA_URL="+o.arena.LocalURL(), "ARENA_ADMIN_TOKEN="+secret)
	ana := o.ownerID()

	// People and roles.
	o.ok("admin people set "+ana+" organizer --league sums", `"role": "organizer"`, `"sums"`)
	o.ok("admin people list", ana)
	o.ok("admin people remove "+ana, "done")
	if list := o.ok("admin people list"); strings.Contains(list, ana) {
		t.Errorf("people: %s", list)
	}
	o.refused("role", "admin people set "+ana+" king")
	var invited struct {
		ID string `json:"invitation_id"`
	}
	must(t, json.Unmarshal([]byte(o.ok("admin people invite Bo --role moderator --expires 48h", `"url"`, `"moderator"`)), &invited))
	o.ok("admin people withdraw "+invited.ID, "done")
	o.ok("admin people invitations", invited.ID, `"revoked"`)

	// Everything about an owner.
	o.ok("admin owner show "+ana, `"Ana"`)
	file := filepath.Join(t.TempDir(), "ana.zip")
	o.ok("admin owner export "+ana+" "+file, "wrote")
	export, err := zip.OpenReader(file)
	must(t, err)
	must(t, export.Close())
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the export has mode %v (%v)", info.Mode(), err)
	}
	o.refused("exists", "admin owner export "+ana+" "+file)
	o.refused("404", "admin owner export ow_none "+file+".2")
	if _, err := os.Stat(file + ".2"); !os.IsNotExist(err) {
		t.Errorf("a failed export leaves a file: %v", err)
	}

	// Questions of a pack.
	questions := filepath.Join(t.TempDir(), "q.jsonl")
	must(t, os.WriteFile(questions, []byte(`{"description":"2+2?","answer":"5"}`+"\n"+`{"description":"3+3?","answer":"6"}`+"\n"), 0o600))
	var pack struct {
		ID string `json:"pack_id"`
	}
	must(t, json.Unmarshal([]byte(o.ok("admin pack upload "+questions+" --name old")), &pack))
	o.ok("admin pack rename "+pack.ID+" sums2", `"sums2"`)
	o.ok("admin pack tasks "+pack.ID+" --limit 1", `"2+2?"`, `"next_cursor"`)
	edit := filepath.Join(t.TempDir(), "edit.json")
	must(t, os.WriteFile(edit, []byte(`{"answer":["4"]}`), 0o600))
	o.ok("admin pack edit "+pack.ID+" 0 "+edit, `"4"`)
	o.ok("admin pack correct " + pack.ID + " 0 --preview")
	o.ok("admin pack remove " + pack.ID + " 1")
	o.ok("admin pack tasks "+pack.ID, `"removed_at"`)

	// An answer.
	for _, name := range []string{"ada", "bob"} {
		o.login()
		o.ok("agent register "+name+" --league sums --endpoint "+o.endpoint(), "active")
	}
	var agents struct {
		Items []struct {
			ID string `json:"agent_id"`
		}
	}
	admin := apiclient.New(o.arena.LocalURL(), secret)
	must(t, admin.Call(t.Context(), http.MethodGet, "/v1/agents?owner="+ana, nil, &agents))
	var match struct {
		ID string `json:"match_id"`
	}
	must(t, admin.Call(t.Context(), http.MethodPost, "/v1/matches", map[string]any{"league": "sums", "agents": []string{agents.Items[0].ID, agents.Items[1].ID}}, &match))
	o.ok("watch " + match.ID + " --url " + o.arena.LocalURL())
	o.ok("admin match hide "+match.ID+" 1 "+agents.Items[0].ID+" --reason abuse", "done")
	o.ok("admin audit", "abuse")
	if code, _, errs := o.run("", "admin", "match", "hide", match.ID, "1", agents.Items[1].ID); code != exitUsage || !strings.Contains(errs, "--reason") {
		t.Errorf("without a reason: exit code %d, %q", code, errs)
	}
}
