package league_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/league/pack"
)

// shelf is a store with one pack of so many tasks; task n is described as n.
// It remembers what was put to whom.
type shelf struct {
	retired []int
	tasks   int
	put     map[string]map[string]time.Time // by match and by agent
	looks   int                             // at what was put
}

func (p *shelf) Pack(_ context.Context, id string) (arena.Pack, error) {
	if id != "pk_1" {
		return arena.Pack{}, arena.Errorf(arena.CodeNotFound, "no pack %s", id)
	}
	return arena.Pack{ID: id, Tasks: p.tasks}, nil
}

func (p *shelf) Task(_ context.Context, packID string, n int) (arena.Task, error) {
	if packID != "pk_1" || n < 0 || n >= p.tasks {
		return arena.Task{}, arena.Errorf(arena.CodeNotFound, "no task %d", n)
	}
	return arena.Task{ID: "tk_of_the_pack", Description: strconv.Itoa(n), Answers: []string{"x"}}, nil
}

func (p *shelf) RetiredTasks(context.Context, string) ([]int, error) { return p.retired, nil }

func (p *shelf) RecentTasks(_ context.Context, m arena.Match) (map[string]time.Time, error) {
	p.looks++
	seen := maps.Clone(p.put[m.ID])
	if seen == nil {
		seen = map[string]time.Time{}
	}
	for _, s := range m.Seats {
		maps.Copy(seen, p.put[s.AgentID])
	}
	return seen, nil
}

// play picks the task of a round and puts it.
func (p *shelf) play(m arena.Match, round int) (arena.Task, error) {
	tasks := league.NewTasks(p)
	task, err := tasks.Pick(context.Background(), m, round)
	if err != nil {
		return task, err
	}
	at := time.Unix(int64(len(p.put[""])), 0)
	who := []string{"", m.ID} // "" counts the tasks
	for _, s := range m.Seats {
		who = append(who, s.AgentID)
	}
	for _, w := range who {
		if p.put == nil {
			p.put = map[string]map[string]time.Time{}
		}
		if p.put[w] == nil {
			p.put[w] = map[string]time.Time{}
		}
		p.put[w][task.Source] = at
	}
	p.put[""][task.ID] = at
	return task, nil
}

func picker(t testing.TB, n int) *league.Tasks {
	t.Helper()
	tasks := league.NewTasks(&shelf{tasks: n})
	return tasks
}

func packed(seed uint64, agents ...string) arena.Match {
	m := arena.Match{ID: "m_" + strconv.FormatUint(seed, 10), Seed: seed, Settings: arena.Settings{PackID: "pk_1"}}
	for _, a := range agents {
		m.Seats = append(m.Seats, arena.Seat{AgentID: a})
	}
	return m
}

func TestTasks_Pick_pack(t *testing.T) {
	t.Parallel()
	t.Run("no agent gets a task again before it has had all", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p := &shelf{tasks: rapid.IntRange(2, 60).Draw(t, "tasks")}
			rounds := rapid.IntRange(1, 5).Draw(t, "rounds")
			had := map[string]bool{}
			for match := 0; len(had) < p.tasks; match++ {
				m := packed(rapid.Uint64().Draw(t, "seed"), "ag_a", "ag_"+strconv.Itoa(match))
				m.ID = strconv.Itoa(match)
				for round := 1; round <= rounds && len(had) < p.tasks; round++ {
					task, err := p.play(m, round)
					if err != nil {
						t.Fatal(err)
					}
					if had[task.Description] {
						t.Fatalf("task %s comes again after %d of %d", task.Description, len(had), p.tasks)
					}
					had[task.Description] = true
				}
			}
		})
	})
	t.Run("then the one of long ago comes", func(t *testing.T) {
		t.Parallel()
		p := &shelf{tasks: 7}
		var order []string
		for i := range 21 {
			task, err := p.play(packed(uint64(i), "ag_a", "ag_b"), 1)
			if err != nil {
				t.Fatal(err)
			}
			order = append(order, task.Description)
		}
		want := slices.Concat(order[:7], order[:7], order[:7])
		if d := cmp.Diff(want, order); d != "" {
			t.Error(d)
		}
	})
	// Threat F1: who knows a public pack would else look up the answers of
	// rounds that are still to come.
	t.Run("two of them do not predict the third", func(t *testing.T) {
		t.Parallel()
		const size, matches, rounds = 842, 100, 10
		predicted := 0
		for seed := range uint64(matches) {
			p, at := &shelf{tasks: size}, [rounds]int{}
			for i := range at {
				task, err := p.play(packed(seed), i+1)
				if err != nil {
					t.Fatal(err)
				}
				if at[i], err = strconv.Atoi(task.Description); err != nil {
					t.Fatal(err)
				}
				if i > 1 && (at[i]-2*at[i-1]+at[i-2])%size == 0 {
					predicted++
				}
			}
		}
		if predicted > 10 { // of 800; the seeds are fixed, and so is this number
			t.Errorf("%d tasks follow from the two before them", predicted)
		}
	})
	t.Run("strangers get them in the order of the seed", func(t *testing.T) {
		t.Parallel()
		order := func(seed uint64) (s string) {
			p := &shelf{tasks: 842}
			for round := 1; round <= 10; round++ {
				task, err := p.play(packed(seed), round)
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
	t.Run("retired tasks are not put", func(t *testing.T) {
		t.Parallel()
		p := &shelf{tasks: 6, retired: []int{0, 3, 4}}
		for i := range 12 {
			task, err := p.play(packed(uint64(i), "ag_a", "ag_b"), 1)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains([]string{"0", "3", "4"}, task.Description) {
				t.Errorf("match %d has retired task %s", i, task.Description)
			}
		}
	})
	t.Run("one look serves many rounds", func(t *testing.T) {
		t.Parallel()
		p := &shelf{tasks: 20, put: map[string]map[string]time.Time{"ag_a": {}}}
		for n := range 15 { // so that 5 are new
			p.put["ag_a"]["pk_1/"+strconv.Itoa(n)] = time.Unix(int64(n), 0)
		}
		m := packed(1, "ag_a")
		m.Settings.Rounds = 80
		tasks := league.NewTasks(p)
		var got []int
		for round := range 80 {
			task, err := tasks.Pick(t.Context(), m, round+1)
			if err != nil {
				t.Fatal(err)
			}
			n, _ := strconv.Atoi(task.Description)
			got = append(got, n)
		}
		slices.Sort(got[:5])
		want := []int{15, 16, 17, 18, 19, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
		if d := cmp.Diff(want, got[:20]); d != "" {
			t.Error(d)
		}
		if p.looks != 2 { // a plan has 64 rounds
			t.Errorf("%d looks", p.looks)
		}
	})
	t.Run("a debate keeps its motion", func(t *testing.T) {
		t.Parallel()
		p := &shelf{tasks: 20}
		m := packed(1, "ag_a", "ag_b")
		m.Settings.Debate = &arena.DebateSpec{Turns: 2}
		motions := map[string]bool{}
		for round := 1; round <= 4; round++ {
			task, err := p.play(m, round)
			if err != nil {
				t.Fatal(err)
			}
			motions[task.Description] = true
		}
		if len(motions) != 1 {
			t.Errorf("motions %v", motions)
		}
	})
}

func TestTasks_Pick(t *testing.T) {
	t.Parallel()
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
		want, err := pack.Generate(spec, 5, 3)
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
