package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agora-arena/arena/internal/strictjson"
)

// method is an operation on an agent.
type method int

const (
	send method = iota
	stream
	get
	cancel
)

func (m method) name(v version) string {
	names := [...]string{"SendMessage", "SendStreamingMessage", "GetTask", "CancelTask"}
	if v == v03 {
		names = [...]string{"message/send", "message/stream", "tasks/get", "tasks/cancel"}
	}
	return names[m]
}

// rpcRequest is a request of JSON-RPC 2.0.
type rpcRequest struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// sendParams are the parameters of a message, in both versions.
type sendParams struct {
	Tenant        string         `json:"tenant,omitempty"`
	Message       sentMessage    `json:"message"`
	Configuration map[string]any `json:"configuration"`
}

type sentMessage struct {
	Kind      string         `json:"kind,omitempty"`
	MessageID string         `json:"messageId"`
	ContextID string         `json:"contextId"`
	Role      string         `json:"role"`
	Parts     []sentPart     `json:"parts"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

type sentPart struct {
	Kind      string          `json:"kind,omitempty"`
	Text      string          `json:"text,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
}

// taskParams are the parameters of an operation on a task.
type taskParams struct {
	Tenant        string `json:"tenant,omitempty"`
	ID            string `json:"id"`
	HistoryLength *int   `json:"historyLength,omitempty"`
}

// outgoing is a message to an agent, before it has a version.
type outgoing struct {
	id      string
	context string
	text    string
	data    []byte // JSON
	token   string
}

// encodeMessage makes the request that sends a message.
func encodeMessage(s service, o outgoing) ([]byte, error) {
	m := sentMessage{
		MessageID: o.id, ContextID: o.context, Role: "ROLE_USER",
		Parts: []sentPart{{Text: o.text, MediaType: "text/plain"}, {Data: o.data, MediaType: "application/json"}},
	}
	if o.token != "" {
		m.Metadata = map[string]any{tokenMember: o.token}
	}
	configuration := map[string]any{"acceptedOutputModes": []string{"application/json", "text/plain"}, "historyLength": 0}
	if s.version == v03 {
		m.Kind, m.Role = "message", "user"
		m.Parts = []sentPart{{Kind: "text", Text: o.text}, {Kind: "data", Data: o.data}}
		configuration["blocking"] = true // in 1.0 it is the default
	}
	operation := send
	if s.streaming {
		operation = stream
	}
	return encode(s, operation, sendParams{Tenant: s.tenant, Message: m, Configuration: configuration})
}

func encode(s service, m method, params any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(rpcRequest{"2.0", 1, m.name(s.version), params}); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// tokenMember is the member of a message's metadata that holds the task token:
// many A2A libraries hide the headers of a request from the agent.
const tokenMember = "arena_token"

// rpcReply is a reply of JSON-RPC 2.0. Its id is not compared: it came over the
// connection of the request.
type rpcReply struct {
	JSONRPC string          `json:"jsonrpc"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

type rpcError struct {
	Code    strictjson.Whole `json:"code"`
	Message string           `json:"message"`
}

// part has the members that the arena reads of a part, of both versions.
type part struct {
	Text *string         `json:"text"`
	Data json.RawMessage `json:"data"`

	continues bool // a stream appended it to the part before
}

type message struct {
	Parts []part `json:"parts"`
}

type artifact struct {
	ID    string `json:"artifactId"`
	Parts []part `json:"parts"`
}

type taskStatus struct {
	State   string   `json:"state"`
	Message *message `json:"message"`
}

type agentTask struct {
	ID        string     `json:"id"`
	Status    taskStatus `json:"status"`
	Artifacts []artifact `json:"artifacts"`
}

type statusUpdate struct {
	TaskID string     `json:"taskId"`
	Status taskStatus `json:"status"`
}

type artifactUpdate struct {
	TaskID   string   `json:"taskId"`
	Artifact artifact `json:"artifact"`
	Append   bool     `json:"append"`
}

// update is one result of a request: exactly one member is set.
type update struct {
	Message        *message        `json:"message"`
	Task           *agentTask      `json:"task"`
	StatusUpdate   *statusUpdate   `json:"statusUpdate"`
	ArtifactUpdate *artifactUpdate `json:"artifactUpdate"`
}

// maxTaskID is the longest id of a task, in bytes.
const maxTaskID = 256

// readReply reads the reply to a request. failed is the error that the agent
// answered with.
func readReply(body []byte, v version, m method) (u update, failed *rpcError, err error) {
	var r rpcReply
	if err := strictjson.UnmarshalOpen(body, &r, "jsonrpc", "result", "error"); err != nil {
		return u, nil, fmt.Errorf("the body is not the JSON of a JSON-RPC reply: %w", err)
	}
	switch {
	case r.JSONRPC != "2.0":
		return u, nil, errors.New("the reply is not one of JSON-RPC 2.0")
	case r.Error != nil:
		return u, r.Error, nil
	case len(r.Result) == 0:
		return u, nil, errors.New("the reply has neither a result nor an error")
	}
	switch {
	case m == get || m == cancel:
		u.Task = &agentTask{}
		err = readInto(r.Result, u.Task)
	case v == v03:
		err = u.readKind(r.Result)
	default:
		err = strictjson.UnmarshalOpen(r.Result, &u, "message", "task", "statusUpdate", "artifactUpdate")
	}
	if err != nil {
		return u, nil, fmt.Errorf("result: %w", err)
	}
	return u, nil, u.check()
}

// readInto reads an object; null counts as missing.
func readInto(result json.RawMessage, into any) error {
	return strictjson.UnmarshalOpen(result, into)
}

// readKind reads a result of 0.3, whose member kind names its type.
func (u *update) readKind(result json.RawMessage) error {
	var r struct {
		Kind string `json:"kind"`
	}
	if err := strictjson.UnmarshalOpen(result, &r, "kind"); err != nil {
		return err
	}
	switch r.Kind {
	case "message":
		u.Message = &message{}
		return readInto(result, u.Message)
	case "task":
		u.Task = &agentTask{}
		return readInto(result, u.Task)
	case "status-update":
		u.StatusUpdate = &statusUpdate{}
		return readInto(result, u.StatusUpdate)
	case "artifact-update":
		u.ArtifactUpdate = &artifactUpdate{}
		return readInto(result, u.ArtifactUpdate)
	}
	return fmt.Errorf("kind is %q, not message, task, status-update or artifact-update", r.Kind)
}

// check checks what an update must have.
func (u *update) check() error {
	id, task, members := "", true, 0
	if u.Message != nil {
		members, task = members+1, false
	}
	if u.Task != nil {
		members, id = members+1, u.Task.ID
	}
	if u.StatusUpdate != nil {
		members, id = members+1, u.StatusUpdate.TaskID
	}
	if u.ArtifactUpdate != nil {
		members, id = members+1, u.ArtifactUpdate.TaskID
	}
	switch {
	case members != 1:
		return errors.New("the result is not one message, task, status update or artifact update")
	case task && (id == "" || len(id) > maxTaskID):
		return fmt.Errorf("the id of a task has 1 to %d bytes", maxTaskID)
	}
	return nil
}

// state returns the state of a task in the spelling of 0.3: TASK_STATE_WORKING
// is "working".
func (s taskStatus) state() string {
	state := strings.ToLower(strings.TrimPrefix(s.State, "TASK_STATE_"))
	if state == "cancelled" {
		return stateCanceled
	}
	return strings.ReplaceAll(state, "_", "-")
}
