package league

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// TaskStore holds the packs.
type TaskStore interface {
	Pack(ctx context.Context, id string) (arena.Pack, error)
	Task(ctx context.Context, packID string, n int) (arena.Task, error) // n in [0, Pack.Tasks)
}

// Tasks chooses the tasks of matches.
type Tasks struct{ store TaskStore }

// NewTasks makes Tasks on a store.
func NewTasks(store TaskStore) (*Tasks, error) {
	if store == nil {
		return nil, errors.New("tasks: a store is needed")
	}
	return &Tasks{store}, nil
}

// Pick gives the task of a round, from 1 on. It follows from the match alone:
// after a take-over, another node picks the same. A pack's task does not come
// twice in a match until all have come. A pack without tasks is an error with
// code conflict.
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
	if m.Settings.Generator != nil {
		return Generate(*m.Settings.Generator, m.Seed, round)
	}
	pack, err := t.store.Pack(ctx, m.Settings.PackID)
	if err != nil {
		return arena.Task{}, fmt.Errorf("read pack %s: %w", m.Settings.PackID, err)
	}
	if pack.Tasks < 1 {
		return arena.Task{}, arena.Errorf(arena.CodeConflict, "the pack %s has no tasks", pack.ID)
	}
	n := position(m.Seed, round-1, pack.Tasks)
	task, err := t.store.Task(ctx, pack.ID, n)
	if err != nil {
		return arena.Task{}, fmt.Errorf("read task %d of pack %s: %w", n, pack.ID, err)
	}
	return task, nil
}

// position gives the i-th element, i >= 0, of a pseudo-random order of
// 0..n-1, and of another order each time that all n have come. An order is
// a·i+b mod n with a prime to n: each number once, without a list of them.
func position(seed uint64, i, n int) int {
	size := uint64(n)                                                 //nolint:gosec // at least 1
	order := rand.NewPCG(seed, uint64(i/n))                           //nolint:gosec // not negative; repeatability is wanted, not secrecy
	a, b, at := order.Uint64()%size, order.Uint64()%size, uint64(i%n) //nolint:gosec // not negative
	for gcd(a, size) != 1 {
		a = (a + 1) % size
	}
	return int((a*at + b) % size) //nolint:gosec // below n
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// taskID is the same for the same match and round.
func taskID(matchID string, round int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", matchID, round))
	return arena.TaskPrefix + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}
