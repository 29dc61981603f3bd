package arenaagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// shutdownTime is how long Serve waits for running tasks when its context ends.
const shutdownTime = 10 * time.Second

// Agent is an AAP endpoint: an http.Handler for the task POST and the health
// check. It is made by New and must be closed.
type Agent struct {
	config  Config
	handler Handler
	client  *http.Client
	tokens  *verifier
	slots   chan struct{} // one per task at work
	flights flights
	dropped atomic.Int64
	latency atomic.Int64 // moving mean of answer times, in microseconds

	// life ends with Close. It is kept here because work continues when the
	// request that started it is gone.
	life context.Context //nolint:containedctx // see above
	end  context.CancelFunc

	mu     sync.Mutex
	links  map[string]*link // by agent and match
	closed bool
	wg     sync.WaitGroup // handlers, links and the first read of the keys
}

// New makes an agent and begins to read the arena's keys. The arena need not
// be there yet.
func New(config Config, handler Handler) (*Agent, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if handler == nil {
		return nil, errors.New("arenaagent: a handler is needed")
	}
	a := &Agent{
		config: config, handler: handler, tokens: newVerifier(config),
		slots: make(chan struct{}, config.MaxConcurrent), links: map[string]*link{},
	}
	client := http.Client{Transport: newTransport()}
	if config.HTTPClient != nil {
		client = *config.HTTPClient
	}
	// A redirect would carry a token or an answer to a place that was not named, or take
	// the keys from there.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a.client = &client
	a.life, a.end = context.WithCancel(context.Background())
	if !config.InsecureSkipTokens {
		a.start(func() {
			if err := a.tokens.load(a.life, config, a.client); err != nil {
				config.Logger.Error("arena keys not read", slog.Any("error", err))
			}
		})
	}
	return a, nil
}

// newTransport is the agent's own, so that closing it reaches only the
// agent's connections.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: keysTimeout}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: keysTimeout,
		IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 8,
	}
}

// Serve makes an agent, listens on config.Addr and serves until ctx ends;
// tasks at work are finished then, for at most ten seconds. It returns nil when
// ctx ended it.
func Serve(ctx context.Context, config Config, handler Handler) error {
	a, err := New(config, handler)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", a.config.Addr)
	if err != nil {
		return fmt.Errorf("arenaagent: %w", err)
	}
	return a.Serve(ctx, ln)
}

// Serve is like the function Serve, on a listener that is there already. It
// closes the listener, not the agent.
func (a *Agent) Serve(ctx context.Context, ln net.Listener) error {
	server := &http.Server{
		Handler: a, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(a.config.Logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	a.config.Logger.InfoContext(ctx, "agent listens", slog.String("addr", ln.Addr().String()), slog.String("path", a.config.Path))
	select {
	case err := <-ended:
		return fmt.Errorf("arenaagent: serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		_ = server.Close() // tasks that take longer are lost
	}
	if served := <-ended; err == nil && !errors.Is(served, http.ErrServerClosed) {
		err = served
	}
	if err != nil {
		return fmt.Errorf("arenaagent: stop: %w", err)
	}
	return nil
}

// Close ends the contexts of all handlers at work, waits for them and for
// everything else that the agent started. Tasks that come later get 503.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.end()
	a.wg.Wait()
	if a.config.HTTPClient == nil {
		a.client.CloseIdleConnections()
	}
	return nil
}

// SetAgentID sets the id of the agent, once the arena has assigned one. From
// then on tokens for other agents are refused.
func (a *Agent) SetAgentID(id string) { a.tokens.agentID.Store(&id) }

// DroppedEvents is how many events did not reach the arena.
func (a *Agent) DroppedEvents() int64 { return a.dropped.Load() }

// start runs f beside the caller, unless the agent is closed.
func (a *Agent) start(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.wg.Go(f)
	return true
}

// work does one task in the slot that was taken for it, and finishes its flight.
func (a *Agent) work(task *Task, limit time.Duration, key string, f *flight) {
	began := a.config.Now()
	ctx, cancel := context.WithTimeout(a.life, limit)
	defer cancel()
	events := &Events{token: task.Token, log: a.config.Logger, dropped: &a.dropped}
	if events.link = a.link(task); events.link != nil {
		defer events.link.done()
	}
	// Events reported after the time limit would fall into the next round.
	stop := context.AfterFunc(ctx, func() { events.shut.Store(true) })
	defer stop()

	answer, err := called(ctx, task, events, a.handler, a.config.Logger)
	took := a.config.Now().Sub(began)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // the caller has gone
	}
	if err != nil {
		a.config.Logger.Warn("task not answered", slog.String("match_id", task.MatchID),
			slog.Int("round", task.Round), slog.Any("error", err))
	}
	r := a.replyFor(answer, events, took, err)
	if events.link != nil && r.answered() {
		events.link.flush(ctx)
	}
	events.shut.Store(true)
	<-a.slots // before the reply: the next task may follow it at once
	a.flights.finish(key, f, r)
}

func (a *Agent) replyFor(answer Answer, events *Events, took time.Duration, err error) reply {
	switch {
	case err == nil:
	case errors.Is(err, ErrRateLimited):
		return failure(http.StatusTooManyRequests, ErrRateLimited)
	case errors.Is(err, ErrUnavailable), a.life.Err() != nil:
		return failure(http.StatusServiceUnavailable, ErrUnavailable)
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return failure(http.StatusRequestTimeout, ErrTimeout)
	default: // its text is for the log of the owner, not for the arena
		return failure(http.StatusInternalServerError, errors.New("the agent failed"))
	}
	events.fill(&answer)
	body, err := answer.encode(took)
	if err != nil {
		return failure(http.StatusInternalServerError, errors.New("the answer cannot be encoded"))
	}
	// A moving mean over about the last ten answers.
	if old := a.latency.Load(); old == 0 {
		a.latency.Store(took.Microseconds())
	} else {
		a.latency.Store(old + (took.Microseconds()-old)/10)
	}
	return reply{http.StatusOK, body}
}

// link returns the link of the task's match, with one use counted; nil when
// events are off or the agent is closed.
func (a *Agent) link(task *Task) *link {
	if a.config.Events == EventsOff {
		return nil
	}
	key := task.Claims.AgentID + "/" + task.MatchID
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	if l := a.links[key]; l != nil && l.acquire() {
		return l
	}
	url := a.config.Arena + "/v1/stream"
	var s sink = &socketSink{url: url, client: a.client, log: a.config.Logger}
	if a.config.Events == EventsHTTP {
		s = &postSink{url: url, client: a.client}
	}
	l := newLink(s, &a.dropped, a.config.Logger)
	l.acquire()
	a.links[key] = l
	a.wg.Go(func() {
		l.run(a.life)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.links[key] == l {
			delete(a.links, key)
		}
	})
	return l
}
