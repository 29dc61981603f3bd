package script_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/script"
	"github.com/agora-arena/arena/internal/testwait"
)

// ledger is a quota that notes the owners of scripts in the order in which they
// ran, and that some have exceeded.
type ledger struct {
	exceeded map[string]bool

	mu     sync.Mutex
	owners []string
	used   map[string]time.Duration
}

func (l *ledger) Charge(_ context.Context, owner string, used time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owners = append(l.owners, owner)
	if l.used == nil {
		l.used = map[string]time.Duration{}
	}
	l.used[owner] += used
}

func (l *ledger) Check(owner string) error {
	if l.exceeded[owner] {
		return errors.New("exceeded")
	}
	return nil
}

// occupy keeps the only worker of a pool with a script of the arena, until
// finish.
func occupy(t *testing.T, p *script.Pool, group *sync.WaitGroup) (finish func()) {
	t.Helper()
	ctx, finish := context.WithCancel(t.Context())
	group.Go(func() {
		if _, err := p.Run(ctx, endless()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	busy(t, p, 1)
	signal(t, p.Pids()[0], syscall.SIGSTOP)
	return finish
}

// Threat J9: one owner with many scripts delays the rated match of another by no
// more than the script that runs, and those who wait take turns.
func TestPool_TakesTurns(t *testing.T) {
	t.Parallel()
	of := func(owner string, rated bool) arena.Script {
		s := solve(`const solve = () => 1`, `[]`)
		s.Owner, s.OwnerGroup, s.Rated = owner, "group of "+owner, rated
		return s
	}
	flood := make([]arena.Script, 20)
	for i := range flood {
		flood[i] = of("flood", false)
	}
	friend := of("friend", true)
	friend.OwnerGroup = "group of flood"
	for _, tt := range []struct {
		name     string
		exceeded string
		after    []arena.Script // those that come after the flood
		want     []string       // the first that run
	}{
		{"rated first", "", []arena.Script{of("b", false), of("c", true), of("b", true), of("c", true)}, []string{"c", "b", "c", "flood", "b", "flood", "flood"}},
		{"groups in turn", "", []arena.Script{of("b", false), of("b", false), of("c", false)}, []string{"flood", "b", "c", "flood", "b", "flood", "flood"}},
		{"owners of a group share a turn", "", []arena.Script{of("flood", true), friend, of("c", true)}, []string{"flood", "c", "friend", "flood"}},
		{"the quota is used up", "flood", []arena.Script{of("b", false), of("b", false), of("c", false)}, []string{"b", "c", "b", "flood"}},
		{"rated with the quota used up", "flood", []arena.Script{of("b", false), of("flood", true)}, []string{"flood", "b", "flood"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			account := &ledger{exceeded: map[string]bool{tt.exceeded: true}}
			p := newPool(t, func(o *script.Options) { o.Workers, o.Quota = 1, account })
			var group sync.WaitGroup
			defer group.Wait()
			finish := occupy(t, p, &group)
			for i, s := range append(flood[:20:20], tt.after...) {
				group.Go(func() {
					if _, err := p.Run(t.Context(), s); err != nil {
						t.Error(err)
					}
				})
				testwait.Until(t, "it waits", func() bool { return p.Waiting() == i+1 })
			}
			finish()
			group.Wait()
			if got := account.owners; len(got) != 20+len(tt.after) || !slices.Equal(got[:len(tt.want)], tt.want) {
				t.Errorf("they ran in the order %q, want %q first", got, tt.want)
			}
		})
	}
}

// A script that is given up leaves the queue.
func TestPool_TakesTurns_givenUp(t *testing.T) {
	t.Parallel()
	p := newPool(t, func(o *script.Options) { o.Workers = 1 })
	var group sync.WaitGroup
	finish := occupy(t, p, &group)
	ctx, cancel := context.WithCancel(t.Context())
	for range 3 {
		group.Go(func() {
			if _, err := p.Run(ctx, solve(`const solve = () => 1`, `[]`)); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	testwait.Until(t, "they wait", func() bool { return p.Waiting() == 3 })
	cancel()
	testwait.Until(t, "they have left", func() bool { return p.Waiting() == 0 })
	finish()
	group.Wait()
	if _, err := p.Run(t.Context(), solve(`const solve = () => 1`, `[]`)); err != nil {
		t.Error(err)
	}
}

// Owners pay for the processor time of their scripts, also of those that are
// ended.
func TestPool_ChargesOwners(t *testing.T) {
	t.Parallel()
	account := &ledger{}
	p := newPool(t, func(o *script.Options) { o.CPU, o.Quota = 200*time.Millisecond, account })
	s := endless()
	s.Owner = "a"
	if _, err := p.Run(t.Context(), s); !errors.Is(err, arena.ErrScriptLimit) {
		t.Error(err)
	}
	if used := account.used["a"]; used < 200*time.Millisecond || len(account.owners) != 1 {
		t.Errorf("charged %v, %+v", used, account)
	}
}
