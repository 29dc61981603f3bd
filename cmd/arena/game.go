package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/script"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/league/game/playout"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/league/game/scripted"
	"github.com/agora-arena/arena/server"
)

// GameCmd is `arena game`.
type GameCmd struct {
	Check GameCheckCmd `cmd:"" help:"Play random games of a JavaScript file or of a built-in game, and report its faults."`
}

// GameCheckCmd is `arena game check`.
type GameCheckCmd struct {
	Game  string `arg:"" name:"file|name" help:"A JavaScript file, or the name of a game of the arena."`
	Games int    `default:"1000" placeholder:"N" help:"Random games to play, 1 to 1000000."`
	Seed  uint64 `placeholder:"N" help:"Seed of the first game: repeats a game that a report names."`
	JSON  bool   `name:"json" help:"Print the report as one JSON object."`
}

// Help describes the report.
func (c *GameCheckCmd) Help() string {
	return `Plays random games, half of them with random options, and makes every step twice.
Reports listed moves that are refused, texts that are read as moves that are not
listed, games that do not end, points out of range, steps that differ, faults with
their line and column, and the cost of a move. Exits with 1 when it finds a problem.

    arena game check nim.js
    arena game check connect_four --games 5000`
}

const maxCheckedGames = 1_000_000

// Run plays the games and prints the report.
func (c *GameCheckCmd) Run(app *App) (err error) {
	if c.Games < 1 || c.Games > maxCheckedGames {
		return fmt.Errorf("--games must be 1 to %d", maxCheckedGames)
	}
	pool, err := server.NewScripts(slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	report, err := c.check(app, pool)
	if fault, ok := errors.AsType[*rules.Fault](err); ok {
		return fmt.Errorf("%s: %w", c.Game, fault.Err)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		err = app.JSON(report)
	} else {
		err = printGameReport(app.Stdout, report)
	}
	if err == nil && !report.OK() {
		err = fmt.Errorf("%s: %d of the games that were played have problems", c.Game, report.Found)
	}
	return err
}

// check plays the games. It makes the rules twice, so that the second instance does
// not share the state that the first one keeps.
func (c *GameCheckCmd) check(app *App, pool *script.Pool) (*playout.Report, error) {
	var both [2]rules.Rules
	for i := range both {
		r, err := c.rules(app, pool)
		if err != nil {
			return nil, err
		}
		both[i] = r
	}
	began := app.Now()
	return playout.Check(app.Ctx, both[0], both[1], playout.Options{
		Games: c.Games, Seed: c.Seed, Clock: func() time.Duration { return app.Now().Sub(began) },
	})
}

func (c *GameCheckCmd) rules(app *App, pool *script.Pool) (rules.Rules, error) {
	source, err := readGameFile(c.Game)
	if err == nil {
		return scripted.New(app.Ctx, pool, source)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	games, err := catalog.New(pool, nil)
	if err != nil {
		return nil, err
	}
	r, err := games.Rules(app.Ctx, arena.GameSpec{Name: c.Game})
	if known, ok := errors.AsType[*arena.Error](err); ok && known.Code == arena.CodeInvalid {
		return nil, fmt.Errorf("there is no such file, and %s", known.Fields[0].Message)
	}
	return r, err
}

// readGameFile returns the source in a file.
func readGameFile(name string) (string, error) {
	f, err := os.Open(name) //nolint:gosec // G304: the file that the user names
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // read only
	source, err := io.ReadAll(io.LimitReader(f, scripted.MaxSource+1))
	if err == nil && len(source) > scripted.MaxSource {
		err = fmt.Errorf("%s has more than %d bytes", name, scripted.MaxSource)
	}
	return string(source), err
}

func printGameReport(w io.Writer, r *playout.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(label, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s:\t%s\n", label, fmt.Sprintf(format, args...))
	}
	line("game", "%s, version %s", r.Game, plaintext.Terminal(r.Version))
	line("games", "%d", r.Games)
	if r.Games > 0 {
		line("turns", "%.1f on average, at most %d", float64(r.Turns)/float64(r.Games), r.Longest)
	}
	if r.Most > 0 {
		line("legal moves", "%.1f on average, at most %d", r.Branches, r.Most)
	}
	line("largest state", "%d bytes", r.State)
	micro := func(d time.Duration) string {
		return strconv.FormatFloat(float64(d)/float64(time.Microsecond), 'f', 1, 64) + " µs"
	}
	line("cost of a move", "%s median, %s on average, at most %s", micro(r.Cost.Median), micro(r.Cost.Mean), micro(r.Cost.Most))
	if len(r.Points) > 0 {
		points := make([]string, len(r.Points))
		for i, p := range r.Points {
			points[i] = fmt.Sprintf("%.3f", p)
		}
		line("points by player", "%s", strings.Join(points, ", "))
	}
	for _, p := range r.Problems {
		line("problem", "%s", plaintext.Terminal(p.String()))
	}
	return t.Flush()
}
