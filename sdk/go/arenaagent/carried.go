package arenaagent

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Work answers one task that another protocol has carried: task is the body of
// AAP's task POST, and the returned answer is the body of its reply. The handler's
// context ends a moment before limit. The error is the handler's, or a decoding
// error; errors.Is distinguishes ErrTimeout, ErrRateLimited and ErrUnavailable.
// push sends an event of the handler to the arena; nil means that events are off. If
// push returns an error, the event is sent again later.
func Work(ctx context.Context, task []byte, limit time.Duration, handler Handler, push func(ctx context.Context, event []byte) error, log *slog.Logger) (answer []byte, err error) {
	t, err := decodeTask(task)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if limit <= 0 || limit > t.TimeLimit && t.Observation == nil { // only games have time beyond the limit
		limit = t.TimeLimit
	}
	t.TimeLimit = min(t.TimeLimit, limit)
	work, _ := split(min(limit, maxTimeLimit))
	began := time.Now() //nolint:forbidigo // the work's own stopwatch
	ctx, cancel := context.WithTimeout(ctx, work)
	defer cancel()
	var dropped atomic.Int64
	events := &Events{log: log, dropped: &dropped}
	if push != nil {
		events.link = newLink(pushSink(push), &dropped, log)
		sent := make(chan struct{})
		sending, stop := context.WithCancel(context.WithoutCancel(ctx))
		go func() {
			defer close(sent)
			events.link.run(sending)
		}()
		defer func() {
			stop()
			<-sent
		}()
	}
	a, err := called(ctx, t, events, handler, log)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // the caller has gone
	}
	events.shut.Store(true)
	if events.link != nil { // of a failure too: they show its cause
		events.link.flush(ctx)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, errors.Join(ErrTimeout, err)
	case err != nil:
		return nil, err
	}
	events.fill(&a)
	return a.encode(time.Since(began))
}

// called runs a handler; its panic is an error.
func called(ctx context.Context, task *Task, events *Events, handler Handler, log *slog.Logger) (answer Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("handler panicked", slog.String("match_id", task.MatchID), slog.Int("round", task.Round),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = errors.New("the handler panicked")
		}
	}()
	return handler(ctx, task, events)
}

// pushSink pushes one event after the other.
type pushSink func(ctx context.Context, event []byte) error

func (p pushSink) send(ctx context.Context, _ string, batch [][]byte) (int, error) {
	for i, event := range batch {
		if err := p(ctx, event); err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

func (pushSink) close() {}
