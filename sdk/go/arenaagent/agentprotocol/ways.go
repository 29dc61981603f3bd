package agentprotocol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// ServeHTTP answers a message that the arena posts.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "messages are sent by POST", http.StatusMethodNotAllowed)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, "the message cannot be read, or is over 64 KiB", http.StatusRequestEntityTooLarge)
		return
	}
	arena, err := a.arenaID(r.Context())
	if err != nil {
		a.config.Logger.Warn("arena not known", slog.Any("error", err))
		http.Error(w, "the arena's id is not known yet", http.StatusServiceUnavailable)
		return
	}
	m, err := a.receive(data, arena)
	if err != nil {
		a.config.Logger.Warn("message refused", slog.Any("error", err))
		status, code := http.StatusBadRequest, "INVALID_MESSAGE"
		if errors.Is(err, errSignature) || m.From.AgentID != arena {
			status, code = http.StatusUnauthorized, "INVALID_SIGNATURE"
		}
		answer, err := a.seal(arena, "error", map[string]any{"correlationId": m.ID, "code": code, "message": "the message is refused"})
		if err != nil {
			http.Error(w, "cannot answer", http.StatusInternalServerError)
			return
		}
		write(w, status, answer)
		return
	}
	answer := a.answer(r.Context(), m, a.post)
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	write(w, http.StatusOK, answer)
}

func write(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the arena may have hung up
}

// post sends an event to the arena. One that it refuses is not sent again.
func (a *Agent) post(ctx context.Context, data []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.config.Arena+"/agentprotocol", bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("post an event: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.config.HTTPClient.Do(req)
	if err != nil {
		return fmt.Errorf("post an event: %w", err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxMessage))
	_ = resp.Body.Close()
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		return fmt.Errorf("post an event: status %d", resp.StatusCode)
	}
	return nil
}

// Close codes of the arena after which it makes no sense to come back.
const closeReplaced websocket.StatusCode = 4409

// ErrReplaced means that another program connected with the agent's key.
var ErrReplaced = errors.New("agentprotocol: another program connected with this key")

// Run keeps a WebSocket to the arena and answers what comes until ctx ends,
// then returns nil. It reconnects after a loss, at once at first, then every ten
// seconds.
func (a *Agent) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	const first, most = 100 * time.Millisecond, 10 * time.Second
	for pause := first; ; pause = min(2*pause, most) {
		began := a.config.Now()
		err := a.session(ctx, &wg)
		switch {
		case ctx.Err() != nil:
			return nil
		case websocket.CloseStatus(err) == closeReplaced:
			return ErrReplaced
		}
		if a.config.Now().Sub(began) > most {
			pause = first
		}
		a.config.Logger.Warn("connection to the arena lost", slog.Any("error", err))
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// session is one WebSocket, from hello to its end. Work on tasks continues when it
// ends: the arena sends them again and gets the answers.
func (a *Agent) session(ctx context.Context, wg *sync.WaitGroup) error {
	arena, err := a.arenaID(ctx)
	if err != nil {
		return err
	}
	dialing, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ws, resp, err := websocket.Dial(dialing, strings.Replace(a.config.Arena, "http", "ws", 1)+"/agentprotocol/ws",
		&websocket.DialOptions{HTTPClient: a.config.HTTPClient})
	if err != nil {
		if resp != nil && resp.Body != nil {
			_ = resp.Body.Close()
		}
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxMessage)
	hello, err := a.hello(arena)
	if err != nil {
		return err
	}
	if err := ws.Write(dialing, websocket.MessageText, hello); err != nil {
		return fmt.Errorf("say hello: %w", err)
	}
	_, data, err := ws.Read(dialing)
	if err != nil {
		return fmt.Errorf("wait for the arena's hello: %w", err)
	}
	m, err := a.receive(data, arena)
	if err != nil {
		return fmt.Errorf("read the arena's hello: %w", err)
	}
	if m.Type != "hello" {
		return fmt.Errorf("the arena answered hello with %s: %s", m.Type, m.Payload)
	}
	a.config.Logger.InfoContext(ctx, "connected to the arena", slog.String("arena", a.config.Arena))
	send := func(ctx context.Context, data []byte) error {
		// Ending the context of a write would break the socket.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return ws.Write(ctx, websocket.MessageText, data)
	}
	for {
		_, data, err := ws.Read(ctx)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		m, err := a.receive(data, arena)
		if err != nil {
			a.config.Logger.Warn("message refused", slog.Any("error", err))
			continue
		}
		wg.Go(func() {
			if answer := a.answer(ctx, m, send); answer != nil {
				_ = send(ctx, answer) // a lost socket is found by reading; the arena asks again
			}
		})
	}
}
