package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
)

// benchLeague is where a benchmark plays.
type benchLeague struct {
	slug               string
	rounds             int
	format             string
	minSeats, maxSeats int
	limit              time.Duration // of a round; 0: 30 s
	game               string        // instead of tasks; empty: none
}

// prepare makes the pack, the league and the agents.
func (l benchLeague) prepare(ctx context.Context, admin *apiclient.Client, agents *benchAgents) (ids []string, err error) {
	league := map[string]any{
		"slug": l.slug, "title": "Benchmark", "format": l.format,
		"time_limit_seconds": cmp.Or(l.limit, 30*time.Second).Seconds(), "rated": true, "min_seats": l.minSeats, "max_seats": l.maxSeats,
		"break_seconds": 0,
	}
	if l.game != "" {
		league["game"], league["rounds"] = map[string]any{"name": l.game, "games_per_match": 1}, nil
	} else if err := l.tasks(ctx, admin, league); err != nil {
		return nil, err
	}
	if l.format == "ladder" {
		league["pace"] = map[string]any{"matches_per_day": 0, "pause_seconds": 0, "unrated_filler": true}
	}
	if err := admin.Call(ctx, http.MethodPost, "/v1/leagues", league, nil); err != nil {
		return nil, err
	}
	for i, endpoint := range agents.endpoints {
		id, err := registerAgent(ctx, admin, fmt.Sprintf("%s owner %d", l.slug, i), fmt.Sprintf("%s agent %d", l.slug, i), endpoint, l.slug)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// registerAgent registers an agent with an owner of its own. It is never paused,
// however many rounds it loses.
func registerAgent(ctx context.Context, admin *apiclient.Client, owner, name, endpoint string, leagues ...string) (id string, err error) {
	var made struct{ Token string }
	if err := admin.As("").Call(ctx, http.MethodPost, "/v1/owners", map[string]any{"name": owner}, &made); err != nil {
		return "", err
	}
	var agent struct {
		ID     string `json:"agent_id"`
		Status string `json:"status"`
	}
	if err := admin.As(made.Token).Call(ctx, http.MethodPost, "/v1/agents", map[string]any{"name": name, "endpoint": endpoint, "leagues": leagues}, &agent); err != nil {
		return "", err
	}
	if agent.Status != "active" {
		return "", fmt.Errorf("%s is %s", name, agent.Status)
	}
	return agent.ID, admin.As(made.Token).Call(ctx, http.MethodPatch, "/v1/agents/"+agent.ID, map[string]any{"pause_after": 0}, nil)
}

// tasks makes a pack and adds it to a league, with rounds and judge.
func (l benchLeague) tasks(ctx context.Context, admin *apiclient.Client, league map[string]any) error {
	var pack struct {
		ID string `json:"pack_id"`
	}
	var lines bytes.Buffer
	for i := range l.rounds {
		fmt.Fprintf(&lines, `{"description":"question %d","answer":%q}`+"\n", i, benchAnswer)
	}
	if err := admin.Call(ctx, http.MethodPost, "/v1/packs?format=jsonl&name=bench", lines.Bytes(), &pack); err != nil {
		return err
	}
	league["pack_id"], league["judge"], league["rounds"] = pack.ID, "exact", l.rounds
	return nil
}

// watchLeague opens a league's event stream.
func watchLeague(ctx context.Context, base, slug string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/stream?league="+slug, nil)
	if err != nil {
		return nil, fmt.Errorf("watch league %s: %w", slug, err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("watch league %s: %w", slug, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("watch league %s: %s", slug, resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}

// ends reads the ends of matches from a league's stream.
type ends struct{ lines *bufio.Scanner }

func newEnds(events io.Reader) *ends {
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	return &ends{lines}
}

// await reads events until a match has ended.
func (e *ends) await() error {
	for e.lines.Scan() {
		data, ok := bytes.CutPrefix(e.lines.Bytes(), []byte("data:"))
		if !ok || !bytes.Contains(data, []byte(`"type":"match_`)) { // decoding the others would count as the arena's work
			continue
		}
		var message struct{ Type, Reason string }
		if err := json.Unmarshal(data, &message); err != nil {
			return fmt.Errorf("watch the league: %w", err)
		}
		switch message.Type {
		case "match_finished":
			return nil
		case "match_void":
			return fmt.Errorf("the match is void: %s", message.Reason)
		}
	}
	return fmt.Errorf("the league's stream ended: %w", e.lines.Err())
}
