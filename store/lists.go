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
	states := len(q.f.Statuses) > 1 && q.f.AgentID == "" && len(q.named) == 0 && !q.f.ByStart()
	if q.f.AgentID != "" || len(q.named) > 0 || states {
		// No index has these, or SQLite would walk back through all matches until
		// the page is full.
		id, start = "m.id || ''", "+m.starts_at"
	}
	if len(q.f.IDs) > 0 {
		db.In(&q.c, "m.id", q.f.IDs)
	}
	if states {
		q.states()
		return q.c.Where() + ` ORDER BY ` + id + ` DESC LIMIT ` + q.c.Arg(q.limit)
	}
	if q.f.League != "" {
		q.c.And("m.league = ?", q.f.League)
	}
	q.seats()
	if len(q.f.Statuses) > 0 {
		db.In(&q.c, "m.status", q.f.Statuses)
	}
	if !q.f.From.IsZero() {
		q.c.And(start+" >= ?", db.Millis(q.f.From))
	}
	if !q.f.To.IsZero() {
		q.c.And(start+" < ?", db.Millis(q.f.To))
	}
	order, beyond := " DESC", "<"
	if q.f.Soonest {
		order, beyond = "", ">"
	}
	switch {
	case !q.f.ByStart():
		if q.after != "" {
			q.c.And("m.id < ?", q.after)
		}
		return q.c.Where() + ` ORDER BY ` + id + ` DESC LIMIT ` + q.c.Arg(q.limit)
	case q.after != "":
		q.c.And("("+start+", m.id) "+beyond+" (?, ?)", q.afterStart, q.after)
	}
	return q.c.Where() + ` ORDER BY ` + start + order + `, m.id` + order + ` LIMIT ` + q.c.Arg(q.limit)
}

// states adds the condition that a match is among the newest in one of several
// states: each has an index by id, all together have none.
func (q *matchQuery) states() {
	parts := make([]string, len(q.f.Statuses))
	for i, status := range q.f.Statuses {
		c := db.Clauses{Args: q.c.Args}
		if q.f.League != "" {
			c.And("z.league = ?", q.f.League)
		}
		c.And("z.status = ?", string(status))
		if q.after != "" {
			c.And("z.id < ?", q.after)
		}
		parts[i] = `SELECT * FROM (SELECT z.id FROM matches z` + c.Where() + ` ORDER BY z.id DESC LIMIT ` + c.Arg(q.limit) + `) AS z` + strconv.Itoa(i)
		q.c.Args = c.Args
	}
	q.c.Conditions = append(q.c.Conditions, "m.id IN ("+strings.Join(parts, " UNION ALL ")+")")
}

// seats adds the conditions on the agents with a seat. A condition that is the
// only one reads the matches of the page, and not all that an agent has played.
func (q *matchQuery) seats() {
	alone := q.f.League == "" && len(q.f.Statuses) == 0 && !q.f.ByStart() && (q.f.AgentID == "" || len(q.named) == 0)
	page := func(agent string) string {
		if !alone {
			return ""
		}
		rest := ""
		if q.after != "" {
			rest = ` AND ` + agent + `.match_id < ` + q.c.Arg(q.after)
		}
		return rest + ` ORDER BY ` + agent + `.match_id DESC LIMIT ` + q.c.Arg(q.limit)
	}
	if q.f.AgentID != "" {
		of := `SELECT x.match_id FROM seats x`
		if q.f.OpponentID != "" {
			of += ` JOIN seats y ON y.match_id = x.match_id AND y.agent_id = ` + q.c.Arg(q.f.OpponentID)
		}
		of += ` WHERE x.agent_id = ` + q.c.Arg(q.f.AgentID) + page("x")
		q.c.Conditions = append(q.c.Conditions, "m.id IN ("+of+")")
	}
	if len(q.named) == 0 {
		return
	}
	if !alone {
		in := db.Clauses{Args: q.c.Args}
		db.In(&in, "z.agent_id", q.named)
		q.c.Args = in.Args
		q.c.Conditions = append(q.c.Conditions, "m.id IN (SELECT z.match_id FROM seats z"+in.Where()+")")
		return
	}
	parts := make([]string, len(q.named)) // each agent's newest matches
	for i, agent := range q.named {
		parts[i] = `SELECT * FROM (SELECT z.match_id FROM seats z WHERE z.agent_id = ` + q.c.Arg(agent) + page("z") + `) AS z` + strconv.Itoa(i)
	}
	q.c.Conditions = append(q.c.Conditions, "m.id IN ("+strings.Join(parts, " UNION ALL ")+")")
}
