package visibility_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory holds the rows of one match.
type memory struct {
	visibility.Store

	mu       sync.Mutex
	m        arena.Match
	rounds   []arena.Round
	answers  []arena.Answer
	verdicts []arena.Verdict
	events   []arena.Event
	vote     time.Time // when the vote on the open round ends
	fail     error     // of reads of events
	reads    int       // of the match
}

func (s *memory) Match(context.Context, string) (arena.Match, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.m, nil
}

func (s *memory) Matches(context.Context, arena.MatchFilter, arena.Page) ([]arena.Match, string, error) {
	return []arena.Match{s.m}, "next", nil
}

func (s *memory) Rounds(context.Context, string) ([]arena.Round, error) {
	return slices.Clone(s.rounds), nil
}

func (s *memory) RoundsAt(_ context.Context, at map[string]int) (map[string]arena.Round, error) {
	found := map[string]arena.Round{}
	for _, round := range s.rounds {
		if round.No == at[s.m.ID] {
			found[s.m.ID] = round
		}
	}
	return found, nil
}

func (s *memory) Answers(context.Context, string) ([]arena.Answer, error) { return s.answers, nil }

func (s *memory) VoteUntil(_ context.Context, _ string, round int) (time.Time, error) {
	if round != s.m.Round {
		return time.Time{}, nil
	}
	return s.vote, nil
}

func (s *memory) Verdicts(context.Context, string) ([]arena.Verdict, error) { return s.verdicts, nil }

func (s *memory) EventsAfter(_ context.Context, _ string, since int64, limit int) ([]arena.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	since = min(since, int64(len(s.events)))
	return s.events[since:min(int(since)+limit, len(s.events))], nil
}

func (s *memory) EventsOfTypes(_ context.Context, _ string, upTo int64, types ...arena.EventType) ([]arena.Event, error) {
	var found []arena.Event
	for _, e := range s.events[:upTo] {
		if slices.Contains(types, e.Type) {
			found = append(found, e)
		}
	}
	return found, nil
}

func (s *memory) FirstEventSince(_ context.Context, _ string, at time.Time, open int) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events[min(1, len(s.events)):] {
		if e.At.After(at) || open > 0 && e.Round == open && e.Type != arena.EventRoundStarted {
			return e.Seq, nil
		}
	}
	return 0, nil
}

// add makes the changes and adds an event.
func (s *memory) add(t arena.EventType, round int, change ...func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range change {
		f()
	}
	s.m.Seq++
	s.events = append(s.events, arena.Event{MatchID: s.m.ID, Seq: s.m.Seq, Round: round, At: time.Now(), Type: t, Body: []byte(`{}`)})
}

func reader(t *testing.T, s visibility.Store) *visibility.Reader {
	t.Helper()
	r := visibility.NewReader(s, time.Now)
	return r
}

func running(v arena.Visibility) *memory {
	return &memory{m: arena.Match{ID: "m_1", League: "trivia", Status: arena.MatchRunning, Settings: arena.Settings{Visibility: v}}}
}

// Nothing of a round that spectators have not seen close is in any read, in
// any mode and also after a match that ended within the round. Threat F1.
func TestReader_ClosedRounds(t *testing.T) {
	t.Parallel()
	at := time.Now()
	for name, c := range map[string]struct {
		status arena.MatchStatus
		open   bool
	}{"open": {arena.MatchRunning, true}, "ended within": {arena.MatchVoid, false}} {
		for _, v := range []arena.Visibility{"live", "sealed"} {
			t.Run(name+"/"+string(v), func(t *testing.T) {
				t.Parallel()
				s := running(v)
				s.m.Round, s.m.RoundOpen, s.m.Status = 2, c.open, c.status
				s.rounds = []arena.Round{{No: 1, ClosedAt: at}, {No: 2, Turn: arena.Turn{Description: "for all"}}}
				s.answers = []arena.Answer{{Round: 1, AgentID: "ag_1"}, {Round: 2, AgentID: "ag_1"}}
				stored := slices.Clone(s.rounds)
				for i := range stored {
					stored[i].Turn.Prompts = []arena.Prompt{{Description: "for one"}}
				}
				r := reader(t, &memory{m: s.m, rounds: stored, answers: s.answers})
				m, err := r.Match(t.Context(), "m_1")
				if err != nil {
					t.Fatal(err)
				}
				rounds, err := r.Rounds(t.Context(), m)
				if diff := cmp.Diff(s.rounds, rounds); diff != "" || err != nil {
					t.Errorf("rounds (-want +got):\n%s%v", diff, err)
				}
				last, err := r.LastRounds(t.Context(), m)
				if diff := cmp.Diff(map[string]arena.Round{m.ID: s.rounds[1]}, last); diff != "" || err != nil {
					t.Errorf("last rounds (-want +got):\n%s%v", diff, err)
				}
				closed, err := r.ClosedRounds(t.Context(), m)
				if diff := cmp.Diff([]visibility.ClosedRound{{Round: s.rounds[0], Answers: s.answers[:1]}}, closed); diff != "" || err != nil {
					t.Errorf("closed rounds (-want +got):\n%s%v", diff, err)
				}
			})
		}
	}
}

// A match shows the open vote of a crowd until it ends, and no other.
func TestReader_VoteUntil(t *testing.T) {
	t.Parallel()
	soon := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		change func(*memory)
		open   bool
	}{
		"open":        {func(*memory) {}, true},
		"none":        {func(s *memory) { s.vote = time.Time{} }, false},
		"ended":       {func(s *memory) { s.vote = time.Now().Add(-time.Second) }, false},
		"closed":      {func(s *memory) { s.m.RoundOpen = false }, false},
		"over":        {func(s *memory) { s.m.Status = arena.MatchVoid }, false},
		"other judge": {func(s *memory) { s.m.Settings.Judge.Kind = arena.JudgePanel }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := running(arena.VisibilitySealed)
			s.m.Settings.Judge.Kind, s.m.Round, s.m.RoundOpen, s.vote = arena.JudgeCrowd, 2, true, soon
			c.change(s)
			m, err := reader(t, s).Match(t.Context(), "m_1")
			if err != nil {
				t.Fatal(err)
			}
			if got := m.VoteUntil(); got.Equal(soon) != c.open || got.IsZero() == c.open {
				t.Errorf("the vote ends at %s", got)
			}
		})
	}
}

// What is read of a match later is what was visible when it was read, although
// the match runs on.
func TestReader_snapshot(t *testing.T) {
	t.Parallel()
	s := running("live")
	s.m.Round, s.m.RoundOpen = 1, true
	r := reader(t, s)
	m, err := r.Match(t.Context(), "m_1")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	s.rounds = []arena.Round{{No: 1, ClosedAt: at}, {No: 2, ClosedAt: at}}
	s.answers = []arena.Answer{{Round: 1}, {Round: 2}}
	s.verdicts = []arena.Verdict{{Round: 1}, {Round: 2}}
	rounds, err := r.Rounds(t.Context(), m)
	last, lastErr := r.LastRounds(t.Context(), m)
	if diff := cmp.Diff(map[string]arena.Round{m.ID: {No: 1}}, last); diff != "" || lastErr != nil {
		t.Errorf("last rounds (-want +got):\n%s%v", diff, lastErr)
	}
	if diff := cmp.Diff([]arena.Round{{No: 1}}, rounds); diff != "" || err != nil {
		t.Errorf("rounds (-want +got):\n%s%v", diff, err)
	}
	if closed, err := r.ClosedRounds(t.Context(), m); len(closed) > 0 || err != nil {
		t.Errorf("closed rounds %v, %v", closed, err)
	}
	if verdicts, err := r.Verdicts(t.Context(), m); len(verdicts) > 0 || err != nil {
		t.Errorf("verdicts %v, %v", verdicts, err)
	}
}

// The log of a match without delay costs one read: no topic of the stream reads
// a match for each page.
func TestReader_Events_noDelay(t *testing.T) {
	t.Parallel()
	for _, v := range []arena.Visibility{"live", "sealed"} {
		s := running(v)
		s.add(arena.EventMatchScheduled, 0)
		s.add(arena.EventThinking, 1)
		r := reader(t, s)
		m, err := r.Match(t.Context(), "m_1")
		if err != nil {
			t.Fatal(err)
		}
		before := s.reads
		events, err := r.Events(t.Context(), m.Log(), 0, 10)
		if len(events) != 2 || err != nil || s.reads != before {
			t.Errorf("%s: %d events, %d reads of the match, %v", v, len(events), s.reads-before, err)
		}
	}
}

// published collects the events that a DelayedPublisher sends.
type published struct {
	mu  sync.Mutex
	at  map[int64]time.Time
	all []int64
}

func (p *published) seqs() []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

func (p *published) Publish(league string, events ...arena.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		p.all = append(p.all, e.Seq)
		p.at[e.Seq] = time.Now()
	}
	if league != "trivia" {
		panic(league)
	}
}

func follow(t *testing.T, s *memory) (p *published, stop func()) {
	t.Helper()
	p = &published{at: map[int64]time.Time{}}
	d := visibility.NewDelayedPublisher(reader(t, s), p, slog.New(slog.NewTextHandler(t.Output(), nil)))
	stop, err := d.Follow(t.Context(), s.m)
	if err != nil {
		t.Fatal(err)
	}
	return p, stop
}

// Each event of a delayed match is published once, in order, within half a
// second after its time; nothing of an open round but its start. docs/rules.md,
// section 5; threat F1.
func TestDelayedPublisher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := running("delayed:30")
		s.add(arena.EventMatchScheduled, 0)
		s.add(arena.EventMatchStarted, 0)
		time.Sleep(40 * time.Second)
		p, stop := follow(t, s) // the first two are visible already
		s.add(arena.EventRoundStarted, 1, func() { s.m.Round, s.m.RoundOpen = 1, true })
		started := time.Now()
		s.add(arena.EventThinking, 1)
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]int64{3}, p.seqs()); diff != "" {
			t.Errorf("while the round is open (-want +got):\n%s", diff)
		}
		p.mu.Lock()
		late := p.at[3].Sub(started)
		p.mu.Unlock()
		if late < 30*time.Second || late > 30500*time.Millisecond {
			t.Errorf("published after %s", late)
		}
		s.add(arena.EventRoundClosed, 1, func() { s.m.RoundOpen, s.fail = false, errors.New("the storage is unavailable") })
		closed := time.Now()
		time.Sleep(20 * time.Second)
		if n := len(p.seqs()); n > 1 {
			t.Errorf("published %d events without reading them", n)
		}
		s.mu.Lock()
		s.fail = nil
		s.mu.Unlock()
		time.Sleep(9 * time.Second)
		if diff := cmp.Diff([]int64{3, 4}, p.seqs()); diff != "" {
			t.Errorf("before the round was visibly closed (-want +got):\n%s", diff)
		}
		time.Sleep(time.Until(closed.Add(30 * time.Second)))
		stop() // between two ticks: it publishes what is visible by now
		stop()
		if diff := cmp.Diff([]int64{3, 4, 5}, p.seqs()); diff != "" {
			t.Errorf("after the end (-want +got):\n%s", diff)
		}
		s.add(arena.EventRoundStarted, 2)
		time.Sleep(time.Minute)
		if len(p.seqs()) != 3 {
			t.Errorf("published %v after stop", p.seqs())
		}
	})
}

func TestDelayedPublisher_noDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := running("sealed")
		s.add(arena.EventMatchScheduled, 0)
		p, stop := follow(t, s)
		s.add(arena.EventMatchStarted, 0)
		time.Sleep(time.Minute)
		stop()
		if len(p.seqs()) > 0 {
			t.Errorf("published %v", p.seqs())
		}
	})
}

// A match that is shown as it was created holds nothing of what came later.
func TestScheduled(t *testing.T) {
	t.Parallel()
	at := time.Now()
	m := arena.Match{
		ID: "m_1", Status: arena.MatchRunning, Seq: 1, Round: 3, RoundOpen: true, StartsAt: at, StartedAt: at,
		Seats: []arena.Seat{{AgentID: "ag_1", Name: "One", State: arena.SeatOut, OutRound: 2, Points: arena.OnePoint}},
	}
	want := arena.Match{ID: "m_1", Status: arena.MatchScheduled, Seq: 1, StartsAt: at, Seats: []arena.Seat{{AgentID: "ag_1", Name: "One", State: arena.SeatActive}}}
	if diff := cmp.Diff(want, visibility.Scheduled(m).Row()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The position of a game is the latest one that spectators see, and none of a later
// event. Threat F1.
func TestReader_Position(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		v    arena.Visibility
		game bool
		seq  int64 // of the match as spectators see it
		want string
	}{
		"live":             {"live", true, 0, `"closed 2"`},
		"sealed":           {"sealed", true, 0, `"closed 2"`},
		"in a round":       {"live", true, 3, `"open 1"`},
		"events of agents": {"live", true, 301, `"closed 1"`},
		"before the first": {"live", true, 1, ""},
		"of a quiz":        {"live", false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := running(c.v)
			s.m.Round = 2
			if c.game {
				s.m.Settings.Game = &arena.GameSpec{Name: "chess"}
			}
			add := func(of arena.EventType, round int, body string) {
				s.add(of, round)
				s.events[len(s.events)-1].Body = []byte(body)
			}
			add(arena.EventMatchScheduled, 0, `{}`)
			add(arena.EventRoundStarted, 1, `{"state":"open 1"}`)
			add(arena.EventSeatOutcome, 1, `{"state":"of an agent"}`)
			add(arena.EventRoundClosed, 1, `{"state":"closed 1"}`)
			for range 300 {
				add(arena.EventSeatOutcome, 1, `{}`)
			}
			add(arena.EventRoundClosed, 2, `{"state":"closed 2"}`)
			add(arena.EventMatchFinished, 0, `{}`)
			if c.seq > 0 {
				s.m.Seq = c.seq
			}
			r := reader(t, s)
			m, err := r.Match(t.Context(), "m_1")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.Position(t.Context(), m); string(got) != c.want || err != nil {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

// Of a delayed match the position is as old as all that spectators see of it.
func TestReader_Position_delayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := running("delayed:30")
		s.m.Settings.Game = &arena.GameSpec{Name: "chess"}
		add := func(of arena.EventType, round int, state string, change ...func()) {
			s.add(of, round, change...)
			s.events[len(s.events)-1].Body = []byte(`{"state":"` + state + `"}`)
		}
		add(arena.EventMatchScheduled, 0, "")
		add(arena.EventRoundStarted, 1, "open 1", func() { s.m.Round, s.m.RoundOpen = 1, true })
		time.Sleep(20 * time.Second)
		add(arena.EventRoundClosed, 1, "closed 1", func() { s.m.RoundOpen = false })
		r := reader(t, s)
		see := func(want string) {
			t.Helper()
			m, err := r.Match(t.Context(), "m_1")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.Position(t.Context(), m); string(got) != want || err != nil {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		}
		see("")
		time.Sleep(11 * time.Second)
		see(`"open 1"`)
		time.Sleep(20 * time.Second)
		see(`"closed 1"`)
	})
}

func (s *memory) LostRounds(context.Context, arena.LossFilter, arena.Page) ([]arena.LostRound, string, error) {
	var lost []arena.LostRound
	for _, r := range s.rounds {
		r.MatchID = s.m.ID
		l := arena.LostRound{Round: r, Seat: 1, Answer: arena.Answer{Round: r.No, Body: &arena.AnswerBody{Answer: "mine"}}}
		l.Round.Turn.Prompts = []arena.Prompt{{Seat: 0, Description: "for another"}, {Seat: 1, Description: "for it"}}
		lost = append(lost, l)
	}
	return lost, "next", nil
}

// Spectators read of a lost round what they may read of the round, its owner reads
// all of it but the prompts of others. Threat F1.
func TestReader_Losses(t *testing.T) {
	t.Parallel()
	game := arena.Settings{Visibility: "sealed", Game: &arena.GameSpec{Name: "chess"}}
	for name, c := range map[string]struct {
		status   arena.MatchStatus
		settings arena.Settings
		own      bool
		want     []string
	}{
		"spectators":          {arena.MatchRunning, arena.Settings{Visibility: "live"}, false, []string{"1 mine"}},
		"owner":               {arena.MatchRunning, arena.Settings{Visibility: "live"}, true, []string{"1 mine for it", "2 mine for it"}},
		"sealed game":         {arena.MatchRunning, game, false, []string{"1 sealed"}},
		"sealed game, owner":  {arena.MatchRunning, game, true, []string{"1 mine for it", "2 mine for it"}},
		"sealed game is over": {arena.MatchFinished, game, false, []string{"1 mine for it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := running("live")
			s.m.Status, s.m.Settings, s.m.Round, s.m.RoundOpen = c.status, c.settings, 2, true
			s.rounds = []arena.Round{{No: 1}, {No: 2}}
			lost, next, err := reader(t, s).Losses(t.Context(), arena.LossFilter{}, c.own, arena.Page{Limit: 10})
			var got []string
			for _, l := range lost {
				text := fmt.Sprint(l.Round.No, " sealed")
				if l.Answer.Body != nil {
					text = fmt.Sprint(l.Round.No, " ", l.Answer.Body.Answer)
				}
				for _, p := range l.Round.Turn.Prompts {
					text += " " + p.Description
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil || next != "next" {
				t.Errorf("%v, next %q (-want +got):\n%s", err, next, diff)
			}
		})
	}
}
