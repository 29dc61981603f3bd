package api

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

func TestAPI_createPack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	post := func(name, query, body string, status int, code arena.Code, says string, fields ...string) scenario {
		return scenario{
			name: name, method: "POST", path: "/v1/packs?" + query, token: w.admin, body: body, header: []string{"Content-Type", "application/x-ndjson"},
			status: status, code: code, says: says, fields: fields,
		}
	}
	w.run([]scenario{
		post("good", "format=jsonl&name=p", questions("a", "b"), 201, "", `"tasks":2,"skipped":[]`),
		post("one bad line", "format=jsonl&name=p", questions("a")+"b\n"+questions("c"), 422, arena.CodePackInvalid, "1 of 3 entries", "line 2"),
		post("bad lines skipped", "format=jsonl&name=p&skip_bad=true", questions("a")+"b\n"+questions("c"), 201, "", `"tasks":2,"skipped":[{"line":2`),
		post("nothing left", "format=jsonl&name=p&skip_bad=true", "b\n\nc", 422, arena.CodePackInvalid, "2 of 2 entries cannot be used; nothing was imported\"", "line 1", "line 3"),
		post("no task", "format=jsonl&name=p", "\n\n", 422, arena.CodePackInvalid, "empty"),
		post("empty", "format=jsonl&name=p", "", 400, arena.CodeMalformed, "body is required"),
		post("no name", "format=jsonl", questions("a"), 422, arena.CodeInvalid, "", "name"),
		post("no format", "name=p", questions("a"), 422, arena.CodeInvalid, "", "format"),
		post("unknown format", "format=docx&name=p", questions("a"), 415, arena.CodeUnsupported, "jsonl"),
		post("a million lines", "format=jsonl&name=p", strings.Repeat("{}\n", 1_000_000), 413, arena.CodeTooLarge, "100000"),
		post("larger than the limit", "format=jsonl&name=p", strings.Repeat(" ", maxPackBody+1), 413, arena.CodeTooLarge, "16777216 bytes"),
	})

	mapped := w.do("POST", "/v1/packs?format=auto&name=p&map=description%3Dq,options%3Do,answer%3Da", w.admin, `{"q":"x or y?","o":["x","y"],"a":["x","z"]}`).is(201)
	if mapped.str("format") != "jsonl" || !strings.HasPrefix(mapped.str("map"), "description=q,") || mapped.str("warnings.0.reason") != `the accepted answer "z" is not among the options` {
		t.Errorf("%s", mapped.body)
	}
	r := w.do("POST", "/v1/packs?format=jsonl&name=p", w.admin, strings.Repeat("x\n", 250)).is(422)
	if n := len(into[problem](r).Errors); n != 100 || !strings.Contains(r.str("detail"), "250 of 250") {
		t.Errorf("%d lines named: %s", n, r.str("detail"))
	}
	list := w.do("GET", "/v1/packs", w.admin, nil).is(200)
	if n := len(list.at("items").([]any)); n != 3 {
		t.Errorf("%d packs, want the 3 good ones: %s", n, list.body)
	}
	w.do("GET", "/v1/packs/"+list.str("items.0.pack_id"), w.admin, nil).is(200)
	w.do("GET", "/v1/packs/pk_none", w.admin, nil).is(404)
}

func TestAPI_checkPack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const doubtful = `{"description":"x or y?","options":["x","y"],"answer":["x","z"]}`
	r := w.do("POST", "/v1/packs/check?format=auto", w.admin, questions("a")+"b\n"+strings.Repeat(doubtful+"\n", 250)+strings.Repeat("x\n", 250)).is(200)
	got := into[arena.PackReport](r)
	if got.Format != "jsonl" || got.Tasks != 251 || len(got.Samples) != 3 || got.SkippedCount != 251 || len(got.Skipped) != 100 || len(got.Warnings) != 100 || got.Problem != "" {
		t.Errorf("%s", r.body)
	}
	if s := got.Samples[0]; s.Description != "a" || len(s.Answer) != 1 || s.Answer[0] != "a" {
		t.Errorf("%+v", s)
	}
	r = w.do("POST", "/v1/packs/check?format=auto", w.admin, "a,b\n1,2\n").is(200)
	if got := into[arena.PackReport](r); !strings.Contains(got.Problem, "description") || got.Format != "csv" || len(got.Names) != 2 || got.Samples == nil {
		t.Errorf("%s", r.body)
	}
	w.do("POST", "/v1/packs/check?format=docx", w.admin, "x").is(415)
	w.do("POST", "/v1/packs/check?format=auto", w.alice, "x").is(403)
	w.do("POST", "/v1/packs/check?format=auto", w.admin, strings.Repeat(" ", maxPackBody+1)).is(413)
	if list := w.do("GET", "/v1/packs", w.admin, nil).is(200); len(list.at("items").([]any)) != 0 {
		t.Errorf("a check stored a pack: %s", list.body)
	}
}

func TestAPI_createPack_form(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	send := func(query string, fields ...string) response {
		t.Helper()
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		for _, name := range fields {
			part, err := form.CreateFormFile(name, "trivia.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(part, questions("a")); err != nil {
				t.Fatal(err)
			}
		}
		if err := form.Close(); err != nil {
			t.Fatal(err)
		}
		return w.do("POST", "/v1/packs?format=jsonl"+query, w.admin, body.String(), "Content-Type", form.FormDataContentType())
	}
	if r := send("", "file").is(201); r.str("name") != "trivia.jsonl" {
		t.Errorf("name %q", r.str("name"))
	}
	if r := send("&name=mine", "file").is(201); r.str("name") != "mine" {
		t.Errorf("name %q", r.str("name"))
	}
	if r := send("", "pack").is(201); r.str("name") != "trivia.jsonl" { // whatever a client calls the field
		t.Errorf("name %q", r.str("name"))
	}
	send("", "file", "file").is(422)
	send("", "file", "other").is(422)
	send("").is(422)
	w.do("POST", "/v1/packs?format=jsonl", w.admin, "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\ncut", "Content-Type", "multipart/form-data; boundary=x").is(400)
}

// A form may hold the parameters beside the file; those of the query come first.
func TestAPI_createPack_formFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	send := func(query string, fields ...string) response {
		t.Helper()
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		for i := 0; i < len(fields); i += 2 {
			if err := form.WriteField(fields[i], fields[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		part, err := form.CreateFormFile("upload", "x.jsonl")
		if err == nil {
			_, err = io.WriteString(part, questions("a"))
		}
		if err := errors.Join(err, form.Close()); err != nil {
			t.Fatal(err)
		}
		return w.do("POST", "/v1/packs"+query, w.admin, body.String(), "Content-Type", form.FormDataContentType())
	}
	if r := send("", "format", "jsonl", "name", "mine", "skip_bad", "true").is(201); r.str("name") != "mine" {
		t.Errorf("name %q", r.str("name"))
	}
	if r := send("?format=jsonl&name=yours", "format", "csv", "name", "mine").is(201); r.str("name") != "yours" {
		t.Errorf("name %q", r.str("name"))
	}
	for _, refused := range []response{
		send("").is(422), send("", "format", "jsonl", "skip_bad", "often").is(422), send("", "format", "jsonl", "file", "text").is(422),
		send("", "format", "jsonl", "owner", "me").is(422), send("", "format", "jsonl", "name", "a", "name", "b").is(422),
		send("", "format", "jsonl", "name", strings.Repeat("n", 81)).is(422),
	} {
		if len(refused.at("errors").([]any)) != 1 {
			t.Errorf("%s", refused.body)
		}
	}
}

// counter counts what is read from a body that never ends.
type counter struct{ read int }

func (c *counter) Read(p []byte) (int, error) {
	clear(p)
	c.read += len(p)
	return len(p), nil
}

// A body over the limit is refused before it is read; one that hides its
// length is not read past the limit. Threat A6.
func TestAPI_createPack_unread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		length int64
		most   int
		token  string
		status int
	}{
		"says 100 MB":      {100 << 20, 0, w.admin, 413},
		"hides its length": {-1, maxPackBody + 1<<20, w.admin, 413},
		"of an owner":      {-1, 0, w.alice, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body counter
			req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/packs?format=jsonl&name=p", io.NopCloser(&body))
			req.ContentLength = c.length
			req.Header.Set("Authorization", "Bearer "+c.token)
			rec := httptest.NewRecorder()
			w.api.ServeHTTP(rec, req)
			if rec.Code != c.status || body.read > c.most {
				t.Errorf("status %d, want %d; %d bytes read, want at most %d", rec.Code, c.status, body.read, c.most)
			}
			if c.status == 413 && !strings.Contains(rec.Body.String(), "16777216") {
				t.Errorf("the limit is not named: %s", rec.Body)
			}
		})
	}
}

func TestAPI_packTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pack := w.do("POST", "/v1/packs?format=jsonl&name=p", w.admin, questions("One?", "Two?")).is(201).str("pack_id")
	path := "/v1/packs/" + pack + "/tasks"
	if items := w.do("GET", path, w.admin, nil).is(200).at("items").([]any); len(items) != 2 {
		t.Errorf("%v", items)
	}
	w.do("GET", "/v1/packs/pk_none/tasks", w.admin, nil).is(404)
	w.do("DELETE", path+"/9", w.admin, nil).is(404)
	w.do("DELETE", path+"/x", w.admin, nil).is(422)
	if r := w.do("DELETE", path+"/0", w.admin, nil).is(200); !strings.Contains(string(r.body), `{"matches":0,"changed":0,"failed":[],"settlements":0,"leagues":[]}`) {
		t.Errorf("%s", r.body)
	}
	if r := w.do("DELETE", path+"/0", w.admin, nil).is(409); !strings.Contains(r.str("detail"), "removed already") {
		t.Errorf("%s", r.body)
	}
	if r := w.do("DELETE", path+"/1", w.admin, nil).is(409); !strings.Contains(r.str("detail"), "only one") {
		t.Errorf("%s", r.body)
	}
	if body := string(w.do("GET", path+"?limit=1", w.admin, nil).is(200).body); !strings.Contains(body, `"removed_at":`) || strings.Contains(body, "Two?") {
		t.Error(body)
	}
}

// The text of a question is changed under a new number; bad input names its field
// and the limit.
func TestAPI_editPack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pack := w.do("POST", "/v1/packs?format=jsonl&name=p", w.admin, questions("One?", "Two?")).is(201).str("pack_id")
	path := "/v1/packs/" + pack
	if r := w.do("PATCH", path, w.admin, object{"name": "Capitals"}).is(200); r.str("name") != "Capitals" || r.str("pack_id") != pack {
		t.Errorf("%s", r.body)
	}
	bad := func(name, path string, body object, status int, code arena.Code, says string, fields ...string) scenario {
		return scenario{name: name, method: "PATCH", path: path, token: w.admin, body: body, status: status, code: code, says: says, fields: fields}
	}
	w.run([]scenario{
		bad("name of no pack", "/v1/packs/pk_none", object{"name": "x"}, 404, arena.CodeNotFound, ""),
		bad("no name", path, object{}, 422, arena.CodeInvalid, "", "name"),
		bad("long name", path, object{"name": strings.Repeat("x", 81)}, 422, arena.CodeInvalid, "80", "name"),
		bad("name of two lines", path, object{"name": "a\nb"}, 422, arena.CodeInvalid, "", "name"),
		bad("question of no pack", "/v1/packs/pk_none/tasks/0", object{"description": "x"}, 404, arena.CodeNotFound, ""),
		bad("no such question", path+"/tasks/2", object{"description": "x"}, 404, arena.CodeNotFound, "question 2"),
		bad("no number", path+"/tasks/x", object{"description": "x"}, 422, arena.CodeInvalid, "", "n"),
		bad("no change", path+"/tasks/0", object{}, 409, arena.CodeConflict, "this text already"),
		bad("unknown field", path+"/tasks/0", object{"cases": []string{}}, 422, arena.CodeInvalid, "", "cases"),
		bad("long question", path+"/tasks/0", object{"description": strings.Repeat("x", 8193)}, 422, arena.CodeInvalid, "8192", "description"),
		bad("answer that is no option", path+"/tasks/0", object{"options": []string{"a", "b"}, "answer": []string{"c"}}, 422, arena.CodeInvalid, "not among the options", "answer"),
		bad("one option", path+"/tasks/0", object{"options": []string{"a"}}, 422, arena.CodeInvalid, "needs two", "options"),
		bad("topic", path+"/tasks/0", object{"topic": strings.Repeat("x", 129)}, 422, arena.CodeInvalid, "128", "topic"),
	})
	edit := object{"description": "What is three?", "answer": []string{" 3"}, "options": []string{"3 ", "4"}, "topic": "sums", "difficulty": "easy"}
	want := `{"n":2,"description":"What is three?","options":["3","4"],"answer":["3"],"topic":"sums","difficulty":"easy","rounds":0}`
	if r := w.do("PATCH", path+"/tasks/0", w.admin, edit).is(200); strings.TrimSpace(string(r.body)) != want {
		t.Errorf("%s", r.body)
	}
	if r := w.do("PATCH", path+"/tasks/0", w.admin, edit).is(409); !strings.Contains(r.str("detail"), "now question 2") {
		t.Errorf("%s", r.body)
	}
	if items := w.do("GET", path+"/tasks", w.admin, nil).is(200); !strings.Contains(string(items.body), `"replaced_by":2`) || !strings.Contains(string(items.body), want) {
		t.Errorf("%s", items.body)
	}
	w.do("PATCH", path+"/tasks/2", w.admin, object{"answer": []string{}, "options": []string{}}).is(200) // an open question
}
