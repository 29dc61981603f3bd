package db

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Statement writes rows of a Table, many at once. Its texts come in the lengths
// of arities.
type Statement[R any] struct {
	columns   []Column[R] // whose values the texts take, in this order
	returning []Column[R]
	build     func(rows int) string
	texts     [len(arities)]atomic.Pointer[string] // nil until used
}

// NewInsert returns the statement that inserts rows. tail is "" or an ON
// CONFLICT clause.
func NewInsert[R any](t *Table[R], tail string) *Statement[R] {
	return NewInsertWith(t, nil, tail)
}

// NewInsertWith is NewInsert with expressions for some columns, by name. In
// such an expression ? stands for the column's value.
func NewInsertWith[R any](t *Table[R], exprs map[string]string, tail string) *Statement[R] {
	s := &Statement[R]{}
	written := t.written()
	formats := make([]string, len(written)) // of one row
	for i, c := range written {
		formats[i] = "?"
		if expr, ok := exprs[c.Name]; ok {
			formats[i] = expr
		}
		if strings.Contains(formats[i], "?") {
			s.columns = append(s.columns, c)
		}
	}
	row := "(" + strings.Join(formats, ", ") + ")"
	head := "INSERT INTO " + t.name + " (" + strings.Join(namesOf(written), ", ") + ") VALUES "
	s.build = func(rows int) string { return head + numbered(row, rows) + " " + tail }
	return s
}

// NewUpsert returns the statement that inserts rows, or updates the columns of
// set in the rows that have the same key. Without set it updates all columns
// that are not in key.
func NewUpsert[R any](t *Table[R], key []string, set ...string) *Statement[R] {
	if len(set) == 0 {
		set = slices.DeleteFunc(namesOf(t.written()), func(name string) bool { return slices.Contains(key, name) })
	}
	var assignments []string
	for _, c := range t.written(set...) {
		assignments = append(assignments, c.Name+" = excluded."+c.Name)
	}
	return NewInsert(t, "ON CONFLICT ("+strings.Join(key, ", ")+") DO UPDATE SET "+strings.Join(assignments, ", "))
}

// NewUpdate returns the statement that updates the columns of set in the rows
// whose key columns are those of the given rows. conditions narrow the rows
// down; they name the table's columns as table.column.
func NewUpdate[R any](t *Table[R], key, set []string, conditions ...string) *Statement[R] {
	keys, changed := t.written(key...), t.written(set...)
	s := &Statement[R]{columns: slices.Concat(keys, changed)}
	s.build = func(rows int) string {
		// One row needs no list, and lists need the types of their columns.
		value := func(i int) string { return "$" + strconv.Itoa(i+1) }
		from := ""
		if rows > 1 {
			value = listColumn
			from = " FROM " + list(s.columns, rows)
		}
		var where, assignments []string
		for i, c := range s.columns {
			if i < len(keys) {
				where = append(where, t.name+"."+c.Name+" = "+value(i))
			} else {
				assignments = append(assignments, c.Name+" = "+value(i))
			}
		}
		return "UPDATE " + t.name + " SET " + strings.Join(assignments, ", ") + from + " WHERE " +
			strings.Join(append(where, conditions...), " AND ")
	}
	return s
}

// NewQuery returns the query of the table's columns for many given rows at
// once. rest joins the table to the given rows, whose key columns it and the
// table's expressions name as v.column.
func NewQuery[R any](t *Table[R], key []string, rest string) *Statement[R] {
	s := &Statement[R]{columns: t.written(key...), returning: t.read}
	exprs := t.exprs
	for i, c := range s.columns {
		given := regexp.MustCompile(`\bv\.` + c.Name + `\b`)
		exprs, rest = given.ReplaceAllString(exprs, listColumn(i)), given.ReplaceAllString(rest, listColumn(i))
	}
	s.build = func(rows int) string { return "SELECT " + exprs + " FROM " + list(s.columns, rows) + " " + rest }
	return s
}

// Returning makes the statement return columns of the rows it wrote.
func (s *Statement[R]) Returning(names ...string) *Statement[R] {
	build := s.build
	s.build = func(rows int) string { return build(rows) + " RETURNING " + strings.Join(names, ", ") }
	for _, name := range names {
		i := slices.IndexFunc(s.columns, func(c Column[R]) bool { return c.Name == name })
		s.returning = append(s.returning, s.columns[i])
	}
	return s
}

// text returns the text for as many rows as the arity with this index.
func (s *Statement[R]) text(arity int) string {
	if text := s.texts[arity].Load(); text != nil {
		return *text
	}
	text := s.build(arities[arity])
	s.texts[arity].Store(&text)
	return text
}

// Texts returns the texts of all lengths.
func (s *Statement[R]) Texts() []string {
	texts := make([]string, len(arities))
	for i := range arities {
		texts[i] = s.text(i)
	}
	return texts
}

// Exec runs the statement for rows and returns the number of rows it changed.
func (s *Statement[R]) Exec(ctx context.Context, tx *Tx, rows ...R) (changed int64, err error) {
	for part, arity := range parts(rows) {
		n, err := Exec(ctx, tx, s.text(arity), s.args(part)...)
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// Query runs the statement for rows and returns what it reads, in no order
// across more than maxIDs rows.
func (s *Statement[R]) Query(ctx context.Context, q Querier, rows ...R) (found []R, err error) {
	for part, arity := range parts(rows) {
		some, err := scanAll(ctx, q, s.returning, s.text(arity), s.args(part))
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

func (s *Statement[R]) args(rows []R) []any {
	args := make([]any, 0, len(rows)*len(s.columns))
	for i := range rows {
		for j := range s.columns {
			args = append(args, s.columns[j].Value(&rows[i]))
		}
	}
	return args
}

func namesOf[R any](columns []Column[R]) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// list returns the list v of so many given rows. It casts the first row:
// PostgreSQL would take values that belong to no column for text.
func list[R any](columns []Column[R], rows int) string {
	first, marks := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		if c.Type == TypeBytes {
			panic("column " + c.Name + " has no type for a list")
		}
		first[i], marks[i] = "CAST(? AS "+string(c.Type)+")", "?"
	}
	text := "(" + strings.Join(first, ", ") + ")" + strings.Repeat(", ("+strings.Join(marks, ", ")+")", rows-1)
	return "(VALUES " + numbered(text, 1) + ") v"
}

// listColumn returns the name that both engines give a column of the list v.
func listColumn(i int) string { return "v.column" + strconv.Itoa(i+1) }

// numbered repeats the text of a row with each ? numbered: $1, $2 …
func numbered(row string, rows int) string {
	var b strings.Builder
	n := 0
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		for part := range strings.SplitAfterSeq(row, "?") {
			text, mark := strings.CutSuffix(part, "?")
			b.WriteString(text)
			if mark {
				n++
				b.WriteString("$" + strconv.Itoa(n))
			}
		}
	}
	return b.String()
}

// parts splits rows into parts whose lengths are arities, with their indexes.
func parts[R any](rows []R) iter.Seq2[[]R, int] {
	return func(yield func([]R, int) bool) {
		for i, n := range arities {
			for len(rows) >= n {
				if !yield(rows[:n:n], i) {
					return
				}
				rows = rows[n:]
			}
		}
	}
}
