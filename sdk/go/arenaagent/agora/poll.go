package agora

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// longestPause is how long Poll waits at most after the arena could not be
// reached.
const longestPause = 10 * time.Second

// shortPoll is the shortest time of a poll without a task.
const shortPoll = 500 * time.Millisecond

// How long, and how often, an answer is sent to an arena that does not take it.
const (
	submitLimit = 3 * time.Second
	submitPause = 250 * time.Millisecond
)

// poller is an agent that asks for its tasks.
type poller struct {
	config  Config
	handler arenaagent.Handler

	mu      sync.Mutex
	at      string // the conversation's URL; "" none is open
	after   int64  // the newest task that is being worked on
	working sync.WaitGroup
	slots   chan struct{}
}

// Poll plays without an open port: it asks the arena for tasks at Config.Base
// and answers them, until ctx ends; then it waits for the handlers at work,
// whose contexts end too. It returns nil when ctx ended it, and an error when the
// base does not exist.
func Poll(ctx context.Context, config Config, handler arenaagent.Handler) error {
	config, err := config.withDefaults(handler)
	if err != nil {
		return err
	}
	if config.Base == "" {
		return errors.New("agora: Poll needs Config.Base, see Register")
	}
	p := &poller{config: config, handler: handler, slots: make(chan struct{}, config.MaxConcurrent)}
	defer p.working.Wait()
	pause := time.Duration(0)
	for {
		select {
		case p.slots <- struct{}{}: // the arena sends no more tasks than there are free slots
		case <-ctx.Done():
			return nil
		}
		asked := config.Now()
		task, err := p.next(ctx)
		if task.Number == nil {
			<-p.slots
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errUnknownBase):
			return err
		case err != nil:
			config.Logger.WarnContext(ctx, "arena not reached", "error", err)
			pause = min(max(2*pause, longestPause/64), longestPause)
			rest(ctx, pause)
		case task.Number == nil && config.Now().Sub(asked) < shortPoll: // the arena holds no polls now
			pause = 0
			rest(ctx, shortPoll)
		default:
			pause = 0
		}
		if task.Number != nil {
			p.working.Go(func() {
				defer func() { <-p.slots }()
				p.work(ctx, task)
			})
		}
	}
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errUnknownBase = errors.New("agora: the arena does not have this base: request a new one")

// given is the reply of the arena to a request for the next task.
type given struct {
	Number     *int64          `json:"task"`
	TimeLeftMS int64           `json:"time_left_ms"`
	Request    json.RawMessage `json:"request"`
	Error      string          `json:"error"`
}

func (p *poller) next(ctx context.Context) (g given, err error) {
	op := map[string]any{"op": "next", "max_concurrent": p.config.MaxConcurrent}
	p.mu.Lock()
	if p.after > 0 {
		op["after"] = p.after
	}
	p.mu.Unlock()
	if err := p.say(ctx, op, &g); err != nil {
		return given{}, err
	}
	if g.Error != "" {
		return given{}, fmt.Errorf("agora: next: %s", g.Error)
	}
	if g.Number != nil {
		p.mu.Lock()
		p.after = *g.Number
		p.mu.Unlock()
	}
	return g, nil
}

// say sends an operation in the conversation, and opens one when there is none
// or it is over.
func (p *poller) say(ctx context.Context, op map[string]any, out any) error {
	text, err := json.Marshal(op)
	if err != nil {
		return fmt.Errorf("agora: encode: %w", err)
	}
	p.mu.Lock()
	at := p.at
	p.mu.Unlock()
	if at != "" {
		body, _, err := exchange(ctx, p.config.HTTPClient, at, map[string]any{"status": "success", "body": string(text)})
		if !errors.Is(err, errGone) {
			return read(body, err, out)
		}
	}
	body, id, err := exchange(ctx, p.config.HTTPClient, p.config.Base, first(AgentHash, string(text), true))
	if errors.Is(err, errGone) {
		return errUnknownBase
	}
	if id != "" {
		p.mu.Lock()
		p.at = p.config.Base + "/conversations/" + id
		p.mu.Unlock()
	}
	return read(body, err, out)
}

func read(body string, err error, out any) error {
	if err == nil {
		err = json.Unmarshal([]byte(body), out)
	}
	return err
}

func (p *poller) work(ctx context.Context, g given) {
	limit := time.Duration(g.TimeLeftMS) * time.Millisecond
	working, cancel := context.WithTimeout(ctx, limit-min(200*time.Millisecond, limit/10))
	defer cancel()
	var named struct {
		MatchID string `json:"match_id"`
	}
	_ = json.Unmarshal(g.Request, &named) // Work reports the error
	answer, err := arenaagent.Work(working, g.Request, limit, p.handler, showTo(p.config, named.MatchID), p.config.Logger)
	if ctx.Err() != nil { // the agent stops: it leaves the match
		answer, err = nil, arenaagent.ErrUnavailable
	}
	if err != nil {
		p.config.Logger.WarnContext(ctx, "task not answered", "error", err)
	}
	p.submit(context.WithoutCancel(ctx), *g.Number, replyOf(answer, err))
}

// submit sends an answer to the arena. The same one may come twice.
func (p *poller) submit(ctx context.Context, task int64, reply string) {
	ctx, cancel := context.WithTimeout(ctx, submitLimit)
	defer cancel()
	op := map[string]any{"op": "answer", "task": task, "reply": json.RawMessage(reply)}
	for {
		var said given
		err := p.say(ctx, op, &said)
		if err == nil && said.Error == "" {
			return
		}
		p.config.Logger.WarnContext(ctx, "answer not taken", "said", said.Error, "error", err)
		if err == nil || errors.Is(err, errUnknownBase) {
			return // the arena has decided
		}
		select {
		case <-time.After(submitPause):
		case <-ctx.Done():
			return
		}
	}
}

// showTo brings events of a match to the arena; nil when there is nowhere to
// bring them.
func showTo(c Config, matchID string) func(ctx context.Context, event []byte) error {
	if c.Base == "" || matchID == "" {
		return nil
	}
	return func(ctx context.Context, event []byte) error {
		op, err := json.Marshal(map[string]any{"op": "event", "match_id": matchID, "events": []json.RawMessage{event}})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, submitLimit)
		defer cancel()
		_, _, err = exchange(ctx, c.HTTPClient, c.Base, first(AgentHash, string(op), false))
		return err
	}
}
