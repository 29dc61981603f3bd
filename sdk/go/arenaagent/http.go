package arenaagent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// maxBody is the most that is read of a task.
const maxBody = 1 << 20

// ServeHTTP serves the endpoint, Config.Path, and its health check.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := strings.TrimRight(r.URL.Path, "/"); {
	case path == a.config.Path && r.Method == http.MethodPost:
		a.serveTask(w, r)
	case path == a.config.Path+"/health" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		a.serveHealth(w, r)
	case path == a.config.Path:
		w.Header().Set("Allow", "POST")
		write(w, failure(http.StatusMethodNotAllowed, errors.New("tasks are sent by POST")))
	case path == a.config.Path+"/health":
		w.Header().Set("Allow", "GET, HEAD")
		write(w, failure(http.StatusMethodNotAllowed, errors.New("the health check is a GET")))
	default:
		write(w, failure(http.StatusNotFound, errors.New("not found")))
	}
}

func (a *Agent) serveTask(w http.ResponseWriter, r *http.Request) {
	arrived := a.config.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		write(w, failure(http.StatusRequestEntityTooLarge, errors.New("the task cannot be read, or is over 1 MiB")))
		return
	}
	task, refused, ok := a.accept(r.Context(), bearer(r), body)
	if !ok {
		write(w, refused)
		return
	}
	work, wait := task.times(arrived)
	gone := a.config.Now().Sub(arrived) // the first task may have waited for the arena's keys
	ctx, cancel := context.WithTimeout(r.Context(), wait-gone)
	defer cancel()
	write(w, a.answer(ctx, task, work-gone))
}

// accept verifies the token of a task and decodes the task. If ok is false, the
// task is refused with the reply.
func (a *Agent) accept(ctx context.Context, token string, body []byte) (_ *Task, refused reply, ok bool) {
	claims, refused, ok := a.authorize(ctx, token, body)
	if !ok {
		return nil, refused, false
	}
	task, err := decodeTask(body)
	if err != nil {
		return nil, failure(http.StatusBadRequest, err), false
	}
	task.Claims, task.Body, task.Token = claims, body, token
	if !a.config.InsecureSkipTokens && !claims.cover(task) {
		return nil, failure(http.StatusUnauthorized, errUnauthorized), false
	}
	return task, reply{}, true
}

// authorize checks the token; refused is the reply when it is not good.
func (a *Agent) authorize(ctx context.Context, token string, body []byte) (_ Claims, refused reply, ok bool) {
	if a.config.InsecureSkipTokens {
		return Claims{}, reply{}, true
	}
	claims, err := a.tokens.verify(ctx, token, body)
	switch {
	case err == nil:
		return claims, reply{}, true
	case errors.Is(err, errNoKeys): // not the agent's fault: leave the match rather than lose it
		return Claims{}, failure(http.StatusServiceUnavailable, errNoKeys), false
	default:
		a.config.Logger.WarnContext(ctx, "task refused", slog.Any("error", err))
		return Claims{}, failure(http.StatusUnauthorized, errUnauthorized), false
	}
}

// answer returns the reply to a task. It reuses work on the task that is running or
// done, and otherwise starts work, which may take limit. ctx is the request's.
func (a *Agent) answer(ctx context.Context, task *Task, limit time.Duration) reply {
	key := task.key()
	for {
		f, first := a.flights.join(key)
		if first {
			a.takeOff(task, limit, key, f)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return failure(http.StatusRequestTimeout, ErrTimeout)
		}
		if first || f.reply.answered() {
			return f.reply
		}
		// The delivery before this one failed: this one is a new try.
	}
}

// takeOff starts the work, or ends the flight when the agent is full.
func (a *Agent) takeOff(task *Task, limit time.Duration, key string, f *flight) {
	select {
	case a.slots <- struct{}{}:
	default:
		a.flights.finish(key, f, a.replyFor(Answer{}, nil, 0, a.config.WhenFull))
		return
	}
	if !a.start(func() { a.work(task, limit, key, f) }) {
		<-a.slots
		a.flights.finish(key, f, failure(http.StatusServiceUnavailable, ErrUnavailable))
	}
}

// bearer returns the request's bearer token. The AAP text shows it in quotes;
// they are passed over.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(strings.TrimSpace(token), `"`)
}

// healthWire is the health check's body (AAP, "Health check").
type healthWire struct {
	Status        string   `json:"status"`
	Version       string   `json:"version"`
	Capabilities  []string `json:"capabilities"`
	AvgLatencyMS  int64    `json:"avg_latency_ms"`
	MaxConcurrent int      `json:"max_concurrent"`
}

func (a *Agent) serveHealth(w http.ResponseWriter, r *http.Request) {
	h := healthWire{
		Status: "ok", Version: Version, Capabilities: append([]string{}, a.config.Capabilities...),
		AvgLatencyMS: a.latency.Load() / 1000, MaxConcurrent: a.config.MaxConcurrent,
	}
	status := http.StatusOK
	if a.life.Err() != nil || a.config.Health != nil && a.config.Health(r.Context()) != nil {
		status, h.Status = http.StatusServiceUnavailable, "unavailable"
	}
	body, err := json.Marshal(h)
	if err != nil {
		write(w, failure(http.StatusInternalServerError, errors.New("the health check cannot be encoded")))
		return
	}
	write(w, reply{status, body})
}

// failure is a reply without an answer.
func failure(status int, err error) reply {
	body, _ := json.Marshal(map[string]string{"error": err.Error()}) // a map of text always encodes
	return reply{status, body}
}

func write(w http.ResponseWriter, r reply) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // a client that left is no failure of ours
}
