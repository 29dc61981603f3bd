package main

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
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
	"sync"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/account"
	"github.com/agora-arena/arena/arena/api"
	"github.com/agora-arena/arena/arena/card"
	"github.com/agora-arena/arena/arena/match"
	"github.com/agora-arena/arena/arena/quota"
	"github.com/agora-arena/arena/arena/registry"
	"github.com/agora-arena/arena/arena/rehearsal"
	"github.com/agora-arena/arena/arena/runner"
	"github.com/agora-arena/arena/arena/token"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/league"
	leaguesettings "github.com/agora-arena/arena/league/settings"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/protocol/agentprotocol"
	"github.com/agora-arena/arena/protocol/envelope/relay"
	"github.com/agora-arena/arena/protocol/mailbox"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/stream"
	"github.com/agora-arena/arena/stream/bus"
	"github.com/agora-arena/arena/web"
)

// server is all parts of one node, joined.
type server struct {
	cfg  Config
	log  *slog.Logger
	node string

	startedAt time.Time
	lastError *lastError
	url       string // public
	opts      serverOptions

	adminToken    string // known in clear text: given or just made
	newAdminToken string // just made

	store     *store.Store
	bus       *bus.Bus // nil: this node is alone
	keys      *token.Keys
	guard     *protocol.Guard
	client    *protocol.Client
	crawler   *protocol.Client // of rehearsals
	bell      *mailbox.Bell
	box       *mailbox.Box
	protocols protocols
	relay     *relay.Server
	signed    *agentprotocol.Server
	streams   *stream.Handler
	api       http.Handler
	hub       *stream.Hub
	pauses    *registry.Pauses
	runner    *runner.Runner
	matches   *match.Service
	quotas    *quota.Set
	sweeper   *health.Sweeper
	stage     *rehearsal.Stage
	scheduler *league.Scheduler
	voterKey  []byte
	metrics   *metrics

	listener, privateListener net.Listener
	public, private           *http.Server
	draining                  atomic.Bool
	drainAsked                chan struct{}
	drain                     func()         // closes drainAsked
	wg                        sync.WaitGroup // listeners
}

// serverOptions are what `arena demo` and the benchmarks do differently.
type serverOptions struct {
	limits           *quota.Limits // nil: those of the rulebook
	spectators       int           // per address; 0: the setting
	ladderPause      time.Duration // 0: the scheduler's own
	eliminationPause time.Duration
	rateLimitPause   time.Duration                    // 0: the rulebook's
	drivers          []func(map[string]runner.Driver) // put themselves between runner and agents
	relayDev         bool                             // the relay seeds itself on demand, and every key may post
}

// connsPerHost lets two whole rounds of 128 seats run against agents that
// share one host and port, as on a hosting platform.
const connsPerHost = 256

// newServer makes the parts in the order in which they need each other. It
// listens, but answers nothing before Run.
func newServer(ctx context.Context, cfg Config, log *slog.Logger, opts serverOptions) (_ *server, err error) {
	s := &server{
		cfg: cfg, opts: opts, node: arena.NewID(arena.NodePrefix, time.Now()), startedAt: time.Now(), lastError: &lastError{}, drainAsked: make(chan struct{}),
	}
	log = slog.New(s.lastError.of(log.Handler()))
	s.log = log
	s.drain = sync.OnceFunc(func() { close(s.drainAsked) })
	defer func() {
		if err != nil {
			_ = s.Close() // the first error is the one to tell
		}
	}()
	if s.store, err = store.Open(ctx, cfg.DatabaseURL, store.Options{Logger: log, Now: time.Now}); err != nil {
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
	if err = s.joinRules(ctx); err != nil {
		return nil, err
	}
	return s, s.joinHTTP()
}

// ensureAdmin makes the given admin token known, or makes one when the arena
// has none at all.
func (s *server) ensureAdmin(ctx context.Context) (err error) {
	var created bool
	s.adminToken, created, err = account.EnsureAdmin(ctx, account.AdminOptions{
		Store: s.store, Secret: s.cfg.AdminToken, HashSecret: token.Hash, Now: time.Now,
		NewSecret: func() (string, [32]byte) { return token.NewSecret(token.AdminSecretPrefix) },
	})
	if created {
		s.newAdminToken = s.adminToken
	}
	return err
}

func (s *server) listen(ctx context.Context) (err error) {
	var lc net.ListenConfig
	if s.listener, err = lc.Listen(ctx, "tcp", s.cfg.Addr); err != nil {
		return fmt.Errorf("ARENA_ADDR: %w", err)
	}
	s.cfg.Listening(s.listener.Addr())
	s.url = s.cfg.PublicURL.String()
	if s.cfg.MetricsAddr != "" {
		if s.privateListener, err = lc.Listen(ctx, "tcp", s.cfg.MetricsAddr); err != nil {
			return fmt.Errorf("ARENA_METRICS_ADDR: %w", err)
		}
	}
	return nil
}

// joinRules makes everything that plays: keys, driver, hub, runner, health
// checks and scheduler.
func (s *server) joinRules(ctx context.Context) (err error) {
	if s.keys, err = token.New(ctx, token.Options{
		Store: s.store, Issuer: s.url, Alg: s.cfg.JWTAlg, Now: time.Now, Logger: s.log,
	}); err != nil {
		return err
	}
	s.guard, err = protocol.NewGuard(protocol.GuardOptions{Allow: s.cfg.AllowCIDRs, OwnHosts: s.ownHosts()})
	if err != nil {
		return err
	}
	roots, err := extraRoots(s.cfg.ExtraCAFile)
	if err != nil {
		return err
	}
	if s.client, err = protocol.NewClient(s.guard, protocol.ClientOptions{
		ExtraRoots: roots, MaxConnsPerHost: connsPerHost, Now: time.Now,
	}); err != nil {
		return err
	}
	driver, err := aap.New(aap.Options{Client: s.client, Sign: s.keys.Sign, Now: time.Now})
	if err != nil {
		return err
	}
	if s.stage, err = s.newStage(driver); err != nil {
		return err
	}
	streams := stream.Options{Source: s.store, MaxClients: s.cfg.Spectators, Now: time.Now, Logger: s.log}
	if s.cfg.RedisURL != "" {
		if s.bus, err = bus.Open(s.cfg.RedisURL, bus.Options{Node: s.node, Now: time.Now, Logger: s.log, Join: stream.JoinMessages}); err != nil {
			return fmt.Errorf("ARENA_REDIS_URL: %w", err)
		}
		streams.Bus = s.bus
	}
	if s.hub, err = stream.NewHub(streams); err != nil {
		return err
	}
	if s.pauses, err = registry.NewPauses(registry.PausesOptions{Store: s.store, Publisher: s.hub, Now: time.Now, Logger: s.log}); err != nil {
		return err
	}
	s.metrics = newMetrics(s.hub.Stats, s.store.Counts)
	s.metrics.watchArchives(s.store.ArchiveCache)
	if s.bus != nil {
		s.metrics.watchBus(s.bus.Stats)
	}
	tasks, err := league.NewTasks(s.store)
	if err != nil {
		return err
	}
	s.protocols = protocols{arena.ProtocolAAP: {driver: driver}}
	if err = s.speakOthers(ctx); err != nil {
		return err
	}
	drivers := s.protocols.drivers()
	for _, change := range s.opts.drivers {
		change(drivers)
	}
	judges, err := s.joinJudges(drivers)
	if err != nil {
		return err
	}
	if s.voterKey, err = s.voteSecret(ctx); err != nil {
		return err
	}
	rescorer := &runner.Rescorer{Store: s.store, Judges: judges, Now: time.Now, Logger: s.log}
	if s.runner, err = runner.New(runner.Options{
		Store: s.store, Drivers: drivers, Judges: judges, Tasks: tasks, Publisher: s.hub, Pauses: s.pauses, Logger: s.log,
		Now: time.Now, Node: s.node, Grace: s.cfg.ShutdownGrace, RateLimitPause: s.opts.rateLimitPause, Observe: s.metrics.observe, Hear: s.hub.Hear, WakeOthers: s.wakeOthers,
	}); err != nil {
		return err
	}
	if s.bus != nil {
		s.bus.OnWake(s.runner.Wake)
	}
	if s.sweeper, err = health.New(health.Options{
		Store: s.store, Probers: s.protocols.probers(), Recorder: s.pauses, Canary: s.canary,
		Workers: s.cfg.HealthWorkers, Spread: healthSpread(s.cfg.HealthInterval), Now: time.Now, Logger: s.log, Rand: mrand.New(secretSource{}), //nolint:gosec // G404: its source is crypto/rand
	}); err != nil {
		return err
	}
	if s.quotas, err = s.newQuotas(); err != nil {
		return err
	}
	if s.matches, err = match.New(match.Options{
		Store: s.store, Engine: s.runner, Rescorer: rescorer, Publisher: s.hub, Wake: s.wake, CheckSettings: s.checkSettings,
		Challenges: s.quotas.Challenge, Challenged: s.quotas.Challenged, Now: time.Now, Rand: secretSource{}, Logger: s.log,
	}); err != nil {
		return err
	}
	s.scheduler, err = league.NewScheduler(league.Options{
		Store: s.store, Matches: s.matches, Wake: s.wake, Now: time.Now, Rand: secretSource{}, Logger: s.log, Due: due,
		LadderPause: s.opts.ladderPause, EliminationPause: s.opts.eliminationPause,
	})
	return err
}

// healthSpread leaves what is at the end of a sweep, slow answers and storing
// what was found, time before the next one begins.
func healthSpread(interval time.Duration) time.Duration { return interval * 3 / 4 }

// newQuotas makes the quotas of callers, which the nodes count together if they
// share a bus.
func (s *server) newQuotas() (*quota.Set, error) {
	o := quota.Options{Limits: quota.DefaultLimits(), Now: time.Now, Logger: s.log}
	if s.opts.limits != nil {
		o.Limits = *s.opts.limits
	}
	if s.bus != nil {
		o.Shared = s.bus.Take
	}
	return quota.New(o)
}

// joinHTTP makes the handlers and their servers.
func (s *server) joinHTTP() error {
	spectators := s.cfg.SpectatorsPerAddress
	if s.opts.spectators > 0 {
		spectators = s.opts.spectators
	}
	var err error
	s.streams, err = stream.NewHandler(s.hub, stream.Parts{
		Matches: s.store, Leagues: s.store, Log: s.store, Authenticate: s.keys.Verify, ClientIP: remoteHost,
		SpectatorsPerAddress: spectators,
		EventRate:            float64(s.cfg.EventRate), EventBurst: s.cfg.EventBurst, EventMax: s.cfg.EventMax,
	})
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
	outside, err := s.joinOutside()
	if err != nil {
		return err
	}
	accounts, err := account.New(account.Options{
		Store: s.store, NewSecret: func() (string, [32]byte) { return token.NewSecret(token.OwnerSecretPrefix) }, HashSecret: token.Hash,
		Issuer: outside, SignupMode: s.cfg.Signup, Now: time.Now, Logger: s.log,
		Quotas: account.Quotas{Address: s.quotas.Address, Token: s.quotas.Token, Guess: s.quotas.Guess, SignUp: s.quotas.SignUp},
	})
	if err != nil {
		return err
	}
	entries, err := league.NewEntries(s.store, s.quotas.Password)
	if err != nil {
		return err
	}
	agents, err := registry.New(registry.Options{
		Store: s.store, Pauses: s.pauses, Protocols: s.protocols.rules(), Endpoints: s.guard, Checker: s.sweeper, FullCheck: s.fullCheck,
		Entries: entries, Checks: s.quotas.Check, AgentsPerOwner: s.quotas.Limits.AgentsPerOwner, PublicURL: s.url, Now: time.Now, Logger: s.log,
	})
	if err != nil {
		return err
	}
	if err = s.serveAgora(accounts, agents); err != nil {
		return err
	}
	leagues, err := league.NewService(league.ServiceOptions{
		Store: s.store, Entries: entries, Defaults: leaguesettings.Defaults, CheckSettings: s.checkSettings, FitsJudge: leaguesettings.FitsJudge,
		CheckSchedule: checkSchedule, ParsePack: parsePack, Document: api.LeagueDocument, Now: time.Now,
	})
	if err != nil {
		return err
	}
	s.api, err = api.New(api.Options{
		Store: s.store, Accounts: accounts, Agents: agents, Matches: s.matches, Leagues: leagues, Stream: s.streams, JWKS: s.keys.JWKS(), UI: web.Handler(s.preview),
		Speakers:      s.protocols.speakers(),
		Viewers:       s.hub.Viewers,
		SeasonTable:   seasonTable,
		VerifyRatings: s.store.CheckRatings,
		Laid:          runner.Laid, JudgeHealth: scoring.JudgeHealth, Calibrate: scoring.Calibrate, Anomalies: scoring.Anomalies, VoteSecret: s.voterKey, SecureCookies: s.cfg.PublicURL.Scheme == "https",
		NextRun: nextRun, Rehearse: s.stage.Play, PublicURL: s.url,
		Events: api.EventLimits{Rate: s.cfg.EventRate, Burst: s.cfg.EventBurst, Max: s.cfg.EventMax},
		Record: s.record, Card: cards.Draw,
		Ready: s.ready, Drain: s.drain,
		Version: readBuildInfo().Version, Node: s.node, TrustedProxies: proxies,
		Quotas: s.quotas, Now: time.Now, Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.public = s.httpServer(s.api)
	if s.privateListener != nil {
		s.private = s.httpServer(s.privateHandler())
	}
	return nil
}

func (s *server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// privateHandler serves what only the host's own network may see.
func (s *server) privateHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// ready says whether this node should get requests.
func (s *server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return arena.Errorf(arena.CodeUnavailable, "this node is draining")
	}
	return s.store.Ping(ctx)
}

// wake has a due match claimed at once: by this node, since its runner is the
// nearest and a race of all nodes would slow it down, or by the others when
// this one claims no more.
func (s *server) wake() {
	if s.draining.Load() {
		s.wakeOthers()
		return
	}
	s.runner.Wake()
}

// wakeOthers tells the runners of the other nodes that a match waits.
func (s *server) wakeOthers() {
	if s.bus != nil {
		s.bus.Wake()
	}
}

// canary reports whether the arena's own network works: it reaches its own
// front door (threat F7).
func (s *server) canary(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s.listener.Addr().String())
	if err != nil {
		return fmt.Errorf("canary: %w", err)
	}
	return conn.Close()
}

// ownHosts are the addresses under which an endpoint would be the arena
// itself (threat S7).
func (s *server) ownHosts() []string {
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

// remoteHost is the client's address; arena/api has put it there, also behind
// a trusted proxy.
func remoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// secretSource is a random source that agents cannot predict: seeds of
// matches decide which tasks come.
type secretSource struct{}

func (secretSource) Uint64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return binary.LittleEndian.Uint64(b[:])
}

// localURL reaches this node from this machine, whatever its public URL is.
func (s *server) localURL() string {
	addr, err := netip.ParseAddrPort(s.listener.Addr().String())
	if err != nil || !addr.Addr().IsUnspecified() {
		return "http://" + s.listener.Addr().String()
	}
	return fmt.Sprintf("http://127.0.0.1:%d", addr.Port())
}
