package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/quota"
	"github.com/agora-arena/arena/arena/record"
	"github.com/agora-arena/arena/arena/visibility"
)

// Options are the parts that the API is joined to and its settings. All parts
// are required.
type Options struct {
	Store    Store
	Visible  Visible
	Votes    Votes
	Accounts Accounts
	Agents   Agents
	Leagues  Leagues
	Matches  Matches

	// Stream answers GET and POST /v1/stream. It checks task tokens and keeps
	// limits of its own; the RemoteAddr it sees is the client's, also behind a
	// trusted proxy.
	Stream http.Handler
	// JWKS answers GET /.well-known/jwks.json.
	JWKS http.Handler
	// UI answers GET of every path that is not the API's.
	UI http.Handler

	// Speakers answer the paths of protocols in which agents talk to the arena,
	// by the protocol's name. They check and limit for themselves, as Stream does.
	Speakers map[string]http.Handler

	// Viewers gives the number of spectators of a match.
	Viewers func(matchID string) int

	// Rehearse plays a rehearsal and reports. It ends within a minute.
	Rehearse func(ctx context.Context, r arena.Rehearsal) (arena.RehearsalReport, error)
	// SeasonTable gives a running season's table as it stands.
	SeasonTable func(arena.Season, []arena.Pairing) []arena.TableRow
	// Calibrate compares what an agent declared with what came of it.
	Calibrate func([]arena.Claim) arena.Calibration
	// VerifyRatings replays all settlements; the error says what does not fit.
	VerifyRatings func(ctx context.Context) ([]arena.RatingsReport, error)
	// Laid gives a round of a match as it was laid before its judge.
	Laid func(m arena.Match, answers []arena.Answer, round int) arena.Judging
	// JudgeHealth measures a judge by its verdicts, newest first.
	JudgeHealth func(spec arena.JudgeSpec, verdicts []arena.Verdict, length func(matchID string, round int, agentID string) (int, bool)) arena.JudgeHealth
	// Anomalies finds in the evidence what chance hardly does.
	Anomalies func(arena.Evidence) (arena.AnomalyReport, error)
	// VoteSecret signs the names of voters' browsers; the same on all nodes.
	VoteSecret []byte
	// NextRun gives the first occurrence of a cron expression in UTC after a
	// time; zero: there is none.
	NextRun func(expression string, after time.Time) time.Time

	// Record makes and signs the record of a finished match from its rows.
	Record func(m arena.Match, rounds []arena.Round, answers []arena.Answer, log []arena.Event) (record.Signed, error)
	// Card draws the picture of a match, a PNG; league is its league's title.
	Card func(m visibility.Match, league string) ([]byte, error)

	// Ready says whether this node can serve, for /readyz.
	Ready func(ctx context.Context) error
	// Drain makes this node give its matches to others and claim no more. It
	// returns at once and may be called again.
	Drain func()

	Version        string // of the binary
	Events         EventLimits
	PublicURL      string   // under which everyone reaches the arena, without a slash at the end
	Node           string   // id of this node, for the admin status
	SecureCookies  bool     // the public URL is https
	TrustedProxies []string // addresses or CIDRs whose X-Forwarded-For is believed; none by default
	Quotas         *quota.Set
	Now            func() time.Time
	Logger         *slog.Logger
}

// validate names the first part that is missing.
func (o Options) validate() error {
	parts := []struct {
		name    string
		missing bool
	}{
		{"Store", o.Store == nil},
		{"Visible", o.Visible == nil},
		{"Votes", o.Votes == nil},
		{"Accounts", o.Accounts == nil},
		{"Agents", o.Agents == nil},
		{"Matches", o.Matches == nil},
		{"Leagues", o.Leagues == nil},
		{"Stream", o.Stream == nil},
		{"JWKS", o.JWKS == nil},
		{"UI", o.UI == nil},
		{"Speakers", o.Speakers == nil},
		{"Viewers", o.Viewers == nil},
		{"Rehearse", o.Rehearse == nil},
		{"SeasonTable", o.SeasonTable == nil},
		{"VerifyRatings", o.VerifyRatings == nil},
		{"Laid", o.Laid == nil},
		{"JudgeHealth", o.JudgeHealth == nil},
		{"Calibrate", o.Calibrate == nil},
		{"Anomalies", o.Anomalies == nil},
		{"VoteSecret", len(o.VoteSecret) == 0},
		{"NextRun", o.NextRun == nil},
		{"Record", o.Record == nil},
		{"Card", o.Card == nil},
		{"Ready", o.Ready == nil},
		{"Drain", o.Drain == nil},
		{"Version", o.Version == ""},
		{"PublicURL", o.PublicURL == ""},
		{"Quotas", o.Quotas == nil},
		{"Now", o.Now == nil},
		{"Logger", o.Logger == nil},
	}
	for _, p := range parts {
		if p.missing {
			return fmt.Errorf("api: option %s is missing", p.name)
		}
	}
	return nil
}

// API is the HTTP side of the arena. It is an http.Handler, has no goroutines
// of its own and needs no closing.
type API struct {
	Options
	accounts  *accountHandlers
	agents    *agentHandlers
	matches   *matchHandlers
	leagues   *leagueHandlers
	seasons   *seasonHandlers
	packs     *packHandlers
	lobby     *lobbyHandlers
	banner    *bannerHandlers
	votes     *voteHandlers
	judges    *judgeHandlers
	engine    *gin.Engine
	huma      huma.API
	strangers http.CrossOriginProtection // pages of others, in browsers that would add a cookie
	llms      llmsCache
	startedAt time.Time
	openapi   []byte // the document of /v1/openapi.json
	docs      []byte // the page of /docs
}

// New joins the parts into a handler.
func New(o Options) (*API, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	// Gin keeps its mode in the package. Any other mode than release prints
	// every route to standard output; setting it again changes nothing.
	gin.SetMode(gin.ReleaseMode)
	a := &API{
		Options:   o,
		accounts:  &accountHandlers{o.Accounts},
		agents:    &agentHandlers{agents: o.Agents, rows: o.Store, views: &agentViews{rows: o.Store, agents: o.Agents, clock: o.Now}},
		engine:    gin.New(),
		startedAt: o.Now(),
	}
	matches := &matchViews{visible: o.Visible, viewers: o.Viewers}
	a.matches = &matchHandlers{matches: o.Matches, visible: o.Visible, leagues: o.Store, views: matches, sign: o.Record, draw: o.Card}
	a.leagues = &leagueHandlers{leagues: o.Leagues, rows: o.Store, matches: matches, now: a.now}
	a.votes = &voteHandlers{votes: o.Votes, rows: o.Store, secret: o.VoteSecret, secure: o.SecureCookies, now: a.now}
	a.judges = &judgeHandlers{rows: o.Store, visible: o.Visible, input: o.Laid, health: o.JudgeHealth}
	a.lobby = &lobbyHandlers{rows: o.Store, visible: o.Visible, matches: matches, now: a.now}
	a.banner = &bannerHandlers{rows: o.Store, now: a.now}
	a.packs = &packHandlers{packs: o.Leagues, rows: o.Store}
	a.seasons = &seasonHandlers{rows: o.Store, table: o.SeasonTable}
	if err := a.engine.SetTrustedProxies(o.TrustedProxies); err != nil {
		return nil, fmt.Errorf("api: trusted proxies: %w", err)
	}
	a.engine.RedirectTrailingSlash = false
	a.engine.HandleMethodNotAllowed = true
	a.engine.Use(a.observe, a.recoverPanic, setHeaders)
	a.engine.NoRoute(a.noRoute)
	a.engine.NoMethod(a.noMethod)

	a.huma = humagin.New(a.engine, a.humaConfig())
	for _, r := range routes() {
		r.mountOn(a)
	}
	if err := a.writeDocuments(); err != nil {
		return nil, fmt.Errorf("api: openapi document: %w", err)
	}
	return a, nil
}

// ServeHTTP answers one request. HEAD is answered as GET; net/http drops the
// body.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead && isAPI(r.URL.Path) && r.URL.Path != streamPath {
		r = r.Clone(r.Context())
		r.Method = http.MethodGet
	}
	a.engine.ServeHTTP(w, r)
}

// noRoute gives paths of the API a problem, those of two-party Agora its own
// error, and every other path the page.
func (a *API) noRoute(c *gin.Context) {
	if isAgora(c.Request.URL.Path) {
		withClientAddress(c, speaks(arena.ProtocolAgora)(a))
		return
	}
	if isAPI(c.Request.URL.Path) {
		a.fail(c, arena.Errorf(arena.CodeNotFound, "there is nothing at this path"))
		return
	}
	c.Status(http.StatusOK) // Gin has set 404 for a handler that sets nothing
	setPageHeaders(c)
	a.UI.ServeHTTP(c.Writer, c.Request)
}

// noMethod runs when the path is known and the method is not; Gin has set the
// Allow header.
func (a *API) noMethod(c *gin.Context) {
	if isAgora(c.Request.URL.Path) {
		withClientAddress(c, speaks(arena.ProtocolAgora)(a))
		return
	}
	a.fail(c, arena.Errorf(arena.CodeNoMethod, "this path does not answer %s", c.Request.Method))
}

// isAgora tells paths of two-party Agora, whose text asks for errors in its own
// form.
func isAgora(path string) bool { return path == "/agora" || strings.HasPrefix(path, "/agora/") }

// now is the clock in the form that is stored.
func (a *API) now() time.Time { return a.Now().UTC().Truncate(time.Millisecond) }
