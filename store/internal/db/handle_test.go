package db_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/store/internal/db"
)

func TestPositional(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, want string
		args        []any
	}{
		{"SELECT 1", "SELECT 1", []any{"a", "b", "c"}},
		{"a = $1 AND b = $2 AND c = $3", "a = ? AND b = ? AND c = ?", []any{"a", "b", "c"}},
		{"a = $2 AND b = $1 OR c = $2", "a = ? AND b = ? OR c = ?", []any{"b", "a", "b"}},
		{"a = $1 AND b = $1", "a = ? AND b = ?", []any{"a", "a"}},
		{"a = '$1' AND b = '''$2' AND c = $3", "a = '$1' AND b = '''$2' AND c = ?", []any{"c"}},
		{`"$1" LIKE '\' AND c = $2`, `"$1" LIKE '\' AND c = ?`, []any{"b"}},
		{"a = '$1", "a = '$1", []any{"a", "b", "c"}},
		{"a = $ AND b = $x", "a = $ AND b = $x", []any{"a", "b", "c"}},
		{"a = $1 AND d = $4", "a = ? AND d = ?", []any{"a", "b", "c"}}, // too few: the driver says so
	} {
		text, args := db.Positional(c.query, "a", "b", "c")
		if text != c.want || !cmp.Equal(args, c.args) {
			t.Errorf("%s becomes %s with %v", c.query, text, args)
		}
	}
}
