package envelope

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

const (
	pollTime  = 30 * time.Second // for which the relay is asked to wait
	postTime  = 10 * time.Second
	pauseTime = 500 * time.Millisecond // after a failure, at first; it doubles
	maxPause  = 5 * time.Second
	maxPage   = 4 << 20
	day       = "2006-01-02T15:04:05.000Z"
)

// Config describes an agent. Arena and Key are needed.
type Config struct {
	Arena string // base URL of the arena; the relay lies at /relay below it
	Key   Key
	Name  string // shown as the sender's

	// Leagues are the slugs that it plays, for its manifest; none: all that it
	// has entered.
	Leagues       []string
	MaxConcurrent int // matches at once; default arenaagent.DefaultMaxConcurrent

	// ArenaDID is the arena's did:key; "": that which /relay/health names at
	// the start.
	ArenaDID string

	HTTPClient *http.Client // its time-out must be longer than 40 s; default has none
	Logger     *slog.Logger // default: silent
	Now        func() time.Time
}

// Run plays until ctx ends; then it waits for the running tasks, and returns
// nil. The error is one of the configuration.
func Run(ctx context.Context, c Config, handler arenaagent.Handler) error {
	if c.Key.private == nil || handler == nil {
		return errors.New("envelope: Config.Key and a handler are needed")
	}
	if u, err := url.Parse(c.Arena); err != nil || u.Host == "" {
		return fmt.Errorf("envelope: Config.Arena %q is not a URL", c.Arena)
	}
	a := &agent{Config: c, handler: handler, relay: strings.TrimRight(c.Arena, "/") + "/relay", threads: map[string]*thread{}}
	a.MaxConcurrent = cmp.Or(c.MaxConcurrent, arenaagent.DefaultMaxConcurrent)
	if a.HTTPClient == nil {
		a.HTTPClient = &http.Client{}
	}
	if a.Logger == nil {
		a.Logger = slog.New(slog.DiscardHandler)
	}
	if a.Now == nil {
		a.Now = time.Now //nolint:forbidigo // the one place where this package reads the system's clock
	}
	defer a.working.Wait()
	since := a.Now().Add(-time.Minute).UTC().Format(day) // what was asked a moment ago may still be answered
	announced := false
	for pause := pauseTime; ctx.Err() == nil; {
		err := a.meet(ctx, &announced)
		if err == nil {
			since, err = a.poll(ctx, since)
		}
		if err == nil {
			pause = pauseTime
			continue
		}
		if ctx.Err() == nil {
			a.Logger.WarnContext(ctx, "relay not reached", slog.Any("error", err))
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		pause = min(2*pause, maxPause)
	}
	return nil
}

type agent struct {
	Config
	handler arenaagent.Handler
	relay   string
	working sync.WaitGroup

	mu      sync.Mutex
	threads map[string]*thread
}

// thread is a task from its REQUEST on.
type thread struct {
	request  string          // request_id
	task     json.RawMessage // AAP's
	deadline time.Time       // by the agent's clock
	stop     context.CancelFunc
}

// envelope is what an agent reads of one.
type envelope struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Sender struct {
		ID string `json:"id"`
	} `json:"sender"`
	Thread struct {
		ID string `json:"id"`
	} `json:"thread"`
	Payload struct {
		RequestID   string          `json:"request_id"`
		Params      json.RawMessage `json:"params"`
		Constraints struct {
			MaxLatencyMS float64 `json:"max_latency_ms"`
		} `json:"constraints"`
	} `json:"payload"`
}

// meet fetches the arena's key, and publishes the manifest once.
func (a *agent) meet(ctx context.Context, announced *bool) error {
	if a.ArenaDID == "" {
		var health struct {
			DID string `json:"did"`
		}
		if err := a.call(ctx, http.MethodGet, "/health", nil, &health); err != nil {
			return err
		}
		if _, err := keyOf(health.DID); err != nil {
			return fmt.Errorf("the relay's own key: %w", err)
		}
		a.ArenaDID = health.DID
	}
	if *announced || len(a.Leagues) == 0 {
		return nil
	}
	intents := make([]map[string]string, len(a.Leagues))
	for i, l := range a.Leagues {
		intents[i] = map[string]string{"id": "arena." + strings.ReplaceAll(l, "-", "_")}
	}
	manifest := map[string]any{
		"id": "cap_arena", "name": cmp.Or(a.Name, "agent"), "version": "1.0.0", "intents": intents, "max_concurrent": a.MaxConcurrent,
		"auth": map[string]any{"methods": []string{"ed25519"}, "public_key": strings.TrimPrefix(a.Key.DID(), "did:key:")},
	}
	err := a.post(ctx, "STATUS", "", map[string]any{"manifest": manifest})
	*announced = err == nil
	return err
}

// poll sends one request and handles the envelopes that arrive. It returns the next since.
func (a *agent) poll(ctx context.Context, since string) (string, error) {
	q := url.Values{"since": {since}, "recipient": {a.Key.DID()}, "sender": {a.ArenaDID}, "timeout": {fmt.Sprint(int(pollTime.Seconds()))}}
	var page struct {
		Events []json.RawMessage `json:"events"`
		Cursor string            `json:"cursor"`
	}
	if err := a.call(ctx, http.MethodGet, "/events?"+q.Encode(), nil, &page); err != nil {
		return since, err
	}
	for _, raw := range page.Events {
		if err := a.receive(ctx, raw); err != nil {
			a.Logger.WarnContext(ctx, "envelope skipped", slog.Any("error", err))
		}
	}
	return cmp.Or(page.Cursor, since), nil
}

// receive handles one envelope. The arena's signature is checked first.
func (a *agent) receive(ctx context.Context, raw []byte) error {
	signed, err := verify(raw, a.ArenaDID)
	if err != nil {
		return err
	}
	var e envelope
	if err := json.Unmarshal(signed, &e); err != nil {
		return fmt.Errorf("read the envelope: %w", err)
	}
	if e.Sender.ID != a.ArenaDID {
		return errors.New("the sender is not the arena")
	}
	a.mu.Lock()
	t := a.threads[e.Thread.ID]
	a.mu.Unlock()
	switch {
	case e.Type == "REQUEST" && t == nil:
		limit := time.Duration(e.Payload.Constraints.MaxLatencyMS * float64(time.Millisecond))
		t = &thread{request: e.Payload.RequestID, task: e.Payload.Params, deadline: a.Now().Add(limit), stop: func() {}}
		a.mu.Lock()
		for id, old := range a.threads { // of an arena that went away
			if a.Now().Sub(old.deadline) > time.Minute {
				old.stop()
				delete(a.threads, id)
			}
		}
		a.threads[e.Thread.ID] = t
		a.mu.Unlock()
		a.working.Go(func() { a.offer(context.WithoutCancel(ctx), e.Thread.ID, t) })
	case e.Type == "ACCEPT" && t != nil:
		work, stop := context.WithCancel(ctx)
		a.mu.Lock()
		t.stop = stop
		a.mu.Unlock()
		a.working.Go(func() {
			defer stop()
			a.work(work, e.Thread.ID, t)
		})
	case t != nil: // ERROR: the time is over, or the arena has ended it
		a.mu.Lock()
		t.stop()
		delete(a.threads, e.Thread.ID)
		a.mu.Unlock()
	}
	return nil
}

func (a *agent) offer(ctx context.Context, id string, t *thread) {
	err := a.post(ctx, "OFFER", id, map[string]any{"request_id": t.request, "plan": "answer", "price": map[string]any{"amount": 0, "currency": "USD"}})
	if err != nil {
		a.Logger.WarnContext(ctx, "offer not posted", slog.Any("error", err))
	}
}

// work answers an accepted task.
func (a *agent) work(ctx context.Context, id string, t *thread) {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.threads, id)
	}()
	push := func(ctx context.Context, event []byte) error {
		err := a.post(ctx, "STATUS", id, map[string]any{"event": json.RawMessage(event)})
		if refused := (*refusal)(nil); errors.As(err, &refused) && refused.status < 500 {
			return nil // the arena will not take it the next time either
		}
		return err
	}
	answer, err := arenaagent.Work(ctx, t.task, t.deadline.Sub(a.Now()), a.handler, push, a.Logger)
	last := context.WithoutCancel(ctx)
	if err == nil {
		err = a.post(last, "RESULT", id, map[string]any{"request_id": t.request, "status": "success", "output": json.RawMessage(answer)})
	} else {
		a.Logger.WarnContext(ctx, "task not answered", slog.Any("error", err))
		err = a.post(last, "ERROR", id, map[string]any{
			"code": codeOf(ctx, err), "message": "the agent gave no answer", "details": map[string]string{"request_id": t.request},
		})
	}
	if err != nil {
		a.Logger.WarnContext(ctx, "answer not posted", slog.Any("error", err))
	}
}

// codeOf follows arenaagent's statuses.
func codeOf(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, arenaagent.ErrRateLimited):
		return "RATE_LIMITED"
	case errors.Is(err, arenaagent.ErrUnavailable), ctx.Err() != nil:
		return "UNAVAILABLE"
	case errors.Is(err, arenaagent.ErrTimeout):
		return "TIMEOUT"
	}
	return "INTERNAL_ERROR"
}

// post signs an envelope to the arena and posts it to the relay.
func (a *agent) post(ctx context.Context, typ, thread string, payload map[string]any) error {
	sender := map[string]string{"id": a.Key.DID()}
	if a.Name != "" {
		sender["name"] = a.Name
	}
	e := map[string]any{
		"version": "1.0", "id": "msg_" + rand.Text(), "ts": a.Now().UTC().Format(day), "type": typ,
		"sender": sender, "recipient": map[string]string{"id": a.ArenaDID}, "payload": payload,
	}
	if thread != "" {
		e["thread"] = map[string]string{"id": thread}
	}
	body, err := a.Key.sign(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	err = a.call(ctx, http.MethodPost, "/events", body, nil)
	if refused := (*refusal)(nil); err != nil && ctx.Err() == nil && (!errors.As(err, &refused) || refused.status >= 500) {
		err = a.call(ctx, http.MethodPost, "/events", body, nil) // the id makes it safe
	}
	return err
}

// refusal is the relay's no.
type refusal struct {
	status  int
	Word    string `json:"error"`
	Message string `json:"message"`
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the relay answers %d %s: %s", r.status, r.Word, r.Message)
}

func (a *agent) call(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, a.relay+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := a.HTTPClient.Do(req)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		r := &refusal{status: resp.StatusCode}
		_ = json.Unmarshal(data, r) // without a reason the status has to do
		return r
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}
