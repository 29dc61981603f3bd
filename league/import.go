package league

import (
	"context"
	"fmt"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
)

// listedLines is how many bad entries of a pack an error lists.
const listedLines = 100

// ImportPack stores the tasks of a file, for an admin: all of them or none, or
// with SkipBad all that can be used. It also returns the entries that it
// skipped.
func (s *Service) ImportPack(ctx context.Context, caller arena.Caller, in arena.PackImport) (arena.Pack, []arena.SkippedLine, error) {
	if err := caller.Require("", arena.RightAdminister); err != nil {
		return arena.Pack{}, nil, err
	}
	if in.Name == "" {
		return arena.Pack{}, nil, arena.Invalid("name", "is required")
	}
	if err := plaintext.CheckLine("name", in.Name); err != nil {
		return arena.Pack{}, nil, err
	}
	tasks, skipped, err := s.o.ParsePack(in.Format, in.Data)
	if err != nil {
		return arena.Pack{}, nil, err
	}
	if len(skipped) > 0 && (!in.SkipBad || len(tasks) == 0) {
		return arena.Pack{}, nil, badEntries(len(tasks), skipped)
	}
	if len(tasks) == 0 {
		return arena.Pack{}, nil, arena.Errorf(arena.CodePackInvalid, "the file holds no task")
	}
	now := s.now()
	for i := range tasks {
		if tasks[i].ID == "" {
			tasks[i].ID = arena.NewID(arena.TaskPrefix, now)
		}
	}
	p := arena.Pack{ID: arena.NewID(arena.PackPrefix, now), Name: in.Name, Format: in.Format, Tasks: len(tasks), CreatedAt: now}
	audit, err := caller.Audit(now, "create-pack", p.ID, nil, map[string]any{"name": p.Name, "tasks": p.Tasks})
	if err != nil {
		return arena.Pack{}, nil, err
	}
	if err := s.o.Store.CreatePack(ctx, p, tasks, audit); err != nil {
		return arena.Pack{}, nil, err
	}
	return p, skipped, nil
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
