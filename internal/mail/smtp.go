package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/agora-arena/arena/arena"
)

// SMTPOptions are how an SMTP server is reached.
type SMTPOptions struct {
	// URL is smtp://user@host:port, with STARTTLS unless the host is this machine,
	// or smtps://user@host:port. Without a user the arena does not sign in. The ports are 587
	// and 465 by default.
	URL      *url.URL
	Password string
	From     string         // address, may have a name
	Roots    *x509.CertPool // nil: the system's
}

// smtpTimeout is for connecting, and for each command.
const smtpTimeout = 20 * time.Second

// SMTP delivers messages to an SMTP server.
type SMTP struct {
	o    SMTPOptions
	from *mail.Address
	dial gomail.DialContextFunc // nil: the library's own
}

// NewSMTP makes an SMTP. It connects to nothing.
func NewSMTP(o SMTPOptions) (*SMTP, error) {
	if o.URL == nil {
		return nil, errors.New("mail: the URL of the SMTP server is missing")
	}
	from, err := mail.ParseAddress(o.From)
	if err != nil {
		return nil, fmt.Errorf("mail: the sender %q is not an address: %w", o.From, err)
	}
	s := &SMTP{o: o, from: from}
	_, err = s.client()
	return s, err
}

// client returns a client for one connection.
func (s *SMTP) client() (*gomail.Client, error) {
	host := s.o.URL.Hostname()
	options := []gomail.Option{
		gomail.WithTimeout(smtpTimeout),
		gomail.WithTLSConfig(&tls.Config{ServerName: host, RootCAs: s.o.Roots, MinVersion: tls.VersionTLS12}),
	}
	port, auth := 587, gomail.SMTPAuthAutoDiscover
	switch {
	case s.o.URL.Scheme == "smtps":
		port = 465
		options = append(options, gomail.WithSSL())
	case arena.IsLoopbackHost(host):
		auth = gomail.SMTPAuthPlainNoEnc
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if text := s.o.URL.Port(); text != "" {
		var err error
		if port, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("mail: port %q: %w", text, err)
		}
	}
	options = append(options, gomail.WithPort(port))
	if s.dial != nil {
		options = append(options, gomail.WithDialContextFunc(s.dial))
	}
	if user := s.o.URL.User.Username(); user != "" {
		options = append(options, gomail.WithSMTPAuth(auth), gomail.WithUsername(user), gomail.WithPassword(s.o.Password))
	}
	c, err := gomail.NewClient(host, options...)
	if err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	return c, nil
}

// Ready returns nil when the server can be reached, encrypts as it must, and
// accepts the user and the password.
func (s *SMTP) Ready(ctx context.Context) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	if err := c.DialWithContext(ctx); err != nil {
		return err
	}
	return c.Close()
}

// Message is one mail in plain text.
type Message struct {
	To      string
	Subject string
	Text    string
	At      time.Time
}

// RefusedError is the error of a server that will never deliver a message.
type RefusedError struct{ Code int }

// Error returns only the code, because the server's text may contain the address.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the server refuses the recipient (%d)", e.Code)
}

// Send delivers a message. *RefusedError: it is in vain to try again. No error names the
// recipient or the text.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.from)
	if err := msg.To(m.To); err != nil {
		return &RefusedError{}
	}
	msg.Subject(m.Subject)
	msg.SetDateWithValue(m.At)
	msg.SetMessageID()
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no vacation notices, please
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	c, err := s.client()
	if err != nil {
		return err
	}
	err = c.DialAndSendWithContext(ctx, msg)
	if err == nil || msg.IsDelivered() { // the goodbye may fail
		return nil
	}
	failed, ok := errors.AsType[*gomail.SendError](err)
	switch {
	case !ok:
		return err // of the connection
	case failed.Reason == gomail.ErrSMTPRcptTo && !failed.IsTemp():
		return &RefusedError{Code: failed.ErrorCode()}
	default:
		return fmt.Errorf("%s (%d)", failed.Reason, failed.ErrorCode())
	}
}
