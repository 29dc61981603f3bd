package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// maxBatch is how many messages a batch may have. It counts as one request.
const maxBatch = 10

// message is a message of JSON-RPC.
type message struct {
	body   []byte
	id     json.RawMessage // nil: a notification
	method string          // "": a response
}

// readMessages returns the messages of a body.
func readMessages(body []byte) (messages []message, isBatch bool, err error) {
	bodies := []json.RawMessage{body}
	if isBatch = bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")); isBatch {
		if err := strictjson.Unmarshal(body, &bodies); err != nil {
			return nil, true, arena.Errorf(arena.CodeMalformed, "the batch cannot be read: %v", err)
		}
		if len(bodies) == 0 || len(bodies) > maxBatch {
			return nil, true, arena.Errorf(arena.CodeMalformed, "a batch must have 1 to %d messages", maxBatch)
		}
	}
	for _, body := range bodies {
		m := message{body: body}
		var reader strictjson.Reader
		if err := reader.Members(body, func(name string, value []byte) (err error) {
			switch name {
			case "id":
				m.id = value
			case "method":
				m.method, err = strictjson.Text(value)
			}
			return err
		}); err != nil {
			return nil, isBatch, arena.Errorf(arena.CodeMalformed, "a message must be one JSON object: %v", err)
		}
		messages = append(messages, m)
	}
	return messages, isBatch, nil
}

// methods are those that the library knows. It answers others in plain text.
func methods() []string {
	return []string{
		"initialize", "server/discover", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "resources/subscribe",
		"resources/unsubscribe", "subscriptions/listen", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
		"notifications/cancelled", "notifications/initialized", "notifications/progress", "notifications/roots/list_changed",
	}
}

// serveMessage answers one message.
func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request, m message) {
	known := m.method == "" || slices.Contains(methods(), m.method)
	switch {
	case !known && m.id == nil:
		w.WriteHeader(http.StatusAccepted)
	case !known && r.Header.Get("Mcp-Protocol-Version") < "2026-07-28": // of which the library answers with the error
		writeJSON(w, failure(m, jsonrpc.CodeMethodNotFound, fmt.Sprintf("there is no method %q", m.method)))
	default:
		r = r.WithContext(r.Context()) // a copy: messages of a batch have different bodies
		r.Body = io.NopCloser(bytes.NewReader(m.body))
		s.handler.ServeHTTP(w, r)
	}
}

// serveBatch answers the messages of a batch, all at once, so that their waits
// do not add up.
func (s *Server) serveBatch(w http.ResponseWriter, r *http.Request, messages []message) {
	recorded := make([]recorder, len(messages))
	var done sync.WaitGroup
	for i, m := range messages {
		recorded[i].header = http.Header{}
		done.Go(func() { s.serveMessage(&recorded[i], r, m) })
	}
	done.Wait()
	answers := []any{}
	for i, m := range messages {
		answer := &recorded[i]
		switch {
		case m.id == nil || m.method == "":
		case strings.HasPrefix(answer.header.Get("Content-Type"), "application/json"):
			answers = append(answers, json.RawMessage(answer.body.Bytes()))
		default: // the library says in plain text why it cannot read a message
			answers = append(answers, failure(m, jsonrpc.CodeInvalidRequest, strings.TrimSpace(answer.body.String())))
		}
	}
	if len(answers) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(w, answers)
}

// failed is an error of JSON-RPC.
type failed struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// failure returns the answer to a message that failed.
func failure(m message, code int64, text string) failed {
	f := failed{Version: "2.0", ID: m.id}
	f.Error.Code, f.Error.Message = code, text
	return f
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

// recorder keeps the answer to a message of a batch.
type recorder struct {
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter. It ignores the status: a batch has one of its own.
func (r *recorder) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
