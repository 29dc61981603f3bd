package db_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/store/internal/db"
)

type thing struct {
	ID     string
	Count  int
	Bits   uint64
	Open   bool
	At     time.Time
	Digest [32]byte
	Tags   []string
	Twice  int
	secret string
}

func things() *db.Table[thing] {
	return db.NewTable("things", "t",
		db.Text("id", func(x *thing) *string { return &x.ID }),
		db.Int("count", func(x *thing) *int { return &x.Count }),
		db.Bits("bits", func(x *thing) *uint64 { return &x.Bits }),
		db.Bool("open", func(x *thing) *bool { return &x.Open }),
		db.Time("at", func(x *thing) *time.Time { return &x.At }),
		db.Digest("digest", func(x *thing) *[32]byte { return &x.Digest }),
		db.JSON("tags", func(x *thing) *[]string { return &x.Tags }),
		db.Computed("t.count * 2", func(x *thing) any { return &x.Twice }),
		db.Written("secret", db.TypeText, func(x *thing) any { return x.secret }),
	)
}

// inTx runs f in a transaction of a SQLite database that has the table things.
func inTx(t *testing.T, f func(ctx context.Context, tx *db.Tx)) {
	t.Helper()
	d, err := db.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if _, err := d.Writer.ExecContext(t.Context(), `CREATE TABLE things (id TEXT PRIMARY KEY, count INTEGER, bits INTEGER,
		open INTEGER, at INTEGER, digest BLOB, tags TEXT, secret TEXT) STRICT`); err != nil {
		t.Fatal(err)
	}
	tx, err := d.Writer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f(t.Context(), tx)
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
}

// Rows are read as they were written, however many there are.
func TestTable_roundTrip(t *testing.T) {
	t.Parallel()
	inTx(t, func(ctx context.Context, tx *db.Tx) {
		table := things()
		var rows []thing
		for i := range 300 {
			rows = append(rows, thing{
				ID: string(rune('a'+i/26)) + string(rune('a'+i%26)), Count: i, Bits: 1<<63 + uint64(i), Open: i%2 == 0,
				At: time.UnixMilli(int64(i + 1)).UTC(), Digest: [32]byte{byte(i)}, Tags: []string{"x"}, Twice: 2 * i,
			})
		}
		if n, err := db.NewInsert(table, "").Exec(ctx, tx, rows...); err != nil || n != 300 {
			t.Fatal(n, err)
		}
		got, err := table.All(ctx, tx, " ORDER BY t.count")
		if err != nil || !cmp.Equal(rows, got, cmp.AllowUnexported(thing{})) {
			t.Errorf("%v: %s", err, cmp.Diff(rows, got, cmp.AllowUnexported(thing{})))
		}
	})
}

func TestStatements(t *testing.T) {
	t.Parallel()
	inTx(t, func(ctx context.Context, tx *db.Tx) {
		table := things()
		counts := func() map[string]int {
			rows, err := table.All(ctx, tx, "")
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]int{}
			for _, r := range rows {
				found[r.ID] = r.Count
			}
			return found
		}
		check := func(name string, want map[string]int) {
			t.Helper()
			if got := counts(); !cmp.Equal(want, got) {
				t.Errorf("%s: %s", name, cmp.Diff(want, got))
			}
		}
		fresh, err := db.NewInsert(table, "ON CONFLICT DO NOTHING").Returning("id").Query(ctx, tx, thing{ID: "a", Count: 1}, thing{ID: "a", Count: 2}, thing{ID: "b", Count: 3})
		if err != nil || len(fresh) != 2 {
			t.Errorf("insert returned %v, %v", fresh, err)
		}
		check("insert", map[string]int{"a": 1, "b": 3})

		upsert := db.NewUpsert(table, []string{"id"})
		if _, err := upsert.Exec(ctx, tx, thing{ID: "b", Count: 4}, thing{ID: "c", Count: 5}); err != nil {
			t.Error(err)
		}
		check("upsert", map[string]int{"a": 1, "b": 4, "c": 5})

		update := db.NewUpdate(table, []string{"id"}, []string{"count"}, "things.count < 5")
		for rows, want := range map[int]int64{1: 1, 3: 2} { // by key alone, and with a list
			n, err := update.Exec(ctx, tx, []thing{{ID: "a", Count: 2}, {ID: "b", Count: 4}, {ID: "c", Count: 9}}[:rows]...)
			if err != nil || n != want {
				t.Errorf("update of %d rows changed %d, %v", rows, n, err)
			}
		}
		check("update", map[string]int{"a": 2, "b": 4, "c": 5})

		doubled := db.NewInsertWith(table, map[string]string{"count": "? * 2", "open": "1"}, "")
		if _, err := doubled.Exec(ctx, tx, thing{ID: "d", Count: 5}); err != nil {
			t.Error(err)
		}
		check("expressions", map[string]int{"a": 2, "b": 4, "c": 5, "d": 10})

		found, err := db.NewQuery(table, []string{"id", "count"}, "JOIN things t ON t.id = v.id AND t.count = v.count ORDER BY t.id").
			Query(ctx, tx, thing{ID: "a", Count: 2}, thing{ID: "b", Count: 99}, thing{ID: "c", Count: 5}, thing{ID: "d", Count: 10})
		if err != nil || len(found) != 3 || found[2].Twice != 20 {
			t.Errorf("query returned %v, %v", found, err)
		}
	})
}

// A statement that names a column that the table does not write is a mistake
// in the program.
func TestNewUpdate_unknownColumn(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	db.NewUpdate(things(), []string{"id"}, []string{"cuont"})
}
