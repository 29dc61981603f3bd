package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
)

// localMatches plays matches of two agents on an arena of one's own, several at
// once.
type localMatches struct {
	local      *localArena
	plan       localPlan
	limit      int // of matches
	concurrent int
	now        func() time.Time
	seats      func(n int) [2]string // the agents of a match, which change seats with every match
	waits      func(err error)       // called with the reason when no match can begin for a while
}

// newLocalMatches returns matches of registered agents: at most limit, and as many as
// there are tasks for, and at most concurrent at once, and as many as every agent
// takes.
func newLocalMatches(local *localArena, p localPlan, agents []registered, limit, concurrent int, now func() time.Time) localMatches {
	if p.tasks != nil {
		limit = min(limit, len(p.tasks)/p.units)
	}
	for _, a := range agents {
		concurrent = min(concurrent, max(1, a.Health.MaxConcurrent))
	}
	return localMatches{local: local, plan: p, limit: limit, concurrent: concurrent, now: now}
}

// run plays matches until the limit, or until ended, which is called with the number
// of each match that has ended, reports that it is over. It returns after all reading
// of matches has ended.
func (m *localMatches) run(ctx context.Context, ended func(n int, p played) (over bool, err error)) error {
	ctx, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	type result struct {
		n      int
		played played
		err    error
	}
	results := make(chan result)
	begun, running := 0, 0
	for {
		for running < m.concurrent && begun < m.limit {
			n, agents := begun, m.seats(begun)
			id, err := m.begin(ctx, n, agents, running == 0)
			if isNotReady(err) && running > 0 {
				break // tried again when a match has ended
			}
			if err != nil {
				return err
			}
			readers.Go(func() {
				p, err := readMatch(ctx, m.local.admin.As(""), id, agents)
				select {
				case results <- result{n, p, err}:
				case <-ctx.Done():
				}
			})
			begun++
			running++
		}
		if running == 0 {
			return nil
		}
		select {
		case r := <-results:
			running--
			if r.err != nil {
				return r.err
			}
			if over, err := ended(r.n, r.played); over || err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// How long run waits for an agent that is paused: a reply of 429 pauses it for five
// minutes.
const (
	pausePatience = 6 * time.Minute
	pauseLook     = time.Second
)

// begin starts the match with a number, with the next tasks. With wait it waits until
// the agents are ready.
func (m *localMatches) begin(ctx context.Context, n int, agents [2]string, wait bool) (id string, err error) {
	if m.plan.tasks != nil {
		p := arena.Pack{ID: arena.NewID(arena.PackPrefix, m.now()), Name: "tasks of a match", Format: "jsonl", CreatedAt: m.now().UTC()}
		if err := m.local.Parts().Store.Packs.CreatePack(ctx, p, m.plan.tasks[n*m.plan.units:(n+1)*m.plan.units]); err != nil {
			return "", err
		}
		if err := m.local.admin.Call(ctx, http.MethodPatch, "/v1/leagues/"+m.plan.slug, map[string]any{"pack_id": p.ID}, nil); err != nil {
			return "", err
		}
	}
	ids := []string{agents[n%2], agents[1-n%2]}
	for waited := time.Duration(0); ; waited += pauseLook {
		id, err = m.local.match(ctx, m.plan.slug, ids)
		if !wait || !isNotReady(err) || waited >= pausePatience {
			return id, err
		}
		if waited == 0 {
			m.waits(err)
		}
		timer := time.NewTimer(pauseLook)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", context.Cause(ctx)
		}
	}
}

// isNotReady reports whether a match was refused because an agent is paused.
func isNotReady(err error) bool {
	p, ok := errors.AsType[*apiclient.Problem](err)
	return ok && p.Code == string(arena.CodeAgentNotReady)
}
