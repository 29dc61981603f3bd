package arenaagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/arenaagent/agenttest"
)

var update = flag.Bool("update", false, "write sdk/vectors")

// The files hold what this test makes, byte for byte.
func TestVectors_files(t *testing.T) {
	t.Parallel()
	tokens := makeTokenVectors(t)
	slices.SortStableFunc(tokens.Cases, func(a, b tokenCase) int { // maps have no order
		if a.Status != b.Status {
			return a.Status - b.Status
		}
		return strings.Compare(a.Name, b.Name)
	})
	for name, content := range map[string]any{
		"tokens.json": tokens, "tasks.json": makeTaskVectors(t), "replies.json": makeReplyVectors(), "events.json": makeEventVectors(),
	} {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(content); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("..", "..", "vectors", name)
		if *update {
			if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what this test makes (%v): run it with -update", name, err)
		}
	}
}

// Threats E7 and F2, on the agent's side.
func TestVectors_tokens(t *testing.T) {
	t.Parallel()
	v := makeTokenVectors(t)
	arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v.JWKS) }))
	t.Cleanup(arena.Close)
	agent := vectorAgentOf(t, arenaagent.Config{
		Arena: arena.URL, Issuer: v.Issuer, AgentID: v.AgentID, Events: arenaagent.EventsOff,
		Leeway: time.Duration(v.LeewaySeconds) * time.Second, Now: func() time.Time { return time.Unix(v.Now, 0) },
	}, canberra)
	for _, c := range v.Cases {
		body := v.Body
		if c.Body != "" {
			body = c.Body
		}
		if status, reply := post(t, agent, c.Authorization, body); status != c.Status {
			t.Errorf("%s: status %d, want %d: %s", c.Name, status, c.Status, reply)
		}
	}
}

func vectorAgentOf(t *testing.T, c arenaagent.Config, h arenaagent.Handler) *arenaagent.Agent {
	t.Helper()
	agent, err := arenaagent.New(c, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Close() })
	return agent
}

func post(t *testing.T, agent http.Handler, authorization *string, body string) (int, []byte) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/agora", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if authorization != nil {
		r.Header.Set("Authorization", *authorization)
	}
	w := httptest.NewRecorder()
	agent.ServeHTTP(w, r)
	data, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, data
}

func TestVectors_tasks(t *testing.T) {
	t.Parallel()
	for _, c := range makeTaskVectors(t).Cases {
		synctest.Test(t, func(t *testing.T) { // the tasks have time limits
			var got *arenaagent.Task
			agent := vectorAgentOf(t, arenaagent.Config{InsecureSkipTokens: true}, func(_ context.Context, task *task, _ *events) (answer, error) {
				got = task
				return answer{Value: "a"}, nil
			})
			status, reply := post(t, agent, nil, expand(c.Body).(string))
			if status != c.Status || (got != nil) != (c.Status == http.StatusOK) {
				t.Errorf("%s: status %d, want %d: %.200s", c.Name, status, c.Status, reply)
				return
			}
			if got == nil {
				return
			}
			if diff := diff(normal(t, expand(c.Task)), normal(t, flat(got))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.Name, diff)
			}
		})
	}
}

func TestVectors_rotation(t *testing.T) {
	t.Parallel()
	v := makeTokenVectors(t)
	var published atomic.Value
	var looks atomic.Int64
	published.Store(v.Rotation.Steps[0].JWKS)
	arena := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		looks.Add(1)
		_ = json.NewEncoder(w).Encode(published.Load())
	}))
	t.Cleanup(arena.Close)
	agent := vectorAgentOf(t, arenaagent.Config{
		Arena: arena.URL, Issuer: v.Issuer, AgentID: v.AgentID, Events: arenaagent.EventsOff, Now: func() time.Time { return time.Unix(v.Now, 0) },
	}, canberra)
	for _, s := range v.Rotation.Steps {
		published.Store(s.JWKS)
		if status, reply := post(t, agent, &s.Authorization, v.Body); status != s.Status {
			t.Errorf("%s: status %d, want %d: %s", s.Name, status, s.Status, reply)
		}
	}
	for _, f := range v.Rotation.Floods {
		before := looks.Load()
		for range f.Times {
			if status, _ := post(t, agent, &f.Authorization, v.Body); status != http.StatusUnauthorized {
				t.Errorf("%s: status %d", f.Name, status)
			}
		}
		if n := looks.Load() - before; n > int64(f.LooksAtMost) {
			t.Errorf("%s: %d looks, want at most %d", f.Name, n, f.LooksAtMost)
		}
	}
}

// flat is a task in the members of the vectors.
func flat(k *arenaagent.Task) object {
	m := object{
		"version": k.Version, "league": k.League, "match_id": k.MatchID, "round": k.Round, "total_rounds": k.TotalRounds,
		"description": k.Description, "input_format": k.InputFormat, "output_format": k.OutputFormat, "options": k.Options, "observation": k.Observation,
		"time_limit_seconds": k.TimeLimit.Seconds(), "max_tokens": k.MaxTokens, "rules": append([]string{}, k.Rules...), "opponents": k.Opponents,
		"task_id": k.TaskID, "attempt": k.Attempt, "deadline_ms": nil, "previous": nil,
	}
	if !k.Deadline.IsZero() {
		m["deadline_ms"] = k.Deadline.UnixMilli()
	}
	if p := k.Previous; p != nil {
		m["previous"] = object{"outcome": p.Outcome, "correct": p.Correct, "points": p.Points, "measured_ms": p.Measured.Milliseconds(), "receipt": nil, "error": p.Error}
		if p.Receipt != nil {
			m["previous"].(object)["receipt"] = object{"sha256": p.Receipt.SHA256, "arrived_at_ms": p.Receipt.ArrivedAt.UnixMilli()}
		}
	}
	return m
}

// normal is what is left of a value after a trip through JSON.
func normal(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVectors_answers(t *testing.T) {
	t.Parallel()
	for _, c := range makeReplyVectors().Answers {
		var a answer
		data, err := json.Marshal(expand(c.Answer))
		if err == nil {
			err = json.Unmarshal(data, &a)
		}
		if err != nil {
			t.Fatal(err)
		}
		agent := vectorAgentOf(t, arenaagent.Config{InsecureSkipTokens: true}, func(context.Context, *task, *events) (answer, error) { return a, nil })
		_, reply := post(t, agent, nil, vectorTask(t, nil))
		var got object
		if err := json.Unmarshal(reply, &got); err != nil {
			t.Fatal(err)
		}
		if _, ok := got["latency_ms"].(float64); !ok {
			t.Errorf("%s: no latency_ms", c.Name)
		}
		delete(got, "latency_ms")
		if diff := diff(normal(t, expand(c.Reply)), any(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
	}
}

func TestVectors_events(t *testing.T) {
	t.Parallel()
	for _, mode := range []arenaagent.EventMode{arenaagent.EventsWebSocket, arenaagent.EventsHTTP} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			v := makeEventVectors()
			b := newBench(t, func(c *arenaagent.Config) { c.Events = mode }, func(_ context.Context, _ *task, e *events) (answer, error) {
				for _, c := range v.Cases {
					report(t, e, c)
				}
				return answer{Value: "a"}, nil
			})
			b.expect(http.StatusOK, agenttest.Task{})
			var want []any
			for _, c := range v.Cases {
				if c.Message != nil {
					want = append(want, normal(t, expand(c.Message)))
				}
			}
			var got []any
			seen, err := b.arena.Events(t.Context(), "m_test", len(want))
			for _, e := range seen {
				got = append(got, any(e.Fields))
			}
			if diff := diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if n := b.agent.DroppedEvents(); n != int64(len(v.Cases)-len(want)) {
				t.Errorf("%d events dropped, want %d", n, len(v.Cases)-len(want))
			}
		})
	}
}

// report makes the call of an event vector.
func report(t *testing.T, e *events, c eventCase) {
	t.Helper()
	args, _ := expand(c.Args).([]any)
	text := func(i int) string { return args[i].(string) }
	ms := func(i int) time.Duration { return time.Duration(args[i].(int)) * time.Millisecond }
	switch c.Method {
	case "thinking":
		e.Thinking(text(0))
	case "spawn":
		e.Spawn(text(0), text(1))
	case "subagent_done":
		e.SubagentDone(text(0), ms(1))
	case "tool_call":
		e.ToolCall(text(0), args[1])
	case "tool_response":
		e.ToolResponse(args[0], ms(1))
	case "intermediate":
		e.Intermediate(args[0])
	case "answer":
		e.Answer(text(0), args[1].(bool))
	case "error":
		e.Error(text(0), args[1].(bool))
	default:
		t.Errorf("no method %q", c.Method)
	}
}

// expand makes texts of what stands for long ones: {"repeat": "x", "times": 3}
// is "xxx", {"parts": [...]} is its parts in a row.
func expand(v any) any {
	switch v := v.(type) {
	case object:
		if r, ok := v["repeat"].(string); ok {
			return strings.Repeat(r, v["times"].(int))
		}
		if parts, ok := v["parts"].([]any); ok {
			var all strings.Builder
			for _, p := range parts {
				all.WriteString(expand(p).(string))
			}
			return all.String()
		}
		out := maps.Clone(v)
		for name, member := range out {
			out[name] = expand(member)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = expand(out[i])
		}
		return out
	default:
		return v
	}
}

// diff returns "" when two values have the same JSON, and both texts otherwise.
func diff(want, got any) string {
	w, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		return err.Error()
	}
	g, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		return err.Error()
	}
	if bytes.Equal(w, g) {
		return ""
	}
	return "-" + string(w) + "\n+" + string(g)
}
