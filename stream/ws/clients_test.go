package ws

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

func newTestClients(t *testing.T, o Options) *Clients {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return time.Unix(1_790_000_000, 0) }
	}
	cs := NewClients(o)
	return cs
}

// Silent and expired clients end; a client that answers pings stays. Threats E8
// and E10.
func TestClients_Check(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_790_000_000, 0)
	timing := DefaultTiming()
	cs := newTestClients(t, Options{Now: func() time.Time { return start }})
	silent, alive := NewClient(KindSpectator, nil, nil), NewClient(KindSpectator, nil, nil)
	events, expiring := NewClient(KindEventStream, nil, nil), NewClient(KindAgent, nil, nil)
	expiring.SetExpiry(start.Add(timing.Ping))
	expiring.ExtendExpiry(start.Add(timing.Ping - time.Second)) // an earlier one changes nothing
	for _, c := range []*Client{silent, alive, events, expiring} {
		if err := cs.Admit(c); err != nil {
			t.Fatal(err)
		}
	}
	cs.Check(start.Add(timing.Comment))
	if !events.PingDue() || silent.PingDue() {
		t.Error("want a comment for the event stream, and no ping for sockets yet")
	}
	cs.Check(start.Add(timing.Ping))
	for _, c := range []*Client{silent, alive} {
		if !c.PingDue() || c.PingDue() {
			t.Error("want one ping")
		}
		select {
		case <-c.Woken():
		default:
			t.Error("the client was not woken for its ping")
		}
	}
	if e := expiring.Ended(); e == nil || e.Code != CloseToken {
		t.Errorf("an expired client ended with %+v", e)
	}
	alive.waiting.Store(false) // its pong
	cs.Check(start.Add(timing.Ping + timing.Pong))
	if e := silent.Ended(); e == nil || e.Code != CloseSlow {
		t.Errorf("a silent client ended with %+v", e)
	}
	for _, c := range []*Client{alive, events} {
		if e := c.Ended(); e != nil {
			t.Errorf("a client that answers ended with %+v", e)
		}
	}
}

func TestClients_Close(t *testing.T) {
	t.Parallel()
	released := 0
	cs := newTestClients(t, Options{Max: 1, Now: time.Now})
	c := NewClient(KindSpectator, func() { released++ }, nil)
	if err := cs.Admit(c); err != nil {
		t.Fatal(err)
	}
	if err := cs.Admit(NewClient(KindSpectator, nil, nil)); arena.CodeOf(err) != arena.CodeUnavailable {
		t.Errorf("a second client of one: %v", err)
	}
	if diff := cmp.Diff(map[string]int{"spectator": 1, "sse": 0, "agent": 0}, cs.Open()); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	gone := cs.Close()
	if e := c.Ended(); e == nil || e.Code != CloseRestart {
		t.Errorf("ended with %+v", e)
	}
	<-cs.Closing()
	if cs.Go(func() {}) {
		t.Error("a goroutine was started after Close")
	}
	if err := cs.Admit(NewClient(KindSpectator, nil, nil)); arena.CodeOf(err) != arena.CodeUnavailable {
		t.Errorf("a client after Close: %v", err)
	}
	select {
	case <-gone:
		t.Fatal("a client is still open")
	default:
	}
	cs.Dismiss(c)
	<-cs.Close() // again
	<-cs.Context().Done()
	if released != 1 {
		t.Errorf("released %d times, want once", released)
	}
}

// A peer chooses its close code: codes of no meaning are counted together.
func TestClients_CountClose(t *testing.T) {
	t.Parallel()
	cs := newTestClients(t, Options{})
	for _, code := range []int{1000, 3000, 3999, 4399, CloseSlow, 4430, 4999} {
		cs.CountClose(code)
	}
	if diff := cmp.Diff(map[int]uint64{1000: 1, CloseSlow: 1, CloseLost: 5}, cs.Closes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
