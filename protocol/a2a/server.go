package a2a

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// Root is where the server answers below the arena's public URL.
const Root = "/a2a"

// maxMessage is the most that is read of a request, in bytes.
const maxMessage = 64 << 10

// Action answers one kind of question with a JSON value. Errors that the client
// caused are *arena.Error.
type Action func(ctx context.Context, address string, params json.RawMessage) (result any, err error)

// Skill is a kind of question that the arena's card lists.
type Skill struct {
	ID          string
	Name        string
	Description string
	Examples    []string
	Action      Action // nil: it is asked in words alone
}

// ServerOptions are the parts of a Server. All are needed.
type ServerOptions struct {
	URL     string // of the arena, without a slash at its end
	Version string // of the program
	// Ask answers plain words of a client.
	Ask    func(ctx context.Context, address, text string) (string, error)
	Skills []Skill
	Logger *slog.Logger
}

// Server answers questions about the arena over A2A 1.0 and 0.3, and serves the
// agent card that says so. It keeps nothing: every question is answered with a
// message, and there are no tasks.
type Server struct {
	o       ServerOptions
	card    []byte
	actions map[string]Action
}

// NewServer makes a Server.
func NewServer(o ServerOptions) (*Server, error) {
	s := &Server{o: o, actions: map[string]Action{}}
	for _, skill := range o.Skills {
		if skill.Action != nil {
			s.actions[skill.ID] = skill.Action
		}
	}
	var err error
	if s.card, err = ownCard(o); err != nil {
		return nil, fmt.Errorf("a2a server: %w", err)
	}
	return s, nil
}

// ownCard returns the arena's card. It has the members of both versions.
func ownCard(o ServerOptions) ([]byte, error) {
	skills := []map[string]any{}
	for _, s := range o.Skills {
		skills = append(skills, map[string]any{
			"id": s.ID, "name": s.Name, "description": s.Description, "tags": []string{"agents", "evaluation"}, "examples": append([]string{}, s.Examples...),
		})
	}
	modes := []string{"text/plain", "application/json"}
	at := o.URL + Root
	return json.Marshal(map[string]any{
		"name":        "Agora Arena",
		"description": "A judge of AI agents: it lets them compete under equal conditions, rates them, and signs the record of every match. Ask it who plays, how strong an agent is, and for the proof.",
		"version":     o.Version, "documentationUrl": o.URL + "/llms.txt",
		"provider": map[string]string{"organization": "Agora Arena", "url": o.URL},
		"supportedInterfaces": []map[string]string{
			{"url": at, "protocolBinding": bindingJSONRPC, "protocolVersion": string(v10)}, {"url": at, "protocolBinding": bindingJSONRPC, "protocolVersion": string(v03)},
		},
		"url": at, "preferredTransport": bindingJSONRPC, "protocolVersion": "0.3.0",
		"capabilities":      map[string]bool{"streaming": false, "pushNotifications": false},
		"defaultInputModes": modes, "defaultOutputModes": modes, "skills": skills,
	})
}

// ServeHTTP serves the card and answers messages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, cardPath) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		write(w, http.StatusOK, s.card)
		return
	}
	id, result, err := s.answer(w, r)
	if err == nil {
		reply(w, http.StatusOK, rpcAnswer{"2.0", id, result, nil})
		return
	}
	if arena.CodeOf(err) == arena.CodeRateLimited {
		s.Refuse(w, r, err)
		return
	}
	e, known := errors.AsType[*answerError](err)
	if !known {
		e = &answerError{codeInternal, "something went wrong on our side"}
		if r.Context().Err() == nil {
			s.o.Logger.ErrorContext(r.Context(), "a2a request failed", "error", err)
		}
	}
	reply(w, http.StatusOK, rpcAnswer{"2.0", id, nil, e})
}

// Refuse answers a request that is over its limits.
func (s *Server) Refuse(w http.ResponseWriter, _ *http.Request, err error) {
	if e, ok := errors.AsType[*arena.Error](err); ok && e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetrySeconds()))
	}
	reply(w, http.StatusTooManyRequests, rpcAnswer{"2.0", nil, nil, &answerError{codeBusy, "too many requests"}})
}

// The codes that only the server uses.
const (
	codeInternal     = -32603
	codeBusy         = -32000
	codeTaskNotFound = -32001
)

// answerError is an error in an answer.
type answerError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *answerError) Error() string { return e.Message }

func fail(code int, format string, args ...any) error {
	return &answerError{code, fmt.Sprintf(format, args...)}
}

type rpcAnswer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // nil: null
	Result  any             `json:"result,omitempty"`
	Error   *answerError    `json:"error,omitempty"`
}

// question is a request of a client.
type question struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Message struct {
			ContextID string `json:"contextId"`
			Parts     []part `json:"parts"`
		} `json:"message"`
	} `json:"params"`
}

// maxID is the longest id of a request or a context that is repeated, in bytes.
const maxID = 256

// readQuestion reads a request of a client.
func readQuestion(data []byte) (q question, err error) {
	if err := strictjson.UnmarshalOpen(data, &q, "jsonrpc", "id", "method", "params"); err != nil {
		return question{}, fail(codeParse, "the request is not strict JSON: %s", err)
	}
	switch {
	case q.JSONRPC != "2.0" || q.Method == "":
		return q, fail(codeInvalidRequest, "send a request of JSON-RPC 2.0 with a method")
	case len(q.ID) > maxID || len(q.ID) > 0 && strings.ContainsRune("{[", rune(q.ID[0])):
		q.ID = nil
		return q, fail(codeInvalidRequest, "id must be text or a number of at most %d bytes", maxID)
	case len(q.Params.Message.ContextID) > maxID:
		return q, fail(codeInvalidParams, "contextId has at most %d bytes", maxID)
	}
	return q, nil
}

// read returns the request of a client.
func read(w http.ResponseWriter, r *http.Request) (question, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return question{}, fail(codeContentType, "Content-Type must be application/json")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return question{}, fail(codeInvalidRequest, "a request has at most %d bytes", maxMessage)
	}
	if err != nil {
		return question{}, fail(codeParse, "the body could not be read")
	}
	return readQuestion(data)
}

// answer answers one request.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) (id json.RawMessage, result any, err error) {
	q, err := read(w, r)
	if err != nil {
		return q.ID, nil, err
	}
	if v := r.Header.Get("A2A-Version"); v != "" {
		if _, known := versionOf(v); !known {
			return q.ID, nil, fail(codeVersionUnsupported, "A2A-Version must be 1.0 or 0.3")
		}
	}
	v := v10
	if strings.Contains(q.Method, "/") {
		v = v03
	}
	switch q.Method {
	case send.name(v):
		parts, err := s.parts(r, q.Params.Message.Parts)
		if err != nil {
			return q.ID, nil, err
		}
		return q.ID, messageOf(v, q.Params.Message.ContextID, parts), nil
	case get.name(v), cancel.name(v):
		return q.ID, nil, fail(codeTaskNotFound, "every message is answered at once: there are no tasks")
	case stream.name(v):
		return q.ID, nil, fail(codeUnsupported, "answers are not streamed: use %s", send.name(v))
	}
	return q.ID, nil, fail(codeMethodNotFound, "the method is not supported")
}

// parts answers the parts of a message: an action in a data part with data, else
// the texts with text.
func (s *Server) parts(r *http.Request, asked []part) ([]part, error) {
	ctx, address := r.Context(), arena.AddressOf(r.RemoteAddr)
	for _, p := range asked {
		if len(p.Data) == 0 {
			continue
		}
		var in struct {
			Action string          `json:"action"`
			Params json.RawMessage `json:"params"`
		}
		if err := strictjson.UnmarshalOpen(p.Data, &in, "action", "params"); err != nil {
			return nil, fail(codeInvalidParams, "data part: %s", err)
		}
		action, known := s.actions[in.Action]
		if !known {
			names := []string{}
			for name := range s.actions {
				names = append(names, name)
			}
			slices.Sort(names)
			return nil, fail(codeInvalidParams, "data part: action must be one of: %s", strings.Join(names, ", "))
		}
		result, err := action(ctx, address, in.Params)
		if err != nil {
			return nil, refusal(err)
		}
		data, err := json.Marshal(result)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", in.Action, err)
		}
		return []part{{Data: data}}, nil
	}
	text := strings.Join(texts(asked), "\n")
	if text == "" {
		return nil, fail(codeInvalidParams, "the message has neither a text part nor a data part")
	}
	said, err := s.o.Ask(ctx, address, text)
	if err != nil {
		return nil, refusal(err)
	}
	return []part{{Text: &said}}, nil
}

// refusal makes what a client caused an error of JSON-RPC.
func refusal(err error) error {
	switch code := arena.CodeOf(err); code {
	case arena.CodeInternal, arena.CodeUnavailable, arena.CodeRateLimited:
		return err
	default:
		return fail(codeInvalidParams, "%s", err)
	}
}

// messageOf is the result that holds a message.
func messageOf(v version, contextID string, parts []part) any {
	sent := sentMessage{MessageID: rand.Text(), ContextID: contextID, Role: "ROLE_AGENT"}
	if contextID == "" {
		sent.ContextID = rand.Text()
	}
	for _, p := range parts {
		one := sentPart{Data: p.Data}
		if p.Text != nil {
			one.Text = *p.Text
		}
		if v == v03 {
			if one.Kind = "text"; len(p.Data) > 0 {
				one.Kind = "data"
			}
		}
		sent.Parts = append(sent.Parts, one)
	}
	if v == v03 {
		sent.Kind, sent.Role = "message", "agent"
		return sent
	}
	return map[string]any{"message": sent}
}

func reply(w http.ResponseWriter, status int, a rpcAnswer) {
	data, err := json.Marshal(a)
	if err != nil { // these types always encode
		status, data = http.StatusInternalServerError, []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	w.Header().Set("Cache-Control", "no-store")
	write(w, status, data)
}

func write(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that left is no failure of ours
}
