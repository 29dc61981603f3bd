package main

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // G505: RFC 6455 asks for it
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	rtmetrics "runtime/metrics"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/server"
)

// benchWorld is a whole server whose matches the bench itself conducts: its
// runner does not run, everything else does.
type benchWorld struct {
	*benchNode
	dir    string
	agents []string
	stop   func() error
}

const benchSlug = "bench"

func newBenchWorld(ctx context.Context, agents int, redis string) (_ *benchWorld, err error) {
	w := &benchWorld{}
	if w.dir, err = os.MkdirTemp("", "arena-bench-"); err != nil {
		return nil, fmt.Errorf("folder for the database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(w.dir))
		}
	}()
	if w.benchNode, err = newBenchNode(ctx, map[string]string{
		"ARENA_ADDR": "127.0.0.1:0", "ARENA_METRICS_ADDR": "", "ARENA_ALLOW_CIDRS": "127.0.0.0/8",
		"ARENA_DATABASE_URL": "sqlite:" + filepath.Join(w.dir, "arena.db"), "ARENA_HEALTH_INTERVAL": "1h",
		"ARENA_REDIS_URL": redis, "ARENA_SPECTATORS": "1000000", "ARENA_EVENT_RATE": "1000/s", "ARENA_EVENT_BURST": "10000", "ARENA_EVENT_MAX": "100000",
	}, server.Options{Passive: true}); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- w.Run(running) }()
	w.stop = func() error {
		stop()
		return errors.Join(<-served, os.RemoveAll(w.dir))
	}
	return w, w.people(ctx, agents)
}

// people makes a league and agents.
func (w *benchWorld) people(ctx context.Context, agents int) error {
	now := time.Now().UTC()
	for i := range agents {
		o := arena.Owner{ID: arena.NewID("ow_", now), Name: fmt.Sprintf("owner %d", i), CreatedAt: now}
		t := arena.Token{ID: arena.NewID(arena.TokenPrefix, now), OwnerID: o.ID, Scope: arena.ScopeOwner, CreatedAt: now}
		copy(t.Hash[:], t.ID)
		if err := w.Store.Accounts.CreateOwner(ctx, o, t); err != nil {
			return err
		}
		a := arena.Agent{
			ID: arena.NewID("ag_", now), OwnerID: o.ID, OwnerName: o.Name, Name: fmt.Sprintf("agent %d", i), Protocol: "aap",
			Endpoint: fmt.Sprintf("http://127.0.0.1:9/%d", i), CreatedAt: now,
		}
		if err := w.Store.Agents.CreateAgent(ctx, a); err != nil {
			return err
		}
		w.agents = append(w.agents, a.ID)
	}
	return w.Store.Leagues.CreateLeague(ctx, arena.League{Slug: benchSlug, Title: "Bench", Status: arena.LeagueOpen, Settings: benchSettings(), CreatedAt: now})
}

func benchSettings() arena.Settings {
	return arena.Settings{
		Format: arena.FormatElimination, Generator: &arena.GeneratorSpec{Name: "arithmetic"}, Judge: arena.JudgeSpec{Kind: arena.JudgeNumber},
		Rounds: 1, TimeLimit: time.Hour, MinSeats: 1, MaxSeats: 128, Visibility: arena.VisibilityLive, ScoreMode: arena.ScoreMatch,
	}
}

// match makes a match of agents with an open round, and returns its id and the
// last seq of its log. An agent plays one match at a time.
func (w *benchWorld) match(ctx context.Context, agents ...string) (id string, seq int64, err error) {
	now := time.Now().UTC()
	m := arena.Match{
		ID: arena.NewID("m_", now), League: benchSlug, Status: arena.MatchScheduled, Settings: benchSettings(), CreatedAt: now, StartsAt: now,
	}
	for i, a := range agents {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: a, State: arena.SeatActive})
	}
	e := arena.Event{At: now, Type: arena.EventMatchScheduled, Body: json.RawMessage(`{}`)}
	if _, err := w.Store.Matches.CreateMatch(ctx, m, e); err != nil {
		return "", 0, err
	}
	claimed, err := w.Store.Matches.ClaimMatches(ctx, w.Node, time.Hour, 1, nil)
	if err != nil || len(claimed) != 1 {
		return "", 0, errors.Join(errors.New("the match cannot be claimed"), err)
	}
	m = claimed[0]
	e.Type = arena.EventMatchStarted
	if _, err := w.Store.Matches.StartMatch(ctx, m.Lease, m.Seats, now, nil, []arena.Event{e}); err != nil {
		return "", 0, err
	}
	e.Type, e.Round = arena.EventRoundStarted, 1
	r := arena.Round{No: 1, OpenedAt: now, Task: arena.Task{Description: "2+2?", Answers: []string{"4"}}}
	stored, err := w.Store.Matches.OpenRound(ctx, m.Lease, r, []arena.Event{e})
	if err != nil {
		return "", 0, err
	}
	return m.ID, stored[len(stored)-1].Seq, nil
}

// profiled runs f and writes a profile of its processor time to a file; ""
// writes none.
func profiled(file string, f func() error) (err error) {
	if file == "" {
		return f()
	}
	out, err := os.Create(file) //nolint:gosec // G304: the user names the file
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := pprof.StartCPUProfile(out); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return f()
}

// heapProfile writes a profile of the objects of this process to a file; ""
// writes none.
func heapProfile(file string) (err error) {
	if file == "" {
		return nil
	}
	out, err := os.Create(file) //nolint:gosec // G304: the user names the file
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return pprof.Lookup("heap").WriteTo(out, 0)
}

// memoryUsed returns the memory of this process in bytes, after it has released
// everything that it can.
func memoryUsed() int64 {
	for range 3 { // stacks and what finalizers free take more than one round
		debug.FreeOSMemory()
	}
	return heldMemory()
}

// heldMemory returns the memory that Go holds in this process, in bytes.
func heldMemory() int64 {
	s := []rtmetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	rtmetrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64()) //nolint:gosec // G115: far below 2^63
}

// liveMemory returns what the last collection left, in bytes.
func liveMemory() uint64 {
	s := []rtmetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	rtmetrics.Read(s)
	return s[0].Value.Uint64()
}

// bareStream does the least that a server of WebSockets can do: one write for
// each event and connection, and a goroutine that reads.
type bareStream struct {
	listener net.Listener
	serving  sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
	written  atomic.Uint64
}

func newBareStream(ctx context.Context) (*bareStream, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	b := &bareStream{listener: l}
	b.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.serving.Go(func() { b.serve(c) })
		}
	})
	return b, nil
}

func (b *bareStream) url() string { return "http://" + b.listener.Addr().String() }

func (b *bareStream) close() error {
	err := b.listener.Close()
	b.mu.Lock()
	for _, c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.serving.Wait()
	return err
}

func (b *bareStream) serve(c net.Conn) {
	leave := func() { _ = c.Close() } // the peer has left
	in := bufio.NewReader(c)
	r, err := http.ReadRequest(in)
	if err != nil {
		leave()
		return
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // G401: RFC 6455 asks for it
	_, err = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	if err != nil {
		leave()
		return
	}
	if strings.HasSuffix(r.URL.Path, "/talk") {
		b.relay(in)
		leave()
		return
	}
	b.mu.Lock()
	b.conns = append(b.conns, c)
	b.mu.Unlock()
	b.serving.Go(func() { // with a small stack and a small buffer
		buf := make([]byte, 512)
		for {
			if _, err := c.Read(buf); err != nil {
				leave()
				return
			}
		}
	})
}

// publish writes an event to all clients.
func (b *bareStream) publish(text []byte) {
	frame := binary.BigEndian.AppendUint16([]byte{0x81, 126}, uint16(len(text))) //nolint:gosec // G115: far below 64 KiB
	frame = append(frame, text...)
	b.mu.Lock()
	defer b.mu.Unlock()
	var wg sync.WaitGroup
	share := (len(b.conns) + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	for from := 0; from < len(b.conns); from += share {
		wg.Go(func() {
			for _, c := range b.conns[from:min(from+share, len(b.conns))] {
				_, _ = c.Write(frame) // a peer that has left is of no interest
			}
		})
	}
	wg.Wait()
	b.written.Add(uint64(len(b.conns)))
}

// relay writes the events of an agent to all clients as they come.
func (b *bareStream) relay(in *bufio.Reader) {
	var head [8]byte
	text := make([]byte, 1<<16)
	for seq := int64(1); ; seq++ {
		if _, err := io.ReadFull(in, head[:]); err != nil || head[0] != 0x81 {
			return
		}
		n := int(binary.BigEndian.Uint16(head[2:]))
		if _, err := io.ReadFull(in, text[:n]); err != nil {
			return
		}
		b.publish(fmt.Appendf(nil, `{"seq":%d,%s`, seq, text[1:n]))
	}
}
