package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// kind is an agent's manner.
type kind string

// The manners. All but the first are hostile.
const (
	honest    kind = "honest"
	kind500   kind = "500"
	kind503   kind = "503"
	kind429   kind = "429"
	stalling  kind = "stall"
	late      kind = "late"
	garbage   kind = "garbage"
	dropping  kind = "drop"
	huge      kind = "huge"
	redirects kind = "redirect"
	switching kind = "101"
)

func hostileKinds() []kind {
	return []kind{kind500, kind503, kind429, stalling, late, garbage, dropping, huge, redirects, switching}
}

// post is one task POST that an agent received, and what it did.
type post struct {
	agent   string
	kind    kind
	at      time.Time
	match   string
	league  string
	round   int
	attempt int
	task    string
	limit   time.Duration
	flaw    string    // why the request is not one that the arena may send, "" it is
	answer  string    // with status 200
	secret  string    // sent as the reasoning, one of a kind
	replied time.Time // when a good reply was written, zero: none was
	pulled  bool      // the agent fetched it
}

// secretOf marks the texts of an agent in a round. A client that reads it before the
// round has closed has seen what is sealed.
func secretOf(match string, round int, agent string, attempt int) string {
	return fmt.Sprintf("secret-%s-r%d-%s-a%d", match, round, agent, attempt)
}

// agent is a program in this process, behind an HTTP endpoint or polling the
// nodes for its tasks.
type agent struct {
	id     string
	pulls  bool
	key    string // with which it polls
	kind   kind
	chance *chance
	fleet  *fleet
	server *http.Server
	url    string

	mu    sync.Mutex
	posts []post
	given map[string]post // by task, what it answered, of an agent that polls
}

// fleet is all agents.
type fleet struct {
	cluster *cluster
	http    *http.Client
	polls   *http.Client // whose requests have their own time limits
	agents  []*agent
	leagues []string
	ctx     context.Context //nolint:containedctx // ends with the run: unprompted work of the agents ends then
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

func newFleet(ctx context.Context, c *cluster, n int, seed uint64, leagues []string) (*fleet, error) {
	f := &fleet{cluster: c, leagues: leagues, http: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}, polls: &http.Client{Transport: &http.Transport{}}}
	f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	hostile := hostileKinds()
	for i := range n {
		a := &agent{kind: honest, fleet: f, chance: newChance(seed, 1000+uint64(i)), pulls: i/2%2 == 1, given: map[string]post{}}
		if i%6 == 5 { // one in six
			a.kind = hostile[i/6%len(hostile)]
		}
		f.agents = append(f.agents, a)
		if a.pulls {
			continue
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return f, fmt.Errorf("agent %d: %w", i, err)
		}
		a.url = "http://" + l.Addr().String() + "/agora"
		mux := http.NewServeMux()
		mux.HandleFunc("POST /agora", a.task)
		mux.HandleFunc("GET /agora/health", a.health)
		a.server = &http.Server{
			Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
			BaseContext: func(net.Listener) context.Context { return f.ctx },
		}
		f.wg.Go(func() { _ = a.server.Serve(l) }) // until close
	}
	return f, nil
}

func (f *fleet) close() {
	f.cancel()
	for _, a := range f.agents {
		if a.server != nil {
			_ = a.server.Close() // it has no clients any more
		}
	}
	f.wg.Wait()
	f.http.CloseIdleConnections()
	f.polls.CloseIdleConnections()
}

// journal returns everything that all agents received, in order of time.
func (f *fleet) journal() []post {
	var all []post
	for _, a := range f.agents {
		a.mu.Lock()
		all = append(all, a.posts...)
		a.mu.Unlock()
	}
	slices.SortStableFunc(all, func(a, b post) int { return a.at.Compare(b.at) })
	return all
}

func (a *agent) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the arena may have hung up
		"status": "ok", "version": "1.0", "capabilities": a.fleet.leagues, "avg_latency_ms": 100, "max_concurrent": atOnce,
	})
}

// request is what an agent reads of a task POST (AAP, "Request format").
type request struct {
	League    string  `json:"league"`
	MatchID   string  `json:"match_id"`
	Round     int     `json:"round"`
	Attempt   int     `json:"attempt"`
	TaskID    string  `json:"task_id"`
	TimeLimit float64 `json:"time_limit_seconds"`
	Task      struct {
		Description string   `json:"description"`
		Options     []string `json:"options"` // of a game: the legal moves
	} `json:"task"`
}

func (a *agent) task(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the arena hung up
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	p, n := a.note(at, token, body)
	if a.kind != honest && a.kind != late {
		a.misbehave(w, r)
		return
	}
	if !wait(r.Context(), a.think(token, p)) {
		panic(http.ErrAbortHandler) // a handler that just returns would send an empty 200
	}
	reply, _ := json.Marshal(map[string]any{"answer": p.answer, "reasoning": p.secret, "confidence": 0.5}) // always encodes
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(reply); err != nil {
		return
	}
	if http.NewResponseController(w).Flush() == nil && r.Context().Err() == nil {
		a.mu.Lock()
		a.posts[n].replied = time.Now()
		a.mu.Unlock()
	}
}

// note writes a task down and decides its answer. It returns the number of the
// note.
func (a *agent) note(at time.Time, token string, body []byte) (p post, n int) {
	var q request
	flaw := ""
	if err := json.Unmarshal(body, &q); err != nil {
		flaw = "its body is not a task: " + err.Error()
	}
	if flaw == "" {
		flaw = a.checkToken(token, body, q)
	}
	p = post{
		agent: a.id, kind: a.kind, at: at, match: q.MatchID, league: q.League, round: q.Round, attempt: q.Attempt, task: q.TaskID,
		limit: time.Duration(q.TimeLimit * float64(time.Second)), flaw: flaw, pulled: a.pulls,
	}
	p.secret = secretOf(q.MatchID, q.Round, a.id, q.Attempt)
	p.answer = strings.Replace(q.Task.Description, "question", "right answer", 1)
	if a.chance.oneIn(4) {
		p.answer = "wrong " + p.secret
	}
	if len(q.Task.Options) > 0 {
		p.answer = q.Task.Options[a.chance.intn(len(q.Task.Options))]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.posts = append(a.posts, p)
	return p, len(a.posts) - 1
}

// think returns how long the agent works on a task, and may report events
// meanwhile.
func (a *agent) think(token string, p post) time.Duration {
	d := a.chance.between(30*time.Millisecond, 700*time.Millisecond)
	if a.kind == late {
		return p.limit + 50*time.Millisecond
	}
	if a.chance.oneIn(2) {
		a.fleet.wg.Go(func() { a.sendEvents(token, p) })
	}
	return d
}

// checkToken returns the fault of a task's token; its signature is for the
// SDK's tests.
func (a *agent) checkToken(token string, body []byte, q request) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "it has no token"
	}
	var claims struct {
		Agent string `json:"agent_id"`
		Match string `json:"match_id"`
		Round int    `json:"round"`
		Hash  string `json:"bh"`
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err := errors.Join(err, json.Unmarshal(text, &claims)); err != nil {
		return "its token cannot be read: " + err.Error()
	}
	sum := sha256.Sum256(body)
	switch {
	case claims.Agent != a.id:
		return "its token is for agent " + claims.Agent
	case claims.Match != q.MatchID || claims.Round != q.Round:
		return fmt.Sprintf("its token is for round %d of match %s", claims.Round, claims.Match)
	case claims.Hash != base64.RawURLEncoding.EncodeToString(sum[:]):
		return "its token is for another body"
	}
	return ""
}

// sendEvents sends two stream events to some node, as an agent that thinks aloud.
// Whether they are taken depends on the faults of the moment.
func (a *agent) sendEvents(token string, p post) {
	url := a.chance.url(a.fleet.cluster)
	if url == "" {
		return
	}
	lines := fmt.Sprintf("{\"type\":\"thinking\",\"message\":%q}\n{\"type\":\"tool_call\",\"tool\":\"search\",\"args\":{\"q\":%q}}\n", p.secret, p.secret)
	r, err := http.NewRequestWithContext(a.fleet.ctx, http.MethodPost, url+"/v1/stream", bytes.NewReader([]byte(lines)))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	r.Header.Set("Authorization", "Bearer "+token)
	if resp, err := a.fleet.http.Do(r); err == nil {
		said, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusInternalServerError || bytes.Contains(said, []byte(`"code":"internal"`)) {
			a.fleet.cluster.problems.add("C5", "agent %s sends events of match %s: a fault of the storage is no fault of ours, yet %.300s", a.id, p.match, said)
		}
	}
}

// misbehave answers as the agent's kind does.
func (a *agent) misbehave(w http.ResponseWriter, r *http.Request) {
	switch a.kind {
	case kind500:
		w.WriteHeader(http.StatusInternalServerError)
	case kind503:
		w.WriteHeader(http.StatusServiceUnavailable)
	case kind429:
		w.WriteHeader(http.StatusTooManyRequests)
	case garbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"answer": `))
	case huge:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"answer":"` + strings.Repeat("x", 200<<10) + `"}`))
	case redirects:
		w.Header().Set("Location", a.fleet.agents[0].url)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case switching:
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_ = buffered.Flush()
		wait(a.fleet.ctx, 3*time.Second)
	case stalling:
		wait(r.Context(), time.Hour)
		panic(http.ErrAbortHandler)
	default:
		panic(http.ErrAbortHandler) // drops the connection
	}
}

// wait pauses for d and reports whether ctx lasted that long.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
