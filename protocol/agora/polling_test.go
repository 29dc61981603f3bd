package agora_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/agora"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// polled is a driver with an agent that polls the front.
type polled struct {
	*front
	driver *agora.Driver
	base   string
}

func newPolled(t *testing.T) *polled {
	t.Helper()
	f := newFront(t)
	guard, err := protocol.NewGuard(protocol.GuardOptions{})
	must(t, err)
	client, err := protocol.NewClient(guard, protocol.ClientOptions{Now: time.Now})
	must(t, err)
	d, err := agora.New(agora.Options{Client: client, Inbox: f.memory.box(t), Bases: f.memory, Ways: f.memory, Now: time.Now})
	must(t, err)
	return &polled{front: f, driver: d, base: f.base("ag_a")}
}

// put starts an attempt.
func (d *polled) put(ctx context.Context, round int, limit time.Duration) <-chan arena.Reply {
	d.t.Helper()
	a := protocoltest.NewAttempt("", limit)
	a.Round, a.Seat.AgentID, a.Deadline = round, "ag_a", time.Now().Add(limit)
	send, err := d.driver.Prepare(ctx, a)
	must(d.t, err)
	replies := make(chan arena.Reply, 1)
	go func() { replies <- send(ctx) }()
	return replies
}

type nextTask struct {
	Task       *int64 `json:"task"`
	TimeLeftMS int64  `json:"time_left_ms"`
	Request    *protocoltest.Task
	Error      string
}

// op sends an operation of the agent and reads the reply.
func (d *polled) op(path, body string) nextTask {
	d.t.Helper()
	message := under(d.t, "agent", body, "")
	if strings.Contains(path, "/conversations/") {
		text, err := json.Marshal(body)
		must(d.t, err)
		message = `{"status":"success","body":` + string(text) + `}`
	}
	a := d.post(path, message)
	var n nextTask
	if a.Body == nil || json.Unmarshal([]byte(*a.Body), &n) != nil {
		d.t.Fatalf("%s: %d %s", body, a.HTTP, a.Raw)
	}
	return n
}

func answerOf(task int64, reply string) string {
	return fmt.Sprintf(`{"op":"answer","task":%d,"reply":%s}`, task, reply)
}

// The whole way of a task to an agent that only polls, and of its answer.
func TestPolling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPolled(t)
		session := d.post(d.base, under(t, "agent", `{"op":"next","wait_seconds":1,"max_concurrent":3.0}`, `,"multiround":true`))
		if !session.says(`{"task":null}`) || session.ID == "" {
			t.Fatalf("%s", session.Raw)
		}
		at := d.base + "/conversations/" + session.ID
		for round := 1; round <= 2; round++ {
			var n nextTask
			var wg sync.WaitGroup
			wg.Go(func() { n = d.op(at, `{"op":"next"}`) }) // it waits already
			synctest.Wait()
			replies := d.put(t.Context(), round, 30*time.Second)
			wg.Wait()
			if n.Task == nil || n.Request == nil || n.Request.Round != round || n.TimeLeftMS <= 0 || n.TimeLeftMS > 30_000 {
				t.Fatalf("%+v", n)
			}
			if again := d.op(at, `{"op":"next"}`); *again.Task != *n.Task {
				t.Errorf("a task without an answer is not given again: %+v", again)
			}
			time.Sleep(time.Second)
			for range 2 {
				if a := d.op(at, answerOf(*n.Task, `{"answer":"Canberra","confidence":0.5}`)); a.Error != "" {
					t.Errorf("%+v", a)
				}
			}
			r := <-replies
			if r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "Canberra" || r.Elapsed < time.Second || r.SentAt.IsZero() || len(r.Request) == 0 {
				t.Errorf("%+v", r)
			}
			for name, c := range map[string]struct{ op, want string }{
				"another answer": {answerOf(*n.Task, `{"answer":"Sydney"}`), "Already answered"},
				"unknown task":   {answerOf(*n.Task+100, `{"answer":"x"}`), "Unknown task"},
				"no reply":       {fmt.Sprintf(`{"op":"answer","task":%d}`, *n.Task), "An answer needs"},
				"reply as text":  {answerOf(*n.Task, `"x"`), "An answer needs"},
			} {
				if a := d.op(at, c.op); !strings.Contains(a.Error, c.want) {
					t.Errorf("%s: %+v", name, a)
				}
			}
			if n := d.op(at, `{"op":"next","wait_seconds":1}`); n.Task != nil {
				t.Errorf("an answered task is given again: %+v", n)
			}
		}
		if h := d.driver.Probe(t.Context(), arena.Agent{ID: "ag_a", Leagues: []string{"trivia"}}); !h.OK || h.Capabilities != nil || h.MaxConcurrent != 1 {
			t.Errorf("%+v", h)
		}
		if !slices.Equal(d.awake, []string{"ag_a"}) {
			t.Errorf("it woke up %q", d.awake)
		}
	})
}

// Every outcome of the table is reached by polling too.
func TestPolling_outcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply  string // "" none
		want   arena.Outcome
		retry  bool
		reason string
	}{
		{`{"answer":"x"}`, arena.OutcomeAnswered, false, ""},
		{`{"error":"TIMEOUT"}`, arena.OutcomeTimeout, false, "agora_timeout"},
		{`{"error":"RATE_LIMITED"}`, arena.OutcomeRateLimited, false, "agora_rate_limited"},
		{`{"error":"UNAVAILABLE"}`, arena.OutcomeUnavailable, false, "agora_unavailable"},
		{`{"error":"INTERNAL_ERROR"}`, arena.OutcomeError, true, "agora_error"},
		{`{"answer":{}}`, arena.OutcomeInvalid, false, "bad_answer"},
		{`{}`, arena.OutcomeInvalid, false, "empty_answer"},
		{``, arena.OutcomeTimeout, false, "time_limit"},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newPolled(t)
			replies := d.put(t.Context(), 1, 10*time.Second)
			n := d.op(d.base, `{"op":"next"}`)
			if c.reply != "" {
				if a := d.op(d.base, answerOf(*n.Task, c.reply)); a.Error != "" {
					t.Fatalf("%+v", a)
				}
			}
			r := <-replies
			if r.Outcome != c.want || r.Retry != c.retry || r.Reason != c.reason || r.Unreached || (r.Answer != nil) != (c.want == arena.OutcomeAnswered) {
				t.Errorf("%s: %+v", c.reply, r)
			}
			if c.reply == "" {
				d.advance(time.Millisecond) // 1 ms late is late
				if a := d.op(d.base, answerOf(*n.Task, `{"answer":"x"}`)); a.Error != "Too late" {
					t.Errorf("%+v", a)
				}
				if n := d.op(d.base, `{"op":"next","wait_seconds":1}`); n.Task != nil {
					t.Errorf("%+v", n)
				}
			}
		})
	}
}

// What is found after the limit came too late, whatever kept it.
func TestPolling_late(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPolled(t)
		d.memory.slow = 4 * time.Second
		replies := d.put(t.Context(), 1, 3*time.Second)
		n := d.op(d.base, `{"op":"next"}`)
		if a := d.op(d.base, answerOf(*n.Task, `{"answer":"x"}`)); a.Error != "" {
			t.Fatalf("%+v", a)
		}
		if r := <-replies; r.Outcome != arena.OutcomeTimeout || r.Answer != nil || r.Reason != "late" || r.Elapsed != 4*time.Second {
			t.Errorf("%+v", r)
		}
	})
}

// An agent that does not poll is to a match what a refused connection is.
func TestPolling_away(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPolled(t)
		agent := arena.Agent{ID: "ag_a"}
		if h := d.driver.Probe(t.Context(), agent); h.OK || h.Reason != "not_polling" || h.Detail == "" {
			t.Errorf("%+v", h)
		}
		if r := <-d.put(t.Context(), 1, 5*time.Second); r.Outcome != arena.OutcomeError || !r.Unreached || r.Reason != "not_polling" {
			t.Errorf("%+v", r)
		}
		d.op(d.base, `{"op":"next","wait_seconds":1}`)
		time.Sleep(50 * time.Second)
		if h := d.driver.Probe(t.Context(), agent); !h.OK {
			t.Errorf("50 s after a poll: %+v", h)
		}
		time.Sleep(11 * time.Second)
		if h := d.driver.Probe(t.Context(), agent); h.OK {
			t.Errorf("a minute after a poll: %+v", h)
		}
		// While it works on a task it need not poll.
		replies := d.put(t.Context(), 2, 3*time.Minute)
		d.op(d.base, `{"op":"next"}`)
		time.Sleep(2 * time.Minute)
		if h := d.driver.Probe(t.Context(), agent); !h.OK {
			t.Errorf("at work: %+v", h)
		}
		if r := <-replies; r.Outcome != arena.OutcomeTimeout {
			t.Errorf("%+v", r)
		}
	})
}

// The end of the caller's context, and of storage, is never the agent's fault.
func TestPolling_void(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPolled(t)
		ctx, cancel := context.WithCancel(t.Context())
		replies := d.put(ctx, 1, time.Minute)
		synctest.Wait()
		cancel()
		if r := <-replies; r.Outcome != arena.OutcomeVoid || r.Retry || r.Reason != "cancelled" {
			t.Errorf("%+v", r)
		}
		d.memory.fail = arena.Errorf(arena.CodeUnavailable, "away")
		if r := <-d.put(t.Context(), 1, time.Minute); r.Outcome != arena.OutcomeVoid || r.Reason != "not_stored" {
			t.Errorf("%+v", r)
		}
		if h := d.driver.Probe(t.Context(), arena.Agent{ID: "ag_a"}); h.OK || h.Reason != "not_stored" {
			t.Errorf("%+v", h)
		}
	})
}

// Threat L4: polls are bounded, and end when the server does.
func TestPolling_bounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPolled(t)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if n := d.op(d.base, `{"op":"next"}`); n.Task != nil || n.Error != "" {
					t.Errorf("%+v", n)
				}
			})
		}
		synctest.Wait()
		if n := d.op(d.base, `{"op":"next"}`); n.Error != "Too many polls" {
			t.Errorf("%+v", n)
		}
		if n := d.op(d.base, answerOf(1, `{}`)); n.Error != "Unknown task" { // answers have slots of their own
			t.Errorf("%+v", n)
		}
		for _, bad := range []string{
			`{"op":"next","wait_seconds":0}`, `{"op":"next","wait_seconds":31}`, `{"op":"next","max_concurrent":0}`, `{"op":"next","after":"1"}`,
			`{"op":"sleep"}`, `{}`, `{"op":"event"}`, `{"op":"event","match_id":"m_1","events":[]}`, `{"op":"answer","task":1.5,"reply":{}}`,
			`{"op":"next","op":"next"}`, `{"OP":"next"}`, `[]`, `null`,
		} {
			if n := d.op(d.base, bad); n.Error == "" {
				t.Errorf("%s was taken", bad)
			}
		}
		began := time.Now()
		d.Close()
		wg.Wait()
		if took := time.Since(began); took > 0 {
			t.Errorf("polls lasted %v", took)
		}
		if n := d.op(d.base, `{"op":"next"}`); n.Task != nil || n.Error != "" {
			t.Errorf("%+v", n)
		}
	})
}

// Tasks may be fetched ahead, several at once, and a lost session costs none.
func TestPolling_several(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPolled(t)
		first := d.put(t.Context(), 1, time.Minute)
		synctest.Wait()
		second := d.put(t.Context(), 2, time.Minute)
		synctest.Wait()
		one := d.op(d.base, `{"op":"next"}`)
		two := d.op(d.base, fmt.Sprintf(`{"op":"next","after":%d}`, *one.Task))
		if one.Request.Round != 1 || two.Request.Round != 2 {
			t.Fatalf("%+v, %+v", one, two)
		}
		d.op(d.base, answerOf(*two.Task, `{"answer":"2"}`))
		if r := <-second; r.Answer == nil || r.Answer.Answer != "2" {
			t.Errorf("%+v", r)
		}
		if again := d.op(d.base, `{"op":"next"}`); *again.Task != *one.Task {
			t.Errorf("%+v", again)
		}
		d.op(d.base, answerOf(*one.Task, `{"answer":"1"}`))
		if r := <-first; r.Answer == nil || r.Answer.Answer != "1" {
			t.Errorf("%+v", r)
		}
		third := d.put(t.Context(), 3, time.Second)
		if n := d.op(d.front.base("ag_b"), `{"op":"next","wait_seconds":1}`); n.Task != nil {
			t.Errorf("another agent gets the task: %+v", n)
		}
		<-third
	})
}

func TestPolling_events(t *testing.T) {
	t.Parallel()
	d := newPolled(t)
	a := d.post(d.base, under(t, "agent", `{"op":"event","match_id":"m_1","events":[{"type":"thinking","message":"hm"},{"type":"answer"}]}`, ""))
	if !a.says(`{"accepted":2}`) || !slices.Equal(d.events, []string{`m_1 ag_a {"type":"thinking","message":"hm"}`, `m_1 ag_a {"type":"answer"}`}) {
		t.Errorf("%s, %q", a.Raw, d.events)
	}
	a = d.post(d.base, under(t, "agent", `{"op":"event","match_id":"m_1","events":[{"type":"thinking"},{"type":"refuse"}]}`, ""))
	if !a.says(`{"error":"events[1]: no such event"}`) || len(d.events) != 3 {
		t.Errorf("%s", a.Raw)
	}
}

// Several nodes: the driver waits at one node, the agent polls and
// answers at another one, and no bus stands between them.
func TestPolling_across_nodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here := newPolled(t)
		there := newFrontOn(t, here.memory)
		session := there.post(here.base, under(t, "agent", `{"op":"next","wait_seconds":1}`, `,"multiround":true`))
		at := here.base + "/conversations/" + session.ID
		var body string
		var wg sync.WaitGroup
		wg.Go(func() { body = *there.post(at, `{"body":"{\"op\":\"next\"}"}`).Body })
		synctest.Wait()
		replies := here.put(t.Context(), 1, time.Minute)
		wg.Wait()
		var n nextTask
		must(t, json.Unmarshal([]byte(body), &n))
		if n.Task == nil {
			t.Fatalf("%s", body)
		}
		answer, err := json.Marshal(answerOf(*n.Task, `{"answer":"x"}`))
		must(t, err)
		if a := there.post(at, `{"body":`+string(answer)+`}`); !a.says(`{"accepted":true}`) {
			t.Fatalf("%s", a.Raw)
		}
		if r := <-replies; r.Outcome != arena.OutcomeAnswered || r.Elapsed > time.Second {
			t.Errorf("%+v", r)
		}
		if a := here.post(at, `{"body":"{\"op\":\"next\",\"wait_seconds\":1}"}`); !a.says(`{"task":null}`) { // any node knows the session
			t.Errorf("%s", a.Raw)
		}
		if h := here.driver.Probe(t.Context(), arena.Agent{ID: "ag_a"}); !h.OK {
			t.Errorf("%+v", h)
		}
	})
}
