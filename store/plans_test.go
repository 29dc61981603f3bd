package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// growing are the tables that grow with every match, each with what keeps a search of
// it small however long the arena runs: a column of which one value has few rows, a
// time> that rows are newer than, the ids<> of a page, or an index of few rows.
var growing = map[string]string{
	"answers":        "match_id answers_dodged",
	"audit":          "id actor target",
	"deliveries":     "id",
	"encounters":     "a b",
	"erasures":       "match_id",
	"event_archives": "match_id",
	"events":         "match_id",
	"guesses":        "match_id",
	"matches":        "id starts_at> matches_delayed matches_leased",
	"met":            "a",
	"pairings":       "match_id season_id",
	"rating_changes": "settlement",
	"rounds":         "match_id match_id<>",
	"seats":          "match_id ended_at> seats_playing seats_withdrawn",
	"settlements":    "rowid rowid<> match_id",
	"uptime":         "agent_id",
	"verdicts":       "match_id",
	"votes":          "match_id",
}

// bounded are the tables that stay small. All others grow with accounts and agents, or
// expire: they may be searched by any index.
const bounded = `banner counters fits games gold leagues nodes own_keys packs relay_keys seasons signing_keys ticks tls_files tls_locks`

// exceptions are statements that read more, by a part of their text, with the reason.
var exceptions = map[string]string{
	// Reads.
	"FROM agents a WHERE a.name_key LIKE":                             "a part of a name is looked up in all names",
	"ORDER BY w.starts_at":                                            "no index has the matches of an agent by start: all of its matches are looked at",
	"SELECT count(*) FROM matches x WHERE x.league = $1 AND x.status": "the data card of a league counts its matches in an index",
	"ORDER BY latency_ns DESC":                                        "the admin status compares all agents",
	"THEN 'retired' WHEN":                                             "the metrics count all agents by status",
	"SELECT id, mark FROM agents WHERE mark":                          "an index of the few agents with a mark of their own",
	"SELECT count(*) FROM outbox WHERE ended_at = 0":                  "an index of the mails that wait",
	"FROM tokens t WHERE t.configured = 1":                            "a start compares the tokens of the settings",

	// Jobs.
	"WHERE a.retired_at = 0 ORDER BY a.id":                       "a health sweep looks at every agent",
	"row_number() OVER (PARTITION BY g.owner_id":                 "a sample of all healthy agents",
	"JOIN conformance c ON c.agent_id = a.id AND NOT EXISTS":     "looks for an agent to check among all",
	"row_number() OVER (PARTITION BY sender":                     "the relay keeps a limited number of envelopes",
	"sum(size) OVER (PARTITION BY owner_id":                      "likewise",
	"ORDER BY no DESC LIMIT 1 OFFSET":                            "likewise",
	"FROM ratings r ORDER BY r.league":                           "the check of all ratings",
	"> CAST(unixepoch('subsec') * 1000 AS INTEGER) + $1 LIMIT 1": "looks for times of agents and people that a wrong clock has made",
	`pauses LIKE '%"rate_limit"%'`:                               "likewise",

	// The erasure of an account.
	"UPDATE entrants SET name":                              "once",
	"DELETE FROM conversations WHERE agent_id":              "once; conversations expire",
	"DELETE FROM envelopes WHERE agent_id":                  "once; the relay keeps a limited number of envelopes",
	"UPDATE deliveries SET detail = ''":                     "the deliveries of an agent, which are dropped with age",
	"FROM agents a CROSS JOIN seats s CROSS JOIN matches m": "the seats of the owner's agents",

	"FROM matches WHERE league = $1 LIMIT 1": "any match of the league does",
	"DELETE FROM leagues WHERE slug":         "its foreign keys ask for any match",
}

// checkPlans explains every statement of the store on both engines: none reads more of a
// growing table than the rows of a match, of a short time, or of a page.
func checkPlans(t *testing.T, made *statements) {
	t.Helper()
	if len(made.texts) == 0 {
		t.Skip("the suite did not run")
	}
	s := openStore(t, storetest.SQLite(t))
	check(t, further(t, s))
	made.add(s)
	for _, missing := range made.missing(t) {
		t.Errorf("no test of the suite runs\n%s", missing)
	}
	known := maps.Clone(exceptions)
	excepted := func(text string) bool {
		found := false
		for part := range exceptions {
			if strings.Contains(text, part) {
				delete(known, part)
				found = true
			}
		}
		return found
	}
	onPostgres := newPostgresPlans(t)
	onSQLite := newSQLitePlans(t, s)
	for _, text := range slices.Sorted(maps.Keys(made.texts)) {
		walks := append(onSQLite.walks(t, text), onPostgres.walks(t, text)...)
		if len(walks) > 0 && !excepted(text) {
			t.Errorf("%.3000s\n%s", text, strings.Join(walks, "\n"))
		}
	}
	for part := range known {
		t.Errorf("no statement needs the exception %q", part)
	}
}

// further runs what the suite does not, such as lists with each filter.
func further(t *testing.T, s *store.Store) error {
	t.Helper()
	ctx, now := t.Context(), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	first := arena.Page{Limit: 20}
	var errs []error
	one := func(_ any, err error) { errs = append(errs, err) }
	many := func(_ any, _ string, err error) { errs = append(errs, err) }

	running, over := []arena.MatchStatus{arena.MatchRunning}, []arena.MatchStatus{arena.MatchVoid, arena.MatchCancelled}
	for _, league := range []string{"", "trivia"} {
		for _, statuses := range [][]arena.MatchStatus{nil, running, over} {
			for _, f := range []arena.MatchFilter{
				{},
				{AgentID: "ag_7"},
				{AgentID: "ag_7", OpponentID: "ag_8"},
				{Query: "ag_7"},
				{AgentID: "ag_8", Query: "ag_7"},
				{IDs: []string{"m_1", "m_2"}},
				{From: now},
				{From: now, To: now.AddDate(0, 0, 1)},
				{AgentID: "ag_7", From: now},
				{Soonest: true},
			} {
				f.League, f.Statuses = league, statuses
				next := arena.Page{Limit: 20, Cursor: "bTptXzAwMDAwMTAwMDA"} // m:m_0000010000
				if f.ByStart() {
					next.Cursor = "dDoxOm1fMQ" // t:1:m_1
				}
				many(s.Matches.Matches(ctx, f, first))
				many(s.Matches.Matches(ctx, f, next))
			}
		}
	}
	lost := arena.LossFilter{AgentID: "ag_7", League: "trivia", Topic: "maths", Version: "1"}
	many(s.Matches.LostRounds(ctx, lost, arena.Page{Limit: 20, Cursor: "bDozOm1fMDAwMDAxMDAwMA"})) // l:3:m_0000010000
	one(s.Ratings.Topics(ctx, lost, false, 100))
	one(s.Ratings.Topics(ctx, lost, true, 100))
	one(s.Ratings.ChangesIn(ctx, "m_1", "m_2"))
	one(s.Matches.RoundsAt(ctx, map[string]int{"m_1": 1, "m_2": 2}))
	one(s.Matches.RunningMatches(ctx, []string{"ag_7"}))
	one(s.Matches.LastSeqs(ctx, []string{"m_1"}))
	one(s.Agents.Cooldowns(ctx, []string{"ag_7", "ag_8"}, now))
	one(s.Accounts.Identities(ctx, "ow_1"))
	one(s.Relay.Envelopes(ctx, arena.EnvelopeQuery{Sender: "ada", Recipient: "bea", Type: "CANCEL", Limit: 100}))
	one(s.Operations.Names(ctx, []string{"ow_1", "ag_1", "pk_1", "to_1", "in_1", "m_1", "trivia"}))
	many(s.Operations.AuditLog(ctx, arena.AuditFilter{Find: "m_1", Actor: "ada", Actions: []string{"a", "b"}, From: now, To: now}, first))
	many(s.Operations.AuditLog(ctx, arena.AuditFilter{Actor: "ada"}, first))
	errs = append(errs, s.Leagues.DecideAgain(ctx, "m_1", arena.PairingResult("first"), nil), s.CheckStopped(ctx))
	one(s.MendTimes(ctx))
	one(nil, s.RecordBackup(ctx, now))
	one(s.LastBackup(ctx))
	return errors.Join(errs...)
}

// statements are the texts that stores have prepared.
type statements struct {
	mu    sync.Mutex
	texts map[string]bool
}

var (
	statement = regexp.MustCompile(`^(SELECT|INSERT INTO|UPDATE|DELETE FROM)\s`)
	spaces    = regexp.MustCompile(`\s+`) // line breaks and indents
)

// add adds the texts of a store.
func (s *statements) add(from *store.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]bool{}
	}
	for _, text := range append(from.Texts(), from.WriteTexts()...) {
		if statement.MatchString(text) {
			s.texts[spaces.ReplaceAllString(text, " ")] = true
		}
	}
}

// missing returns the literals of statements in the sources that are part of no text.
// Those of dialect.go read the catalog of an engine or take a lock, those of copy.go
// read all rows in pages by key.
func (s *statements) missing(t *testing.T) (literals []string) {
	t.Helper()
	all := strings.Join(slices.Collect(maps.Keys(s.texts)), "\n")
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && slices.Contains([]string{"fill", "pgserver", "storetest", "testdata"}, entry.Name()) {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || entry.Name() == "dialect.go" || entry.Name() == "copy.go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err == nil && literalPart.MatchString(text) && slices.ContainsFunc(verbs.Split(spaces.ReplaceAllString(text, " "), -1), func(part string) bool { return !strings.Contains(all, part) }) {
				literals = append(literals, path+": "+text)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return literals
}

var (
	literalPart = regexp.MustCompile(`^ ?(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|JOIN|ORDER BY)\s`)
	verbs       = regexp.MustCompile(`%(\[\d\])?s|\{n\}`)
)

// searched reports whether a search of a table, by these columns or this index, reads
// few rows.
func searched(table, text string, columns []string, index string) bool {
	if growing[table] == "" {
		return len(columns) > 0
	}
	if table == "matches" && slices.Contains(columns, "status") && notOver.MatchString(text) {
		return true
	}
	few := strings.Fields(growing[table])
	return slices.ContainsFunc(append(columns, index), func(c string) bool { return slices.Contains(few, c) })
}

// notOver are the conditions of matches that are not over, which are few.
var notOver = regexp.MustCompile(`status (= '(running|scheduled)'|IN \('scheduled', 'ready')`)

// sqlitePlans explains statements on a database without statistics, as an arena's is.
type sqlitePlans struct {
	db     *sql.DB
	tables map[string]string // by index, and each by its own name
}

func newSQLitePlans(t *testing.T, s *store.Store) sqlitePlans {
	t.Helper()
	rows, err := s.Writer().QueryContext(t.Context(), "SELECT name, tbl_name FROM sqlite_master WHERE type IN ('index', 'table')")
	check(t, err)
	defer rows.Close() //nolint:errcheck // all were read
	p := sqlitePlans{s.Writer(), map[string]string{}}
	for rows.Next() {
		var name, table string
		check(t, rows.Scan(&name, &table))
		p.tables[name] = table
	}
	check(t, rows.Err())
	return p
}

// sqliteStep is a step of a plan that reads a table, by its name or alias.
var (
	sqliteStep = regexp.MustCompile(`^(SCAN|SEARCH) (\w+)(?: .*INDEX (\w+))?`)
	sqliteTerm = regexp.MustCompile(`(\w+|<expr>)([=<>])\?`)
	sqliteSort = regexp.MustCompile(`^USE TEMP B-TREE FOR (ORDER BY|GROUP BY|DISTINCT|\w+\(DISTINCT\))$`)
)

func (p sqlitePlans) walks(t *testing.T, text string) (found []string) {
	t.Helper()
	type step struct {
		id, parent int
		detail     string
	}
	var steps []step
	sorted, nested := map[int]bool{}, map[int]bool{} // by the parent: all rows are sorted; there is an outer loop
	rows, err := p.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, parameters(text))...)
	if err != nil {
		return []string{"SQLite: " + err.Error()}
	}
	defer rows.Close() //nolint:errcheck // all were read
	for rows.Next() {
		var s step
		var unused int
		check(t, rows.Scan(&s.id, &s.parent, &unused, &s.detail))
		steps = append(steps, s)
		sorted[s.parent] = sorted[s.parent] || sqliteSort.MatchString(s.detail)
		if strings.HasPrefix(s.detail, "INDEX ") { // of several that are joined by OR
			nested[s.id] = true
		}
	}
	check(t, rows.Err())
	for _, s := range steps {
		m := sqliteStep.FindStringSubmatch(s.detail)
		if m == nil {
			continue
		}
		outer := !nested[s.parent]
		nested[s.parent] = true
		table := p.tables[m[3]]
		if table == "" {
			table = p.tables[tableOf(text, m[2])]
		}
		if table == "" || slices.Contains(strings.Fields(bounded), table) {
			continue
		}
		var columns []string
		for _, c := range sqliteTerm.FindAllStringSubmatch(s.detail, -1) {
			columns = append(columns, c[1]+strings.Trim(c[2], "="))
			if n := len(columns); n > 1 && columns[n-2] == c[1]+">" && c[2] == "<" {
				columns = append(columns, c[1]+"<>")
			}
		}
		end := m[1] == "SEARCH" && !strings.HasSuffix(s.detail, ")") // the first or the last row of an index
		if !end && !searched(table, text, columns, m[3]) && !(outer && !sorted[s.parent] && pageOf(text, m[2])) {
			found = append(found, "SQLite: "+table+": "+s.detail)
		}
	}
	return found
}

// tableOf returns the table that a text gives an alias.
func tableOf(text, alias string) string {
	if m := regexp.MustCompile(`(?:FROM|JOIN|UPDATE|,) (\w+) (?:AS )?` + alias + `\b`).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return alias
}

// pageOf reports whether the SELECT that reads a table, by its name or alias, has an
// order and a limit.
func pageOf(text, alias string) bool {
	at := regexp.MustCompile(`(?:FROM|JOIN|,) (?:\w+ )?(?:AS )?` + alias + `(?: (?:WHERE|ORDER|LIMIT|CROSS|LEFT|JOIN|ON)|[,)]|$)`).FindStringIndex(text)
	if at == nil {
		return false
	}
	depth, own := 0, strings.Builder{}
	for _, c := range text[at[0]:] {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
		if depth == 0 {
			own.WriteRune(c)
		}
	}
	return strings.Contains(own.String(), " ORDER BY ") && strings.Contains(own.String(), " LIMIT ")
}

// postgresPlans explains statements on one connection, which keeps them prepared.
type postgresPlans struct{ conn *sql.Conn }

func newPostgresPlans(t *testing.T) postgresPlans {
	t.Helper()
	conn, err := openStore(t, postgres.get(t).Database(t)).Writer().Conn(t.Context())
	check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	// PostgreSQL prefers to walk through tables as small as these: what is asked is
	// whether it could do without.
	for _, setting := range []string{"plan_cache_mode = force_generic_plan", "enable_seqscan = off", "enable_hashjoin = off", "enable_mergejoin = off"} {
		_, err := conn.ExecContext(t.Context(), "SET "+setting)
		check(t, err)
	}
	return postgresPlans{conn}
}

// node is a step of a plan of PostgreSQL.
type node struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Parent Relationship"` // to the step that it is part of
	Table    string `json:"Relation Name"`
	Index    string `json:"Index Name"`
	Cond     string `json:"Index Cond"`
	Plans    []node `json:"Plans"`
}

// walks returns the steps that read a whole growing table or index. By which columns
// PostgreSQL searches depends on its statistics; it is SQLite's plan that shows whether
// an index has them.
func (p postgresPlans) walks(t *testing.T, text string) []string {
	t.Helper()
	text = strings.ReplaceAll(text, "CAST(unixepoch('subsec') * 1000 AS INTEGER)", "CAST(extract(epoch FROM statement_timestamp()) * 1000 AS BIGINT)")
	if _, err := p.conn.ExecContext(t.Context(), "PREPARE plan AS "+text); err != nil {
		return []string{"PostgreSQL: " + err.Error()}
	}
	nulls := ""
	if n := parameters(text); n > 0 {
		nulls = "(NULL" + strings.Repeat(", NULL", n-1) + ")"
	}
	var doc []byte
	check(t, p.conn.QueryRowContext(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE plan"+nulls).Scan(&doc))
	_, err := p.conn.ExecContext(t.Context(), "DEALLOCATE plan")
	check(t, err)
	var plans []struct{ Plan node }
	check(t, json.Unmarshal(doc, &plans))
	return plans[0].Plan.walks(false)
}

// walks is postgresPlans.walks for a step. paged reports whether it ends with a page.
func (n node) walks(paged bool) (found []string) {
	switch n.Type {
	case "Limit":
		paged = true
	case "Sort", "Aggregate", "WindowAgg", "Hash", "Materialize", "Bitmap Heap Scan":
		paged = false
	}
	whole := n.Type == "Seq Scan" || strings.HasPrefix(n.Type, "Index") && n.Cond == ""
	if whole && growing[n.Table] != "" && !paged && !searched(n.Table, "", nil, n.Index) {
		found = append(found, fmt.Sprintf("PostgreSQL: %s: %s %s", n.Table, n.Type, n.Index))
	}
	for _, child := range n.Plans {
		found = append(found, child.walks(paged && (child.Relation == "Outer" || child.Relation == "Member" || child.Relation == "Subquery"))...)
	}
	return found
}
