package league

import (
	"context"
	"fmt"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/league/pack"
)

// listedLines is how many bad entries of a pack an error lists.
const listedLines = 100

// ImportPack stores the tasks of a file, for an admin: all of them or none, or
// with SkipBad all that can be used. The contents are what it found in the file.
func (s *Service) ImportPack(ctx context.Context, caller arena.Caller, in arena.PackImport) (arena.Pack, arena.PackContents, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return arena.Pack{}, arena.PackContents{}, err
	}
	if in.Name == "" {
		return arena.Pack{}, arena.PackContents{}, arena.Invalid("name", "is required")
	}
	if err := plaintext.CheckLine("name", in.Name); err != nil {
		return arena.Pack{}, arena.PackContents{}, err
	}
	found, err := readPack(in)
	if err != nil {
		return arena.Pack{}, found, err
	}
	tasks, skipped := found.Tasks, found.Skipped
	if len(skipped) > 0 && (!in.SkipBad || len(tasks) == 0) {
		return arena.Pack{}, found, badEntries(len(tasks), skipped)
	}
	if len(tasks) == 0 {
		return arena.Pack{}, found, arena.Errorf(arena.CodePackInvalid, "the file holds no task")
	}
	now := s.now()
	for i := range tasks {
		if tasks[i].ID == "" {
			tasks[i].ID = arena.NewID(arena.TaskPrefix, now)
		}
	}
	p := arena.Pack{ID: arena.NewID(arena.PackPrefix, now), Name: in.Name, Format: found.Format, Tasks: len(tasks), CreatedAt: now}
	audit, err := caller.Audit(now, "create-pack", p.ID, nil, map[string]any{"name": p.Name, "tasks": p.Tasks})
	if err != nil {
		return arena.Pack{}, found, err
	}
	if err := s.o.Store.Packs.CreatePack(ctx, p, tasks, audit); err != nil {
		return arena.Pack{}, found, err
	}
	return p, found, nil
}

// CheckPack returns what an import would find in a file, for an admin, and
// stores nothing. problem is why the file as a whole cannot be read, "" if it
// can.
func (s *Service) CheckPack(caller arena.Caller, in arena.PackImport) (found arena.PackContents, problem string, err error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return arena.PackContents{}, "", err
	}
	found, err = readPack(in)
	if arena.CodeOf(err) == arena.CodePackInvalid {
		return found, err.Error(), nil
	}
	return found, "", err
}

// readPack reads the tasks of a file. The error is for a file that cannot be used
// at all; its format and names are returned beside it.
func readPack(in arena.PackImport) (arena.PackContents, error) {
	return pack.Read(pack.Source{Format: in.Format, Map: in.Map, Data: in.Data}, pack.DefaultLimits())
}

// AddGame checks the source of a game and stores it, for an admin. A source that is
// stored already is returned as it is.
func (s *Service) AddGame(ctx context.Context, caller arena.Caller, source string) (arena.GameScript, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return arena.GameScript{}, err
	}
	g, err := s.o.Games.Check(ctx, source, s.o.Now)
	if err != nil {
		return arena.GameScript{}, err
	}
	g.CreatedAt = s.now()
	audit, err := caller.Audit(g.CreatedAt, "create-game", g.Name, nil, map[string]any{"version": g.Version, "sha256": g.SHA256})
	if err != nil {
		return arena.GameScript{}, err
	}
	g.CreatedBy = audit.Actor
	return s.o.Store.Packs.CreateGameScript(ctx, g, audit)
}

// badEntries rejects a file for its bad entries and lists the first of them by
// line.
func badEntries(good int, skipped []arena.SkippedLine) error {
	others := ""
	if good > 0 {
		others = " (skip_bad=true imports the others)"
	}
	e := arena.Errorf(arena.CodePackInvalid, "%d of %d entries cannot be used; nothing was imported%s", len(skipped), good+len(skipped), others)
	for _, s := range skipped[:min(listedLines, len(skipped))] {
		e.Fields = append(e.Fields, arena.FieldError{Field: fmt.Sprintf("line %d", s.Line), Message: s.Reason})
	}
	return e
}
