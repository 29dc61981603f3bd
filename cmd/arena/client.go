package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// client calls the arena's own API, as any program outside would.
type client struct {
	base  string // "http://127.0.0.1:8080"
	token string // bearer; "" for none
	http  *http.Client
}

func newClient(base, token string) *client {
	return &client{base: base, token: token, http: &http.Client{}}
}

// as gives the same client with another token.
func (c *client) as(token string) *client {
	other := *c
	other.token = token
	return &other
}

// problem is an answer of the API that is not the wanted one (RFC 9457).
type problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Errors []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
}

func (p *problem) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d %s: %s", p.Status, p.Code, p.Detail)
	for _, e := range p.Errors {
		fmt.Fprintf(&s, "; %s: %s", e.Field, e.Message)
	}
	return s.String()
}

// call sends in as JSON (nil for no body; []byte as it is) and decodes a 2xx
// answer into out (nil to drop it). Another answer is a *problem.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
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
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		if _, raw := in.([]byte); raw {
			req.Header.Set("Content-Type", "text/plain")
		}
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		p := &problem{Status: resp.StatusCode}
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
