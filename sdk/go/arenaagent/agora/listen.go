package agora

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

const (
	maxMessage       = 1 << 20 // the most that is read of a message
	conversationTTL  = time.Hour
	maxConversations = 4096
	messageLimit     = 71 * time.Minute // no task takes longer: ten minutes and an hour of time bank
)

// Agent is an agent that listens: an http.Handler for its base URL, whatever
// the path, and the conversations below it.
//
// The protocol has no authentication, so any client that has the endpoint can send
// tasks to it: give it a path that cannot be guessed.
type Agent struct {
	config  Config // but for Base
	handler arenaagent.Handler
	slots   chan struct{}

	mu            sync.Mutex
	base          string
	conversations map[string]conversation // by id
}

type conversation struct {
	hash    string
	expires time.Time
}

// New makes an agent that listens.
func New(config Config, handler arenaagent.Handler) (*Agent, error) {
	config, err := config.withDefaults(handler)
	if err != nil {
		return nil, err
	}
	return &Agent{config: config, handler: handler, slots: make(chan struct{}, config.MaxConcurrent), base: config.Base, conversations: map[string]conversation{}}, nil
}

// SetBase sets the secret base URL of the agent, once registration has returned it
// one. From then on its events are shown.
func (a *Agent) SetBase(base string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.base = strings.TrimRight(base, "/")
}

// configNow is the configuration with the base that is known by now.
func (a *Agent) configNow() Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.config
	c.Base = a.base
	return c
}

// message is what the arena sends.
type message struct {
	Hash       *string         `json:"protocolHash"`
	Body       json.RawMessage `json:"body"`
	Multiround bool            `json:"multiround"`
}

// ServeHTTP answers messages, at the base URL and in conversations.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, id, follows := strings.Cut(r.URL.Path, "/conversations/")
	switch {
	case r.Method == http.MethodDelete && follows:
		a.mu.Lock()
		delete(a.conversations, id)
		a.mu.Unlock()
		write(w, http.StatusOK, map[string]any{"status": "success"})
		return
	case r.Method != http.MethodPost:
		write(w, http.StatusNotFound, failed("Unknown endpoint"))
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	var m message
	if err != nil || json.Unmarshal(data, &m) != nil {
		write(w, http.StatusBadRequest, failed("The message is not JSON"))
		return
	}
	if m.Body == nil {
		write(w, http.StatusOK, failed("Missing field 'body'"))
		return
	}
	a.answer(w, r, m, id, follows)
}

func (a *Agent) answer(w http.ResponseWriter, r *http.Request, m message, id string, follows bool) {
	reply := map[string]any{"status": "success"}
	hash := ""
	if m.Hash != nil {
		hash = strings.ToLower(*m.Hash)
	}
	if follows {
		known, ok := a.extend(id)
		if !ok {
			write(w, http.StatusNotFound, failed("Unknown conversation"))
			return
		}
		hash = known.hash
	}
	body := textOf(m.Body)
	switch {
	case hash == HealthHash:
		reply["body"] = a.health()
	case hash == RoundHash || hash == JudgeHash:
		reply["body"] = a.work(r.Context(), body)
		if m.Multiround && !follows && hash == RoundHash {
			id = a.open(hash)
		}
	default:
		write(w, http.StatusOK, failed("Unsupported protocol"))
		return
	}
	if id != "" {
		reply["conversationId"], reply["conversationExpires"] = id, a.config.Now().Add(conversationTTL).Unix()
	}
	write(w, http.StatusOK, reply)
}

// open makes a conversation.
func (a *Agent) open(hash string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.config.Now()
	if len(a.conversations) >= maxConversations {
		for id, t := range a.conversations {
			if now.After(t.expires) {
				delete(a.conversations, id)
			}
		}
	}
	if len(a.conversations) >= maxConversations {
		return "" // single messages do as well
	}
	id := rand.Text()
	a.conversations[id] = conversation{hash, now.Add(conversationTTL)}
	return id
}

func (a *Agent) extend(id string) (conversation, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, ok := a.conversations[id]
	if !ok || a.config.Now().After(t.expires) {
		return conversation{}, false
	}
	t.expires = a.config.Now().Add(conversationTTL)
	a.conversations[id] = t
	return t, true
}

func (a *Agent) health() string {
	said := map[string]any{"status": "ok", "max_concurrent": a.config.MaxConcurrent}
	if a.config.Capabilities != nil {
		said["capabilities"] = a.config.Capabilities
	}
	text, _ := json.Marshal(said) // these types always encode
	return string(text)
}

// work answers a task, unless the agent is full.
func (a *Agent) work(ctx context.Context, task string) string {
	select {
	case a.slots <- struct{}{}:
	default:
		return replyOf(nil, arenaagent.ErrUnavailable)
	}
	defer func() { <-a.slots }()
	ctx, cancel := context.WithTimeout(ctx, messageLimit)
	defer cancel()
	var named struct {
		MatchID string `json:"match_id"`
	}
	_ = json.Unmarshal([]byte(task), &named) // Work reports the error
	answer, err := arenaagent.Work(ctx, []byte(task), 0, a.handler, showTo(a.configNow(), named.MatchID), a.config.Logger)
	if err != nil && !errors.Is(err, context.Canceled) {
		a.config.Logger.WarnContext(ctx, "task not answered", "error", err)
	}
	return replyOf(answer, err)
}

// textOf returns the text of a body that is a string or an object.
func textOf(body json.RawMessage) string {
	var s string
	if json.Unmarshal(body, &s) == nil {
		return s
	}
	return string(body)
}

func failed(text string) map[string]any {
	return map[string]any{"status": "failure", "error": text}
}

func write(w http.ResponseWriter, status int, v map[string]any) {
	data, _ := json.Marshal(v) // these types always encode
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that left is no failure of ours
}
