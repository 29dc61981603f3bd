package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// querier is a database, or a transaction on it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// scanner is one row.
type scanner interface{ Scan(dest ...any) error }

// all reads every row of a query.
func all[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var items []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}

// one reads the first row of a query; sql.ErrNoRows when there is none.
func one[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	items, err := all(ctx, q, scan, query, args...)
	if err != nil || len(items) == 0 {
		var zero T
		if err == nil {
			err = sql.ErrNoRows
		}
		return zero, err
	}
	return items[0], nil
}

// exec runs a statement and gives the number of rows it changed.
func exec(ctx context.Context, q querier, query string, args ...any) (int64, error) {
	result, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// arities are the lengths in which lists stand in a statement, longest first.
// With every length of its own, each text would be compiled for one use.
var arities = []int{256, 64, 16, 4, 2, 1}

// maxIDs is the most ids that one statement names.
const maxIDs = 256

// chunks cuts items into parts whose lengths are arities.
func chunks[T any](items []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for _, n := range arities {
			for len(items) >= n {
				if !yield(items[:n:n]) {
					return
				}
				items = items[n:]
			}
		}
	}
}

// bulk inserts rows by few statements: head is "INSERT INTO t (a, b)", tail ""
// or an ON CONFLICT clause.
func bulk(ctx context.Context, tx *transaction, head, tail string, rows [][]any) error {
	for part := range chunks(rows) {
		list := tx.h.list(listText{rows: len(part), columns: len(part[0])})
		if _, err := tx.ExecContext(ctx, head+list+tail, slices.Concat(part...)...); err != nil {
			return err
		}
	}
	return nil
}

// update runs set, "UPDATE t SET a = v.column2", with few statements for rows
// of values, whose types are given, with commas between; where joins them to the table. It gives
// the number of rows that were changed.
func update(ctx context.Context, tx *transaction, set, where, types string, rows [][]any) (changed int64, err error) {
	for part := range chunks(rows) {
		list := tx.h.list(listText{len(part), len(part[0]), types})
		n, err := exec(ctx, tx, set+" FROM ("+list+") v WHERE "+where, slices.Concat(part...)...)
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// typed gives values with the types of their columns: without them PostgreSQL
// takes what is no column's for text.
func typed(text string, types []string) string {
	for i, t := range types {
		mark := "$" + strconv.Itoa(i+1)
		text = strings.Replace(text, mark, "CAST("+mark+" AS "+t+")", 1)
	}
	return text
}

// values gives " VALUES ($1, $2), ($3, $4) " for n rows of width columns.
func values(n, width int) string {
	var b strings.Builder
	b.WriteString(" VALUES ")
	for i := range n * width {
		switch {
		case i == 0:
			b.WriteString("($")
		case i%width == 0:
			b.WriteString("), ($")
		default:
			b.WriteString(", $")
		}
		b.WriteString(strconv.Itoa(i + 1))
	}
	b.WriteString(") ")
	return b.String()
}

// clauses collects conditions and the values of their placeholders.
type clauses struct {
	conditions []string
	args       []any
}

// arg adds a value and gives its placeholder.
func (c *clauses) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// and adds a condition in which each ? stands for the next of args.
func (c *clauses) and(condition string, args ...any) {
	for _, a := range args {
		condition = strings.Replace(condition, "?", c.arg(a), 1)
	}
	c.conditions = append(c.conditions, condition)
}

// in adds the condition that column is one of items, at least one and at most
// maxIDs. The last one is repeated up to the next of arities.
func in[T ~string](c *clauses, column string, items []T) {
	n := maxIDs
	for _, arity := range arities {
		if arity >= len(items) {
			n = arity
		}
	}
	marks := make([]string, n)
	for i := range marks {
		marks[i] = c.arg(string(items[min(i, len(items)-1)]))
	}
	c.conditions = append(c.conditions, column+" IN ("+strings.Join(marks, ", ")+")")
}

// where gives " WHERE …", or nothing.
func (c *clauses) where() string {
	if len(c.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.conditions, " AND ")
}

// Times are unix milliseconds, 0 for the zero time.

func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMS(v int64) time.Time {
	if v == 0 {
		return time.Time{}
	}
	return time.UnixMilli(v).UTC()
}

// noEnd stands for "until it is lifted".
const noEnd = math.MaxInt64

// timeInto scans unix milliseconds into a time.
type timeInto struct{ t *time.Time }

func (i timeInto) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return fmt.Errorf("scan time: got %T", src)
	}
	*i.t = fromMS(v)
	return nil
}

// flag is how yes and no are stored.
func flag(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// jsonText encodes v for a text column. The values stored so always encode.
func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// jsonInto scans a text column that holds JSON into v, which must be a
// pointer. NULL and the empty text leave v as it is.
type jsonInto struct{ v any }

func (i jsonInto) Scan(src any) error {
	switch s := src.(type) {
	case nil:
		return nil
	case string:
		if s == "" {
			return nil
		}
		return json.Unmarshal([]byte(s), i.v)
	default:
		return fmt.Errorf("scan json: got %T", src)
	}
}

func scanInt(r scanner) (n int64, err error)      { return n, r.Scan(&n) }
func scanText(r scanner) (text string, err error) { return text, r.Scan(&text) }

// foldCase gives the form in which names are compared. Upper case first
// brings letters with two lower-case forms (ſ, K) together.
func foldCase(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// storable takes out of a stranger's text what PostgreSQL cannot hold:
// invalid UTF-8 and NUL.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}
