package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
)

const (
	requestTimeout = 10 * time.Second // of one request to the collector
	postTimeout    = 30 * time.Second // of an export with its retries
	firstRetry     = 5 * time.Second  // doubled with each retry
	maxResponse    = 4 << 10          // of a response, for the log
)

// post exports a message: TracesData or MetricsData, which have the form of OTLP's
// requests. It retries as OTLP/HTTP asks for, until postTimeout has passed or ctx ends.
func (e *Exporter) post(ctx context.Context, path string, m proto.Message) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	for wait := firstRetry; ; wait *= 2 {
		err := e.request(ctx, path, body)
		retry, ok := errors.AsType[retryError](err)
		if !ok {
			return err
		}
		jitter := rand.N(wait) - wait/2 //nolint:gosec // spreads the retries of nodes
		select {
		case <-time.After(max(wait+jitter, retry.after)):
		case <-ctx.Done():
			return err
		}
	}
}

// Check exports nothing, and returns why the collector did not accept it. Of the
// options it uses URL, Headers, HTTP and Version.
func Check(ctx context.Context, o Options) error {
	defer o.HTTP.CloseIdleConnections()
	return (&Exporter{options: o}).request(ctx, "traces", nil)
}

// retryError is a failure that may pass.
type retryError struct {
	error

	after time.Duration // at least
}

// request sends one request to the collector.
func (e *Exporter) request(ctx context.Context, path string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.options.URL.JoinPath("v1", path).String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "arena/"+e.options.Version)
	for name, value := range e.options.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	response, err := e.options.HTTP.Do(r)
	if err != nil {
		if failure, ok := errors.AsType[*url.Error](err); ok && failure.Timeout() {
			return retryError{err, 0}
		}
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return err
	}
	failure := fmt.Errorf("%s: %q", response.Status, bytes.TrimSpace(answer))
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted:
		// Without rejected data, the response is empty or an empty partial_success, which
		// is two bytes.
		if len(answer) > 2 && response.Header.Get("Content-Type") == "application/x-protobuf" {
			return fmt.Errorf("rejected in part: %q", answer)
		}
		return nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a date counts as 0
		return retryError{failure, time.Duration(seconds) * time.Second}
	}
	return failure
}
