package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	duration   time.Duration
	seeds      int
	seed       uint64
	db         string
	redis      bool
	nodes      int
	agents     int
	spectators int
	arena      string // binary; "" builds it
	race       bool
	folder     string
	keep       bool
	verbose    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	if err := soak(ctx, o, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "chaos: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("chaos", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.DurationVar(&o.duration, "duration", 90*time.Second, "how long the nemesis works, per seed")
	f.IntVar(&o.seeds, "seeds", 1, "number of runs, one after another")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the first run; the next ones count up")
	f.StringVar(&o.db, "db", "postgres", "postgres (three nodes) or sqlite (one node)")
	f.BoolVar(&o.redis, "redis", true, "with postgres: give the nodes a Redis")
	f.IntVar(&o.nodes, "nodes", 3, "with postgres: nodes")
	f.IntVar(&o.agents, "agents", 60, "agents; one in six is hostile")
	f.IntVar(&o.spectators, "spectators", 200, "WebSocket clients that write down what they see")
	f.StringVar(&o.arena, "arena", "", "the binary; empty: built from the main module, which must be the working directory's")
	f.BoolVar(&o.race, "race", false, "build the binary with the race detector")
	f.StringVar(&o.folder, "folder", "", "where logs and data go; empty: a temporary folder")
	f.BoolVar(&o.keep, "keep", false, "keep the folder of a run without violations too")
	f.BoolVar(&o.verbose, "v", false, "print each fault as it happens")
	if err := f.Parse(args); err != nil {
		return o, err //nolint:wrapcheck // printed by flag already
	}
	if o.db == "sqlite" {
		o.nodes, o.redis = 1, false
	}
	var err error
	switch {
	case o.db != "postgres" && o.db != "sqlite":
		err = fmt.Errorf("-db %q is neither postgres nor sqlite", o.db)
	case o.seeds < 1 || o.nodes < 1 || o.agents < 12 || o.spectators < 0 || o.duration <= 0:
		err = errors.New("-seeds and -nodes must be at least 1, -agents at least 12, -duration above 0")
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "chaos: %v\n", err)
	}
	return o, err
}

// soak runs one seed after another.
func soak(ctx context.Context, o options, stdout io.Writer) error {
	if o.folder == "" {
		dir, err := os.MkdirTemp("", "arena-chaos-")
		if err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		o.folder = dir
	} else if err := os.MkdirAll(o.folder, 0o755); err != nil { //nolint:gosec // G301: the database's user must pass through it
		return fmt.Errorf("make folder: %w", err)
	}
	if err := os.Chmod(o.folder, 0o755); err != nil { //nolint:gosec // G302: the database's user must pass through it
		return fmt.Errorf("open folder: %w", err)
	}
	if o.arena == "" {
		o.arena = filepath.Join(o.folder, "arena")
		if err := build(ctx, o); err != nil {
			return err
		}
	}
	var total totals
	for i := range o.seeds {
		seed := o.seed + uint64(i)
		dir := filepath.Join(o.folder, fmt.Sprintf("seed-%d", seed))
		r := newRun(o, seed, dir, stdout)
		report, err := r.run(ctx)
		if err != nil {
			return fmt.Errorf("seed %d: %w (kept: %s)", seed, err, dir)
		}
		report.print(stdout)
		total.add(report)
		if len(report.violations) == 0 && !o.keep {
			_ = os.RemoveAll(dir) // a temporary folder
		}
	}
	total.print(stdout)
	if total.violations > 0 {
		return fmt.Errorf("%d violations; logs and data are in %s", total.violations, o.folder)
	}
	if !o.keep {
		_ = os.RemoveAll(o.folder)
	}
	return nil
}

// build compiles the arena. The pages are not needed.
func build(ctx context.Context, o options) error {
	args := []string{"build", "-tags", "nomsgpack", "-o", o.arena}
	env := append(os.Environ(), "CGO_ENABLED=0")
	if o.race {
		args = append(args, "-race")
		env = append(env, "CGO_ENABLED=1")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/agora-arena/arena/cmd/arena")...) //nolint:gosec // G204: fixed words and our own folder
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the arena: %w\n%s", err, out)
	}
	return nil
}
