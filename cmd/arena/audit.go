package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
)

// AuditCmd is `arena audit`.
type AuditCmd struct {
	League string `arg:"" placeholder:"LEAGUE" help:"The slug of a league of questions."`
	URL    string `name:"url" placeholder:"URL" help:"The arena (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
	Token  string `placeholder:"TOKEN" help:"Token of an admin or of the league's organizer (ARENA_ADMIN_TOKEN, or the content of ARENA_ADMIN_TOKEN_FILE, else the token of arena login)."`
	JSON   bool   `name:"json" help:"Print the report as one JSON object."`
}

// Help shows the command at work.
func (c *AuditCmd) Help() string {
	return `The arena makes a copy of the league, on which eight cheats play: silence, a constant, the
first option, an echo of the question, an injection, a copier of everything public, clones
that lose on purpose, and answers after the limit. It compares each with chance, looks for
answers that the text of the questions gives away, and publishes the report on the page of
the league. No match and no rating of the league changes. It takes less than a minute; a
language model that judges is asked 40 times. Exits with 1 if a cheat succeeded or
something was found.

    arena audit trivia --url https://arena.example`
}

// Run has the league audited and prints the report.
func (c *AuditCmd) Run(app *App) error {
	var r arena.AuditReport
	admin := AdminCmd{URL: c.URL, Token: c.Token}
	if err := admin.fetch(app, http.MethodPost, "/v1/leagues/"+url.PathEscape(c.League)+"/audit", nil, &r); err != nil {
		return err
	}
	show := func() error { return printAudit(app.Stdout, r) }
	if c.JSON {
		show = func() error { return app.JSON(r) }
	}
	if err := show(); err != nil {
		return err
	}
	succeeded := 0
	for _, cheat := range r.Cheats {
		if cheat.Tried > 0 && !cheat.Passed {
			succeeded++
		}
	}
	if succeeded+len(r.Findings) > 0 {
		return fmt.Errorf("cheats that got more than chance gives: %d; findings: %d", succeeded, len(r.Findings))
	}
	return nil
}

// printAudit writes a report as tables.
func printAudit(w io.Writer, r arena.AuditReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) error {
		_, err := fmt.Fprintf(t, format+"\n", args...)
		return err
	}
	name := func(s string) string { return plaintext.Terminal(strings.ReplaceAll(s, "_", " ")) }
	err := line("CHEAT\tTRIED\tSHARE\t95 %% INTERVAL\tCHANCE\tRESULT")
	for _, c := range r.Cheats {
		switch {
		case c.Tried == 0:
			err = errors.Join(err, line("%s\t0\t\t\t\tnot tried: needs the judge", name(c.Name)))
		default:
			result := "at chance"
			if !c.Passed {
				result = "SUCCEEDED"
			}
			err = errors.Join(err, line("%s\t%d\t%.0f %%\t%.0f–%.0f %%\t%.0f %%\t%s", name(c.Name), c.Tried, 100*c.Share, 100*c.Low, 100*c.High, 100*c.Chance, result))
		}
	}
	if len(r.Opponents) > 0 {
		err = errors.Join(err, t.Flush(), line("\nBUILT-IN OPPONENT\tTRIED\tSHARE\t95 %% INTERVAL"))
	}
	for _, o := range r.Opponents {
		err = errors.Join(err, line("%s\t%d\t%.0f %%\t%.0f–%.0f %%", name(o.Name), o.Tried, 100*o.Share, 100*o.Low, 100*o.High))
	}
	if len(r.Findings) > 0 {
		err = errors.Join(err, t.Flush(), line("\nFOUND\tQUESTIONS\tOF\tCHANCE\tNUMBERS"))
	}
	for _, f := range r.Findings {
		numbers := strings.Trim(fmt.Sprint(f.Numbers), "[]")
		err = errors.Join(err, line("%s\t%d\t%d\t%.0f %%\t%s", name(f.Kind), f.Tasks, f.Of, 100*f.Chance, numbers))
	}
	return errors.Join(err, t.Flush())
}
