package arenaagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fakeArena accepts events as its fields say.
type fakeArena struct {
	mu    sync.Mutex
	err   error
	hangs bool
	got   []string // "token: event"
}

func (f *fakeArena) send(ctx context.Context, token string, batch [][]byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if f.err != nil {
		return 0, f.err
	}
	for _, e := range batch {
		f.got = append(f.got, token+": "+string(e))
	}
	return len(batch), nil
}

func (f *fakeArena) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeArena) close() {}

// withLink runs a test in fake time; the link has ended when it returns.
func withLink(t *testing.T, arena *fakeArena, test func(t *testing.T, l *link)) (dropped int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var count atomic.Int64
		l := newLink(arena, &count, slog.New(slog.DiscardHandler))
		l.acquire()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { l.run(ctx) })
		test(t, l)
		cancel()
		wg.Wait()
		dropped = count.Load()
	})
	return dropped
}

func flushTook(t *testing.T, l *link) time.Duration {
	t.Helper()
	began := time.Now()
	l.flush(t.Context())
	return time.Since(began)
}

func TestLink_flush(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arena *fakeArena
		want  time.Duration
	}{
		"sent":    {&fakeArena{}, 0},
		"failing": {&fakeArena{err: errors.New("down")}, 0},
		"refused": {&fakeArena{err: errFinal}, 0},
		"hanging": {&fakeArena{hangs: true}, flushTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withLink(t, test.arena, func(t *testing.T, l *link) {
				t.Helper()
				if got := flushTook(t, l); got != 0 {
					t.Errorf("nothing to send: waited %s", got)
				}
				l.push("a", []byte("1"))
				if got := flushTook(t, l); got != test.want {
					t.Errorf("waited %s, want %s", got, test.want)
				}
			})
		})
	}
}

func TestLink_keeps_order_through_failures(t *testing.T) {
	t.Parallel()
	arena := &fakeArena{err: errors.New("down")}
	dropped := withLink(t, arena, func(t *testing.T, l *link) {
		t.Helper()
		l.push("a", []byte("1"))
		synctest.Wait()
		l.push("a", []byte("2"))
		time.Sleep(time.Second) // in fake time: some tries fail
		arena.set(nil)
		time.Sleep(time.Minute)
	})
	if !slices.Equal(arena.got, []string{"a: 1", "a: 2"}) || dropped != 0 {
		t.Errorf("got %v, dropped %d", arena.got, dropped)
	}
}

// Events of a round that is over are not sent as the next one's.
func TestLink_new_token(t *testing.T) {
	t.Parallel()
	arena := &fakeArena{err: errors.New("down")}
	dropped := withLink(t, arena, func(t *testing.T, l *link) {
		t.Helper()
		l.push("a", []byte("1"))
		synctest.Wait()
		l.push("b", []byte("2"))
		arena.set(nil)
		time.Sleep(time.Minute)
		arena.set(errFinal)
		l.push("b", []byte("3"))
		synctest.Wait()
		arena.set(nil)
		l.push("b", []byte("4")) // b is refused for good
		l.push("c", []byte("5"))
		synctest.Wait()
	})
	if !slices.Equal(arena.got, []string{"b: 2", "c: 5"}) || dropped != 3 {
		t.Errorf("got %v, dropped %d", arena.got, dropped)
	}
}

func TestLink_pace(t *testing.T) {
	t.Parallel()
	arena := &fakeArena{}
	dropped := withLink(t, arena, func(t *testing.T, l *link) {
		t.Helper()
		for i := range queueSize + 4 { // run has not been scheduled yet, or takes one batch at most
			l.push("a", fmt.Append(nil, i))
		}
		time.Sleep(5 * time.Second)
		arena.mu.Lock()
		defer arena.mu.Unlock()
		if n := len(arena.got); n < eventBurst || n > eventBurst+5*eventRate {
			t.Errorf("%d events in 5 s", n)
		}
	})
	if dropped == 0 {
		t.Error("nothing was dropped at the end")
	}
	last := arena.got[len(arena.got)-1]
	if first := arena.got[0]; first == last {
		t.Errorf("got from %s to %s", first, last)
	}
}

func TestLink_ends_when_idle(t *testing.T) {
	t.Parallel()
	withLink(t, &fakeArena{}, func(t *testing.T, l *link) {
		t.Helper()
		time.Sleep(3 * linkIdle) // a long thought: the handler may still report
		if !l.acquire() {
			t.Error("the link ended under a handler")
		}
		l.done()
		l.done()
		time.Sleep(3 * linkIdle)
		if l.acquire() {
			t.Error("the link outlived its match")
		}
	})
}

// A delivery that joined work which then failed is a new try.
func TestAgent_joined_failure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, err := New(Config{InsecureSkipTokens: true}, func(context.Context, *Task, *Events) (Answer, error) {
			return Answer{Value: "second try"}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		task := &Task{MatchID: "m_1", Round: 1, TaskID: "tk_1"}
		f, _ := a.flights.join(task.key())
		got := make(chan reply, 1)
		go func() { got <- a.answer(t.Context(), task, time.Second) }()
		synctest.Wait() // it waits for f
		a.flights.finish(task.key(), f, failure(500, errors.New("first try")))
		if r := <-got; !r.answered() {
			t.Errorf("reply is %d %s", r.status, r.body)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A task that asks for another move is another question, and the handler gets the
// reason.
func TestAgent_refused_move(t *testing.T) {
	t.Parallel()
	a, err := New(Config{InsecureSkipTokens: true}, func(_ context.Context, task *Task, _ *Events) (Answer, error) {
		var seen struct{ You string }
		if err := task.Observe(&seen); err != nil {
			return Answer{}, err
		}
		move := task.LegalMoves()[0]
		if task.Refused() != "" {
			move = task.LegalMoves()[1]
		}
		return Answer{Value: seen.You + move}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close() //nolint:errcheck // nothing is left to lose
	for _, c := range []struct{ previous, want string }{
		{"null", "x1"}, {`{"error":"column 1 is full"}`, "x2"}, {"null", "x1"},
	} {
		task, err := decodeTask([]byte(`{"match_id":"m_1","time_limit_seconds":30,"task_id":"tk_1","previous":` + c.previous +
			`,"task":{"description":"d","options":["1","2"],"observation":{"you":"x"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if r := a.answer(t.Context(), task, time.Second); !strings.Contains(string(r.body), `"answer":"`+c.want+`"`) {
			t.Errorf("previous %s: %s", c.previous, r.body)
		}
	}
	question := &Task{Options: []string{"a"}}
	if question.LegalMoves() != nil || question.Observe(new(any)) == nil || question.Refused() != "" {
		t.Error("a question is a game")
	}
}

func TestTask_times(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	issued := made.Add(-5 * time.Second) // iat of a token made then
	for name, test := range map[string]struct {
		limit, left, work, wait time.Duration
	}{
		"no deadline":       {30 * time.Second, 0, 29800 * time.Millisecond, 29900 * time.Millisecond},
		"more than allowed": {30 * time.Second, time.Minute, 29800 * time.Millisecond, 29900 * time.Millisecond},
		"the whole limit":   {30 * time.Second, 30 * time.Second, 29800 * time.Millisecond, 29900 * time.Millisecond},
		"a second attempt":  {20 * time.Second, 3 * time.Second, 2800 * time.Millisecond, 2900 * time.Millisecond},
		"a short round":     {time.Second, time.Second, 900 * time.Millisecond, 950 * time.Millisecond},
	} {
		task := Task{TimeLimit: test.limit, Claims: Claims{IssuedAt: issued, BodyHash: "hash"}}
		if test.left > 0 {
			task.Deadline = made.Add(test.left)
		}
		if work, wait := task.times(time.Time{}); work != test.work || wait != test.wait {
			t.Errorf("%s: %s and %s, want %s and %s", name, work, wait, test.work, test.wait)
		}
	}
	task := Task{TimeLimit: 30 * time.Second, Deadline: made.Add(time.Minute), Claims: Claims{IssuedAt: issued, BodyHash: "hash"}, Observation: []byte("{}")}
	if work, wait := task.times(time.Time{}); work != 59800*time.Millisecond || wait != 59900*time.Millisecond {
		t.Errorf("a time bank in a game: %s and %s", work, wait)
	}
	task.Claims = Claims{IssuedAt: made.Add(-5 * time.Minute)} // of a match
	if work, wait := task.times(made.Add(10 * time.Second)); work != 49800*time.Millisecond || wait != 49900*time.Millisecond {
		t.Errorf("a time bank under the token of a match: %s and %s", work, wait)
	}
}
