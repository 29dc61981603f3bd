package arenaagent

import (
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The arena accepts events of at most 16 KiB; texts are cut well below it.
const (
	maxEvent = 16 << 10
	maxText  = 4 << 10
)

// Events reports what an agent does on one task to the spectators (AAP,
// "Streaming events"). Its methods never wait and never fail, and may be
// called from many goroutines; the zero value and nil drop everything.
type Events struct {
	link    *link // nil: events are off
	token   string
	log     *slog.Logger
	dropped *atomic.Int64
	shut    atomic.Bool // the round is over for the agent
	mu      sync.Mutex
	agents  []string // names given to Spawn, each once
	tools   []string // names given to ToolCall, each once
}

// Thinking shows a thought.
func (e *Events) Thinking(message string) {
	e.send(struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}{"thinking", clip(message, maxText)})
}

// Spawn shows the start of a sub-agent.
func (e *Events) Spawn(name, role string) {
	if e != nil {
		e.note(&e.agents, name)
	}
	e.send(struct {
		Type string `json:"type"`
		Name string `json:"name"`
		Role string `json:"role"`
	}{"spawn_subagent", clip(name, maxText), clip(role, maxText)})
}

// SubagentDone shows the end of a sub-agent.
func (e *Events) SubagentDone(name string, took time.Duration) {
	e.send(struct {
		Type       string `json:"type"`
		Name       string `json:"name"`
		DurationMS int64  `json:"duration_ms"`
	}{"subagent_done", clip(name, maxText), took.Milliseconds()})
}

// ToolCall shows the use of a tool. args is encoded as JSON at once.
func (e *Events) ToolCall(tool string, args any) {
	if e != nil {
		e.note(&e.tools, tool)
	}
	e.send(struct {
		Type string `json:"type"`
		Tool string `json:"tool"`
		Args any    `json:"args"`
	}{"tool_call", clip(tool, maxText), args})
}

// ToolResponse shows the result of the last tool. result is encoded as JSON at once.
func (e *Events) ToolResponse(result any, took time.Duration) {
	if s, ok := result.(string); ok {
		result = clip(s, maxText)
	}
	e.send(struct {
		Type       string `json:"type"`
		Result     any    `json:"result"`
		DurationMS int64  `json:"duration_ms"`
	}{"tool_response", result, took.Milliseconds()})
}

// Intermediate shows a result on the way. data is encoded as JSON at once; it
// should be an object.
func (e *Events) Intermediate(data any) {
	e.send(struct {
		Type string `json:"type"`
		Data any    `json:"data"`
	}{"intermediate_result", data})
}

// Answer shows an answer to spectators; final reports whether it is the last one.
// Only the answer that the handler returns counts.
func (e *Events) Answer(value string, final bool) {
	e.send(struct {
		Type  string `json:"type"`
		Final bool   `json:"final"`
		Value string `json:"value"`
	}{"answer", final, clip(value, maxText)})
}

// Error shows a failure; fatal reports whether the agent abandons the task.
func (e *Events) Error(message string, fatal bool) {
	e.send(struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Fatal   bool   `json:"fatal"`
	}{"error", clip(message, maxText), fatal})
}

func (e *Events) send(event any) {
	if e == nil || e.link == nil {
		return
	}
	if e.shut.Load() {
		e.dropped.Add(1)
		return
	}
	data, err := json.Marshal(event)
	if err != nil || len(data) > maxEvent {
		e.dropped.Add(1)
		e.log.Debug("event not sent", slog.Int("bytes", len(data)), slog.Any("error", err))
		return
	}
	e.link.push(e.token, data)
}

// note keeps a name for the answer's lists.
func (e *Events) note(names *[]string, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(*names) < maxNames && !slices.Contains(*names, name) {
		*names = append(*names, name)
	}
}

// fill puts the noted names into an answer that came without its own.
func (e *Events) fill(a *Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a.Subagents == nil {
		a.Subagents = slices.Clone(e.agents)
	}
	if a.Tools == nil {
		a.Tools = slices.Clone(e.tools)
	}
}
