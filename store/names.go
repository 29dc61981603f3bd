package store

import (
	"context"
	"fmt"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/store/internal/db"
)

// nameRow is a row of names.
type nameRow struct{ key, holder string }

var nameTable = db.NewTable("names", "n",
	db.Text("key", func(n *nameRow) *string { return &n.key }),
	db.Text("holder", func(n *nameRow) *string { return &n.holder }),
)

var insertNames = db.NewInsert(nameTable, "ON CONFLICT (key) DO NOTHING")

// The kinds of holders of names. An agent and an owner may have the same one.
const (
	agentName = "agent"
	ownerName = "owner"
)

// claimName makes a name, and all that look the same (plaintext.NameKeys), the
// holder's. name_taken: another one of its kind has one of them.
func claimName(ctx context.Context, tx *db.Tx, kind, holder, name string) error {
	keys := plaintext.NameKeys(name)
	rows := make([]nameRow, len(keys))
	for i, key := range keys {
		rows[i] = nameRow{key: kind + " " + key, holder: holder}
	}
	n, err := insertNames.Exec(ctx, tx, rows...)
	if err == nil && int(n) < len(rows) {
		err = nameTaken(kind, name)
	}
	return err
}

func nameTaken(kind, name string) error {
	return &arena.Error{
		Code: arena.CodeNameTaken, Message: fmt.Sprintf("an %s is named %q, or a name that looks the same, already", kind, name),
		Fields: []arena.FieldError{{Field: "name", Message: "is taken, or looks like a name that is taken"}},
	}
}

// releaseName deletes the claim of a holder's name.
func releaseName(ctx context.Context, tx *db.Tx, holder string) error {
	_, err := db.Exec(ctx, tx, `DELETE FROM names WHERE holder = $1`, holder)
	return err
}
