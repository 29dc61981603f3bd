package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/server"
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

// Run migrates, or prints whether a migration is needed.
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
		return fmt.Errorf("the database has schema %d and this binary supports up to %d: use the newer binary", before, wanted)
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
	Target string `arg:"" optional:"" name:"target" help:"New file, existing folder, or s3://bucket/prefix. Default: ARENA_BACKUP_TO."`
	Keep   int    `placeholder:"N" help:"Afterwards remove all backups but the newest N from the folder or bucket. Default: all stay; with ARENA_BACKUP_TO, ARENA_BACKUP_KEEP."`
}

// Help describes the copy and the way back.
func (c *BackupCmd) Help() string {
	return `Copies the whole arena while servers run: an SQLite database with the rows of one
moment, whether the arena uses SQLite or PostgreSQL. The copy is compared with the
arena, its ratings are replayed, and only then it gets its name. In a folder or
bucket the name is that of the time, with -ratings-differ when the settlements do
not give the ratings; a name that ends in .zst is packed. Only the
owner of a file can read it. It holds the signing keys.

Settings: ARENA_DATABASE_URL and ARENA_BACKUP_…, from the file or the environment.
The credentials of a bucket may be in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

    arena backup arena-$(date +%F).db
    arena backup /var/backups/arena --keep 7
    arena backup s3://backups/arena`
}

// Run backs up.
func (c *BackupCmd) Run(app *App) error {
	return withStore(app, c.FileFlag, func(cfg server.Config, s *store.Store) error {
		target, keep := c.Target, c.Keep
		if target == "" {
			target, keep = cfg.BackupFolder(), cmp.Or(keep, cfg.Backup.Keep)
		}
		if target == "" {
			return errors.New("name a file, a folder or s3://bucket/prefix, or set ARENA_BACKUP_TO")
		}
		to, name, err := cfg.BackupDestination(target)
		switch {
		case err != nil:
			return err
		case keep < 0:
			return errors.New("--keep: must be 1 or more")
		case name != "" && keep > 0:
			return errors.New("--keep: needs a folder or s3://bucket/prefix, not the name of one file")
		}
		shown := &copyProgress{w: app.Stderr, terminal: cli.IsTerminal(app.Stderr), now: time.Now, quiet: true}
		made, err := server.NewBackups(s, app.Logger(cfg), shown.show).Run(app.Ctx, to, name, keep)
		shown.end()
		if err != nil {
			return server.ExplainBackup(err)
		}
		_, err = fmt.Fprintf(app.Stdout, "backed up %d rows to %s (%d bytes, %s)\n%s\n",
			made.Rows, made.Place, made.Bytes, made.Took.Round(time.Millisecond), replayed(made.Settlements, made.Differs))
		for _, old := range made.Removed {
			_, _ = fmt.Fprintf(app.Stdout, "removed %s\n", old)
		}
		return err
	})
}

// RestoreCmd is `arena restore`.
type RestoreCmd struct {
	FileFlag
	Source string `arg:"" name:"source" help:"Backup: a file or s3://bucket/prefix/name; the newest one of a folder or s3://bucket/prefix."`
}

// Help describes the requirements and the result.
func (c *RestoreCmd) Help() string {
	return `Fills the empty database of ARENA_DATABASE_URL from a backup of this version or an
older one, of SQLite or PostgreSQL alike. An SQLite file must not exist. The
backup is checked and its ratings are replayed. Signing keys and tokens are those
of the backup. When the command fails, make a new database and try again.

    arena restore /var/backups/arena
    arena restore s3://backups/arena/arena-20261124T030000Z.db.zst
    ARENA_DATABASE_URL=postgres://arena@db/arena arena restore arena.db`
}

// Run restores.
func (c *RestoreCmd) Run(app *App) error {
	cfg, err := c.Load(app)
	if err != nil {
		return err
	}
	from, name, err := cfg.BackupDestination(c.Source)
	if err != nil {
		return err
	}
	began := time.Now()
	shown := &copyProgress{w: app.Stderr, terminal: cli.IsTerminal(app.Stderr), now: time.Now, quiet: true}
	place, restored, err := cfg.RestoreBackup(app.Ctx, from, name, app.Logger(cfg), shown.show)
	shown.end()
	if err != nil {
		return server.ExplainBackup(err)
	}
	_, err = fmt.Fprintf(app.Stdout, `restored %d rows from %s to %s in %s
%s

Next: start the arena with arena serve, on the ARENA_PUBLIC_URL that it had. Signing
keys and tokens are those of the backup. Matches that ran continue; what happened
after the backup is lost. Set ARENA_ADMIN_TOKEN if no admin token is at hand.
`, restored.Rows, place, redact(cfg.DatabaseURL), time.Since(began).Round(time.Millisecond), replayed(restored.Settlements, restored.Differs))
	return err
}

// replayed returns a sentence on whether the settlements of a copy give its ratings.
func replayed(settlements int, differs error) string {
	if differs != nil {
		return "warning: its ratings are not what the settlements give: " + differs.Error() +
			"\nFind the difference with arena admin ratings verify, and recompute with arena admin ratings rebuild LEAGUE."
	}
	return fmt.Sprintf("%d settlements give its ratings", settlements)
}
