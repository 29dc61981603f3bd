package arenaagent_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agenttest"
)

func bodyHash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func show(_ context.Context, task *task, e *events) (answer, error) {
	e.Thinking("Analyzing problem...")
	e.Spawn("Analyzer", "analysis")
	e.ToolCall("python_exec", map[string]any{"code": "1+1"})
	e.ToolResponse("2", 800*time.Millisecond)
	e.SubagentDone("Analyzer", 1200*time.Millisecond)
	e.Intermediate(map[string]any{"sum": 2})
	e.Error("a detour", false)
	e.Answer("2", true)
	return answer{Value: "2"}, nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, mode := range []arenaagent.EventMode{arenaagent.EventsWebSocket, arenaagent.EventsHTTP} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(c *arenaagent.Config) { c.Events = mode }, show)
			r := b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1", Round: 4})
			if diff := diff([][]string{{"Analyzer"}, {"python_exec"}}, [][]string{r.Subagents, r.Tools}); diff != "" {
				t.Errorf("used (-want +got):\n%s", diff)
			}
			got, err := b.arena.Events(t.Context(), "m_1", 8)
			if err != nil {
				t.Fatal(err)
			}
			type m = map[string]any
			var fields []m
			for _, e := range got {
				fields = append(fields, e.Fields)
				if e.Round != 4 || e.AgentID != agenttest.AgentID {
					t.Errorf("event of %s, round %d", e.AgentID, e.Round)
				}
			}
			if diff := diff([]m{
				{"type": "thinking", "message": "Analyzing problem..."},
				{"type": "spawn_subagent", "name": "Analyzer", "role": "analysis"},
				{"type": "tool_call", "tool": "python_exec", "args": m{"code": "1+1"}},
				{"type": "tool_response", "result": "2", "duration_ms": 800.0},
				{"type": "subagent_done", "name": "Analyzer", "duration_ms": 1200.0},
				{"type": "intermediate_result", "data": m{"sum": 2.0}},
				{"type": "error", "message": "a detour", "fatal": false},
				{"type": "answer", "final": true, "value": "2"},
			}, fields); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// One socket serves all rounds of a match; a message carries a later round's token.
func TestEvents_rounds(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, func(_ context.Context, task *task, e *events) (answer, error) {
		e.Thinking(fmt.Sprint("round ", task.Round))
		return answer{}, nil
	})
	for round := 1; round <= 3; round++ {
		b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1", Round: round})
		got, err := b.arena.Events(t.Context(), "m_1", round)
		if err != nil {
			t.Fatal(err)
		}
		if e := got[round-1]; e.Round != round || e.Fields["message"] != fmt.Sprint("round ", round) {
			t.Errorf("event is %+v", e)
		}
	}
	if n := b.arena.Dials(); n != 1 {
		t.Errorf("%d sockets, want 1", n)
	}
}

func TestEvents_reconnect(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code  websocket.StatusCode
		again bool // within the round
	}{"restart": {1012, true}, "token": {4401, false}, "too_many": {4429, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bench
			b = newBench(t, nil, func(ctx context.Context, task *task, e *events) (answer, error) {
				e.Thinking("before")
				if _, err := b.arena.Events(ctx, task.MatchID, task.Round); err != nil {
					return answer{}, err
				}
				if task.Round == 1 {
					b.arena.CutSockets(test.code)
					e.Thinking("after")
				}
				return answer{}, nil
			})
			b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1", Round: 1})
			if test.again {
				got, err := b.arena.Events(t.Context(), "m_1", 2)
				if err != nil || got[1].Fields["message"] != "after" || b.arena.Dials() != 2 {
					t.Errorf("events are %v, %v; %d sockets", got, err, b.arena.Dials())
				}
				return
			}
			if n, dials := b.agent.DroppedEvents(), b.arena.Dials(); n != 1 || dials != 1 {
				t.Errorf("%d events dropped, %d sockets; want the second event dropped, no second socket", n, dials)
			}
			b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1", Round: 2}) // a new token: a new socket
			if got, err := b.arena.Events(t.Context(), "m_1", 2); err != nil || got[1].Round != 2 {
				t.Errorf("events are %v, %v", got, err)
			}
		})
	}
}

func TestEvents_never_hold_up(t *testing.T) {
	t.Parallel()
	t.Run("arena_down", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, nil, func(_ context.Context, _ *task, e *events) (answer, error) {
			for range 300 {
				e.Thinking("hello?")
			}
			return answer{Value: "here"}, nil
		})
		b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1"}) // has the keys now
		b.arena.SetDown(true)
		if r := b.expect(http.StatusOK, agenttest.Task{MatchID: "m_2"}); r.Answer != "here" {
			t.Errorf("reply is %s", r.Body)
		}
		if b.agent.DroppedEvents() < 300-256 {
			t.Errorf("%d events dropped", b.agent.DroppedEvents())
		}
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, func(c *arenaagent.Config) { c.Events = arenaagent.EventsOff }, show)
		if r := b.expect(http.StatusOK, agenttest.Task{}); len(r.Tools) != 1 || b.arena.Dials() != 0 {
			t.Errorf("tools %v, %d sockets", r.Tools, b.arena.Dials())
		}
	})
	t.Run("odd_events", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, nil, func(_ context.Context, _ *task, e *events) (answer, error) {
			e.Intermediate(func() {})                           // not JSON
			e.Intermediate(strings.Repeat("x", 20<<10))         // too big
			e.Thinking(strings.Repeat("é", 10<<10))             // cut between characters
			e.ToolResponse(strings.Repeat("x", 20<<10), 0)      // cut
			e.Error("\xff is not UTF-8", false)                 // replaced
			(*arenaagent.Events)(nil).Thinking("into the void") // dropped
			return answer{}, nil
		})
		b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1"})
		got, err := b.arena.Events(t.Context(), "m_1", 3)
		if err != nil || b.agent.DroppedEvents() != 2 {
			t.Fatalf("%v, %d dropped", err, b.agent.DroppedEvents())
		}
		if m := got[0].Fields["message"].(string); len(m) != 4<<10 || strings.ContainsRune(m, '\uFFFD') {
			t.Errorf("message of %d bytes", len(m))
		}
	})
	t.Run("after_the_answer", func(t *testing.T) {
		t.Parallel()
		late := make(chan *events, 1)
		b := newBench(t, nil, func(_ context.Context, _ *task, e *events) (answer, error) {
			e.Thinking("in time")
			late <- e
			return answer{}, nil
		})
		b.expect(http.StatusOK, agenttest.Task{MatchID: "m_1"})
		(<-late).Thinking("too late")
		if n := b.agent.DroppedEvents(); n != 1 {
			t.Errorf("%d dropped, want the late one", n)
		}
	})
}
