package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// checkGame takes a source as the name of its game, and refuses throw.
func checkGame(_ context.Context, source string) (arena.GameScript, error) {
	if source == "throw" {
		return arena.GameScript{}, arena.Invalid("file", "1:1: threw an error")
	}
	sum := sha256.Sum256([]byte(source))
	return arena.GameScript{
		Name: source, Version: "1", SHA256: hex.EncodeToString(sum[:]), Title: source, Source: source, Report: json.RawMessage(`{"games":1}`),
	}, nil
}

// gameList has one game of the arena, and those that were uploaded.
type gameList struct{ rows any }

func (g gameList) Listed(ctx context.Context) ([]arena.ListedGame, error) {
	list := []arena.ListedGame{{Name: "connect_four", Title: "Connect four", Version: "1", MinSeats: 2, MaxSeats: 2, MaxTurns: 42}}
	rows, ok := g.rows.(interface {
		GameScripts(ctx context.Context) ([]arena.GameScript, error)
	})
	if !ok {
		return list, nil
	}
	scripts, err := rows.GameScripts(ctx)
	for _, s := range scripts {
		list = append(list, arena.ListedGame{Name: s.Name, Title: s.Title, Version: s.Version, Uploaded: []arena.GameScript{s}})
	}
	return list, err
}

func TestAPI_Games(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.do("POST", "/v1/games", w.admin, "nim").is(201)
	again := w.do("POST", "/v1/games", w.admin, "nim").is(201)
	if first.str("name") != "nim" || first.str("version") != "1" || len(first.str("sha256")) != 64 || again.str("sha256") != first.str("sha256") || again.str("created_at") != first.str("created_at") {
		t.Errorf("%s, again %s", first.body, again.body)
	}
	var form bytes.Buffer
	fw := multipart.NewWriter(&form)
	part, err := fw.CreateFormFile("file", "go.js")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte("go"))
	_ = fw.Close()
	if r := w.do("POST", "/v1/games", w.admin, form.String(), "Content-Type", fw.FormDataContentType()).is(201); r.str("name") != "go" {
		t.Errorf("a form: %s", r.body)
	}
	if r := w.do("POST", "/v1/games", w.admin, "throw").is(422); !strings.Contains(string(r.body), "1:1: threw an error") {
		t.Errorf("%s", r.body)
	}
	w.do("POST", "/v1/games", w.admin, strings.Repeat(" ", maxGameBody+1)).is(413)
	if r := w.do("GET", "/v1/games/nim", "", nil).is(200); r.str("source") != "nim" {
		t.Errorf("%s", r.body)
	}
	w.do("GET", "/v1/games/nim?sha256="+first.str("sha256"), "", nil).is(200)
	w.do("GET", "/v1/games/nim?sha256=00", "", nil).is(404)
	w.do("GET", "/v1/games/chess", "", nil).is(404)
	list := string(w.do("GET", "/v1/games", "", nil).is(200).body)
	for _, want := range []string{`"name":"connect_four"`, `"options":[]`, `"versions":[]`, first.str("sha256")} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in %s", want, list)
		}
	}
}
