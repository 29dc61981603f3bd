package server

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/account"
	"github.com/agora-arena/arena/api"
	"github.com/agora-arena/arena/api/card"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/internal/certs"
	"github.com/agora-arena/arena/internal/download"
	"github.com/agora-arena/arena/internal/mail"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/internal/script"
	"github.com/agora-arena/arena/internal/telemetry"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/judge"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/match/vote"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/aap/pull"
	"github.com/agora-arena/arena/protocol/agentprotocol"
	"github.com/agora-arena/arena/protocol/envelope/relay"
	"github.com/agora-arena/arena/registry"
	"github.com/agora-arena/arena/sdk"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/stream"
	"github.com/agora-arena/arena/stream/bus"
	"github.com/agora-arena/arena/stream/ingest"
	"github.com/agora-arena/arena/stream/ws"
	"github.com/agora-arena/arena/visibility"
)

// Server is one node of an arena.
type Server struct {
	cfg  Config
	log  *slog.Logger
	node string
	now  func() time.Time

	startedAt time.Time
	lastError *lastError
	writes    *writeProbe
	ticks     tickWatch
	proxies   proxyWatch
	url       string // public
	opts      Options

	adminToken    string // known in clear text: given or just made
	newAdminToken string // just made

	store     *store.Store
	visible   *visibility.Reader
	keys      *token.Keys
	ofMatch   *token.MatchTokens // used with TokensMatch
	bus       Bus                // nil: this node is alone
	clients   *ws.Clients
	seats     *ingest.Seats
	hub       *stream.Hub
	events    *ingest.Receiver
	metrics   *metrics
	telemetry *telemetry.Exporter // nil: nothing is exported
	client    *protocol.Client
	crawler   *protocol.Client // of rehearsals, over a slow network
	protocols protocols
	inbound   map[string]inbound // by protocol
	signed    *agentprotocol.Server
	pulls     *pull.Hub
	tasks     *pull.Server
	mailer    *mail.Mailer // nil: no mail
	pauses    *registry.Pauses
	runner    *engine.Engine
	network   *health.Network
	sweeper   *health.Sweeper
	scheduler *league.Scheduler
	ops       *services
	scripts   *script.Pool
	judges    *judge.Judges
	games     *catalog.Catalog
	relay     *relay.Server
	api       *api.API

	certs *certs.Certificates // nil: no TLS

	listener, plainListener, privateListener net.Listener
	public, plain, private                   *http.Server // plain redirects to TLS
	draining                                 atomic.Bool
	drainRequested                           chan struct{}
	drain                                    func()         // closes drainRequested
	wg                                       sync.WaitGroup // listeners
}

// Options are what the caller of New decides beside the settings.
type Options struct {
	Version string // of the program, for the API and the other nodes; "": devel

	// What arena demo, arena play and the benchmarks do differently.
	NoLimits         bool                           // requests are not counted by address
	Spectators       int                            // per address; 0: the setting
	LadderPause      time.Duration                  // 0: the scheduler's own
	EliminationPause time.Duration                  // 0: the scheduler's own
	ScheduleEvery    time.Duration                  // between two looks of the scheduler; 0: a second
	RateLimitPause   time.Duration                  // 0: that of the rules
	Drivers          func(map[string]engine.Driver) // wraps the drivers of the matches; may be nil
	TrustKeys        bool                           // agents need not prove their keys
	Identity         ed25519.PrivateKey             // that signs the arena's messages; nil: the one in the database
	QuietRequests    bool                           // requests are logged at the level debug
	RelayDev         bool                           // the relay seeds itself on demand, and every key may post
	Passive          bool                           // Run serves, but plays no matches and runs no jobs: the caller does
	Seeds            mrand.Source                   // of the matches that admins create; nil: one that cannot be predicted

	World World
}

// World is what a node runs in. Programs leave it zero, which is the real one;
// simulations replace all of it.
type World struct {
	Now    func() time.Time // with a monotonic reading, as time.Now has; nil: time.Now
	SQLite store.Connect    // nil: the file of the settings
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) // to agents; addresses are literal
	Bus    func(node string) Bus                                                // nil: Redis, if the settings name one
}

// Bus carries notifications and shared quotas between the nodes of an arena.
type Bus interface {
	stream.Bus
	Wake() // makes the other nodes claim due matches
	Woken() <-chan struct{}
	Take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, ok bool, err error)
	Stats() bus.Stats
	Close() error
}

// ConnsPerHost lets two whole rounds of 128 seats run against agents that
// share one host and port, as on a hosting platform.
const ConnsPerHost = 256

// New makes the parts in the order in which they need each other. It
// listens, but answers nothing before Run.
func New(ctx context.Context, cfg Config, log *slog.Logger, opts Options) (_ *Server, err error) {
	s := &Server{
		cfg: cfg, opts: opts, now: opts.World.Now, lastError: &lastError{}, drainRequested: make(chan struct{}),
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.startedAt = s.now()
	s.node = arena.NewID(arena.NodePrefix, s.startedAt)
	log = slog.New(s.lastError.of(log.Handler()))
	s.log = log
	s.drain = sync.OnceFunc(func() { close(s.drainRequested) })
	defer func() {
		if err != nil {
			_ = s.Close() // err is the error to return
		}
	}()
	for _, w := range cfg.Warnings() {
		log.Warn("unsafe setting", "setting", w.Key, "warning", w.Text)
	}
	if !strings.HasPrefix(cfg.Backup.To, scheme) { // a bucket may take long to answer
		if err := cfg.checkBackups(ctx); err != nil {
			log.Warn("no backup will be made: the arena's user cannot write to the folder of ARENA_BACKUP_TO", "error", err)
		}
	}
	if s.store, err = store.Open(ctx, cfg.DatabaseURL, store.Options{Logger: log, Now: s.now, SQLite: opts.World.SQLite, Shared: cfg.sharedNetworks()}); err != nil {
		return nil, err
	}
	s.writes = newWriteProbe(s.heartbeat, s.now)
	if err = s.store.Lock(ctx); err != nil {
		return nil, err
	}
	if err = s.store.Migrate(ctx); err != nil {
		return nil, err
	}
	if err = s.ensureAdmin(ctx); err != nil {
		return nil, err
	}
	if err = s.listen(ctx); err != nil {
		return nil, err
	}
	if err = s.connect(ctx); err != nil {
		return nil, err
	}
	quotas := s.newQuotas()
	streams := s.newStreams(quotas.Streams)
	out, err := s.newOutbound(ctx)
	if err != nil {
		return nil, err
	}
	rescorer, err := s.newEngine(quotas)
	if err != nil {
		return nil, err
	}
	services, err := s.newServices(ctx, out, quotas, rescorer)
	if err != nil {
		return nil, err
	}
	s.ops = services
	if err = s.newInbound(out, services); err != nil {
		return nil, err
	}
	return s, s.newAPI(ctx, streams, services)
}

// ensureAdmin makes the given admin token known, or makes one when the arena
// has none at all.
func (s *Server) ensureAdmin(ctx context.Context) (err error) {
	var created bool
	s.adminToken, created, err = account.EnsureAdmin(ctx, s.store, s.cfg.AdminToken, s.now())
	if created {
		s.newAdminToken = s.adminToken
	}
	return err
}

// connect makes the signing keys, the bus, the hub with its clients and seats, the
// metrics and what exports them.
func (s *Server) connect(ctx context.Context) (err error) {
	if s.keys, err = token.New(ctx, token.Options{
		Store: s.store.Keys, Issuer: s.url, Alg: s.cfg.JWTAlg, Now: s.now, Logger: s.log,
	}); err != nil {
		return err
	}
	s.ofMatch = token.NewMatchTokens(s.keys)
	s.visible = visibility.NewReader(s.store.Matches, s.now)
	if err = s.newMailer(); err != nil {
		return err
	}
	s.clients = ws.NewClients(ws.Options{Max: s.cfg.Spectators, Now: s.now})
	if s.seats, err = ingest.NewSeats(ingest.Limits{Rate: float64(s.cfg.EventRate), Burst: s.cfg.EventBurst, Events: s.cfg.EventMax}); err != nil {
		return err
	}
	hub := stream.Options{Source: s.visible, Clients: s.clients, Seats: s.seats, Now: s.now, Logger: s.log}
	if err = s.openBus(); err != nil {
		return err
	}
	if s.bus != nil {
		hub.Bus = s.bus
	}
	s.hub = stream.NewHub(hub)
	s.metrics = newMetrics(s.hub.Stats, s.seats.Stats, s.store.Operations.Counts)
	s.metrics.watchArchives(s.store.Matches.ArchiveCache)
	s.metrics.watchStore(s.store.ErrorStats)
	s.metrics.registry.MustRegister(backupCollector{s.store.LastBackup, s.cfg.backupOverdue(), s.now}, diskCollector{s.cfg.folders()}, tickCollector{s.tickAge})
	if s.certs != nil {
		s.metrics.watchCertificates(s.certs.Expires)
	}
	if s.bus != nil {
		s.metrics.watchBus(s.bus.Stats)
	}
	return s.newTelemetry(ctx)
}

// openBus connects this node to the others, if there are any.
func (s *Server) openBus() error {
	switch {
	case s.opts.World.Bus != nil:
		s.bus = s.opts.World.Bus(s.node)
	case s.cfg.RedisURL != "":
		b, err := bus.Open(s.cfg.RedisURL, bus.Options{Node: s.node, Now: s.now, Logger: s.log, Join: stream.JoinMessages})
		if err != nil {
			return fmt.Errorf("ARENA_REDIS_URL: %w", err)
		}
		s.bus = b
	}
	return nil
}

// newStreams makes the receiver of agents' events, and the handler of the streams
// of spectators and agents.
func (s *Server) newStreams(addresses *quota.Slots) *stream.Handler {
	s.events = ingest.New(ingest.Options{
		Hub: s.hub, Clients: s.clients, Seats: s.seats, Matches: s.visible, Log: s.store.Matches, Authenticate: s.keys.Verify,
		ClientIP: remoteHost, Addresses: addresses, Now: s.now, Logger: s.log,
	})
	return stream.NewHandler(s.hub, stream.Parts{
		Matches: s.visible, Leagues: s.store.Leagues, Agents: s.events, ClientIP: remoteHost, Addresses: addresses,
	})
}

// newEngine makes the judges, the pauses of agents, the runner of matches and
// what scores them again.
func (s *Server) newEngine(quotas *quota.Set) (_ *engine.Rescorer, err error) {
	tasks := league.NewTasks(s.store.Packs)
	drivers := s.protocols.drivers()
	if s.opts.Drivers != nil {
		s.opts.Drivers(drivers)
	}
	if s.scripts, err = NewScripts(s.log, quotas.Judging); err != nil {
		return nil, err
	}
	s.metrics.watchScripts(s.scripts.Stats)
	if s.games, err = catalog.New(s.scripts, s.store.Packs); err != nil {
		return nil, err
	}
	if s.judges, err = s.newJudges(drivers); err != nil {
		return nil, err
	}
	delayed := visibility.NewDelayedPublisher(s.visible, s.hub, s.log)
	s.newNetwork()
	var notices registry.Notices
	if s.mailer != nil {
		notices = s.mailer
	}
	s.pauses = registry.NewPauses(registry.PausesOptions{Store: s.store.Agents, Publisher: s.hub, Notices: notices, Now: s.now, Logger: s.log})
	faults := league.NewFaults(s.store.Leagues, s.now)
	s.runner = engine.New(engine.Options{
		Store: engine.NewRows(s.store), Drivers: drivers, Judges: s.judges, Tasks: tasks, Games: s.games, Publisher: s.hub, Delayed: delayed, Pauses: s.pauses, Logger: s.log,
		Now: s.now, Node: s.node, Limits: engine.Limits{Grace: s.cfg.ShutdownGrace, RateLimitPause: s.opts.RateLimitPause},
		Hooks: engine.Hooks{Observe: s.observe, Flush: s.events.Flush, CutOff: s.network.CutOff, GameFailed: faults.GameFailed, WakeOthers: s.wakeOthers},
	})
	return &engine.Rescorer{Store: s.store, Judges: s.judges, Games: s.games, Now: s.now, Logger: s.log}, nil
}

// newAPI makes the API and the servers of the listeners.
func (s *Server) newAPI(ctx context.Context, streams *stream.Handler, services *services) error {
	voterKey, err := s.secret(ctx, "votes 1")
	if err != nil {
		return err
	}
	proxies := make([]string, len(s.cfg.TrustedProxies))
	for i, p := range s.cfg.TrustedProxies {
		proxies[i] = p.String()
	}
	cards, err := card.New()
	if err != nil {
		return err
	}
	ui := pages{matches: s.visible, rows: pageRows{s.store.Agents, s.store.Leagues}, url: s.url, now: s.now, log: s.log}
	open := visibility.NewVotes(s.visible, engine.JudgeInput)
	votes := vote.New(open, s.store.Matches, s.cfg.sharedNetworks(), services.quotas.Crowd, s.now)
	packages, err := sdk.New(s.url)
	if err != nil {
		return err
	}
	facts := s.newVitals()
	s.api, err = api.New(api.Options{
		Store: api.Rows{
			Accounts: s.store.Accounts, Agents: s.store.Agents, Leagues: s.store.Leagues, Packs: s.store.Packs, Ratings: s.store.Ratings, Games: s.store.Games,
			Operations: s.store.Operations, Relay: s.store.Relay, Verdicts: s.store.Matches,
		},
		Services: api.Services{Accounts: services.accounts, Agents: services.agents, Leagues: services.leagues, Matches: services.matches, Votes: votes, Games: s.games},
		Handlers: api.Handlers{
			Stream: streams, JWKS: s.keys.JWKS(), UI: ui.handler, SDK: packages.Serve, Program: download.New(s.url, s.cfg.DownloadDir).Serve, Tasks: s.tasks, Protocols: s.handlers(),
		},
		Matches:    api.MatchOptions{Visible: s.visible, Viewers: s.hub.Viewers, Record: s.record, Card: cards.Draw, Notation: s.notation},
		VoteSecret: voterKey,
		SeasonCard: cards.DrawSeason,
		Export:     services.archive.Write,
		Node:       api.Node{ID: s.node, Version: s.version(), Ready: s.ready, Drain: s.drain, Observe: s.metrics.request, QuietRequests: s.opts.QuietRequests, Vitals: facts.Facts},
		Site: api.Site{
			URL: s.url, TrustedProxies: proxies,
			SignIn: api.SignInOptions{Provider: services.provider, Name: s.cfg.ProviderName(), Signup: s.cfg.Signup, Mail: s.mailer != nil},
			Events: api.EventLimits{Rate: s.cfg.EventRate, Burst: s.cfg.EventBurst, Max: s.cfg.EventMax},
		},
		Quotas: services.quotas, Now: s.now, Logger: s.log,
	})
	if err != nil {
		return err
	}
	public, err := api.Compress(s.api)
	if err != nil {
		return err
	}
	public = s.watchProxies(public)
	s.public = s.httpServer(public)
	if s.certs != nil {
		s.public = s.tlsServer(public)
	}
	if s.plainListener != nil {
		s.plain = s.httpServer(s.certs.Challenges(redirect(*s.cfg.PublicURL)))
	}
	if s.privateListener != nil {
		s.private = s.httpServer(s.privateHandler())
	}
	return nil
}

// privateHandler serves what only the host's own network may see.
func (s *Server) privateHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// wakeOthers makes the engines of the other nodes claim due matches.
func (s *Server) wakeOthers() {
	if s.bus != nil {
		s.bus.Wake()
	}
}

// newNetwork makes the canary of the network (threat N1).
func (s *Server) newNetwork() {
	s.network = health.NewNetwork(health.NetworkOptions{
		Targets: s.cfg.CanaryTargets, Dial: dialTarget, Probers: s.protocols.probers(s.now), LastReply: s.client.LastReply,
		Sample: func(ctx context.Context) ([]arena.Agent, error) {
			return s.store.Agents.HealthyEndpoints(ctx, sampledEndpoints)
		},
		Logger: s.log, Now: s.now,
	})
	s.metrics.watchNetwork(s.network.Stats)
}

// sampledEndpoints is how many healthy endpoints the canary chooses from.
const sampledEndpoints = 64

// dialTarget connects to an address that the operator names.
func dialTarget(ctx context.Context, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("canary: %w", err)
	}
	return conn.Close()
}

// ownHosts are the addresses under which an endpoint would be the arena
// itself (threat S7).
func (s *Server) ownHosts() []string {
	hosts := []string{s.cfg.PublicURL.Host}
	if s.cfg.PublicURL.Port() == "" {
		port := map[string]string{"http": "80", "https": "443"}[s.cfg.PublicURL.Scheme]
		hosts = []string{net.JoinHostPort(s.cfg.PublicURL.Hostname(), port)}
	}
	if addr, err := netip.ParseAddrPort(s.listener.Addr().String()); err == nil {
		if !addr.Addr().IsUnspecified() {
			return append(hosts, addr.String())
		}
		port := fmt.Sprint(addr.Port())
		return append(hosts, net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port))
	}
	return hosts
}

// extraRoots reads certificate authorities for development.
func extraRoots(file string) ([]*x509.Certificate, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file) //nolint:gosec // G304: the operator names the file
	if err != nil {
		return nil, fmt.Errorf("ARENA_EXTRA_CA_FILE: %w", err)
	}
	var roots []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("ARENA_EXTRA_CA_FILE: %w", err)
		}
		roots = append(roots, cert)
	}
	if len(roots) == 0 {
		return nil, errors.New("ARENA_EXTRA_CA_FILE: holds no certificate")
	}
	return roots, nil
}

// remoteHost is the client's address; api has put it there, also behind
// a trusted proxy.
func remoteHost(r *http.Request) string {
	return arena.AddressOf(r.RemoteAddr)
}

func (s *Server) version() string { return cmp.Or(s.opts.Version, "devel") }
