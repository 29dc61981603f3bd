package league_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
)

func TestService_ImportPack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	const good, bad = `{"description":"2+2?","answer":"4","input_format":"string","output_format":"number"}`, `{"description":`
	file := func(lines ...string) arena.PackImport {
		return arena.PackImport{Name: "sums", Format: "jsonl", Data: []byte(strings.Join(lines, "\n"))}
	}
	partly := file(good, bad)
	partly.SkipBad = true
	p, found, err := o.service.ImportPack(ctx, admin, partly)
	o.ok(err)
	skipped := found.Skipped
	if kept, err := o.store.Packs.Pack(ctx, p.ID); err != nil || kept != p || p.Tasks != 1 || len(skipped) != 1 || skipped[0].Line != 2 {
		t.Errorf("%+v, skipped %+v, %v", p, skipped, err)
	}
	unnamed, nameless, none := file(good), file(good), file(bad)
	unnamed.Name, nameless.Name, none.SkipBad = "", "two\nlines", true
	for name, c := range map[string]struct {
		caller arena.Caller
		in     arena.PackImport
		want   arena.Code
	}{
		"an owner":      {alice, file(good), arena.CodeForbidden},
		"no name":       {admin, unnamed, arena.CodeInvalid},
		"name":          {admin, nameless, arena.CodeInvalid},
		"a bad entry":   {admin, file(good, bad), arena.CodePackInvalid},
		"no good entry": {admin, none, arena.CodePackInvalid},
		"empty":         {admin, file(""), arena.CodePackInvalid},
	} {
		if _, _, err := o.service.ImportPack(ctx, c.caller, c.in); arena.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.audited("admin create-pack " + p.ID + `  {"name":"sums","tasks":1}`)
}

func TestService_EditTask(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	o.ok(o.store.Packs.CreatePack(ctx, arena.Pack{ID: "pk_1", Name: "sums", Format: "jsonl", CreatedAt: noon}, []arena.Task{
		{Description: "2+2?", Answers: []string{"5"}, MaxTokens: 9}, {Description: "3+3?", Answers: []string{"6"}},
	}))
	_, err := o.service.Create(ctx, admin, sums(func(l *arena.League) {
		l.Settings.Generator, l.Settings.PackID, l.Settings.Judge.Kind = nil, "pk_1", arena.JudgeNumber
	}))
	o.ok(err)
	four, word := arena.TaskEdit{Answers: &[]string{"4"}}, arena.TaskEdit{Answers: &[]string{"four"}}
	for name, c := range map[string]struct {
		caller arena.Caller
		edit   arena.TaskEdit
		want   arena.Code
		says   string
	}{
		"an owner":            {alice, four, arena.CodeForbidden, ""},
		"no change":           {admin, arena.TaskEdit{}, arena.CodeConflict, ""},
		"judge cannot use it": {admin, word, arena.CodeInvalid, "the judge number of league sums"},
		"limit":               {admin, arena.TaskEdit{Topic: new(strings.Repeat("x", 129))}, arena.CodeInvalid, "128"},
	} {
		_, err := o.service.EditTask(ctx, c.caller, "pk_1", 0, c.edit)
		e, _ := errors.AsType[*arena.Error](err)
		if arena.CodeOf(err) != c.want || !strings.Contains(fmt.Sprint(e.Fields), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	task, err := o.service.EditTask(ctx, admin, "pk_1", 0, four)
	o.ok(err)
	want := arena.PackTask{N: 2, Task: arena.Task{Description: "2+2?", Answers: []string{"4"}, MaxTokens: 9}}
	if d := cmp.Diff(want, task); d != "" {
		t.Error(d)
	}
	_, err = o.service.Act(ctx, admin, "sums", arena.FinishLeague)
	o.ok(err)
	_, err = o.service.EditTask(ctx, admin, "pk_1", 2, word) // no league is left that asks it
	o.ok(err)
	if _, err = o.service.RenamePack(ctx, alice, "pk_1", "x"); arena.CodeOf(err) != arena.CodeForbidden {
		t.Errorf("an owner: %v", err)
	}
	for _, name := range []string{"", "two\nlines", strings.Repeat("x", 81)} {
		if _, err = o.service.RenamePack(ctx, admin, "pk_1", name); arena.CodeOf(err) != arena.CodeInvalid {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, err = o.service.RenamePack(ctx, admin, "pk_1", "Words")
	o.ok(err)
	entries, _, err := o.store.Operations.AuditLog(ctx, arena.AuditFilter{Find: "pk_1"}, arena.Page{Limit: 9})
	o.ok(err)
	var log []string
	for _, e := range entries {
		log = append(log, fmt.Sprintf("%s %s %s", e.Action, e.Before, e.After))
	}
	slices.Sort(log)
	if d := cmp.Diff([]string{
		`edit-task {"task":0,"description":"2+2?","answer":["5"]} {"task":2,"description":"2+2?","answer":["4"]}`,
		`edit-task {"task":2,"description":"2+2?","answer":["4"]} {"task":3,"description":"2+2?","answer":["four"]}`,
		`rename-pack "sums" "Words"`,
	}, log); d != "" {
		t.Error(d)
	}
}

func TestService_CheckPack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	file := func(data string) arena.PackImport {
		return arena.PackImport{Format: "auto", Map: "description=q,answer=a", Data: []byte(data)}
	}
	found, problem, err := o.service.CheckPack(admin, file("q,a\n2+2?,4\n,5\n"))
	if err != nil || problem != "" || found.Format != "csv" || len(found.Tasks) != 1 || len(found.Skipped) != 1 {
		t.Errorf("%+v, %q, %v", found, problem, err)
	}
	if found, problem, err = o.service.CheckPack(admin, file("Frage,a\nq,a")); err != nil || !strings.Contains(problem, `"q" is not known`) || len(found.Names) != 2 {
		t.Errorf("%+v, %q, %v", found, problem, err)
	}
	if _, _, err = o.service.CheckPack(alice, file("q,a\n1,2")); arena.CodeOf(err) != arena.CodeForbidden {
		t.Errorf("an owner: %v", err)
	}
	if _, _, err = o.service.CheckPack(admin, arena.PackImport{Format: "docx", Data: []byte("x")}); arena.CodeOf(err) != arena.CodeUnsupported {
		t.Errorf("unknown format: %v", err)
	}
	o.audited()
}

func TestService_AddGame(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ctx := t.Context()
	options := officeOptions(t, o.store, &league.Entries{})
	now := noon
	options.Now = func() time.Time { now = now.Add(time.Second); return now } // which ends the check after a few games
	service := league.NewService(options)
	source, err := os.ReadFile("../examples/games/nim.js")
	o.ok(err)
	nim := string(source)
	g, err := service.AddGame(ctx, admin, nim)
	o.ok(err)
	again, err := service.AddGame(ctx, admin, nim)
	o.ok(err)
	if g.Name != "nim" || g.CreatedBy != "admin" || g.CreatedAt.Before(noon) || again.SHA256 != g.SHA256 || !again.CreatedAt.Equal(g.CreatedAt) {
		t.Errorf("%+v, again %+v", g, again)
	}
	if _, err := service.AddGame(ctx, admin, "bad game"); arena.CodeOf(err) != arena.CodeInvalid {
		t.Errorf("a bad game: %v", err)
	}
	if _, err := service.AddGame(ctx, arena.Caller{OwnerID: "ow_1", Scope: arena.ScopeOwner}, nim); arena.CodeOf(err) != arena.CodeForbidden {
		t.Errorf("of an owner: %v", err)
	}
	entries, _, err := o.store.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 10})
	o.ok(err)
	n := 0
	for _, e := range entries {
		if e.Action == "create-game" && e.Target == "nim" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d audit entries", n)
	}
}
