package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/mail/mailtest"
)

// A person confirms an address, loses its token, gets another one by mail, and is
// written to when the arena pauses its agent: over a real SMTP server. Threat A7.
func TestMail_real(t *testing.T) {
	t.Parallel()
	smtp := mailtest.Start(t, mailtest.Options{Password: "right"})
	s := newTestServer(t, fmt.Sprintf("ARENA_SMTP=smtp://arena@127.0.0.1:%d", smtp.Port), "ARENA_SMTP_PASSWORD=right", "ARENA_MAIL_FROM=Arena <arena@example.org>")
	if problems := s.cfg.CheckServices(t.Context()); problems != nil {
		t.Error(problems)
	}
	call := func(method, path, token, body string, status int, into any) {
		t.Helper()
		w := request(t, s, method, path, token, body)
		if w.Code != status {
			t.Fatalf("%s %s: %d, want %d: %s", method, path, w.Code, status, w.Body)
		}
		if into != nil {
			must(t, json.Unmarshal(w.Body.Bytes(), into))
		}
	}
	delivered := func() int {
		t.Helper()
		must(t, s.mailer.Deliver(t.Context()))
		return len(smtp.Mails)
	}
	link := regexp.MustCompile(regexp.QuoteMeta(s.URL()) + `/console/(confirm|reset)#(arm_[0-9A-Za-z_-]{43})\n`)
	read := func(to string) (subject, text string) {
		t.Helper()
		must(t, s.mailer.Deliver(t.Context()))
		m := <-smtp.Mails
		if len(m.To) != 1 || m.To[0] != to {
			t.Errorf("to %v, want %s", m.To, to)
		}
		_, subject, text = m.Read(t)
		return subject, text
	}
	secret := func(text, page string) string {
		t.Helper()
		found := link.FindStringSubmatch(text)
		if found == nil || found[1] != page {
			t.Fatalf("no link to %s in:\n%s", page, text)
		}
		return `{"secret":"` + found[2] + `"}`
	}
	type me struct {
		Name, Email      string
		EmailConfirmedAt string `json:"email_confirmed_at"`
		MailPauses       *bool  `json:"mail_pauses"`
	}

	var ways struct{ Mail bool }
	if call("GET", "/v1/signin", "", "", 200, &ways); !ways.Mail {
		t.Error("no page offers mails")
	}
	var kim struct {
		OwnerID string `json:"owner_id"`
		Token   string
	}
	call("POST", "/v1/owners", "", `{"name":"Kim","email":"kim@example.org"}`, 201, &kim)
	_, text := read("kim@example.org")

	// Before the confirmation the address opens nothing; the answer is the same.
	call("POST", "/v1/resets", "", `{"email":"kim@example.org"}`, 202, nil)
	call("POST", "/v1/resets", "", `{"email":"nobody@example.org"}`, 202, nil)
	if n := delivered(); n != 0 {
		t.Errorf("%d mails to addresses that nobody has confirmed", n)
	}
	confirm := secret(text, "confirm")
	call("POST", "/v1/resets/use", "", confirm, 404, nil)
	call("POST", "/v1/confirmations", "", confirm, 204, nil)
	call("POST", "/v1/confirmations", "", confirm, 404, nil)
	call("POST", "/v1/me/confirmation", kim.Token, "", 409, nil)
	var who me
	if call("GET", "/v1/me", kim.Token, "", 200, &who); who.EmailConfirmedAt == "" || who.MailPauses == nil || !*who.MailPauses {
		t.Errorf("%+v", who)
	}

	call("POST", "/v1/resets", "", `{"email":"KIM@example.org"}`, 202, nil)
	_, text = read("kim@example.org")
	reset := secret(text, "reset")
	var fresh struct {
		Token, Name string
		Revoked     int
	}
	call("POST", "/v1/resets/use", "", reset, 201, &fresh)
	call("POST", "/v1/resets/use", "", reset, 404, nil)
	if fresh.Name != "Kim" || fresh.Revoked != 1 {
		t.Errorf("%+v", fresh)
	}
	call("GET", "/v1/me", kim.Token, "", 401, nil)
	kim.Token = fresh.Token

	// A pause by the owner sends no mail; one by the arena does, once a day.
	var ant, bee struct {
		AgentID string `json:"agent_id"`
	}
	call("POST", "/v1/agents", kim.Token, `{"name":"Ant","endpoint":"http://127.0.0.1:9/ant"}`, 201, &ant)
	call("POST", "/v1/agents", kim.Token, `{"name":"Bee","endpoint":"http://127.0.0.1:9/bee"}`, 201, &bee)
	call("POST", "/v1/agents/"+ant.AgentID+"/pause", kim.Token, "", 200, nil)
	if n := delivered(); n != 0 {
		t.Errorf("%d mails about the owner's own pause", n)
	}
	call("POST", "/v1/agents/"+ant.AgentID+"/pause", testAdmin, "", 200, nil)
	subject, text := read("kim@example.org")
	if subject != "Your agent Ant is paused" || !strings.Contains(text, "an admin or a moderator paused it") || !strings.Contains(text, s.URL()+"/console/agents/"+ant.AgentID+"\n") {
		t.Errorf("%s\n%s", subject, text)
	}
	call("POST", "/v1/agents/"+ant.AgentID+"/resume", testAdmin, "", 200, nil)
	call("POST", "/v1/agents/"+ant.AgentID+"/pause", testAdmin, "", 200, nil)
	if n := delivered(); n != 0 {
		t.Errorf("%d more mails on the same day", n)
	}
	call("PATCH", "/v1/me", kim.Token, `{"mail_pauses":false}`, 200, &who)
	call("POST", "/v1/agents/"+bee.AgentID+"/pause", testAdmin, "", 200, nil)
	if n := delivered(); n != 0 || *who.MailPauses || who.EmailConfirmedAt == "" {
		t.Errorf("%d mails to an owner that wants none: %+v", n, who)
	}

	// Another address is another one to confirm, and the old one opens nothing.
	who = me{}
	call("PATCH", "/v1/me", kim.Token, `{"email":"new@example.org"}`, 200, &who)
	if who.Email != "new@example.org" || who.EmailConfirmedAt != "" {
		t.Errorf("%+v", who)
	}
	_, text = read("new@example.org")
	call("POST", "/v1/resets", "", `{"email":"kim@example.org"}`, 202, nil)
	call("DELETE", "/v1/me?confirm="+url.QueryEscape("Kim"), kim.Token, "", 200, nil)
	call("POST", "/v1/confirmations", "", secret(text, "confirm"), 404, nil)
	if n := delivered(); n != 0 {
		t.Errorf("%d mails after the deletion", n)
	}
}

// Wrong settings are named; an SMTP server that is away or refuses does not keep the
// arena from running.
func TestConfig_mail(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]string{
		"ARENA_SMTP=http://mail.example.org ARENA_MAIL_FROM=a@example.org":                  "ARENA_SMTP: needs the form smtp:// or smtps://host",
		"ARENA_SMTP=smtp://a:hidden@mail.example.org ARENA_MAIL_FROM=a@example.org":         "ARENA_SMTP: must not hold the password",
		"ARENA_SMTP=smtp://mail.example.org/x ARENA_MAIL_FROM=a@example.org":                "ARENA_SMTP: may hold",
		"ARENA_SMTP=smtp://mail.example.org":                                                "ARENA_MAIL_FROM: must be set",
		"ARENA_SMTP=smtp://mail.example.org ARENA_MAIL_FROM=arena":                          "ARENA_MAIL_FROM: \"arena\" is not an address",
		"ARENA_SMTP=smtp://a@mail.example.org ARENA_MAIL_FROM=a@example.org":                "ARENA_SMTP_PASSWORD: must be set",
		"ARENA_SMTP=smtp://mail.example.org ARENA_MAIL_FROM=a@b ARENA_SMTP_PASSWORD=hidden": "ARENA_SMTP_PASSWORD: must be set",
		"ARENA_MAIL_FROM=a@example.org":                                                     "ARENA_SMTP: must be set",
	} {
		_, err := Load(Sources{Environ: strings.Fields(environ)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, want %s", environ, err, want)
		}
	}

	smtp := mailtest.Start(t, mailtest.Options{Password: "right"})
	for address, want := range map[string]string{fmt.Sprintf("smtp://arena@127.0.0.1:%d", smtp.Port): "535", "smtp://arena@127.0.0.1:1": "connection refused"} {
		s := newTestServer(t, "ARENA_SMTP="+address, "ARENA_SMTP_PASSWORD=wrong", "ARENA_MAIL_FROM=arena@example.org")
		problems := s.cfg.CheckServices(t.Context())
		if problems == nil || strings.Count(problems.Error(), "ARENA_") != 1 || !strings.Contains(problems.Error(), want) || !strings.HasPrefix(problems.Error(), "ARENA_SMTP: ") {
			t.Errorf("%s: %v, want %s", address, problems, want)
		}
		if w := request(t, s, "POST", "/v1/owners", "", `{"name":"Kim","email":"kim@example.org"}`); w.Code != 201 {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		must(t, s.mailer.Deliver(t.Context()))
	}
	if len(smtp.Mails) != 0 {
		t.Error("a mail was sent with a wrong password")
	}
}
