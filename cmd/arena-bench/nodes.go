package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream"
	"github.com/agora-arena/arena/stream/bus"
	"github.com/agora-arena/arena/stream/ingest"
	"github.com/agora-arena/arena/stream/ws"
	"github.com/agora-arena/arena/visibility"
)

// BenchSourceCmd is `arena bench source`: a node whose events cross Redis.
type BenchSourceCmd struct {
	Redis string `required:"" help:"As ARENA_REDIS_URL."`
}

// sourceOrder makes the source publish events of a match, numbered from seq on.
type sourceOrder struct {
	Match string `json:"match"`
	Seq   int64  `json:"seq"`
	Count int    `json:"count"`
}

// noLog is the log of matches that have none.
type noLog struct{}

// Events returns nothing.
func (noLog) Events(context.Context, visibility.Log, int64, int) ([]arena.Event, error) {
	return nil, nil
}

// Run publishes what standard input orders, a JSON object each, until it ends,
// and answers each with a line.
func (c *BenchSourceCmd) Run(app *App) (err error) {
	log := slog.New(slog.DiscardHandler)
	b, err := bus.Open(c.Redis, bus.Options{Node: "nd_source", Now: time.Now, Logger: log, Join: stream.JoinMessages})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	clients := ws.NewClients(ws.Options{Now: time.Now})
	seats, err := ingest.NewSeats(ingest.Limits{})
	if err != nil {
		return err
	}
	hub := stream.NewHub(stream.Options{Source: noLog{}, Bus: b, Clients: clients, Seats: seats, Now: time.Now, Logger: log})
	orders := json.NewDecoder(app.Stdin)
	for {
		var o sourceOrder
		if err := orders.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read an order: %w", err)
		}
		for i := range o.Count { // one by one, as matches do
			hub.Publish(benchSlug, benchEvent(o.Match, o.Seq+int64(i)))
		}
		if _, err := fmt.Fprintln(app.Stdout); err != nil {
			return fmt.Errorf("answer an order: %w", err)
		}
	}
}

// nodesFigures are the figures of one node that publishes itself, and of the
// same node when the events come from another one.
type nodesFigures struct {
	Alone     serverFigures `json:"alone"`
	Receiving serverFigures `json:"receiving"`
}

// nodes measures a node that receives events over a Redis that it starts,
// beside one that makes them itself.
func (b *streamBench) nodes(app *App) (err error) {
	b.figures.Nodes = &nodesFigures{}
	alone, err := newBenchWorld(b.ctx, 1, "")
	if err != nil {
		return err
	}
	t, err := b.onArena(alone, alone.agents[0])
	if err == nil {
		err = b.server("a node alone", t, &b.figures.Nodes.Alone)
	}
	if err = errors.Join(err, alone.stop()); err != nil {
		return err
	}
	url, stop, err := startRedis(b.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	w, err := newBenchWorld(b.ctx, 1, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	if t, err = b.onArena(w, w.agents[0]); err != nil {
		return err
	}
	publish, stopSource, err := startSource(app, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopSource()) }()
	t.publish = func(events []arena.Event) error {
		return publish(sourceOrder{Match: t.match, Seq: events[0].Seq, Count: len(events)})
	}
	return b.server("a node that receives", t, &b.figures.Nodes.Receiving)
}

// freeAddress returns an address of this machine at which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	if err := l.Close(); err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	return l.Addr().String(), nil
}

// startRedis starts a redis-server that keeps nothing.
func startRedis(ctx context.Context) (url string, stop func() error, err error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return "", nil, err
	}
	_, port, _ := net.SplitHostPort(address)                                                                                   // an address that was just returned
	cmd := exec.CommandContext(ctx, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no") //nolint:gosec // our own port
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start redis-server: %w", err)
	}
	stop = func() error {
		_ = cmd.Process.Signal(os.Interrupt) // Wait returns the error
		_ = cmd.Wait()                       // it was interrupted
		return nil
	}
	for range 100 {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err == nil {
			return "redis://127.0.0.1:" + port, stop, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "", nil, errors.Join(errors.New("redis-server does not answer"), stop())
}

// startSource starts a node in another process.
func startSource(app *App, redis string) (publish func(sourceOrder) error, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(app.Ctx, self, "source", "--redis", redis) //nolint:gosec // this very program
	cmd.Stderr = app.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("start the source: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("start the source: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start the source: %w", err)
	}
	orders, answers := json.NewEncoder(stdin), bufio.NewReader(stdout)
	return func(o sourceOrder) error {
			if err := orders.Encode(o); err != nil {
				return fmt.Errorf("order events: %w", err)
			}
			_, err := answers.ReadString('\n')
			return err
		}, func() error {
			return errors.Join(stdin.Close(), cmd.Wait())
		}, nil
}

// nodesTable prints the figures of two nodes.
func (f *streamFigures) nodesTable() string {
	var s strings.Builder
	a, r := &f.Nodes.Alone, &f.Nodes.Receiving
	_, _ = fmt.Fprintf(&s, "\n%d spectators, %d processors: processor time of their node in µs per delivery · p99 ms\n\n  %-22s  %-16s  %-20s  %s\n",
		f.Spectators, f.CPUs, "", "20 events/s", "20 at once, 2 × /s", "as fast as it goes")
	for _, row := range []struct {
		name string
		f    *serverFigures
	}{{"alone", a}, {"receiving over Redis", r}} {
		_, _ = fmt.Fprintf(&s, "  %-22s  %6.2f · %-6.1f   %6.3f · %-6.1f      %7.4f (%.2f M/s)\n", row.name, row.f.Single.CPUMicros, row.f.Single.Delay.P99,
			row.f.Burst.CPUMicros, row.f.Burst.Delay.P99, row.f.Flat.CPUMicros, row.f.Flat.PerSecond/1e6)
	}
	_, _ = fmt.Fprintf(&s, "  %-22s  %6.2f            %6.2f                %6.2f\n", "ratio",
		r.Single.CPUMicros/a.Single.CPUMicros, r.Burst.CPUMicros/a.Burst.CPUMicros, r.Flat.CPUMicros/a.Flat.CPUMicros)
	return s.String()
}
