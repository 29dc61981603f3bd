package pull

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/protocol/task"
)

// Limits of polls and answers.
const (
	maxWait     = 60 * time.Second
	defaultWait = 30 * time.Second
	writeLimit  = 10 * time.Second // to send a task
	bodyLimit   = 20 * time.Second // to receive an answer
	storeLimit  = 10 * time.Second
	patience    = 10 * time.Second // a poll that waited as long is not counted
)

// Agents finds agents.
type Agents interface {
	Agent(ctx context.Context, id string) (arena.Agent, error)
}

// Events accepts what agents show to spectators: one AAP event in each JSON
// object.
type Events interface {
	Accept(ctx context.Context, matchID, agentID string, event []byte) error
}

// ServerOptions are the parts of a Server. All but TraceParent are needed.
type ServerOptions struct {
	Hub    *Hub
	Agents Agents
	Sign   func(arena.TaskClaims) (string, error)
	Events Events
	// Awake is called when an agent polls that was absent.
	Awake func(ctx context.Context, agentID string)
	// Uncount is called for each request that brought a task, waited for long or
	// brought an answer that counts: the more matches an agent plays, the more of
	// them it needs.
	Uncount func(caller arena.Caller)
	// TraceParent returns the traceparent of a task (W3C Trace Context). Nil: tasks
	// have none.
	TraceParent func(matchID string, round int, agentID string) string
}

// Server delivers tasks to polls and accepts answers. It is safe for concurrent
// use.
type Server struct{ o ServerOptions }

// NewServer makes a Server.
func NewServer(o ServerOptions) *Server {
	return &Server{o: o}
}

// agent returns an agent whose tasks the caller may fetch.
func (s *Server) agent(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error) {
	g, err := s.o.Agents.Agent(ctx, id)
	switch {
	case err != nil:
		return g, err
	case !caller.MayFetch(g):
		return g, arena.Errorf(arena.CodeUnauthorized, "the token is not valid for this agent")
	}
	return g, nil
}

// Poll answers a request for a task. If it has to wait, it takes the connection
// from the HTTP server, or waits in the handler where that is not possible. An
// error was not answered.
func (s *Server) Poll(w http.ResponseWriter, r *http.Request, caller arena.Caller, agentID string) error {
	g, err := s.agent(r.Context(), caller, agentID)
	if err != nil {
		return err
	}
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	p, most, err := s.begin(r.Context(), caller, g, wait)
	if err != nil {
		return err
	}
	hijacked := false
	defer func() {
		if !hijacked {
			s.o.Hub.end(p)
		}
	}()
	d, ok, err := s.take(r.Context(), p, most)
	if err != nil {
		return err
	}
	if !ok && wait > 0 {
		conn, taken := hijack(w)
		if taken {
			hijacked = true
			p.attach(conn)
			s.o.Hub.parked.Go(func() { s.park(p) })
			return nil
		}
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Time{}) // the server's own would end the wait
		if d, ok, err = s.hold(r.Context(), p, wait); err != nil {
			return err
		}
		_ = rc.SetWriteDeadline(time.Now().Add(writeLimit)) //nolint:forbidigo // sockets know the real clock only
	}
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.deliver(r.Context(), w, d)
}

// hijack detaches the connection of a request from the HTTP server; ok is false
// where it cannot be detached, as over HTTP/2.
func hijack(w http.ResponseWriter) (conn net.Conn, ok bool) {
	inner := w // the wrapper of a router may have a Hijack that panics
	for {
		wrapper, ok := inner.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			break
		}
		inner = wrapper.Unwrap()
	}
	if _, ok := inner.(http.Hijacker); !ok {
		return nil, false
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	return conn, err == nil
}

// begin adds a poll for a task of an agent, which Hub.end removes, and notes that
// the agent is present. most is how many deliveries may be unacknowledged before
// the poll gets the oldest of them again.
func (s *Server) begin(ctx context.Context, caller arena.Caller, g arena.Agent, wait time.Duration) (p *poll, most int, err error) {
	switch {
	case !g.RetiredAt.IsZero():
		return nil, 0, g.NotRetired()
	case !g.Pulls():
		return nil, 0, arena.Errorf(arena.CodeHasEndpoint, "agent %s gets its tasks at its endpoint: remove that with PATCH /v1/agents/{id}, endpoint \"\"", g.ID)
	}
	now := s.o.Hub.o.Now()
	p = &poll{agentID: g.ID, ownerID: g.OwnerID, caller: caller, began: now, until: now.Add(wait), signal: make(chan struct{}, 1)}
	concurrent := max(1, g.PullConcurrent)
	parallel, ok := s.o.Hub.begin(p, concurrent+1)
	if !ok {
		e := arena.Errorf(arena.CodeRateLimited, "the agent has %d polls that wait, one more than its max_concurrent", concurrent+1)
		e.RetryAfter = time.Second
		return nil, 0, e
	}
	if s.o.Hub.note(g.ID, now) {
		s.o.Awake(ctx, g.ID)
	}
	return p, concurrent - parallel, nil
}

// waitOf returns how long a poll waits.
func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return defaultWait, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0 && seconds <= maxWait.Seconds()) {
		return 0, arena.Invalid("wait", "must be a number of seconds between 0 and %v", maxWait.Seconds())
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// park waits for a task on the connection of a poll.
func (s *Server) park(p *poll) {
	defer s.o.Hub.end(p)
	defer p.conn.Close() //nolint:errcheck // nothing is left to lose
	for {
		switch p.await() {
		case lost:
			return
		case over:
			s.uncount(p)
			_, _ = io.WriteString(p.conn, "HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n")
			return
		case woken:
			if s.serve(p) {
				return
			}
		}
	}
}

// serve delivers a task on the connection of a poll; false: there is none.
func (s *Server) serve(p *poll) (done bool) {
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
	defer cancel()
	d, ok, err := s.take(ctx, p, unlimited) // only a new poll gets a lost delivery
	var body []byte
	if err == nil && ok {
		body, err = s.encoded(ctx, d)
	}
	if err != nil {
		s.o.Hub.o.Logger.WarnContext(ctx, "task not delivered", "agent_id", p.agentID, "error", err)
	}
	if err != nil || !ok {
		return false
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\nContent-Length: "
	_ = p.conn.SetWriteDeadline(time.Now().Add(writeLimit)) //nolint:forbidigo // sockets know the real clock only
	buffers := net.Buffers{[]byte(head + strconv.Itoa(len(body)) + "\r\n\r\n"), body}
	if _, err := buffers.WriteTo(p.conn); err != nil {
		s.giveBack(ctx, d)
	}
	return true
}

// uncount returns the request of a poll that waited for long to its limit.
func (s *Server) uncount(p *poll) {
	if s.o.Hub.o.Now().Sub(p.began) >= patience {
		s.o.Uncount(p.caller)
	}
}

// unlimited is more than an agent can have unacknowledged.
const unlimited = 1 << 30

// delivery is a task with the request that the agent gets, which differs from the
// stored one in the number of the attempt.
type delivery struct {
	task    arena.PulledTask
	request []byte
}

// deliver answers a poll that did not have to wait.
func (s *Server) deliver(ctx context.Context, w http.ResponseWriter, d delivery) error {
	body, err := s.encoded(ctx, d)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err = w.Write(body) //nolint:gosec // G705: JSON, which no browser reads as a page
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.giveBack(ctx, d)
	}
	return nil
}

func (s *Server) giveBack(ctx context.Context, d delivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	if err := s.o.Hub.o.Store.ReturnPulled(ctx, d.task); err != nil {
		s.o.Hub.o.Logger.WarnContext(ctx, "task not released", "agent_id", d.task.AgentID, "error", err)
		return
	}
	s.o.Hub.o.Notifier.Notify(taskKey + d.task.AgentID)
}

// take claims a task for a poll. most is how many deliveries may be
// unacknowledged before the oldest of them counts as lost.
func (s *Server) take(ctx context.Context, p *poll, most int) (delivery, bool, error) {
	t, ok, err := s.o.Hub.o.Store.TakePulled(ctx, p.agentID, most, s.o.Hub.o.Now())
	if err != nil || !ok {
		return delivery{}, false, err
	}
	d := delivery{task: t, request: t.Body}
	if number(t) > 1 {
		if d.request, err = task.Renumber(t.Body, number(t)); err != nil {
			s.giveBack(ctx, d)
			return delivery{}, false, err
		}
	}
	s.o.Hub.note(t.AgentID, t.ExpiresAt) // at work it need not poll
	s.o.Uncount(p.caller)
	return d, true, nil
}

// number is the attempt of the last delivery of a task.
func number(t arena.PulledTask) int { return t.Attempt + max(0, t.Deliveries-1) }

// encoded returns the answer to a poll: the request byte for byte, and the token
// that covers it. A task that cannot be encoded is released.
func (s *Server) encoded(ctx context.Context, d delivery) (body []byte, err error) {
	defer func() {
		if err != nil {
			s.giveBack(ctx, d)
		}
	}()
	t := d.task
	traceParent := ""
	if s.o.TraceParent != nil {
		traceParent = s.o.TraceParent(t.MatchID, t.Round, t.AgentID)
	}
	claims := aap.Claims(arena.Attempt{
		MatchID: t.MatchID, Round: t.Round, Deadline: t.Deadline, Seat: arena.Seat{AgentID: t.AgentID},
	}, d.request, s.o.Hub.o.Now())
	token, err := s.o.Sign(claims)
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(struct {
		Token    string `json:"token"`
		TaskID   string `json:"task_id"`
		Deadline string `json:"deadline"`
		Attempt  int    `json:"attempt"`
		Trace    string `json:"traceparent,omitempty"`
	}{token, t.TaskID, t.Deadline.UTC().Format(arena.TimeFormat), number(t), traceParent})
	if err != nil {
		return nil, err //nolint:wrapcheck // it cannot fail
	}
	body = make([]byte, 0, len(d.request)+len(rest)+len(`{"task":,`))
	body = append(append(body, `{"task":`...), d.request...)
	return append(append(body, ','), rest[1:]...), nil
}

// answer is what came for a task, as it is stored.
type answer struct {
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	Encoding    string `json:"encoding"`
	TooLarge    bool   `json:"too_large"`
	Body        []byte `json:"body"`
}

// exchange is the answer as the reply of an endpoint.
func (a answer) exchange() protocol.Exchange {
	x := protocol.Exchange{
		Status: a.Status, ContentType: a.ContentType, Encoding: a.Encoding, Body: a.Body, Connected: true, Written: true, Replied: true,
	}
	if a.TooLarge {
		x.Failure = protocol.FailTooLarge
	}
	return x
}

// Answer stores the answer to a task and returns its outcome. A body that is
// not an answer counts as such, and is an error too.
func (s *Server) Answer(w http.ResponseWriter, r *http.Request, caller arena.Caller, agentID, taskID string) (arena.Outcome, error) {
	g, err := s.agent(r.Context(), caller, agentID)
	if err != nil {
		return "", err
	}
	given, err := s.read(w, r)
	if err != nil {
		return "", err
	}
	return s.accept(r.Context(), caller, g, taskID, given)
}

// accept stores an answer of the caller.
func (s *Server) accept(ctx context.Context, caller arena.Caller, g arena.Agent, taskID string, given answer) (arena.Outcome, error) {
	encoded, err := json.Marshal(given)
	if err != nil {
		return "", err //nolint:wrapcheck // it cannot fail
	}
	now := s.o.Hub.o.Now()
	t, first, err := s.o.Hub.o.Store.AnswerPulled(ctx, g.ID, taskID, encoded, now)
	if err != nil {
		return "", err
	}
	s.o.Hub.o.Notifier.Notify(answerKey + t.ID)
	s.o.Hub.note(g.ID, now)
	reply := aap.ReadReply(given.exchange(), t.OutputFormat, nil)
	if reply.Outcome == arena.OutcomeInvalid {
		code := arena.CodeMalformed
		if given.TooLarge {
			code = arena.CodeTooLarge
		}
		return reply.Outcome, arena.Errorf(code, "%s; the round counts as invalid (%s)", reply.Detail, reply.Reason)
	}
	if first {
		s.o.Uncount(caller)
	}
	return reply.Outcome, nil
}

// read reads an answer of at most protocol.MaxBody bytes.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (answer, error) {
	rc := http.NewResponseController(w)
	// Where it cannot be set, the server's own holds.
	_ = rc.SetReadDeadline(time.Now().Add(bodyLimit)) //nolint:forbidigo // sockets know the real clock only
	body, err := io.ReadAll(io.LimitReader(r.Body, protocol.MaxBody+1))
	if err != nil {
		return answer{}, &arena.Error{Code: arena.CodeMalformed, Message: "the body ended before it was complete", Err: err}
	}
	a := answerOf(body)
	a.ContentType, a.Encoding = strings.Join(r.Header.Values("Content-Type"), ", "), strings.Join(r.Header.Values("Content-Encoding"), ", ")
	if a.TooLarge {
		w.Header().Set("Connection", "close") // the rest is not read
		return a, nil
	}
	_ = rc.SetReadDeadline(time.Time{})
	return a, nil
}

// answerOf returns the answer of a body, of which it keeps protocol.MaxBody bytes.
func answerOf(body []byte) answer {
	a := answer{Status: http.StatusOK, Body: body}
	if len(body) > protocol.MaxBody {
		a.TooLarge, a.Body = true, body[:protocol.MaxBody]
	} else if status, ok := statusOf(body); ok {
		a.Status = status
	}
	return a
}

// statusOf returns the status for which a body stands, if it does.
func statusOf(body []byte) (status int, ok bool) {
	var said struct {
		Status json.RawMessage `json:"status"`
		Answer json.RawMessage `json:"answer"`
	}
	if !bytes.Contains(body, []byte(`"status"`)) || strictjson.UnmarshalOpen(body, &said, "status", "answer") != nil || said.Answer != nil && string(said.Answer) != "null" {
		return 0, false
	}
	status, err := strconv.Atoi(string(said.Status))
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable:
		return status, err == nil
	}
	return 0, false
}

func compareIDs(a, b arena.Presence) int { return cmp.Compare(a.AgentID, b.AgentID) }
