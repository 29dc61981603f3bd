package store

import (
	"context"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// list names a paged list. It is part of its cursors, so that one list's
// cursor is refused by another.
type list string

const (
	listAgents     list = "a"
	listMatches    list = "m"
	listPacks      list = "p"
	listDeliveries list = "d"
	listAudit      list = "u"
	listSeasons    list = "s"
	listOwners     list = "o"
)

// open checks a page's limit and gives the key of the last item before it,
// "" for the start.
func (l list) open(p arena.Page) (after string, err error) {
	if p.Limit < 1 || p.Limit > 100 {
		return "", arena.Invalid("limit", "must be 1 to 100, got %d", p.Limit)
	}
	if p.Cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	after, ours := strings.CutPrefix(string(raw), string(l)+":")
	if err != nil || !ours || after == "" || !utf8.ValidString(after) || strings.ContainsRune(after, 0) {
		return "", arena.Invalid("cursor", "is not one that this list gave out")
	}
	return after, nil
}

// closePage cuts the items, read with one more than the limit, to the page and
// gives the cursor of the next one, "" when this is the last.
func closePage[T any](l list, p arena.Page, items []T, key func(T) string) (page []T, next string) {
	if len(items) <= p.Limit {
		return items, ""
	}
	items = items[:p.Limit]
	return items, base64.RawURLEncoding.EncodeToString([]byte(string(l) + ":" + key(items[p.Limit-1])))
}

func checkLimit(limit int) error {
	if limit < 1 {
		return arena.Invalid("limit", "must be at least 1, got %d", limit)
	}
	return nil
}

// Matches lists matches with their seats, newest first.
func (s *Store) Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) ([]arena.Match, string, error) {
	after, err := listMatches.open(p)
	if err != nil {
		return nil, "", err
	}
	var c db.Clauses
	order := "m.id"
	if f.League != "" {
		c.And("m.league = ?", f.League)
	}
	if f.AgentID != "" {
		of := `SELECT x.match_id FROM seats x WHERE x.agent_id = ` + c.Arg(f.AgentID)
		if f.League == "" && len(f.Statuses) == 0 { // the page's matches, and not all that it has played
			if after != "" {
				of += ` AND x.match_id < ` + c.Arg(after)
			}
			of += ` ORDER BY x.match_id DESC LIMIT ` + c.Arg(p.Limit+1)
		}
		c.Conditions = append(c.Conditions, "m.id IN ("+of+")")
		order = "m.id || ''" // no index has it, or SQLite would walk back through all matches until the page is full
	}
	if len(f.Statuses) > 0 {
		db.In(&c, "m.status", f.Statuses)
	}
	if after != "" {
		c.And("m.id < ?", after)
	}
	var items []arena.Match
	err = s.view(ctx, func(q db.Querier) (err error) {
		items, err = loadMatches(ctx, q, c.Where()+` ORDER BY `+order+` DESC LIMIT `+c.Arg(p.Limit+1), c.Args...)
		return err
	})
	if err != nil {
		return nil, "", s.wrap(err, "list matches")
	}
	items, next := closePage(listMatches, p, items, func(m arena.Match) string { return m.ID })
	return items, next, nil
}
