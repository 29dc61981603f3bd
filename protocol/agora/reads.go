package agora

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/visibility"
)

// Accounts identifies callers, which counts their requests, and signs owners
// up. Errors are *arena.Error.
type Accounts interface {
	Identify(ctx context.Context, c arena.Credentials) (arena.Caller, error)
	SignUp(ctx context.Context, caller arena.Caller, in arena.SignUp) (o arena.Owner, secret string, err error)
}

// Agents registers agents. Errors are *arena.Error.
type Agents interface {
	Own(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error)
	Register(ctx context.Context, caller arena.Caller, in arena.Registration) (g arena.Agent, key string, err error)
}

// Reads are the leagues that the documents show. Errors are
// *arena.Error.
type Reads interface {
	Leagues(ctx context.Context) ([]arena.League, error)
	League(ctx context.Context, slug string) (arena.League, error)
	Standings(ctx context.Context, league string, now time.Time) ([]arena.Standing, error)
}

// Visible reads matches as spectators may see them. Errors are *arena.Error.
type Visible interface {
	Match(ctx context.Context, id string) (visibility.Match, error)
	Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) ([]visibility.Match, string, error)
}

// identify returns the holder of a token, "" none, and counts the request
// against the token or the client's address.
func (s *Server) identify(ctx context.Context, c *call, token string) (arena.Caller, error) {
	caller, err := s.o.Accounts.Identify(ctx, arena.Credentials{Secret: token, Given: token != "", Address: c.address})
	return caller, faultOf(err)
}

// count counts an anonymous read.
func (s *Server) count(ctx context.Context, c *call) error {
	_, err := s.identify(ctx, c, "")
	return err
}

// faultOf makes the refusal of a service a fault of the sender's document.
// Failures of the arena stay as they are.
func faultOf(err error) error {
	e, ok := errors.AsType[*arena.Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case arena.CodeRateLimited:
		return tooMany("Too many requests")
	case arena.CodeUnavailable, arena.CodeInternal, arena.CodeLeaseLost, arena.CodeEventRefused, arena.CodeRoundClosed, arena.CodeForgedIdentity:
		return err
	default:
	}
	parts := []string{e.Message}
	for _, f := range e.Fields {
		parts = append(parts, f.Field+": "+f.Message)
	}
	return fault(strings.Join(parts, "; "))
}

// visibleMatch returns a match as spectators may see it.
func (s *Server) visibleMatch(ctx context.Context, c *call, id string) (match, error) {
	if err := s.count(ctx, c); err != nil {
		return match{}, err
	}
	m, err := s.o.Visible.Match(ctx, id)
	return viewMatch(m), faultOf(err)
}

// visibleMatches returns the newest matches as spectators may see them.
func (s *Server) visibleMatches(ctx context.Context, c *call, f arena.MatchFilter, limit int) ([]match, error) {
	if err := s.count(ctx, c); err != nil {
		return nil, err
	}
	if f.League != "" {
		if _, err := s.o.Reads.League(ctx, f.League); err != nil {
			return nil, faultOf(err)
		}
	}
	found, _, err := s.o.Visible.Matches(ctx, f, arena.Page{Limit: limit})
	if err != nil {
		return nil, faultOf(err)
	}
	matches := []match{}
	for _, m := range found {
		matches = append(matches, viewMatch(m))
	}
	return matches, nil
}

func viewMatch(m visibility.Match) match {
	v := match{
		MatchID: m.ID, League: m.League, Status: string(m.Status), Rated: m.Settings.Rated, Round: m.Round,
		TotalRounds: rounds(m.Settings), CreatedAt: m.CreatedAt.UTC().Format(arena.TimeFormat), Seats: []seat{},
	}
	if !m.FinishedAt.IsZero() {
		v.FinishedAt = m.FinishedAt.UTC().Format(arena.TimeFormat)
	}
	for _, s := range m.Seats {
		v.Seats = append(v.Seats, seat{AgentID: s.AgentID, Name: s.Name, Points: number(s.Points), Place: s.Place})
	}
	return v
}

// rounds is nil for an open end.
func rounds(s arena.Settings) *int {
	if s.Rounds == 0 {
		return nil
	}
	return &s.Rounds
}

// number is the wire form of points and ratings.
func number(v json.Marshaler) json.Number {
	text, _ := v.MarshalJSON() // these types always encode
	return json.Number(text)
}

// statuses returns the states that a filter selects.
func statuses(name string) ([]arena.MatchStatus, error) {
	switch status := arena.MatchStatus(name); {
	case name == "":
		return nil, nil
	case name == "live":
		return []arena.MatchStatus{arena.MatchRunning}, nil
	case slices.Contains([]arena.MatchStatus{
		arena.MatchScheduled, arena.MatchReady, arena.MatchRunning, arena.MatchFinished, arena.MatchVoid, arena.MatchCancelled,
	}, status):
		return []arena.MatchStatus{status}, nil
	default:
		return nil, fault("status is not valid")
	}
}

// readBody reads a document's JSON and ignores unknown members.
func readBody(body []byte, v any, names ...string) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return fault("The body must be the JSON text of an object")
	}
	if err := strictjson.UnmarshalOpen(body, v, names...); err != nil {
		return fault("The body does not follow the document: " + err.Error())
	}
	return nil
}

// limitOf returns a number of lines.
func limitOf(given *strictjson.Whole, otherwise int) (int, error) {
	switch {
	case given == nil:
		return otherwise, nil
	case *given < 1 || *given > 100:
		return 0, fault("limit must be from 1 to 100")
	default:
		return int(*given), nil
	}
}

// isName reports whether a text can be a slug, a status or an id of the arena.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
