package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Table describes a table whose rows are values of R. It is the one place that
// lists the table's columns: reads and writes follow it.
type Table[R any] struct {
	name, alias string
	columns     []Column[R]
	read        []Column[R] // those with a destination
	exprs       string      // of read
	query       string      // of all rows
}

// Type is the type of a column.
type Type string

// The types of columns, as they are cast.
const (
	TypeText  Type = "TEXT"
	TypeInt   Type = "BIGINT"
	TypeBytes Type = "" // has no name that both engines know, so it is never cast
)

// Column is one column of a Table.
type Column[R any] struct {
	Name string
	Type Type
	// Value returns the column of a row as it is stored. A column without it is
	// not written.
	Value func(*R) any
	// Into returns the destination that reads the column into a row. A column
	// without it is not read.
	Into func(*R) any
	// Expr is the expression that reads the column; "" stands for its name.
	Expr string
}

// NewTable returns the description of a table. Reads name the table alias.
func NewTable[R any](name, alias string, columns ...Column[R]) *Table[R] {
	t := &Table[R]{name: name, alias: alias, columns: columns}
	var exprs []string
	for _, c := range columns {
		if c.Into == nil {
			continue
		}
		if c.Expr == "" {
			c.Expr = alias + "." + c.Name
		}
		t.read = append(t.read, c)
		exprs = append(exprs, c.Expr)
	}
	t.exprs = strings.Join(exprs, ", ")
	t.query = "SELECT " + t.exprs + " FROM " + name + " " + alias
	return t
}

// Extend returns the description of rows that contain a row of t, with further
// columns. part returns the contained row.
func Extend[S, R any](t *Table[R], part func(*S) *R, further ...Column[S]) *Table[S] {
	columns := make([]Column[S], 0, len(t.columns)+len(further))
	for _, c := range t.columns {
		extended := Column[S]{Name: c.Name, Type: c.Type, Expr: c.Expr}
		if c.Value != nil {
			extended.Value = func(s *S) any { return c.Value(part(s)) }
		}
		if c.Into != nil {
			extended.Into = func(s *S) any { return c.Into(part(s)) }
		}
		columns = append(columns, extended)
	}
	return NewTable(t.name, t.alias, append(columns, further...)...)
}

// Text is a column of a text field.
func Text[R any, F ~string](name string, field func(*R) *F) Column[R] {
	return Column[R]{
		Name: name, Type: TypeText,
		Value: func(r *R) any { return string(*field(r)) },
		Into:  func(r *R) any { return field(r) },
	}
}

// Untrusted is Text for a field that may hold any bytes.
func Untrusted[R any, F ~string](name string, field func(*R) *F) Column[R] {
	c := Text(name, field)
	c.Value = func(r *R) any { return Storable(string(*field(r))) }
	return c
}

// Int is a column of a numeric field.
func Int[R any, F ~int | ~int64](name string, field func(*R) *F) Column[R] {
	return Column[R]{
		Name: name, Type: TypeInt,
		Value: func(r *R) any { return int64(*field(r)) },
		Into:  func(r *R) any { return field(r) },
	}
}

// Bits is a column of 64 unsigned bits, which are stored as a signed number.
func Bits[R any](name string, field func(*R) *uint64) Column[R] {
	return Column[R]{
		Name: name, Type: TypeInt,
		Value: func(r *R) any { return int64(*field(r)) }, //nolint:gosec // the same 64 bits
		Into:  func(r *R) any { return bitsInto{field(r)} },
	}
}

// Bool is a column of a boolean field.
func Bool[R any](name string, field func(*R) *bool) Column[R] {
	return Column[R]{
		Name: name, Type: TypeInt,
		Value: func(r *R) any { return Flag(*field(r)) },
		Into:  func(r *R) any { return field(r) },
	}
}

// Time is a column of a time in unix milliseconds.
func Time[R any](name string, field func(*R) *time.Time) Column[R] {
	return Column[R]{
		Name: name, Type: TypeInt,
		Value: func(r *R) any { return Millis(*field(r)) },
		Into:  func(r *R) any { return timeInto{field(r)} },
	}
}

// Bytes is a column of a field of bytes.
func Bytes[R any](name string, field func(*R) *[]byte) Column[R] {
	return Column[R]{
		Name: name, Type: TypeBytes,
		Value: func(r *R) any { return *field(r) },
		Into:  func(r *R) any { return field(r) },
	}
}

// Digest is a column of a SHA-256.
func Digest[R any](name string, field func(*R) *[32]byte) Column[R] {
	return Column[R]{
		Name: name, Type: TypeBytes,
		Value: func(r *R) any { return field(r)[:] },
		Into:  func(r *R) any { return digestInto{field(r)} },
	}
}

// NullText is a column of a text field whose empty text is stored as NULL.
func NullText[R any](name string, field func(*R) *string) Column[R] {
	return Column[R]{
		Name: name, Type: TypeText,
		Value: func(r *R) any { text := *field(r); return sql.NullString{String: text, Valid: text != ""} },
		Into:  func(r *R) any { return nullTextInto{field(r)} },
	}
}

// NullInt is a column of a pointer to a number. Nil is stored as NULL.
func NullInt[R any, F ~int | ~int64](name string, field func(*R) **F) Column[R] {
	return Column[R]{
		Name: name, Type: TypeInt,
		Value: func(r *R) any {
			n := *field(r)
			if n == nil {
				return nil
			}
			return int64(*n)
		},
		Into: func(r *R) any { return field(r) },
	}
}

// RawJSON is a text column of a field that is encoded already. Nil is stored as
// the empty text.
func RawJSON[R any](name string, field func(*R) *json.RawMessage) Column[R] {
	return Column[R]{
		Name: name, Type: TypeText,
		Value: func(r *R) any { return string(*field(r)) },
		Into:  func(r *R) any { return rawInto{field(r)} },
	}
}

// JSON is a text column that holds a field as JSON.
func JSON[R, F any](name string, field func(*R) *F) Column[R] {
	return Column[R]{
		Name: name, Type: TypeText,
		Value: func(r *R) any { return Encode(field(r)) },
		Into:  func(r *R) any { return jsonInto{field(r)} },
	}
}

// Written is a column that is written and never read.
func Written[R any](name string, typ Type, value func(*R) any) Column[R] {
	return Column[R]{Name: name, Type: typ, Value: value}
}

// Computed is an expression that is read and never written.
func Computed[R any](expr string, into func(*R) any) Column[R] {
	return Column[R]{Expr: expr, Into: into}
}

// With returns the column, written as another value.
func (c Column[R]) With(value func(*R) any) Column[R] {
	c.Value = value
	return c
}

// As returns the column, read by an expression.
func (c Column[R]) As(expr string) Column[R] {
	c.Expr = expr
	return c
}

// Select returns the query of all rows.
func (t *Table[R]) Select() string { return t.query }

// All reads the rows that the rest of the query selects: joins, WHERE, ORDER BY
// and what else follows the table's name.
func (t *Table[R]) All(ctx context.Context, q Querier, rest string, args ...any) ([]R, error) {
	return scanAll(ctx, q, t.read, t.query+rest, args)
}

// One reads the first row that the rest of the query selects. It returns
// sql.ErrNoRows when there is none.
func (t *Table[R]) One(ctx context.Context, q Querier, rest string, args ...any) (R, error) {
	rows, err := t.All(ctx, q, rest, args...)
	if err == nil && len(rows) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		var none R
		return none, err
	}
	return rows[0], nil
}

// scanAll reads rows that consist of the columns.
func scanAll[R any](ctx context.Context, q Querier, columns []Column[R], query string, args []any) ([]R, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var items []R
	var row, none R
	into := make([]any, len(columns))
	for i := range columns {
		into[i] = columns[i].Into(&row)
	}
	for rows.Next() {
		row = none
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		items = append(items, row)
	}
	return items, rows.Err()
}

// written returns the columns with these names; all that are written when there
// are none. It panics when the table does not write one of them.
func (t *Table[R]) written(names ...string) []Column[R] {
	var found []Column[R]
	for _, c := range t.columns {
		if c.Value != nil && (len(names) == 0 || slices.Contains(names, c.Name)) {
			found = append(found, c)
		}
	}
	if len(names) > 0 && len(found) != len(names) {
		panic(fmt.Sprintf("table %s does not write all of %v", t.name, names))
	}
	return found
}
