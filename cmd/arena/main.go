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

	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/server"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from the first signal on, a second one ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// commands is the table of subcommands. Each is a struct whose fields are its
// flags and arguments and whose Run does the work.
type commands struct {
	Join    JoinCmd        `cmd:"" group:"play" help:"Play in an arena from this machine: with a program, a language model or a local endpoint."`
	Login   cli.LoginCmd   `cmd:"" group:"play" help:"Log in to an arena."`
	Logout  cli.LogoutCmd  `cmd:"" group:"play" help:"Remove a stored login."`
	Context cli.ContextCmd `cmd:"" group:"play" help:"List, choose and remove stored logins."`
	Agent   cli.AgentCmd   `cmd:"" group:"play" help:"Register agents, read their logs, pause, rehearse and challenge."`
	Watch   WatchCmd       `cmd:"" group:"play" help:"Follow a live match in this terminal."`
	Export  ExportCmd      `cmd:"" group:"play" help:"Write the public data of a league into files."`
	MCP     MCPCmd         `cmd:"" group:"play" name:"mcp" help:"Serve the arena's tools to a language model, over standard input and output."`

	Check  CheckCmd  `cmd:"" group:"test" help:"Check an agent endpoint: health, tokens, deadlines, load, hard and hostile tasks."`
	Play   PlayCmd   `cmd:"" group:"test" help:"Play a whole match between endpoints on this machine, without a server."`
	Duel   DuelCmd   `cmd:"" group:"test" help:"Test whether a new agent is better than an old one, without a server."`
	Eval   EvalCmd   `cmd:"" group:"test" help:"Evaluate an agent in the matches of a league, without a server."`
	Replay ReplayCmd `cmd:"" group:"test" help:"Show a match from a file in the browser, without a server."`
	Pack   PackCmd   `cmd:"" group:"test" help:"Check files of tasks before they are imported."`
	Game   GameCmd   `cmd:"" group:"test" help:"Check the rules of games with random games."`
	Verify VerifyCmd `cmd:"" group:"test" help:"Check the signed record of a match, or the table of a league, without the arena."`

	Demo    DemoCmd    `cmd:"" group:"run" help:"Run a whole arena on this machine: leagues, demo agents, live matches."`
	Serve   ServeCmd   `cmd:"" group:"run" help:"Run the server: API, pages, matches, schedules, health checks."`
	Admin   AdminCmd   `cmd:"" group:"run" help:"Run leagues, matches, agents, packs and ratings through the API."`
	Audit   AuditCmd   `cmd:"" group:"run" help:"Have cheats play on a copy of a league, and publish what they got."`
	Migrate MigrateCmd `cmd:"" group:"run" help:"Bring the database to the schema of this version."`
	Backup  BackupCmd  `cmd:"" group:"run" help:"Copy the whole arena to a file, a folder or a bucket, while servers run."`
	Restore RestoreCmd `cmd:"" group:"run" help:"Fill an empty database from a backup."`
	Health  HealthCmd  `cmd:"" group:"run" name:"healthcheck" help:"Ask the server of these settings whether it is ready; exit with 1 when it is not."`
	Config  ConfigCmd  `cmd:"" group:"run" help:"Print or check the effective settings, secrets hidden."`
	Keys    KeysCmd    `cmd:"" group:"run" help:"List or rotate the keys that sign task tokens."`
	Bench   BenchCmd   `cmd:"" group:"run" help:"Measure this machine and print the figures beside a bare baseline."`

	Completion cli.CompletionCmd `cmd:"" group:"more" help:"Print the completion script of a shell."`
	Version    VersionCmd        `cmd:"" group:"more" help:"Print the version of this binary."`

	Complete    cli.CompleteCmd  `cmd:"" group:"more" name:"__complete" hidden:"" passthrough:"" help:"Print the candidates for a word of the command line."`
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version of this binary."`

	Script ScriptWorkerCmd `cmd:"" group:"more" name:"script-worker" hidden:"" help:"Run untrusted scripts that a server sends over standard input."`
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
		Exec:    cli.Exec,
	}
	return app.run(args)
}

// run runs the command that args name.
func (a *App) run(args []string) int {
	var table commands
	table.Serve.Settings = settingFlags()
	table.Config.Settings = settingFlags()

	helped := false // kong prints help or version and calls Exit in the middle of Parse
	parser, err := kong.New(&table,
		kong.Name("arena"),
		kong.Description("A live arena for AI agents: they register an HTTP endpoint, play matches, spectators watch, ratings move."),
		kong.Writers(a.Stdout, a.Stderr),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Help(cli.PrintHelp),
		kong.ShortUsageOnError(),
		kong.Vars{"overlap": token.DefaultOverlap.String(), "version": readBuildInfo().String()},
		kong.ExplicitGroups([]kong.Group{
			{Key: "play", Title: "Play and watch:"}, {Key: "test", Title: "Test agents and files:"}, {Key: "run", Title: "Run an arena:"}, {Key: "more", Title: "More:"},
		}),
		kong.Bind(a, &a.Process, cli.Watcher(a.watch)),
	)
	if err != nil {
		return fail(a.Stderr, "", fmt.Errorf("command table: %w", err))
	}
	if len(args) == 0 {
		if err := cli.PrintShortHelp(&a.Process, parser.Model, firstCommands()...); err != nil {
			return fail(a.Stderr, "", err)
		}
		return exitOK
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
		code := exitFailure
		if e, ok := errors.AsType[*exitError](err); ok {
			if code, err = e.code, e.err; err == nil {
				return code
			}
		}
		fail(a.Stderr, strings.TrimPrefix(call.Selected().Path(), "arena ")+": ", err)
		return code
	}
	return exitOK
}

// exitError ends the program with a code that a command has for a result of its own.
type exitError struct {
	code int
	err  error // nil: the command has printed its result
}

// Error returns the error, or the code.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the error.
func (e *exitError) Unwrap() error { return e.err }

// firstCommands returns the commands that most users need first.
func firstCommands() []cli.Example {
	return []cli.Example{
		{Line: "arena demo", Help: "run a whole arena on this machine"},
		{Line: "arena join URL --exec CMD", Help: "play in an arena with a program of yours"},
		{Line: "arena check URL", Help: "check an agent endpoint"},
		{Line: "arena login URL", Help: "log in, to work on your agents with arena agent"},
		{Line: "arena watch lobby", Help: "follow the next match in this terminal"},
	}
}

// fail prints an error, one line for each of its problems. A server may have
// written parts of it.
func fail(w io.Writer, command string, err error) int {
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		_, _ = fmt.Fprintf(w, "arena: %s%s\n", command, plaintext.Terminal(line))
	}
	return exitFailure
}
