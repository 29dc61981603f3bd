package conformance_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/protocol/conformance"
)

// keyRows keep signing keys in memory.
type keyRows struct{ keys []arena.SigningKey }

func (r *keyRows) SigningKeys(context.Context) ([]arena.SigningKey, error) { return r.keys, nil }
func (r *keyRows) AddSigningKey(_ context.Context, k arena.SigningKey, _ map[string]time.Time) error {
	r.keys = append(r.keys, k)
	return nil
}

func (r *keyRows) FirstSigningKey(ctx context.Context, k arena.SigningKey) ([]arena.SigningKey, error) {
	return append(r.keys, k), r.AddSigningKey(ctx, k, nil)
}

// bench is a kit with its issuer, and a good agent that trusts it.
type bench struct {
	kit    *conformance.Kit
	good   http.Handler
	issuer string
	kid    string
	seen   []conformance.Finding
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOf(t, func(k *token.Keys) signer { return k.Sign })
}

// signer makes the tokens of tasks.
type signer func(arena.TaskClaims) (string, error)

func newBenchOf(t *testing.T, signs func(*token.Keys) signer) *bench {
	t.Helper()
	b := &bench{}
	issuer := httptest.NewUnstartedServer(nil)
	b.issuer = "http://" + issuer.Listener.Addr().String()
	keys, unknown := newKeys(t, b.issuer), newKeys(t, b.issuer)
	b.kid = keys.Keys()[0].KID
	issuer.Config.Handler = keys.JWKS()
	issuer.Start()
	t.Cleanup(issuer.Close)
	guard, err := protocol.NewGuard(protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	must(t, err)
	client, err := protocol.NewClient(guard, protocol.ClientOptions{MaxConnsPerHost: 64, Now: time.Now})
	must(t, err)
	t.Cleanup(client.Close)
	driver := aap.New(aap.Options{Client: client, Sign: signs(keys), Now: time.Now})
	b.kit, err = conformance.New(conformance.Options{
		Driver: driver, Profile: driver.Profile(keys.Sign, unknown.Sign), Client: client, Issuer: b.issuer, Now: time.Now,
		Progress: func(f conformance.Finding) { b.seen = append(b.seen, f) },
	})
	must(t, err)
	agent, err := arenaagent.New(arenaagent.Config{
		Arena: b.issuer, AgentID: "ag_1", Capabilities: []string{"quiz"}, MaxConcurrent: 3, Events: arenaagent.EventsOff,
	}, func(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
		return arenaagent.Answer{Value: slices.Concat(task.Options, []string{"?"})[0]}, nil
	})
	must(t, err)
	t.Cleanup(func() { must(t, agent.Close()) })
	b.good = agent
	return b
}

func newKeys(t *testing.T, issuer string) *token.Keys {
	t.Helper()
	k, err := token.New(t.Context(), token.Options{Store: &keyRows{}, Issuer: issuer, Alg: token.ES256, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	return k
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// check runs the kit against an agent.
func (b *bench) check(t *testing.T, agent http.Handler) conformance.Report {
	t.Helper()
	s := httptest.NewServer(agent)
	defer s.Close()
	r := b.kit.Run(t.Context(), arena.Agent{ID: "ag_1", Endpoint: s.URL + "/agora"})
	if diff := gocmp.Diff(r.Checks, b.seen); diff != "" {
		t.Errorf("progress and report differ:\n%s", diff)
	}
	for _, f := range r.Checks {
		if f.ID == "" || f.Title == "" || f.Clause == "" || (f.Cure != "") != (f.Result == conformance.Fail) || f.Result != conformance.Skip && f.Result != conformance.NotApplicable && f.Sent == "" {
			t.Errorf("a finding that says too little or too much: %+v", f)
		}
	}
	return r
}

// failures lists what failed: "SHOULD task.long".
func failures(r conformance.Report, result conformance.Result) []string {
	var ids []string
	for _, f := range r.Checks {
		if f.Result == result {
			ids = append(ids, string(f.Level)+" "+f.ID)
		}
	}
	return ids
}

func TestKit_good_agent(t *testing.T) {
	t.Parallel()
	t.Run("tokens_of_requests", func(t *testing.T) {
		t.Parallel()
		checkGood(t, newBench(t))
	})
	t.Run("tokens_of_matches", func(t *testing.T) {
		t.Parallel()
		checkGood(t, newBenchOf(t, func(k *token.Keys) signer { return token.NewMatchTokens(k).Sign }))
	})
}

func checkGood(t *testing.T, b *bench) {
	t.Helper()
	r := b.check(t, b.good)
	if bad := slices.Concat(failures(r, conformance.Fail), failures(r, conformance.Skip)); bad != nil || !r.Passed {
		t.Errorf("failed or skipped: %v", bad)
	}
	if r.League != "quiz" || r.Must.Pass != 12 || r.Should.Pass != 13 {
		t.Errorf("report: %+v", r)
	}
}

// naive answers anybody.
func naive(w http.ResponseWriter, r *http.Request) {
	var task struct {
		Task struct{ Options []string }
	}
	if json.NewDecoder(r.Body).Decode(&task) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer(w, slices.Concat(task.Task.Options, []string{"?"})[0])
}

func answer(w http.ResponseWriter, text string) {
	body, _ := json.Marshal(map[string]string{"answer": text})
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// An agent that answers questions alone breaks nothing.
func TestKit_no_games(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.check(t, http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := request{Request: hr}
		r.body, _ = io.ReadAll(hr.Body)
		_ = json.Unmarshal(r.body, &r.task)
		hr.Body = io.NopCloser(bytes.NewReader(r.body))
		if r.task.Task.Observation != nil {
			answer(w, "I do not know")
			return
		}
		b.good.ServeHTTP(w, hr)
	}))
	if bad := slices.Concat(failures(r, conformance.Fail), failures(r, conformance.Skip)); bad != nil || !r.Passed {
		t.Errorf("failed or skipped: %v", bad)
	}
	if diff := gocmp.Diff([]string{"SHOULD game.move", "SHOULD game.again"}, failures(r, conformance.NotApplicable)); diff != "" {
		t.Errorf("not applicable (-want +got):\n%s", diff)
	}
}

// An agent that checks no tokens breaks no MUST; the report states the risk.
func TestKit_naive_agent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /agora", naive)
	mux.Handle("GET /agora/health", b.good)
	r := b.check(t, mux)
	want := []string{
		"SHOULD token.missing", "SHOULD token.stranger", "SHOULD token.signature", "SHOULD token.none", "SHOULD token.expired",
		"SHOULD token.other_agent", "SHOULD token.other_body",
	}
	if diff := gocmp.Diff(want, failures(r, conformance.Fail)); diff != "" || !r.Passed {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	for _, f := range r.Checks {
		if strings.HasPrefix(f.ID, "token.") && !strings.Contains(f.Cure, "checks no credentials") {
			t.Errorf("%s does not say it: %s", f.ID, f.Cure)
		}
	}
}

// An agent of another arena cannot know our keys: the report says what to set.
func TestKit_agent_of_another_arena(t *testing.T) {
	t.Parallel()
	b, other := newBench(t), newBench(t)
	r := b.check(t, other.good)
	if diff := gocmp.Diff([]string{"MUST task.answer"}, failures(r, conformance.Fail)); diff != "" || r.Passed {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	for _, f := range r.Checks {
		if f.ID == "task.answer" && (!strings.Contains(f.Cure, "ARENA="+b.issuer) || !strings.Contains(f.Cure, b.issuer+"/.well-known/jwks.json")) {
			t.Errorf("the cure does not name the setting: %s", f.Cure)
		}
	}
	if len(failures(r, conformance.Skip)) < 15 {
		t.Errorf("what needs an answer was not skipped: %v", failures(r, conformance.Skip))
	}
}

// request is a task POST as a defect sees it.
type request struct {
	*http.Request
	body []byte
	task struct {
		Attempt   int
		TimeLimit float64 `json:"time_limit_seconds"`
		Season    any
		Previous  *struct{ Error string }
		Task      struct {
			Description string
			Observation any
		}
	}
}

// forgery names what is wrong with the token, "" when nothing is.
func (r request) forgery(kid string) string {
	_, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	parts := strings.Split(bearer, ".")
	if len(parts) != 3 {
		return "token.missing"
	}
	var header struct{ Alg, KID string }
	var claims struct {
		Exp     int64
		Aud, BH string
	}
	for i, v := range []any{&header, &claims} {
		raw, _ := base64.RawURLEncoding.DecodeString(parts[i])
		_ = json.Unmarshal(raw, v)
	}
	sum := sha256.Sum256(r.body)
	switch {
	case header.Alg == "none":
		return "token.none"
	case header.KID != kid:
		return "token.stranger"
	case claims.Exp < time.Now().Unix():
		return "token.expired"
	case claims.Aud != "ag_1":
		return "token.other_agent"
	case claims.BH != base64.RawURLEncoding.EncodeToString(sum[:]):
		return "token.other_body"
	}
	return ""
}

// Each defect of an otherwise good agent is found, and nothing else is.
func TestKit_defects(t *testing.T) {
	t.Parallel()
	type defect struct {
		// task answers a task POST and says so; health is the body of the check.
		task   func(w http.ResponseWriter, r request) bool
		health string
		other  func(w http.ResponseWriter, r *http.Request) bool
		want   []string
	}
	text := func(status int, when func(request) bool) func(http.ResponseWriter, request) bool {
		return func(w http.ResponseWriter, r request) bool {
			if when(r) {
				w.WriteHeader(status)
			}
			return when(r)
		}
	}
	// broken fails the load checks by the number of the task after the one of
	// one second, so that no timing decides.
	broken := func(from, to int64) func(http.ResponseWriter, request) bool {
		var after atomic.Int64 // 0: not yet
		return func(w http.ResponseWriter, r request) bool {
			if r.task.TimeLimit == 1 {
				after.Store(1)
				return false
			}
			if after.Load() == 0 {
				return false
			}
			if n := after.Add(1) - 1; n < from || n > to {
				return false
			}
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
	}
	var calls atomic.Int64
	const health = `{"status":"ok","version":"1.0","capabilities":["quiz"],"avg_latency_ms":3,"max_concurrent":`
	for name, d := range map[string]defect{
		"health of another version": {health: `{"status":"ok","version":"2.0"}`, want: []string{"MUST health.ok"}},
		"bare health":               {health: `{"status":"ok","version":"1.0"}`, want: []string{"SHOULD health.fields"}},
		"no league":                 {health: `{"status":"ok","version":"1.0","capabilities":[],"avg_latency_ms":3,"max_concurrent":3}`, want: []string{"SHOULD health.fields"}},
		"answers in plain text": {task: func(w http.ResponseWriter, _ request) bool {
			_, _ = io.WriteString(w, "Canberra")
			return true
		}, want: []string{"MUST task.answer"}},
		"own words": {task: func(w http.ResponseWriter, r request) bool {
			if ok := r.forgery("") == "token.stranger" && r.task.Attempt == 1 && r.task.TimeLimit > 1 && calls.Add(1) == 2; !ok {
				return false
			}
			answer(w, "I believe Canberra")
			return true
		}, want: []string{"SHOULD task.option"}},
		"refuses what is new": {task: text(400, func(r request) bool { return r.task.Season != nil }), want: []string{"MUST task.additions"}},
		"small buffers":       {task: text(413, func(r request) bool { return len(r.body) > 30_000 }), want: []string{"SHOULD task.long"}},
		"builds JSON by hand": {task: func(w http.ResponseWriter, r request) bool {
			if !strings.Contains(r.task.Task.Description, "HACKED") {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"answer":"`+r.task.Task.Description+`"}`)
			return true
		}, want: []string{"MUST task.hostile"}},
		"no second delivery": {task: text(409, func(r request) bool { return r.task.Attempt == 2 }), want: []string{"MUST delivery.twice", "SHOULD game.again"}},
		"forgets": {task: func(w http.ResponseWriter, r request) bool {
			if r.task.Attempt == 2 && r.task.Previous == nil {
				answer(w, "Perth")
				return true
			}
			return false
		}, want: []string{"SHOULD delivery.same"}},
		"remembers the refused move": {task: func(w http.ResponseWriter, r request) bool {
			if r.task.Previous == nil || r.task.Previous.Error == "" {
				return false
			}
			answer(w, "1")
			return true
		}, want: []string{"SHOULD game.again"}},
		"takes its time": {task: func(w http.ResponseWriter, r request) bool {
			if r.task.TimeLimit == 1 {
				<-r.Context().Done() // until the arena hangs up
			}
			return r.task.TimeLimit == 1
		}, want: []string{"SHOULD deadline.kept"}},
		"promises too much":      {health: health + "9}", task: broken(4, 9), want: []string{"MUST load.declared"}},
		"breaks under load":      {task: broken(8, 10), want: []string{"SHOULD load.over"}},
		"trips over half a body": {task: text(500, func(r request) bool { return !json.Valid(r.body) }), want: []string{"SHOULD body.broken"}},
		"a page for everyone": {other: func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/agora" && r.Method != http.MethodPost {
				_, _ = io.WriteString(w, "<h1>agent</h1>")
				return true
			}
			return false
		}, want: []string{"SHOULD http.get"}},
		"hangs up": {other: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Connection", "close")
			return false
		}, want: []string{"SHOULD http.keep_alive"}},
		"dies of half a body": {other: nil, task: nil, want: []string{"MUST health.after"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var dead atomic.Bool
			r := b.check(t, http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
				if d.other != nil && d.other(w, hr) {
					return
				}
				if strings.HasSuffix(hr.URL.Path, "/health") && (d.health != "" || dead.Load()) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, cmp.Or(d.health, "dead"))
					return
				}
				r := request{Request: hr}
				r.body, _ = io.ReadAll(hr.Body)
				_ = json.Unmarshal(r.body, &r.task)
				if name == "dies of half a body" && hr.Method == http.MethodPost && !json.Valid(r.body) {
					dead.Store(true)
				}
				if hr.Method == http.MethodPost && d.task != nil && d.task(w, r) {
					return
				}
				hr.Body = io.NopCloser(bytes.NewReader(r.body))
				b.good.ServeHTTP(w, hr)
			}))
			if diff := gocmp.Diff(d.want, failures(r, conformance.Fail)); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if must := strings.HasPrefix(d.want[0], "MUST"); r.Passed == must {
				t.Errorf("passed is %t", r.Passed)
			}
		})
	}
}

// An agent that checks tokens and accepts one forgery gets its name. Threat E7.
func TestKit_forgeries(t *testing.T) {
	t.Parallel()
	for id, level := range map[string]string{
		"token.missing": "MUST", "token.stranger": "MUST", "token.none": "MUST", "token.expired": "MUST",
		"token.other_agent": "SHOULD", "token.other_body": "SHOULD", "token.signature": "MUST",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.check(t, http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
				r := request{Request: hr}
				r.body, _ = io.ReadAll(hr.Body)
				hr.Body = io.NopCloser(bytes.NewReader(r.body))
				if hr.Method == http.MethodPost && id != "token.signature" && r.forgery(b.kid) == id {
					hr.Body = io.NopCloser(bytes.NewReader(r.body))
					naive(w, hr)
					return
				}
				w2 := httptest.NewRecorder()
				b.good.ServeHTTP(w2, hr)
				if id == "token.signature" && hr.Method == http.MethodPost && w2.Code == http.StatusUnauthorized && r.forgery(b.kid) == "" {
					hr.Body = io.NopCloser(bytes.NewReader(r.body))
					naive(w, hr)
					return
				}
				maps.Copy(w.Header(), w2.Header())
				w.WriteHeader(w2.Code)
				_, _ = w.Write(w2.Body.Bytes())
			}))
			if diff := gocmp.Diff([]string{level + " " + id}, failures(r, conformance.Fail)); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

// A run that is cut says nothing bad of the agent, and nothing good.
func TestKit_cut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the arena hangs up
			cancel()
			<-r.Context().Done()
			return
		}
		b.good.ServeHTTP(w, r)
	}))
	defer s.Close()
	r := b.kit.Run(ctx, arena.Agent{ID: "ag_1", Endpoint: s.URL + "/agora"})
	if r.Passed || r.Must.Fail+r.Should.Fail != 0 || r.Must.Skip != 11 {
		t.Errorf("report: %+v", r)
	}
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	if _, err := conformance.New(conformance.Options{Limit: time.Hour}); err == nil {
		t.Error("a time limit of an hour was taken")
	}
}
