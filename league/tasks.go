package league

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/league/pack"
)

// TaskStore holds the packs.
type TaskStore interface {
	Pack(ctx context.Context, id string) (arena.Pack, error)
	Task(ctx context.Context, packID string, n int) (arena.Task, error) // n in [0, Pack.Tasks)
	// RecentTasks returns the task sources that the agents of a match had recently,
	// with the times.
	RecentTasks(ctx context.Context, m arena.Match) (map[string]time.Time, error)
	// RetiredTasks returns the numbers of the tasks that are out of use, ascending.
	RetiredTasks(ctx context.Context, packID string) ([]int, error)
}

// Tasks chooses the tasks of matches. It is safe for concurrent use.
type Tasks struct {
	store TaskStore

	mu    sync.Mutex
	plans map[string]plan // by match
}

// plan is what a match gets next from its pack: one look at what its agents
// have had serves many rounds.
type plan struct {
	round int   // of the first of tasks
	tasks []int // numbers in the pack
}

const (
	plannedRounds = 64   // of one plan, at most
	plannedAtOnce = 8192 // matches; a plan that was dropped is made again
)

// NewTasks makes Tasks on a store.
func NewTasks(store TaskStore) *Tasks {
	return &Tasks{store: store, plans: map[string]plan{}}
}

// Pick returns the task of a round, from 1 on. Generated tasks follow from the
// match's seed. From a pack comes the first task, in an order drawn from the
// seed, that none of the agents has had lately when this Tasks first saw the
// match, or when they have had all, the one that was put longest ago. Where the
// league asks trap questions, some rounds are one. Where a match has one task, it
// is that of the first round, and the task of a turn-based game is empty but for
// its id and source. A pack without tasks is an error with code conflict.
//
// The task's id names this task in this match and round, so that an agent that
// remembers ids never takes a new task for the repeated delivery of an old one.
func (t *Tasks) Pick(ctx context.Context, m arena.Match, round int) (arena.Task, error) {
	task, err := t.pick(ctx, m, round)
	if err != nil {
		return arena.Task{}, fmt.Errorf("pick the task of round %d: %w", round, err)
	}
	task.ID = taskID(m.ID, round)
	return task, nil
}

func (t *Tasks) pick(ctx context.Context, m arena.Match, round int) (arena.Task, error) {
	if round < 1 {
		return arena.Task{}, errors.New("rounds begin with 1")
	}
	if pack.IsCanary(m.Settings.Canary, m.Seed, round) {
		return pack.Canary(m.Seed, round), nil
	}
	if game.UseOfTasks(m.Settings) == game.TaskNone {
		return arena.Task{Source: arena.GameSource + m.Settings.Game.Name}, nil
	}
	if m.Settings.Generator != nil {
		return pack.Generate(*m.Settings.Generator, m.Seed, round)
	}
	n, err := t.next(ctx, m, round)
	if err != nil {
		return arena.Task{}, err
	}
	task, err := t.store.Task(ctx, m.Settings.PackID, n)
	if err != nil {
		return arena.Task{}, fmt.Errorf("read task %d of pack %s: %w", n, m.Settings.PackID, err)
	}
	task.Source = source(m.Settings.PackID, n)
	return task, nil
}

// next returns the number of a round's task in its pack, by the match's plan.
func (t *Tasks) next(ctx context.Context, m arena.Match, round int) (int, error) {
	t.mu.Lock()
	p := t.plans[m.ID]
	t.mu.Unlock()
	if i := round - p.round; i < 0 || i >= len(p.tasks) {
		tasks, err := t.choose(ctx, m, round)
		if err != nil {
			return 0, err
		}
		p = plan{round, tasks}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.plans) >= plannedAtOnce {
		clear(t.plans) // of matches that ended early, or went to other nodes
	}
	if t.plans[m.ID] = p; round == m.Settings.Rounds {
		delete(t.plans, m.ID)
	}
	return p.tasks[round-p.round], nil
}

func source(packID string, n int) string { return packID + "/" + strconv.Itoa(n) }

// choose returns the numbers of the tasks of a round and of those after it.
func (t *Tasks) choose(ctx context.Context, m arena.Match, round int) ([]int, error) {
	p, err := t.store.Pack(ctx, m.Settings.PackID)
	if err != nil {
		return nil, fmt.Errorf("read pack %s: %w", m.Settings.PackID, err)
	}
	if p.Tasks < 1 {
		return nil, arena.Errorf(arena.CodeConflict, "the pack %s has no tasks", p.ID)
	}
	oneTask := game.UseOfTasks(m.Settings) == game.TaskOfMatch
	repeated := oneTask && round > 1
	if repeated {
		m.Seats = nil // of this match alone
	}
	seen, err := t.store.RecentTasks(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("read recent tasks: %w", err)
	}
	if repeated {
		for first := range seen {
			n, err := strconv.Atoi(strings.TrimPrefix(first, p.ID+"/"))
			return []int{n}, err
		}
	}
	retired, err := t.store.RetiredTasks(ctx, p.ID)
	if err != nil {
		return nil, fmt.Errorf("read retired tasks: %w", err)
	}
	want := min(max(m.Settings.Rounds-round+1, 1), plannedRounds)
	if oneTask {
		want = 1
	}
	return inOrder(m.Seed, p, seen, retired, want), nil
}

// inOrder returns want tasks of a pack that are not retired: first those that are not seen, in an
// order drawn from the seed, then those put longest ago, and then all again.
func inOrder(seed uint64, p arena.Pack, seen map[string]time.Time, retired []int, want int) []int {
	var tasks, old []int
	put := map[int]time.Time{}
	order := newLots(seed, p.Tasks)
	for range p.Tasks {
		if len(tasks) == want {
			break
		}
		n := order.draw()
		if _, gone := slices.BinarySearch(retired, n); gone {
			continue
		}
		if at, known := seen[source(p.ID, n)]; known {
			put[n] = at
			old = append(old, n)
		} else {
			tasks = append(tasks, n)
		}
	}
	if len(tasks) < want {
		slices.SortStableFunc(old, func(a, b int) int { return put[a].Compare(put[b]) })
		tasks = append(tasks, old...)
	}
	for i := 0; len(tasks) < want; i++ {
		tasks = append(tasks, tasks[i])
	}
	return tasks[:want]
}

// lots draws 0..n-1 one after the other, each number once, in an order that
// follows from a seed: the shuffle of Fisher and Yates, which keeps only what it
// has moved. The numbers drawn so far do not determine the next one. Otherwise two
// rounds and the pack would reveal all later tasks (threat F1).
type lots struct {
	random *rand.Rand
	drawn  int
	n      int
	moved  map[int]int // to where, what
}

func newLots(seed uint64, n int) *lots {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return &lots{random: rand.New(rand.NewChaCha8(key)), n: n, moved: map[int]int{}} //nolint:gosec // G404: a stream cipher; the seed is the match's secret
}

// draw may be called n times.
func (l *lots) draw() int {
	i := l.drawn + l.random.IntN(l.n-l.drawn)
	lot := l.at(i)
	l.moved[i] = l.at(l.drawn)
	delete(l.moved, l.drawn)
	l.drawn++
	return lot
}

func (l *lots) at(i int) int {
	if lot, moved := l.moved[i]; moved {
		return lot
	}
	return i
}

// taskID is the same for the same match and round.
func taskID(matchID string, round int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", matchID, round))
	return arena.TaskPrefix + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}
