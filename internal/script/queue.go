package script

import (
	"context"
	"slices"
	"sync"

	"github.com/agora-arena/arena/arena"
)

// queue shares the workers of a pool among owner groups. Scripts of rated
// matches run before others. Among each of the two, the groups take turns, so
// that a group with many scripts delays another group by only one of them. The group
// of an owner who has used up the quota waits until no other unrated script waits.
type queue struct {
	quota Quota // nil: there is none

	mu    sync.Mutex
	free  int        // workers
	lines [2][]*line // of rated scripts and of others, the next one first
}

// line is the scripts of one group that wait, in the order in which they came.
type line struct {
	group   string
	waiting []*waiter
}

type waiter struct {
	owner string
	slots int
	ready chan struct{} // closed when it has its slots
}

const rated, unrated = 0, 1

func newQueue(workers int, quota Quota) *queue { return &queue{quota: quota, free: workers} }

// acquire waits until it is a script's turn and enough workers are free. It returns
// the cause if ctx ends first.
func (q *queue) acquire(ctx context.Context, s arena.Script, slots int) error {
	class, w := unrated, &waiter{owner: s.Owner, slots: slots, ready: make(chan struct{})}
	if s.Rated {
		class = rated
	}
	q.mu.Lock()
	i := slices.IndexFunc(q.lines[class], func(l *line) bool { return l.group == s.OwnerGroup })
	if i < 0 {
		i, q.lines[class] = len(q.lines[class]), append(q.lines[class], &line{group: s.OwnerGroup})
	}
	l := q.lines[class][i]
	l.waiting = append(l.waiting, w)
	q.grant()
	q.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := slices.Index(l.waiting, w); at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
		if len(l.waiting) == 0 {
			q.lines[class] = slices.DeleteFunc(q.lines[class], func(other *line) bool { return other == l })
		}
	} else {
		q.free += slots // it was granted meanwhile
	}
	q.grant()
	return context.Cause(ctx)
}

func (q *queue) release(slots int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free += slots
	q.grant()
}

// grant lets the next scripts run while enough workers are free. A script that
// needs several keeps those behind it waiting, so that it gets them.
func (q *queue) grant() {
	for class, i := q.next(); i >= 0; class, i = q.next() {
		l := q.lines[class][i]
		w := l.waiting[0]
		if w.slots > q.free {
			return
		}
		q.free -= w.slots
		close(w.ready)
		l.waiting = l.waiting[1:]
		q.lines[class] = slices.Delete(q.lines[class], i, i+1)
		if len(l.waiting) > 0 {
			q.lines[class] = append(q.lines[class], l)
		}
	}
}

// next returns the line whose turn it is, -1 if none waits.
func (q *queue) next() (class, i int) {
	if len(q.lines[rated]) > 0 {
		return rated, 0
	}
	for i, l := range q.lines[unrated] {
		if q.quota == nil || q.quota.Check(l.waiting[0].owner) == nil {
			return unrated, i
		}
	}
	return unrated, min(0, len(q.lines[unrated])-1)
}
