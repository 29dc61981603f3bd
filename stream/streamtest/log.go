package streamtest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
	"github.com/agora-arena/arena/visibility/mode"
)

// League is the league of all matches of a Log.
const League = "trivia"

// Log stores matches and their events in memory. It implements the interfaces
// that the stream reads from and appends to.
type Log struct {
	visibility.Store // reads that the stream does not use

	AppendGate chan struct{} // if set, an append waits for it
	ReadGate   chan struct{} // if set, a read waits for it
	Limit      int           // of events, if not 0: then the storage is full

	mu      sync.Mutex
	matches map[string]*arena.Match
	events  map[string][]arena.Event
	closed  map[string]bool // no round is open
	fail    int             // reads that still fail
	visible int64           // the last visible event of a delayed match
	early   int             // reads of events that were not visible
	err     error           // of appends
	reads   int
	appends atomic.Int64 // that wait for AppendGate, or have
}

// NewLog returns an empty log.
func NewLog() *Log {
	return &Log{matches: map[string]*arena.Match{}, events: map[string][]arena.Event{}, closed: map[string]bool{}}
}

// Reader returns the reader of a log that the stream is given.
func Reader(t testing.TB, log visibility.Store) *visibility.Reader {
	t.Helper()
	r := visibility.NewReader(log, time.Now) //nolint:forbidigo // streams of tests run in real time
	return r
}

// AddMatch adds a running match.
func (l *Log) AddMatch(id string, v arena.Visibility, agents ...string) {
	m := &arena.Match{ID: id, League: League, Status: arena.MatchRunning, Settings: arena.Settings{Visibility: v}}
	for i, a := range agents {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: a, State: arena.SeatActive})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.matches[id] = m
}

// Commit appends one event of the match m_1.
func (l *Log) Commit(e arena.Event) arena.Event { return l.Add("m_1", e) }

// Add appends one event of a match, and returns it with its seq.
func (l *Log) Add(id string, e arena.Event) arena.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(id, e)
}

func (l *Log) add(id string, e arena.Event) arena.Event {
	m := l.matches[id]
	m.Seq++
	e.MatchID, e.Seq = id, m.Seq
	if e.At.IsZero() {
		e.At = time.UnixMilli(1_790_000_000_000)
	}
	switch e.Type {
	case "":
		e.Type = arena.EventThinking
	case arena.EventMatchFinished:
		m.Status = arena.MatchFinished
	case arena.EventMatchVoid:
		m.Status = arena.MatchVoid
	default:
	}
	l.events[id] = append(l.events[id], e)
	return e
}

// Delete removes the i-th event of a match.
func (l *Log) Delete(id string, i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events[id] = slices.Delete(l.events[id], i, i+1)
}

// Rows returns the events of a match with their hidden parts.
func (l *Log) Rows(id string) []arena.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events[id])
}

// FailReads makes the next n reads fail.
func (l *Log) FailReads(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = n
}

// FailAppends makes appends fail with err, until it is called with nil.
func (l *Log) FailAppends(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// SetRoundOpen opens or closes the round of a match. Appends of agents need an
// open one.
func (l *Log) SetRoundOpen(id string, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed[id] = !open
}

// ShowUpTo makes the events of a delayed match visible, up to seq.
func (l *Log) ShowUpTo(seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.visible = seq
}

// Reads returns the number of reads of events.
func (l *Log) Reads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads
}

// EarlyReads returns the number of reads of events that were not visible.
func (l *Log) EarlyReads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.early
}

// Appends returns the number of appends that wait for AppendGate, or have waited.
func (l *Log) Appends() int64 { return l.appends.Load() }

// EventsAfter implements visibility.Store.
func (l *Log) EventsAfter(ctx context.Context, id string, since int64, limit int) ([]arena.Event, error) {
	if l.ReadGate != nil {
		<-l.ReadGate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if m := l.matches[id]; m != nil && mode.Of(*m).Delay > 0 && since+int64(limit) > l.visible {
		l.early++
	}
	if l.fail > 0 {
		l.fail--
		return nil, arena.Errorf(arena.CodeUnavailable, "the log is unavailable")
	}
	all := l.events[id]
	since = min(since, int64(len(all)))
	page := slices.Clone(all[since:min(int(since)+limit, len(all))])
	for i := range page {
		page[i].Hidden = nil
	}
	return page, ctx.Err() //nolint:wrapcheck // as the store would
}

// FirstEventSince implements visibility.Store.
func (l *Log) FirstEventSince(context.Context, string, time.Time, int) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.visible + 1, nil
}

// EventsOfTypes returns nothing: the stream does not read rounds.
func (*Log) EventsOfTypes(context.Context, string, int64, ...arena.EventType) ([]arena.Event, error) {
	return nil, nil
}

// Match implements visibility.Store.
func (l *Log) Match(_ context.Context, id string) (arena.Match, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.matches[id]; m != nil {
		return *m, nil
	}
	return arena.Match{}, arena.Errorf(arena.CodeNotFound, "there is no match %s", id)
}

// League returns the league of the log's matches.
func (*Log) League(_ context.Context, slug string) (arena.League, error) {
	if slug == League {
		return arena.League{Slug: slug}, nil
	}
	return arena.League{}, arena.Errorf(arena.CodeNotFound, "there is no league %s", slug)
}

// AppendEvents appends the events of an agent.
func (l *Log) AppendEvents(_ context.Context, id, agent string, events []arena.Event) ([]arena.Event, error) {
	if l.AppendGate != nil {
		l.appends.Add(1)
		<-l.AppendGate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	if l.Limit > 0 && len(l.events[id])+len(events) > l.Limit {
		return nil, arena.Errorf(arena.CodeUnavailable, "the disk is full")
	}
	if l.closed[id] {
		return nil, arena.Errorf(arena.CodeRoundClosed, "no round is open")
	}
	out := make([]arena.Event, 0, len(events))
	for _, e := range events {
		e.Round, e.AgentID = 1, agent
		out = append(out, l.add(id, e))
	}
	return out, nil
}
