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
}

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
	return &Model{name: name, url: strings.TrimRight(baseURL, "/") + "/chat/completions", key: key, prompt: prompt, client: newClient()}, nil
}

// Name returns the name of the model without its publisher.
func (m *Model) Name() string { return path.Base(m.name) }

// chatRequest is the body of a request.
type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream"`
	Options  struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Answer requests one completion. Its streamed text becomes events.
func (m *Model) Answer(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
	request := chatRequest{Model: m.name, Stream: true, Messages: []chatMessage{{"system", m.prompt}, {"user", promptFor(task)}}}
	request.Options.IncludeUsage = true
	body, err := json.Marshal(request)
	if err != nil {
		return arenaagent.Answer{}, err
	}
	resp, err := m.send(ctx, body)
	if err != nil {
		return arenaagent.Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	c := newCompletion(events)
	err = c.read(resp)
	c.end()
	switch {
	case ctx.Err() != nil:
		return arenaagent.Answer{}, ctx.Err()
	case err != nil:
		return arenaagent.Answer{}, err
	}
	answer, err := c.answer(task)
	if err != nil {
		return arenaagent.Answer{}, fmt.Errorf("the model %s: %w", m.name, err)
	}
	return answer, nil
}

// send posts a request. It repeats one that the endpoint cannot take now, while
// there is time.
func (m *Model) send(ctx context.Context, body []byte) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		resp, err := m.post(ctx, body)
		if err != nil || resp.StatusCode == http.StatusOK {
			return resp, err
		}
		refused := m.refused(resp)
		_ = resp.Body.Close()
		if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests || attempt == modelAttempts {
			return nil, refused
		}
		wait := modelRetry
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n >= 0 {
			wait = time.Duration(min(n, 3600)) * time.Second
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
			return nil, refused
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

func (m *Model) post(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if m.key != "" {
		req.Header.Set("Authorization", "Bearer "+m.key)
	}
	resp, err := m.client.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w: nothing listens at %s", arenaagent.ErrUnavailable, m.url)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", arenaagent.ErrUnavailable, err)
	}
	return resp, nil
}

// refused returns the error of a response that is not a completion.
func (m *Model) refused(resp *http.Response) error {
	var problem struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // the status alone will do
	err := fmt.Errorf("%s answered %s", m.url, resp.Status)
	if json.Unmarshal(data, &problem) == nil && problem.Error.Message != "" {
		err = fmt.Errorf("%w: %s", err, shorten(m.withoutKey(problem.Error.Message), maxLine))
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		return errors.Join(arenaagent.ErrRateLimited, err)
	}
	return err
}

// withoutKey removes the key from a message; some endpoints quote it.
func (m *Model) withoutKey(message string) string {
	if m.key == "" {
		return message
	}
	return strings.ReplaceAll(message, m.key, "…")
}
