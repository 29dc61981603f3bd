package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/internal/apiclient"
)

// The leagues of the soak: one long match that most spectators watch, duels of
// honest agents, and matches of one honest agent with hostile ones, of one
// round.
const (
	soakCalm  = "calm"
	soakDuels = "duels"
	soakMixed = "mixed"

	soakMixedLimit = 2 * time.Second
)

// soakTable is one table of agents that play match after match.
type soakTable struct {
	league string
	agents []string // an honest one first
}

func (s *soak) play(ctx context.Context) (err error) {
	s.say("registering agents …")
	tables, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	s.matches = map[string]*soakMatch{}
	watching, stopWatching := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer func() { stopWatching(); watchers.Wait() }()
	failed := make(chan error, 8)
	for _, league := range []string{soakCalm, soakDuels, soakMixed} {
		events, err := watchLeague(watching, s.server.URL(), league)
		if err != nil {
			return err
		}
		watchers.Go(func() {
			defer events.Close() //nolint:errcheck // the run is over
			lines := bufio.NewScanner(events)
			lines.Buffer(nil, 16<<20)
			for lines.Scan() {
				if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok {
					s.event(data)
				}
			}
			if watching.Err() == nil {
				failed <- fmt.Errorf("the stream of league %s ended: %w", league, lines.Err())
			}
		})
	}
	crowd, err := startCrowd(s.app)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, crowd.stop())
		s.figures.CrowdCPU = cpuOf(crowd.cmd.ProcessState).Seconds()
	}()
	if err := s.warm(ctx, crowd, tables, failed); err != nil {
		return err
	}
	if err := s.load(ctx, crowd, tables, failed); err != nil {
		return err
	}
	if err := s.calm(ctx); err != nil {
		return err
	}
	return heapProfile(s.cmd.Heap)
}

// warm lets every table play a match before a few spectators, so that the end is
// compared with a server that has already worked.
func (s *soak) warm(ctx context.Context, crowd *crowdProcess, tables []soakTable, failed chan error) error {
	few := max(1, min(100, s.cmd.Spectators/10))
	s.say(fmt.Sprintf("one match of each before %d spectators, for a start …", few))
	if _, err := crowd.do(crowdOrder{Do: "watch", Group: "first", URL: s.server.URL() + "/v1/stream?league=" + soakDuels, Count: few}); err != nil {
		return err
	}
	if err := s.tables(ctx, tables[1:], func() bool { return false }, failed); err != nil {
		return err
	}
	if _, err := crowd.do(crowdOrder{Do: "leave", Group: "first"}); err != nil {
		return err
	}
	if _, err := s.arrivals(ctx, http.MethodPost); err != nil {
		return err
	}
	s.forget()
	return s.rest(ctx)
}

// prepare makes the leagues and the agents, and seats them.
func (s *soak) prepare(ctx context.Context) ([]soakTable, error) {
	rest := max(1, int(s.cmd.Duration/time.Second+199)/200) // seconds between two rounds of the long match, which has 200 at most
	rounds := int(s.cmd.Duration/time.Second) / rest
	for slug, body := range map[string]map[string]any{
		soakCalm:  {"format": "ladder", "rounds": rounds, "break_seconds": rest, "time_limit_seconds": 5, "max_seats": 2},
		soakDuels: {"format": "ladder", "rounds": 5, "break_seconds": 1, "time_limit_seconds": 5, "max_seats": 2},
		soakMixed: {"format": "elimination", "rounds": 1, "time_limit_seconds": soakMixedLimit.Seconds(), "max_seats": 128},
	} {
		var pack struct {
			ID string `json:"pack_id"`
		}
		line := []byte(`{"description":"question","answer":"` + benchAnswer + `"}` + "\n")
		if err := s.admin.Call(ctx, http.MethodPost, "/v1/packs?format=jsonl&name="+slug, line, &pack); err != nil {
			return nil, err
		}
		body["slug"], body["title"], body["pack_id"], body["judge"], body["rated"] = slug, slug, pack.ID, "exact", true
		if body["format"] == "ladder" {
			body["pace"] = map[string]any{"matches_per_day": 0, "pause_seconds": 0, "unrated_filler": true}
		}
		if err := s.admin.Call(ctx, http.MethodPost, "/v1/leagues", body, nil); err != nil {
			return nil, err
		}
	}
	var honest, hostile []string
	for i, endpoint := range slices.Concat(s.fleet.Honest, s.fleet.Hostile) {
		id, err := registerAgent(ctx, s.admin, fmt.Sprintf("owner %d", i), fmt.Sprintf("agent %d", i), endpoint, soakCalm, soakDuels, soakMixed)
		if err != nil {
			return nil, err
		}
		if i < len(s.fleet.Honest) {
			honest = append(honest, id)
		} else {
			hostile = append(hostile, id)
		}
	}
	s.honest = map[string]bool{}
	for _, id := range honest {
		s.honest[id] = true
	}
	tables := []soakTable{{soakCalm, honest[:2]}}
	paired := 2 + 2*s.cmd.Duels
	for pair := range slices.Chunk(honest[2:paired], 2) {
		tables = append(tables, soakTable{soakDuels, pair})
	}
	mixed := honest[paired:]
	for i, id := range mixed {
		t := soakTable{soakMixed, []string{id}}
		for j := i; j < len(hostile); j += len(mixed) {
			t.agents = append(t.agents, hostile[j])
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// load is the soak itself: the crowd comes, all tables play, the crowd leaves.
func (s *soak) load(ctx context.Context, crowd *crowdProcess, tables []soakTable, failed chan error) (err error) {
	long := tables[0]
	match, err := s.post(ctx, &long)
	if err != nil {
		return err
	}
	stopWaiting, err := s.wait(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopWaiting()) }()
	s.say(fmt.Sprintf("%d spectators come …", s.cmd.Spectators))
	stream := s.server.URL() + "/v1/stream?"
	frozen := max(1, s.cmd.Spectators/200)
	roaming := s.cmd.Spectators / 10
	groups := []crowdOrder{
		{Do: "frozen", Group: "frozen", URL: stream + "league=" + soakMixed, Count: frozen},
		{Do: "watch", Group: "roaming", URL: stream + "league=" + soakDuels, Count: roaming},
		{Do: "watch", Group: "long", URL: stream + "since=0&match=" + match, Count: s.cmd.Spectators - frozen - roaming},
	}
	for _, g := range groups {
		if _, err := crowd.do(g); err != nil {
			return err
		}
	}
	s.say(fmt.Sprintf("%v of matches …", s.cmd.Duration))
	sampling, stop := context.WithCancel(ctx)
	var sampler sync.WaitGroup
	sampler.Go(func() { s.sample(sampling) })
	began, cpu := time.Now(), cpuTime()
	err = profiled(s.cmd.Profile, func() error {
		return s.tables(ctx, tables[1:], func() bool { return time.Since(began) < s.cmd.Duration }, failed)
	})
	s.figures.ServerCPU = (cpuTime() - cpu).Seconds()
	stop()
	sampler.Wait()
	if err != nil {
		return err
	}
	if err := s.await(ctx, match, failed); err != nil {
		return err
	}
	s.say("all leave …")
	for _, g := range groups {
		r, err := crowd.do(crowdOrder{Do: "report", Group: g.Group})
		if err != nil {
			return err
		}
		s.figures.Deliveries += r.Events
		if g.Group == "long" { // a league's events come from many logs
			s.figures.Wrong += r.Wrong
		}
		if g.Do == "watch" {
			s.figures.Closed += r.Closed
		}
		if _, err := crowd.do(crowdOrder{Do: "leave", Group: g.Group}); err != nil {
			return err
		}
	}
	at, err := s.arrivals(ctx, http.MethodGet)
	if err != nil {
		return err
	}
	s.sumUp(at)
	return nil
}

// wait lets agents without an endpoint wait for tasks in a process of their own, until
// stop.
func (s *soak) wait(ctx context.Context) (stop func() error, err error) {
	if s.cmd.Waiting == 0 {
		return func() error { return nil }, nil
	}
	s.say(fmt.Sprintf("%d agents wait for tasks …", s.cmd.Waiting))
	polls, err := pullers(ctx, s.server.Store, s.cmd.Waiting, pollWait)
	if err != nil {
		return nil, err
	}
	waiting, err := startCrowd(s.app)
	if err != nil {
		return nil, err
	}
	stop = func() error {
		r, err := waiting.do(crowdOrder{Do: "report", Group: "polls"})
		s.figures.Polls, s.figures.Refused = r.Events, r.Wrong
		return errors.Join(err, waiting.stop())
	}
	// Their polls are spread over half of the wait.
	if _, err := waiting.do(crowdOrder{Do: "poll", Group: "polls", URL: s.server.URL(), Polls: polls, Every: pollWait / 2 / time.Duration(len(polls))}); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// pollWait is how long a poll of an agent on one of the SDKs waits.
const pollWait = 50 * time.Second

// tables lets every table play at least one match, and more while it may.
func (s *soak) tables(ctx context.Context, tables []soakTable, more func() bool, failed chan error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var playing sync.WaitGroup
	for _, t := range tables {
		playing.Go(func() {
			for first := true; ctx.Err() == nil && (first || more()); first = false {
				id, err := s.post(ctx, &t)
				if err == nil {
					err = s.await(ctx, id, failed)
				}
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	playing.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// post schedules a match of a table. Hostile agents that cannot take a seat
// now are left out.
func (s *soak) post(ctx context.Context, t *soakTable) (id string, err error) {
	seats := slices.Clone(t.agents)
	for {
		var m struct {
			ID string `json:"match_id"`
		}
		posted := time.Now()
		err := s.admin.Call(ctx, http.MethodPost, "/v1/matches", map[string]any{"league": t.league, "agents": seats}, &m)
		if err == nil {
			s.mu.Lock()
			s.matchOf(m.ID).posted = posted
			s.mu.Unlock()
			return m.ID, nil
		}
		refused, ok := errors.AsType[*apiclient.Problem](err)
		if !ok || len(refused.Errors) == 0 {
			return "", err
		}
		var out []int
		for _, e := range refused.Errors {
			n, bad := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(e.Field, "agents["), "]"))
			if bad != nil || n == 0 || n >= len(seats) {
				return "", err
			}
			out = append(out, n)
		}
		kept := seats[:0]
		for i, id := range seats {
			if !slices.Contains(out, i) {
				kept = append(kept, id)
			}
		}
		seats = kept
	}
}

// matchOf needs s.mu: the first event may come before the answer to the POST.
func (s *soak) matchOf(id string) *soakMatch {
	m := s.matches[id]
	if m == nil {
		m = &soakMatch{over: make(chan struct{})}
		s.matches[id] = m
	}
	return m
}

func (s *soak) await(ctx context.Context, id string, failed chan error) error {
	s.mu.Lock()
	over := s.matchOf(id).over
	s.mu.Unlock()
	select {
	case <-over:
		return nil
	case err := <-failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// event records an event of any league.
func (s *soak) event(data []byte) {
	var e struct {
		MatchID  string    `json:"match_id"`
		Type     string    `json:"type"`
		At       time.Time `json:"ts"`
		Deadline time.Time `json:"deadline"`
		Seats    []struct {
			AgentID string `json:"agent_id"`
			Outcome string `json:"outcome"`
		} `json:"seats"`
	}
	if json.Unmarshal(data, &e) != nil || e.MatchID == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, f := s.matchOf(e.MatchID), &s.figures
	switch e.Type {
	case "round_started":
		m.deadline = e.Deadline
	case "round_closed":
		silent := false
		for _, seat := range e.Seats {
			if !s.honest[seat.AgentID] {
				f.HostileRounds[seat.Outcome]++
				silent = silent || seat.Outcome == "timeout"
				continue
			}
			f.HonestRounds++
			if seat.Outcome == "answered" {
				f.HonestAnswered++
			}
		}
		if silent {
			s.late = append(s.late, float64(e.At.Sub(m.deadline))/1e6)
		}
	case "match_finished", "match_void":
		f.Matches++
		if e.Type == "match_void" {
			f.Void++
		}
		close(m.over)
	}
}

// forget drops what the warm-up measured.
func (s *soak) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.matches)
	s.late = nil
	f := &s.figures
	f.Matches, f.Void, f.HonestRounds, f.HonestAnswered = 0, 0, 0, 0
	clear(f.HostileRounds)
}

// sumUp computes the figures.
func (s *soak) sumUp(arrivals map[string]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var delays []float64
	for id, at := range arrivals {
		if m := s.matches[id]; m != nil && !m.posted.IsZero() {
			delays = append(delays, float64(at-m.posted.UnixNano())/1e6)
		}
	}
	if len(delays) > 0 {
		s.figures.Start = shares(delays)
	}
	if len(s.late) > 0 {
		s.figures.Deadline = shares(s.late)
	}
	s.matches, s.late = map[string]*soakMatch{}, nil // a map that is cleared keeps its size
}

// cpuOf returns the processor time of a process that has exited.
func cpuOf(ended *os.ProcessState) time.Duration {
	if ended == nil {
		return 0
	}
	return ended.UserTime() + ended.SystemTime()
}
