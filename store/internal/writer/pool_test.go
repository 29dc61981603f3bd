package writer_test

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
	"github.com/agora-arena/arena/store/internal/writer"
)

// part is a combined write.
type part struct {
	name      string
	exclusive bool
	fails     error
}

func (p *part) Exclusive() bool { return p.exclusive }
func (p *part) Outcome() error  { return p.fails }

func open(t *testing.T) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// A write that comes first overtakes those that wait, in a transaction of its own.
// Threat C5.
func TestPool_first(t *testing.T) {
	t.Parallel()
	d := open(t)
	p := writer.New(d.Writer, d.Dialect, func(context.Context, *db.Tx, []*part) error { return nil })
	entered, release := make(chan struct{}), make(chan struct{})
	var calls sync.WaitGroup
	calls.Go(func() {
		_ = p.Do(t.Context(), writer.Write[*part]{Run: func(context.Context, *db.Tx) error { close(entered); <-release; return nil }})
	})
	<-entered
	var order []string
	commits := int64(-1) // before the last of those that waited ran
	for i, w := range []struct {
		name  string
		first bool
	}{{"a", false}, {"b", false}, {"renewal", true}, {"another", true}, {"c", false}} {
		calls.Go(func() {
			_ = p.Do(t.Context(), writer.Write[*part]{Key: w.name, First: w.first, Run: func(context.Context, *db.Tx) error {
				order = append(order, w.name)
				_, commits = p.Stats()
				return nil
			}})
		})
		for p.Queued() < i+1 {
			runtime.Gosched()
		}
	}
	close(release)
	calls.Wait()
	p.Close()
	if want := []string{"renewal", "another", "a", "b", "c"}; !slices.Equal(order, want) || commits != 2 {
		t.Errorf("ran %q, the last after %d commits", order, commits)
	}
}

// Combined writes that wait together run together, in their order. An exclusive
// one does not share its key, and each has its own outcome.
func TestPool_combined(t *testing.T) {
	t.Parallel()
	d := open(t)
	var ran [][]string
	p := writer.New(d.Writer, d.Dialect, func(_ context.Context, _ *db.Tx, parts []*part) error {
		var names []string
		for _, x := range parts {
			names = append(names, x.name)
		}
		ran = append(ran, names)
		return nil
	})
	defer p.Close()
	entered, release := make(chan struct{}), make(chan struct{})
	var calls sync.WaitGroup
	calls.Go(func() {
		_ = p.Do(t.Context(), writer.Write[*part]{Run: func(context.Context, *db.Tx) error { close(entered); <-release; return nil }})
	})
	<-entered
	refused := errors.New("refused")
	writes := []struct {
		key  string
		part *part
	}{
		{"a", &part{name: "a1"}},
		{"a", &part{name: "a2", fails: refused}},
		{"b", &part{name: "b1", exclusive: true}},
		{"b", &part{name: "b2"}},
		{"c", &part{name: "c1"}},
	}
	errs := make([]error, len(writes))
	for i, w := range writes {
		calls.Go(func() {
			errs[i] = p.Do(t.Context(), writer.Write[*part]{Key: w.key, Combined: w.part, Run: func(context.Context, *db.Tx) error { return nil }})
		})
		for p.Queued() < i+1 {
			runtime.Gosched()
		}
	}
	close(release)
	calls.Wait()
	if want := [][]string{{"a1", "a2", "b1"}, {"b2", "c1"}}; !slices.EqualFunc(ran, want, slices.Equal[[]string]) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	for i, err := range errs {
		if (i == 1) != errors.Is(err, refused) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if writes, commits := p.Stats(); writes != 6 || commits != 2 {
		t.Errorf("%d writes in %d commits, want 6 in 2", writes, commits)
	}
}

// A closed pool rejects writes.
func TestPool_closed(t *testing.T) {
	t.Parallel()
	d := open(t)
	p := writer.New(d.Writer, d.Dialect, func(context.Context, *db.Tx, []*part) error { return nil })
	p.Close()
	if err := p.Do(t.Context(), writer.Write[*part]{}); arena.CodeOf(err) != arena.CodeUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
}

// A write that takes long has a limit of its own.
func TestPool_timeout(t *testing.T) {
	t.Parallel()
	d := open(t)
	dialect := d.Dialect
	dialect.Timeout = time.Minute
	p := writer.New(d.Writer, dialect, func(context.Context, *db.Tx, []*part) error { return nil })
	defer p.Close()
	for _, timeout := range []time.Duration{0, time.Hour} {
		want := cmp.Or(timeout, time.Minute)
		if err := p.Do(t.Context(), writer.Write[*part]{Alone: true, Timeout: timeout, Run: func(ctx context.Context, _ *db.Tx) error {
			if end, _ := ctx.Deadline(); time.Until(end) > want || time.Until(end) < want/2 {
				t.Errorf("a write with the limit %s ends at %s", timeout, end)
			}
			return nil
		}}); err != nil {
			t.Error(err)
		}
	}
}
