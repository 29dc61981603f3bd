package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
)

const packsPath = "/v1/packs"

const formType = "multipart/form-data"

// shownLines is how many bad lines of a pack are named one by one.
const shownLines = 100

type createPackInput struct {
	Format      string `query:"format" required:"true" maxLength:"40" doc:"What the file is: jsonl, csv, opentriviaqa, opentdb or gsm8k."`
	Name        string `query:"name" maxLength:"80" doc:"Left out: the name of the multipart file."`
	SkipBad     bool   `query:"skip_bad" doc:"Import the good entries although others are bad."`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type createdPackView struct {
	PackID  string              `json:"pack_id"`
	Name    string              `json:"name"`
	Tasks   int                 `json:"tasks"`
	Skipped []arena.SkippedLine `json:"skipped" doc:"Entries that could not be used."`
}

// createPack imports all of a file or nothing; with skip_bad, all of its good
// entries.
func (a *API) createPack(ctx context.Context, in *createPackInput) (*output[createdPackView], error) {
	data, name, err := packFile(in)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, arena.Invalid("name", "is required")
	}
	if err := plaintext.CheckLine("name", name); err != nil {
		return nil, err
	}
	tasks, skipped, err := a.ParsePack(in.Format, data)
	if err != nil {
		return nil, err
	}
	if len(skipped) > 0 && (!in.SkipBad || len(tasks) == 0) {
		return nil, badLines(len(tasks), skipped)
	}
	if len(tasks) == 0 {
		return nil, arena.Errorf(arena.CodePackInvalid, "the file holds no task")
	}
	now := a.now()
	for i := range tasks {
		if tasks[i].ID == "" {
			tasks[i].ID = arena.NewID(arena.TaskPrefix, now)
		}
	}
	p := arena.Pack{ID: arena.NewID(arena.PackPrefix, now), Name: name, Format: in.Format, Tasks: len(tasks), CreatedAt: now}
	if err := a.Store.CreatePack(ctx, p, tasks); err != nil {
		return nil, err
	}
	did(ctx, p.ID, nil, map[string]any{"name": p.Name, "tasks": p.Tasks})
	return answer(createdPackView{PackID: p.ID, Name: p.Name, Tasks: p.Tasks, Skipped: orEmpty(skipped)})
}

// badLines refuses a file for its bad entries, the first hundred by line.
func badLines(good int, skipped []arena.SkippedLine) error {
	others := ""
	if good > 0 {
		others = " (skip_bad=true imports the others)"
	}
	e := arena.Errorf(arena.CodePackInvalid, "%d of %d entries cannot be used; nothing was imported%s", len(skipped), good+len(skipped), others)
	for _, s := range skipped[:min(shownLines, len(skipped))] {
		e.Fields = append(e.Fields, arena.FieldError{Field: fmt.Sprintf("line %d", s.Line), Message: s.Reason})
	}
	return e
}

// packFile finds the file in the body: the body itself, or the field "file"
// of a form.
func packFile(in *createPackInput) (data []byte, name string, err error) {
	if !strings.HasPrefix(strings.ToLower(in.ContentType), formType) {
		return in.RawBody, in.Name, nil
	}
	_, params, err := mime.ParseMediaType(in.ContentType)
	if err != nil {
		return nil, "", errForm()
	}
	parts := multipart.NewReader(bytes.NewReader(in.RawBody), params["boundary"])
	found := false
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", errForm()
		}
		if part.FormName() != "file" || found {
			return nil, "", arena.Invalid(part.FormName(), "a form holds one field, the file")
		}
		found = true
		if data, err = io.ReadAll(part); err != nil {
			return nil, "", errForm()
		}
		if name = in.Name; name == "" {
			name = part.FileName()
		}
	}
	if !found {
		return nil, "", arena.Invalid("file", "is required")
	}
	return data, name, nil
}

func errForm() error { return arena.Errorf(arena.CodeMalformed, "the form cannot be read") }

// describePackBody names the forms of the body.
func describePackBody(op *huma.Operation) {
	file := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	op.RequestBody.Description = fmt.Sprintf("The file itself, or a form with it; at most %d bytes.", maxPackBody)
	op.RequestBody.Content = map[string]*huma.MediaType{
		"application/octet-stream": file,
		"text/plain":               file,
		ndjsonType:                 file,
		formType: {Schema: &huma.Schema{
			Type: huma.TypeObject, Required: []string{"file"},
			Properties: map[string]*huma.Schema{"file": file.Schema},
		}},
	}
}

type packView struct {
	PackID    string   `json:"pack_id"`
	Name      string   `json:"name"`
	Format    string   `json:"format"`
	Tasks     int      `json:"tasks"`
	CreatedAt jsonTime `json:"created_at"`
}

func viewPack(p arena.Pack) packView {
	return packView{PackID: p.ID, Name: p.Name, Format: p.Format, Tasks: p.Tasks, CreatedAt: jsonTime(p.CreatedAt)}
}

func (a *API) getPack(ctx context.Context, in *IDParam) (*output[packView], error) {
	p, err := a.Store.Pack(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(viewPack(p))
}

type listPacksInput struct{ PageParams }

func (a *API) listPacks(ctx context.Context, in *listPacksInput) (*output[listOf[packView]], error) {
	packs, next, err := a.Store.Packs(ctx, in.page())
	if err != nil {
		return nil, err
	}
	var items []packView
	for _, p := range packs {
		items = append(items, viewPack(p))
	}
	return answerList(items, next)
}
