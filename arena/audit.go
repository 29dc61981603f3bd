package arena

import (
	"encoding/json"
	"time"
)

// AuditEntry is one act of an admin or owner.
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

// AgentAudit returns the audit entry about a change of an agent, which is
// stored with it. It may run more than once.
type AgentAudit func(before, after Agent) (AuditEntry, error)
