package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// taskDoc is a task as it is stored. Its members must be those of arena.Task,
// so that one converts into the other.
type taskDoc struct {
	ID           string   `json:"id"`
	Description  string   `json:"description"`
	Answers      []string `json:"answers,omitzero"`
	Options      []string `json:"options,omitzero"`
	InputFormat  string   `json:"input_format,omitzero"`
	OutputFormat string   `json:"output_format,omitzero"`
	Topic        string   `json:"topic,omitzero"`
	Difficulty   string   `json:"difficulty,omitzero"`
	MaxTokens    int      `json:"max_tokens,omitzero"`
	Rules        []string `json:"rules,omitzero"`

	Cases       []arena.Case    `json:"cases,omitempty"`
	Observation json.RawMessage `json:"-"` // of a prompt
	Source      string          `json:"source,omitempty"`
}

var packTable = db.NewTable("packs", "p",
	db.Text("id", func(p *arena.Pack) *string { return &p.ID }),
	db.Text("name", func(p *arena.Pack) *string { return &p.Name }),
	db.Text("format", func(p *arena.Pack) *string { return &p.Format }),
	db.Int("tasks", func(p *arena.Pack) *int { return &p.Tasks }),
	db.Time("created_at", func(p *arena.Pack) *time.Time { return &p.CreatedAt }),
)

var insertPacks = db.NewInsert(packTable, "")

// taskRow is a row of tasks.
type taskRow struct {
	packID string
	n      int
	task   taskDoc
	body   string // task, encoded before the write is queued

	removedAt   time.Time
	replacedBy  int
	correctedAt time.Time
}

var taskTable = db.NewTable("tasks", "t",
	db.Text("pack_id", func(t *taskRow) *string { return &t.packID }),
	db.Int("n", func(t *taskRow) *int { return &t.n }),
	db.JSON("body", func(t *taskRow) *taskDoc { return &t.task }).With(func(t *taskRow) any { return t.body }),
	db.Time("removed_at", func(t *taskRow) *time.Time { return &t.removedAt }),
	db.Int("replaced_by", func(t *taskRow) *int { return &t.replacedBy }),
	db.Time("corrected_at", func(t *taskRow) *time.Time { return &t.correctedAt }),
)

var insertTasks = db.NewInsert(taskTable, "")

func newTaskRow(packID string, n int, t arena.Task) (taskRow, error) {
	body, err := db.JSONText(taskDoc(t))
	return taskRow{packID: packID, n: n, task: taskDoc(t), body: body}, err
}

func (t taskRow) packTask() arena.PackTask {
	return arena.PackTask{N: t.n, Task: arena.Task(t.task), RemovedAt: t.removedAt, ReplacedBy: t.replacedBy, CorrectedAt: t.correctedAt}
}

// CreatePack stores a pack with its tasks, numbered from 0, and the audit
// entries about it; its count is len(tasks) whatever p says.
func (s *Packs) CreatePack(ctx context.Context, p arena.Pack, tasks []arena.Task, audit ...arena.AuditEntry) error {
	rows := make([]taskRow, len(tasks))
	for i, t := range tasks {
		var err error
		if rows[i], err = newTaskRow(p.ID, i, t); err != nil {
			return s.wrap(err, "create pack %s: task %d", p.ID, i)
		}
	}
	err := s.writeAlone(ctx, p.ID, func(ctx context.Context, tx *db.Tx) error {
		p.Tasks = len(tasks)
		if _, err := insertPacks.Exec(ctx, tx, p); err != nil {
			return err
		}
		if _, err := insertTasks.Exec(ctx, tx, rows...); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "create pack %s", p.ID)
}

// Pack returns one pack.
func (s *Packs) Pack(ctx context.Context, id string) (arena.Pack, error) {
	p, err := onePack(ctx, s.reader, id, "")
	return p, s.wrap(err, "read pack %s", id)
}

// onePack reads a pack, with lock behind the statement.
func onePack(ctx context.Context, q db.Querier, id, lock string) (arena.Pack, error) {
	p, err := packTable.One(ctx, q, ` WHERE p.id = $1`+lock, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("pack", id)
	}
	return p, err
}

// Packs lists packs, newest first.
func (s *Packs) Packs(ctx context.Context, p arena.Page) ([]arena.Pack, string, error) {
	after, err := listPacks.open(p)
	if err != nil {
		return nil, "", err
	}
	var c db.Clauses
	if after != "" {
		c.And("p.id < ?", after)
	}
	items, err := packTable.All(ctx, s.reader, c.Where()+` ORDER BY p.id DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list packs")
	}
	items, next := closePage(listPacks, p, items, func(p arena.Pack) string { return p.ID })
	return items, next, nil
}

// Task returns task n of a pack, 0 <= n < Pack.Tasks, else not_found.
func (s *Packs) Task(ctx context.Context, packID string, n int) (arena.Task, error) {
	t, err := taskTable.One(ctx, s.reader, ` WHERE t.pack_id = $1 AND t.n = $2`, packID, n)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "there is no task %d in pack %q", n, packID)
	}
	return arena.Task(t.task), s.wrap(err, "read task %d of pack %s", n, packID)
}

// EachTask calls visit with every task of a pack that is in use, in order, until
// it returns an error, which comes back.
func (s *Packs) EachTask(ctx context.Context, packID string, visit func(n int, task arena.Task) error) error {
	const page = 512
	for from := 0; ; {
		tasks, err := taskTable.All(ctx, s.reader, ` WHERE t.pack_id = $1 AND t.n >= $2 AND t.removed_at = 0 AND t.replaced_by = 0 ORDER BY t.n LIMIT $3`, packID, from, page)
		if err != nil {
			return s.wrap(err, "read tasks of pack %s", packID)
		}
		for _, t := range tasks {
			if err := visit(t.n, arena.Task(t.task)); err != nil {
				return err
			}
			from = t.n + 1
		}
		if len(tasks) < page {
			return nil
		}
	}
}

// PackTasks lists the tasks of a pack by number, removed and changed ones too.
func (s *Packs) PackTasks(ctx context.Context, packID string, p arena.Page) ([]arena.PackTask, string, error) {
	after, err := listTasks.open(p)
	if err != nil {
		return nil, "", err
	}
	from := -1
	if after != "" {
		if from, err = strconv.Atoi(after); err != nil {
			return nil, "", arena.Invalid("cursor", "is not one of this list")
		}
	}
	if _, err := s.Pack(ctx, packID); err != nil {
		return nil, "", err
	}
	rows, err := taskTable.All(ctx, s.reader, ` WHERE t.pack_id = $1 AND t.n > $2 ORDER BY t.n LIMIT $3`, packID, from, p.Limit+1)
	if err != nil {
		return nil, "", s.wrap(err, "list tasks of pack %s", packID)
	}
	rows, next := closePage(listTasks, p, rows, func(t taskRow) string { return strconv.Itoa(t.n) })
	used, err := s.taskRounds(ctx, packID)
	if err != nil {
		return nil, "", err
	}
	items := make([]arena.PackTask, len(rows))
	for i, t := range rows {
		items[i] = t.packTask()
		items[i].Rounds = used[arena.SourceOf(packID, t.n)]
	}
	return items, next, nil
}

// taskRounds counts the rounds of a pack's tasks by source.
func (s *Packs) taskRounds(ctx context.Context, packID string) (map[string]int, error) {
	used := map[string]int{}
	err := s.eachMatches(ctx, func(after, last string) error {
		_, err := db.All(ctx, s.reader, func(r db.Row) (n int, err error) {
			var source string
			err = r.Scan(&source, &n)
			used[source] += n
			return n, err
		}, `SELECT source, count(*) FROM rounds WHERE match_id > $1 AND match_id <= $2 AND source >= $3 AND source < $4 GROUP BY source`,
			after, last, packID+"/", packID+"0") // "0" follows "/"
		return err
	})
	return used, s.wrap(err, "count the rounds of pack %s", packID)
}

// usePage is how many matches are looked at in one statement for the tasks they used.
const usePage = 1_000

// eachMatches calls read for all matches in pages, each with the id before it and its
// last id. The rounds of a task are found in this way, since an index of their sources
// would cost every round that is played.
func (s *Packs) eachMatches(ctx context.Context, read func(after, last string) error) error {
	for after := ""; ; {
		last, err := db.One(ctx, s.reader, db.ScanText,
			`SELECT COALESCE(max(p.id), '') FROM (SELECT id FROM matches WHERE id > $1 ORDER BY id LIMIT $2) p`, after, usePage)
		if err != nil || last == "" {
			return err
		}
		if err := read(after, last); err != nil {
			return err
		}
		after = last
	}
}

// RenamePack names a pack and stores the audit entries about it.
func (s *Packs) RenamePack(ctx context.Context, id, name string, audit ...arena.PackAudit) (arena.Pack, error) {
	var after arena.Pack
	err := s.writeAlone(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		before, err := onePack(ctx, tx, id, s.d.Lock("p"))
		if err != nil {
			return err
		}
		after = before
		after.Name = name
		if _, err := db.Exec(ctx, tx, `UPDATE packs SET name = $1 WHERE id = $2`, name, id); err != nil {
			return err
		}
		return auditChange(ctx, tx, before, after, audit)
	})
	return after, s.wrap(err, "rename pack %s", id)
}

// ReplaceTask stores a task that apply has changed under the next number of its
// pack, in place of task n, with the audit entries about it. Rounds that have used
// task n keep it. The error of apply undoes the change and comes back. conflict:
// task n is removed or replaced.
func (s *Packs) ReplaceTask(ctx context.Context, packID string, n int, apply func(*arena.Task) error, audit ...arena.TaskAudit) (arena.PackTask, error) {
	var after arena.PackTask
	err := s.writeAlone(ctx, packID, func(ctx context.Context, tx *db.Tx) error {
		p, err := onePack(ctx, tx, packID, s.d.Lock("p"))
		if err != nil {
			return err
		}
		old, err := s.taskInUse(ctx, tx, packID, n)
		if err != nil {
			return err
		}
		task := arena.Task(old.task)
		if err := apply(&task); err != nil {
			return err
		}
		row, err := newTaskRow(packID, p.Tasks, task)
		if err != nil {
			return err
		}
		if _, err := insertTasks.Exec(ctx, tx, row); err != nil {
			return err
		}
		if _, err := db.Exec(ctx, tx, `UPDATE tasks SET replaced_by = $1 WHERE pack_id = $2 AND n = $3`, row.n, packID, n); err != nil {
			return err
		}
		if _, err := db.Exec(ctx, tx, `UPDATE packs SET tasks = $1 WHERE id = $2`, p.Tasks+1, packID); err != nil {
			return err
		}
		after = row.packTask()
		return auditChange(ctx, tx, old.packTask(), after, audit)
	})
	return after, s.wrap(err, "replace task %d of pack %s", n, packID)
}

// taskInUse reads a task for a change of it. conflict: it is removed or replaced.
func (s *Packs) taskInUse(ctx context.Context, tx *db.Tx, packID string, n int) (taskRow, error) {
	t, err := s.oneTask(ctx, tx, packID, n)
	if err == nil && t.replacedBy > 0 {
		err = arena.Errorf(arena.CodeConflict, "question %d of pack %s was changed; its text is now question %d", n, packID, t.replacedBy)
	}
	return t, err
}

// oneTask locks a task and reads it. conflict: it is removed.
func (s *Packs) oneTask(ctx context.Context, tx *db.Tx, packID string, n int) (taskRow, error) {
	t, err := taskTable.One(ctx, tx, ` WHERE t.pack_id = $1 AND t.n = $2`+s.d.Lock("t"), packID, n)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = arena.Errorf(arena.CodeNotFound, "there is no question %d in pack %q", n, packID)
	case err == nil && !t.removedAt.IsZero():
		err = arena.Errorf(arena.CodeConflict, "question %d of pack %s is removed already", n, packID)
	}
	return t, err
}

// RetiredTasks returns the numbers of the tasks of a pack that new rounds do not
// get: they were removed or replaced.
func (s *Packs) RetiredTasks(ctx context.Context, packID string) ([]int, error) {
	retired, err := db.All(ctx, s.reader, scanNumber,
		`SELECT n FROM tasks WHERE pack_id = $1 AND removed_at > 0 UNION SELECT n FROM tasks WHERE pack_id = $1 AND replaced_by > 0 ORDER BY n`, packID)
	return retired, s.wrap(err, "read retired tasks of pack %s", packID)
}

// RemovedTasks returns the numbers of the tasks that were removed from a pack, whose rounds are void.
func (s *Packs) RemovedTasks(ctx context.Context, packID string) ([]int, error) {
	removed, err := db.All(ctx, s.reader, scanNumber, `SELECT n FROM tasks WHERE pack_id = $1 AND removed_at > 0 ORDER BY n`, packID)
	return removed, s.wrap(err, "read removed tasks of pack %s", packID)
}

func scanNumber(r db.Row) (n int, err error) { return n, r.Scan(&n) }

// TaskMatches returns the leagues whose matches used one of the tasks of a pack, with
// the ids of their finished matches that did.
func (s *Packs) TaskMatches(ctx context.Context, packID string, tasks ...int) (map[string][]string, error) {
	used := map[string][]string{}
	sources := make([]string, len(tasks))
	for i, n := range tasks {
		sources[i] = arena.SourceOf(packID, n)
	}
	err := s.eachMatches(ctx, func(after, last string) error {
		for part := range slices.Chunk(sources, db.MaxIDs) {
			var c db.Clauses
			c.And("r.match_id > ?", after)
			c.And("r.match_id <= ?", last)
			db.In(&c, "r.source", part)
			if _, err := db.All(ctx, s.reader, func(r db.Row) (league string, err error) {
				var id string
				var status arena.MatchStatus
				if err = r.Scan(&league, &id, &status); err != nil {
					return league, err
				}
				if _, known := used[league]; !known {
					used[league] = nil
				}
				if status == arena.MatchFinished {
					used[league] = append(used[league], id)
				}
				return league, nil
			}, `SELECT DISTINCT m.league, m.id, m.status FROM rounds r CROSS JOIN matches m`+c.Where()+` AND m.id = r.match_id ORDER BY m.id`, c.Args...); err != nil {
				return err
			}
		}
		return nil
	})
	for league, ids := range used { // a match may have used several of the tasks
		slices.Sort(ids)
		used[league] = slices.Compact(ids)
	}
	return used, s.wrap(err, "find the matches of tasks of pack %s", packID)
}

// Correction returns the tasks whose played rounds a correction of task n reaches,
// with those that were corrected by it before, and the answers of the task that is in
// its place now. conflict: it was not changed, or in more than its answers.
func (s *Packs) Correction(ctx context.Context, packID string, n int) (tasks []int, answers []string, err error) {
	err = s.view(ctx, func(q db.Querier) error {
		if _, err := onePack(ctx, q, packID, ""); err != nil {
			return err
		}
		changed, err := taskTable.All(ctx, q, ` WHERE t.pack_id = $1 AND t.replaced_by > 0 ORDER BY t.n`, packID)
		if err != nil {
			return err
		}
		old, ok := changedTask(changed, n)
		if !ok {
			return arena.Errorf(arena.CodeConflict, "question %d of pack %s was not changed: correct its answer first", n, packID)
		}
		for t := old; ok; t, ok = changedTask(changed, t.replacedBy) {
			next, err := taskTable.One(ctx, q, ` WHERE t.pack_id = $1 AND t.n = $2`, packID, t.replacedBy)
			if err != nil {
				return err
			}
			if next.task.Description != old.task.Description || !slices.Equal(next.task.Options, old.task.Options) {
				return arena.Errorf(arena.CodeConflict, "more than the answer of question %d was changed: its rounds keep the old question", n)
			}
			tasks, answers = append(tasks, t.n), next.task.Answers
		}
		for _, t := range slices.Backward(changed) { // a task is replaced by one with a higher number
			if !t.correctedAt.IsZero() && slices.Contains(tasks, t.replacedBy) && !slices.Contains(tasks, t.n) {
				tasks = append(tasks, t.n)
			}
		}
		return nil
	})
	return tasks, answers, s.wrap(err, "correct task %d of pack %s", n, packID)
}

func changedTask(changed []taskRow, n int) (taskRow, bool) {
	i := slices.IndexFunc(changed, func(t taskRow) bool { return t.n == n })
	if i < 0 {
		return taskRow{}, false
	}
	return changed[i], true
}

// CorrectTasks has rounds that were played with some tasks judged by the answers of
// those that replaced them, and stores the audit entries about it. It notes it in the
// leagues that used them and in the finished seasons of their matches, by their ids.
func (s *Packs) CorrectTasks(ctx context.Context, packID string, tasks []int, used map[string][]string, at time.Time, audit ...arena.AuditEntry) error {
	err := s.writeAlone(ctx, packID, func(ctx context.Context, tx *db.Tx) error {
		for _, n := range tasks {
			if _, err := db.Exec(ctx, tx, `UPDATE tasks SET corrected_at = $1 WHERE pack_id = $2 AND n = $3 AND replaced_by > 0`, db.Millis(at), packID, n); err != nil {
				return err
			}
		}
		for league, matches := range used {
			if _, err := db.Exec(ctx, tx, `UPDATE leagues SET corrected_tasks = corrected_tasks + 1 WHERE slug = $1`, league); err != nil {
				return err
			}
			for _, match := range matches {
				if _, err := db.Exec(ctx, tx, `UPDATE seasons SET corrected_at = $1 WHERE status = 'finished' AND id = (SELECT season_id FROM pairings WHERE match_id = $2)`, db.Millis(at), match); err != nil {
					return err
				}
			}
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "correct tasks of pack %s", packID)
}

// CorrectedAnswers returns the answers by which rounds are judged that were played
// with a task whose answers were corrected, by its number.
func (s *Packs) CorrectedAnswers(ctx context.Context, packID string) (map[int][]string, error) {
	corrected := map[int][]string{}
	err := s.view(ctx, func(q db.Querier) error {
		rows, err := taskTable.All(ctx, q, ` WHERE t.pack_id = $1 AND t.replaced_by > 0 AND t.corrected_at > 0 ORDER BY t.n`, packID)
		if err != nil {
			return err
		}
		for _, t := range slices.Backward(rows) { // a task is replaced by one with a higher number
			answers, ok := corrected[t.replacedBy]
			if !ok {
				next, err := taskTable.One(ctx, q, ` WHERE t.pack_id = $1 AND t.n = $2`, packID, t.replacedBy)
				if err != nil {
					return err
				}
				answers = next.task.Answers
			}
			corrected[t.n] = answers
		}
		return nil
	})
	return corrected, s.wrap(err, "read corrected tasks of pack %s", packID)
}

// RemoveTask marks a task as removed, notes it in the leagues whose matches used
// it, and stores the audit entries about it. It returns those leagues with the
// ids of their finished matches that used it. conflict: it is removed already, or
// the only one left.
func (s *Packs) RemoveTask(ctx context.Context, packID string, n int, at time.Time, audit ...arena.AuditEntry) (map[string][]string, error) {
	used, err := s.TaskMatches(ctx, packID, n)
	if err != nil {
		return nil, err
	}
	err = s.writeAlone(ctx, packID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.oneTask(ctx, tx, packID, n); err != nil {
			return err
		}
		left, err := db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM tasks WHERE pack_id = $1 AND removed_at = 0 AND replaced_by = 0 AND n <> $2`, packID, n)
		switch {
		case err != nil:
			return err
		case left == 0:
			return arena.Errorf(arena.CodeConflict, "question %d is the only one left in pack %s", n, packID)
		}
		if _, err := db.Exec(ctx, tx, `UPDATE tasks SET removed_at = $1 WHERE pack_id = $2 AND n = $3`, db.Millis(at), packID, n); err != nil {
			return err
		}
		for _, league := range slices.Sorted(maps.Keys(used)) {
			if _, err := db.Exec(ctx, tx, `UPDATE leagues SET removed_tasks = removed_tasks + 1 WHERE slug = $1`, league); err != nil {
				return err
			}
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return used, s.wrap(err, "remove task %d of pack %s", n, packID)
}

// The matches whose tasks are not put again soon: the last ones of each agent,
// or, where there are more agents than that, of the league.
const (
	recentMatches       = 20
	recentLeagueMatches = 50
	recentAgents        = 8
)

// RecentTasks returns the sources of the tasks that the agents of a match have
// had lately, in this match and before, with the time when each was last put.
func (s *Packs) RecentTasks(ctx context.Context, m arena.Match) (map[string]time.Time, error) {
	seen := map[string]time.Time{}
	read := func(r db.Row) (at time.Time, err error) {
		var source string
		err = r.Scan(&source, db.IntoTime(&at))
		if at.After(seen[source]) {
			seen[source] = at
		}
		return at, err
	}
	const rows = `SELECT r.source, r.opened_at FROM rounds r WHERE r.source <> '' AND r.match_id `
	err := s.view(ctx, func(q db.Querier) error {
		if _, err := db.All(ctx, q, read, rows+`= $1`, m.ID); err != nil {
			return err
		}
		if len(m.Seats) > recentAgents {
			_, err := db.All(ctx, q, read, rows+`IN (SELECT o.id FROM matches o WHERE o.league = $1 ORDER BY o.id DESC LIMIT $2)`, m.League, recentLeagueMatches)
			return err
		}
		for _, seat := range m.Seats {
			if _, err := db.All(ctx, q, read, rows+`IN (SELECT o.match_id FROM seats o WHERE o.agent_id = $1 ORDER BY o.match_id DESC LIMIT $2)`,
				seat.AgentID, recentMatches); err != nil {
				return err
			}
		}
		return nil
	})
	return seen, s.wrap(err, "read the recent tasks of match %s", m.ID)
}

// gameColumns are the columns of games without the source, which lists leave out.
func gameColumns() []db.Column[arena.GameScript] {
	return []db.Column[arena.GameScript]{
		db.Text("sha256", func(g *arena.GameScript) *string { return &g.SHA256 }),
		db.Text("name", func(g *arena.GameScript) *string { return &g.Name }),
		db.Text("version", func(g *arena.GameScript) *string { return &g.Version }),
		db.Text("title", func(g *arena.GameScript) *string { return &g.Title }),
		db.JSON("report", func(g *arena.GameScript) *json.RawMessage { return &g.Report }),
		db.Time("created_at", func(g *arena.GameScript) *time.Time { return &g.CreatedAt }),
		db.Text("created_by", func(g *arena.GameScript) *string { return &g.CreatedBy }),
	}
}

var (
	listedGameTable = db.NewTable("games", "g", gameColumns()...)
	gameTable       = db.NewTable("games", "g", append(gameColumns(), db.Text("source", func(g *arena.GameScript) *string { return &g.Source }))...)
)

var insertGames = db.NewInsert(gameTable, "")

// CreateGameScript stores a version of a game and the audit entries about it. It
// returns the stored one. A source that is stored already stays as it is and gets
// no entries. conflict: the version has another source.
func (s *Packs) CreateGameScript(ctx context.Context, g arena.GameScript, audit ...arena.AuditEntry) (stored arena.GameScript, err error) {
	err = s.writeAlone(ctx, g.SHA256, func(ctx context.Context, tx *db.Tx) error {
		same, err := gameTable.All(ctx, tx, ` WHERE g.sha256 = $1 OR g.name = $2 AND g.version = $3`, g.SHA256, g.Name, g.Version)
		if err != nil {
			return err
		}
		if len(same) > 0 {
			stored = same[0]
			if stored.SHA256 != g.SHA256 {
				return arena.Errorf(arena.CodeConflict, "version %s of game %s has another source; change info.version", g.Version, g.Name)
			}
			return nil
		}
		stored = g
		if _, err := insertGames.Exec(ctx, tx, g); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return stored, s.wrap(err, "create game %s", g.Name)
}

// GameScript returns the version of a game with a hash, or the latest one if the
// hash is empty. not_found: there is none.
func (s *Packs) GameScript(ctx context.Context, name, sha256 string) (arena.GameScript, error) {
	g, err := gameTable.One(ctx, s.reader, ` WHERE g.name = $1 AND (g.sha256 = $2 OR $2 = '') ORDER BY g.created_at DESC, g.sha256 DESC LIMIT 1`, name, sha256)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("game", name)
	}
	return g, s.wrap(err, "read game %s", name)
}

// GameScripts returns all versions of all uploaded games without their sources,
// by name, the latest version of each first.
func (s *Packs) GameScripts(ctx context.Context) ([]arena.GameScript, error) {
	all, err := listedGameTable.All(ctx, s.reader, ` ORDER BY g.name, g.created_at DESC, g.sha256 DESC`)
	return all, s.wrap(err, "list games")
}
