package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

var auditTable = db.NewTable("audit", "u",
	db.Text("id", func(e *arena.AuditEntry) *string { return &e.ID }),
	db.Time("at", func(e *arena.AuditEntry) *time.Time { return &e.At }),
	db.Text("actor", func(e *arena.AuditEntry) *string { return &e.Actor }),
	db.Text("token", func(e *arena.AuditEntry) *string { return &e.Token }),
	db.Text("action", func(e *arena.AuditEntry) *string { return &e.Action }),
	db.Text("target", func(e *arena.AuditEntry) *string { return &e.Target }),
	auditDoc("before", func(e *arena.AuditEntry) *json.RawMessage { return &e.Before }),
	auditDoc("after", func(e *arena.AuditEntry) *json.RawMessage { return &e.After }),
)

func auditDoc(name string, field func(*arena.AuditEntry) *json.RawMessage) db.Column[arena.AuditEntry] {
	return db.RawJSON(name, field).With(func(e *arena.AuditEntry) any { return db.Storable(string(*field(e))) })
}

var insertAudit = db.NewInsert(auditTable, "")

// Audit appends an entry to the audit log. Entries never change.
func (s *Store) Audit(ctx context.Context, e arena.AuditEntry) error {
	if e.ID == "" {
		e.ID = arena.NewID(arena.AuditPrefix, e.At)
	}
	err := s.write(ctx, e.ID, func(ctx context.Context, tx *db.Tx) error {
		_, err := insertAudit.Exec(ctx, tx, e)
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
		c.And("(u.actor = ? OR u.action = ? OR u.target = ?)", f.Find, f.Find, f.Find)
	}
	if after != "" {
		c.And("u.id < ?", after)
	}
	items, err := auditTable.All(ctx, s.reader, c.Where()+` ORDER BY u.id DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
	if err != nil {
		return nil, "", s.wrap(err, "list the audit log")
	}
	items, next := closePage(listAudit, p, items, func(e arena.AuditEntry) string { return e.ID })
	return items, next, nil
}
