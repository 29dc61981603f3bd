package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/agora-arena/arena/server"
)

// The exit codes, the same as in the arena command.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	server.TuneCollector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from the first signal on, a second one ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// commands is the table of subcommands, below the name under which the arena
// command offers them.
type commands struct {
	Bench BenchCmd `cmd:"" help:"Measure this machine and print the figures beside a bare baseline."`
}

// BenchCmd groups the benchmarks. cmd/arena lists those that are not hidden too.
type BenchCmd struct {
	All     BenchAllCmd     `cmd:"" help:"One table of the figures of the other benchmarks, beside the last release."`
	Curves  BenchCurvesCmd  `cmd:"" help:"Draw how the figures grow with the load."`
	Match   BenchMatchCmd   `cmd:"" help:"A round of many seats, many duels at once, or duels that wait: processor, memory, dispatch, time limits."`
	Start   BenchStartCmd   `cmd:"" help:"Time from scheduling a match to the first byte of its first task."`
	Stream  BenchStreamCmd  `cmd:"" help:"What an event costs for each spectator, beside a bare server."`
	Reads   BenchReadsCmd   `cmd:"" help:"What the reads of the pages take in a large database."`
	Events  BenchEventsCmd  `cmd:"" help:"From an agent to a spectator through the log, and events taken per second."`
	Polls   BenchPollsCmd   `cmd:"" help:"What agents cost that wait for tasks, beside a bare server."`
	Crowd   BenchCrowdCmd   `cmd:"" hidden:"" help:"The spectators of the benchmarks, in a process of their own."`
	Source  BenchSourceCmd  `cmd:"" hidden:"" help:"Another node of the benchmarks."`
	Agents  BenchAgentsCmd  `cmd:"" hidden:"" help:"The agents of the benchmarks, in a process of their own."`
	Soak    BenchSoakCmd    `cmd:"" help:"Spectators, honest and hostile agents at once, and what stays behind."`
	Hostile BenchHostileCmd `cmd:"" hidden:"" help:"The agents of bench soak, in a process of their own."`
	Ratings BenchRatingsCmd `cmd:"" help:"Processor time of replaying, fitting and settling ratings."`
}

// App is what a command gets from the outside world.
type App struct {
	Ctx    context.Context // ends with the first SIGINT or SIGTERM; here because a command is one call
	Stdin  io.Reader
	Stdout io.Writer // results
	Stderr io.Writer // progress and errors
}

// run is the program without its process, so that tests can call it. It
// returns the exit code: 0 ok, 1 the benchmark failed, 2 it was called wrongly.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	helped := false // kong prints help and calls Exit in the middle of Parse
	parser, err := kong.New(&commands{},
		kong.Name("arena"),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ShortUsageOnError(),
		kong.Bind(&App{Ctx: ctx, Stdin: stdin, Stdout: stdout, Stderr: stderr}),
	)
	if err != nil {
		return fail(stderr, exitFailure, fmt.Errorf("command table: %w", err))
	}
	call, err := parser.Parse(append([]string{"bench"}, args...))
	if helped {
		return exitOK
	}
	if err != nil {
		help := "arena bench --help"
		if parseErr, ok := errors.AsType[*kong.ParseError](err); ok && parseErr.Context.Selected() != nil {
			help = parseErr.Context.Selected().FullPath() + " --help"
		}
		return fail(stderr, exitUsage, fmt.Errorf("%w (see %q)", err, help))
	}
	if err := call.Run(); err != nil {
		return fail(stderr, exitFailure, fmt.Errorf("%s: %w", call.Command(), err))
	}
	return exitOK
}

// fail prints an error on one line per problem and returns the exit code.
func fail(w io.Writer, code int, err error) int {
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		_, _ = fmt.Fprintf(w, "arena: %s\n", strings.TrimSpace(line))
	}
	return code
}
