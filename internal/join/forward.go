package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"

	"github.com/agora-arena/agora-go/arenaagent"
)

// maxReply is the most that the arena reads of a reply.
const maxReply = 64 << 10

// Forward answers tasks with an AAP endpoint, typically on this machine.
type Forward struct {
	endpoint string
	client   *http.Client
}

// NewForward returns the source of an endpoint.
func NewForward(endpoint string) (*Forward, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--url: %q is not an http or https URL", endpoint)
	}
	return &Forward{endpoint: endpoint, client: newClient()}, nil
}

// newClient returns a client that follows no redirects: the token of a task and
// the key of a model go to the named address only.
func newClient() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Name returns a name that discloses nothing about the machine.
func (f *Forward) Name() string { return "endpoint" }

// Answer posts the task as it came, with its token, and returns the reply.
func (f *Forward) Answer(ctx context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.endpoint, bytes.NewReader(task.Body))
	if err != nil {
		return arenaagent.Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+task.Token)
	resp, err := f.client.Do(req)
	switch {
	case ctx.Err() != nil:
		return arenaagent.Answer{}, ctx.Err()
	case errors.Is(err, syscall.ECONNREFUSED):
		return arenaagent.Answer{}, fmt.Errorf("%w: nothing listens at %s", arenaagent.ErrUnavailable, f.endpoint)
	case err != nil:
		return arenaagent.Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return arenaagent.Answer{}, fmt.Errorf("read the reply of %s: %w", f.endpoint, err)
	}
	if resp.StatusCode == http.StatusOK {
		return arenaagent.Answer{Raw: append([]byte{}, body...)}, nil // too long a reply is refused when it is encoded
	}
	err = fmt.Errorf("%s answered %s", f.endpoint, resp.Status)
	switch resp.StatusCode {
	case http.StatusRequestTimeout:
		err = errors.Join(arenaagent.ErrTimeout, err)
	case http.StatusTooManyRequests:
		err = errors.Join(arenaagent.ErrRateLimited, err)
	case http.StatusServiceUnavailable:
		err = errors.Join(arenaagent.ErrUnavailable, err)
	}
	return arenaagent.Answer{}, err
}
