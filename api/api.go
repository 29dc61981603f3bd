package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/api/mcp"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/internal/vitals"
	"github.com/agora-arena/arena/judge"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/mailbox"
	"github.com/agora-arena/arena/store/results"
	"github.com/agora-arena/arena/visibility"
)

// Rows are the subjects of the database that the API reads. Matches are not among
// them: what spectators may see of a match comes from visibility.
type Rows struct {
	Accounts   *store.Accounts
	Agents     *store.Agents
	Leagues    *store.Leagues
	Packs      *store.Packs
	Ratings    *store.Ratings
	Games      *results.Games
	Operations *store.Operations
	Relay      *mailbox.Relay
	Verdicts   Verdicts
}

// Verdicts are the verdicts of a league, newest first.
type Verdicts interface {
	LeagueVerdicts(ctx context.Context, league string, limit int) ([]arena.Verdict, error)
}

// Options are the parts that the API is built from and its settings. All parts
// are required.
type Options struct {
	Store    Rows
	Services Services
	Handlers Handlers
	Matches  MatchOptions
	// VoteSecret signs the names of voters' browsers. It is the same on all nodes.
	VoteSecret []byte
	// SeasonCard draws a season of a league with this title as a PNG, with the
	// marks that owners have chosen, by agent.
	SeasonCard func(s arena.Season, league string, chosen map[string]string) ([]byte, error)
	// Export writes everything about an owner as a ZIP file.
	Export func(ctx context.Context, w io.Writer, ownerID string) error
	Node   Node
	Site   Site
	Quotas *quota.Set
	Now    func() time.Time
	Logger *slog.Logger
}

// Services perform the operations that change rows.
type Services struct {
	Accounts Accounts
	Agents   Agents
	Leagues  Leagues
	Matches  Matches
	Votes    Votes
	Games    *catalog.Catalog
}

// Handlers serve the paths that other packages own.
type Handlers struct {
	// Stream serves GET and POST /v1/stream. It checks task tokens and limits
	// seats. Its RemoteAddr is the client's, also behind a trusted proxy.
	Stream Inbound
	// JWKS serves GET /.well-known/jwks.json.
	JWKS http.Handler
	// UI returns what serves GET of every path outside the API, given the API,
	// whose answers its pages carry.
	UI func(api http.Handler) http.Handler
	// SDK serves GET of /sdk/ and the paths below it. It writes nothing when it
	// returns an error.
	SDK func(http.ResponseWriter, *http.Request) error
	// Program serves GET of /install.sh and of the paths below /download/.
	// It writes nothing when it returns an error.
	Program func(http.ResponseWriter, *http.Request) error
	// Protocols are the inbound handlers by protocol. They authenticate and
	// limit as Stream does.
	Protocols map[string]Inbound
	// Tasks serve agents that fetch their tasks.
	Tasks Tasks
}

// MatchOptions are the parts of the match reads.
type MatchOptions struct {
	Visible Visible
	// Viewers returns the number of spectators of a match.
	Viewers func(matchID string) int
	// Record returns the signed record of a finished match.
	Record func(ctx context.Context, rows record.Rows) (record.Signed, error)
	// Card returns a PNG of a match. league is the title of its league, chosen the
	// marks that owners have chosen, by agent, and state
	// the public state of its game, nil if there is none.
	Card func(m visibility.Match, league string, chosen map[string]string, state json.RawMessage) ([]byte, error)
	// Notation returns the games of a match in the notation of its game, and
	// not_found if there is none.
	Notation func(ctx context.Context, m visibility.Match, league string, rounds []visibility.ClosedRound) (arena.Notation, error)
}

// Node is this node of the arena.
type Node struct {
	ID      string // for the admin status
	Version string // of the binary
	// Ready returns nil when this node can serve.
	Ready func(ctx context.Context) error
	// Drain makes this node hand its matches to other nodes and claim no more.
	// It returns at once and may be called again.
	Drain func()
	// Vitals returns the health of the arena, given its operational state.
	Vitals func(ctx context.Context, o arena.Operations) ([]vitals.Fact, error)
	// Observe gets each request once it is answered.
	Observe func(Request)
	// QuietRequests logs them at the level debug.
	QuietRequests bool
}

// Request is an answered request, for metrics. All members have a bounded
// number of values, whatever clients send.
type Request struct {
	Method  string // a standard method, else "other"
	Route   string // pattern; "page" for pages, "unknown" for paths that do not exist
	Status  int
	Elapsed time.Duration
}

// Site is how clients reach the arena.
type Site struct {
	URL            string      // public, without a slash at the end
	Events         EventLimits // of the stream
	SignIn         SignInOptions
	TrustedProxies []string // addresses or CIDRs whose X-Forwarded-For is believed; none by default
}

// API is the HTTP side of the arena: routing, authentication, problems and
// limits. It is an http.Handler and has no goroutines of its own.
type API struct {
	resources
	mcp         *mcp.Server
	accounts    Accounts // identifies callers
	handlers    Handlers
	quotas      *quota.Set
	ui          http.Handler
	engine      *gin.Engine
	huma        huma.API
	crossOrigin http.CrossOriginProtection // rejects requests of other sites in browsers that would add a cookie
	dear        dearWork
	docs        documents
	now         func() time.Time
	log         *slog.Logger
}

// resources are the handlers of all resources.
type resources struct {
	owners   *accountHandlers
	people   *peopleHandlers
	agents   *agentHandlers
	history  *historyHandlers
	leagues  *leagueHandlers
	seasons  *seasonHandlers
	packs    *packHandlers
	games    *gameHandlers
	matches  *matchHandlers
	votes    *voteHandlers
	judges   *judgeHandlers
	lobby    *lobbyHandlers
	recap    *recapHandlers
	banner   *bannerHandlers
	calendar *calendarHandlers
	feeds    *feedHandlers
	exports  *exportHandlers
	analysis *analysisHandlers
	audit    *auditHandlers
	node     *nodeHandlers
	pages    *pageHandlers
}

// The handlers of each resource, for the table of routes.

func audit(a *API) *auditHandlers       { return a.audit }
func banner(a *API) *bannerHandlers     { return a.banner }
func history(a *API) *historyHandlers   { return a.history }
func agents(a *API) *agentHandlers      { return a.agents }
func judges(a *API) *judgeHandlers      { return a.judges }
func votes(a *API) *voteHandlers        { return a.votes }
func leagues(a *API) *leagueHandlers    { return a.leagues }
func lobby(a *API) *lobbyHandlers       { return a.lobby }
func recap(a *API) *recapHandlers       { return a.recap }
func matches(a *API) *matchHandlers     { return a.matches }
func accounts(a *API) *accountHandlers  { return a.owners }
func packs(a *API) *packHandlers        { return a.packs }
func games(a *API) *gameHandlers        { return a.games }
func people(a *API) *peopleHandlers     { return a.people }
func seasons(a *API) *seasonHandlers    { return a.seasons }
func calendar(a *API) *calendarHandlers { return a.calendar }
func feeds(a *API) *feedHandlers        { return a.feeds }
func exports(a *API) *exportHandlers    { return a.exports }
func node(a *API) *nodeHandlers         { return a.node }
func analysis(a *API) *analysisHandlers { return a.analysis }

func newResources(o Options, dear dearWork) resources {
	now := func() time.Time { return o.Now().UTC().Truncate(time.Millisecond) }
	agents := &agentViews{rows: o.Store, agents: o.Services.Agents, clock: o.Now}
	matches := &matchViews{visible: o.Matches.Visible, viewers: o.Matches.Viewers}
	return resources{
		owners:  &accountHandlers{accounts: o.Services.Accounts, url: o.Site.URL, now: now, rows: o.Store, export: o.Export, log: o.Logger},
		people:  &peopleHandlers{people: o.Services.Accounts, signIn: o.Site.SignIn, url: o.Site.URL, https: isHTTPS(o.Site.URL), now: now},
		agents:  &agentHandlers{agents: o.Services.Agents, keys: o.Services.Accounts, rows: o.Store, views: agents},
		history: &historyHandlers{rows: o.Store, visible: o.Matches.Visible, url: o.Site.URL, matches: matches, ranks: agents.ranksOf, now: now},
		leagues: &leagueHandlers{leagues: o.Services.Leagues, rows: o.Store, matches: matches, now: now},
		seasons: &seasonHandlers{rows: o.Store, draw: o.SeasonCard, now: now},
		packs:   &packHandlers{packs: o.Services.Leagues, tasks: o.Services.Matches, rows: o.Store},
		games:   &gameHandlers{service: o.Services.Leagues, catalog: o.Services.Games, rows: o.Store},
		matches: &matchHandlers{
			matches: o.Services.Matches, visible: o.Matches.Visible, rows: o.Store, views: matches, sign: o.Matches.Record, draw: o.Matches.Card, write: o.Matches.Notation,
		},
		votes: &voteHandlers{votes: o.Services.Votes, secret: o.VoteSecret, https: isHTTPS(o.Site.URL)},
		judges: &judgeHandlers{rows: o.Store, health: judge.NewHealth(judge.HealthOptions{
			Verdicts: o.Store.Verdicts.LeagueVerdicts, Gold: o.Store.Leagues.Gold, Agents: o.Store.Agents.AgentsByID, Visible: o.Matches.Visible, Input: engine.JudgeInput,
		})},
		lobby:    &lobbyHandlers{rows: o.Store, visible: o.Matches.Visible, matches: matches, now: now},
		recap:    &recapHandlers{rows: o.Store, visible: o.Matches.Visible, now: now},
		banner:   &bannerHandlers{rows: o.Store, now: now},
		calendar: &calendarHandlers{rows: o.Store, now: now},
		feeds:    &feedHandlers{rows: o.Store, matches: matches, url: o.Site.URL, now: now},
		exports:  &exportHandlers{rows: o.Store, visible: o.Matches.Visible, matches: matches, dear: dear, open: o.Quotas.Streams, url: o.Site.URL, now: now, log: o.Logger},
		analysis: &analysisHandlers{rows: o.Store},
		audit:    &auditHandlers{rows: o.Store, now: now, log: o.Logger},
		node:     &nodeHandlers{Node: o.Node, rows: o.Store, visible: o.Matches.Visible, matches: matches, startedAt: o.Now(), now: now, log: o.Logger},
		pages:    &pageHandlers{url: o.Site.URL, events: o.Site.Events, limits: o.Quotas.Limits, rows: o.Store, now: now, log: o.Logger},
	}
}

// New returns an API of the given parts.
func New(o Options) (*API, error) {
	// Gin keeps its mode in the package. Any other mode than release prints
	// every route to standard output; setting it again changes nothing.
	gin.SetMode(gin.ReleaseMode)
	dear := make(dearWork, dearAtOnce)
	a := &API{
		resources: newResources(o, dear), accounts: o.Services.Accounts, handlers: o.Handlers, quotas: o.Quotas, engine: gin.New(),
		dear: dear, now: o.Now, log: o.Logger,
	}
	a.ui = o.Handlers.UI(a)
	if err := a.engine.SetTrustedProxies(o.Site.TrustedProxies); err != nil {
		return nil, fmt.Errorf("api: trusted proxies: %w", err)
	}
	var err error
	if a.mcp, err = mcp.New(mcp.Options{
		Operations: newOperations(a.resources), Tasks: o.Handlers.Tasks, Watches: o.Quotas.Streams, URL: o.Site.URL, Version: o.Node.Version, Logger: o.Logger,
	}); err != nil {
		return nil, fmt.Errorf("api: mcp: %w", err)
	}
	a.engine.RedirectTrailingSlash = false
	a.engine.HandleMethodNotAllowed = true
	a.engine.Use(a.observe(o.Node), a.recoverPanic, setHeaders(a.people.https), allowOrigins())
	a.engine.NoRoute(a.noRoute)
	a.engine.NoMethod(a.noMethod)

	a.huma = humagin.New(a.engine, a.humaConfig(o.Site.URL))
	for _, r := range routes() {
		r.mountOn(a)
		if r.anyOrigin() {
			a.engine.OPTIONS(ginPath(r.path), preflight)
		}
	}
	if err := a.writeDocuments(); err != nil {
		return nil, fmt.Errorf("api: openapi document: %w", err)
	}
	return a, nil
}

// Close ends the requests that wait for events of matches.
func (a *API) Close() { a.mcp.Close() }

func isHTTPS(siteURL string) bool { return strings.HasPrefix(siteURL, "https://") }

// ServeHTTP serves one request. It serves HEAD as GET, except where a GET waits;
// net/http drops the body.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead && isAPI(r.URL.Path) && !waits(r.URL.Path) {
		r = r.Clone(r.Context())
		r.Method = http.MethodGet
	}
	a.engine.ServeHTTP(w, r)
}

// waits reports whether a GET of a path waits for something, or takes it, or streams
// without end: its answer cannot be had without the body.
func waits(path string) bool {
	switch path {
	case streamPath, "/relay/events", "/relay/v1/messages":
		return true
	}
	return strings.HasPrefix(path, "/v1/agents/") && strings.HasSuffix(path, "/tasks") || strings.HasPrefix(path, "/v1/leagues/") && strings.HasSuffix(path, "/export")
}

// noRoute returns paths of the API a problem, those of two-party Agora its own
// error, and every other path the page.
func (a *API) noRoute(c *gin.Context) {
	if isAgora(c.Request.URL.Path) {
		a.forward(c, protocolHandler(arena.ProtocolAgora)(a))
		return
	}
	if strings.HasPrefix(c.Request.URL.Path+"/", "/sdk/") && c.Request.Method == http.MethodGet {
		a.serveFile(c, a.handlers.SDK)
		return
	}
	if isAPI(c.Request.URL.Path) {
		a.fail(c, arena.Errorf(arena.CodeNotFound, "no such route"))
		return
	}
	setPageHeaders(c)
	a.forward(c, a.ui)
}

// serveFile serves a path of what authors install from this arena.
func (a *API) serveFile(c *gin.Context, site func(http.ResponseWriter, *http.Request) error) {
	a.forward(c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := site(w, r); err != nil {
			a.fail(c, err)
		}
	}))
}

// noMethod runs when the path is known and the method is not; Gin has set the
// Allow header.
func (a *API) noMethod(c *gin.Context) {
	if isAgora(c.Request.URL.Path) {
		a.forward(c, protocolHandler(arena.ProtocolAgora)(a))
		return
	}
	a.fail(c, arena.Errorf(arena.CodeNoMethod, "method %s not allowed", c.Request.Method))
}

// isAgora reports whether a path is one of two-party Agora, whose text asks for errors in its own
// form.
func isAgora(path string) bool { return path == "/agora" || strings.HasPrefix(path, "/agora/") }

// Visible reads matches as spectators may see them. There is no other way from
// here to a match, its rounds, answers, verdicts or events.
type Visible interface {
	Match(ctx context.Context, id string) (visibility.Match, error)
	Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) ([]visibility.Match, string, error)
	LastRounds(ctx context.Context, matches ...visibility.Match) (map[string]arena.Round, error)
	ClosedRounds(ctx context.Context, m visibility.Match) ([]visibility.ClosedRound, error)
	Verdicts(ctx context.Context, m visibility.Match) ([]arena.Verdict, error)
	Losses(ctx context.Context, f arena.LossFilter, own bool, p arena.Page) ([]arena.LostRound, string, error)
	Position(ctx context.Context, m visibility.Match) (json.RawMessage, error)
	Events(ctx context.Context, l visibility.Log, since int64, limit int) ([]arena.Event, error)
	RecordRows(ctx context.Context, id string, maxEvents int64) (record.Rows, error)
}

// Votes are the votes of spectators.
type Votes interface {
	// Open returns the vote that is open on a match; ok is false when none is.
	Open(ctx context.Context, matchID string) (v visibility.Vote, ok bool, err error)
	Cast(ctx context.Context, caller arena.Caller, in arena.CastVote) (arena.CountedVote, error)
	Guess(ctx context.Context, in arena.Guess) error
	Guesses(ctx context.Context, matchID string) ([]arena.GuessCount, error)
}
