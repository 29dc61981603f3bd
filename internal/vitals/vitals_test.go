package vitals

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Each fact changes its level exactly at its threshold.
func TestService_Facts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	due := func(wait time.Duration) arena.Operations {
		return arena.Operations{Queue: arena.Queue{Due: 3, Oldest: ago(wait)}}
	}
	node := func(n arena.Node) arena.Operations {
		return arena.Operations{Nodes: []arena.Node{{Alive: true}, n}}
	}
	overdue := func(last, now time.Time) bool { return now.Sub(last) > 48*time.Hour }
	for name, c := range map[string]struct {
		change func(*Options)
		state  arena.Operations
		want   Fact
	}{
		"the database works":              {nil, arena.Operations{}, Fact{Name: Database, Level: OK}},
		"it refuses writes":               {func(o *Options) { o.Database = func(context.Context) error { return errors.New("full") } }, arena.Operations{}, Fact{Name: Database, Level: Critical}},
		"it failed":                       {func(o *Options) { o.LastFailure = func() time.Time { return ago(recently - 1) } }, arena.Operations{}, Fact{Name: Database, Level: Warning, At: ago(recently - 1)}},
		"it failed long ago":              {func(o *Options) { o.LastFailure = func() time.Time { return ago(recently) } }, arena.Operations{}, Fact{Name: Database, Level: OK, At: ago(recently)}},
		"no backups are scheduled":        {nil, arena.Operations{}, Fact{Name: Backup, Level: Warning, At: ago(time.Hour)}},
		"backups are made":                {func(o *Options) { o.Overdue = overdue }, arena.Operations{}, Fact{Name: Backup, Level: OK, At: ago(time.Hour)}},
		"backups fail":                    {func(o *Options) { o.Overdue = func(_, _ time.Time) bool { return true } }, arena.Operations{}, Fact{Name: Backup, Level: Critical, At: ago(time.Hour)}},
		"the certificate lasts":           {func(o *Options) { o.Expires = func() time.Time { return now.Add(certificateSoon) } }, arena.Operations{}, Fact{Name: Certificate, Level: OK, At: now.Add(certificateSoon)}},
		"it was not renewed":              {func(o *Options) { o.Expires = func() time.Time { return now.Add(certificateSoon - 1) } }, arena.Operations{}, Fact{Name: Certificate, Level: Warning, At: now.Add(certificateSoon - 1)}},
		"it ends soon":                    {func(o *Options) { o.Expires = func() time.Time { return now.Add(certificateLast - 1) } }, arena.Operations{}, Fact{Name: Certificate, Level: Critical, At: now.Add(certificateLast - 1)}},
		"there is none":                   {func(o *Options) { o.Expires = func() time.Time { return time.Time{} } }, arena.Operations{}, Fact{Name: Certificate, Level: Critical}},
		"agents are within reach":         {nil, arena.Operations{}, Fact{Name: Network, Level: OK}},
		"the node is cut off":             {func(o *Options) { o.CutOff = func() bool { return true } }, arena.Operations{}, Fact{Name: Network, Level: Critical}},
		"Redis is unavailable":            {func(o *Options) { o.Redis = func() bool { return false } }, arena.Operations{}, Fact{Name: Redis, Level: Warning}},
		"Redis is there":                  {func(o *Options) { o.Redis = func() bool { return true } }, arena.Operations{}, Fact{Name: Redis, Level: OK}},
		"a node has just died":            {nil, node(arena.Node{SeenAt: ago(missed - 1)}), Fact{Name: Nodes, Level: Warning, Value: 1, Of: 2}},
		"a node died long ago":            {nil, node(arena.Node{SeenAt: ago(missed)}), Fact{Name: Nodes, Level: OK, Value: 1, Of: 1}},
		"it still has a match":            {nil, node(arena.Node{SeenAt: ago(missed), Matches: 1}), Fact{Name: Nodes, Level: Warning, Value: 1, Of: 2}},
		"a node left in good order":       {nil, node(arena.Node{SeenAt: ago(time.Second), Draining: true}), Fact{Name: Nodes, Level: OK, Value: 1, Of: 1}},
		"a node drains":                   {nil, node(arena.Node{Alive: true, Draining: true}), Fact{Name: Nodes, Level: OK, Value: 2, Of: 2}},
		"a proxy is not declared":         {func(o *Options) { o.Proxy = func() (string, time.Time, bool) { return "192.0.2.9", ago(1), true } }, arena.Operations{}, Fact{Name: Proxy, Level: Warning, Subject: "192.0.2.9", At: ago(1)}},
		"none is undeclared":              {func(o *Options) { o.Proxy = func() (string, time.Time, bool) { return "", time.Time{}, false } }, arena.Operations{}, Fact{Name: Proxy, Level: OK}},
		"no match is due":                 {nil, arena.Operations{}, Fact{Name: Queue, Level: OK}},
		"a match has just become due":     {nil, due(queueSlow - 1), Fact{Name: Queue, Level: OK, Value: 3, At: ago(queueSlow - 1)}},
		"a match waits":                   {nil, due(queueSlow), Fact{Name: Queue, Level: Warning, Value: 3, At: ago(queueSlow)}},
		"the schedule ticks":              {func(o *Options) { o.TickAge = func() time.Duration { return TickSilence - 1 } }, arena.Operations{}, Fact{Name: Schedule, Level: OK}},
		"it is silent":                    {func(o *Options) { o.TickAge = func() time.Duration { return TickSilence } }, arena.Operations{}, Fact{Name: Schedule, Level: Warning, At: ago(TickSilence)}},
		"a match has waited far too long": {nil, due(queueStuck), Fact{Name: Queue, Level: Critical, Value: 3, At: ago(queueStuck)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{
				Database: func(context.Context) error { return nil }, LastFailure: func() time.Time { return time.Time{} },
				LastBackup: func(context.Context) (time.Time, error) { return ago(time.Hour), nil },
				CutOff:     func() bool { return false }, TickAge: func() time.Duration { return 0 }, Now: func() time.Time { return now },
			}
			if c.change != nil {
				c.change(&o)
			}
			s := New(o)
			facts, err := s.Facts(t.Context(), c.state)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range facts {
				if f.Name == c.want.Name {
					if f != c.want {
						t.Errorf("got %+v, want %+v", f, c.want)
					}
					return
				}
			}
			t.Errorf("nothing about %s in %+v", c.want.Name, facts)
		})
	}
}

// What an arena does not have is not spoken of.
func TestService_Facts_missing(t *testing.T) {
	t.Parallel()
	s := New(Options{
		Database: func(context.Context) error { return nil }, LastFailure: func() time.Time { return time.Time{} },
		LastBackup: func(context.Context) (time.Time, error) { return time.Time{}, nil },
		CutOff:     func() bool { return false }, TickAge: func() time.Duration { return 0 }, Folders: []string{t.TempDir(), "/nowhere/at/all"}, Now: time.Now,
	})
	facts, err := s.Facts(t.Context(), arena.Operations{})
	if err != nil {
		t.Fatal(err)
	}
	var names []Name
	for _, f := range facts {
		names = append(names, f.Name)
		if f.Name == Disk && (f.Value <= 0 || f.Value > f.Of) {
			t.Errorf("%v of %v bytes are free", f.Value, f.Of)
		}
	}
	want := []Name{Database, Disk, Backup, Network, Nodes, Queue, Schedule}
	if len(names) != len(want) {
		t.Fatalf("got %v, want %v", names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("got %v, want %v", names, want)
		}
	}
}

func TestDiskLevel(t *testing.T) {
	t.Parallel()
	for free, want := range map[uint64]Level{0: Critical, 49: Critical, 50: Warning, 199: Warning, 200: OK, 1000: OK} {
		if got := diskLevel(free, 1000); got != want {
			t.Errorf("%d of 1000: got %s, want %s", free, got, want)
		}
	}
}
