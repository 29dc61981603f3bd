package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena/server"
	"github.com/agora-arena/arena/store"
)

// openStore opens the database of the settings for one command. An SQLite
// file is made only when create is set: a command that looks at a database
// must not leave an empty one behind.
func openStore(app *App, cfg server.Config, create bool) (*store.Store, error) {
	if !create && !databaseExists(cfg.DatabaseURL) {
		return nil, fmt.Errorf("there is no database %s (ARENA_DATABASE_URL)", cfg.DatabaseURL)
	}
	return store.Open(app.Ctx, cfg.DatabaseURL, store.Options{Logger: app.Logger(cfg), Now: time.Now})
}

// withStore hands over the database of the settings, which must exist, and closes
// it.
func withStore(app *App, file FileFlag, do func(server.Config, *store.Store) error) (err error) {
	cfg, err := file.Load(app)
	if err != nil {
		return err
	}
	s, err := openStore(app, cfg, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(cfg, s)
}

// databaseExists reports whether opening the database would not make its file.
func databaseExists(databaseURL string) bool {
	file, ok := strings.CutPrefix(databaseURL, "sqlite:")
	if !ok {
		return true
	}
	_, err := os.Stat(strings.TrimPrefix(file, "//"))
	return !errors.Is(err, fs.ErrNotExist)
}

// MigrateCmd groups the commands about the schema and its rows.
type MigrateCmd struct {
	Up   MigrateUpCmd   `cmd:"" default:"withargs" help:"Bring the database to the schema of this version (the default)."`
	Copy MigrateCopyCmd `cmd:"" help:"Copy a whole arena into another, empty database, of the same engine or the other."`
}

// MigrateUpCmd is `arena migrate`, or `arena migrate up`.
type MigrateUpCmd struct {
	FileFlag
	Status bool `help:"Only print the schema's version; exit with 1 when it is not the one that this binary wants."`
}

// Help describes when the command is needed.
func (c *MigrateUpCmd) Help() string {
	return `Not needed on one node: arena serve does the same when it starts. Settings:
ARENA_DATABASE_URL, from the file or the environment.

    arena migrate --status
    ARENA_DATABASE_URL=postgres://arena@db/arena arena migrate`
}

// Run migrates, or says whether that is needed.
func (c *MigrateUpCmd) Run(app *App) (err error) {
	cfg, err := c.Load(app)
	if err != nil {
		return err
	}
	s, err := openStore(app, cfg, !c.Status)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	before, wanted, err := s.SchemaVersion(app.Ctx)
	switch {
	case err != nil:
		return err
	case before > wanted:
		return fmt.Errorf("the database has schema %d and this binary knows %d: use the newer binary", before, wanted)
	case before == wanted:
		_, err = fmt.Fprintf(app.Stdout, "schema %d: nothing to do\n", wanted)
		return err
	case c.Status:
		return fmt.Errorf("the database has schema %d and this binary wants %d: run arena migrate", before, wanted)
	}
	if err := s.Lock(app.Ctx); err != nil {
		return err
	}
	if err := s.Migrate(app.Ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(app.Stdout, "schema %d: migrated from %d\n", wanted, before)
	return err
}

// BackupCmd is `arena backup`.
type BackupCmd struct {
	FileFlag
	Target string `arg:"" name:"file" type:"path" help:"New file that gets the copy; it must not exist."`
}

// Help describes the copy and the way back.
func (c *BackupCmd) Help() string {
	return `Copies an SQLite database into a new file that only its owner can read, while
servers run. To restore it, stop the server, put the copy in the place of the
database, remove the files ending in -wal and -shm, and start. For PostgreSQL
use pg_dump. Settings: ARENA_DATABASE_URL, from the file or the environment.

    arena backup arena-$(date +%F).db`
}

// Run copies.
func (c *BackupCmd) Run(app *App) error {
	return withStore(app, c.FileFlag, func(_ server.Config, s *store.Store) error {
		if err := s.Backup(app.Ctx, c.Target); err != nil {
			return err
		}
		_, err := fmt.Fprintf(app.Stdout, "copied the database to %s\n", c.Target)
		return err
	})
}
