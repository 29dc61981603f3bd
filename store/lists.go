package store

import (
	"context"
	"encoding/base64"
	"strconv"
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
	listStarts     list = "t"
	listPacks      list = "p"
	listTasks      list = "q"
	listDeliveries list = "d"
	listAudit      list = "u"
	listSeasons    list = "s"
	listOwners     list = "o"
	listLosses     list = "l"
)

// open checks a page's limit and returns the key of the last item before it,
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
		return "", errCursor()
	}
	return after, nil
}

func errCursor() error { return arena.Invalid("cursor", "is not one that this list gave out") }

// closePage cuts the items, read with one more than the limit, to the page and
// returns the cursor of the next one, "" when this is the last.
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

// maxNamed is how many agents a part of a name stands for, those with the
// shortest names.
const maxNamed = 16

// Matches lists matches with their seats in the order of the filter.
func (s *Matches) Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) (items []arena.Match, next string, err error) {
	kind, key := listMatches, func(m arena.Match) string { return m.ID }
	if f.ByStart() {
		kind, key = listStarts, startKey
	}
	after, err := kind.open(p)
	if err != nil {
		return nil, "", err
	}
	q := matchQuery{f: f, limit: p.Limit + 1}
	if q.afterStart, q.after, err = splitKey(kind, after); err != nil {
		return nil, "", err
	}
	err = s.view(ctx, func(rows db.Querier) (err error) {
		if f.Query != "" {
			if q.named, err = namedAgents(ctx, rows, f.Query); err != nil || len(q.named) == 0 {
				return err
			}
		}
		items, err = loadMatches(ctx, rows, q.text(), q.c.Args...)
		return err
	})
	if err != nil {
		return nil, "", s.wrap(err, "list matches")
	}
	items, next = closePage(kind, p, items, key)
	return items, next, nil
}

// startKey is the cursor key of a match in the order of starts.
func startKey(m arena.Match) string { return strconv.FormatInt(db.Millis(m.StartsAt), 10) + ":" + m.ID }

// splitKey returns the number and the id in a cursor key: the start of a match in
// milliseconds, or the number of a round.
func splitKey(kind list, key string) (number int64, id string, err error) {
	if kind != listStarts && kind != listLosses || key == "" {
		return 0, key, nil
	}
	text, id, found := strings.Cut(key, ":")
	number, err = strconv.ParseInt(text, 10, 64)
	if err != nil || !found {
		return 0, "", errCursor()
	}
	return number, id, nil
}

// namedAgents returns the agents that have text in their name, the shortest
// names first and at most maxNamed.
func namedAgents(ctx context.Context, q db.Querier, text string) ([]string, error) {
	return db.All(ctx, q, db.ScanText, `SELECT a.id FROM agents a WHERE a.name_key LIKE $1 ESCAPE '\' ORDER BY length(a.name_key), a.id LIMIT $2`,
		"%"+likeLiteral(foldCase(db.Storable(text)))+"%", maxNamed)
}

// matchQuery builds the query of a list of matches.
type matchQuery struct {
	f          arena.MatchFilter
	named      []string // the agents that f.Query stands for
	after      string   // the last match of the page before
	afterStart int64    // its start, in a list by start
	limit      int

	c db.Clauses
}

// text returns the query after its FROM; its arguments are in c.
func (q *matchQuery) text() string {
	id, start := "m.id", "m.starts_at"
	parts := q.seats()
	if parts == nil {
		parts = q.states()
	}
	if parts == nil {
		q.filter(&q.c, id, "m.league", "m.status", q.f.Statuses)
	} else {
		q.c.InAny(id, parts...)
		id, start = "m.id || ''", "+m.starts_at" // SQLite would walk back through all matches until the page is full
	}
	return q.page(&q.c, id, start)
}

// filter adds the conditions on a match by these columns.
func (q *matchQuery) filter(c *db.Clauses, id, league, status string, statuses []arena.MatchStatus) {
	if len(q.f.IDs) > 0 {
		db.In(c, id, q.f.IDs)
	}
	if q.f.League != "" {
		c.And(league+" = ?", q.f.League)
	}
	if len(statuses) > 0 {
		db.In(c, status, statuses)
	}
}

// page returns the end of a query of a page, from its WHERE on, in the order of these
// columns.
func (q *matchQuery) page(c *db.Clauses, id, start string) string {
	order, beyond := " DESC", "<"
	if q.f.Soonest {
		order, beyond = "", ">"
	}
	columns := id + order
	if q.f.ByStart() {
		columns = start + order + ", " + columns
	}
	if !q.f.From.IsZero() {
		c.And(start+" >= ?", db.Millis(q.f.From))
	}
	if !q.f.To.IsZero() {
		c.And(start+" < ?", db.Millis(q.f.To))
	}
	switch {
	case q.after == "":
	case q.f.ByStart():
		c.And("("+start+", "+id+") "+beyond+" (?, ?)", q.afterStart, q.after)
	default:
		c.And(id+" "+beyond+" ?", q.after)
	}
	return c.Where() + ` ORDER BY ` + columns + ` LIMIT ` + c.Arg(q.limit)
}

// states returns the queries of the page's matches in each state, if each has an index
// in the order of the list and all together have none. By start, the matches of a league
// that are not over are found among all of these, which are few.
func (q *matchQuery) states() (parts []string) {
	if len(q.f.Statuses) < 2 && !q.f.ByStart() {
		return nil
	}
	for i, state := range q.f.Statuses {
		c := db.Clauses{Args: q.c.Args}
		league, status := "z.league", "z.status"
		if q.f.League != "" && q.f.ByStart() {
			if state.Over() {
				status += " || ''"
			} else {
				league += " || ''"
			}
		}
		q.filter(&c, "z.id", league, status, q.f.Statuses[i:i+1])
		parts = append(parts, `SELECT z.id FROM matches z`+q.page(&c, "z.id", "z.starts_at"))
		q.c.Args = c.Args
	}
	return parts
}

// seats returns the queries of the page's matches in which each of the agents has a
// seat. By id, each reads the agent's newest matches until the page is full. No index
// has them by start.
func (q *matchQuery) seats() (parts []string) {
	agents := q.named
	if q.f.AgentID != "" {
		agents = []string{q.f.AgentID}
	}
	for _, agent := range agents {
		c := db.Clauses{Conditions: []string{"w.id = x.match_id"}, Args: q.c.Args}
		c.And("x.agent_id = ?", agent)
		if q.f.OpponentID != "" {
			c.And("EXISTS (SELECT 1 FROM seats y WHERE y.match_id = x.match_id AND y.agent_id = ?)", q.f.OpponentID)
		}
		if q.f.AgentID != "" && len(q.named) > 0 {
			in := db.Clauses{Conditions: []string{"y.match_id = x.match_id"}, Args: c.Args}
			db.In(&in, "y.agent_id", q.named)
			c.Args = in.Args
			c.And("EXISTS (SELECT 1 FROM seats y" + in.Where() + ")")
		}
		q.filter(&c, "w.id", "w.league", "w.status", q.f.Statuses)
		parts = append(parts, `SELECT x.match_id FROM seats x CROSS JOIN matches w`+q.page(&c, "x.match_id", "w.starts_at"))
		q.c.Args = c.Args
	}
	return parts
}
