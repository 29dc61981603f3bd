package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	openCap    = 40 // matches that may be open at once
	schedulers = 3  // a request to a frozen node holds up one of them
)

// leagueSpec is one league of a run and how often it is chosen.
type leagueSpec struct {
	slug   string
	weight int
	seats  int
	body   map[string]any
}

func leagueSpecs(pack string) []leagueSpec {
	body := func(format, slug string, change map[string]any) map[string]any {
		b := map[string]any{
			"slug": slug, "title": "Chaos " + slug, "pack_id": pack, "judge": "exact", "format": format, "rated": true,
			"rounds": 3, "time_limit_seconds": 2,
		}
		maps.Copy(b, change)
		return b
	}
	return []leagueSpec{
		{"duel", 5, 2, body("ladder", "duel", nil)},
		{"slow", 3, 2, body("ladder", "slow", map[string]any{"rounds": 5, "break_seconds": 1})},
		{"last", 2, 8, body("elimination", "last", map[string]any{"rounds": nil, "max_rounds": 4, "min_seats": 3, "max_seats": 16})},
		{"four", 2, 2, body("ladder", "four", map[string]any{
			"pack_id": nil, "judge": nil, "rounds": nil, "visibility": "sealed", "game": map[string]any{"name": "connect_four", "games_per_match": 2},
		})},
		{"show", 1, 8, body("elimination", "show", map[string]any{"rated": false, "min_seats": 3, "max_seats": 16})},
	}
}

func slugs() []string {
	var all []string
	for _, l := range leagueSpecs("") {
		all = append(all, l.slug)
	}
	return all
}

// load keeps the arena busy.
type load struct {
	api      *client // admin
	reader   *client // an owner's token
	fleet    *fleet
	chance   *chance
	problems *problems
	leagues  []leagueSpec

	open      atomic.Int64
	refused   atomic.Int64 // requests for a match that were not granted
	mu        sync.Mutex
	acked     []string // matches that a node has promised, in order
	voided    []string // matches that a node said it made void
	live      []string // open ones, as of a moment ago
	sightings map[place]time.Time
}

// place is a round of a match.
type place struct {
	match string
	round int
}

// setUp makes leagues, owners and agents.
func (l *load) setUp(ctx context.Context, owners int) error {
	var pack struct {
		ID string `json:"pack_id"`
	}
	var lines bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&lines, `{"description":"question %d","answer":"right answer %d"}`+"\n", i, i)
	}
	if _, err := l.api.call(ctx, http.MethodPost, "/v1/packs?format=jsonl&name=questions", lines.Bytes(), &pack); err != nil {
		return err
	}
	l.leagues = leagueSpecs(pack.ID)
	for _, s := range l.leagues {
		if s.body["format"] == "ladder" {
			s.body["pace"] = map[string]any{"matches_per_day": 0, "pause_seconds": 0, "unrated_filler": true}
		}
		if _, err := l.api.call(ctx, http.MethodPost, "/v1/leagues", s.body, nil); err != nil {
			return err
		}
	}
	tokens := make([]string, owners)
	for i := range tokens {
		var o struct{ Token string }
		if _, err := l.api.as("").call(ctx, http.MethodPost, "/v1/owners", map[string]any{"name": fmt.Sprintf("owner %d", i)}, &o); err != nil {
			return err
		}
		tokens[i] = o.Token
	}
	l.reader = l.api.as(tokens[0])
	for i, a := range l.fleet.agents {
		var made struct {
			ID     string `json:"agent_id"`
			Status string `json:"status"`
			Key    string `json:"agent_key"`
		}
		in := map[string]any{"name": fmt.Sprintf("%s %d", a.kind, i), "version": "1"}
		if a.pulls {
			in["max_concurrent"], in["leagues"] = pullAtOnce, slugs()
		} else {
			in["endpoint"] = a.url
		}
		if _, err := l.api.as(tokens[i%owners]).call(ctx, http.MethodPost, "/v1/agents", in, &made); err != nil {
			return err
		}
		if a.id, a.key = made.ID, made.Key; a.pulls {
			a.start()
			continue
		}
		if made.Status != "active" {
			return fmt.Errorf("agent %d is %s after its check", i, made.Status)
		}
	}
	return l.present(ctx)
}

// present waits until all agents that poll count as healthy.
func (l *load) present(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for i, a := range l.fleet.agents {
		for status := ""; status != "active"; {
			if !wait(ctx, 20*time.Millisecond) {
				return fmt.Errorf("agent %d polls and is %q", i, status)
			}
			var g struct{ Status string }
			if _, err := l.api.call(ctx, http.MethodGet, "/v1/agents/"+a.id, nil, &g); err != nil {
				return err
			}
			status = g.Status
		}
	}
	return nil
}

// schedule creates matches until ctx ends.
func (l *load) schedule(ctx context.Context) {
	for wait(ctx, l.chance.between(200*time.Millisecond, 600*time.Millisecond)) {
		if l.open.Load() < openCap {
			l.one(ctx)
		}
	}
}

// one creates one match. An answer other than 201 promises nothing.
func (l *load) one(ctx context.Context) {
	total := 0
	for _, s := range l.leagues {
		total += s.weight
	}
	n, chosen := l.chance.intn(total), l.leagues[0]
	for _, s := range l.leagues {
		if n -= s.weight; n < 0 {
			chosen = s
			break
		}
	}
	l.chance.mu.Lock()
	var ids []string
	for _, i := range l.chance.r.Perm(len(l.fleet.agents))[:chosen.seats] {
		ids = append(ids, l.fleet.agents[i].id)
	}
	l.chance.mu.Unlock()
	in := map[string]any{"league": chosen.slug, "agents": ids}
	if l.chance.oneIn(2) {
		// Seats of a match that starts later are looked at when it starts, so
		// agents that are paused by then are tried too.
		in["starts_at"] = time.Now().Add(l.chance.between(50*time.Millisecond, 500*time.Millisecond)).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	var m struct {
		ID string `json:"match_id"`
	}
	if _, err := l.api.call(ctx, http.MethodPost, "/v1/matches", in, &m); err != nil {
		l.refused.Add(1)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = append(l.acked, m.ID)
}

// survey looks at what is open, twice a second, and reads what an unauthenticated client may
// read of open matches: nothing of it may be sealed. Now and then it makes a
// match void, in the middle of whatever it does.
func (l *load) survey(ctx context.Context) {
	for wait(ctx, 500*time.Millisecond) {
		if n, err := l.countOpen(ctx); err == nil {
			l.open.Store(int64(n))
		}
		id, ok := l.someLive()
		if !ok {
			continue
		}
		for _, path := range []string{"", "/events?since=0&limit=100", "/rounds"} {
			var data []byte
			if _, err := l.reader.call(ctx, http.MethodGet, "/v1/matches/"+id+path, nil, &data); err == nil {
				l.sighted(string(data), time.Now())
			}
		}
		if l.chance.oneIn(20) {
			if status, _ := l.api.call(ctx, http.MethodPost, "/v1/matches/"+id+"/void", map[string]any{"reason": "chaos"}, nil); status == http.StatusOK {
				l.mu.Lock()
				l.voided = append(l.voided, id)
				l.mu.Unlock()
			}
		}
	}
}

func (l *load) someLive() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.live) == 0 {
		return "", false
	}
	return l.live[l.chance.intn(len(l.live))], true
}

// countOpen returns how many matches are not over; more than a page counts as
// a page.
func (l *load) countOpen(ctx context.Context) (int, error) {
	var list struct {
		Items []struct {
			ID string `json:"match_id"`
		} `json:"items"`
	}
	if _, err := l.reader.call(ctx, http.MethodGet, "/v1/matches?status=scheduled,ready,running&limit=100", nil, &list); err != nil {
		return 0, err
	}
	live := make([]string, len(list.Items))
	for i, m := range list.Items {
		live[i] = m.ID
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = live
	return len(live), nil
}

// drained waits until no match is open, at most for limit.
func (l *load) drained(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for {
		n, err := l.countOpen(ctx)
		if err == nil && n == 0 {
			l.open.Store(0)
			return nil
		}
		if err == nil {
			l.open.Store(int64(n))
			err = fmt.Errorf("%d matches are open, such as %s", n, strings.Join(l.live[:min(3, len(l.live))], ", "))
		}
		if ctx.Err() == nil {
			last = err
		}
		if !wait(ctx, 200*time.Millisecond) {
			return errors.Join(fmt.Errorf("after %v", limit), last)
		}
	}
}

// promised returns the matches that the arena promised.
func (l *load) promised() (acked, voided []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.acked...), append([]string(nil), l.voided...)
}

// recent returns one of the newest matches.
func (l *load) recent() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.acked) == 0 {
		return "", false
	}
	newest := l.acked[max(0, len(l.acked)-16):]
	return newest[l.chance.intn(len(newest))], true
}

// sighted notes when agents' secrets in text were first seen by an unauthenticated client.
func (l *load) sighted(text string, at time.Time) {
	for {
		i := strings.Index(text, "secret-m_")
		if i < 0 {
			return
		}
		text = text[i+len("secret-"):]
		match, rest, ok := strings.Cut(text, "-r")
		if !ok {
			return
		}
		round := 0
		if _, err := fmt.Sscanf(rest, "%d-", &round); err != nil {
			continue
		}
		l.mu.Lock()
		if first, seen := l.sightings[place{match, round}]; !seen || at.Before(first) {
			l.sightings[place{match, round}] = at
		}
		l.mu.Unlock()
	}
}

func (l *load) seen() map[place]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.sightings)
}
