package base

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// AuditTable describes the audit log.
var AuditTable = db.NewTable("audit", "u",
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

var insertAudits = db.NewInsert(AuditTable, "")

// InsertAudit stores entries together with what they record.
func InsertAudit(ctx context.Context, tx *db.Tx, entries ...arena.AuditEntry) error {
	rows := slices.Clone(entries) // the write may run again
	for i := range rows {
		rows[i].ID = cmp.Or(rows[i].ID, arena.NewID(arena.AuditPrefix, rows[i].At))
	}
	_, err := insertAudits.Exec(ctx, tx, rows...)
	return err
}
