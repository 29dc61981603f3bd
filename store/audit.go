package store

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/agora-arena/arena/arena"
)

// Audit appends an entry to the audit log. Entries never change. An entry
// about a change of rows is stored by the method that changes them.
func (s *Store) Audit(ctx context.Context, e arena.AuditEntry) error {
	e.ID = cmp.Or(e.ID, arena.NewID(arena.AuditPrefix, e.At))
	err := s.write(ctx, e.ID, func(ctx context.Context, tx *transaction) error {
		return insertAudit(ctx, tx, e)
	})
	return s.wrap(err, "audit %s", e.Action)
}

// insertAudit stores entries together with what they record.
func insertAudit(ctx context.Context, tx *transaction, entries ...arena.AuditEntry) error {
	for _, e := range entries {
		_, err := exec(ctx, tx, `INSERT INTO audit (id, at, actor, token, action, target, before, after)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, cmp.Or(e.ID, arena.NewID(arena.AuditPrefix, e.At)), ms(e.At), e.Actor, e.Token, e.Action, e.Target,
			storable(string(e.Before)), storable(string(e.After)))
		if err != nil {
			return err
		}
	}
	return nil
}

// auditChange stores the entries about a change of a row together with it.
func auditChange[T any, A ~func(before, after T) (arena.AuditEntry, error)](ctx context.Context, tx *transaction, before, after T, audit []A) error {
	for _, entry := range audit {
		e, err := entry(before, after)
		if err != nil {
			return err
		}
		if err := insertAudit(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

// AuditLog lists the entries, newest first.
func (s *Store) AuditLog(ctx context.Context, f arena.AuditFilter, p arena.Page) ([]arena.AuditEntry, string, error) {
	after, err := listAudit.open(p)
	if err != nil {
		return nil, "", err
	}
	var c clauses
	if f.Find != "" {
		c.and("(actor = ? OR action = ? OR target = ?)", f.Find, f.Find, f.Find)
	}
	if after != "" {
		c.and("id < ?", after)
	}
	items, err := all(ctx, s.reader, func(r scanner) (e arena.AuditEntry, err error) {
		var before, after string
		err = r.Scan(&e.ID, timeInto{&e.At}, &e.Actor, &e.Token, &e.Action, &e.Target, &before, &after)
		e.Before, e.After = json.RawMessage(before), json.RawMessage(after)
		return e, err
	}, `SELECT id, at, actor, token, action, target, before, after FROM audit`+c.where()+` ORDER BY id DESC LIMIT `+c.arg(p.Limit+1), c.args...)
	if err != nil {
		return nil, "", s.wrap(err, "list the audit log")
	}
	items, next := closePage(listAudit, p, items, func(e arena.AuditEntry) string { return e.ID })
	return items, next, nil
}
