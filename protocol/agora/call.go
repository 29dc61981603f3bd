package agora

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
)

// fetch makes a request to the arena's own API in the name of the caller, so
// that limits count and hidden things stay hidden as they do there. What the
// API refuses is a fault of the caller's document.
func (s *Server) fetch(ctx context.Context, c *call, method, path, token string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return fmt.Errorf("encode a request to the API: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, path, &body)
	if err != nil {
		return fmt.Errorf("request to the API: %w", err)
	}
	r.RemoteAddr, r.Host, r.RequestURI = c.request.RemoteAddr, c.request.Host, path
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := &taken{header: http.Header{}, status: http.StatusOK}
	s.o.API.ServeHTTP(w, r)
	switch {
	case w.status == http.StatusTooManyRequests:
		return tooMany("Too many requests")
	case w.status >= 500:
		return fmt.Errorf("the API answered %s %s with %d", method, path, w.status)
	case w.status >= 400:
		return problemOf(w.body.Bytes())
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return fmt.Errorf("read what the API says to %s %s: %w", method, path, err)
	}
	return nil
}

// problemOf gives the sentence of a problem document, with what is wrong where.
func problemOf(data []byte) error {
	var p struct {
		Detail string
		Errors []arena.FieldError
	}
	if err := json.Unmarshal(data, &p); err != nil || p.Detail == "" {
		return fault("The arena refuses this")
	}
	for _, e := range p.Errors {
		p.Detail += "; " + e.Field + ": " + e.Message
	}
	return fault(p.Detail)
}

// taken is a response that is kept.
type taken struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (t *taken) Header() http.Header { return t.header }

func (t *taken) WriteHeader(status int) {
	if !t.wrote {
		t.status, t.wrote = status, true
	}
}

func (t *taken) Write(p []byte) (int, error) {
	t.wrote = true
	return t.body.Write(p)
}

// readBody reads a document's JSON; what it does not name is passed over.
func readBody(body []byte, v any, names ...string) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return fault("The body must be the JSON text of an object")
	}
	if err := strictjson.UnmarshalOpen(body, v, names...); err != nil {
		return fault("The body is not what the document asks for: " + err.Error())
	}
	return nil
}

// limitOf gives a number of lines.
func limitOf(given *strictjson.Whole, otherwise int) (int, error) {
	switch {
	case given == nil:
		return otherwise, nil
	case *given < 1 || *given > 100:
		return 0, fault("limit must be from 1 to 100")
	default:
		return int(*given), nil
	}
}

// isName reports whether a text can be a slug, a status or an id of the arena,
// so that it stays one segment of a path.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
