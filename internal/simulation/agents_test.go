package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// manner is how an agent behaves.
type manner string

// The manners.
const (
	honest  manner = "honest"  // answers in time, mostly correctly
	slow    manner = "slow"    // answers shortly before or after the time limit
	silent  manner = "silent"  // lets every other round time out
	liar    manner = "liar"    // sends what is no answer, or a health check that is none
	dodger  manner = "dodger"  // gets out of rounds and matches by 503, and is unhealthy at times
	busy    manner = "busy"    // answers 429 at times
	dropper manner = "dropper" // closes connections without a reply
	farmer  manner = "farmer"  // belongs to the owner of the other farmers and loses to them on purpose
)

// manners are the manners of the first agents, which repeat.
func manners() []manner {
	return []manner{honest, honest, slow, honest, farmer, honest, dodger, honest, silent, honest, liar, honest, busy, honest, dropper, farmer}
}

// agent is a program behind an endpoint, or one that asks for its tasks.
type agent struct {
	w       *world
	no      int
	manner  manner
	addr    netip.Addr
	pulls   bool // it has no endpoint
	server  *http.Server
	id      string // once it is registered
	token   string // of its owner
	key     string // with which it asks for tasks
	leagues []string

	mu    sync.Mutex
	posts map[post]int
	sent  map[string]bool // match, round and text of each answer
}

// post is one request for an answer.
type post struct {
	match          string
	round, attempt int
}

const agentPort = 8000

// newAgent starts an agent that nobody knows yet.
func (w *world) newAgent(no int) *agent {
	a := &agent{
		w: w, no: no, manner: manners()[no%len(manners())], addr: netip.AddrFrom4([4]byte{10, 1, byte(no / 256), byte(no % 256)}),
		pulls: no%4 == 3, posts: map[post]int{}, sent: map[string]bool{},
	}
	l, err := w.net.listen(w.t.Context(), "tcp", netip.AddrPortFrom(a.addr, agentPort).String())
	must(w.t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /agent", a.task)
	mux.HandleFunc("GET /agent/health", a.health)
	a.server = &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return w.t.Context() }}
	w.wg.Go(func() { _ = a.server.Serve(l) }) // until close
	return a
}

// register registers the agent.
func (a *agent) register(ctx context.Context, ownerToken string, leagues []string) error {
	var made struct {
		ID  string `json:"agent_id"`
		Key string `json:"agent_key"`
	}
	a.token, a.leagues = ownerToken, leagues
	in := map[string]any{"name": fmt.Sprintf("%s %d", a.manner, a.no), "version": "1", "leagues": leagues, "max_concurrent": 2}
	if !a.pulls {
		in["endpoint"] = fmt.Sprintf("http://%s:%d/agent", a.addr, agentPort)
		delete(in, "max_concurrent") // its health check says so
	}
	err := a.w.api(ownerToken).Call(ctx, http.MethodPost, "/v1/agents", in, &made)
	a.id, a.key = made.ID, made.Key
	return err
}

// now and then is true.
func (a *agent) oneIn(n int) bool { return a.w.intn(n) == 0 }

func (a *agent) health(w http.ResponseWriter, _ *http.Request) {
	a.w.checked()
	switch {
	case a.manner == dodger && a.oneIn(4):
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case a.manner == liar && a.oneIn(20):
		_, _ = io.WriteString(w, "<html>")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "ok", "version": "1.0", "capabilities": a.leagues, "max_concurrent": 2})
}

// secretOf marks what agents think in a round. A spectator who reads it before the round
// has closed has seen what is sealed.
func secretOf(match string, round int) string { return fmt.Sprintf("secret-%s-%d.", match, round) }

// taskBody is what an agent reads of a task (AAP, "Request format").
type taskBody struct {
	MatchID   string  `json:"match_id"`
	Round     int     `json:"round"`
	Attempt   int     `json:"attempt"`
	TimeLimit float64 `json:"time_limit_seconds"`
	Task      struct {
		Description string   `json:"description"`
		Options     []string `json:"options"` // of a game: the legal moves
	} `json:"task"`
}

// task answers a request to the endpoint.
func (a *agent) task(w http.ResponseWriter, r *http.Request) {
	var q taskBody
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return // the arena hung up
	}
	status, body := a.answer(r.Context(), q)
	if status == 0 {
		panic(http.ErrAbortHandler) // or the server would send an empty 200
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// fetch asks for tasks, and answers them, until ctx ends. It is how an agent without an
// endpoint plays.
func (a *agent) fetch(ctx context.Context) {
	for ctx.Err() == nil {
		var d struct {
			Task   taskBody `json:"task"`
			TaskID string   `json:"task_id"`
		}
		path := "/v1/agents/" + a.id + "/tasks"
		if err := a.w.api(a.key).Call(ctx, http.MethodGet, path+"?wait=20", nil, &d); err != nil {
			pause(ctx, time.Second)
			continue
		}
		a.w.checked()
		if d.TaskID == "" {
			continue
		}
		a.w.wg.Go(func() {
			status, body := a.answer(ctx, d.Task)
			if status != http.StatusOK {
				body = fmt.Sprintf(`{"status":%d}`, status)
			}
			if status != 0 {
				_ = a.w.api(a.key).Call(ctx, http.MethodPost, path+"/"+d.TaskID+"/answer", []byte(body), nil) // late ones are refused
			}
		})
	}
}

// answer returns the status and body of a reply, in the manner of the agent. Status 0
// is none.
func (a *agent) answer(ctx context.Context, q taskBody) (status int, body string) {
	a.mu.Lock()
	a.posts[post{q.MatchID, q.Round, q.Attempt}]++
	a.mu.Unlock()
	limit := time.Duration(q.TimeLimit * float64(time.Second))
	think := time.Duration(200+a.w.intn(2800)) * time.Millisecond
	switch {
	case a.manner == slow:
		think = limit + time.Duration(a.w.intn(3000)-2000)*time.Millisecond
	case a.manner == silent && a.oneIn(2):
		think = limit + time.Minute
	case a.manner == dodger && a.oneIn(4):
		return http.StatusServiceUnavailable, ""
	case a.manner == busy && a.oneIn(20):
		return http.StatusTooManyRequests, ""
	case a.manner == liar && a.oneIn(3):
		return http.StatusOK, `{"answer": `
	case a.manner == dropper && a.oneIn(5):
		return 0, ""
	}
	if !pause(ctx, think) {
		return 0, ""
	}
	answer := strings.Replace(q.Task.Description, "question", "answer", 1)
	if a.manner == farmer && a.no%2 == 0 || a.oneIn(4) {
		answer = "wrong"
	}
	if n := len(q.Task.Options); n > 0 {
		answer = q.Task.Options[a.w.intn(n)]
	}
	a.mu.Lock()
	a.sent[fmt.Sprint(q.MatchID, q.Round, answer)] = true
	a.mu.Unlock()
	data, _ := json.Marshal(map[string]any{"answer": answer, "confidence": 0.5, "reasoning": secretOf(q.MatchID, q.Round)}) // always encodes
	return http.StatusOK, string(data)
}
