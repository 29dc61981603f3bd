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

const (
	maxModelText  = 1 << 20         // of one completion
	modelRetry    = 2 * time.Second // before the second request, unless the endpoint names a time
	modelAttempts = 3
)

// Model answers tasks with a completion of a language model. The key of its
// endpoint goes to that endpoint only.
type Model struct {
	api    modelAPI
	name   string
	url    string
	key    string
	prompt string
	client *http.Client
	form   atomic.Int32 // that the endpoint accepts
}

// NewModel returns the source of a model that is reached over an API: chat,
// responses or anthropic. Its key is in the environment. prompt replaces the
// default one unless it is empty.
func NewModel(name, apiName, baseURL string, getenv func(string) string, prompt string) (*Model, error) {
	api, known := modelAPIs()[apiName]
	if !known {
		return nil, fmt.Errorf("--api: there is no API %q", apiName)
	}
	key := getenv(api.key)
	if baseURL == "" {
		baseURL = api.base
		if key == "" {
			return nil, fmt.Errorf("--model needs %s in the environment, or --base-url for an endpoint without a key", api.key)
		}
	}
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--base-url: %q is not an http or https URL", baseURL)
	}
	if prompt == "" {
		prompt = defaultPrompt
	}
	if !strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/"+api.path) {
		u = u.JoinPath(api.path)
	}
	m := &Model{api: api, name: name, url: u.String(), key: key, prompt: prompt, client: newClient()}
	m.form.Store(api.first)
	return m, nil
}

// Name returns the name of the model without its publisher.
func (m *Model) Name() string { return path.Base(m.name) }

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
	for attempt := 1; ; attempt++ {
		answer, err := m.ask(ctx, task, events)
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
func (m *Model) ask(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
	resp, err := m.send(ctx, promptFor(task))
	if err != nil {
		return arenaagent.Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	c := newCompletion(m.api, events)
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
func (m *Model) send(ctx context.Context, task string) (*http.Response, error) {
	for form := m.form.Load(); ; form++ {
		body, err := json.Marshal(m.api.body(m.name, m.prompt, task, form))
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
	m.api.sign(req.Header, m.key)
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
		return fmt.Errorf("%w (check %s)", err, m.api.key)
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
