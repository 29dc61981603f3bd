package mail_test

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/certs/certstest"
	"github.com/agora-arena/arena/internal/mail"
	"github.com/agora-arena/arena/internal/mail/mailtest"
)

func smtp(t *testing.T, address string, o mail.SMTPOptions) *mail.SMTP {
	t.Helper()
	var err error
	if o.URL, err = url.Parse(address); err != nil {
		t.Fatal(err)
	}
	o.From = "The Arena <arena@example.org>"
	s, err := mail.NewSMTP(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var hello = mail.Message{To: "kim@example.org", Subject: "Grüße", Text: "One line.\n\n.\nhttps://arena.example/console/reset#arm_0123456789012345678901234567890123456789_-\n", At: time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)}

// What others wrote puts nothing into headers or the protocol. Threat A9.
func TestSMTP_Send_onThisMachine(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Options{Password: "right"})
	address := fmt.Sprintf("smtp://arena@127.0.0.1:%d", server.Port)
	s := smtp(t, address, mail.SMTPOptions{Password: "right"})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	got := <-server.Mails
	header, subject, text := got.Read(t)
	if got.From != "arena@example.org" || got.To[0] != hello.To || subject != hello.Subject || text != hello.Text || got.TLS {
		t.Errorf("%+v\nsubject %q, text %q", got, subject, text)
	}
	if header.Get("Auto-Submitted") != "auto-generated" || header.Get("From") != `"The Arena" <arena@example.org>` || header.Get("Date") == "" || header.Get("Message-Id") == "" {
		t.Errorf("header %v", header)
	}

	// Neither headers nor lines of the protocol come out of what others wrote.
	odd := hello
	odd.Subject, odd.Text = "a\r\nBcc: eve@example.org\r\n\r\nbody", "a\r\n.\r\nMAIL FROM:<eve@example.org>\r\n"
	if err := s.Send(t.Context(), odd); err != nil {
		t.Fatal(err)
	}
	got = <-server.Mails
	if header, _, text = got.Read(t); header.Get("Bcc") != "" || len(got.To) != 1 || !strings.Contains(text, "\n.\nMAIL FROM") {
		t.Errorf("%s", got.Data)
	}
	odd = hello
	odd.To = "kim@example.org>\r\nRCPT TO:<eve@example.org"
	if err := s.Send(t.Context(), odd); err == nil {
		t.Error("an address with a line break was sent to")
	}

	refused, later := hello, hello
	refused.To, later.To = "refused@example.org", "later@example.org"
	err := s.Send(t.Context(), refused)
	if r, ok := errors.AsType[*mail.RefusedError](err); !ok || r.Code != 550 || strings.Contains(err.Error(), "example.org") {
		t.Errorf("refused: %v", err)
	}
	err = s.Send(t.Context(), later)
	if _, ok := errors.AsType[*mail.RefusedError](err); ok || err == nil || !strings.Contains(err.Error(), "451") || strings.Contains(err.Error(), "example.org") {
		t.Errorf("later: %v", err)
	}

	if err := smtp(t, address, mail.SMTPOptions{Password: "wrong"}).Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "535") {
		t.Errorf("a wrong password: %v", err)
	}
	if err := smtp(t, "smtp://"+certstest.FreeAddr(t), mail.SMTPOptions{}).Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("no server: %v", err)
	}
}

// Without TLS nothing leaves this machine: neither a mail nor the password. Threat A8.
func TestSMTP_Send_elsewhere(t *testing.T) {
	t.Parallel()
	file, local := filepath.Join(t.TempDir(), "server.pem"), filepath.Join(t.TempDir(), "local.pem")
	now := time.Now()
	roots := certstest.Pool(certstest.Write(t, file, "mail.example.org", now.Add(-time.Hour), now.Add(time.Hour)),
		certstest.Write(t, local, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour)))
	for name, c := range map[string]struct {
		scheme  string
		server  mailtest.Options
		o       mail.SMTPOptions
		problem string
	}{
		"STARTTLS":            {"smtp", mailtest.Options{Certificate: file, Password: "right"}, mail.SMTPOptions{Password: "right", Roots: roots}, ""},
		"TLS":                 {"smtps", mailtest.Options{Certificate: local, Implicit: true, Password: "right"}, mail.SMTPOptions{Password: "right", Roots: roots}, ""},
		"no STARTTLS":         {"smtp", mailtest.Options{Password: "right"}, mail.SMTPOptions{Password: "right"}, "does not support STARTTLS"},
		"unknown certificate": {"smtp", mailtest.Options{Certificate: file, Password: "right"}, mail.SMTPOptions{Password: "right"}, "unknown authority"},
		"wrong password":      {"smtp", mailtest.Options{Certificate: file, Password: "right"}, mail.SMTPOptions{Password: "wrong", Roots: roots}, "535"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mailtest.Start(t, c.server)
			address := fmt.Sprintf("127.0.0.1:%d", server.Port)
			s := smtp(t, "smtps://arena@"+address, c.o)
			if c.scheme == "smtp" {
				s = smtp(t, fmt.Sprintf("smtp://arena@mail.example.org:%d", server.Port), c.o)
				s.DialTo(address)
			}
			ready, sent := s.Ready(t.Context()), s.Send(t.Context(), hello)
			if c.problem != "" {
				if ready == nil || !strings.Contains(ready.Error(), c.problem) || sent == nil {
					t.Errorf("ready: %v, sent: %v", ready, sent)
				}
				return
			}
			if ready != nil || sent != nil {
				t.Fatalf("ready: %v, sent: %v", ready, sent)
			}
			if m := <-server.Mails; !m.TLS {
				t.Errorf("not encrypted: %+v", m)
			}
		})
	}
}
