package main

import (
	"context"
	"database/sql"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

func TestRun_MigrateCopy(t *testing.T) {
	t.Parallel()
	server, err := storetest.StartServer(context.WithoutCancel(t.Context()))
	if storetest.Missing(err) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	o := newOperator(t)
	storetest.Fill(t, "sqlite:"+o.file)
	stopLongAgo(t, o.file)
	postgres := server.EmptyDatabase(t)
	back := "sqlite:" + filepath.Join(t.TempDir(), "back.db")

	// There and back again: the source is the setting, then --from.
	for _, args := range [][]string{{"--to", postgres}, {"--from", postgres, "--to", back}} {
		code, out, errs := call(t, o.environ, append([]string{"migrate", "copy"}, args...)...)
		if code != exitOK {
			t.Fatalf("%v: exit code %d, %s", args, code, errs)
		}
		for _, want := range []string{"1300  tasks", "     1  signing_keys", "SUM OF RATINGS", "6000.000         0.000  sums", "4 settlements give its ratings"} {
			if !strings.Contains(out, want) {
				t.Errorf("%v printed\n%s\nwant %q in it", args, out, want)
			}
		}
		for _, want := range []string{"copy tasks: 1300 of 1300 rows\n", "compare tasks: 1300 of 1300 rows\n", "compare ticks: 1 of 1 rows\n"} {
			if !strings.Contains(errs, want) {
				t.Errorf("%v: progress\n%s\nwant %q in it", args, errs, want)
			}
		}
		if strings.Contains(errs, "\x1b") {
			t.Errorf("%v: a bar without a terminal", args)
		}
	}
	o.environ[0] = "ARENA_DATABASE_URL=" + back
	if out := o.ok("migrate", "--status"); !strings.Contains(out, "nothing to do") {
		t.Errorf("the schema of the copy: %q", out)
	}
	o.refused("the target is not empty", "migrate", "copy", "--to", postgres)
}

func TestRun_MigrateCopyRefuses(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "copy.db")
	o.refused("there is no database sqlite:"+o.file, "migrate", "copy", "--to", "sqlite:"+target)
	o.withoutSchema()
	o.refused("the source has schema 0", "migrate", "copy", "--to", "sqlite:"+target)
	o.ok("migrate", "up")
	o.refused("--to: needs the form sqlite:FILE", "migrate", "copy", "--to", "copy.db")
	o.refused("--from: needs the form sqlite:FILE", "migrate", "copy", "--from", "x", "--to", "sqlite:"+target)
	o.refused("the same database", "migrate", "copy", "--to", "sqlite:"+o.file)
	o.refused("--from: open database", "migrate", "copy", "--from", "postgres://u:secret@127.0.0.1:1/x", "--to", "sqlite:"+target)
	if files, _ := filepath.Glob(dir + "/*"); len(files) != 0 {
		t.Errorf("a failed copy left %v", files)
	}
	if code, _, _ := call(t, o.environ, "migrate", "copy"); code != exitUsage {
		t.Errorf("without --to: exit code %d", code)
	}
}

func TestCopyProgress_Terminal(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	now := time.Unix(0, 0)
	p := &copyProgress{w: &b, terminal: true, now: func() time.Time { return now }}
	p.show(store.CopyProgress{Step: "copy", Table: "events", Done: 50, Total: 100})
	p.show(store.CopyProgress{Step: "copy", Table: "events", Done: 51, Total: 100}) // too soon to be seen
	now = now.Add(time.Second)
	p.show(store.CopyProgress{Step: "compare", Table: "events", Done: 100, Total: 100})
	p.end()
	half, full := strings.Repeat("█", 15)+strings.Repeat("░", 15), strings.Repeat("█", 30)
	want := "\r\x1b[Kcopy    events          " + half + " 50/100\r\x1b[Kcompare events          " + full + " 100/100\r\x1b[K"
	if b.String() != want {
		t.Errorf("showed %q, want %q", b.String(), want)
	}
	(&copyProgress{w: io.Discard}).end()
}

// stopLongAgo makes the last sign of a node in a SQLite database an old one.
func stopLongAgo(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "UPDATE ticks SET tick = 1"); err != nil {
		t.Fatal(err)
	}
}
