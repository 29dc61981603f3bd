package mail_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/mail"
	"github.com/agora-arena/arena/internal/token"
)

// rows is the store of a test. It has one owner, Kim, and one agent of it.
type rows struct {
	mail.Store

	owner  arena.Owner
	agent  arena.Agent
	mails  []*arena.QueuedMail
	links  []arena.MailLink
	refuse error
}

func (r *rows) QueueMail(_ context.Context, m arena.QueuedMail, _ arena.MailLimits) error {
	if r.refuse == nil {
		r.mails = append(r.mails, &m)
	}
	return r.refuse
}

func (r *rows) ClaimMail(_ context.Context, now time.Time, next func(arena.QueuedMail) time.Time) (arena.QueuedMail, error) {
	for _, m := range r.mails {
		if m.EndedAt.IsZero() && !m.NextAt.After(now) {
			m.Attempts++
			m.NextAt = next(*m)
			return *m, nil
		}
	}
	return arena.QueuedMail{}, arena.Errorf(arena.CodeNotFound, "none")
}

func (r *rows) EndMail(_ context.Context, id string, at time.Time) error {
	for _, m := range r.mails {
		if m.ID == id {
			m.EndedAt = at
		}
	}
	return nil
}

func (r *rows) AddMailLinks(_ context.Context, links []arena.MailLink) error {
	r.links = append(r.links, links...)
	return nil
}

func (r *rows) OwnersAt(_ context.Context, address string, _ int) ([]arena.Owner, error) {
	if !strings.EqualFold(address, r.owner.Email) {
		return nil, nil
	}
	other, elsewhere := r.owner, r.owner
	other.ID, other.Name = "ow_2", "Kim at work"
	elsewhere.ID, elsewhere.Email = "ow_3", strings.ToUpper(r.owner.Email)
	return []arena.Owner{r.owner, other, elsewhere}, nil
}

func (r *rows) Owner(context.Context, string) (arena.Owner, error) { return r.owner, nil }
func (r *rows) Agent(context.Context, string) (arena.Agent, error) { return r.agent, nil }

// server accepts messages, or fails.
type server struct {
	sent []mail.Message
	at   []time.Time // of the attempts
	err  error
}

func (s *server) Send(_ context.Context, m mail.Message) error {
	s.at = append(s.at, time.Now())
	if s.err == nil {
		s.sent = append(s.sent, m)
	}
	return s.err
}

func newMailer(t *testing.T) (*mail.Mailer, *rows, *server, *bytes.Buffer) {
	t.Helper()
	kim := arena.Owner{ID: "ow_1", Name: "Kim", Email: "kim@example.org", EmailConfirmedAt: time.Now()}
	r := &rows{owner: kim, agent: arena.Agent{ID: "ag_1", OwnerID: kim.ID, Name: "ant", PauseAfter: 3}}
	s, log := &server{}, &bytes.Buffer{}
	m := mail.New(mail.Options{
		Store: r, Sender: s, URL: "https://arena.example", Now: time.Now, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	return m, r, s, log
}

// run delivers for a time as the job of a node does.
func run(t *testing.T, m *mail.Mailer, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(2 * time.Second) {
		if err := m.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A mail is tried again after growing pauses and given up after a day, each time
// with a fresh link. Its failures are logged without address, text or secret.
// Threat A8.
func TestMailer_Deliver_retries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, r, s, log := newMailer(t)
		r.owner.EmailConfirmedAt = time.Time{}
		s.err = errors.New("connection refused")
		if err := m.Confirm(t.Context(), r.owner); err != nil {
			t.Fatal(err)
		}
		run(t, m, 3*24*time.Hour)
		var pauses []string
		for i := 1; i < len(s.at); i++ {
			pauses = append(pauses, s.at[i].Sub(s.at[i-1]).String())
		}
		if want := "1m0s 2m0s 4m0s 8m0s 16m0s 32m0s 1h4m0s 2h8m0s 4h0m0s 4h0m0s 4h0m0s 4h0m0s"; strings.Join(pauses, " ") != want {
			t.Errorf("pauses %s, want %s", strings.Join(pauses, " "), want)
		}
		if r.mails[0].EndedAt.IsZero() || len(r.links) != len(s.at) {
			t.Errorf("%+v, %d links", r.mails[0], len(r.links))
		}
		text := log.String()
		if strings.Count(text, "it is tried again") != len(s.at)-1 || strings.Count(text, "mail given up") != 1 || !strings.Contains(text, "arena config --check") {
			t.Error(text)
		}
		if strings.Contains(text, "example.org") || strings.Contains(text, token.MailSecretPrefix) {
			t.Errorf("the log has an address or a secret: %s", text)
		}
	})
}

// A server that comes back gets what waits, once.
func TestMailer_Deliver_once(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, r, s, _ := newMailer(t)
		s.err = errors.New("connection refused")
		m.Paused(t.Context(), r.agent, arena.Pause{Reason: arena.PauseFailing})
		if err := m.Reset(t.Context(), "KIM@example.org"); err != nil {
			t.Fatal(err)
		}
		run(t, m, 10*time.Second)
		if len(s.at) != 2 { // one in each run while the server is down
			t.Errorf("%d attempts", len(s.at))
		}
		s.err = nil
		run(t, m, time.Hour)
		if len(s.sent) != 3 || len(r.links) != 6 { // two addresses; the links of the attempt that failed are void soon
			t.Fatalf("%d mails, %d links: %+v", len(s.sent), len(r.links), s.sent)
		}
		notice, reset, elsewhere := s.sent[0], s.sent[1], s.sent[2]
		for _, part := range []string{"it failed 3 rounds in a row", "https://arena.example/console/agents/ag_1\n", "resume it"} {
			if !strings.Contains(notice.Text, part) {
				t.Errorf("the notice lacks %q:\n%s", part, notice.Text)
			}
		}
		if notice.Subject != "Your agent ant is paused" || reset.To != "kim@example.org" || elsewhere.To != "KIM@EXAMPLE.ORG" {
			t.Errorf("%+v", s.sent)
		}
		if strings.Count(reset.Text, "/console/reset#"+token.MailSecretPrefix) != 2 || !strings.Contains(reset.Text, "Kim at work (ow_2)") || strings.Count(elsewhere.Text, "#"+token.MailSecretPrefix) != 1 {
			t.Errorf("%s\n%s", reset.Text, elsewhere.Text)
		}
		for _, l := range r.links {
			if time.Until(l.ExpiresAt) > time.Hour {
				t.Errorf("%+v", l)
			}
		}
	})
}

// Mails without a purpose are not sent, and Reset does not show it. Threat A7.
func TestMailer_Deliver_nothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *rows){
		"unconfirmed": func(r *rows) { r.owner.EmailConfirmedAt = time.Time{} }, "another address": func(r *rows) { r.owner.Email = "lee@example.org" },
		"silent": func(r *rows) { r.owner.NoPauseMails = true }, "suspended": func(r *rows) { r.owner.SuspendedAt = time.Now() },
		"deleted": func(r *rows) { r.owner.ErasedAt = time.Now() }, "retired": func(r *rows) { r.agent.RetiredAt = time.Now() },
	} {
		synctest.Test(t, func(t *testing.T) {
			m, r, s, _ := newMailer(t)
			m.Paused(t.Context(), r.agent, arena.Pause{Reason: arena.PauseHealth})
			change(r)
			m.Paused(t.Context(), r.agent, arena.Pause{Reason: arena.PauseHealth})
			if err := m.Reset(t.Context(), "nobody@example.org"); err != nil {
				t.Error(err)
			}
			run(t, m, 10*time.Second)
			if name != "another address" && name != "retired" && len(r.mails) != 2 || len(s.sent) > 1 || name != "another address" && len(s.sent) != 0 {
				t.Errorf("%s: %d mails, sent %+v", name, len(r.mails), s.sent)
			}
			for _, q := range r.mails {
				if q.EndedAt.IsZero() {
					t.Errorf("%s: %+v waits", name, q)
				}
			}
		})
	}
}

// A refused recipient gets no second attempt, and its neighbor gets its mail.
func TestMailer_Deliver_refused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, r, s, log := newMailer(t)
		s.err = &mail.RefusedError{Code: 550}
		m.Paused(t.Context(), r.agent, arena.Pause{Reason: arena.PauseHealth})
		run(t, m, time.Hour)
		if len(s.at) != 1 || !strings.Contains(log.String(), "another address") {
			t.Errorf("%d attempts, log %s", len(s.at), log)
		}
		r.refuse = arena.Errorf(arena.CodeUnavailable, "full")
		m.Paused(t.Context(), r.agent, arena.Pause{Reason: arena.PauseHealth})
		if !strings.Contains(log.String(), "no mail about a paused agent") {
			t.Error(log.String())
		}
	})
}

// The notice to an agent without an endpoint speaks of none.
func TestMailer_Paused_withoutEndpoint(t *testing.T) {
	t.Parallel()
	for _, reason := range []arena.PauseReason{arena.PauseHealth, arena.PauseExpired} {
		for _, endpoint := range []string{"", "https://ant.example"} {
			synctest.Test(t, func(t *testing.T) {
				m, r, s, _ := newMailer(t)
				r.agent.Endpoint = endpoint
				m.Paused(t.Context(), r.agent, arena.Pause{Reason: reason})
				run(t, m, 10*time.Second)
				if len(s.sent) != 1 || strings.Contains(s.sent[0].Text, "endpoint") != (endpoint != "") {
					t.Errorf("%s, %q: %+v", reason, endpoint, s.sent)
				}
			})
		}
	}
}

// A name with line breaks stays in its line. Threat A9.
func TestMailer_names(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, r, s, _ := newMailer(t)
		r.owner.Name, r.agent.Name = "Kim\r\n\r\nhttps://evil.example", "ant\r\nBcc: eve@example.org"
		for _, reason := range arena.PauseReasons() {
			m.Paused(t.Context(), r.agent, arena.Pause{Reason: reason})
		}
		run(t, m, 10*time.Second)
		for _, got := range s.sent {
			if strings.ContainsAny(got.Subject, "\r\n") || strings.Contains(got.Text, "\nhttps://evil") || strings.Contains(got.Text, "\nBcc") {
				t.Errorf("%q\n%s", got.Subject, got.Text)
			}
		}
		if len(s.sent) != len(arena.PauseReasons()) {
			t.Errorf("%d mails", len(s.sent))
		}
	})
}
