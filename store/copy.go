package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// table is one table as Copy sees it.
type table struct {
	name string
	key  []string // the columns of its primary key
	page int      // rows that are read and written at once
}

// tables are all of our tables, each behind those that it refers to.
var tables = []table{
	{"owners", []string{"id"}, 512},
	{"identities", []string{"issuer", "subject"}, 512},
	{"erased_owners", []string{"owner_id"}, 1024},
	{"erased_identities", []string{"digest"}, 1024},
	{"sessions", []string{"id"}, 512},
	{"invitations", []string{"id"}, 512},
	{"outbox", []string{"id"}, 512},
	{"mail_links", []string{"hash"}, 512},
	{"signing_keys", []string{"kid"}, 512},
	{"agents", []string{"id"}, 512},
	{"tokens", []string{"id"}, 512},
	{"names", []string{"key"}, 1024},
	{"uptime", []string{"agent_id", "day"}, 1024},
	{"conformance", []string{"agent_id", "version"}, 64}, // some 20 KiB each
	{"packs", []string{"id"}, 512},
	{"tasks", []string{"pack_id", "n"}, 512},
	{"games", []string{"sha256"}, 4}, // up to 256 KiB each
	{"leagues", []string{"slug"}, 512},
	{"entries", []string{"league", "agent_id"}, 1024},
	{"matches", []string{"id"}, 512},
	{"seats", []string{"match_id", "no"}, 1024},
	{"rounds", []string{"match_id", "no"}, 512},
	{"answers", []string{"match_id", "round", "agent_id"}, 512},
	{"deliveries", []string{"id"}, 256}, // up to 66 KiB each
	{"events", []string{"match_id", "seq"}, 512},
	{"event_archives", []string{"match_id", "first_seq"}, 4}, // megabytes
	{"erasures", []string{"match_id"}, 64},                   // a line for each erased text
	{"ratings", []string{"league", "agent_id"}, 512},
	{"met", []string{"league", "a", "b"}, 1024},
	{"met_groups", []string{"league", "agent_id", "owner_group"}, 1024},
	{"encounters", []string{"a", "b"}, 1024},
	{"game_records", []string{"league", "agent_id", "turn_order", "ended", "cause"}, 1024},
	{"outcomes", []string{"agent_id", "outcome"}, 1024},
	{"settlements", []string{"seq"}, 1024},
	{"rating_changes", []string{"settlement", "no"}, 1024},
	{"seasons", []string{"id"}, 512},
	{"entrants", []string{"season_id", "agent_id"}, 1024},
	{"pairings", []string{"season_id", "round", "slot", "game"}, 1024},
	{"verdicts", []string{"match_id", "round", "no"}, 512},
	{"votes", []string{"match_id", "round", "voter"}, 1024},
	{"guesses", []string{"match_id", "round", "answer"}, 1024},
	{"fits", []string{"league"}, 64},
	{"gold", []string{"league", "pack_id", "task"}, 1024},
	{"audit", []string{"id"}, 512},
	{"conversations", []string{"key"}, 512},
	{"secret_bases", []string{"agent_id"}, 512},
	{"agora_ways", []string{"agent_id"}, 512},
	{"peers", []string{"agent_id"}, 512},
	{"nodes", []string{"node"}, 512},
	{"banner", []string{"one"}, 1},
	{"pulled_tasks", []string{"agent_id", "task_id"}, 256},
	{"presence", []string{"agent_id"}, 1024},
	{"mail", []string{"box", "n"}, 256},
	{"seen", []string{"scope", "id"}, 1024},
	{"envelopes", []string{"no"}, 256}, // up to 64 KiB each
	{"relay_keys", []string{"key"}, 512},
	{"own_keys", []string{"name"}, 512},
	{"counters", []string{"name"}, 512},
	{"tls_files", []string{"key"}, 64},
	{"tls_locks", []string{"name"}, 64},
	{"ticks", []string{"job"}, 1024},
}

// CopyProgress is the progress of a copy.
type CopyProgress struct {
	Step        string // copy, index or compare
	Table       string // "" while indexes are made
	Done, Total int64  // rows of the table, or indexes
}

// CopyReport is what a copy found equal in both databases.
type CopyReport struct {
	Tables  []CopiedTable
	Leagues []arena.RatingsReport
	Differs error // a *ReplayError; nil: the settlements give the ratings
}

// CopiedTable is a table that holds the same rows in both.
type CopiedTable struct {
	Name string
	Rows int64
}

// lastSign is how long a node may be silent before it counts as stopped: the
// scheduler takes a tick each second.
const lastSign = 5 * time.Second

// Copy copies every row of from into to, which may be of the other engine, and
// then compares all rows and replays all settlements. Nodes may be at work on
// from: the rows are a snapshot of one moment. An empty database gets the schema
// first. conflict: to holds rows, or one of the two has another schema than this
// program. On any other error, to is incomplete: delete it and copy again.
func Copy(ctx context.Context, from, to *Store, progress func(CopyProgress)) (CopyReport, error) {
	var report CopyReport
	if err := checkCopy(ctx, from, to); err != nil {
		return report, err
	}
	indexes, err := to.dropIndexes(ctx)
	if err != nil {
		return report, targetError{to.d.Explain(err)}
	}
	var sums [][sha256.Size]byte
	err = from.view(ctx, func(q db.Querier) error {
		if from.d.KeepSnapshot != "" { // writing a page may take longer than a node may be idle
			if _, err := db.Exec(ctx, q, from.d.KeepSnapshot); err != nil {
				return err
			}
		}
		for _, t := range tables {
			rows, sum, err := copyTable(ctx, q, to, t, progress)
			if err != nil {
				return fmt.Errorf("copy table %s: %w", t.name, err)
			}
			report.Tables, sums = append(report.Tables, CopiedTable{t.name, rows}), append(sums, sum)
		}
		return nil
	})
	if err != nil {
		return report, from.d.Explain(err)
	}
	// The snapshot is over: it would keep old rows from being removed.
	for i, index := range indexes {
		progress(CopyProgress{Step: "index", Done: int64(i), Total: int64(len(indexes))})
		if err := to.makeIndex(ctx, index); err != nil {
			return report, targetError{fmt.Errorf("make index %s: %w", index.name, to.d.Explain(err))}
		}
	}
	for i, t := range tables {
		if err := verifyTable(ctx, to, t, report.Tables[i].Rows, sums[i], progress); err != nil {
			return report, targetError{fmt.Errorf("compare table %s: %w", t.name, to.d.Explain(err))}
		}
	}
	if err := report.replay(ctx, to); err != nil {
		return report, targetError{err}
	}
	return report, nil
}

// index is an index with the statement that makes it.
type index struct{ name, definition string }

// dropIndexes drops the indexes of an empty database that belong to no constraint, and
// returns them. Row by row they would take most of the time of a copy, since their
// pages are not the same from row to row; at the end each is made from sorted rows.
func (s *Store) dropIndexes(ctx context.Context) (dropped []index, err error) {
	err = s.writeAlone(ctx, "copy", func(ctx context.Context, tx *db.Tx) error {
		dropped, err = db.All(ctx, tx, func(r db.Row) (i index, err error) { return i, r.Scan(&i.name, &i.definition) }, s.d.Indexes)
		for _, i := range dropped {
			if err == nil {
				_, err = db.Exec(ctx, tx, `DROP INDEX `+i.name)
			}
		}
		return err
	})
	return dropped, err
}

// indexTimeout is enough for some billion rows.
const indexTimeout = 6 * time.Hour

func (s *Store) makeIndex(ctx context.Context, i index) error {
	return s.writeLong(ctx, "copy", indexTimeout, func(ctx context.Context, tx *db.Tx) error {
		if s.d.Unbounded != "" {
			if _, err := db.Exec(ctx, tx, s.d.Unbounded); err != nil {
				return err
			}
		}
		_, err := db.Exec(ctx, tx, i.definition)
		return err
	})
}

// replay replays all settlements of a copy. Ratings that differ are reported: the
// copy is as good as its original, which may be lost next.
func (r *CopyReport) replay(ctx context.Context, s *Store) (err error) {
	r.Leagues, err = s.Ratings.CheckRatings(ctx)
	if differs, ok := errors.AsType[*ReplayError](err); ok {
		r.Differs, err = differs, nil
	}
	return err
}

// targetError is an error of the database that gets a copy.
type targetError struct{ error }

// Unwrap returns the cause.
func (e targetError) Unwrap() error { return e.error }

// CheckStopped returns conflict while a node is at work on the database, or was
// until a moment ago, and for a database with another schema than this program.
func (s *Store) CheckStopped(ctx context.Context) error {
	if err := s.checkSource(ctx); err != nil {
		return err
	}
	signs, err := db.One(ctx, s.reader, db.ScanInt, `SELECT (SELECT count(*) FROM matches WHERE status = 'running' AND leased_until > `+
		s.d.Clock+`) + (SELECT count(*) FROM ticks WHERE NOT `+s.d.LeaseOver("tick + $1", "$1")+`)`, lastSign.Milliseconds())
	if err != nil {
		return s.wrap(err, "look for nodes")
	}
	if signs > 0 {
		return arena.Errorf(arena.CodeConflict, "a node is at work on the source, or was until a moment ago: stop all nodes and try again")
	}
	return nil
}

// checkCopy refuses what Copy must not touch.
func checkCopy(ctx context.Context, from, to *Store) error {
	if err := from.checkSource(ctx); err != nil {
		return err
	}
	made, err := to.checkEmpty(ctx)
	if err != nil || made {
		return err
	}
	return to.Migrate(ctx)
}

// checkSource refuses a source with another schema than this program.
func (s *Store) checkSource(ctx context.Context) error {
	has, wanted, err := s.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	if has != wanted {
		return arena.Errorf(arena.CodeConflict, "the source has schema %d and this program %d: migrate it first", has, wanted)
	}
	return nil
}

// checkEmpty returns conflict unless the database has no rows, and reports
// whether it has the schema of this program already.
func (s *Store) checkEmpty(ctx context.Context) (made bool, err error) {
	has, wanted, err := s.SchemaVersion(ctx)
	if err != nil {
		return false, err
	}
	switch has {
	case 0:
		foreign, err := db.All(ctx, s.reader, db.ScanText, s.d.Tables)
		if err != nil {
			return false, s.wrap(err, "look into the target")
		}
		foreign = slices.DeleteFunc(foreign, func(name string) bool { return name == goose.DefaultTablename })
		if len(foreign) > 0 {
			return false, arena.Errorf(arena.CodeConflict, "the target is not empty: it has a table %s, which is none of an arena", foreign[0])
		}
		return false, nil
	case wanted:
	default:
		return false, arena.Errorf(arena.CodeConflict, "the target has schema %d and this program %d: it must be empty", has, wanted)
	}
	for _, t := range tables {
		query := `SELECT count(*) FROM ` + t.name
		if t.name == "counters" { // the schema makes them
			query += ` WHERE value <> 0`
		}
		if n, err := db.One(ctx, s.reader, db.ScanInt, query); err != nil {
			return false, s.wrap(err, "look into the target")
		} else if n > 0 {
			return false, arena.Errorf(arena.CodeConflict, "the target is not empty: its table %s has %d rows", t.name, n)
		}
	}
	return true, nil
}

// copyTable copies one table, a transaction per page, and returns the number of
// its rows and their sum.
func copyTable(ctx context.Context, q db.Querier, to *Store, t table, progress func(CopyProgress)) (rows int64, sum [sha256.Size]byte, err error) {
	columns, err := columnsOf(ctx, q, t)
	if err != nil {
		return 0, sum, err
	}
	total, err := db.One(ctx, q, db.ScanInt, `SELECT count(*) FROM `+t.name)
	if err != nil {
		return 0, sum, err
	}
	if t.name == "counters" {
		if err := to.writeAlone(ctx, t.name, func(ctx context.Context, tx *db.Tx) error {
			_, err := db.Exec(ctx, tx, `DELETE FROM counters`)
			return err
		}); err != nil {
			return 0, sum, targetError{err}
		}
	}
	h := sha256.New()
	insert := newCopyInsert(t, columns)
	for page, err := range pages(ctx, q, t, columns) {
		if err != nil {
			return 0, sum, err
		}
		addRows(h, page)
		if err := to.writeAlone(ctx, t.name, func(ctx context.Context, tx *db.Tx) error {
			_, err := insert.Exec(ctx, tx, page...)
			return err
		}); err != nil {
			return 0, sum, targetError{fmt.Errorf("rows from %v on: %w", page[0][:len(t.key)], to.d.Explain(err))}
		}
		rows += int64(len(page))
		progress(CopyProgress{Step: "copy", Table: t.name, Done: rows, Total: total})
	}
	if rows != total {
		return 0, sum, fmt.Errorf("read %d of %d rows", rows, total)
	}
	return rows, [sha256.Size]byte(h.Sum(nil)), nil
}

// newCopyInsert returns the statement that inserts rows of any table, with
// their values in the order of columns.
func newCopyInsert(t table, columns []string) *db.Statement[[]any] {
	described := make([]db.Column[[]any], len(columns))
	for i, name := range columns {
		described[i] = db.Written(name, db.TypeText, func(row *[]any) any { return (*row)[i] })
	}
	return db.NewInsert(db.NewTable(t.name, t.name, described...), "")
}

// verifyTable reads a copied table and compares it with what was copied.
func verifyTable(ctx context.Context, to *Store, t table, rows int64, sum [sha256.Size]byte, progress func(CopyProgress)) error {
	return to.view(ctx, func(q db.Querier) error {
		columns, err := columnsOf(ctx, q, t)
		if err != nil {
			return err
		}
		h, n := sha256.New(), int64(0)
		for page, err := range pages(ctx, q, t, columns) {
			if err != nil {
				return err
			}
			addRows(h, page)
			n += int64(len(page))
			progress(CopyProgress{Step: "compare", Table: t.name, Done: n, Total: rows})
		}
		if n != rows {
			return fmt.Errorf("the target has %d rows, the source %d", n, rows)
		}
		if [sha256.Size]byte(h.Sum(nil)) != sum {
			return errors.New("the rows of the target are not those of the source")
		}
		return nil
	})
}

// columnsOf returns the columns of a table, those of its key first, the others
// by name: engines may have them in different orders.
func columnsOf(ctx context.Context, q db.Querier, t table) ([]string, error) {
	rows, err := q.QueryContext(ctx, `SELECT * FROM `+t.name+` LIMIT 0`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return slices.Contains(t.key, c) })
	slices.Sort(others)
	return slices.Concat(t.key, others), rows.Err()
}

// pages reads a table in the order of its key. Each page is a statement of
// its own, since a server ends those that run for long.
func pages(ctx context.Context, q db.Querier, t table, columns []string) func(yield func([][]any, error) bool) {
	key := strings.Join(t.key, ", ")
	query := `SELECT ` + strings.Join(columns, ", ") + ` FROM ` + t.name
	tail := ` ORDER BY ` + key + ` LIMIT ` + strconv.Itoa(t.page)
	marks := make([]string, len(t.key))
	for i := range marks {
		marks[i] = "$" + strconv.Itoa(i+1)
	}
	next := query + ` WHERE (` + key + `) > (` + strings.Join(marks, ", ") + `)` + tail
	scan := func(r db.Row) ([]any, error) {
		row := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		err := r.Scan(into...)
		for i, v := range row {
			if b, ok := v.([]byte); ok && b == nil {
				row[i] = []byte{} // it would be written as NULL
			}
		}
		return row, err
	}
	return func(yield func([][]any, error) bool) {
		page, err := db.All(ctx, q, scan, query+tail)
		for err == nil && len(page) > 0 {
			if !yield(page, nil) || len(page) < t.page {
				return
			}
			page, err = db.All(ctx, q, scan, next, page[len(page)-1][:len(t.key)]...)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// addRows adds rows to a sum in which no two different tables look alike.
func addRows(h hash.Hash, rows [][]any) {
	var b []byte
	for _, row := range rows {
		for _, v := range row {
			switch v := v.(type) {
			case nil:
				b = append(b, 'n')
			case int64:
				b = binary.AppendVarint(append(b, 'i'), v)
			case string:
				b = append(binary.AppendUvarint(append(b, 't'), uint64(len(v))), v...)
			case []byte:
				b = append(binary.AppendUvarint(append(b, 'b'), uint64(len(v))), v...)
			default: // no column of ours has another type
				b = fmt.Appendf(append(b, '?'), "%T %v", v, v)
			}
		}
		_, _ = h.Write(b) // a hash takes everything
		b = b[:0]
	}
}
