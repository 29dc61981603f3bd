package pull

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/mailbox"
)

// Store keeps the tasks of agents that fetch them, and their presence.
type Store interface {
	PutPulled(ctx context.Context, t arena.PulledTask, limit time.Duration) (arena.PulledTask, error)
	TakePulled(ctx context.Context, agentID string, most int, now time.Time) (t arena.PulledTask, ok bool, err error)
	ReturnPulled(ctx context.Context, t arena.PulledTask) error
	Pulled(ctx context.Context, agentID, taskID string) (arena.PulledTask, error)
	AnswerPulled(ctx context.Context, agentID, taskID string, answer []byte, now time.Time) (t arena.PulledTask, first bool, err error)
	DropPulled(ctx context.Context, t arena.PulledTask) error
	PulledChanges(ctx context.Context, now, since time.Time) (agents, answered []string, err error)
	RevokedSince(ctx context.Context, since time.Time) ([]string, error)
	ExtendPresence(ctx context.Context, present []arena.Presence) error
	PresentUntil(ctx context.Context, agentID string) (time.Time, error)
}

// The prefixes of the notifier's keys.
const (
	taskKey   = "pull/task/"   // and the agent: a task waits
	answerKey = "pull/answer/" // and the dispatch: it is answered
)

// How often a node polls the store without a notification. While the bus works, only
// a node that was killed between its commit and its notification needs this.
const (
	pollAlone    = 250 * time.Millisecond
	pollLinked   = 2 * time.Second
	changeWindow = 10 * time.Second // the maximum age of answers that are read again

	revokeEvery  = time.Second
	revokeWindow = time.Minute // more than the clocks of nodes differ by
)

// HubOptions are the parts of a Hub. All are needed.
type HubOptions struct {
	Store    Store
	Notifier *mailbox.Notifier
	Interval time.Duration // of health checks: an agent is present for this long after a poll
	Now      func() time.Time
	Logger   *slog.Logger
}

// Hub holds what waits on this node: polls for tasks, and attempts for
// answers. One goroutine, Run, watches for all of them. It is safe for
// concurrent use.
type Hub struct {
	o      HubOptions
	parked sync.WaitGroup // polls that wait on a connection of their own

	mu      sync.Mutex
	closed  bool
	polls   map[string][]*poll       // by agent, oldest first
	answers map[string]chan struct{} // by dispatch
	present map[string]time.Time     // until when, of agents that polled here
	stored  map[string]time.Time     // what of it the store has
}

// NewHub makes a Hub.
func NewHub(o HubOptions) *Hub {
	h := &Hub{
		o: o, polls: map[string][]*poll{}, answers: map[string]chan struct{}{},
		present: map[string]time.Time{}, stored: map[string]time.Time{},
	}
	o.Notifier.Watch(taskKey, h.wakePoll)
	o.Notifier.Watch(answerKey, h.wakeAnswer)
	return h
}

// wakePoll lets one poll of an agent look for a task.
func (h *Hub) wakePoll(agentID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.polls[agentID] {
		if p.wake() {
			return
		}
	}
}

func (h *Hub) wakeAnswer(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch, ok := h.answers[id]; ok {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// begin adds a poll of an agent, unless it has most polls here already.
func (h *Hub) begin(p *poll, most int) (parallel int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := p.agentID
	if len(h.polls[id]) >= most {
		return 0, false
	}
	if h.closed {
		p.stop()
	}
	h.polls[id] = append(h.polls[id], p)
	return len(h.polls[id]), true
}

func (h *Hub) end(p *poll) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := p.agentID
	left := slices.DeleteFunc(h.polls[id], func(q *poll) bool { return q == p })
	if len(left) == 0 {
		delete(h.polls, id)
	} else {
		h.polls[id] = left
	}
}

// await returns a channel that receives after each answer to a dispatch.
func (h *Hub) await(id string) (answered <-chan struct{}, stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := make(chan struct{}, 1)
	h.answers[id] = ch
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.answers, id)
	}
}

// Run watches for tasks and answers that no notification reported, ends the
// polls of callers that may not poll any more, and stores the presence of
// agents, until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	tick := time.NewTicker(pollAlone)
	defer tick.Stop()
	var changes, revoked, presence time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := h.o.Now()
		every := pollAlone
		if h.o.Notifier.Linked() {
			every = pollLinked
		}
		if now.Sub(changes) >= every {
			changes = now
			h.try(ctx, "read changes of tasks", h.readChanges)
		}
		if now.Sub(revoked) >= revokeEvery {
			revoked = now
			h.try(ctx, "end polls of revoked keys", h.endRevoked)
		}
		if now.Sub(presence) >= h.o.Interval/3 {
			presence = now
			h.try(ctx, "store the presence of agents", h.storePresence)
		}
	}
}

// try logs the error of a step, which the next tick tries again.
func (h *Hub) try(ctx context.Context, step string, do func(context.Context) error) {
	if err := do(ctx); err != nil && ctx.Err() == nil {
		h.o.Logger.WarnContext(ctx, "fetched tasks: a step failed", "step", step, "error", err)
	}
}

func (h *Hub) readChanges(ctx context.Context) error {
	h.mu.Lock()
	idle := len(h.polls) == 0 && len(h.answers) == 0
	h.mu.Unlock()
	if idle {
		return nil
	}
	now := h.o.Now()
	agents, answered, err := h.o.Store.PulledChanges(ctx, now, now.Add(-changeWindow))
	if err != nil {
		return err
	}
	for _, id := range agents {
		h.wakePoll(id)
	}
	for _, id := range answered {
		h.wakeAnswer(id)
	}
	return nil
}

// endRevoked ends the polls of revoked keys, suspended owners, and agents that
// are retired or have got an endpoint.
func (h *Hub) endRevoked(ctx context.Context) error {
	h.mu.Lock()
	idle := len(h.polls) == 0
	h.mu.Unlock()
	if idle {
		return nil
	}
	ids, err := h.o.Store.RevokedSince(ctx, h.o.Now().Add(-revokeWindow))
	if err != nil || len(ids) == 0 {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, polls := range h.polls {
		for _, p := range polls {
			if slices.Contains(ids, p.caller.TokenID) || slices.Contains(ids, p.ownerID) || slices.Contains(ids, p.agentID) {
				p.stop()
			}
		}
	}
	return nil
}

// Close ends all polls, those that come later too.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, polls := range h.polls {
		for _, p := range polls {
			p.stop()
		}
	}
}

// Wait returns when no poll waits any longer. Call it after Close.
func (h *Hub) Wait() { h.parked.Wait() }

// note records that an agent is present until a time and an interval after it,
// and reports whether it was absent by the records of this node.
func (h *Hub) note(agentID string, at time.Time) (absent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	until := at.Add(h.o.Interval)
	was := h.present[agentID]
	if until.After(was) {
		h.present[agentID] = until
	}
	return !h.o.Now().Before(was)
}

// storePresence stores the presence of the agents that polled here, in one
// statement.
func (h *Hub) storePresence(ctx context.Context) error {
	now := h.o.Now()
	h.mu.Lock()
	for id := range h.polls {
		if until := now.Add(h.o.Interval); until.After(h.present[id]) {
			h.present[id] = until
		}
	}
	var changed []arena.Presence
	for id, until := range h.present {
		switch {
		case until.After(h.stored[id]):
			changed = append(changed, arena.Presence{AgentID: id, Until: until})
		case !now.Before(until):
			delete(h.present, id)
			delete(h.stored, id)
		}
	}
	h.mu.Unlock()
	slices.SortFunc(changed, func(a, b arena.Presence) int { return compareIDs(a, b) })
	if err := h.o.Store.ExtendPresence(ctx, changed); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range changed {
		h.stored[p.AgentID] = p.Until
	}
	return nil
}

// presentAt reports whether an agent is present, at any node.
func (h *Hub) presentAt(ctx context.Context, agentID string, now time.Time) (bool, error) {
	h.mu.Lock()
	here := len(h.polls[agentID]) > 0 || now.Before(h.present[agentID])
	h.mu.Unlock()
	if here {
		return true, nil
	}
	until, err := h.o.Store.PresentUntil(ctx, agentID)
	return now.Before(until), err
}
