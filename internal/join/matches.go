package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
)

const (
	callTime      = 15 * time.Second
	firstInterval = 2 * time.Second // between two reads of a match in which nothing happens
	lastInterval  = 30 * time.Second
)

// matches follows the matches of the agent and prints them.
type matches struct {
	arena    *apiclient.Client
	agentID  string
	board    *board
	interval time.Duration
	changed  func() // called without a lock after a match began or ended

	mu       sync.Mutex
	byID     map[string]*match // those that have not ended
	ended    map[string]bool
	begun    int
	finished int
	won      int
	drawn    int
	void     int
	deltas   map[string]float64 // of ratings, by league
	wg       sync.WaitGroup
}

// match is a match of the agent that has not ended.
type match struct {
	id      string
	number  int // from 1 on
	refresh chan struct{}
}

// snapshot is what is read of a match.
type snapshot struct {
	League      string `json:"league"`
	Status      string `json:"status"`
	Round       int    `json:"round"`
	TotalRounds *int   `json:"total_rounds"`
	VoidReason  string `json:"void_reason"`
	Seats       []seat `json:"seats"`
}

type seat struct {
	AgentID      string   `json:"agent_id"`
	Name         string   `json:"name"`
	Points       float64  `json:"points"`
	Place        int      `json:"place"`
	RatingBefore *float64 `json:"rating_before"`
	RatingDelta  *float64 `json:"rating_delta"`
}

// seen notes that a task of a match came, and follows the match from its first
// task on until ctx ends.
func (ms *matches) seen(ctx context.Context, id string) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.ended[id] {
		return
	}
	m := ms.byID[id]
	if m == nil {
		ms.begun++
		m = &match{id: id, number: ms.begun, refresh: make(chan struct{}, 1)}
		ms.byID[id] = m
		ms.wg.Go(func() { ms.follow(ctx, m) })
		return
	}
	select {
	case m.refresh <- struct{}{}:
	default:
	}
}

// follow reads a match until it has ended.
func (ms *matches) follow(ctx context.Context, m *match) {
	ms.changed()
	pause, announced, last := ms.interval, false, ""
	for {
		s, err := ms.read(ctx, m.id)
		var refusal *apiclient.Problem
		switch {
		case err == nil:
			if !announced {
				announced = true
				ms.board.line("match %d, %s, against %s: %s/m/%s", m.number, s.League, s.opponents(ms.agentID), ms.arena.Base, m.id)
			}
			if ms.end(m, s) {
				ms.changed()
				return
			}
			if now := s.progress(ms.agentID); now != last {
				last, pause = now, ms.interval
				ms.board.show("match %d: %s", m.number, now)
			}
		case errors.As(err, &refusal) && (refusal.Status == http.StatusNotFound || refusal.Status == http.StatusGone):
			ms.forget(m) // a rehearsal, or a match that was erased
			ms.changed()
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause = min(pause*3/2, max(lastInterval, ms.interval))
		case <-m.refresh:
			pause = ms.interval
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

func (ms *matches) read(ctx context.Context, id string) (s snapshot, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err = ms.arena.Call(ctx, http.MethodGet, "/v1/matches/"+url.PathEscape(id), nil, &s)
	return s, err
}

// end counts and prints a match that has ended. It reports whether it has.
func (ms *matches) end(m *match, s snapshot) bool {
	switch s.Status {
	case "finished", "void", "cancelled":
	default:
		return false
	}
	ms.forget(m)
	own, others := s.split(ms.agentID)
	ms.mu.Lock()
	result := "void"
	switch {
	case s.Status != "finished":
		ms.void++
	default:
		ms.finished++
		shared := false
		for _, o := range others {
			shared = shared || o.Place == own.Place
		}
		switch {
		case own.Place != 1:
			result = "lost"
		case shared:
			result = "drawn"
			ms.drawn++
		default:
			result = "won"
			ms.won++
		}
		if own.RatingDelta != nil {
			ms.deltas[s.League] += *own.RatingDelta
		}
	}
	ms.mu.Unlock()
	if result == "void" {
		ms.board.line("match %d: void, %s", m.number, cmp.Or(s.VoidReason, s.Status))
		return true
	}
	if len(others) > 1 {
		result = fmt.Sprintf("place %d of %d", own.Place, len(s.Seats))
	}
	ms.board.line("match %d: %s %s against %s%s", m.number, result, score(own, others), s.opponents(ms.agentID), rating(own))
	return true
}

func (ms *matches) forget(m *match) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	delete(ms.byID, m.id)
	ms.ended[m.id] = true
}

// counts returns how many matches have finished and how many are running.
func (ms *matches) counts() (finished, running int) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.finished, len(ms.byID)
}

// summary describes the whole run.
func (ms *matches) summary() string {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	var b strings.Builder
	switch ms.finished {
	case 0:
		b.WriteString("no match finished")
	case 1:
		b.WriteString("1 match")
	default:
		fmt.Fprintf(&b, "%d matches", ms.finished)
	}
	if ms.finished > 0 {
		fmt.Fprintf(&b, ": %d won, %d drawn, %d lost", ms.won, ms.drawn, ms.finished-ms.won-ms.drawn)
	}
	for _, league := range sortedKeys(ms.deltas) {
		fmt.Fprintf(&b, "; rating in %s %+.1f", league, ms.deltas[league])
	}
	if ms.void > 0 {
		fmt.Fprintf(&b, "; %d void", ms.void)
	}
	for _, id := range sortedKeys(ms.byID) {
		fmt.Fprintf(&b, "; %s is still running", id)
	}
	return b.String()
}

// split returns the agent's seat and the other seats.
func (s snapshot) split(agentID string) (own seat, others []seat) {
	for _, o := range s.Seats {
		if o.AgentID == agentID {
			own = o
		} else {
			others = append(others, o)
		}
	}
	return own, others
}

func (s snapshot) opponents(agentID string) string {
	_, others := s.split(agentID)
	switch len(others) {
	case 0:
		return "nobody"
	case 1:
		return others[0].Name
	default:
		return fmt.Sprintf("%d agents", len(others))
	}
}

func (s snapshot) progress(agentID string) string {
	own, others := s.split(agentID)
	round := fmt.Sprint(s.Round)
	if s.TotalRounds != nil {
		round += fmt.Sprintf(" of %d", *s.TotalRounds)
	}
	return fmt.Sprintf("%s against %s, round %s, %s", s.League, s.opponents(agentID), round, score(own, others))
}

func score(own seat, others []seat) string {
	if len(others) == 1 {
		return fmt.Sprintf("%g:%g", own.Points, others[0].Points)
	}
	return fmt.Sprintf("%g points", own.Points)
}

func rating(own seat) string {
	if own.RatingDelta == nil || own.RatingBefore == nil {
		return ", not rated"
	}
	return fmt.Sprintf(", rating %.1f (%+.1f)", *own.RatingBefore+*own.RatingDelta, *own.RatingDelta)
}
