package league

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
)

// TaskStore holds the packs.
type TaskStore interface {
	Pack(ctx context.Context, id string) (arena.Pack, error)
	Task(ctx context.Context, packID string, n int) (arena.Task, error) // n in [0, Pack.Tasks)
	// RecentTasks tells which sources the agents of a match have had lately, and when.
	RecentTasks(ctx context.Context, m arena.Match) (map[string]time.Time, error)
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

// Pick gives the task of a round, from 1 on. Generated tasks follow from the
// match's seed. From a pack comes the first task, in an order drawn from the
// seed, that none of the agents has had lately, or when they have had all, the
// one that was put longest ago. Where the league asks canaries, some rounds are
// one. A debate has one motion for all its rounds. A
// pack without tasks is an error with code conflict.
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
	if m.Settings.Generator != nil {
		return pack.Generate(*m.Settings.Generator, m.Seed, round)
	}
	p, err := t.store.Pack(ctx, m.Settings.PackID)
	if err != nil {
		return arena.Task{}, fmt.Errorf("read pack %s: %w", m.Settings.PackID, err)
	}
	if p.Tasks < 1 {
		return arena.Task{}, arena.Errorf(arena.CodeConflict, "the pack %s has no tasks", p.ID)
	}
	n, err := t.choose(ctx, m, p, round)
	if err != nil {
		return arena.Task{}, err
	}
	task, err := t.store.Task(ctx, p.ID, n)
	if err != nil {
		return arena.Task{}, fmt.Errorf("read task %d of pack %s: %w", n, p.ID, err)
	}
	task.Source = source(p.ID, n)
	return task, nil
}

func source(packID string, n int) string { return packID + "/" + strconv.Itoa(n) }

// choose gives the number of the task in the pack.
func (t *Tasks) choose(ctx context.Context, m arena.Match, p arena.Pack, round int) (int, error) {
	if m.Settings.Debate != nil && round > 1 {
		m.Seats = nil // of this match alone: its motion
	}
	seen, err := t.store.RecentTasks(ctx, m)
	if err != nil {
		return 0, fmt.Errorf("read recent tasks: %w", err)
	}
	if m.Settings.Debate != nil && round > 1 {
		for motion := range seen {
			return strconv.Atoi(strings.TrimPrefix(motion, p.ID+"/"))
		}
	}
	oldest := -1
	var put time.Time
	for i := range p.Tasks {
		n := position(m.Seed, i, p.Tasks)
		at, known := seen[source(p.ID, n)]
		if !known {
			return n, nil
		}
		if oldest < 0 || at.Before(put) {
			oldest, put = n, at
		}
	}
	return oldest, nil
}

// position gives the i-th element, 0 <= i < n, of a pseudo-random order of
// 0..n-1. The order is a·i+b mod n with a prime to n: each number once, without
// a list of them.
func position(seed uint64, i, n int) int {
	size, at := uint64(n), uint64(i) //nolint:gosec // not negative
	order := rand.NewPCG(seed, 0)
	a, b := order.Uint64()%size, order.Uint64()%size
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
