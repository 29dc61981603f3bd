package league_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
)

// pack is a store with one pack of so many tasks; task n is described as n.
type pack int

func (p pack) Pack(_ context.Context, id string) (arena.Pack, error) {
	if id != "pk_1" {
		return arena.Pack{}, arena.Errorf(arena.CodeNotFound, "no pack %s", id)
	}
	return arena.Pack{ID: id, Tasks: int(p)}, nil
}

func (p pack) Task(_ context.Context, packID string, n int) (arena.Task, error) {
	if packID != "pk_1" || n < 0 || n >= int(p) {
		return arena.Task{}, arena.Errorf(arena.CodeNotFound, "no task %d", n)
	}
	return arena.Task{ID: "tk_of_the_pack", Description: strconv.Itoa(n), Answers: []string{"x"}}, nil
}

func picker(t testing.TB, n int) *league.Tasks {
	t.Helper()
	tasks, err := league.NewTasks(pack(n))
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func TestTasks_Pick(t *testing.T) {
	t.Parallel()
	packed := func(seed uint64) arena.Match {
		return arena.Match{ID: "m_1", Seed: seed, Settings: arena.Settings{PackID: "pk_1"}}
	}

	t.Run("every task once before any comes again", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 300).Draw(t, "tasks")
			m := packed(rapid.Uint64().Draw(t, "seed"))
			tasks, err := league.NewTasks(pack(n))
			if err != nil {
				t.Fatal(err)
			}
			for again := range 2 {
				seen := map[string]bool{}
				for round := again*n + 1; round <= (again+1)*n; round++ {
					task, err := tasks.Pick(context.Background(), m, round)
					if err != nil {
						t.Fatal(err)
					}
					seen[task.Description] = true
				}
				if len(seen) != n {
					t.Fatalf("%d of %d tasks came in %d rounds", len(seen), n, n)
				}
			}
		})
	})
	t.Run("the same for the same match, another for another", func(t *testing.T) {
		t.Parallel()
		order := func(seed uint64) (s string) {
			for round := 1; round <= 10; round++ {
				task, err := picker(t, 842).Pick(t.Context(), packed(seed), round)
				if err != nil {
					t.Fatal(err)
				}
				s += task.Description + " "
			}
			return s
		}
		first := order(1)
		if again := order(1); first != again {
			t.Errorf("one seed, two orders: %s and %s", first, again)
		}
		if first == order(2) {
			t.Error("two seeds, one order")
		}
	})
	t.Run("a used-up pack comes in another order", func(t *testing.T) {
		t.Parallel()
		var first, second string
		for round := 1; round <= 50; round++ {
			a, errA := picker(t, 50).Pick(t.Context(), packed(1), round)
			b, errB := picker(t, 50).Pick(t.Context(), packed(1), round+50)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			first, second = first+a.Description+" ", second+b.Description+" "
		}
		if first == second {
			t.Errorf("twice %s", first)
		}
	})
	t.Run("ids name match and round", func(t *testing.T) {
		t.Parallel()
		ids := map[string]bool{}
		for _, match := range []string{"m_1", "m_2"} {
			m := packed(1)
			m.ID = match
			for round := 1; round <= 4; round++ { // the one task of the pack again and again
				task, err := picker(t, 1).Pick(t.Context(), m, round)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(task.ID, arena.TaskPrefix) || len(task.ID) != len(arena.TaskPrefix)+26 {
					t.Errorf("id %q", task.ID)
				}
				ids[task.ID] = true
			}
		}
		if len(ids) != 8 {
			t.Errorf("%d ids in 8 rounds", len(ids))
		}
	})
	t.Run("generator", func(t *testing.T) {
		t.Parallel()
		spec := arena.GeneratorSpec{Name: "arithmetic", Difficulty: 4}
		m := arena.Match{ID: "m_1", Seed: 5, Settings: arena.Settings{Generator: &spec}}
		got, err := picker(t, 0).Pick(t.Context(), m, 3)
		if err != nil {
			t.Fatal(err)
		}
		want, err := league.Generate(spec, 5, 3)
		if err != nil {
			t.Fatal(err)
		}
		want.ID = got.ID
		if d := cmp.Diff(want, got); d != "" || got.ID == "" {
			t.Errorf("id %q, %s", got.ID, d)
		}
	})
	t.Run("empty pack", func(t *testing.T) {
		t.Parallel()
		if _, err := picker(t, 0).Pick(t.Context(), packed(1), 1); arena.CodeOf(err) != arena.CodeConflict {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no such pack", func(t *testing.T) {
		t.Parallel()
		m := packed(1)
		m.Settings.PackID = "pk_2"
		if _, err := picker(t, 5).Pick(t.Context(), m, 1); arena.CodeOf(err) != arena.CodeNotFound {
			t.Errorf("error %v", err)
		}
	})
	t.Run("round 0", func(t *testing.T) {
		t.Parallel()
		if _, err := picker(t, 5).Pick(t.Context(), packed(1), 0); err == nil {
			t.Error("no error")
		}
	})
}

func TestNewTasks_needsAStore(t *testing.T) {
	t.Parallel()
	if _, err := league.NewTasks(nil); err == nil {
		t.Error("no error")
	}
}
