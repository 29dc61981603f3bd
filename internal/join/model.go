package join

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// DefaultBaseURL is where models are looked for unless --base-url names another
// place.
const DefaultBaseURL = "https://api.openai.com/v1"

const (
	maxModelText  = 1 << 20         // of one completion
	modelRetry    = 2 * time.Second // before the second request, unless the endpoint names a time
	modelAttempts = 3
)

// Model answers tasks with an OpenAI-compatible chat completion. The key of its
// endpoint goes to that endpoint only.
type Model struct {
	name   string
	url    string
	key    string
	prompt string
	client *http.Client
	form   atomic.Int32 // that the endpoint accepts
}

// The forms of a request, from the preferred one to the one that every endpoint
// accepts.
const (
	streamWithUsage int32 = iota
	streamOnly
	wholeReply
)

// NewModel returns the source of a model. prompt replaces the default one unless
// it is empty.
func NewModel(name, baseURL, key, prompt string) (*Model, error) {
	if baseURL == "" {
		baseURL = DefaultBaseURL
		if key == "" {
			return nil, errors.New("--model needs OPENAI_API_KEY in the environment, or --base-url for an endpoint without a key")
		}
	}
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--base-url: %q is not an http or https URL", baseURL)
	}
	if prompt == "" {
		prompt = defaultPrompt
	}
	if !strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions") {
		u = u.JoinPath("chat/completions")
	}
	return &Model{name: name, url: u.String(), key: key, prompt: prompt, client: newClient()}, nil
}

// Name returns the name of the model without its publisher.
func (m *Model) Name() string { return path.Base(m.name) }

// chatRequest is the body of a request.
type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream,omitempty"`
	Options  *chatOptions  `json:"stream_options,omitempty"`
}

type chatOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// passingError is an error that another request may not meet: an endpoint that is busy,
// or a completion that was cut off.
type passingError struct {
	error
	wait time.Duration // before the other request
}

// Unwrap returns the error.
func (p passingError) Unwrap() error { return p.error }

// Answer requests one completion. Its streamed text becomes events. Temporary
// errors are retried while there is time.
func (m *Model) Answer(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
	messages := []chatMessage{{"system", m.prompt}, {"user", promptFor(task)}}
	for attempt := 1; ; attempt++ {
		answer, err := m.ask(ctx, messages, task, events)
		if ctx.Err() != nil {
			return arenaagent.Answer{}, ctx.Err()
		}
		p, again := errors.AsType[passingError](err)
		if end, ok := ctx.Deadline(); !again || attempt == modelAttempts || ok && time.Until(end) <= p.wait {
			return answer, err
		}
		timer := time.NewTimer(p.wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return arenaagent.Answer{}, ctx.Err()
		}
	}
}

// ask makes one request and reads its completion.
func (m *Model) ask(ctx context.Context, messages []chatMessage, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
	resp, err := m.send(ctx, messages)
	if err != nil {
		return arenaagent.Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	c := newCompletion(events)
	err = c.read(resp.Body)
	c.end()
	if err != nil {
		return arenaagent.Answer{}, err
	}
	answer, err := c.answer(task)
	if err != nil {
		return arenaagent.Answer{}, fmt.Errorf("the model %s: %w", m.name, err)
	}
	return answer, nil
}

// send posts a request in the form that the endpoint accepted last. An endpoint
// that refuses a request may not know stream_options, or streams, so it gets the
// same request without them; what it then accepts is remembered.
func (m *Model) send(ctx context.Context, messages []chatMessage) (*http.Response, error) {
	for form := m.form.Load(); ; form++ {
		request := chatRequest{Model: m.name, Messages: messages, Stream: form < wholeReply}
		if form == streamWithUsage {
			request.Options = &chatOptions{IncludeUsage: true}
		}
		body, err := json.Marshal(request)
		if err != nil {
			return nil, err
		}
		resp, err := m.post(ctx, body)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusOK {
			m.form.Store(form)
			return resp, nil
		}
		err = m.refused(resp)
		_ = resp.Body.Close()
		if form == wholeReply || resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusUnprocessableEntity {
			return nil, err
		}
	}
}

func (m *Model) post(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if m.key != "" {
		req.Header.Set("Authorization", "Bearer "+m.key)
	}
	resp, err := m.client.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w: nothing listens at %s", arenaagent.ErrUnavailable, m.url)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return nil, passingError{fmt.Errorf("%w: %w", arenaagent.ErrUnavailable, err), 0}
	case err != nil:
		return nil, fmt.Errorf("%w: %w", arenaagent.ErrUnavailable, err)
	}
	return resp, nil
}

// refused returns the error of a response that is not a completion.
func (m *Model) refused(resp *http.Response) error {
	var problem struct {
		Error problem `json:"error"`
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // the status alone will do
	err := fmt.Errorf("%s answered %s", m.url, resp.Status)
	if json.Unmarshal(data, &problem) == nil && problem.Error != "" {
		err = fmt.Errorf("%w: %s", err, shorten(m.withoutKey(string(problem.Error)), maxLine))
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w (check OPENAI_API_KEY)", err)
	case resp.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w (check --model and --base-url)", err)
	case resp.StatusCode == http.StatusTooManyRequests:
		err = errors.Join(arenaagent.ErrRateLimited, err)
	case resp.StatusCode < 500:
		return err
	}
	wait := modelRetry
	if n, bad := strconv.Atoi(resp.Header.Get("Retry-After")); bad == nil && n >= 0 {
		wait = time.Duration(min(n, 3600)) * time.Second
	}
	return passingError{err, wait}
}

// withoutKey removes the key from a message; some endpoints quote it.
func (m *Model) withoutKey(message string) string {
	if m.key == "" {
		return message
	}
	return strings.ReplaceAll(message, m.key, "…")
}
