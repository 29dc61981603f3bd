package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/server"
)

const adminToken = "admin-token-of-the-simulation"

// world is everything in a bubble.
type world struct {
	t        *testing.T
	dir      string
	net      *network
	database *database
	exchange *exchange
	nodes    []*node
	agents   []*agent
	byID     map[string]*agent
	logs     slog.Handler
	log      *slog.Logger
	http     map[netip.Addr]*http.Client

	harsh atomic.Bool // there is a fault by which a node may lose its matches, or was a moment ago

	mu           sync.Mutex
	wrong        []wrongClock
	rand         *rand.Rand
	violations   []string
	began, ended time.Time           // of the play
	sightings    map[place]time.Time // of secrets
	lastCheck    time.Time           // of any agent's health
	withdrawals  []withdrawal
	living       context.Context //nolint:containedctx // of agents, which outlive those who watch them
	die          context.CancelFunc
	wg           sync.WaitGroup // of agents, spectators and owners
}

// node is one server, with its faults.
type node struct {
	w     *world
	addr  netip.Addr
	clock clock
	id    atomic.Pointer[string] // as the arena knows it
	*port

	mu     sync.Mutex
	server *server.Server // nil: it is down
	bus    *nodeBus
	stop   context.CancelFunc
	ended  chan error
}

func newWorld(t *testing.T, seed uint64, dir string, nodes int, logs slog.Handler) *world {
	t.Helper()
	d, err := newDatabase()
	must(t, err)
	w := &world{
		t: t, dir: dir, net: newNetwork(), database: d, exchange: newExchange(), logs: logs, log: slog.New(logs), byID: map[string]*agent{}, sightings: map[place]time.Time{}, http: map[netip.Addr]*http.Client{},
		rand: rand.New(rand.NewPCG(seed, 0)),
	}
	w.living, w.die = context.WithCancel(t.Context())
	for i := range nodes {
		n := &node{w: w, addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})}
		w.nodes = append(w.nodes, n)
		n.start()
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a node that is down.
func (n *node) start() {
	w := n.w
	n.port = &port{database: w.database}
	address := netip.AddrPortFrom(n.addr, 80).String()
	cfg, err := server.Load(server.Sources{Flags: map[string]string{
		"ARENA_ADDR": address, "ARENA_PUBLIC_URL": "http://" + address, "ARENA_METRICS_ADDR": "", "ARENA_ADMIN_TOKEN": adminToken,
		"ARENA_DATABASE_URL": "sqlite:" + filepath.Join(w.dir, "arena.db"), "ARENA_ALLOW_CIDRS": "10.1.0.0/16", "ARENA_ALLOW_CIDRS_FORCE": "1",
		"ARENA_HEALTH_INTERVAL": "60s", "ARENA_AUDIT_LEAGUES": "0", // audits open sockets
	}})
	must(w.t, err)
	s, err := server.New(w.t.Context(), cfg, slog.New(watcher{w.logs, n, n.port}).With("host", n.addr.String()), server.Options{
		NoLimits: true, ScheduleEvery: 15 * time.Second,
		World: server.World{
			Now: n.clock.now, SQLite: n.port.open, Listen: w.net.listen, Dial: w.net.dialer(n.addr),
			Bus: func(string) server.Bus { n.bus = w.exchange.join(); return n.bus },
		},
	})
	must(w.t, err)
	ctx, stop := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.server, n.stop, n.ended = s, stop, ended
}

// end ends a node: in order, or as a crash does, after which nothing of it reaches
// anyone.
func (n *node) end(crash bool) {
	n.mu.Lock()
	s := n.server
	n.server = nil
	n.mu.Unlock()
	if s == nil {
		return
	}
	if crash {
		n.port.down.Store(true)
		n.bus.interrupt(true)
		n.w.net.disconnect(n.addr)
	}
	n.stop()
	err := <-n.ended
	if crash {
		n.w.net.connect(n.addr)
	} else if err != nil {
		n.w.t.Errorf("node %s: %v", n.addr, err)
	}
}

func (w *world) close() {
	for _, n := range w.nodes {
		n.end(false)
	}
	w.die()
	for _, a := range w.agents {
		_ = a.server.Close() // it has no clients any more
	}
	w.wg.Wait()
	for _, c := range w.http {
		c.CloseIdleConnections()
	}
}

// The leagues.
const (
	duel  = "duel"
	cup   = "cup"
	night = "night"
	four  = "four"
	table = "table"
	rush  = "rush" // without a pace, with agents that night needs
)

// timetable is when a league starts something.
type timetable struct {
	league, zone string
	schedule     string // five fields of cron
	due          func(local time.Time) bool
}

func timetables() []timetable {
	return []timetable{
		{cup, "UTC", "15 * * * *", func(t time.Time) bool { return t.Minute() == 15 }},
		{night, "Europe/Berlin", "30 */2 * * *", func(t time.Time) bool { return t.Minute() == 30 && t.Hour()%2 == 0 }},
		{table, "America/New_York", "0 */12 * * *", func(t time.Time) bool { return t.Minute() == 0 && t.Hour()%12 == 0 }},
	}
}

// populate makes leagues, owners and agents through the API.
func (w *world) populate(ctx context.Context, agents int) error {
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, `{"description":"question %d","answer":"answer %d"}`+"\n", i, i)
	}
	var pack struct {
		ID string `json:"pack_id"`
	}
	admin := w.api(adminToken)
	if err := admin.Call(ctx, http.MethodPost, "/v1/packs?format=jsonl&name=questions", []byte(lines.String()), &pack); err != nil {
		return err
	}
	questions := func(slug, format string, more map[string]any) map[string]any {
		l := map[string]any{"slug": slug, "title": slug, "pack_id": pack.ID, "judge": "exact", "format": format, "rated": true, "rounds": 3, "time_limit_seconds": 5}
		maps.Copy(l, more)
		return l
	}
	leagues := []map[string]any{
		questions(duel, "ladder", map[string]any{"break_seconds": 2}),
		questions(cup, "swiss", map[string]any{"format_options": map[string]any{"rounds": 3, "forfeit_seconds": 60}}),
		questions(night, "elimination", map[string]any{"rounds": nil, "max_rounds": 5, "min_seats": 9, "max_seats": 16}),
		questions(table, "round_robin", map[string]any{"format_options": map[string]any{"forfeit_seconds": 60}}),
		{"slug": four, "title": four, "game": map[string]any{"name": "connect_four", "games_per_match": 2}, "format": "ladder", "rounds": nil, "time_limit_seconds": 5, "rated": true, "visibility": "sealed", "pace": map[string]any{"matches_per_day": 6, "pause_seconds": 600}},
	}
	var slugs []string
	for _, l := range leagues {
		for _, t := range timetables() {
			if t.league == l["slug"] {
				l["schedule"] = "CRON_TZ=" + t.zone + " " + t.schedule
			}
		}
		if err := admin.Call(ctx, http.MethodPost, "/v1/leagues", l, nil); err != nil {
			return err
		}
		slugs = append(slugs, l["slug"].(string))
	}
	paceless := questions(rush, "ladder", map[string]any{"rounds": 5, "break_seconds": 60, "pace": map[string]any{"matches_per_day": 0, "pause_seconds": 0, "unrated_filler": true}})
	if err := admin.Call(ctx, http.MethodPost, "/v1/leagues", paceless, nil); err != nil {
		return err
	}
	var farm string // the token of the owner of all farmers
	for i := range agents {
		a := w.newAgent(i)
		w.agents = append(w.agents, a)
		owner := farm
		if a.manner != farmer || farm == "" {
			var made struct{ Token string }
			if err := admin.As("").Call(ctx, http.MethodPost, "/v1/owners", map[string]any{"name": fmt.Sprintf("owner %d", i)}, &made); err != nil {
				return err
			}
			owner = made.Token
		}
		if a.manner == farmer {
			farm = owner
		}
		enters := slices.Compact([]string{slugs[i%len(slugs)], slugs[i/len(slugs)%len(slugs)]})
		if enters[0] == night {
			enters = append(enters, rush)
		}
		if err := a.register(ctx, owner, enters); err != nil {
			return err
		}
		w.byID[a.id] = a
		if a.pulls {
			w.wg.Go(func() { a.fetch(w.living) })
		}
	}
	for _, slug := range append(slugs, rush) {
		if err := admin.Call(ctx, http.MethodPost, "/v1/leagues/"+slug+"/start", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// settle ends all leagues and waits until no match is open.
func (w *world) settle(ctx context.Context) error {
	for _, slug := range []string{duel, cup, night, four, table, rush} {
		if err := w.api(adminToken).Call(ctx, http.MethodPost, "/v1/leagues/"+slug+"/pause", nil, nil); err != nil {
			return err
		}
	}
	for range 120 {
		pause(ctx, 10*time.Second)
		var list struct {
			Items []any `json:"items"`
		}
		if err := w.api(adminToken).Call(ctx, http.MethodGet, "/v1/matches?status=scheduled,ready,running&limit=100", nil, &list); err == nil && len(list.Items) == 0 {
			return nil
		}
	}
	return nil // check reports the matches that are open
}

// broken notes a violation.
func (w *world) broken(rule, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.violations) < 20 {
		w.violations = append(w.violations, "invariant "+rule+": "+fmt.Sprintf(format, args...))
	}
}

// checked notes that the arena has checked the health of an agent, as it does every minute.
func (w *world) checked() {
	w.mu.Lock()
	silent := time.Since(w.lastCheck)
	first := w.lastCheck.IsZero()
	w.lastCheck = time.Now()
	w.mu.Unlock()
	if silent > longestSilence && !first {
		w.broken("C7", "no agent was checked for %v until %v", silent, time.Now().UTC())
	}
}

// longestSilence is longer than any fault that stops all nodes.
const longestSilence = 8 * time.Minute

// intn returns a random number below n.
func (w *world) intn(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rand.IntN(n)
}

// client returns an HTTP client with an address of its own.
func (w *world) client(from netip.Addr) *http.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.http[from] == nil {
		w.http[from] = &http.Client{Transport: &http.Transport{DialContext: w.net.dialer(from)}, Timeout: 30 * time.Second}
	}
	return w.http[from]
}

// api returns a client for the API of some node that is up.
func (w *world) api(token string) *apiclient.Client {
	at := w.nodes[w.intn(len(w.nodes))]
	return &apiclient.Client{Base: fmt.Sprintf("http://%s:80", at.addr), Token: token, HTTP: w.client(netip.AddrFrom4([4]byte{10, 2, 0, 1}))}
}
