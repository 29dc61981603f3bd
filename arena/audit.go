package arena

import (
	"encoding/json"
	"fmt"
	"time"
)

// AuditEntry is one action of an admin or owner.
type AuditEntry struct {
	ID     string
	At     time.Time
	Actor  string // owner id, or the scope of a token that has no owner: "admin", "organizer", "moderator"
	Token  string // id of the token that was used, "" for the configured one
	Action string // "league.start", "match.rescore"
	Target string // id or slug
	Before json.RawMessage
	After  json.RawMessage
}

// Audit returns an entry about an action of the caller. before and after are
// encoded as JSON; nil leaves them out. They must not contain secrets.
func (c Caller) Audit(at time.Time, action, target string, before, after any) (AuditEntry, error) {
	e := AuditEntry{At: at, Actor: string(c.Scope), Token: c.TokenID, Action: action, Target: target}
	if c.OwnerID != "" {
		e.Actor = c.OwnerID
	}
	for _, side := range []struct {
		from any
		to   *json.RawMessage
	}{{before, &e.Before}, {after, &e.After}} {
		if side.from == nil {
			continue
		}
		raw, err := json.Marshal(side.from)
		if err != nil {
			return AuditEntry{}, fmt.Errorf("encode the audit entry %s: %w", action, err)
		}
		*side.to = raw
	}
	return e, nil
}

// AgentAudit returns the audit entry about a change of an agent, which is
// stored with it. It may run more than once.
type AgentAudit func(before, after Agent) (AuditEntry, error)

// BannerAudit returns the audit entry about a change of the banner, which is
// stored with it. It may run more than once.
type BannerAudit func(before, after Banner) (AuditEntry, error)

// LeagueAudit returns the audit entry about a change of a league, which is
// stored with it. It may run more than once.
type LeagueAudit func(before, after League) (AuditEntry, error)

// PackAudit returns the audit entry about a change of a pack, which is stored
// with it. It may run more than once.
type PackAudit func(before, after Pack) (AuditEntry, error)

// TaskAudit returns the audit entry about a change of a task of a pack, which is
// stored with it. It may run more than once.
type TaskAudit func(before, after PackTask) (AuditEntry, error)
