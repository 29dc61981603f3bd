package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
)

// liveEvent is one event of the stream: the members that all have, and all of
// it as it came.
type liveEvent struct {
	Seq     int64     `json:"seq"`
	MatchID string    `json:"match_id"`
	Round   int       `json:"round"`
	AgentID string    `json:"agent_id"`
	TS      time.Time `json:"ts"`
	Type    string    `json:"type"`

	raw json.RawMessage
}

func parseLive(data []byte) (liveEvent, error) {
	e := liveEvent{raw: bytes.Clone(bytes.TrimSpace(data))}
	if err := json.Unmarshal(e.raw, &e); err != nil {
		return e, fmt.Errorf("event: %w", err)
	}
	return e, nil
}

// ends reports whether nothing follows the event in its match.
func (e liveEvent) ends() bool { return e.Type == "match_finished" || e.Type == "match_void" }

// maxLiveEvent bounds one event: the reveal of a round with 128 seats is the
// largest.
const maxLiveEvent = 32 << 20

// errStop is returned by callbacks to stop listening without an error.
var errStop = errors.New("stop")

// listen reads one stream of server-sent events and calls each for every
// event, hello first, until the stream ends, ctx ends or each returns an error.
// over reports that nothing will ever come (204). Another status than 200 is a
// *apiclient.Problem.
func listen(ctx context.Context, c *apiclient.Client, query url.Values, each func(liveEvent) error) (over bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/v1/stream?"+query.Encode(), nil)
	if err != nil {
		return false, fmt.Errorf("stream: %w", err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return false, fmt.Errorf("stream: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		return true, nil
	default:
		p := &apiclient.Problem{Status: resp.StatusCode}
		data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a part of it is enough
		if json.Unmarshal(data, p) != nil {
			p.Detail = http.StatusText(resp.StatusCode)
		}
		return false, fmt.Errorf("stream: %w", p)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLiveEvent)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok { // id, comment or the end of an event; the arena writes one data line for each
			continue
		}
		e, err := parseLive(data)
		if err != nil {
			return false, err
		}
		if err := each(e); err != nil {
			return false, err
		}
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("stream: %w", err)
	}
	return false, nil
}

// The pauses of someone who comes back.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
	patience     = 2 * time.Minute // without any event or connection
)

// follow listens to a topic through restarts and broken connections. With a
// match it resumes after the last event that each has received, without gap or
// repetition. It returns nil if each returns errStop or no more events will
// come, and an error if the arena rejects the request or is unreachable for long.
func follow(ctx context.Context, c *apiclient.Client, topic url.Values, each func(liveEvent) error) error {
	match := topic.Has("match")
	pause, received, since := firstPause, time.Now(), int64(0)
	for {
		query := maps.Clone(topic)
		if match {
			query.Set("since", strconv.FormatInt(since, 10))
		}
		over, err := listen(ctx, c, query, func(e liveEvent) error {
			pause, received = firstPause, time.Now()
			if match && e.Seq > 0 && e.Type != "hello" {
				if e.Seq <= since {
					return nil
				}
				since = e.Seq
			}
			return each(e)
		})
		var refusal *apiclient.Problem
		var redirect *apiclient.RedirectError
		switch {
		case errors.Is(err, errStop), over:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &refusal) && refusal.Status < 500 && refusal.Status != http.StatusTooManyRequests:
			return err
		case errors.As(err, &redirect):
			return err
		case err == nil:
			pause, received = firstPause, time.Now() // the arena closed the stream: it restarts, or this client was slow
		case time.Since(received) > patience:
			return err
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return context.Cause(ctx)
		}
		pause = min(2*pause, longestPause)
	}
}
