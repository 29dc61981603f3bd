package mailtest

import (
	"bufio"
	_ "embed" // the server
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os/exec"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/testneed"
)

//go:embed server.py
var program string

// Server is a running SMTP server.
type Server struct {
	Port int
	// Mails has each mail that it takes. It refuses recipients that begin with
	// "refused" for good, and those that begin with "later" for now.
	Mails <-chan Mail
}

// Mail is a mail that the server has taken.
type Mail struct {
	From string   `json:"from"`
	To   []string `json:"to"`
	Data string   `json:"data"` // header and body, as they were sent
	TLS  bool     `json:"tls"`
}

// Options are how a Server behaves.
type Options struct {
	Certificate string // PEM file of certificate and key; "": no TLS
	Implicit    bool   // TLS from the first byte, not STARTTLS
	Password    string // of the user arena; "": no sign-in
}

// Start starts a server on a free port of this machine for the test. Without
// aiosmtpd the test is skipped, unless the comma list ARENA_TEST_REQUIRE names smtp:
// then it fails.
func Start(t *testing.T, o Options) *Server {
	t.Helper()
	python, err := findPython(t)
	if err != nil {
		if testneed.Required("smtp") {
			t.Fatal(err)
		}
		t.Skip("no SMTP server: apt-get install python3-aiosmtpd: ", err)
	}
	options, err := json.Marshal(map[string]any{"certificate": o.Certificate, "implicit": o.Implicit, "password": o.Password})
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), python, "-W", "ignore", "-c", program, string(options)) //nolint:gosec // G204: of this package
	var trouble strings.Builder
	run.Stderr = &trouble
	stop, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(bufio.NewReader(out))
	s := &Server{}
	mails := make(chan Mail, 1000)
	s.Mails = mails
	if err := lines.Decode(s); err != nil {
		_ = stop.Close()
		_ = run.Wait() // with what it wrote
		t.Fatalf("the SMTP server did not start: %v\n%s", err, &trouble)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			var m Mail
			if lines.Decode(&m) != nil {
				return
			}
			mails <- m
		}
	}()
	t.Cleanup(func() {
		_ = stop.Close() // it ends then
		<-read
		_ = run.Wait() // or was killed at the end of the test
	})
	return s
}

// findPython returns a Python that has aiosmtpd: the first on PATH, else the
// system's, which has the packages of apt.
func findPython(t *testing.T) (string, error) {
	t.Helper()
	var problems []error
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		err := exec.CommandContext(t.Context(), python, "-c", "import aiosmtpd").Run() //nolint:gosec // G204: one of two
		if err == nil {
			return python, nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", python, err))
	}
	return "", errors.Join(problems...)
}

// Read returns the header of a mail with its subject, and its text.
func (m Mail) Read(t *testing.T) (header mail.Header, subject, text string) {
	t.Helper()
	parsed, err := mail.ReadMessage(strings.NewReader(m.Data))
	if err != nil {
		t.Fatalf("read mail: %v\n%s", err, m.Data)
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Header, subject, strings.ReplaceAll(string(body), "\r\n", "\n")
}
