package takeout

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
)

type account struct {
	OwnerID       string     `json:"owner_id"`
	Name          string     `json:"name"`
	Email         string     `json:"email,omitempty"`
	CreatedAt     string     `json:"created_at"`
	Network       string     `json:"sign_up_network,omitempty"`
	SuspendedAt   string     `json:"suspended_at,omitempty"`
	SuspendReason string     `json:"suspend_reason,omitempty"`
	Identities    []identity `json:"identities"`
	Role          string     `json:"role,omitempty"`
	RoleLeagues   []string   `json:"role_leagues,omitempty"`
	Sessions      []session  `json:"sessions"`

	EmailConfirmedAt string `json:"email_confirmed_at,omitempty"`
	MailPauses       bool   `json:"mail_pauses"`
}

type session struct {
	SessionID  string `json:"session_id"`
	Browser    string `json:"browser,omitempty"`
	CreatedAt  string `json:"created_at"`
	LastUsedAt string `json:"last_used_at"`
}

type identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

type token struct {
	TokenID    string `json:"token_id"`
	AgentID    string `json:"agent_id,omitempty"`
	Name       string `json:"name"`
	CreatedAt  string `json:"created_at"`
	LastUsedAt string `json:"last_used_at,omitempty"`
	LastUsedBy string `json:"last_used_by,omitempty"`
	ExpiresAt  string `json:"expires_at,omitempty"`
}

func viewToken(t arena.Token) token {
	return token{
		TokenID: t.ID, AgentID: t.AgentID, Name: t.Name, CreatedAt: stamp(t.CreatedAt), LastUsedAt: stamp(t.LastUsedAt),
		LastUsedBy: t.LastUsedBy, ExpiresAt: stamp(t.ExpiresAt),
	}
}

type agent struct {
	AgentID      string            `json:"agent_id"`
	Name         string            `json:"name"`
	Protocol     string            `json:"protocol"`
	Endpoint     string            `json:"endpoint,omitempty"`
	PublicKey    string            `json:"public_key,omitempty"`
	Version      string            `json:"version,omitempty"`
	Model        string            `json:"model,omitempty"`
	Mark         string            `json:"mark,omitempty"`
	Description  string            `json:"description,omitempty"`
	Leagues      []string          `json:"leagues"`
	CreatedAt    string            `json:"created_at"`
	RetiredAt    string            `json:"retired_at,omitempty"`
	Pauses       map[string]string `json:"paused_since,omitempty"`
	CheckedAt    string            `json:"checked_at,omitempty"`
	Capabilities []string          `json:"capabilities,omitempty"`
}

func viewAgent(g arena.Agent) agent {
	v := agent{
		AgentID: g.ID, Name: g.Name, Protocol: g.Protocol, Endpoint: g.Endpoint, PublicKey: g.PublicKey, Version: g.Version, Model: g.Model, Mark: g.Mark, Description: g.Description,
		Leagues: append([]string{}, g.Leagues...), CreatedAt: stamp(g.CreatedAt), RetiredAt: stamp(g.RetiredAt),
		CheckedAt: stamp(g.Health.CheckedAt), Capabilities: g.Health.Capabilities,
	}
	for _, p := range g.Pauses {
		if v.Pauses == nil {
			v.Pauses = map[string]string{}
		}
		v.Pauses[string(p.Reason)] = stamp(p.Since)
	}
	return v
}

type match struct {
	MatchID    string        `json:"match_id"`
	AgentID    string        `json:"agent_id"`
	Name       string        `json:"name"` // of the agent at that time
	Version    string        `json:"version,omitempty"`
	League     string        `json:"league"`
	Status     string        `json:"status"`
	Rated      bool          `json:"rated"`
	CreatedAt  string        `json:"created_at"`
	StartedAt  string        `json:"started_at,omitempty"`
	FinishedAt string        `json:"finished_at,omitempty"`
	Points     *arena.Points `json:"milli_points,omitempty"` // thousandths; when it is over
	Place      int           `json:"place,omitempty"`
	Before     float64       `json:"rating_before,omitempty"`
	Delta      *float64      `json:"rating_delta,omitempty"`
}

func viewMatch(m arena.Match, s arena.Seat) match {
	v := match{
		MatchID: m.ID, AgentID: s.AgentID, Name: s.Name, Version: s.Version, League: m.League, Status: string(m.Status), Rated: m.Settings.Rated,
		CreatedAt: stamp(m.CreatedAt), StartedAt: stamp(m.StartedAt), FinishedAt: stamp(m.FinishedAt),
	}
	if m.Status == arena.MatchFinished {
		v.Points, v.Place, v.Before = &s.Points, s.Place, elo(s.Before)
		if s.Delta != nil {
			delta := elo(*s.Delta)
			v.Delta = &delta
		}
	}
	return v
}

type answer struct {
	MatchID   string            `json:"match_id"`
	Round     int               `json:"round"`
	AgentID   string            `json:"agent_id"`
	Outcome   arena.Outcome     `json:"outcome"`
	Reason    string            `json:"reason,omitempty"`
	Answer    *arena.AnswerBody `json:"answer,omitempty"`
	ArrivedAt string            `json:"arrived_at"`
	ElapsedMS int64             `json:"elapsed_ms"`
	Points    *arena.Points     `json:"milli_points,omitempty"` // thousandths; when the match is over
}

func viewAnswer(a arena.Answer, over bool) answer {
	v := answer{
		MatchID: a.MatchID, Round: a.Round, AgentID: a.AgentID, Outcome: a.Outcome, Reason: a.Reason, Answer: a.Body,
		ArrivedAt: stamp(a.ArrivedAt), ElapsedMS: a.Elapsed.Milliseconds(),
	}
	if over && a.Judged {
		v.Points = &a.Points
	}
	return v
}

type delivery struct {
	DeliveryID string        `json:"delivery_id"`
	AgentID    string        `json:"agent_id"`
	MatchID    string        `json:"match_id,omitempty"`
	League     string        `json:"league,omitempty"`
	Round      int           `json:"round"`
	Attempt    int           `json:"attempt"`
	Status     int           `json:"status,omitempty"`
	Outcome    arena.Outcome `json:"outcome"`
	Reason     string        `json:"reason,omitempty"`
	Detail     string        `json:"detail,omitempty"`
	SentAt     string        `json:"sent_at"`
	ElapsedMS  int64         `json:"elapsed_ms"`
	Request    string        `json:"request,omitempty"`
	Response   string        `json:"response,omitempty"`
}

func viewDelivery(d arena.Delivery) delivery {
	return delivery{
		DeliveryID: d.ID, AgentID: d.AgentID, MatchID: d.MatchID, League: d.League, Round: d.Round, Attempt: d.Attempt, Status: d.Status,
		Outcome: d.Outcome, Reason: d.Reason, Detail: d.Detail, SentAt: stamp(d.SentAt), ElapsedMS: d.Elapsed.Milliseconds(),
		Request: text(d.Request), Response: text(d.Response),
	}
}

type rating struct {
	AgentID string  `json:"agent_id"`
	League  string  `json:"league"`
	Rating  float64 `json:"rating"`
	Matches int     `json:"rated_matches"`
	Wins    int     `json:"wins"`
	Draws   int     `json:"draws"`
	Losses  int     `json:"losses"`
	History []point `json:"history"`
}

type point struct {
	MatchID string  `json:"match_id"`
	At      string  `json:"at"`
	Rating  float64 `json:"rating"`
	Delta   float64 `json:"rating_delta"`
}

func viewRating(r arena.Rating, points []arena.RatingPoint) rating {
	v := rating{
		AgentID: r.AgentID, League: r.League, Rating: elo(r.MilliElo), Matches: r.Matches, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses, History: []point{},
	}
	for _, p := range points {
		v.History = append(v.History, point{MatchID: p.MatchID, At: stamp(p.At), Rating: elo(p.Rating), Delta: elo(p.Delta)})
	}
	return v
}

type auditEntry struct {
	At     string          `json:"at"`
	Actor  string          `json:"actor"`
	Action string          `json:"action"`
	Target string          `json:"target"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// viewAudit names another owner that acted as one, without its id.
func viewAudit(e arena.AuditEntry, ownerID string) auditEntry {
	v := auditEntry{At: stamp(e.At), Actor: e.Actor, Action: e.Action, Target: e.Target, Before: e.Before, After: e.After}
	switch arena.Scope(e.Actor) {
	case arena.ScopeAdmin, arena.ScopeOrganizer, arena.ScopeModerator:
	default:
		if e.Actor != ownerID {
			v.Actor = "another owner"
		}
	}
	return v
}

// stamp returns a time as the archive shows it, "" for the zero time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(arena.TimeFormat)
}

func elo(m arena.MilliElo) float64 { return float64(m) / 1000 }

// text returns bytes as text, or "" if they are not UTF-8.
func text(b []byte) string {
	if !utf8.Valid(b) {
		return ""
	}
	return string(b)
}
