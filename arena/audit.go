package arena

import (
	"encoding/json"
	"time"
)

// AuditEntry is one act of an admin or owner: who did what to what.
type AuditEntry struct {
	ID     string
	At     time.Time
	Actor  string // owner id, or "admin"
	Token  string // id of the token that was used, "" for the configured one
	Action string // "league.start", "match.rescore"
	Target string // id or slug
	Before json.RawMessage
	After  json.RawMessage
}
