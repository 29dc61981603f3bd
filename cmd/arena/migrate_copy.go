package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/server"
	"github.com/agora-arena/arena/store"
)

// MigrateCopyCmd is `arena migrate copy`.
type MigrateCopyCmd struct {
	FileFlag
	From string `placeholder:"URL" help:"Database to copy: sqlite:FILE or postgres://user@host/database. Default: ARENA_DATABASE_URL."`
	To   string `placeholder:"URL" required:"" help:"Empty database that gets the copy, in the same form. An SQLite file is made."`
}

// Help describes the requirements and the result.
func (c *MigrateCopyCmd) Help() string {
	return `Copies every row of an arena into an empty database and leaves the source as it
is. Stop all nodes first; the source must have the schema of this version (arena
migrate). In the end all rows of both are compared and all settlements replayed:
when the command succeeds, set ARENA_DATABASE_URL to the copy and start. When it
fails, throw the copy away and try again with an empty database.

Other users of this machine can read command lines: leave the password
out of URLs and set PGPASSWORD, or use ~/.pgpass.

    arena migrate copy --from sqlite:arena.db --to postgres://arena@db/arena
    arena migrate copy --to sqlite:laptop.db`
}

// Run copies.
func (c *MigrateCopyCmd) Run(app *App) (err error) {
	cfg, err := c.Load(app)
	if err != nil {
		return err
	}
	from, to := cmp.Or(c.From, cfg.DatabaseURL), c.To
	if err := server.CheckDatabaseURL(from); err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if err := server.CheckDatabaseURL(to); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if from == to {
		return errors.New("--from and --to are the same database")
	}
	if !databaseExists(from) {
		return fmt.Errorf("there is no database %s", redact(from))
	}
	source, err := store.Open(app.Ctx, from, store.Options{Logger: app.Logger(cfg), Now: time.Now})
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	made := !databaseExists(to)
	target, err := store.Open(app.Ctx, to, store.Options{Logger: app.Logger(cfg), Now: time.Now})
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() {
		err = errors.Join(err, target.Close())
		if err != nil && made { // half a copy is of no use
			err = errors.Join(err, removeSQLite(to))
		}
	}()

	if err := source.CheckStopped(app.Ctx); err != nil { // later writes would be lost
		return err
	}
	began := time.Now()
	shown := &copyProgress{w: app.Stderr, terminal: cli.IsTerminal(app.Stderr), now: time.Now}
	report, err := store.Copy(app.Ctx, source, target, shown.show)
	shown.end()
	if err != nil {
		return err
	}
	return printCopy(app.Stdout, report, time.Since(began))
}

// removeSQLite removes a database file and what SQLite keeps beside it.
func removeSQLite(databaseURL string) error {
	file := strings.TrimPrefix(strings.TrimPrefix(databaseURL, "sqlite:"), "//")
	err := os.Remove(file)
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(file + suffix) // gone already when the last connection was closed well
	}
	return err
}

func printCopy(w io.Writer, report store.CopyReport, took time.Duration) error {
	var b strings.Builder
	var rows int64
	fmt.Fprintf(&b, "%12s  TABLE\n", "ROWS")
	for _, table := range report.Tables {
		rows += table.Rows
		fmt.Fprintf(&b, "%12d  %s\n", table.Rows, table.Name)
	}
	settlements := 0
	if len(report.Leagues) > 0 {
		fmt.Fprintf(&b, "\n%12s  %11s  %14s  %12s  LEAGUE\n", "RATED AGENTS", "SETTLEMENTS", "SUM OF RATINGS", "DRIFT")
		for _, l := range report.Leagues {
			settlements += l.Settlements
			fmt.Fprintf(&b, "%12d  %11d  %14s  %12s  %s\n", l.Agents, l.Settlements, elo(l.Sum), elo(l.Drift), l.League)
		}
	}
	fmt.Fprintf(&b, "\ncopied %d rows in %s; both databases hold the same\n%s\n",
		rows, took.Round(time.Millisecond), replayed(settlements, report.Differs))
	_, err := io.WriteString(w, b.String())
	return err
}

func elo(m arena.MilliElo) string {
	text, _ := m.MarshalJSON() // a number always encodes
	return string(text)
}

// copyProgress shows how far a copy has come: on a terminal as a bar that
// moves, elsewhere as a line for each table and, while a long one lasts, from
// time to time.
type copyProgress struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
	quiet    bool // elsewhere nothing is shown
	last     time.Time
	dirty    bool // the cursor stands behind a bar
}

const (
	barWidth  = 30
	lineEvery = 5 * time.Second
	barEvery  = 50 * time.Millisecond
)

func (p *copyProgress) show(at store.CopyProgress) {
	if p.quiet && !p.terminal {
		return
	}
	done := at.Done == at.Total
	now := p.now()
	every := lineEvery
	if p.terminal {
		every = barEvery
	}
	if !done && now.Sub(p.last) < every {
		return
	}
	p.last = now
	if !p.terminal {
		line := fmt.Sprintf("%s %s: %d of %d rows", at.Step, at.Table, at.Done, at.Total)
		if at.Table == "" {
			line = fmt.Sprintf("%s %d of %d", at.Step, at.Done, at.Total)
		}
		_, _ = fmt.Fprintln(p.w, line)
		return
	}
	filled := int(at.Done * barWidth / max(1, at.Total))
	bar := strings.Repeat("█", filled) + strings.Repeat("░", barWidth-filled)
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%-7s %-15s %s %d/%d", at.Step, at.Table, bar, at.Done, at.Total)
	p.dirty = true
}

// end leaves the bar's line.
func (p *copyProgress) end() {
	if p.dirty {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
	}
}
