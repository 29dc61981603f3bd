package e2e

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/testwait"
)

// The record of a sealed, rated match is verified with the keys alone,
// before and after the match is packed; a changed byte is found and its place
// named; there is none of a match that is not finished.
func TestE2E_Record(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir, "ARENA_ARCHIVE_AFTER=1s")
	p.league("quiz", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	ada, bob := p.contestant("Ada", answers(""), "quiz"), p.contestant("Bob", answers("no <idea>"), "quiz")
	id := p.schedule("quiz", ada, bob)
	p.watch(id, 0).end(nil)
	path := "/v1/matches/" + id + "/record"
	early, late, keys := filepath.Join(dir, "early.json"), filepath.Join(dir, "late.json"), filepath.Join(dir, "keys.json")
	save(t, p.url+path, early)
	save(t, p.url+"/.well-known/jwks.json", keys)

	good := "good: match " + id + " of " + p.url + " in league quiz"
	if code, out, errs := call(t, "verify", early, "--jwks", keys); code != exitOK || !strings.HasPrefix(out, good) {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	if code, out, errs := call(t, "verify", early, "--jwks", p.url+"/.well-known/jwks.json"); code != exitOK || !strings.HasPrefix(out, good) {
		t.Errorf("keys from the arena: exit code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := call(t, "verify", early); code != exitFailure || !strings.Contains(errs, "/signature: ") || !strings.Contains(errs, "--jwks") {
		t.Errorf("without keys: exit code %d, %q", code, errs)
	}

	db, err := sql.Open("sqlite", filepath.Join(dir, "arena.db"))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	testwait.Until(t, "the match is packed", func() bool {
		var rows int
		must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM events").Scan(&rows))
		return rows == 0
	})
	save(t, p.url+path, late)
	before, err := os.ReadFile(early)
	must(t, err)
	after, err := os.ReadFile(late)
	must(t, err)
	if signed := []byte(`"signature":`); !bytes.Equal(before[:bytes.LastIndex(before, signed)], after[:bytes.LastIndex(after, signed)]) {
		t.Error("packing the match changed its record")
	}
	if code, _, errs := call(t, "verify", late, "--jwks", keys); code != exitOK {
		t.Errorf("packed: exit code %d, %q", code, errs)
	}
	checkErased(t, before, keys, ada.id)
	checkChangedBytes(t, before, keys)
	checkReceipts(p, bob, id, before)

	next := time.Now().Add(time.Hour)
	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, http.MethodPost, "/v1/matches", map[string]any{"league": "quiz", "agents": []string{ada.id, bob.id}, "starts_at": next}, &m)
	p.refused(p.admin.As(""), http.MethodGet, "/v1/matches/"+m.ID+"/record", nil, http.StatusConflict, "conflict")
	p.call(p.admin, http.MethodPost, "/v1/matches/"+m.ID+"/cancel", nil, nil)
	p.refused(p.admin.As(""), http.MethodGet, "/v1/matches/"+m.ID+"/record", nil, http.StatusConflict, "conflict")
	p.refused(p.admin.As(""), http.MethodGet, "/v1/matches/m_none/record", nil, http.StatusNotFound, "not_found")
}

// checkReceipts checks that a receipt is one and the same in the record, in
// the task that follows the answer, and in the list of deliveries.
func checkReceipts(p *process, c *contestant, match string, file []byte) {
	p.t.Helper()
	type receipt struct {
		SHA256    string `json:"sha256"`
		ArrivedAt string `json:"arrived_at"`
	}
	var signed struct {
		Record struct {
			Rounds []struct {
				Answers []struct {
					AgentID string `json:"agent_id"`
					Answer  struct{ Text json.RawMessage }
					Receipt receipt
				}
			}
		}
	}
	must(p.t, json.Unmarshal(file, &signed))
	want := map[int]receipt{}
	for i, round := range signed.Record.Rounds {
		for _, a := range round.Answers {
			if a.AgentID == c.id {
				a.Receipt.SHA256 = fmt.Sprintf("%x", sha256.Sum256(a.Answer.Text)) // the file is in the form of RFC 8785
				want[i+1] = a.Receipt
			}
		}
	}
	received, listed := map[int]receipt{}, map[int]receipt{}
	for _, r := range c.Requests() {
		var task struct {
			MatchID  string `json:"match_id"`
			Round    int
			Previous *struct{ Receipt receipt }
		}
		must(p.t, json.Unmarshal(r.Body, &task))
		if task.Previous != nil && task.MatchID == match {
			received[task.Round-1] = task.Previous.Receipt
		}
	}
	var deliveries struct {
		Items []struct {
			Round   int
			Receipt receipt
		}
	}
	p.call(c.owner, http.MethodGet, "/v1/agents/"+c.id+"/deliveries?match="+match, nil, &deliveries)
	for _, d := range deliveries.Items {
		listed[d.Round] = d.Receipt
	}
	if len(want) < 2 || !maps.Equal(listed, want) {
		p.t.Errorf("the deliveries list %v, the record %v", listed, want)
	}
	delete(want, len(want)) // no task follows the last answer
	if !maps.Equal(received, want) {
		p.t.Errorf("the tasks say %v, the record %v", received, want)
	}
}

// checkErased erases the texts of an agent from the file: it stays good, and
// verify lists what is missing. A text without its salt is found.
func checkErased(t *testing.T, good []byte, keys, agent string) {
	t.Helper()
	var file map[string]any
	d := json.NewDecoder(bytes.NewReader(good))
	d.UseNumber()
	must(t, d.Decode(&file))
	count := 0
	var erase func(v any, owner string, names ...string)
	erase = func(v any, owner string, names ...string) {
		switch v := v.(type) {
		case map[string]any:
			if id, ok := v["agent_id"].(string); ok {
				owner = id
			}
			if _, ok := v["salt"]; ok && owner == agent {
				for _, name := range names {
					delete(v, name)
				}
				count++
				return
			}
			for _, member := range v {
				erase(member, owner, names...)
			}
		case []any:
			for _, element := range v {
				erase(element, owner, names...)
			}
		}
	}
	for _, names := range [][]string{{"text"}, {"salt"}} {
		erase(file, "", names...)
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		must(t, e.Encode(file))
		path := filepath.Join(t.TempDir(), "erased.json")
		must(t, os.WriteFile(path, b.Bytes(), 0o600))
		code, out, errs := call(t, "verify", path, "--jwks", keys)
		if names[0] == "text" && (code != exitFailure || out != "") || names[0] == "salt" && (code != exitOK || !strings.Contains(out, fmt.Sprintf("\n  erased: %d texts of agent %s\n", count/2, agent))) {
			t.Errorf("without %v of %d texts: exit code %d, %q, %q", names, count, code, out, errs)
		}
	}
}

// checkChangedBytes changes one byte of the file at a time.
func checkChangedBytes(t *testing.T, good []byte, keys string) {
	t.Helper()
	place := regexp.MustCompile(`(?m)^arena: verify: \S+: (the file|/\S+): .+$`)
	for i := 0; i < len(good); i += 1 + len(good)/97 {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("changed-%d.json", i))
		changed := bytes.Clone(good)
		changed[i] ^= 2
		must(t, os.WriteFile(file, changed, 0o600))
		if code, out, errs := call(t, "verify", file, "--jwks", keys); code != exitFailure || out != "" || !place.MatchString(errs) {
			t.Errorf("byte %d: exit code %d, %q, %q", i, code, out, errs)
		}
	}
}

func save(t *testing.T, url, file string) {
	t.Helper()
	var data bytes.Buffer
	readAll(t, url, &data)
	must(t, os.WriteFile(file, data.Bytes(), 0o600))
}
