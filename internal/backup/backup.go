package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Destination keeps finished backups under names.
type Destination interface {
	// String names it in messages.
	String() string
	// Workspace returns the folder for temporary files.
	Workspace() string
	// Check returns an error unless a backup can be stored, under this name.
	Check(ctx context.Context, name string) error
	// Put stores a whole file, whose SHA-256 is sum, under a name that is free. It
	// returns nil once the stored file is known to be whole and lasting; after an
	// error there is no file of that name.
	Put(ctx context.Context, name, file string, sum Sum) error
	// Open returns a stored file; not_found without one.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the names that it keeps, and may return others.
	List(ctx context.Context) ([]string, error)
	Remove(ctx context.Context, name string) error
}

// Contents are the sizes of what a backup holds.
type Contents struct {
	Rows        int64
	Settlements int // that were replayed
	// Differs is the first difference between the ratings and what the settlements
	// give; nil: there is none.
	Differs error
}

// Options are the parts of a Service. All are required.
type Options struct {
	// Snapshot writes a verified copy of the arena to a new file.
	Snapshot func(ctx context.Context, file string) (Contents, error)
	// Record stores when the newest good backup was begun.
	Record func(ctx context.Context, at time.Time) error
	Now    func() time.Time
	Logger *slog.Logger
}

// Service makes backups of one arena.
type Service struct{ o Options }

// New returns a Service.
func New(o Options) *Service {
	return &Service{o}
}

// Made is a backup that was made.
type Made struct {
	Contents
	Place   string // destination and name
	Bytes   int64
	Took    time.Duration
	Removed []string // older backups that were not to be kept
}

// Run makes a backup and stores it under name, or under NameAt with name "". It
// is packed when the name ends in ".zst". Then, with keep above 0, Run removes all
// backups but the newest keep; it never touches files that NameAt did not name.
// A backup whose ratings differ gets a mark in the name that Run chose, and such
// backups are counted apart, so that they displace no other. An error leaves existing
// backups unchanged.
func (s *Service) Run(ctx context.Context, to Destination, name string, keep int) (made Made, err error) {
	began := s.o.Now()
	chosen := name == ""
	name = cmp.Or(name, NameAt(began))
	if err := to.Check(ctx, name); err != nil { // rather than after minutes of copying
		return made, fmt.Errorf("back up to %s: %w", to, err)
	}
	work, err := makeWorkspace(to.Workspace(), began)
	if err != nil {
		return made, fmt.Errorf("back up to %s: %w", to, err)
	}
	defer func() { _ = os.RemoveAll(work) }() // the next run removes what is left
	file := filepath.Join(work, "arena.db")
	if made.Contents, err = s.o.Snapshot(ctx, file); err != nil {
		return made, fmt.Errorf("back up to %s: %w", to, err)
	}
	if chosen && made.Differs != nil {
		name = marked(name)
	}
	made.Place = PlaceOf(to, name)
	if strings.HasSuffix(name, packedEnding) {
		plain := file
		file += packedEnding
		if err := pack(ctx, plain, file); err != nil {
			return made, fmt.Errorf("back up to %s: %w", to, err)
		}
	}
	var sum Sum
	if sum, made.Bytes, err = sumOf(ctx, file); err != nil {
		return made, fmt.Errorf("back up to %s: %w", to, err)
	}
	if err := to.Put(ctx, name, file, sum); err != nil {
		return made, fmt.Errorf("back up to %s: %w", to, err)
	}
	made.Took = s.o.Now().Sub(began)
	// The backup is good, whatever comes after it.
	if err := s.o.Record(ctx, began); err != nil {
		s.o.Logger.Warn("the time of the backup could not be stored", "error", err)
	}
	if keep > 0 {
		if made.Removed, err = prune(ctx, to, keep); err != nil {
			s.o.Logger.Error("old backups could not be removed", "destination", to.String(), "error", err)
		}
	}
	return made, nil
}

// prune removes all backups but the newest keep, and all marked ones but the newest
// keep of those.
func prune(ctx context.Context, in Destination, keep int) (removed []string, err error) {
	names, err := in.List(ctx)
	if err != nil {
		return nil, err
	}
	kept := map[bool]int{} // by whether they are marked
	for _, name := range newestFirst(names) {
		differs := strings.Contains(name, mark)
		if kept[differs]++; kept[differs] <= keep {
			continue
		}
		if err := in.Remove(ctx, name); err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	return removed, nil
}

// PlaceOf returns destination and name as one text.
func PlaceOf(d Destination, name string) string {
	return strings.TrimSuffix(d.String(), "/") + "/" + name
}

// Latest returns the name of the newest backup; not_found without one.
func Latest(ctx context.Context, in Destination) (string, error) {
	names, err := in.List(ctx)
	if err != nil {
		return "", err
	}
	if names = newestFirst(names); len(names) == 0 {
		return "", arena.Errorf(arena.CodeNotFound, "%s has no backup with a name such as %s", in, NameAt(time.Unix(0, 0)))
	}
	return names[0], nil
}

// RestoreOptions are the parts of Restore. All but After are required.
type RestoreOptions struct {
	// Empty returns an error unless the database may be filled.
	Empty func(ctx context.Context) error
	// Fill fills it from the copy that a Snapshot wrote, verifies it, and may move
	// the file.
	Fill func(ctx context.Context, file string) (Contents, error)
	// After runs in the filled database before anyone starts it: what was decided
	// since the backup and must outlive it, such as erasures.
	After []func(ctx context.Context) error
	// Workspace is the folder for temporary files.
	Workspace string
	Now       func() time.Time
}

// Restore fills an empty database from a backup.
func Restore(ctx context.Context, from Destination, name string, o RestoreOptions) (c Contents, err error) {
	if err := o.Empty(ctx); err != nil {
		return c, err
	}
	work, err := makeWorkspace(o.Workspace, o.Now())
	if err != nil {
		return c, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	file := filepath.Join(work, "arena.db")
	if err := fetch(ctx, from, name, file); err != nil {
		return c, fmt.Errorf("read %s: %w", PlaceOf(from, name), err)
	}
	if c, err = o.Fill(ctx, file); err != nil {
		return c, fmt.Errorf("restore %s: %w", PlaceOf(from, name), err)
	}
	for _, after := range o.After {
		if err := after(ctx); err != nil {
			return c, fmt.Errorf("the database is restored, but must not be started yet: %w", err)
		}
	}
	return c, nil
}

// fetch writes the copy in a stored backup to a new file, unpacked.
func fetch(ctx context.Context, from Destination, name, file string) (err error) {
	stored, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stored.Close()) }()
	return unpackTo(ctx, stored, file)
}

// workspacePrefix begins the names of folders for temporary files.
const workspacePrefix = ".arena-backup-"

// abandoned is the age from which on a workspace is one of a process that was
// killed.
const abandoned = 24 * time.Hour

// makeWorkspace makes a private folder in dir, and removes abandoned ones.
func makeWorkspace(dir string, now time.Time) (string, error) {
	old, err := filepath.Glob(filepath.Join(escapeGlob(dir), workspacePrefix+"*"))
	if err != nil {
		return "", err
	}
	for _, folder := range old {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() && now.Sub(info.ModTime()) > abandoned {
			_ = os.RemoveAll(folder) // another run may do the same
		}
	}
	return os.MkdirTemp(dir, workspacePrefix)
}
