package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Client calls the API of one arena with one bearer token.
type Client struct {
	Base  string // "http://127.0.0.1:8080"
	Token string // bearer; "" for none
	// IdempotencyKey identifies the request, which net/http then repeats if its
	// connection breaks. "" for none.
	IdempotencyKey string
	HTTP           *http.Client
}

// New returns a client with an http.Client of its own, which follows no redirects: the
// token, the requests and the trust of the user are for the named arena alone.
func New(base, token string) *Client {
	return &Client{Base: base, Token: token, HTTP: &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		return &RedirectError{To: r.URL.Redacted()}
	}}}
}

// RedirectError is returned when the arena redirects elsewhere.
type RedirectError struct{ To string } // a URL

// Error names the URL.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("it redirects to %s; use the URL of the arena there", e.To)
}

// As returns a copy of the client with another token.
func (c *Client) As(token string) *Client {
	other := *c
	other.Token = token
	return &other
}

// Problem is an error response of the API (RFC 9457).
type Problem struct { //nolint:errname // RFC 9457 calls it a problem
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Errors []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
}

// Error returns status, code, detail and the fields that are wrong.
func (p *Problem) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d %s: %s", p.Status, p.Code, p.Detail)
	for _, e := range p.Errors {
		fmt.Fprintf(&s, "; %s: %s", e.Field, e.Message)
	}
	return s.String()
}

// Call sends in as JSON (nil: no body; []byte: as it is, as text) and decodes a
// 2xx response into out (nil: drops it; io.Writer: copies it). Any other response is a
// *Problem.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	switch in := in.(type) {
	case nil:
	case []byte:
		body = bytes.NewReader(in)
	default:
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		if _, raw := in.([]byte); raw {
			req.Header.Set("Content-Type", "text/plain")
		}
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.IdempotencyKey != "" {
		req.Header.Set("Idempotency-Key", c.IdempotencyKey)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	if w, raw := out.(io.Writer); raw && resp.StatusCode/100 == 2 {
		if _, err := io.Copy(w, resp.Body); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		p := &Problem{Status: resp.StatusCode}
		if json.Unmarshal(data, p) != nil {
			p.Detail = string(data)
		}
		return fmt.Errorf("%s %s: %w", method, path, p)
	}
	if out == nil || len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}
