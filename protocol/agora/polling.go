package agora

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// Times of polling.
const (
	presence    = time.Minute      // how long an agent counts as present after a poll or its task
	noteEvery   = 10 * time.Second // how exactly that is kept
	defaultWait = 25 * time.Second
	maxWait     = 30 * time.Second
	findLimit   = 5 * time.Second // a task that exists is found long before
)

// Limits of polling.
const (
	maxPolls         = 4096 // on this node
	maxPollsPerAgent = 4
	maxAnswers       = 64 // of one agent at once, each looking for its task
	maxEvents        = 32 // in one message
	nextBatch        = 16
)

// polls are those that wait on this node, and what is known of their agents.
type polls struct {
	life context.Context //nolint:containedctx // ends with Close
	end  context.CancelFunc

	mu     sync.Mutex
	all    int
	parked map[string]int
	noted  map[string]note
}

// note is what the store knows of an agent's presence.
type note struct {
	until  time.Time
	atOnce int
}

func newPolls() *polls {
	p := &polls{parked: map[string]int{}, noted: map[string]note{}}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// begin parks a poll, unless the agent has as many as it may have; done removes
// it. The context ends with the poll's time and with the server.
func (p *polls) begin(ctx context.Context, agentID string, most int, wait time.Duration) (waiting context.Context, done func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= maxPolls || p.parked[agentID] >= most {
		return nil, nil, false
	}
	p.all++
	p.parked[agentID]++
	waiting, cancel := context.WithTimeout(ctx, wait)
	stop := context.AfterFunc(p.life, cancel)
	return waiting, func() {
		stop()
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		if p.parked[agentID]--; p.parked[agentID] == 0 {
			delete(p.parked, agentID)
		}
	}, true
}

func (p *polls) known(agentID string) note {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.noted[agentID]
}

func (p *polls) know(agentID string, n note) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.noted) >= 1<<14 {
		clear(p.noted) // they are only written down once more
	}
	p.noted[agentID] = n
}

// agent answers the document "Agora Arena Agent".
func (s *Server) agent(ctx context.Context, c *call, body []byte) (any, error) {
	if c.agentID == "" {
		return nil, fault("Use the secret base URL that registration has given to your agent")
	}
	var in operation
	err := readBody(body, &in, "op", "wait_seconds", "after", "max_concurrent", "task", "reply", "match_id", "events")
	if err != nil {
		return nil, err
	}
	switch in.Op {
	case "next":
		return s.next(ctx, c, in)
	case "answer":
		return s.take(ctx, c, in)
	case "event":
		return s.show(ctx, c, in)
	default:
		return nil, fault(`op must be "next", "answer" or "event"`)
	}
}

// operation is what a polling agent asks for.
type operation struct {
	Op            string            `json:"op"`
	WaitSeconds   *float64          `json:"wait_seconds"`
	After         *strictjson.Whole `json:"after"`
	MaxConcurrent *strictjson.Whole `json:"max_concurrent"`
	Task          *strictjson.Whole `json:"task"`
	Reply         json.RawMessage   `json:"reply"`
	MatchID       string            `json:"match_id"`
	Events        []json.RawMessage `json:"events"`
}

// given is a task for a polling agent.
type given struct {
	Task       int64           `json:"task"`
	TimeLeftMS int64           `json:"time_left_ms"`
	Request    json.RawMessage `json:"request"`
}

// next waits for a task that is open.
func (s *Server) next(ctx context.Context, c *call, in operation) (any, error) {
	wait, atOnce := defaultWait, 1
	if w := in.WaitSeconds; w != nil {
		if !(*w >= 1 && *w <= maxWait.Seconds()) {
			return nil, fault("wait_seconds must be from 1 to 30")
		}
		wait = time.Duration(*w * float64(time.Second))
	}
	if in.MaxConcurrent != nil {
		if atOnce = int(*in.MaxConcurrent); atOnce < 1 || atOnce > maxConcurrent {
			return nil, fault("max_concurrent must be from 1 to 1000")
		}
	}
	after, answered := int64(0), []int64(nil)
	switch {
	case in.After != nil:
		after = int64(*in.After)
	case c.conversation != nil:
		answered = readState(*c.conversation).Answered
	}
	waiting, done, ok := s.polls.begin(ctx, c.agentID, maxPollsPerAgent, wait)
	if !ok {
		return nil, fault("Too many polls")
	}
	defer done()
	if err := s.present(ctx, c.agentID, s.o.Now(), atOnce); err != nil {
		return nil, err
	}
	for {
		mails, err := s.o.Inbox.Next(waiting, taskInbox(c.agentID), after, nextBatch)
		if err != nil {
			return nil, err
		}
		if len(mails) == 0 {
			return map[string]any{"task": nil}, s.present(ctx, c.agentID, s.o.Now(), atOnce)
		}
		for _, m := range mails {
			after = m.N
			h, now := readPolledTask(m), s.o.Now()
			deadline := time.UnixMilli(h.Deadline)
			if !now.Before(deadline) || slices.Contains(answered, m.N) {
				continue
			}
			// At work it need not poll.
			return given{m.N, deadline.Sub(now).Milliseconds(), h.Request}, s.present(ctx, c.agentID, now.Add(deadline.Sub(now)), atOnce) // elapsed time, whatever the clock does
		}
	}
}

func readPolledTask(m arena.Mail) (h polledTask) {
	_ = json.Unmarshal(m.Body, &h) // the driver has encoded it
	return h
}

// take brings an answer to the driver that waits for it.
func (s *Server) take(ctx context.Context, c *call, in operation) (any, error) {
	if in.Task == nil || kind(in.Reply) != '{' {
		return nil, fault("An answer needs task (a number) and reply (an object)")
	}
	task := int64(*in.Task)
	looking, done, ok := s.polls.begin(ctx, "answers of "+c.agentID, maxAnswers, findLimit) // beside the polls for tasks
	if !ok {
		return nil, fault("Too many polls")
	}
	defer done()
	mails, err := s.o.Inbox.Next(looking, taskInbox(c.agentID), task-1, 1)
	if err != nil {
		return nil, err
	}
	if len(mails) == 0 || mails[0].N != task {
		return nil, fault("Unknown task")
	}
	h, now := readPolledTask(mails[0]), s.o.Now()
	deadline := time.UnixMilli(h.Deadline)
	if now.After(deadline) {
		return nil, fault("Too late")
	}
	err = s.o.Inbox.Put(ctx, answerInbox(h.Key), "answer", in.Reply, deadline.Sub(now)+spare)
	if arena.CodeOf(err) == arena.CodeConflict {
		return nil, fault("Already answered")
	}
	if err != nil {
		return nil, err
	}
	return map[string]bool{"accepted": true}, s.updateState(ctx, c, func(m *conversationState) {
		if !slices.Contains(m.Answered, task) {
			m.Answered = append(m.Answered, task)
		}
	})
}

// show passes an agent's events to the stream, in order, up to the first that
// it refuses.
func (s *Server) show(ctx context.Context, c *call, in operation) (any, error) {
	if in.MatchID == "" || len(in.Events) == 0 || len(in.Events) > maxEvents {
		return nil, fault(fmt.Sprintf("Events need match_id and events, 1 to %d of them", maxEvents))
	}
	for i, event := range in.Events {
		err := s.o.Events.Accept(ctx, in.MatchID, c.agentID, event)
		if e, ok := errors.AsType[*arena.Error](err); ok && e.Code != arena.CodeInternal && e.Code != arena.CodeUnavailable {
			return nil, fault(fmt.Sprintf("events[%d]: %s", i, e.Message))
		}
		if err != nil {
			return nil, err
		}
	}
	return map[string]int{"accepted": len(in.Events)}, nil
}

// present records that an agent is present until a minute after at. Most polls
// change too little to be stored.
func (s *Server) present(ctx context.Context, agentID string, at time.Time, atOnce int) error {
	until := at.Add(presence)
	known := s.polls.known(agentID)
	away := !s.o.Now().Before(known.until)
	if until.Sub(known.until) < noteEvery && known.atOnce == atOnce {
		return nil
	}
	if away { // as far as this node knows
		last, _, err := s.o.Store.AliveUntil(ctx, agentID)
		if err != nil {
			return err
		}
		away = !s.o.Now().Before(last)
	}
	if err := s.o.Store.KeepAlive(ctx, agentID, until, atOnce); err != nil {
		return err
	}
	s.polls.know(agentID, note{until, atOnce})
	if away {
		s.o.Awake(ctx, agentID)
	}
	return nil
}
