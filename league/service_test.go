package league_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/scoring/sandbox/sandboxtest"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

var (
	admin = arena.Caller{TokenID: "to_admin", Scope: arena.ScopeAdmin}
	alice = arena.Caller{TokenID: "to_alice", OwnerID: "ow_alice", Scope: arena.ScopeOwner}
	bob   = arena.Caller{TokenID: "to_bob", OwnerID: "ow_bob", Scope: arena.ScopeOwner}
)

// office is a service over a real store with the owners Alice and Bob and an
// agent of each.
type office struct {
	t       *testing.T
	store   *store.Store
	service *league.Service
}

// scripts runs games. It is shared: compiling the library of games takes longer than
// most tests.
var scripts = sync.OnceValues(sandboxtest.New)

func officeOptions(t *testing.T, s *store.Store, e *league.Entries) league.ServiceOptions {
	t.Helper()
	runner, err := scripts()
	if err != nil {
		t.Fatal(err)
	}
	games, err := catalog.New(runner, s.Packs)
	if err != nil {
		t.Fatal(err)
	}
	return league.ServiceOptions{
		Store: s, Entries: e, Games: games, Now: func() time.Time { return noon },
		Cheats: func(_ context.Context, _ arena.Settings, tasks []arena.Task) (arena.AuditReport, error) {
			return arena.AuditReport{Cheats: []arena.AuditedCheat{{Name: arena.CheatEcho, Tried: len(tasks), Passed: true}}}, nil
		},
		Document: func(l arena.League) any { return fmt.Sprint(l.Slug, " ", l.Status, " ", l.Title) },
	}
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t}
	ctx, log := t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil))
	var err error
	o.store, err = store.Open(ctx, storetest.SQLite(t), store.Options{Logger: log, Now: func() time.Time { return noon }})
	o.ok(err)
	t.Cleanup(func() { o.ok(o.store.Close()) })
	o.ok(o.store.Migrate(ctx))
	for i, name := range []string{"alice", "bob"} {
		o.ok(o.store.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow_" + name, Name: name, CreatedAt: noon}, arena.Token{
			ID: "to_" + name, OwnerID: "ow_" + name, Scope: arena.ScopeOwner, Hash: [32]byte{byte(i)}, CreatedAt: noon,
		}))
		o.ok(o.store.Agents.CreateAgent(ctx, arena.Agent{ID: "ag_" + name, OwnerID: "ow_" + name, Name: name, Protocol: arena.ProtocolAAP, CreatedAt: noon}))
	}
	e := league.NewEntries(o.store, &tries{}, o.now)
	o.service = league.NewService(officeOptions(t, o.store, e))
	return o
}

func (o *office) now() time.Time { return noon }

func (o *office) ok(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// audited compares the audit log with what is wanted, in any order.
func (o *office) audited(want ...string) {
	o.t.Helper()
	items, _, err := o.store.Operations.AuditLog(o.t.Context(), arena.AuditFilter{}, arena.Page{Limit: 100})
	o.ok(err)
	var got []string
	for _, e := range items {
		got = append(got, fmt.Sprint(e.Actor, " ", e.Action, " ", e.Target, " ", string(e.Before), " ", string(e.After)))
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		o.t.Error(d)
	}
}

// sums is a ladder on a generator.
func sums(change ...func(*arena.League)) arena.League {
	l := arena.League{Slug: "sums", Title: "Sums", Settings: arena.Settings{
		Generator: &arena.GeneratorSpec{Name: "arithmetic"}, Rounds: 3, TimeLimit: time.Second,
	}}
	for _, c := range change {
		c(&l)
	}
	return l
}

func TestService_createAndUpdate(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	l, err := o.service.Create(ctx, admin, sums())
	o.ok(err)
	if l.Status != arena.LeagueOpen || l.Settings.MaxSeats != 2 || l.Settings.Judge.Kind != arena.JudgeNumber || !l.CreatedAt.Equal(noon) {
		t.Errorf("created %+v", l)
	}
	l, err = o.service.Update(ctx, admin, "sums", func(l *arena.League) { l.Title = "More sums" })
	o.ok(err)
	if l.Title != "More sums" || l.Settings.Rounds != 3 {
		t.Errorf("updated %+v", l)
	}
	o.ok(o.store.Packs.CreatePack(ctx, arena.Pack{ID: "pk_0", Name: "empty", Format: "jsonl", CreatedAt: noon}, nil))
	o.ok(o.store.Packs.CreatePack(ctx, arena.Pack{ID: "pk_1", Name: "words", Format: "jsonl", CreatedAt: noon}, []arena.Task{
		{ID: "tk_1", Description: "2+2?", Answers: []string{"four"}, InputFormat: "string", OutputFormat: "string"},
	}))
	onPack := func(id, judge string) func(*arena.League) {
		return func(l *arena.League) {
			l.Slug, l.Settings.Generator, l.Settings.PackID, l.Settings.Judge.Kind = "other", nil, id, judge
		}
	}
	for name, c := range map[string]struct {
		caller arena.Caller
		change func(*arena.League)
		code   arena.Code
		field  string
	}{
		"an owner":         {alice, func(l *arena.League) { l.Slug = "other" }, arena.CodeForbidden, ""},
		"slug taken":       {admin, func(*arena.League) {}, arena.CodeNameTaken, ""},
		"title":            {admin, func(l *arena.League) { l.Title = "two\nlines" }, arena.CodeInvalid, "title"},
		"description":      {admin, func(l *arena.League) { l.Description = strings.Repeat("x", 2001) }, arena.CodeInvalid, "description"},
		"prize":            {admin, func(l *arena.League) { l.Prize = "two\nlines" }, arena.CodeInvalid, "prize"},
		"rules text":       {admin, func(l *arena.League) { l.RulesText = "be \u202e" }, arena.CodeInvalid, "rules_text"},
		"rules":            {admin, func(l *arena.League) { l.Settings.Rules = []string{"be \u202e"} }, arena.CodeInvalid, "rules"},
		"settings":         {admin, func(l *arena.League) { l.Settings.TimeLimit = 0 }, arena.CodeInvalid, "time_limit_seconds"},
		"schedule":         {admin, func(l *arena.League) { l.Schedule = "never" }, arena.CodeInvalid, "schedule"},
		"no such pack":     {admin, onPack("pk_none", arena.JudgeExact), arena.CodeInvalid, "pack_id"},
		"empty pack":       {admin, onPack("pk_0", arena.JudgeExact), arena.CodeInvalid, "pack_id"},
		"cannot be judged": {admin, onPack("pk_1", arena.JudgeNumber), arena.CodeInvalid, "judge"},
	} {
		_, err := o.service.Create(ctx, c.caller, sums(c.change))
		if arena.CodeOf(err) != c.code || c.field != "" && !strings.Contains(err.Error(), c.field+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = o.service.Create(ctx, admin, sums(onPack("pk_1", arena.JudgeExact)))
	o.ok(err)
	for want, err := range map[arena.Code]error{
		arena.CodeForbidden: second(o.service.Update(ctx, alice, "sums", func(*arena.League) {})),
		arena.CodeNotFound:  second(o.service.Update(ctx, admin, "none", func(*arena.League) {})),
		arena.CodeInvalid:   second(o.service.Update(ctx, admin, "sums", func(l *arena.League) { l.Settings.Rounds = -1 })),
	} {
		if arena.CodeOf(err) != want {
			t.Errorf("update, want %s: %v", want, err)
		}
	}
	o.audited(`admin create-league sums  "sums open Sums"`, `admin update-league sums "sums open Sums" "sums open More sums"`,
		`admin create-league other  "other open Sums"`)
	_, err = o.service.Act(ctx, admin, "sums", arena.FinishLeague)
	o.ok(err)
	if _, err := o.service.Update(ctx, admin, "sums", func(*arena.League) {}); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("update of a finished league: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// Every action from every state: the table of transitions and nothing else.
func TestService_Act(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	_, err := o.service.Create(ctx, admin, sums())
	o.ok(err)
	want := map[arena.LeagueStatus]map[arena.LeagueAction]arena.LeagueStatus{
		"draft":    {"open": "open"},
		"open":     {"start": "running", "start-now": "running", "finish": "finished"},
		"running":  {"pause": "paused", "freeze": "frozen", "finish": "finished"},
		"paused":   {"resume": "running", "finish": "finished"},
		"frozen":   {"pause": "paused", "resume": "running", "finish": "finished"},
		"finished": {"open": "open"},
	}
	log := []string{`admin create-league sums  "sums open Sums"`}
	for from, acts := range want {
		for _, action := range []arena.LeagueAction{"open", "start", "start-now", "pause", "resume", "freeze", "finish", "delete"} {
			_, err := o.store.Leagues.UpdateLeague(ctx, "sums", func(l *arena.League) error { l.Status = from; return nil })
			o.ok(err)
			l, err := o.service.Act(ctx, admin, "sums", action)
			switch to, allowed := acts[action]; {
			case allowed && (err != nil || l.Status != to):
				t.Errorf("%s %s: %v, %s, want %s", from, action, err, l.Status, to)
			case allowed:
				log = append(log, fmt.Sprintf(`admin %s-league sums %q %q`, action, from, to))
			case action == "delete" && arena.CodeOf(err) != arena.CodeInvalid, action != "delete" && arena.CodeOf(err) != arena.CodeConflict:
				t.Errorf("%s %s: %v", from, action, err)
			}
		}
	}
	o.audited(log...)
	if _, err := o.service.Act(ctx, alice, "sums", arena.OpenLeague); arena.CodeOf(err) != arena.CodeForbidden {
		t.Errorf("by an owner: %v", err)
	}
	if _, err := o.service.Act(ctx, admin, "none", arena.OpenLeague); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("of no league: %v", err)
	}
}

// An archived league does nothing until it is unarchived, in the state that it had.
func TestService_archive(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	_, err := o.service.Create(ctx, admin, sums())
	o.ok(err)
	_, err = o.service.Act(ctx, admin, "sums", arena.StartLeague)
	o.ok(err)
	if _, err := o.service.Act(ctx, admin, "sums", arena.UnarchiveLeague); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("not archived: %v", err)
	}
	l, err := o.service.Act(ctx, admin, "sums", arena.ArchiveLeague)
	o.ok(err)
	if !l.ArchivedAt.Equal(noon) || l.Status != arena.LeagueRunning || len(arena.ListedLeagues([]arena.League{l})) != 0 {
		t.Errorf("archived %+v", l)
	}
	for _, action := range []arena.LeagueAction{arena.ArchiveLeague, arena.PauseLeague, arena.FinishLeague} {
		if _, err := o.service.Act(ctx, admin, "sums", action); arena.CodeOf(err) != arena.CodeConflict || !strings.Contains(err.Error(), "archived") {
			t.Errorf("%s of an archived league: %v", action, err)
		}
	}
	if err := o.service.Enter(ctx, alice, "sums", "ag_alice", ""); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("entry to an archived league: %v", err)
	}
	l, err = o.service.Act(ctx, admin, "sums", arena.UnarchiveLeague)
	o.ok(err)
	if !l.ArchivedAt.IsZero() || l.Status != arena.LeagueRunning {
		t.Errorf("unarchived %+v", l)
	}
	o.audited(`admin create-league sums  "sums open Sums"`, `admin start-league sums "open" "running"`,
		`admin archive-league sums "running" "running"`, `admin unarchive-league sums "running" "running"`)
}

// The audit entry commits with the deletion, and neither happens for a league
// that has had a match.
func TestService_Delete(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	_, err := o.service.Create(ctx, admin, sums())
	o.ok(err)
	o.ok(o.service.Enter(ctx, alice, "sums", "ag_alice", ""))
	_, err = o.service.Create(ctx, admin, sums(func(l *arena.League) { l.Slug = "played" }))
	o.ok(err)
	m := arena.Match{ID: "m_1", League: "played", Status: arena.MatchScheduled, CreatedAt: noon, StartsAt: noon, Seats: []arena.Seat{{AgentID: "ag_alice"}, {No: 1, AgentID: "ag_bob"}}}
	first, err := m.VoidEvent(noon, arena.OperatorReason("x"))
	o.ok(err)
	_, err = o.store.Matches.CreateMatch(ctx, m, first)
	o.ok(err)
	for name, c := range map[string]struct {
		caller arena.Caller
		slug   string
		want   arena.Code
	}{
		"an owner":  {alice, "sums", arena.CodeForbidden},
		"no league": {admin, "none", arena.CodeNotFound},
		"a match":   {admin, "played", arena.CodeConflict},
	} {
		if err := o.service.Delete(ctx, c.caller, c.slug); arena.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.ok(o.service.Delete(ctx, admin, "sums"))
	if _, err := o.store.Leagues.League(ctx, "sums"); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("deleted league: %v", err)
	}
	if a, err := o.store.Agents.Agent(ctx, "ag_alice"); err != nil || len(a.Leagues) != 0 {
		t.Errorf("its agent: %v, %v", a.Leagues, err)
	}
	o.audited(`admin create-league sums  "sums open Sums"`, `admin create-league played  "played open Sums"`,
		`ow_alice enter-league sums  "ag_alice"`, `admin delete-league sums "sums open Sums" `)
}

func TestService_entries(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	_, err := o.service.Create(ctx, admin, sums(func(l *arena.League) { l.Entry.PasswordHash = arena.HashPassword("salt", "sesame") }))
	o.ok(err)
	for name, c := range map[string]struct {
		err  error
		want arena.Code
	}{
		"another's agent":   {o.service.Enter(ctx, bob, "sums", "ag_alice", "sesame"), arena.CodeNotFound},
		"no such agent":     {o.service.Enter(ctx, alice, "sums", "ag_none", "sesame"), arena.CodeNotFound},
		"no such league":    {o.service.Enter(ctx, alice, "none", "ag_alice", "sesame"), arena.CodeNotFound},
		"no password":       {o.service.Enter(ctx, alice, "sums", "ag_alice", ""), arena.CodeForbidden},
		"not in the league": {o.service.Withdraw(ctx, alice, "sums", "ag_alice"), arena.CodeNotFound},
		"leaves another's":  {o.service.Withdraw(ctx, bob, "sums", "ag_alice"), arena.CodeNotFound},
	} {
		if arena.CodeOf(c.err) != c.want {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	o.ok(o.service.Enter(ctx, alice, "sums", "ag_alice", "sesame"))
	o.ok(o.service.Enter(ctx, alice, "sums", "ag_alice", "")) // is in it already
	o.ok(o.service.Enter(ctx, admin, "sums", "ag_bob", "sesame"))
	o.ok(o.service.Withdraw(ctx, alice, "sums", "ag_alice"))
	o.audited(`admin create-league sums  "sums open Sums"`, `ow_alice enter-league sums  "ag_alice"`, `admin enter-league sums  "ag_bob"`,
		`ow_alice withdraw-from-league sums "ag_alice" `)
	_, _, err = o.store.Agents.UpdateAgent(ctx, "ag_alice", func(g *arena.Agent) error { g.RetiredAt = noon; return nil })
	o.ok(err)
	if err := o.service.Enter(ctx, alice, "sums", "ag_alice", "sesame"); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("a retired agent: %v", err)
	}
}
