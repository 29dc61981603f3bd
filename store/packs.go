package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// taskDoc is a task as it is stored. Its members must be those of arena.Task,
// so that one converts into the other.
type taskDoc struct {
	ID           string   `json:"id"`
	Description  string   `json:"description"`
	Answers      []string `json:"answers"`
	Options      []string `json:"options"`
	InputFormat  string   `json:"input_format"`
	OutputFormat string   `json:"output_format"`
	Topic        string   `json:"topic"`
	Difficulty   string   `json:"difficulty"`
	MaxTokens    int      `json:"max_tokens"`
	Rules        []string `json:"rules"`

	Cases  []arena.Case `json:"cases,omitempty"`
	Source string       `json:"source,omitempty"`
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
}

var taskTable = db.NewTable("tasks", "t",
	db.Text("pack_id", func(t *taskRow) *string { return &t.packID }),
	db.Int("n", func(t *taskRow) *int { return &t.n }),
	db.JSON("body", func(t *taskRow) *taskDoc { return &t.task }).With(func(t *taskRow) any { return t.body }),
)

var insertTasks = db.NewInsert(taskTable, "")

// CreatePack stores a pack with its tasks, numbered from 0, and the audit
// entries about it; its count is len(tasks) whatever p says.
func (s *Store) CreatePack(ctx context.Context, p arena.Pack, tasks []arena.Task, audit ...arena.AuditEntry) error {
	rows := make([]taskRow, len(tasks))
	for i, t := range tasks {
		body, err := db.JSONText(taskDoc(t))
		if err != nil {
			return s.wrap(err, "create pack %s: task %d", p.ID, i)
		}
		rows[i] = taskRow{packID: p.ID, n: i, body: body}
	}
	err := s.writeAlone(ctx, p.ID, func(ctx context.Context, tx *db.Tx) error {
		p.Tasks = len(tasks)
		if _, err := insertPacks.Exec(ctx, tx, p); err != nil {
			return err
		}
		if _, err := insertTasks.Exec(ctx, tx, rows...); err != nil {
			return err
		}
		return insertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "create pack %s", p.ID)
}

// Pack returns one pack.
func (s *Store) Pack(ctx context.Context, id string) (arena.Pack, error) {
	p, err := packTable.One(ctx, s.reader, ` WHERE p.id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("pack", id)
	}
	return p, s.wrap(err, "read pack %s", id)
}

// Packs lists packs, newest first.
func (s *Store) Packs(ctx context.Context, p arena.Page) ([]arena.Pack, string, error) {
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
func (s *Store) Task(ctx context.Context, packID string, n int) (arena.Task, error) {
	t, err := taskTable.One(ctx, s.reader, ` WHERE t.pack_id = $1 AND t.n = $2`, packID, n)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "there is no task %d in pack %q", n, packID)
	}
	return arena.Task(t.task), s.wrap(err, "read task %d of pack %s", n, packID)
}

// EachTask calls visit with every task of a pack in order, until it returns
// an error, which comes back.
func (s *Store) EachTask(ctx context.Context, packID string, visit func(n int, task arena.Task) error) error {
	const page = 512
	for from := 0; ; from += page {
		tasks, err := taskTable.All(ctx, s.reader, ` WHERE t.pack_id = $1 AND t.n >= $2 AND t.n < $3 ORDER BY t.n`, packID, from, from+page)
		if err != nil {
			return s.wrap(err, "read tasks of pack %s", packID)
		}
		for i, t := range tasks {
			if err := visit(from+i, arena.Task(t.task)); err != nil {
				return err
			}
		}
		if len(tasks) < page {
			return nil
		}
	}
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
func (s *Store) RecentTasks(ctx context.Context, m arena.Match) (map[string]time.Time, error) {
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
