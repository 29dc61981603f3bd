package api

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/account"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/download"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/match"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/match/vote"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/registry"
	"github.com/agora-arena/arena/scoring/sandbox/sandboxtest"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/visibility"
)

// testNow is the clock of tests that do not move it. It lies in the past of
// the database, whose clock says which matches are due.
var testNow = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// publisher keeps what was published.
type publisher struct {
	mu     sync.Mutex
	events []arena.Event
}

func (p *publisher) Publish(_ string, events ...arena.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, events...)
}

func (p *publisher) PublishAgent(_ []string, e arena.Event) { p.Publish("", e) }

func (p *publisher) types() []arena.EventType {
	p.mu.Lock()
	defer p.mu.Unlock()
	var types []arena.EventType
	for _, e := range p.events {
		types = append(types, e.Type)
	}
	return types
}

// says is a handler of another package that names itself.
func says(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, name+" "+r.Method+" "+r.RemoteAddr)
	})
}

// inbound is a handler of a protocol whose refusals name it.
type inbound struct{ http.Handler }

func (inbound) Refuse(w http.ResponseWriter, _ *http.Request, err error) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(http.StatusTooManyRequests)
	_ = json.NewEncoder(w).Encode(newProblem(http.StatusTooManyRequests, arena.CodeOf(err), "inbound: "+err.Error()))
}

// parts are the options of the API and the settings of its services.
type parts struct {
	Options
	db        *store.Store
	Publisher interface {
		match.Publisher
		registry.Publisher
	}
	Limits quota.Limits

	TakeShared quota.Shared
	SignupMode string
	Issuer     account.Issuer

	Protocols     map[string]registry.Protocol
	CheckEndpoint func(ctx context.Context, field, raw string) (string, error)
	CheckAgent    func(ctx context.Context, agentID string) (arena.Agent, error)
	FullCheck     func(ctx context.Context, g arena.Agent) (arena.Conformance, error)
	Rehearse      func(ctx context.Context, r arena.Rehearsal) (arena.RehearsalReport, error)
}

// Endpoint and Check make parts of the functions that tests set.
type (
	endpoints func(ctx context.Context, field, raw string) (string, error)
	checker   func(ctx context.Context, agentID string) (arena.Agent, error)
)

// Endpoint returns the key of shared.example, and none of all others.
func (f endpoints) Endpoint(ctx context.Context, field, raw string) (canonical, key string, err error) {
	canonical, err = f(ctx, field, raw)
	if strings.Contains(canonical, "shared.example") {
		key = "shared.example:443"
	}
	return canonical, key, err
}

func (f checker) Check(ctx context.Context, agentID string) (arena.Agent, error) {
	return f(ctx, agentID)
}

// testOptions are complete but for a store that answers.
func testOptions(t testing.TB) parts {
	t.Helper()
	protocols := map[string]registry.Protocol{
		arena.ProtocolAAP: {Polls: true}, arena.ProtocolAgora: {Polls: true}, arena.ProtocolEnvelope: {Polls: true, CheckKey: checkKey},
	}
	noCheck := func(context.Context, string) (arena.Agent, error) { return arena.Agent{}, errors.New("no store") }
	noFullCheck := func(context.Context, arena.Agent) (arena.Conformance, error) {
		return arena.Conformance{}, errors.New("no store")
	}
	noRehearsal := func(context.Context, arena.Rehearsal) (arena.RehearsalReport, error) {
		return arena.RehearsalReport{}, errors.New("no stage")
	}
	return parts{db: &store.Store{}, SignupMode: account.SignupOpen, Protocols: protocols, CheckEndpoint: checkEndpoint, CheckAgent: noCheck, FullCheck: noFullCheck, Rehearse: noRehearsal, Publisher: &publisher{}, Options: Options{
		Handlers: Handlers{
			Tasks:  fakeTasks{},
			Stream: inbound{says("stream")}, JWKS: says("jwks"), UI: func(http.Handler) http.Handler { return says("page") },
			SDK:       serveSDKList,
			Program:   download.New("https://arena.example", "").Serve,
			Protocols: map[string]Inbound{arena.ProtocolAgora: inbound{says("agora")}, arena.ProtocolEnvelope: inbound{says("relay")}, arena.ProtocolAgentProtocol: inbound{says("message")}, arena.ProtocolA2A: inbound{says("a2a")}},
		},
		Matches: MatchOptions{
			Visible: struct{ Visible }{}, Viewers: func(string) int { return 3 }, Record: signRecord, Notation: noNotation,
			Card: func(m visibility.Match, league string, chosen map[string]string, state json.RawMessage) ([]byte, error) {
				return fmt.Appendf(nil, "picture of %s in %s with %v %s", m.ID, league, chosen, state), nil
			},
		},
		Services:   Services{Votes: struct{ Votes }{}},
		VoteSecret: []byte("secret"),
		SeasonCard: func(s arena.Season, league string, chosen map[string]string) ([]byte, error) {
			return fmt.Appendf(nil, "picture of season %d in %s with %v", s.No, league, chosen), nil
		},
		Node:   Node{ID: "nd_test", Version: "v0.0.0-test", Ready: func(context.Context) error { return nil }, Drain: func() {}, Observe: func(Request) {}, Vitals: someVitals},
		Site:   Site{URL: "https://arena.example", SignIn: SignInOptions{Signup: account.SignupOpen}},
		Now:    func() time.Time { return testNow },
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}}
}

// scripts runs games. It is shared: compiling the library of games takes longer than
// most tests.
var scripts = sync.OnceValues(sandboxtest.New)

// build makes the services that were not given.
func (o parts) build(t testing.TB) Options {
	t.Helper()
	if o.Store == (Rows{}) {
		o.Store = rowsOf(o.db)
	}
	var err error
	o.Quotas = quota.New(quota.Options{Limits: o.Limits, Shared: o.TakeShared, Now: o.Now, Logger: o.Logger})
	pauses := registry.NewPauses(registry.PausesOptions{Store: o.db.Agents, Publisher: o.Publisher, Now: o.Now, Logger: o.Logger})
	entries := league.NewEntries(o.db, o.Quotas.Password, o.Now)
	o.Services.Agents = registry.New(registry.Options{
		Store: o.db, Pauses: pauses, Protocols: o.Protocols, Endpoints: endpoints(o.CheckEndpoint), Checker: checker(o.CheckAgent), FullCheck: o.FullCheck, Rehearse: o.Rehearse, Rehearsals: o.Quotas.Rehearsal,
		Entries: entries, Checks: o.Quotas.Check, HostChecks: o.Quotas.CheckHost, AgentsPerOwner: o.Limits.AgentsPerOwner, PublicURL: o.Site.URL, Now: o.Now, Logger: o.Logger,
	})
	always, _ := arena.OwnerLinkKinds()
	matches := match.New(match.Options{
		GroupBy: always,
		Store:   o.db, Engine: unplayed{o.db.Matches, o.Publisher}, Rescorer: rescorer{}, Publisher: o.Publisher, HasModel: true,
		Challenges: o.Quotas.Challenge, Challenged: o.Quotas.Challenged, Judging: o.Quotas.Judging, Now: o.Now, Rand: seeds{}, Logger: o.Logger,
	})
	o.Services.Matches = matches
	if o.Services.Accounts, err = account.New(account.Options{
		Store: o.db, Agents: pauses, Texts: matches,
		Issuer: o.Issuer, SignupMode: o.SignupMode, Now: o.Now, Logger: o.Logger,
		Quotas: account.Quotas{Address: o.Quotas.Address, Known: o.Quotas, Guess: o.Quotas.Guess, SignUp: o.Quotas.SignUp},
	}); err != nil {
		t.Fatal(err)
	}
	o.Export = func(context.Context, io.Writer, string) error { return nil }
	runner, err := scripts()
	if err != nil {
		t.Fatal(err)
	}
	games, err := catalog.New(runner, o.db.Packs)
	if err != nil {
		t.Fatal(err)
	}
	o.Services.Leagues = league.NewService(league.ServiceOptions{
		Store: o.db, Entries: entries, Games: games, HasModel: true, Document: LeagueDocument, Now: o.Now,
		Cheats: func(context.Context, arena.Settings, []arena.Task) (arena.AuditReport, error) {
			return arena.AuditReport{Cheats: []arena.AuditedCheat{{Name: arena.CheatEcho, Tried: 2, High: 0.5, Passed: true}, {Name: arena.CheatLate}}}, nil
		},
	})
	o.Services.Games = games
	return o.Options
}

// unplayed is an engine that only stores and publishes matches.
type unplayed struct {
	*store.Matches
	match.Publisher
}

func (u unplayed) Create(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error) {
	e, err := u.CreateMatch(ctx, m, e, audit...)
	if err == nil {
		u.Publish(m.League, e)
	}
	return e, err
}

// rescorer reports what it does not do.
type rescorer struct{}

func (rescorer) Match(_ context.Context, id string) (arena.RescoreReport, error) {
	return arena.RescoreReport{Matches: 1, Failed: []string{}, Kept: []arena.KeptMatch{}, Ratings: []arena.RatingMove{}, Changed: []arena.RescoredMatch{{MatchID: id, Seats: []arena.RescoredSeat{}}}}, nil
}

func (rescorer) Matches(_ context.Context, _ string, ids []string) (arena.RescoreReport, error) {
	return arena.RescoreReport{Matches: len(ids), Failed: []string{}, Kept: []arena.KeptMatch{}, Ratings: []arena.RatingMove{}, Changed: []arena.RescoredMatch{}}, nil
}

func (rescorer) Preview(_ context.Context, _ string, ids []string, _ map[string][]string) (arena.RescoreReport, error) {
	return arena.RescoreReport{Matches: len(ids), Failed: []string{}, Kept: []arena.KeptMatch{}, Ratings: []arena.RatingMove{}, Changed: []arena.RescoredMatch{}}, nil
}

func (rescorer) League(context.Context, string) (arena.RescoreReport, error) {
	return arena.RescoreReport{Matches: 2, Failed: []string{}, Kept: []arena.KeptMatch{}, Ratings: []arena.RatingMove{}, Changed: []arena.RescoredMatch{}}, nil
}

func (rescorer) Rebuild(context.Context, string, ...func(int) (arena.AuditEntry, error)) (int, error) {
	return 3, nil
}

// seeds is a source that is safe for concurrent use.
type seeds struct{}

func (seeds) Uint64() uint64 { return rand.Uint64() }

// useStore makes the API read and write the rows of s.
func (o *parts) useStore(t testing.TB, s *store.Store) {
	t.Helper()
	reader := visibility.NewReader(s.Matches, o.Now)
	open := visibility.NewVotes(reader, engine.JudgeInput)
	shared := arena.SharedNetworks{netip.MustParsePrefix("192.0.2.1/32")} // where httptest comes from
	o.Services.Votes = vote.New(open, s.Matches, shared, quota.New(quota.Options{Now: o.Now}).Crowd, o.Now)
	o.db, o.Store, o.Matches.Visible = s, rowsOf(s), reader
}

func newAPI(t testing.TB, o parts) *API {
	t.Helper()
	a, err := New(o.build(t))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func checkEndpoint(_ context.Context, field, raw string) (string, error) {
	refuse := func(code arena.Code, why string) (string, error) {
		return "", &arena.Error{Code: code, Message: why, Fields: []arena.FieldError{{Field: field, Message: why}}}
	}
	switch {
	case !strings.HasPrefix(raw, "http://") && !strings.HasPrefix(raw, "https://"):
		return refuse(arena.CodeEndpointInvalid, "is not an http or https URL")
	case strings.Contains(raw, "://10."):
		return refuse(arena.CodeEndpointBlocked, "is a private address")
	case strings.Contains(raw, "://arena.example"):
		return refuse(arena.CodeEndpointOwn, "is the arena itself")
	}
	return strings.TrimSuffix(raw, "/"), nil
}

// questions returns a pack in JSONL. Each text is a question and its own answer.
func questions(texts ...string) string {
	var lines strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&lines, "{\"description\":%q,\"answer\":%[1]q}\n", text)
	}
	return lines.String()
}

// tossNamed returns the source of a game of one move.
func tossNamed(name string) string {
	return `const info = { name: '` + name + `', title: 'Toss', min_seats: 2, max_seats: 2, max_turns: 1 };
const setup = () => ({ moved: false, won: false });
const turn = (state) => (state.moved ? null : { player: 0, legal: ['heads', 'tails'] });
function move(state, moves) { state.moved = true; state.won = moves[0] === 'heads'; }
const view = (state, player) => (player === null ? { kind: 'table', columns: ['Toss'], rows: [0, 1].map((player) => ({ player, values: [''] })) } : { text: 'Heads or tails?' });
const result = (state) => (state.won ? [1, 0] : [0, 1]);
`
}

// signRecord makes a record that nobody signed.
func signRecord(_ context.Context, rows record.Rows) (record.Signed, error) {
	r, err := record.New("https://arena.example", rows)
	if err != nil {
		return record.Signed{}, err
	}
	return record.Sign(r, func([]byte) (record.Signature, error) { return record.Signature{Alg: "none"}, nil })
}

// checkKey stands for a protocol whose keys are in hexadecimal.
func checkKey(text string) (string, ed25519.PublicKey, error) {
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return "", nil, errors.New("is not a key in hexadecimal")
	}
	return strings.ToLower(text), key, nil
}

// serveSDKList serves a list of SDK packages and none of them.
func serveSDKList(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path == "/sdk" || r.URL.Path == "/sdk/" {
		_, err := io.WriteString(w, "sdk")
		return err
	}
	return arena.Errorf(arena.CodeNotFound, "no such SDK package")
}

// rowsOf returns the rows of a database.
func rowsOf(s *store.Store) Rows {
	return Rows{s.Accounts, s.Agents, s.Leagues, s.Packs, s.Ratings, s.Games, s.Operations, s.Relay, s.Matches}
}
