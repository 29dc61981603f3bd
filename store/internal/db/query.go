package db

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// Querier is a Handle or a Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Row is one row of a result.
type Row interface{ Scan(dest ...any) error }

// All reads every row of a query.
func All[T any](ctx context.Context, q Querier, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
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

// One reads the first row of a query. It returns sql.ErrNoRows when there is
// none.
func One[T any](ctx context.Context, q Querier, scan func(Row) (T, error), query string, args ...any) (T, error) {
	items, err := All(ctx, q, scan, query, args...)
	if err != nil || len(items) == 0 {
		var zero T
		if err == nil {
			err = sql.ErrNoRows
		}
		return zero, err
	}
	return items[0], nil
}

// Exec runs a statement and returns the number of rows it changed.
func Exec(ctx context.Context, q Querier, query string, args ...any) (int64, error) {
	result, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// arities are the lengths of the lists in statements, longest first. With any
// length, each text would be compiled for a single use.
var arities = [...]int{256, 64, 16, 4, 2, 1}

// MaxIDs is the most ids that one statement can name.
const MaxIDs = 256

// Clauses collects the conditions of a query and the arguments of its
// placeholders.
type Clauses struct {
	Conditions []string
	Args       []any
}

// Arg adds an argument and returns its placeholder.
func (c *Clauses) Arg(v any) string {
	c.Args = append(c.Args, v)
	return "$" + strconv.Itoa(len(c.Args))
}

// And adds a condition in which each ? stands for the next of args.
func (c *Clauses) And(condition string, args ...any) {
	for _, a := range args {
		condition = strings.Replace(condition, "?", c.Arg(a), 1)
	}
	c.Conditions = append(c.Conditions, condition)
}

// In adds the condition that column is one of items, at least one and at most
// MaxIDs. The last one is repeated up to the next of arities.
func In[T ~string](c *Clauses, column string, items []T) {
	n := MaxIDs
	for _, arity := range arities {
		if arity >= len(items) {
			n = arity
		}
	}
	marks := make([]string, n)
	for i := range marks {
		marks[i] = c.Arg(string(items[min(i, len(items)-1)]))
	}
	c.Conditions = append(c.Conditions, column+" IN ("+strings.Join(marks, ", ")+")")
}

// InAny adds the condition that column is what one of some queries returns. Their
// placeholders are among c.Args, and each has an order and a limit of its own, so that
// an index of its own serves it.
func (c *Clauses) InAny(column string, queries ...string) {
	for i, query := range queries {
		queries[i] = "SELECT * FROM (" + query + ") AS q" + strconv.Itoa(i)
	}
	c.Conditions = append(c.Conditions, column+" IN ("+strings.Join(queries, " UNION ALL ")+")")
}

// Where returns " WHERE …", or "" without conditions.
func (c *Clauses) Where() string {
	if len(c.Conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.Conditions, " AND ")
}
