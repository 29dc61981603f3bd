package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/catalog"
)

const (
	packsPath     = "/v1/packs"
	packCheckPath = packsPath + "/check"
)

const formType = "multipart/form-data"

const maxPackName = 80 // characters, as in the query

// packHandlers serve the routes of task packs.
type packHandlers struct {
	packs interface {
		ImportPack(ctx context.Context, caller arena.Caller, in arena.PackImport) (arena.Pack, arena.PackContents, error)
		CheckPack(caller arena.Caller, in arena.PackImport) (found arena.PackContents, problem string, err error)
		RenamePack(ctx context.Context, caller arena.Caller, id, name string) (arena.Pack, error)
		EditTask(ctx context.Context, caller arena.Caller, packID string, n int, edit arena.TaskEdit) (arena.PackTask, error)
	}
	tasks interface {
		RemoveTask(ctx context.Context, caller arena.Caller, packID string, n int) (arena.TaskRemoval, error)
		CorrectTask(ctx context.Context, caller arena.Caller, packID string, n int, preview bool) (arena.TaskCorrection, error)
	}
	rows Rows
}

// PackFileParams is a file of tasks, and how it is read. Huma reads embedded
// parameters of exported types only.
type PackFileParams struct {
	Format      string `query:"format" maxLength:"40" doc:"The format of the file, needed here or in a form: jsonl, csv, opentriviaqa, opentdb, gsm8k, mmlu, arc, aqua or bigbench; auto for what it looks like."`
	Map         string `query:"map" maxLength:"1000" doc:"The columns or fields that hold each part, in files of other forms: description=question,options=choices,answer=label."`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type createPackInput struct {
	PackFileParams

	Name    string `query:"name" maxLength:"80" doc:"Left out: the name of the multipart file."`
	SkipBad bool   `query:"skip_bad" doc:"Import the good entries although others are bad."`
}

type createdPackView struct {
	PackID   string              `json:"pack_id"`
	Name     string              `json:"name"`
	Tasks    int                 `json:"tasks"`
	Skipped  []arena.SkippedLine `json:"skipped" doc:"Entries that could not be used."`
	Format   string              `json:"format" doc:"How the file was read."`
	Map      string              `json:"map,omitempty" doc:"By which mapping it was read."`
	Warnings []arena.SkippedLine `json:"warnings" doc:"Fixes in entries that were imported, and doubts."`
	Reading  arena.PackReading   `json:"reading" doc:"How the file was understood."`
}

func (h *packHandlers) create(ctx context.Context, in *createPackInput) (*output[createdPackView], error) {
	data, name, fields, err := in.file()
	if err != nil {
		return nil, err
	}
	skip := fields.Get(fieldSkipBad)
	switch {
	case skip != "" && skip != "true" && skip != "false":
		return nil, arena.Invalid(fieldSkipBad, "must be true or false")
	case utf8.RuneCountInString(fields.Get(fieldName)) > maxPackName:
		return nil, arena.Invalid(fieldName, "must have at most %d characters", maxPackName)
	}
	p, found, err := h.packs.ImportPack(ctx, callerOf(ctx), arena.PackImport{
		Name: cmp.Or(in.Name, fields.Get(fieldName), name), Format: in.Format, Map: in.Map, Data: data, SkipBad: in.SkipBad || skip == "true",
	})
	if err != nil {
		return nil, err
	}
	return answer(createdPackView{
		PackID: p.ID, Name: p.Name, Tasks: p.Tasks, Format: found.Format, Map: found.Map,
		Skipped: orEmpty(found.Skipped), Warnings: orEmpty(found.Warnings), Reading: found.Report("", 0, 0).Reading,
	})
}

// The most that a check lists.
const (
	checkSamples = 3
	checkLines   = 100
)

func (h *packHandlers) check(ctx context.Context, in *PackFileParams) (*output[arena.PackReport], error) {
	data, _, _, err := in.file()
	if err != nil {
		return nil, err
	}
	found, problem, err := h.packs.CheckPack(callerOf(ctx), arena.PackImport{Format: in.Format, Map: in.Map, Data: data})
	if err != nil {
		return nil, err
	}
	return answer(found.Report(problem, checkSamples, checkLines))
}

// file returns the file in the body, and its name and the other fields if the
// body is a form. The fields format and map stand for parameters of the query
// that are left out.
func (in *PackFileParams) file() (data []byte, name string, fields url.Values, err error) {
	data, name, fields, err = fileOf(in.ContentType, in.RawBody, fieldFormat, fieldMap, fieldName, fieldSkipBad)
	if err != nil {
		return nil, "", nil, err
	}
	in.Format, in.Map = cmp.Or(in.Format, fields.Get(fieldFormat)), cmp.Or(in.Map, fields.Get(fieldMap))
	if in.Format == "" {
		return nil, "", nil, arena.Invalid(fieldFormat, "is required")
	}
	return data, name, fields, nil
}

// The fields of a form, beside the file those that are parameters of the query
// too.
const (
	fieldFile    = "file"
	fieldFormat  = "format"
	fieldMap     = "map"
	fieldName    = "name"
	fieldSkipBad = "skip_bad"
)

// fileOf returns the file that a body is, or the one file of a form, whatever its
// field is called. A form may have the other fields that are named, once each.
func fileOf(contentType string, body []byte, named ...string) (data []byte, name string, fields url.Values, err error) {
	if !strings.HasPrefix(strings.ToLower(contentType), formType) {
		return body, "", nil, nil
	}
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, "", nil, errForm()
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	fields = url.Values{}
	for found := false; ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) && found {
			return data, name, fields, nil
		}
		if errors.Is(err, io.EOF) {
			return nil, "", nil, arena.Invalid(fieldFile, "is required")
		}
		var value []byte
		if err == nil {
			value, err = io.ReadAll(part)
		}
		if err != nil {
			return nil, "", nil, errForm()
		}
		field := part.FormName()
		switch isFile := part.FileName() != "" || field == fieldFile; {
		case isFile && !found:
			data, name, found = value, part.FileName(), true
		case !isFile && slices.Contains(named, field) && !fields.Has(field):
			fields.Set(field, string(value))
		default:
			return nil, "", nil, arena.Invalid(field, "is one field too many: a form holds one file")
		}
	}
}

func errForm() error { return arena.Errorf(arena.CodeMalformed, "the form cannot be read") }

// describePackBody names the forms of the body.
func describePackBody(op *huma.Operation) {
	op.RequestBody.Description = fmt.Sprintf("The file itself, or a form (multipart/form-data) with one file, in a field of any name; at most %d bytes. A form may hold the parameters of the query too.", maxPackBody)
	op.RequestBody.Content = file("application/octet-stream", "text/plain", ndjsonType)
}

// file is the content of a body that is a file. Generators of clients cannot
// choose between a file and a form, so the form stands in the description alone.
func file(kinds ...string) map[string]*huma.MediaType {
	content := map[string]*huma.MediaType{}
	for _, kind := range kinds {
		content[kind] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	return content
}

type packView struct {
	PackID    string   `json:"pack_id"`
	Name      string   `json:"name"`
	Format    string   `json:"format"`
	Tasks     int      `json:"tasks" doc:"Questions, removed and changed ones included."`
	CreatedAt jsonTime `json:"created_at"`
}

func viewPack(p arena.Pack) packView {
	return packView{PackID: p.ID, Name: p.Name, Format: p.Format, Tasks: p.Tasks, CreatedAt: jsonTime(p.CreatedAt)}
}

func (h *packHandlers) get(ctx context.Context, in *IDParam) (*output[packView], error) {
	p, err := h.rows.Packs.Pack(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(viewPack(p))
}

type renamePackInput struct {
	IDParam

	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"80"`
	}
}

func (h *packHandlers) rename(ctx context.Context, in *renamePackInput) (*output[packView], error) {
	p, err := h.packs.RenamePack(ctx, callerOf(ctx), in.ID, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return answer(viewPack(p))
}

type listPacksInput struct{ PageParams }

func (h *packHandlers) list(ctx context.Context, in *listPacksInput) (*output[listOf[packView]], error) {
	packs, next, err := h.rows.Packs.Packs(ctx, in.page())
	if err != nil {
		return nil, err
	}
	var items []packView
	for _, p := range packs {
		items = append(items, viewPack(p))
	}
	return answerList(items, next)
}

type packTaskView struct {
	N           int       `json:"n" doc:"Its number in the pack, from 0."`
	Description string    `json:"description"`
	Options     []string  `json:"options,omitempty"`
	Answer      []string  `json:"answer" doc:"Accepted answers; the first is shown as the right one."`
	Topic       string    `json:"topic,omitempty"`
	Difficulty  string    `json:"difficulty,omitempty"`
	Rounds      int       `json:"rounds" doc:"Rounds that have used it."`
	RemovedAt   *jsonTime `json:"removed_at,omitempty" doc:"Absent: not removed."`
	CorrectedAt *jsonTime `json:"corrected_at,omitempty" doc:"Since when played rounds are judged by the answers of replaced_by. Absent: they keep these."`
	ReplacedBy  int       `json:"replaced_by,omitempty" doc:"The number of the question with its changed text. Absent: it was not changed. A question with neither is in use."`
}

func viewPackTask(t arena.PackTask) packTaskView {
	return packTaskView{
		N: t.N, Description: t.Task.Description, Options: t.Task.Options, Answer: orEmpty(t.Task.Answers), Topic: t.Task.Topic,
		Difficulty: t.Task.Difficulty, Rounds: t.Rounds, RemovedAt: optionalTime(t.RemovedAt), ReplacedBy: t.ReplacedBy, CorrectedAt: optionalTime(t.CorrectedAt),
	}
}

type packTasksInput struct {
	IDParam
	PageParams
}

func (h *packHandlers) listTasks(ctx context.Context, in *packTasksInput) (*output[listOf[packTaskView]], error) {
	tasks, next, err := h.rows.Packs.PackTasks(ctx, in.ID, in.page())
	if err != nil {
		return nil, err
	}
	var items []packTaskView
	for _, t := range tasks {
		items = append(items, viewPackTask(t))
	}
	return answerList(items, next)
}

// TaskParam is a question of a pack in the path.
type TaskParam struct {
	IDParam

	N int `path:"n" minimum:"0" maximum:"1000000"`
}

type editTaskInput struct {
	TaskParam

	Body struct {
		Description *string   `json:"description,omitempty" doc:"At most 8192 bytes."`
		Answer      *[]string `json:"answer,omitempty" doc:"Accepted answers, at most 64 of at most 512 bytes; with options, their texts. An empty list makes an open question."`
		Options     *[]string `json:"options,omitempty" doc:"2 to 26 of at most 512 bytes, or none."`
		Topic       *string   `json:"topic,omitempty" doc:"At most 128 bytes."`
		Difficulty  *string   `json:"difficulty,omitempty" doc:"At most 128 bytes."`
	}
}

func (h *packHandlers) editTask(ctx context.Context, in *editTaskInput) (*output[packTaskView], error) {
	b := in.Body
	t, err := h.packs.EditTask(ctx, callerOf(ctx), in.ID, in.N, arena.TaskEdit{
		Description: b.Description, Answers: b.Answer, Options: b.Options, Topic: b.Topic, Difficulty: b.Difficulty,
	})
	if err != nil {
		return nil, err
	}
	return answer(viewPackTask(t))
}

func (h *packHandlers) removeTask(ctx context.Context, in *TaskParam) (*output[arena.TaskRemoval], error) {
	removal, err := h.tasks.RemoveTask(ctx, callerOf(ctx), in.ID, in.N)
	if err != nil {
		return nil, err
	}
	return answer(removal)
}

type correctTaskInput struct {
	TaskParam

	Preview bool `query:"preview" doc:"Report what would change, and store nothing."`
}

func (h *packHandlers) correctTask(ctx context.Context, in *correctTaskInput) (*output[arena.TaskCorrection], error) {
	correction, err := h.tasks.CorrectTask(ctx, callerOf(ctx), in.ID, in.N, in.Preview)
	if err != nil {
		return nil, err
	}
	return answer(correction)
}

const gamesPath = "/v1/games"

// gameHandlers serve the routes of games.
type gameHandlers struct {
	service interface {
		AddGame(ctx context.Context, caller arena.Caller, source string) (arena.GameScript, error)
	}
	catalog *catalog.Catalog
	rows    Rows
}

// GameFileParams is the source of a game. Huma reads embedded parameters of
// exported types only.
type GameFileParams struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type gameVersionView struct {
	Name      string          `json:"name"`
	Version   string          `json:"version"`
	SHA256    string          `json:"sha256" doc:"Of the source, in hex; matches pin it."`
	CreatedAt jsonTime        `json:"created_at"`
	Report    json.RawMessage `json:"report,omitempty" doc:"Of the random games that it was checked with."`
	Source    string          `json:"source,omitempty" doc:"JavaScript."`
}

func viewGameVersion(g arena.GameScript) gameVersionView {
	return gameVersionView{Name: g.Name, Version: g.Version, SHA256: g.SHA256, CreatedAt: jsonTime(g.CreatedAt), Report: g.Report, Source: g.Source}
}

func (h *gameHandlers) create(ctx context.Context, in *GameFileParams) (*output[gameVersionView], error) {
	data, _, _, err := fileOf(in.ContentType, in.RawBody)
	if err != nil {
		return nil, err
	}
	g, err := h.service.AddGame(ctx, callerOf(ctx), string(data))
	if err != nil {
		return nil, err
	}
	g.Source = ""
	return answer(viewGameVersion(g))
}

type gameView struct {
	Name     string             `json:"name"`
	Title    string             `json:"title"`
	Version  string             `json:"version" doc:"Of the rules; new matches use it."`
	MinSeats int                `json:"min_seats"`
	MaxSeats int                `json:"max_seats"`
	Deals    bool               `json:"deals" doc:"A game begins by chance, so that a deal can be played from each side."`
	Hidden   bool               `json:"hidden" doc:"Players know what others must not see."`
	MaxTurns int                `json:"max_turns"`
	Options  []arena.GameOption `json:"options"`
	Notation string             `json:"notation,omitempty" doc:"The form in which GET /v1/matches/{id}/notation returns its games; absent: none."`
	Versions []gameVersionView  `json:"versions" doc:"Of an uploaded game, the latest first; none: it is part of the arena."`
}

func (h *gameHandlers) list(ctx context.Context, _ *struct{}) (*output[listOf[gameView]], error) {
	games, err := h.catalog.Listed(ctx)
	if err != nil {
		return nil, err
	}
	var items []gameView
	for _, g := range games {
		v := gameView{
			Name: g.Name, Title: g.Title, Version: g.Version, MinSeats: g.MinSeats, MaxSeats: g.MaxSeats, Deals: g.Deals, Hidden: g.Hidden, MaxTurns: g.MaxTurns,
			Options: orEmpty(g.Options), Notation: g.Notation, Versions: []gameVersionView{},
		}
		for _, u := range g.Uploaded {
			v.Versions = append(v.Versions, viewGameVersion(u))
		}
		items = append(items, v)
	}
	return answerList(items, "")
}

type getGameInput struct {
	Name   string `path:"name" maxLength:"40"`
	SHA256 string `query:"sha256" maxLength:"64" doc:"Left out: the latest version."`
}

func (h *gameHandlers) get(ctx context.Context, in *getGameInput) (*output[gameVersionView], error) {
	g, err := h.rows.Packs.GameScript(ctx, in.Name, in.SHA256)
	if err != nil {
		return nil, err
	}
	return answer(viewGameVersion(g))
}

// describeGameBody names the forms of the body.
func describeGameBody(op *huma.Operation) {
	op.RequestBody.Description = fmt.Sprintf("The JavaScript file itself, or a form (multipart/form-data) with it; at most %d bytes.", maxGameBody)
	op.RequestBody.Content = file("text/javascript", "text/plain")
}
