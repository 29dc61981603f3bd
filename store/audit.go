package store

import (
	"context"
	"encoding/json"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// Audit appends an entry to the audit log. Entries never change.
func (s *Store) Audit(ctx context.Context, e arena.AuditEntry) error {
	if e.ID == "" {
		e.ID = arena.NewID(arena.AuditPrefix, e.At)
	}
	err := s.write(ctx, e.ID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `INSERT INTO audit (id, at, actor, token, action, target, before, after)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, e.ID, db.Millis(e.At), e.Actor, e.Token, e.Action, e.Target,
			db.Storable(string(e.Before)), db.Storable(string(e.After)))
		return err
	})
	return s.wrap(err, "audit %s", e.Action)
}

// AuditLog lists the entries, newest first.
func (s *Store) AuditLog(ctx context.Context, f arena.AuditFilter, p arena.Page) ([]arena.AuditEntry, string, error) {
	after, err := listAudit.open(p)
	if err != nil {
		return nil, "", err
	}
	var c db.Clauses
	if f.Find != "" {
		c.And("(actor = ? OR action = ? OR target = ?)", f.Find, f.Find, f.Find)
	}
	if after != "" {
		c.And("id < ?", after)
	}
	items, err := db.All(ctx, s.reader, func(r db.Row) (e arena.AuditEntry, err error) {
		var before, after string
		err = r.Scan(&e.ID, db.IntoTime(&e.At), &e.Actor, &e.Token, &e.Action, &e.Target, &before, &after)
		e.Before, e.After = json.RawMessage(before), json.RawMessage(after)
		return e, err
	}, `SELECT id, at, actor, token, action, target, before, after FROM audit`+c.Where()+` ORDER BY id DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list the audit log")
	}
	items, next := closePage(listAudit, p, items, func(e arena.AuditEntry) string { return e.ID })
	return items, next, nil
}
