package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// chance is a random source for many goroutines.
type chance struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newChance(seed, stream uint64) *chance {
	return &chance{r: rand.New(rand.NewPCG(seed, stream))} //nolint:gosec // G404: a run must be repeatable
}

func (c *chance) intn(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

// between returns a duration from a to b.
func (c *chance) between(a, b time.Duration) time.Duration {
	return a + time.Duration(c.intn(int(b-a)+1))
}

// one in n.
func (c *chance) oneIn(n int) bool { return c.intn(n) == 0 }

func (c *chance) url(cl *cluster) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cl.url(c.r)
}

// errNoNode means that no node answers at the moment.
var errNoNode = errors.New("no node answers")

// client calls the API of whichever node answers.
type client struct {
	cluster *cluster
	chance  *chance
	http    *http.Client
	token   string
}

func newClient(c *cluster, seed uint64) *client {
	return &client{cluster: c, chance: newChance(seed, 7), http: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}}
}

func (c *client) as(token string) *client {
	other := *c
	other.token = token
	return &other
}

// call makes one request. Status 0 means that its result is unknown.
func (c *client) call(ctx context.Context, method, path string, in, out any) (status int, err error) {
	url := c.chance.url(c.cluster)
	if url == "" {
		return 0, errNoNode
	}
	var body io.Reader
	if in != nil {
		data, raw := in.([]byte)
		if !raw {
			if data, err = json.Marshal(in); err != nil {
				return 0, fmt.Errorf("encode: %w", err)
			}
		}
		body = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, url+path, body) //nolint:gosec // G704: our own nodes
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(r) //nolint:gosec // G704: our own nodes
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode == http.StatusInternalServerError {
		c.cluster.problems.add("C5", "%s %s: a fault of the storage is no fault of ours, yet status 500: %.300s", method, path, data)
	}
	if resp.StatusCode >= 300 {
		return resp.StatusCode, fmt.Errorf("%s %s: status %d: %.300s", method, path, resp.StatusCode, data)
	}
	switch to := out.(type) {
	case nil:
	case *[]byte:
		*to = data
	default:
		if err := json.Unmarshal(data, out); err != nil {
			return 0, fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	return resp.StatusCode, nil
}
