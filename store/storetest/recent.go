package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// recentTasks: what the seats of a match have had, in it and before.
func recentTasks(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c", "d")
	play := func(id string, sources []string, agents ...string) {
		m := f.begin(id, "trivia", agents...)
		for i, source := range sources {
			r := round(i + 1)
			r.Task.Source = source
			f.ok(second(f.Matches.OpenRound(ctx, m.Lease, r, nil)))
			f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: i + 1, Seats: m.Seats}, noEvents)))
		}
		f.settle(m, start)
	}
	play("m_1", []string{"pk_1/5", "pk_1/6"}, ids[0], ids[1])
	play("m_2", []string{"", "pk_1/5"}, ids[0], ids[2])
	play("m_3", []string{"pk_1/9"}, ids[2], ids[3])
	at := func(no int) time.Time { return round(no).OpenedAt }
	removedTasks(f)
	replacedTasks(f)
	correctedTasks(f)

	next := arena.Match{ID: "m_9", League: "trivia", Seats: []arena.Seat{{AgentID: ids[0]}, {AgentID: ids[1]}}}
	f.equal(map[string]time.Time{"pk_1/5": at(2), "pk_1/6": at(2)}, must(f.Packs.RecentTasks(ctx, next))(f))
	next.Seats[1].AgentID = ids[3]
	f.equal(map[string]time.Time{"pk_1/5": at(2), "pk_1/6": at(2), "pk_1/9": at(1)}, must(f.Packs.RecentTasks(ctx, next))(f))
	f.equal(map[string]time.Time{"pk_1/9": at(1)}, must(f.Packs.RecentTasks(ctx, arena.Match{ID: "m_3"}))(f)) // its own

	// With many seats it is what the league has had.
	for i := range 9 {
		next.Seats = append(next.Seats, arena.Seat{AgentID: fmt.Sprint(i)})
	}
	f.equal(3, len(must(f.Packs.RecentTasks(ctx, next))(f)))
	next.League = "none"
	f.equal(0, len(must(f.Packs.RecentTasks(ctx, next))(f)))

	// And only lately.
	for i := range 20 {
		play(fmt.Sprintf("m_a%02d", i), []string{fmt.Sprintf("pk_2/%d", i)}, ids[0], ids[1])
	}
	next = arena.Match{ID: "m_x", League: "trivia", Seats: []arena.Seat{{AgentID: ids[0]}, {AgentID: ids[1]}}}
	f.equal(20, len(must(f.Packs.RecentTasks(ctx, next))(f)))
}

// removedTasks removes a question that two finished matches of recentTasks have used.
func removedTasks(f *fixture) {
	ctx := f.t.Context()
	p := arena.Pack{ID: "pk_1", Name: "P", Format: "jsonl", Tasks: 7, CreatedAt: start}
	f.ok(f.Packs.CreatePack(ctx, p, make([]arena.Task, 7)))
	f.equal(map[string][]string{"trivia": {"m_1", "m_2"}}, must(f.Packs.RemoveTask(ctx, "pk_1", 5, start))(f))
	f.equal(map[string][]string{}, must(f.Packs.RemoveTask(ctx, "pk_1", 0, start))(f))
	f.fails(arena.CodeConflict, second(f.Packs.RemoveTask(ctx, "pk_1", 5, start)))
	f.fails(arena.CodeNotFound, second(f.Packs.RemoveTask(ctx, "pk_1", 7, start)))
	f.equal([]int{0, 5}, must(f.Packs.RemovedTasks(ctx, "pk_1"))(f))
	f.equal(0, len(must(f.Packs.RemovedTasks(ctx, "pk_none"))(f)))
	f.equal(1, must(f.Leagues.League(ctx, "trivia"))(f).RemovedTasks)
	f.equal(7, must(f.Packs.Pack(ctx, "pk_1"))(f).Tasks)

	var tasks []arena.PackTask
	for page := (arena.Page{Limit: 3}); ; {
		items, next, err := f.Packs.PackTasks(ctx, "pk_1", page)
		f.ok(err)
		tasks = append(tasks, items...)
		if page.Cursor = next; next == "" {
			break
		}
	}
	f.equal([]string{"0 0 true", "1 0 false", "2 0 false", "3 0 false", "4 0 false", "5 2 true", "6 1 false"},
		pick(tasks, func(t arena.PackTask) string { return fmt.Sprint(t.N, t.Rounds, !t.RemovedAt.IsZero()) }))
	_, _, err := f.Packs.PackTasks(ctx, "pk_none", arena.Page{Limit: 3})
	f.fails(arena.CodeNotFound, err)
	for _, n := range []int{1, 2, 3, 4} {
		must(f.Packs.RemoveTask(ctx, "pk_1", n, start))(f)
	}
	f.fails(arena.CodeConflict, second(f.Packs.RemoveTask(ctx, "pk_1", 6, start))) // the last one
}

// replacedTasks changes the texts of questions of a new pack, of which one has
// been used.
func replacedTasks(f *fixture) {
	ctx := f.t.Context()
	f.league("words")
	f.ok(f.Packs.CreatePack(ctx, arena.Pack{ID: "pk_3", Name: "Wrods", Format: "jsonl", CreatedAt: start},
		[]arena.Task{{Description: "Old?", Answers: []string{"a"}, MaxTokens: 7}, {Description: "Other?", Answers: []string{"b"}}}))
	m := f.begin("m_w", "words", f.agents("e", "g")...)
	r := round(1)
	r.Task.Description, r.Task.Source = "Old?", "pk_3/0"
	f.ok(second(f.Matches.OpenRound(ctx, m.Lease, r, nil)))
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	f.settle(m, start)

	rename := func(before, after arena.Pack) (arena.AuditEntry, error) {
		return arena.AuditEntry{ID: arena.NewID(arena.AuditPrefix, start), At: start, Actor: "admin", Action: "rename", Target: before.Name + " " + after.Name}, nil
	}
	f.equal("Words", must(f.Packs.RenamePack(ctx, "pk_3", "Words", rename))(f).Name)
	f.fails(arena.CodeNotFound, second(f.Packs.RenamePack(ctx, "pk_none", "Words", rename)))
	text := func(s string) func(*arena.Task) error {
		return func(t *arena.Task) error { t.Description = s; return nil }
	}
	replaced := func(before, after arena.PackTask) (arena.AuditEntry, error) {
		return arena.AuditEntry{ID: arena.NewID(arena.AuditPrefix, start), At: start, Actor: "admin", Action: "replace", Target: before.Task.Description + " " + after.Task.Description}, nil
	}
	f.equal(arena.PackTask{N: 2, Task: arena.Task{Description: "New?", Answers: []string{"a"}, MaxTokens: 7}}, must(f.Packs.ReplaceTask(ctx, "pk_3", 0, text("New?"), replaced))(f))
	f.fails(arena.CodeConflict, second(f.Packs.ReplaceTask(ctx, "pk_3", 0, text("Newer?"), replaced)))
	f.fails(arena.CodeNotFound, second(f.Packs.ReplaceTask(ctx, "pk_3", 3, text("x"), replaced)))
	f.fails(arena.CodeNotFound, second(f.Packs.ReplaceTask(ctx, "pk_none", 0, text("x"), replaced)))
	f.fails(arena.CodeInvalid, second(f.Packs.ReplaceTask(ctx, "pk_3", 1, func(*arena.Task) error { return arena.Invalid("answer", "no") }, replaced)))
	f.equal(3, must(f.Packs.ReplaceTask(ctx, "pk_3", 2, text("Newest?"), replaced))(f).N)
	f.equal(arena.Pack{ID: "pk_3", Name: "Words", Format: "jsonl", Tasks: 4, CreatedAt: start}, must(f.Packs.Pack(ctx, "pk_3"))(f))
	entries, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 9})
	f.ok(err)
	changes := pick(entries, func(e arena.AuditEntry) string { return e.Action + " " + e.Target })
	slices.Sort(changes) // they were stored in one millisecond
	f.equal([]string{"rename Wrods Words", "replace New? Newest?", "replace Old? New?"}, changes)

	var used []string
	f.ok(f.Packs.EachTask(ctx, "pk_3", func(n int, task arena.Task) error {
		used = append(used, fmt.Sprint(n, " ", task.Description))
		return nil
	}))
	f.equal([]string{"1 Other?", "3 Newest?"}, used)

	// What was played stays, and a new round does not get the old text.
	f.equal("Old?", must(f.Matches.Rounds(ctx, "m_w"))(f)[0].Task.Description)
	f.equal("Old?", must(f.Packs.Task(ctx, "pk_3", 0))(f).Description) // for a match that has planned it
	f.equal([]int{0, 2}, must(f.Packs.RetiredTasks(ctx, "pk_3"))(f))
	f.equal(0, len(must(f.Packs.RemovedTasks(ctx, "pk_3"))(f)))
	tasks, _, err := f.Packs.PackTasks(ctx, "pk_3", arena.Page{Limit: 9})
	f.ok(err)
	f.equal([]string{"0 1 2", "1 0 0", "2 0 3", "3 0 0"}, pick(tasks, func(t arena.PackTask) string { return fmt.Sprint(t.N, t.Rounds, t.ReplacedBy) }))

	// More than the answer was changed, so played rounds are not judged by the new one.
	_, _, err = f.Packs.Correction(ctx, "pk_3", 0)
	f.fails(arena.CodeConflict, err)
	_, _, err = f.Packs.Correction(ctx, "pk_3", 1) // not changed
	f.fails(arena.CodeConflict, err)
	_, _, err = f.Packs.Correction(ctx, "pk_none", 0)
	f.fails(arena.CodeNotFound, err)

	// A text that was changed can be removed too: its rounds are void then.
	f.ok(second(f.Packs.RemoveTask(ctx, "pk_3", 1, start)))
	f.fails(arena.CodeConflict, second(f.Packs.RemoveTask(ctx, "pk_3", 3, start))) // the only one in use
	f.equal(map[string][]string{"words": {"m_w"}}, must(f.Packs.RemoveTask(ctx, "pk_3", 0, start))(f))
	f.equal([]int{0, 1}, must(f.Packs.RemovedTasks(ctx, "pk_3"))(f))
	f.equal([]int{0, 1, 2}, must(f.Packs.RetiredTasks(ctx, "pk_3"))(f))
	f.fails(arena.CodeConflict, second(f.Packs.ReplaceTask(ctx, "pk_3", 1, text("x"), replaced)))
}

// correctedTasks corrects the answer of a question, twice.
func correctedTasks(f *fixture) {
	ctx := f.t.Context()
	f.league("keys")
	f.ok(f.Packs.CreatePack(ctx, arena.Pack{ID: "pk_4", Name: "Keys", Format: "jsonl", CreatedAt: start}, []arena.Task{{Description: "2+2?", Answers: []string{"5"}}, {Description: "Other?"}}))
	m := f.begin("m_k", "keys", f.agents("kx", "ky")...)
	r := round(1)
	r.Task.Source = arena.SourceOf("pk_4", 0)
	f.ok(second(f.Matches.OpenRound(ctx, m.Lease, r, nil)))
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	f.equal(map[string][]string{"keys": nil}, must(f.Packs.TaskMatches(ctx, "pk_4", 0))(f))
	f.settle(m, start)
	f.equal(map[string][]string{"keys": {"m_k"}}, must(f.Packs.TaskMatches(ctx, "pk_4", 0, 0, 1))(f))

	key := func(n int, to string) {
		f.ok(second(f.Packs.ReplaceTask(ctx, "pk_4", n, func(t *arena.Task) error { t.Answers = []string{to}; return nil })))
	}
	correct := func(n int, reaches []int, answer string) {
		tasks, answers, err := f.Packs.Correction(ctx, "pk_4", n)
		f.ok(err)
		f.equal(reaches, tasks)
		f.equal([]string{answer}, answers)
		f.ok(f.Packs.CorrectTasks(ctx, "pk_4", tasks, map[string][]string{"keys": {"m_k"}}, start, arena.AuditEntry{ID: arena.NewID(arena.AuditPrefix, start), At: start, Actor: "admin", Action: "correct", Target: "pk_4"}))
	}
	key(0, "3")
	f.equal(0, len(must(f.Packs.CorrectedAnswers(ctx, "pk_4"))(f)))
	correct(0, []int{0}, "3")
	f.equal(map[int][]string{0: {"3"}}, must(f.Packs.CorrectedAnswers(ctx, "pk_4"))(f))
	key(2, "4")
	f.equal(map[int][]string{0: {"3"}}, must(f.Packs.CorrectedAnswers(ctx, "pk_4"))(f)) // not asked for
	correct(2, []int{2, 0}, "4")
	f.equal(map[int][]string{0: {"4"}, 2: {"4"}}, must(f.Packs.CorrectedAnswers(ctx, "pk_4"))(f))
	correct(0, []int{0, 2}, "4")
	f.equal(3, must(f.Leagues.League(ctx, "keys"))(f).CorrectedTasks)
	tasks, _, err := f.Packs.PackTasks(ctx, "pk_4", arena.Page{Limit: 9})
	f.ok(err)
	f.equal([]string{"true", "false", "true", "false"}, pick(tasks, func(t arena.PackTask) string { return fmt.Sprint(!t.CorrectedAt.IsZero()) }))
}
