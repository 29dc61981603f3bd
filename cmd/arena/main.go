package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/agora-arena/arena/arena/server"
	"github.com/agora-arena/arena/arena/token"
	"github.com/agora-arena/arena/internal/cli"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	server.TuneCollector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from the first signal on, a second one ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// commands is the table of subcommands. Each is a struct whose fields are its
// flags and arguments and whose Run does the work.
type commands struct {
	Demo    DemoCmd    `cmd:"" help:"Run a whole arena on this machine: leagues, demo agents, live matches."`
	Join    JoinCmd    `cmd:"" help:"Play in an arena from this machine: with a program, a language model or a local endpoint."`
	Serve   ServeCmd   `cmd:"" help:"Run the server: API, pages, matches, schedules, health checks."`
	Admin   AdminCmd   `cmd:"" help:"Run leagues, matches, agents, packs and ratings through the API."`
	Watch   WatchCmd   `cmd:"" help:"Follow a live match in this terminal."`
	MCP     MCPCmd     `cmd:"" name:"mcp" help:"Serve the arena's tools to a language model, over standard input and output."`
	Bench   BenchCmd   `cmd:"" help:"Measure this machine and print the figures beside a bare baseline."`
	Migrate MigrateCmd `cmd:"" help:"Bring the database to the schema of this version."`
	Backup  BackupCmd  `cmd:"" help:"Copy an SQLite database into a private file, while servers run."`
	Health  HealthCmd  `cmd:"" name:"healthcheck" help:"Ask the server of these settings whether it is ready; exit with 1 when it is not."`
	Config  ConfigCmd  `cmd:"" help:"Print or check the effective settings, secrets hidden."`
	Keys    KeysCmd    `cmd:"" help:"List or rotate the keys that sign task tokens."`
	Play    PlayCmd    `cmd:"" help:"Play a whole match between endpoints on this machine, without a server."`
	Replay  ReplayCmd  `cmd:"" help:"Show a match from a file in the browser, without a server."`
	Pack    PackCmd    `cmd:"" help:"Check files of tasks before they are imported."`
	Check   CheckCmd   `cmd:"" help:"Check an agent endpoint: health, tokens, deadlines, load, hard and hostile tasks."`
	Verify  VerifyCmd  `cmd:"" help:"Check the signed record of a match, without the arena."`
	Version VersionCmd `cmd:"" help:"Print the version of this binary."`

	Script ScriptWorkerCmd `cmd:"" name:"script-worker" hidden:"" help:"Run untrusted scripts that a server sends over standard input."`
}

// App is what a command gets from the outside world.
type App struct {
	cli.Process

	Exec func(program string, argv, environ []string) error // replaces this process
}

// Logger makes the logger that the settings ask for. It writes to Stderr.
func (a *App) Logger(c server.Config) *slog.Logger {
	opts := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == server.LogText || c.LogFormat == server.LogAuto && cli.IsTerminal(a.Stderr) {
		return slog.New(slog.NewTextHandler(a.Stderr, opts))
	}
	return slog.New(slog.NewJSONHandler(a.Stderr, opts))
}

// run is the program without its process, so that tests can call it. It
// returns the exit code: 0 ok, 1 the command failed, 2 it was called wrongly.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := &App{
		Process: cli.Process{Ctx: ctx, Environ: environ, Stdin: stdin, Stdout: stdout, Stderr: stderr, Now: time.Now},
		Exec:    syscall.Exec,
	}
	return app.run(args)
}

// run runs the command that args name.
func (a *App) run(args []string) int {
	var table commands
	table.Serve.Settings = settingFlags()
	table.Config.Settings = settingFlags()

	helped := false // kong prints help and calls Exit in the middle of Parse
	parser, err := kong.New(&table,
		kong.Name("arena"),
		kong.Description("A live arena for AI agents: they register an HTTP endpoint, play matches, spectators watch, ratings move."),
		kong.Writers(a.Stdout, a.Stderr),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ShortUsageOnError(),
		kong.Vars{"overlap": token.DefaultOverlap.String()},
		kong.Bind(a),
	)
	if err != nil {
		return fail(a.Stderr, "", fmt.Errorf("command table: %w", err))
	}
	if len(args) == 0 {
		_, _ = parser.Parse([]string{"--help"})
		return exitUsage
	}
	call, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		help := "arena --help"
		if parseErr, ok := errors.AsType[*kong.ParseError](err); ok && parseErr.Context.Selected() != nil {
			help = parseErr.Context.Selected().FullPath() + " --help"
		}
		_, _ = fmt.Fprintf(a.Stderr, "arena: %v (see %q)\n", err, help)
		return exitUsage
	}
	if err := call.Run(&table.Admin, placeOf(call.Command())); err != nil {
		return fail(a.Stderr, call.Command()+": ", err)
	}
	return exitOK
}

// fail prints an error, one line for each of its problems.
func fail(w io.Writer, command string, err error) int {
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		_, _ = fmt.Fprintf(w, "arena: %s%s\n", command, strings.TrimSpace(line))
	}
	return exitFailure
}
