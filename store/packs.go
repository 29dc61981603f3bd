package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/agora-arena/arena/arena"
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
}

// CreatePack stores a pack with its tasks, numbered from 0; its count is
// len(tasks) whatever p says.
func (s *Store) CreatePack(ctx context.Context, p arena.Pack, tasks []arena.Task) error {
	rows := make([][]any, len(tasks))
	for i, t := range tasks {
		body, err := jsonText(taskDoc(t))
		if err != nil {
			return s.wrap(err, "create pack %s: task %d", p.ID, i)
		}
		rows[i] = []any{p.ID, i, body}
	}
	err := s.writeAlone(ctx, p.ID, func(ctx context.Context, tx *transaction) error {
		if _, err := exec(ctx, tx, `INSERT INTO packs (id, name, format, tasks, created_at) VALUES ($1, $2, $3, $4, $5)`,
			p.ID, p.Name, p.Format, len(tasks), ms(p.CreatedAt)); err != nil {
			return err
		}
		return bulk(ctx, tx, `INSERT INTO tasks (pack_id, n, body)`, "", rows)
	})
	return s.wrap(err, "create pack %s", p.ID)
}

const packRows = `SELECT id, name, format, tasks, created_at FROM packs`

func scanPack(r scanner) (p arena.Pack, err error) {
	return p, r.Scan(&p.ID, &p.Name, &p.Format, &p.Tasks, timeInto{&p.CreatedAt})
}

// Pack gives one pack.
func (s *Store) Pack(ctx context.Context, id string) (arena.Pack, error) {
	p, err := one(ctx, s.reader, scanPack, packRows+` WHERE id = $1`, id)
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
	var c clauses
	if after != "" {
		c.and("id < ?", after)
	}
	items, err := all(ctx, s.reader, scanPack, packRows+c.where()+` ORDER BY id DESC LIMIT `+c.arg(p.Limit+1), c.args...)
	if err != nil {
		return nil, "", s.wrap(err, "list packs")
	}
	items, next := closePage(listPacks, p, items, func(p arena.Pack) string { return p.ID })
	return items, next, nil
}

// Task gives task n of a pack, 0 <= n < Pack.Tasks, else not_found.
func (s *Store) Task(ctx context.Context, packID string, n int) (arena.Task, error) {
	t, err := one(ctx, s.reader, func(r scanner) (t taskDoc, err error) {
		return t, r.Scan(jsonInto{&t})
	}, `SELECT body FROM tasks WHERE pack_id = $1 AND n = $2`, packID, n)
	if errors.Is(err, sql.ErrNoRows) {
		err = arena.Errorf(arena.CodeNotFound, "there is no task %d in pack %q", n, packID)
	}
	return arena.Task(t), s.wrap(err, "read task %d of pack %s", n, packID)
}
