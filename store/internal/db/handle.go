package db

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxStatements is the most texts that one handle keeps prepared. The store has
// fewer, since its lists come in a few lengths (see arities). Texts beyond the
// limit run without being prepared.
const maxStatements = 1_000

// Handle is a set of connections. Where the driver does not do it by itself,
// it prepares each text once per connection: for the small statements of an
// answer, SQLite takes longer to compile the text than to run it.
type Handle struct {
	*sql.DB
	prepare bool

	mu    sync.RWMutex
	known map[string]statement
}

// statement is a prepared text.
type statement struct {
	*sql.Stmt
	order []int // see positional
}

func newHandle(db *sql.DB, d Dialect) *Handle {
	return &Handle{DB: db, prepare: d.compiles, known: make(map[string]statement)}
}

// QueryContext runs a query on any connection.
func (h *Handle) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if !h.prepare {
		return h.DB.QueryContext(ctx, query, args...)
	}
	st, err := h.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if st.Stmt == nil {
		text, order := positional(query)
		return h.DB.QueryContext(ctx, text, arrange(order, args)...)
	}
	return st.QueryContext(ctx, arrange(st.order, args)...)
}

// lookup returns a text's statement when it is prepared already.
func (h *Handle) lookup(query string) (st statement, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	st, ok = h.known[query]
	return st, ok
}

// Texts returns the texts that the handle keeps prepared.
func (h *Handle) Texts() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Collect(maps.Keys(h.known))
}

func (h *Handle) full() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.known) >= maxStatements
}

// statement returns a text's statement and prepares it at the first call. It
// needs a connection, so a transaction, which may hold the only one, must not
// call it. It returns the zero statement when too many are prepared.
func (h *Handle) statement(ctx context.Context, query string) (statement, error) {
	if st, ok := h.lookup(query); ok || h.full() {
		return st, nil
	}
	text, order := positional(query)
	prepared, err := h.PrepareContext(ctx, text) // without the lock: it may wait for a transaction that looks up
	if err != nil {
		return statement{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	st, ok := h.known[query]
	if ok || len(h.known) >= maxStatements {
		defer func() { _ = prepared.Close() }() // another goroutine was faster
		return st, nil
	}
	st = statement{Stmt: prepared, order: order}
	h.known[query] = st
	return st, nil
}

// Begin starts a transaction.
func (h *Handle) Begin(ctx context.Context, o *sql.TxOptions) (*Tx, error) {
	tx, err := h.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Tx{Tx: tx, h: h, bound: make(map[string]statement)}, nil
}

// Tx runs statements of its handle on one connection. A new text is prepared
// when the connection is free again.
type Tx struct {
	*sql.Tx
	h     *Handle
	bound map[string]statement // to this transaction
	fresh []string

	writes int
}

// Writes returns the number of statements so far that may have written.
func (t *Tx) Writes() int { return t.writes }

// Commit ends the transaction.
func (t *Tx) Commit() error {
	defer t.learn()
	return t.Tx.Commit()
}

// Rollback ends the transaction and undoes it; after Commit it does nothing.
func (t *Tx) Rollback() error {
	defer t.learn()
	return t.Tx.Rollback()
}

// learn prepares the new texts of the transaction.
func (t *Tx) learn() {
	for _, query := range t.fresh {
		// A text that cannot be prepared has failed in the transaction.
		_, _ = t.h.statement(context.Background(), query)
	}
	t.fresh = nil
}

// QueryContext runs a query in the transaction.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if !strings.HasPrefix(query, "SELECT ") {
		t.writes++
	}
	if !t.h.prepare {
		return t.Tx.QueryContext(ctx, query, args...)
	}
	if st, ok := t.bind(ctx, query); ok {
		return st.QueryContext(ctx, arrange(st.order, args)...)
	}
	text, order := positional(query)
	return t.Tx.QueryContext(ctx, text, arrange(order, args)...)
}

// ExecContext runs a statement in the transaction.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.writes++
	if !t.h.prepare {
		return t.Tx.ExecContext(ctx, query, args...)
	}
	if st, ok := t.bind(ctx, query); ok {
		return st.ExecContext(ctx, arrange(st.order, args)...)
	}
	text, order := positional(query)
	return t.Tx.ExecContext(ctx, text, arrange(order, args)...)
}

// bind returns a text's statement for this transaction, if it is prepared.
func (t *Tx) bind(ctx context.Context, query string) (statement, bool) {
	if st, ok := t.bound[query]; ok {
		return st, true
	}
	st, ok := t.h.lookup(query)
	if !ok {
		t.fresh = append(t.fresh, query)
		return statement{}, false
	}
	st.Stmt = t.StmtContext(ctx, st.Stmt) // the transaction closes it
	t.bound[query] = st
	return st, true
}

// positional rewrites the placeholders $1, $2 … of a text, which holds no
// comments, to plain ?. order holds the index of each placeholder's argument; it
// is nil when the arguments are in order. SQLite takes $1 for a name and compares
// it with all names before it whenever it compiles or binds.
func positional(query string) (text string, order []int) {
	var b strings.Builder
	b.Grow(len(query))
	plain := true
	for i := 0; i < len(query); {
		end := i + 1
		switch c := query[i]; {
		case c == '\'' || c == '"': // a quote in the quotes begins the next ones
			if n := strings.IndexByte(query[end:], c); n >= 0 {
				end += n + 1
			} else {
				end = len(query)
			}
		case c == '$':
			for end < len(query) && '0' <= query[end] && query[end] <= '9' {
				end++
			}
			if n, err := strconv.Atoi(query[i+1 : end]); err == nil && n > 0 {
				plain = plain && n == len(order)+1
				order = append(order, n-1)
				b.WriteByte('?')
				i = end
				continue
			}
		}
		b.WriteString(query[i:end])
		i = end
	}
	if plain {
		order = nil
	}
	return b.String(), order
}

// arrange returns the arguments in the order of the placeholders.
func arrange(order []int, args []any) []any {
	if order == nil {
		return args
	}
	arranged := make([]any, len(order))
	for i, n := range order {
		if n >= len(args) {
			return args // too few: the driver reports it
		}
		arranged[i] = args[n]
	}
	return arranged
}
