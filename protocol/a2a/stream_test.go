package a2a

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// A stream brings events and the answer; a slow store of events costs the agent
// no time, and all are stored before the answer counts.
func TestDriver_streams(t *testing.T) {
	t.Parallel()
	const head = `{"taskId":"t1","contextId":"c1",`
	update := func(state, text string) string {
		return result(`{"statusUpdate":` + head + `"status":{"state":"TASK_STATE_` + state + `","message":{"parts":[{"text":"` + text + `"}]}}}}`)
	}
	chunk := func(id, text, more string) string {
		return result(`{"artifactUpdate":` + head + `"artifact":{"artifactId":"` + id + `","parts":[{"text":"` + text + `"}]}` + more + `}}`)
	}
	a := newAgent(t, v10, true, func(int, asked) protocoltest.Behaviour {
		return events(true, result(task1("SUBMITTED", `}`)), update("WORKING", "thinking of it"), update("WORKING", "nearly"),
			chunk("a", "Can", ""), chunk("a", "ber", `,"append":true`), chunk("a", "ra", `,"append":true,"lastChunk":true`), update("COMPLETED", "done"))
	})
	shown := &seen{delay: 100 * time.Millisecond}
	r := play(t, newDriver(t, shown), protocoltest.NewAttempt(a.URL, enough))
	if r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "Canberra" {
		t.Errorf("reply %+v", r)
	}
	want := []string{`m_1 ag_1 {"message":"thinking of it","type":"thinking"}`, `m_1 ag_1 {"message":"nearly","type":"thinking"}`}
	if got := shown.all(); !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
	if q := a.requests(); len(q) != 1 || q[0].Method != "SendStreamingMessage" || q[0].Header.Get("Accept") != "application/json, text/event-stream" {
		t.Errorf("requests %+v", q)
	}
}

// Streams of 0.3, in its shapes.
func TestDriver_streams_03(t *testing.T) {
	t.Parallel()
	a := newAgent(t, v03, true, func(int, asked) protocoltest.Behaviour {
		return events(true,
			result(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"submitted"}}`),
			result(`{"kind":"status-update","taskId":"t1","contextId":"c1","final":false,"status":{"state":"working","message":{"kind":"message","parts":[{"kind":"text","text":"hm"}]}}}`),
			result(`{"kind":"artifact-update","taskId":"t1","contextId":"c1","artifact":{"artifactId":"a","parts":[{"kind":"data","data":{"answer":"Canberra"}}]}}`),
			result(`{"kind":"status-update","taskId":"t1","contextId":"c1","final":true,"status":{"state":"completed"}}`))
	})
	shown := &seen{}
	r := play(t, newDriver(t, shown), protocoltest.NewAttempt(a.URL, enough))
	if r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "Canberra" || len(shown.all()) != 1 || a.methods()[0] != "message/stream" {
		t.Errorf("reply %+v, events %v, requests %v", r, shown.all(), a.methods())
	}
}

// Streams that are not what they should be. Threat R13.
func TestDriver_streams_bad(t *testing.T) {
	t.Parallel()
	working := result(task1("WORKING", `}`))
	long := func(n int) protocoltest.Behaviour {
		line := strings.Repeat("x", n)
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for err := error(nil); err == nil; {
				_, err = w.Write([]byte("data: \"" + line + "\"\n"))
			}
		}
	}
	for _, c := range []struct {
		name   string
		stream protocoltest.Behaviour
		limit  time.Duration
		want   arena.Outcome
		reason string
	}{
		{"nothing", events(false), enough, arena.OutcomeInvalid, "empty_answer"},
		{"no JSON", events(true, "hello"), enough, arena.OutcomeInvalid, "bad_json"},
		{"an error", events(true, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`), enough, arena.OutcomeError, "a2a_error"},
		{"another task", events(true, working, result(`{"statusUpdate":{"taskId":"t2","status":{"state":"TASK_STATE_COMPLETED"}}}`)), enough, arena.OutcomeInvalid, "bad_json"},
		{"an endless event", long(1000), enough, arena.OutcomeInvalid, "bad_json"},
		{"an endless line", long(1 << 20), enough, arena.OutcomeInvalid, "bad_json"},
		{"endless comments", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for err := error(nil); err == nil; {
				_, err = w.Write([]byte(": " + strings.Repeat("x", 1000) + "\n\n"))
			}
		}, enough, arena.OutcomeInvalid, "too_large"},
		{"silence", events(true, working), 200 * time.Millisecond, arena.OutcomeTimeout, "time_limit"},
		{"cut, then polled", events(false, working), enough, arena.OutcomeAnswered, ""},
		{"cut without a task", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, enough, arena.OutcomeInvalid, "truncated"},
		{"broken, then polled", func(w http.ResponseWriter, r *http.Request) {
			events(false, working)(w, r)
			panic(http.ErrAbortHandler)
		}, enough, arena.OutcomeAnswered, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, v10, true, func(_ int, q asked) protocoltest.Behaviour {
				if q.Method == "GetTask" {
					return replies(result(task0("COMPLETED", `},"artifacts":[{"artifactId":"a","parts":[{"text":"x"}]}]`)))
				}
				return c.stream
			})
			r := play(t, newDriver(t, &seen{}), protocoltest.NewAttempt(a.URL, c.limit))
			if r.Outcome != c.want || r.Reason != c.reason || len(r.Head) > headBytes {
				t.Errorf("reply %+v, want %s, %q", r, c.want, c.reason)
			}
		})
	}
}
