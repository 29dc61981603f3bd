package backup_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/backup"
)

var start = time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)

// arenaOf makes a service whose arena is a text, and whose clock moves a minute
// with each backup.
func arenaOf(t *testing.T, text string) (s *backup.Service, recorded *time.Time) {
	t.Helper()
	now, recorded := start, new(time.Time)
	s = backup.New(backup.Options{
		Snapshot: func(_ context.Context, file string) (backup.Contents, error) {
			now = now.Add(time.Minute)
			if text == "" {
				return backup.Contents{}, errors.Join(errors.New("no space left"), os.WriteFile(file, []byte("half"), 0o600))
			}
			return backup.Contents{Rows: 7}, os.WriteFile(file, []byte(text), 0o600)
		},
		Record: func(_ context.Context, at time.Time) error { *recorded = at; return nil },
		Now:    func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
	})
	return s, recorded
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// restored returns what a restore hands to the database.
func restored(t *testing.T, from backup.Destination, name string) (text string, err error) {
	t.Helper()
	var order []string
	_, err = backup.Restore(t.Context(), from, name, backup.RestoreOptions{
		Empty: func(context.Context) error { order = append(order, "empty"); return nil },
		Fill: func(_ context.Context, file string) (backup.Contents, error) {
			order = append(order, "fill")
			data, err := os.ReadFile(file)
			text = string(data)
			return backup.Contents{}, err
		},
		After:     []func(context.Context) error{func(context.Context) error { order = append(order, "after"); return nil }},
		Workspace: t.TempDir(), Now: func() time.Time { return start },
	})
	if err == nil && !slices.Equal(order, []string{"empty", "fill", "after"}) {
		t.Errorf("the order was %v", order)
	}
	return text, err
}

func TestService_Run(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("all of the arena ", 10_000)
	for _, name := range []string{"", "copy.db", "copy.db.zst"} {
		dir := t.TempDir()
		s, recorded := arenaOf(t, text)
		made, err := s.Run(t.Context(), backup.Folder{Dir: dir}, name, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := name
		if name == "" {
			want = "arena-20261124T030000Z.db.zst"
		}
		if diff := cmp.Diff([]string{want}, names(t, dir)); diff != "" {
			t.Errorf("the folder (-want +got):\n%s", diff)
		}
		info, err := os.Stat(filepath.Join(dir, want))
		if err != nil || info.Size() != made.Bytes || info.Mode().Perm() != 0o600 || made.Place != dir+"/"+want {
			t.Errorf("made %+v, the file is %v (%v)", made, info, err)
		}
		if packed := strings.HasSuffix(want, ".zst"); packed != (made.Bytes < int64(len(text))) {
			t.Errorf("%s has %d bytes", want, made.Bytes)
		}
		if !recorded.Equal(start) || made.Rows != 7 || made.Took != time.Minute {
			t.Errorf("recorded %v, made %+v", recorded, made)
		}
		if got, err := restored(t, backup.Folder{Dir: dir}, want); err != nil || got != text {
			t.Errorf("restored %d bytes (%v)", len(got), err)
		}
	}
}

// Of its own files all but the newest go, and no other file does.
func TestService_Run_keep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := []string{"arena-20200101T000000Z.db", "arena-20200101T000000Z.db.zst.old", "arena-x.db.zst", "my-arena-20200101T000000Z.db.zst", "notes"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "arena-20200101T000000Z.db.zst"), 0o700); err != nil {
		t.Fatal(err)
	}
	foreign = append(foreign, "arena-20200101T000000Z.db.zst")
	s, _ := arenaOf(t, "x")
	var removed []string
	for range 4 {
		made, err := s.Run(t.Context(), backup.Folder{Dir: dir}, "", 2)
		if err != nil {
			t.Fatal(err)
		}
		removed = append(removed, made.Removed...)
	}
	want := append(foreign, "arena-20261124T030200Z.db.zst", "arena-20261124T030300Z.db.zst")
	slices.Sort(want)
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"arena-20261124T030000Z.db.zst", "arena-20261124T030100Z.db.zst"}, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if name, err := backup.Latest(t.Context(), backup.Folder{Dir: dir}); err != nil || name != "arena-20261124T030300Z.db.zst" {
		t.Errorf("the latest is %q (%v)", name, err)
	}
	if _, err := backup.Latest(t.Context(), backup.Folder{Dir: t.TempDir()}); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("the latest of none: %v", err)
	}
}

// A backup whose ratings differ is kept under a name with a mark, and displaces none
// without one.
func TestService_Run_differs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now, differs := start, error(nil)
	s := backup.New(backup.Options{
		Snapshot: func(_ context.Context, file string) (backup.Contents, error) {
			now = now.Add(time.Minute)
			return backup.Contents{Differs: differs}, os.WriteFile(file, []byte("x"), 0o600)
		},
		Record: func(context.Context, time.Time) error { return nil },
		Now:    func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
	})
	for i := range 6 {
		if i == 2 {
			differs = errors.New("settlement 2 is missing")
		}
		made, err := s.Run(t.Context(), backup.Folder{Dir: dir}, "", 2)
		if err != nil || !strings.HasPrefix(made.Place, dir) || (made.Differs != nil) != (i >= 2) {
			t.Fatalf("made %+v (%v)", made, err)
		}
	}
	if _, err := s.Run(t.Context(), backup.Folder{Dir: dir}, "named.db", 0); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"arena-20261124T030000Z.db.zst", "arena-20261124T030100Z.db.zst",
		"arena-20261124T030400Z-ratings-differ.db.zst", "arena-20261124T030500Z-ratings-differ.db.zst", "named.db",
	}
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	if name, err := backup.Latest(t.Context(), backup.Folder{Dir: dir}); err != nil || name != want[3] {
		t.Errorf("the latest is %q (%v)", name, err)
	}
}

// A backup that fails leaves the folder as it was, and is not recorded.
func TestService_Run_fails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, _ := arenaOf(t, "good")
	if _, err := good.Run(t.Context(), backup.Folder{Dir: dir}, "copy.db", 0); err != nil {
		t.Fatal(err)
	}
	bad, recorded := arenaOf(t, "")
	for _, name := range []string{"", "copy.db"} {
		if made, err := bad.Run(t.Context(), backup.Folder{Dir: dir}, name, 1); err == nil || !recorded.IsZero() {
			t.Errorf("made %+v, recorded %v", made, recorded)
		}
	}
	if _, err := good.Run(t.Context(), backup.Folder{Dir: dir}, "copy.db", 0); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("in the place of a backup: %v", err)
	}
	if _, err := good.Run(t.Context(), backup.Folder{Dir: filepath.Join(dir, "none")}, "", 0); err == nil || !strings.Contains(err.Error(), "no files can be made in") {
		t.Errorf("in no folder: %v", err)
	}
	if diff := cmp.Diff([]string{"copy.db"}, names(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
}

// What a killed process left is removed a day later, not what another one works on.
func TestService_Run_abandoned(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[a]*")
	for name, at := range map[string]time.Time{".arena-backup-old": start.Add(-25 * time.Hour), ".arena-backup-new": start.Add(-time.Hour), ".other": start.Add(-99 * time.Hour)} {
		folder := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "arena.db"), nil, 0o600), os.Chtimes(folder, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := arenaOf(t, "x")
	if _, err := s.Run(t.Context(), backup.Folder{Dir: dir}, "copy.db", 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".arena-backup-new", ".other", "copy.db"}, names(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
}

// A packed backup that lost or changed bytes is refused.
func TestRestore_damaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := arenaOf(t, fmt.Sprint(slices.Repeat([]int{1, 22, 333}, 9999)))
	if _, err := s.Run(t.Context(), backup.Folder{Dir: dir}, "copy.db.zst", 0); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "copy.db.zst"))
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(whole)
	changed[len(changed)-1] ^= 1 // of the checksum
	for name, data := range map[string][]byte{"short": whole[:len(whole)-9], "changed": changed} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := restored(t, backup.Folder{Dir: dir}, name); arena.CodeOf(err) != arena.CodeInvalid || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := restored(t, backup.Folder{Dir: dir}, "none"); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("no file: %v", err)
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	day := backup.Schedule(func(after time.Time) time.Time { return after.Add(24 * time.Hour) })
	for _, c := range []struct {
		name      string
		last, now time.Time
		due       bool
		overdue   bool
	}{
		{"never", time.Time{}, start.Add(time.Minute), true, true},
		{"just made", start, start.Add(time.Hour), false, false},
		{"not yet", start, start.Add(24*time.Hour - 1), false, false},
		{"due", start.Add(time.Minute), start.Add(24*time.Hour + time.Minute), true, false},
		{"at twice the interval", start, start.Add(48 * time.Hour), true, false},
		{"after twice the interval", start, start.Add(48*time.Hour + 1), true, true},
	} {
		if due := day.Due(c.last, c.now); due != c.due || day.Overdue(c.last, c.now) != c.overdue {
			t.Errorf("%s: due %v, overdue %v", c.name, due, day.Overdue(c.last, c.now))
		}
	}
	for interval, want := range map[time.Duration]time.Duration{10 * time.Minute: 10 * time.Minute, time.Hour: time.Hour, 24 * time.Hour: time.Hour, 0: time.Hour} {
		s := backup.Schedule(func(after time.Time) time.Time { return after.Add(interval) })
		if got := s.Retry(start); got != want {
			t.Errorf("every %s: another attempt after %s, want %s", interval, got, want)
		}
	}
}
