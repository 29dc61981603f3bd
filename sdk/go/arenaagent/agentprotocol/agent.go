package agentprotocol

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// Config describes an agent. Arena and Key are needed.
type Config struct {
	Arena string // base URL
	// ArenaID is the arena's agent id (44 characters). When it is empty, the
	// arena is asked for it once; over https that is as good as its certificate.
	ArenaID string
	Key     ed25519.PrivateKey
	Name    string // shown in messages

	Capabilities  []string // default "arena:round": every league that it entered
	MaxConcurrent int      // tasks at once; default arenaagent.DefaultMaxConcurrent

	HTTPClient *http.Client // its transport must allow upgrades for Run
	Logger     *slog.Logger // default: silent
	Now        func() time.Time
}

// Agent answers the arena's messages, as an HTTP endpoint (it is an
// http.Handler) or over the WebSocket that Run opens.
type Agent struct {
	config  Config
	handler arenaagent.Handler
	slots   chan struct{} // one per task at work

	mu      sync.Mutex
	arena   string             // its id, once known
	flights map[string]*flight // by message id
	order   []string           // of flights, oldest first
}

// flight is the answer to one message: one that comes again gets the same.
type flight struct {
	done   chan struct{}
	answer []byte // set before done is closed
}

// maxTimeout keeps a hostile number from becoming a nonsensical duration.
const maxTimeout = 24 * time.Hour

// notifier sends an event, as a message.
type notifier func(ctx context.Context, data []byte) error

const keptFlights = 256

// New makes an agent.
func New(config Config, handler arenaagent.Handler) (*Agent, error) {
	config.Arena = strings.TrimRight(config.Arena, "/")
	u, err := url.Parse(config.Arena)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("agentprotocol: Config.Arena %q is not an http(s) URL", config.Arena)
	case len(config.Key) != ed25519.PrivateKeySize:
		return nil, errors.New("agentprotocol: Config.Key is not an Ed25519 private key")
	case handler == nil:
		return nil, errors.New("agentprotocol: a handler is needed")
	case config.MaxConcurrent < 0:
		return nil, errors.New("agentprotocol: Config.MaxConcurrent is below zero")
	}
	config.MaxConcurrent = cmp.Or(config.MaxConcurrent, arenaagent.DefaultMaxConcurrent)
	config.HTTPClient = cmp.Or(config.HTTPClient, http.DefaultClient)
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	if len(config.Capabilities) == 0 {
		config.Capabilities = []string{"arena:round"}
	}
	if config.Now == nil {
		config.Now = time.Now //nolint:forbidigo // the one place where the package reads the system's clock
	}
	return &Agent{
		config: config, handler: handler, slots: make(chan struct{}, config.MaxConcurrent),
		arena: config.ArenaID, flights: map[string]*flight{},
	}, nil
}

// PublicKey is what to register: the key's standard base64.
func (a *Agent) PublicKey() string { return idOf(a.config.Key.Public().(ed25519.PublicKey)) }

// SignChallenge signs the key_challenge of a registration.
func SignChallenge(key ed25519.PrivateKey, challenge string) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(challenge)))
}

// arenaID returns the arena's id, and asks for it the first time.
func (a *Agent) arenaID(ctx context.Context) (string, error) {
	a.mu.Lock()
	id := a.arena
	a.mu.Unlock()
	if id != "" {
		return id, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.config.Arena+"/agentprotocol", nil)
	if err != nil {
		return "", fmt.Errorf("ask the arena for its id: %w", err)
	}
	resp, err := a.config.HTTPClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask the arena for its id: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ask the arena for its id: status %d: %w", resp.StatusCode, cmp.Or(err, errors.New("no hello")))
	}
	var hello message
	if err := json.Unmarshal(data, &hello); err != nil {
		return "", fmt.Errorf("read the arena's hello: %w", err)
	}
	if _, err := open(data, hello.From.AgentID); err != nil {
		return "", fmt.Errorf("read the arena's hello: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.arena = cmp.Or(a.arena, hello.From.AgentID)
	return a.arena, nil
}

func (a *Agent) seal(to, typ string, payload any) ([]byte, error) {
	from := party{AgentID: a.PublicKey(), Name: a.config.Name, Capabilities: a.config.Capabilities}
	return seal(a.config.Key, from, to, typ, payload, a.config.Now())
}

func (a *Agent) hello(to string) ([]byte, error) {
	return a.seal(to, "hello", map[string]any{
		"version": version, "features": []string{"signed-messages"}, "maxConcurrent": a.config.MaxConcurrent,
	})
}

// receive reads a message of the arena.
func (a *Agent) receive(data []byte, arena string) (message, error) {
	m, err := open(data, arena)
	switch age := a.config.Now().Sub(m.Timestamp); {
	case err != nil:
		return m, err
	case !m.To.Broadcast && m.To.AgentID != a.PublicKey():
		return m, errors.New("the message is for another agent")
	case age > window || age < -window:
		return m, errors.New("the timestamp is more than 5 minutes from the agent's clock")
	}
	return m, nil
}

// answer answers one message; nil when there is nothing to answer.
func (a *Agent) answer(ctx context.Context, m message, notify notifier) []byte {
	var answer []byte
	var err error
	switch m.Type {
	case "hello":
		answer, err = a.hello(m.From.AgentID)
	case "request":
		answer, err = a.once(ctx, m, notify)
	}
	if err != nil {
		a.config.Logger.Error("cannot answer the arena", slog.Any("error", err))
	}
	return answer
}

// once answers a request; a repetition waits for the same answer.
func (a *Agent) once(ctx context.Context, m message, notify notifier) ([]byte, error) {
	a.mu.Lock()
	f, again := a.flights[m.ID]
	if !again {
		f = &flight{done: make(chan struct{})}
		a.flights[m.ID] = f
		if a.order = append(a.order, m.ID); len(a.order) > keptFlights {
			delete(a.flights, a.order[0])
			a.order = a.order[1:]
		}
	}
	a.mu.Unlock()
	if again {
		select {
		case <-f.done:
			return f.answer, nil
		case <-ctx.Done():
			return nil, nil
		}
	}
	defer close(f.done)
	var err error
	f.answer, err = a.work(ctx, m, notify)
	return f.answer, err
}

// request is the payload of a request.
type request struct {
	Action        string          `json:"action"`
	CorrelationID string          `json:"correlationId"`
	Params        json.RawMessage `json:"params"`
	Timeout       int64           `json:"timeout"` // ms
}

// work does the task of a request.
func (a *Agent) work(ctx context.Context, m message, notify notifier) ([]byte, error) {
	var r request
	fail := func(code, text string) ([]byte, error) {
		return a.seal(m.From.AgentID, "error", map[string]any{"correlationId": cmp.Or(r.CorrelationID, m.ID), "code": code, "message": text})
	}
	if err := json.Unmarshal(m.Payload, &r); err != nil || r.CorrelationID == "" {
		return fail("INVALID_MESSAGE", "a request needs action, correlationId and params")
	}
	if r.Action != "arena.round" && r.Action != "arena:round" && !strings.HasPrefix(r.Action, "arena:round/") {
		return fail("CAPABILITY_NOT_SUPPORTED", "this agent plays rounds: "+strings.Join(a.config.Capabilities, ", "))
	}
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	default:
		return fail("CAPABILITY_NOT_SUPPORTED", "the agent is at work on as many tasks as it takes")
	}
	push := func(ctx context.Context, event []byte) error {
		data, err := a.seal(m.From.AgentID, "notify", map[string]any{"event": "arena.event", "correlationId": r.CorrelationID, "data": json.RawMessage(event)})
		if err != nil {
			return err
		}
		return notify(ctx, data)
	}
	limit := time.Duration(min(max(r.Timeout, 0), maxTimeout.Milliseconds())) * time.Millisecond
	answer, err := arenaagent.Work(ctx, r.Params, limit, a.handler, push, a.config.Logger)
	switch {
	case err == nil:
		return a.seal(m.From.AgentID, "response", map[string]any{"correlationId": r.CorrelationID, "status": "success", "result": json.RawMessage(answer)})
	case errors.Is(err, arenaagent.ErrRateLimited):
		return fail("RATE_LIMITED", arenaagent.ErrRateLimited.Error())
	case errors.Is(err, arenaagent.ErrUnavailable):
		return fail("CAPABILITY_NOT_SUPPORTED", arenaagent.ErrUnavailable.Error())
	case errors.Is(err, arenaagent.ErrTimeout):
		return fail("TIMEOUT", arenaagent.ErrTimeout.Error())
	}
	a.config.Logger.Warn("task not answered", slog.Any("error", err))
	return fail("INTERNAL_ERROR", "the agent failed") // its text is for the log of the owner
}
