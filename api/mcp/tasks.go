package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// maxWait is how long a call waits for a task: less than the time limits of
// clients and proxies.
const maxWait = 30 * time.Second

type nextInput struct {
	Wait *float64 `json:"wait_seconds"`
}

// nextOutput is a task, or a message that there is none.
type nextOutput struct {
	Task     json.RawMessage `json:"task,omitempty"`
	TaskID   string          `json:"task_id,omitempty"`
	Deadline string          `json:"deadline,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Message  string          `json:"message,omitempty"`
}

func nextSchema() object {
	return object{
		"type": "object",
		"properties": object{
			"task":    object{"type": "object", "description": "the request of the Agora Agent Protocol; task.task.description is the question. Absent: there is no task yet."},
			"task_id": object{"type": "string"}, "deadline": object{"type": "string", "format": "date-time"}, "attempt": object{"type": "integer"},
			"message": object{"type": "string", "description": "what to do when there is no task"},
		},
	}
}

// nextTask waits for a task of the caller.
func (s *Server) nextTask(ctx context.Context, q *request, in nextInput) (result, error) {
	wait, err := seconds(in.Wait, maxWait)
	if err != nil {
		return result{}, err
	}
	t, ok, err := s.o.Tasks.Next(ctx, q.caller, q.caller.AgentID, wait)
	if err != nil {
		return result{}, err
	}
	if !ok {
		return result{value: nextOutput{Message: "no task yet; call next_task again"}}, nil
	}
	deadline := t.Deadline.UTC().Format(arena.TimeFormat)
	return result{
		value: nextOutput{Task: t.Body, TaskID: t.TaskID, Deadline: deadline, Attempt: t.Attempt},
		text:  fmt.Sprintf("Task %s. Call answer with this task_id before %s.\n\n%s", t.TaskID, deadline, t.Body),
	}, nil
}

// reportTypes are the events that an agent may report.
func reportTypes() []arena.EventType {
	return []arena.EventType{
		arena.EventThinking, arena.EventSpawn, arena.EventToolCall, arena.EventToolResponse, arena.EventSubagentDone, arena.EventIntermediate, arena.EventError,
	}
}

// report shows an event of AAP to spectators: the arguments but for task_id.
func (s *Server) report(ctx context.Context, q *request, args json.RawMessage) (result, error) {
	taskID, event, err := splitTaskID(args)
	if err == nil {
		err = s.o.Tasks.Report(ctx, q.caller, q.caller.AgentID, taskID, event)
	}
	return result{value: object{"accepted": true}}, err
}

// answer submits a response of AAP: the arguments but for task_id. What is not an
// answer counts as it would from an endpoint.
func (s *Server) answer(ctx context.Context, q *request, args json.RawMessage) (result, error) {
	taskID, body, err := splitTaskID(args)
	if err != nil {
		return result{}, err
	}
	outcome, err := s.o.Tasks.Submit(ctx, q.caller, q.caller.AgentID, taskID, body)
	return result{value: object{"outcome": outcome}}, err
}

// splitTaskID returns the task_id of arguments, and the other members as they came.
func splitTaskID(args json.RawMessage) (taskID string, rest []byte, err error) {
	var members bytes.Buffer
	var reader strictjson.Reader
	err = reader.Members(args, func(name string, value []byte) error {
		if name == "task_id" {
			var err error
			if len(value) == 0 || value[0] != '"' {
				return arena.Invalid("task_id", "must be text")
			}
			taskID, err = strictjson.Text(value)
			return err
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		if members.Len() > 0 {
			members.WriteByte(',')
		}
		members.Write(quoted)
		members.WriteByte(':')
		members.Write(value)
		return nil
	})
	if err != nil {
		if arena.CodeOf(err) != arena.CodeInvalid {
			err = arena.Errorf(arena.CodeInvalid, "the arguments cannot be read: %v", err)
		}
		return "", nil, err
	}
	return taskID, fmt.Appendf(nil, "{%s}", members.Bytes()), check(id("task_id", taskID, true))
}
