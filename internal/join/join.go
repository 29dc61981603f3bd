package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/internal/plaintext"
)

// maxFailures is how many tasks in a row a source may fail before the agent
// pauses itself.
const maxFailures = 3

// dayCheck is how often the agent looks whether a new day has begun.
const dayCheck = 30 * time.Second

// Options describe a run. Arena and Source are needed.
type Options struct {
	Arena      string // base URL
	Source     Source
	Name       string   // of the agent; the source's when empty
	Model      string   // that a new agent declares; "": none
	Leagues    []string // slugs; every open league without any
	Key        string   // of an agent that exists; "": register one or reuse the one of the last run
	OwnerToken string   // of an owner that exists; "": sign up
	Login      string   // token of an owner who is logged in, for a new agent; "": none
	Invite     string   // lets an owner sign up where sign-ups are not open
	Matches    int      // stop after this many finished matches; 0: no limit
	NoTest     bool     // ask the source no test question
	PerDay     int      // pause after this many matches in a day; 0: no limit
	Folder     string   // where credentials are kept
	Out        io.Writer
	Live       bool // Out is a terminal
	Now        func() time.Time
	Interval   time.Duration // between two reads of a running match; 0: two seconds
}

// session is one run.
type session struct {
	o       *Options
	enroll  *enrollment
	board   *board
	matches *matches
	stop    context.CancelCauseFunc
	checks  chan struct{} // holds one: the limits have to be checked

	mu       sync.Mutex
	c        credentials
	failures int // tasks in a row
	paused   bool
	today    map[string]bool // matches that were counted in this run
}

// errEnough ends a run that has played its matches.
var errEnough = errors.New("all matches are played")

// Run asks the source a test question and plays until ctx ends, the matches are
// played or the source fails too often. A test question without an answer and the
// last are errors.
func Run(ctx context.Context, o Options) error {
	u, err := url.Parse(o.Arena)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is not an http or https URL", o.Arena)
	}
	o.Arena = strings.TrimRight(o.Arena, "/")
	b := &board{out: o.Out, live: o.Live, now: o.Now}
	defer b.close()
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		b.line("warning: without https, everyone on the way to %s can read the agent key", u.Host)
	}
	if !o.NoTest {
		if err := try(ctx, o.Source, b); err != nil {
			return err
		}
	}
	arena := apiclient.New(o.Arena, "")
	s := &session{
		o: &o, board: b, checks: make(chan struct{}, 1), today: map[string]bool{},
		enroll: &enrollment{options: &o, arena: arena, folder: folder(o.Folder), board: b},
	}
	release, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	defer release()
	s.matches = &matches{
		// With a key, requests count against the owner; without one, against the address, which allows fewer.
		arena: arena.As(s.c.AgentKey), agentID: s.c.AgentID, board: b, interval: cmp.Or(o.Interval, firstInterval), changed: s.check,
		byID: map[string]*match{}, ended: map[string]bool{}, deltas: map[string]float64{},
	}
	return s.play(ctx)
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost"
}

// prepare finds or registers the agent, locks it, enters leagues and ends a pause
// of its owner's.
func (s *session) prepare(ctx context.Context) (release func(), err error) {
	var view agentView
	if s.c, view, err = s.enroll.agent(ctx); err != nil {
		return nil, err
	}
	if s.o.PerDay > 0 && s.c.OwnerToken == "" {
		return nil, errors.New("--per-day pauses the agent, which needs --owner-token beside --key")
	}
	if release, err = s.enroll.folder.lock(s.c); err != nil {
		return nil, err
	}
	leagues, err := s.enroll.enter(ctx, s.c, view.Leagues)
	if err != nil {
		release()
		return nil, err
	}
	s.board.line("%s plays in %s: %s/a/%s", s.c.AgentName, cmp.Or(strings.Join(leagues, ", "), "no league yet"), s.o.Arena, s.c.AgentID)
	if view.Pause != nil && view.Pause.Reason == "owner" {
		s.paused = true
		if s.c.OwnerToken == "" {
			s.board.line("the agent is paused: resume it in the console")
		}
	}
	return release, nil
}

// play connects the agent and answers its tasks until the run ends.
func (s *session) play(ctx context.Context) error {
	connected, stop := context.WithCancelCause(ctx)
	s.stop = stop
	following, unfollow := context.WithCancel(ctx)
	var limits sync.WaitGroup
	limits.Go(func() { s.watchLimits(following) })
	s.check()
	s.board.line("waiting for a match; Ctrl-C stops")
	interrupted := context.AfterFunc(ctx, func() { s.board.line("stopping after the running task; Ctrl-C again stops at once") })
	defer interrupted()
	err := arenaagent.Connect(connected, arenaagent.Config{
		Arena: s.o.Arena, AgentKey: s.c.AgentKey, AgentID: s.c.AgentID, Logger: slog.New(logs{board: s.board}),
	}, func(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		s.matches.seen(following, task.MatchID)
		answer, err := s.o.Source.Answer(ctx, task, events)
		s.count(ctx, err)
		return answer, err
	})
	cause := context.Cause(connected)
	stop(nil)
	unfollow()
	limits.Wait()
	s.matches.wg.Wait()
	s.dayIsFull() // counts the matches that began last
	s.board.close()
	s.board.line("%s", s.matches.summary())
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		s.board.line("run the same command to continue as %s", s.c.AgentName)
		return nil
	case errors.Is(cause, errEnough):
		if s.paused {
			s.board.line("%s is paused until you run the command again or resume it in the console", s.c.AgentName)
		}
		return nil
	}
	return errors.Join(cause, s.pauseForGood(context.WithoutCancel(ctx)))
}

// count stops the run when the source has failed too often. The SDK logs each
// failure.
func (s *session) count(ctx context.Context, err error) {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return // the run ends
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.failures = 0
		return
	}
	s.failures++
	if s.failures >= maxFailures {
		reason := strings.ReplaceAll(err.Error(), "\n", ": ")
		s.stop(fmt.Errorf("%d tasks in a row were not answered, the last because: %s", s.failures, plaintext.Terminal(shorten(reason, maxLine))))
	}
}

// pauseForGood pauses the agent of a source that fails.
func (s *session) pauseForGood(ctx context.Context) error {
	if s.c.OwnerToken == "" {
		s.board.line("%s takes no more matches while it is not connected", s.c.AgentName)
		return nil
	}
	if err := s.setPaused(ctx, true); err != nil {
		return fmt.Errorf("pause the agent: %w", err)
	}
	s.board.line("%s is paused: run the command again when the cause is fixed", s.c.AgentName)
	return nil
}

func (s *session) setPaused(ctx context.Context, paused bool) error {
	action := "/resume"
	if paused {
		action = "/pause"
	}
	if err := s.enroll.call(ctx, s.c.OwnerToken, http.MethodPost, agentPath(s.c.AgentID, action), nil, nil); err != nil {
		return err
	}
	s.paused = paused
	return nil
}

// check has the limits checked soon.
func (s *session) check() {
	select {
	case s.checks <- struct{}{}:
	default:
	}
}

// watchLimits keeps to the limits of matches: it pauses the agent before it
// would get a seat too many, and ends the run after the last match.
func (s *session) watchLimits(ctx context.Context) {
	ticker := time.NewTicker(dayCheck)
	defer ticker.Stop()
	for {
		select {
		case <-s.checks:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		finished, running := s.matches.counts()
		if s.o.Matches > 0 && finished >= s.o.Matches {
			s.stop(errEnough)
			return
		}
		if s.c.OwnerToken == "" {
			continue
		}
		enough := s.o.Matches > 0 && finished+running >= s.o.Matches
		tomorrow := s.dayIsFull()
		if want := enough || tomorrow; want != s.paused {
			if err := s.setPaused(ctx, want); err != nil {
				if ctx.Err() == nil {
					s.board.line("the agent's pause is not changed: %s", err)
				}
				continue
			}
			if tomorrow {
				s.board.line("%d matches today: %s is paused until tomorrow", s.o.PerDay, s.c.AgentName)
			}
		}
	}
}

// dayIsFull counts the matches of the day and reports whether there may be no
// more. The count outlives the run.
func (s *session) dayIsFull() bool {
	if s.o.PerDay == 0 {
		return false
	}
	day := s.o.Now().Format(time.DateOnly)
	if s.c.Day != day {
		s.c.Day, s.c.Started = day, 0
	}
	s.matches.mu.Lock()
	begun := slices.Concat(slices.Collect(maps.Keys(s.matches.byID)), slices.Collect(maps.Keys(s.matches.ended)))
	s.matches.mu.Unlock()
	before := s.c.Started
	for _, id := range begun {
		if !s.today[id] {
			s.today[id] = true
			s.c.Started++
		}
	}
	if s.c.Started != before && s.o.Key == "" {
		if err := s.enroll.folder.save(s.c); err != nil {
			s.board.line("the count of the day is not kept: %s", err)
		}
	}
	return s.c.Started >= s.o.PerDay
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
