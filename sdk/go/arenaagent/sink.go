package arenaagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/coder/websocket"
)

// Close codes of the arena's stream after which the socket is not opened
// again under the same token.
const (
	closeBadRequest websocket.StatusCode = 4400
	closeToken      websocket.StatusCode = 4401
	closeForged     websocket.StatusCode = 4403
	closeReplaced   websocket.StatusCode = 4409
	closeTooMany    websocket.StatusCode = 4429
)

// socketSink sends over one WebSocket, which lasts as long as the match: a message
// carries the token of a later round.
type socketSink struct {
	url    string
	client *http.Client
	log    *slog.Logger

	conn  *websocket.Conn // nil: not connected
	token string          // that the socket was opened or renewed with
	stop  context.CancelFunc
	over  chan struct{} // closed when reading ended; then cause may be read
	cause error
	wg    sync.WaitGroup
}

func (s *socketSink) send(ctx context.Context, token string, batch [][]byte) (int, error) {
	if err := s.connect(ctx, token); err != nil {
		return 0, err
	}
	for i, event := range batch {
		if err := s.conn.Write(ctx, websocket.MessageText, event); err != nil {
			return i, s.lost(err)
		}
	}
	return len(batch), nil
}

// connect makes sure that there is a socket under token.
func (s *socketSink) connect(ctx context.Context, token string) error {
	if s.conn != nil {
		select {
		case <-s.over:
			renewed := token != s.token
			if err := s.lost(s.cause); errors.Is(err, errFinal) && !renewed {
				return err
			}
		default:
		}
	}
	if s.conn == nil {
		return s.dial(ctx, token)
	}
	if token == s.token {
		return nil
	}
	auth, err := json.Marshal(map[string]string{"type": "auth", "token": token})
	if err != nil {
		return fmt.Errorf("encode the token: %w", err)
	}
	if err := s.conn.Write(ctx, websocket.MessageText, auth); err != nil {
		_ = s.lost(err)
		return s.dial(ctx, token)
	}
	s.token = token
	return nil
}

func (s *socketSink) dial(ctx context.Context, token string) error {
	conn, resp, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{ //nolint:bodyclose // the library closes it
		HTTPClient: s.client, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		if resp != nil && resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
			return fmt.Errorf("%w: status %d", errFinal, resp.StatusCode)
		}
		return fmt.Errorf("open the stream: %w", err)
	}
	// Reading outlives the dial's context: the socket stays for the match.
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.conn, s.token, s.stop, s.over, s.cause = conn, token, stop, make(chan struct{}), nil
	over := s.over
	s.wg.Go(func() {
		defer close(over)
		for {
			_, data, err := conn.Read(reading)
			if err != nil {
				s.cause = err
				return
			}
			s.log.DebugContext(reading, "message from the stream", slog.String("message", clip(string(data), 256)))
		}
	})
	return nil
}

// lost closes the socket and reports whether it may be opened again.
func (s *socketSink) lost(err error) error {
	s.close()
	switch code := websocket.CloseStatus(errors.Join(err, s.cause)); code {
	case closeBadRequest, closeToken, closeForged, closeReplaced, closeTooMany:
		return fmt.Errorf("%w: close code %d", errFinal, code)
	default:
		return fmt.Errorf("write to the stream: %w", err)
	}
}

func (s *socketSink) close() {
	if s.conn == nil {
		return
	}
	// Without the handshake, which would wait for an arena that is gone.
	_ = s.conn.CloseNow()
	s.stop()
	s.wg.Wait()
	s.conn = nil
}

// postSink sends each batch as one POST of NDJSON.
type postSink struct {
	url    string
	client *http.Client
}

func (s *postSink) send(ctx context.Context, token string, batch [][]byte) (int, error) {
	body := append(bytes.Join(batch, []byte("\n")), '\n')
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("post events: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("post events: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusTooManyRequests:
		return 0, fmt.Errorf("%w: status %d", errFinal, resp.StatusCode)
	case resp.StatusCode >= 500:
		return 0, fmt.Errorf("post events: status %d", resp.StatusCode)
	default: // taken, or refused for good: the round has closed
		return len(batch), nil
	}
}

func (*postSink) close() {}
