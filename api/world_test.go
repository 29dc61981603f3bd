package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// world is the API over a real SQLite store, with two owners and an admin.
type world struct {
	t        *testing.T
	api      *API
	store    *store.Store
	database string // URL of the store
	pub      *publisher
	now      atomic.Int64 // unix milliseconds
	admin    string       // tokens
	alice    string
	bob      string
	aliceI   string   // owner ids
	options  []string // of the question that play asks
}

func newWorld(t *testing.T, edit ...func(*parts)) *world {
	t.Helper()
	w := &world{t: t, pub: &publisher{}, database: storetest.SQLite(t)}
	w.now.Store(testNow.UnixMilli())
	o := testOptions(t)
	o.Now = func() time.Time { return time.UnixMilli(w.now.Load()).UTC() }
	s, err := store.Open(t.Context(), w.database, store.Options{Logger: o.Logger, Now: o.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.store = s
	o.useStore(t, s)
	o.Publisher, o.CheckAgent, o.FullCheck = w.pub, w.probe, w.fullCheck
	for _, e := range edit {
		e(&o)
	}
	w.api = newAPI(t, o)

	secret, hash := token.NewSecret(token.AdminSecretPrefix)
	err = s.Accounts.CreateToken(t.Context(), arena.Token{
		ID: arena.NewID(arena.TokenPrefix, testNow), Scope: arena.ScopeAdmin, Name: "admin", Hash: hash, CreatedAt: testNow,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.admin = secret
	w.alice, w.aliceI = w.owner("alice")
	w.bob, _ = w.owner("bob")
	return w
}

// scoped makes a token of one of the admin scopes.
func (w *world) scoped(scope arena.Scope, leagues ...string) string {
	w.t.Helper()
	secret, hash := token.NewSecret(token.AdminSecretPrefix)
	w.ok(w.store.Accounts.CreateToken(w.t.Context(), arena.Token{
		ID: arena.NewID(arena.TokenPrefix, testNow), Scope: scope, Leagues: leagues, Name: string(scope), Hash: hash, CreatedAt: testNow,
	}))
	return secret
}

// owner makes an owner without the API, so that closed sign-ups do not matter.
func (w *world) owner(name string) (secret, id string) {
	w.t.Helper()
	id = arena.NewID(arena.OwnerPrefix, testNow)
	secret, hash := token.NewSecret(token.OwnerSecretPrefix)
	tok := arena.Token{ID: arena.NewID(arena.TokenPrefix, testNow), OwnerID: id, Scope: arena.ScopeOwner, Name: "first", Hash: hash, CreatedAt: testNow}
	if err := w.store.Accounts.CreateOwner(w.t.Context(), arena.Owner{ID: id, Name: name, CreatedAt: testNow}, tok); err != nil {
		w.t.Fatal(err)
	}
	return secret, id
}

// probe stands in for the health check: an endpoint with "down" in it fails,
// every other lists what stands behind "plays=".
func (w *world) probe(ctx context.Context, id string) (arena.Agent, error) {
	_, after, err := w.store.Agents.UpdateAgent(ctx, id, func(g *arena.Agent) error {
		g.Health = arena.Health{CheckedAt: testNow, Latency: 1500 * time.Microsecond, MaxConcurrent: 2}
		if strings.Contains(g.Endpoint, "down") {
			g.Health.Reason, g.Health.Detail = "refused", "nothing listens at the endpoint"
			return nil
		}
		g.Health.OK, g.PassedAt = true, testNow
		if _, plays, ok := strings.Cut(g.Endpoint, "plays="); ok {
			g.Health.Capabilities = strings.Split(plays, ",")
		}
		return nil
	})
	return after, err
}

type response struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// do sends one request. body is nil, a string sent as it is, or a value sent
// as JSON. What comes back must fit the OpenAPI document.
func (w *world) do(method, path, token string, body any, header ...string) response {
	w.t.Helper()
	var reader io.Reader
	req := httptest.NewRequestWithContext(w.t.Context(), method, path, nil)
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	if reader != nil {
		req = httptest.NewRequestWithContext(w.t.Context(), method, path, reader)
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, req)
	r := response{t: w.t, status: rec.Code, header: rec.Header(), body: rec.Body.Bytes()}
	w.fits(method, req.URL.Path, r)
	return r
}

// fits checks a response against the document.
func (w *world) fits(method, path string, r response) {
	w.t.Helper()
	kind := r.header.Get("Content-Type")
	schemas := w.api.huma.OpenAPI().Components.Schemas
	var schema *huma.Schema
	switch {
	case r.status >= 400:
		if kind != problemType {
			w.t.Errorf("%s %s answers %d as %q, want %s: %s", method, path, r.status, kind, problemType, r.body)
			return
		}
		schema = schemas.SchemaFromRef("#/components/schemas/Problem")
	case kind == jsonType:
		for _, route := range routes() {
			if route.method != method || !matchesPath(route.path, path) {
				continue
			}
			if route.status != r.status {
				w.t.Errorf("%s %s answers %d, its route says %d", method, path, r.status, route.status)
			}
			op := operationAt(w.api.huma.OpenAPI(), method, route.path)
			for _, answer := range op.Responses {
				if m := answer.Content[jsonType]; m != nil {
					schema = m.Schema
				}
			}
		}
	}
	if schema == nil {
		return
	}
	var v any
	if err := json.Unmarshal(r.body, &v); err != nil {
		w.t.Errorf("%s %s: %v: %s", method, path, err, r.body)
		return
	}
	res := &huma.ValidateResult{}
	huma.Validate(schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, res)
	for _, err := range res.Errors {
		w.t.Errorf("%s %s: answer does not fit the document: %v\n%s", method, path, err, r.body)
	}
}

func matchesPath(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !strings.HasPrefix(want[i], "{") && want[i] != got[i] {
			return false
		}
	}
	return true
}

// is demands a status.
func (r response) is(status int) response {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	return r
}

// into decodes the body.
func into[T any](r response) T {
	r.t.Helper()
	var v T
	if err := json.Unmarshal(r.body, &v); err != nil {
		r.t.Fatalf("%v: %s", err, r.body)
	}
	return v
}

// str returns a member of the body by its path ("health.ok", "items.0.name").
func (r response) at(path string) any {
	r.t.Helper()
	v := into[any](r)
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			var i int
			if err := json.Unmarshal([]byte(name), &i); err != nil || i >= len(x) {
				r.t.Fatalf("no %s in %s", path, r.body)
			}
			v = x[i]
		default:
			r.t.Fatalf("no %s in %s", path, r.body)
		}
	}
	return v
}

func (r response) str(path string) string {
	r.t.Helper()
	s, ok := r.at(path).(string)
	if !ok {
		r.t.Fatalf("%s is no string in %s", path, r.body)
	}
	return s
}

// scenario is one request and what it must come to.
type scenario struct {
	name   string
	method string
	path   string
	token  string
	body   any
	header []string
	status int
	code   arena.Code // "" on success
	fields []string   // of the problem's errors, in order
	says   string     // part of the body
}

func (w *world) run(scenarios []scenario) {
	for _, s := range scenarios {
		w.t.Run(s.name, func(t *testing.T) {
			sub := &world{t: t, api: w.api, store: w.store, pub: w.pub}
			r := sub.do(s.method, s.path, s.token, s.body, s.header...)
			if r.status != s.status {
				t.Fatalf("status %d, want %d: %s", r.status, s.status, r.body)
			}
			if !strings.Contains(string(r.body), s.says) {
				t.Errorf("the body does not say %q: %s", s.says, r.body)
			}
			if s.status < 400 {
				return
			}
			p := into[problem](r)
			if p.Code != s.code || p.Status != s.status {
				t.Errorf("code %q, status %d; want %q: %s", p.Code, p.Status, s.code, r.body)
			}
			var fields []string
			for _, f := range p.Errors {
				fields = append(fields, f.Field)
			}
			if diff := cmp.Diff(s.fields, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s%s", diff, r.body)
			}
		})
	}
}

type object = map[string]any

// agent registers a healthy agent that plays the leagues.
func (w *world) agent(token, name string, leagues ...string) string {
	w.t.Helper()
	r := w.do("POST", "/v1/agents", token, object{
		"name": name, "endpoint": "https://" + name + ".example/?plays=" + strings.Join(leagues, ","), "leagues": leagues,
	}).is(201)
	return r.str("agent_id")
}

// league makes a league of duels on a pack.
func (w *world) league(slug string, edit object) {
	w.t.Helper()
	pack := w.do("POST", "/v1/packs?format=jsonl&name="+slug, w.admin, questions("a", "b")).is(201).str("pack_id")
	body := object{
		"slug": slug, "title": "League " + slug, "pack_id": pack, "judge": "exact", "rounds": 3, "time_limit_seconds": 5, "rated": true,
	}
	maps.Copy(body, edit)
	w.do("POST", "/v1/leagues", w.admin, body).is(201)
}
