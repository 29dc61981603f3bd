package arenaagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ErrAgentKey is returned by Connect when the arena does not accept
// Config.AgentKey.
var ErrAgentKey = errors.New("the arena does not accept the agent key: it is wrong or was revoked")

const (
	pollWait     = 50 * time.Second // of one long poll; proxies cut idle requests at 60
	pollSlack    = 15 * time.Second // for its connection and its reply
	shortPoll    = time.Second      // a poll without a task that took less counts as a failure
	callTime     = 10 * time.Second // for any other request
	releaseTime  = 3 * time.Second  // for the last answers, once the agent is closed
	firstRetry   = 250 * time.Millisecond
	longestRetry = 5 * time.Second
	longestOrder = 5 * time.Minute // the longest Retry-After that is honored
	maxDelivery  = 2 * maxBody
	maxRefused   = 3 // tasks in a row with a token that does not verify
)

// Connect plays without an open port. It fetches tasks from config.Arena with
// config.AgentKey, calls the handler and posts its answers, until ctx ends. Then
// running tasks may finish for at most ten seconds, and tasks that take longer
// are answered with 503. Connect returns nil when ctx ended it, ErrAgentKey when
// the arena does not accept the key, and another error when the arena refuses
// the agent for good. It retries everything else.
//
// Connect works on at most as many tasks at once as the agent registered
// (max_concurrent), fewer if config.MaxConcurrent is lower.
func Connect(ctx context.Context, config Config, handler Handler) error {
	return connect(ctx, config, handler, shutdownTime)
}

// connect is Connect with the time that running tasks have once ctx has ended.
func connect(ctx context.Context, config Config, handler Handler, grace time.Duration) error {
	if config.AgentKey == "" {
		return errors.New("arenaagent: Connect needs Config.AgentKey")
	}
	a, err := New(config, handler)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	c := &connection{agent: a, named: config.Issuer}
	limit, err := c.identify(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if config.MaxConcurrent > 0 {
		limit = min(limit, config.MaxConcurrent)
	}
	a.slots = make(chan struct{}, limit)
	return c.run(ctx, limit, grace)
}

// connection fetches the tasks of one agent.
type connection struct {
	agent   *Agent
	named   string       // Config.Issuer; if it is empty, the arena names the issuer itself
	refused atomic.Int32 // tokens in a row that did not verify
}

// identify looks up the agent of the key and returns how many tasks it may work
// on at once.
func (c *connection) identify(ctx context.Context) (limit int, err error) {
	var me struct {
		AgentID string `json:"agent_id"`
		Issuer  string `json:"issuer"`
	}
	if err := c.read(ctx, "/v1/me", &me); err != nil || ctx.Err() != nil {
		return 0, err
	}
	id := cmp.Or(c.agent.config.AgentID, me.AgentID)
	if id == "" {
		return 0, errors.New("arenaagent: Config.AgentKey is not the key of an agent, and Config.AgentID is empty")
	}
	c.agent.SetAgentID(id)
	if me.Issuer != "" && c.named == "" {
		c.agent.tokens.setIssuer(c.agent.config, me.Issuer)
	}
	var agent struct {
		MaxConcurrent int `json:"max_concurrent"`
		Health        struct {
			MaxConcurrent int `json:"max_concurrent"`
		} `json:"health"`
	}
	if err := c.read(ctx, c.path(id, ""), &agent); err != nil {
		return 0, err
	}
	return max(1, cmp.Or(agent.MaxConcurrent, agent.Health.MaxConcurrent)), nil
}

// path returns the path of the agent's resource.
func (c *connection) path(id, resource string) string {
	return "/v1/agents/" + url.PathEscape(id) + resource
}

// read gets a JSON object. It retries until ctx ends.
func (c *connection) read(ctx context.Context, path string, into any) error {
	var retry backoff
	for {
		data, _, err := c.call(ctx, http.MethodGet, path, nil, callTime)
		if err == nil {
			if err = json.Unmarshal(data, into); err != nil {
				return fmt.Errorf("arenaagent: GET %s: %w", path, err)
			}
			return nil
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // ctx has ended
		}
		if permanent(err) {
			return fmt.Errorf("arenaagent: GET %s: %w", path, err)
		}
		c.report(ctx, &retry, err)
		if !retry.wait(ctx, err) {
			return nil
		}
	}
}

// run polls in as many loops as tasks may be worked on, so that polls and
// running tasks together never exceed the agent's limit.
func (c *connection) run(ctx context.Context, loops int, grace time.Duration) error {
	polling, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c.agent.config.Logger.InfoContext(ctx, "agent connected", slog.String("arena", c.agent.config.Arena), slog.Int("max_concurrent", loops))
	var wg sync.WaitGroup
	for range loops {
		wg.Go(func() {
			if err := c.loop(polling); err != nil {
				stop(err) // the first one is the cause
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wg.Wait()
	}()
	<-polling.Done()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		c.agent.end() // releases the tasks that are left with 503
		<-ended
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("arenaagent: %w", context.Cause(polling))
}

// loop fetches and answers one task after the other until ctx ends. It returns
// an error when there is no point in continuing.
func (c *connection) loop(ctx context.Context) error {
	var retry backoff
	for ctx.Err() == nil {
		began := c.agent.config.Now()
		d, err := c.next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // ctx has ended
		case err != nil && permanent(err):
			return err
		case err != nil:
			c.report(ctx, &retry, err)
			retry.wait(ctx, err)
		case d != nil:
			retry = backoff{}
			if err := c.work(ctx, d); err != nil {
				return err
			}
		case c.agent.config.Now().Sub(began) < shortPoll: // the node drains
			retry.wait(ctx, nil)
		default:
			retry = backoff{}
		}
	}
	return nil
}

// delivery is one task as a poll returns it. Task keeps its bytes, because the
// token covers them.
type delivery struct {
	Task   json.RawMessage `json:"task"`
	Token  string          `json:"token"`
	TaskID string          `json:"task_id"`
}

// next waits for a task; nil means that none came.
func (c *connection) next(ctx context.Context) (*delivery, error) {
	wait := pollWait
	if t := c.agent.client.Timeout; t > 0 {
		wait = min(wait, t/2)
	}
	id := *c.agent.tokens.agentID.Load()
	path := c.path(id, "/tasks?wait="+strconv.Itoa(int(wait.Seconds())))
	data, status, err := c.call(ctx, http.MethodGet, path, nil, wait+pollSlack)
	if err != nil || status == http.StatusNoContent {
		return nil, err
	}
	var d delivery
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("decode a delivery: %w", err)
	}
	if d.TaskID == "" {
		return nil, errors.New("a delivery has no task_id")
	}
	return &d, nil
}

// work answers one task. Like loop, it returns an error when there is no point
// in continuing.
func (c *connection) work(ctx context.Context, d *delivery) error {
	a, arrived := c.agent, c.agent.config.Now()
	ctx = context.WithoutCancel(ctx) // a running task outlives the polling
	checking, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	task, refused, ok := a.accept(checking, d.Token, d.Task)
	if !ok {
		return c.refuse(ctx, d, refused)
	}
	c.refused.Store(0)
	limit, wait := task.times(arrived)
	gone := a.config.Now().Sub(arrived)
	posting, done := context.WithTimeout(ctx, wait-gone+callTime)
	defer done()
	release := context.AfterFunc(a.life, func() { time.AfterFunc(releaseTime, done) })
	defer release()
	waiting, cancelWait := context.WithTimeout(posting, wait-gone)
	defer cancelWait()
	released := context.AfterFunc(a.life, cancelWait)
	defer released()
	r := a.answer(waiting, task, limit-gone)
	if a.life.Err() != nil && !r.answered() {
		r = failure(http.StatusServiceUnavailable, ErrUnavailable)
	}
	return c.post(posting, d.TaskID, r)
}

// refuse answers a task whose token or body is not accepted. The agent leaves
// the match: the round would be lost for a fault that is not the agent's.
func (c *connection) refuse(ctx context.Context, d *delivery, refused reply) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if refused.status != http.StatusUnauthorized {
		return c.post(ctx, d.TaskID, refused)
	}
	if err := c.post(ctx, d.TaskID, failure(http.StatusServiceUnavailable, ErrUnavailable)); err != nil {
		return err
	}
	if issuer := issuerOf(d.Token); issuer != "" && issuer != c.agent.tokens.issuer {
		return fmt.Errorf("the arena issues its task tokens as %q, not as %q: connect to that URL or set Config.Issuer", clip(issuer, maxName), c.agent.tokens.issuer)
	}
	if c.refused.Add(1) >= maxRefused {
		return fmt.Errorf("the tokens of %d tasks in a row do not verify", maxRefused)
	}
	return nil
}

// issuerOf returns the issuer that a token claims.
func issuerOf(token string) string {
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
		return ""
	}
	return claims.Issuer
}

// post sends the reply to a task. It retries until ctx ends; the arena accepts
// the same bytes more than once.
func (c *connection) post(ctx context.Context, taskID string, r reply) error {
	body := r.body
	if !r.answered() {
		status := r.status
		switch status {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		default:
			status = http.StatusInternalServerError
		}
		body = []byte(`{"status":` + strconv.Itoa(status) + `}`)
	}
	log := c.agent.config.Logger.With(slog.String("task_id", taskID))
	path := c.path(*c.agent.tokens.agentID.Load(), "/tasks/"+url.PathEscape(taskID)+"/answer")
	var retry backoff
	for {
		_, _, err := c.call(ctx, http.MethodPost, path, body, callTime)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrAgentKey):
			return err
		case permanent(err):
			log.WarnContext(ctx, "answer refused", slog.Any("error", err))
			return nil
		}
		if !retry.wait(ctx, err) {
			log.WarnContext(ctx, "answer not delivered", slog.Any("error", err))
			return nil
		}
	}
}

// refusal is a response of the arena that is not a success.
type refusal struct {
	status     int
	code       string
	detail     string
	retryAfter time.Duration
}

// Error returns the status and the arena's explanation.
func (r *refusal) Error() string {
	return fmt.Sprintf("status %d %s: %s", r.status, r.code, r.detail)
}

// permanent reports whether a repetition of the request would fail too.
func permanent(err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return errors.Is(err, ErrAgentKey)
	}
	switch r.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return r.status < 500
}

// call makes one request with the agent key and returns the body and status of
// a success. Any other response is a *refusal, and ErrAgentKey for 401.
func (c *connection) call(ctx context.Context, method, path string, body []byte, limit time.Duration) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.agent.config.Arena+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.agent.config.AgentKey)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.agent.client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDelivery+1))
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("read the response: %w", err)
	case len(data) > maxDelivery:
		return nil, 0, fmt.Errorf("the response has more than %d bytes", maxDelivery)
	case resp.StatusCode/100 == 2:
		return data, resp.StatusCode, nil
	}
	r := &refusal{status: resp.StatusCode, retryAfter: retryAfter(resp.Header, c.agent.config.Now())}
	var problem struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	if json.Unmarshal(data, &problem) == nil {
		r.code, r.detail = clip(problem.Code, maxName), clip(problem.Detail, maxText)
	}
	switch {
	case r.status == http.StatusUnauthorized:
		return nil, r.status, errors.Join(ErrAgentKey, r)
	case r.status/100 == 3:
		r.detail = fmt.Sprintf("the arena redirects to %q: connect to that URL", clip(resp.Header.Get("Location"), maxText))
	}
	return nil, r.status, r
}

// retryAfter returns the time that a Retry-After header asks for, in seconds or
// as a date; 0 without one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	wait := time.Duration(0)
	if n, err := strconv.Atoi(text); err == nil {
		wait = time.Duration(min(max(n, 0), int(longestOrder.Seconds()))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestOrder)
}

// report logs the first failure of a series; the others only for debugging.
func (c *connection) report(ctx context.Context, retry *backoff, err error) {
	level := slog.LevelDebug
	if retry.pause == 0 {
		level = slog.LevelWarn
	}
	c.agent.config.Logger.Log(ctx, level, "arena not reached", slog.Any("error", err))
}

// backoff is the pause before the next attempt. It doubles with each failure.
type backoff struct{ pause time.Duration }

// wait waits after a failed attempt, at least as long as the arena asked for.
// It reports false when ctx ended.
func (b *backoff) wait(ctx context.Context, err error) bool {
	b.pause = min(max(2*b.pause, firstRetry), longestRetry)
	pause := b.pause/2 + rand.N(b.pause/2) //nolint:gosec // jitter, not a secret
	if r, ok := errors.AsType[*refusal](err); ok {
		pause = max(pause, r.retryAfter+pause/4)
	}
	return sleep(ctx, pause)
}
