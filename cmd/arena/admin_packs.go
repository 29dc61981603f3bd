package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// AdminPackCmd groups the commands on packs.
type AdminPackCmd struct {
	List    listCmd        `cmd:"" help:"Packs, newest first."`
	Show    showCmd        `cmd:"" help:"One pack."`
	Upload  uploadCmd      `cmd:"" help:"Import a file, all or nothing."`
	Rename  packRenameCmd  `cmd:"" help:"Rename a pack."`
	Tasks   packTasksCmd   `cmd:"" help:"The questions of a pack, with their use."`
	Edit    packEditCmd    `cmd:"" help:"Change a question from a JSON file (the body of PATCH /v1/packs/{id}/tasks/{n}); rounds already played keep the old text."`
	Correct packCorrectCmd `cmd:"" help:"Judge played rounds again by the changed answer of a question."`
	Remove  packRemoveCmd  `cmd:"" help:"Remove a question; its rounds become void."`
}

type (
	packRenameCmd struct {
		oneThing

		To string `arg:"" name:"name" help:"The new name."`
	}
	packTasksCmd struct {
		oneThing
		listCmd
	}
	// oneTask is a command on one question of a pack.
	oneTask struct {
		oneThing

		N int `arg:"" help:"Number of the question, as in tasks."`
	}
	packEditCmd struct {
		oneTask

		File string `arg:"" help:"JSON file, - for standard input."`
	}
	packCorrectCmd struct {
		oneTask

		Preview bool `help:"Report what would change, and store nothing."`
	}
	packRemoveCmd struct{ oneTask }
)

func (o oneTask) path(act string) string {
	return o.oneThing.path("packs", "/tasks/", strconv.Itoa(o.N), act)
}

func (c *packRenameCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodPatch, c.path("packs"), map[string]string{"name": c.To})
}

func (c *packTasksCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodGet, c.path("packs", "/tasks", c.query()), nil)
}

func (c *packEditCmd) Run(app *App, admin *AdminCmd) error {
	body, err := fileOrStdin(app, c.File)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	return admin.call(app, http.MethodPatch, c.path(""), json.RawMessage(body))
}

func (c *packCorrectCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodPost, c.path("/correct?preview="+strconv.FormatBool(c.Preview)), nil)
}

func (c *packRemoveCmd) Run(app *App, admin *AdminCmd) error {
	return admin.call(app, http.MethodDelete, c.path(""), nil)
}
