package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/plaintext"
)

// callTime bounds one request. A rehearsal takes up to a minute.
const callTime = 90 * time.Second

// session calls the API of one arena for one command.
type session struct {
	*Process
	Target

	client *apiclient.Client
}

func newSession(p *Process, t Target) *session {
	return &session{Process: p, Target: t, client: t.Client()}
}

// Client returns a client of the arena's API.
func (t Target) Client() *apiclient.Client { return apiclient.New(t.URL, t.Token) }

// Explain returns the error of a request as the user reads it.
func (t Target) Explain(err error) error {
	if p, ok := errors.AsType[*apiclient.Problem](err); ok {
		if p.Status == http.StatusUnauthorized {
			return refusal{p, t.NotLoggedIn()}
		}
		text := plaintext.Terminal(p.Detail)
		if text == "" {
			text = fmt.Sprintf("%s answered with status %d", t.URL, p.Status)
		}
		for _, e := range p.Errors {
			text += "\n" + plaintext.Terminal(e.Field+": "+e.Message)
		}
		return refusal{p, errors.New(text)}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("cannot reach %s: %w", t.URL, u.Err)
	}
	return err
}

// refusal is an error response of the arena with a text for the user.
type refusal struct {
	*apiclient.Problem
	text error
}

// Error returns the text.
func (r refusal) Error() string { return r.text.Error() }

// statusOf returns the HTTP status of an error response, 0 for other errors.
func statusOf(err error) int {
	if r, ok := errors.AsType[refusal](err); ok {
		return r.Status
	}
	return 0
}

// call makes one request and returns the JSON of the answer.
func (s *session) call(method, path string, in any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(s.Ctx, callTime)
	defer cancel()
	var answer json.RawMessage
	if err := s.client.Call(ctx, method, path, in, &answer); err != nil {
		return nil, s.Explain(err)
	}
	return answer, nil
}

// get reads a resource.
func (s *session) get(path string, out any) error {
	answer, err := s.call(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return s.decode(answer, out)
}

// decode reads an answer of the arena.
func (s *session) decode(answer json.RawMessage, out any) error {
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s sent something unexpected: %w", s.URL, err)
	}
	return nil
}

// raw writes the JSON of an answer in the form in which it came.
func (p *Process) raw(answer json.RawMessage) error {
	text := string(plaintext.TerminalJSON(answer))
	if text == "" {
		return nil
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return p.print("%s", text)
}

// JSON writes a value as JSON. Texts in it may be untrusted.
func (p *Process) JSON(v any) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return err
	}
	return p.raw(text.Bytes())
}
