package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// maxPost is the limit of a post's body in bytes.
const maxPost = 1 << 20

// postTime is how long the body of a post may take.
const postTime = 10 * time.Second

// postReply answers a post.
type postReply struct {
	Accepted int         `json:"accepted"`
	Errors   []lineError `json:"errors"`
}

// lineError is why a line was refused.
type lineError struct {
	Line    int        `json:"line"` // 1-based
	Code    arena.Code `json:"code"`
	Message string     `json:"message"`
}

// ServePost receives events without a socket, one per line, under the rules of a
// socket. It stops at a line for which a socket would be closed. It has written
// nothing if it returns an error.
func (rc *Receiver) ServePost(w http.ResponseWriter, r *http.Request) error {
	reply, err := rc.acceptPost(w, r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // the peer may be gone
	return nil
}

func (rc *Receiver) acceptPost(w http.ResponseWriter, r *http.Request) (postReply, error) {
	reply := postReply{Errors: []lineError{}}
	token, err := bearer(r)
	if err != nil {
		return reply, err
	}
	claims, err := rc.authenticate(r.Context(), token)
	if err != nil {
		return reply, err
	}
	if match := r.URL.Query().Get("match"); match != "" && match != claims.MatchID {
		return reply, arena.Errorf(arena.CodeUnauthorized, "the token is for another match")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-ndjson" {
		return reply, arena.Errorf(arena.CodeUnsupported, "send application/x-ndjson: one event per line")
	}
	s, err := rc.connectSeat(r.Context(), claims)
	if err != nil {
		return reply, err
	}
	defer func() { rc.o.Seats.release(s, rc.o.Now()) }()
	body, err := readPost(w, r, rc.o.Now())
	if err != nil {
		return reply, err
	}
	rc.acceptLines(s, body, &reply)
	if n := len(reply.Errors); reply.Accepted == 0 && n > 0 && reply.Errors[n-1].Code == arena.CodeUnavailable {
		return reply, arena.Errorf(arena.CodeUnavailable, "%s", errUnavailable().message)
	}
	return reply, nil
}

// readPost reads the whole body first, so that nothing of one that is too large
// is appended.
func readPost(w http.ResponseWriter, r *http.Request, now time.Time) ([]byte, error) {
	// If the deadline cannot be set, the server's applies.
	_ = http.NewResponseController(w).SetReadDeadline(now.Add(postTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPost))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, arena.Errorf(arena.CodeTooLarge, "the body is over %d bytes", maxPost)
	case err != nil:
		return nil, &arena.Error{Code: arena.CodeMalformed, Message: "the body could not be read", Err: err}
	}
	return body, nil
}

func (rc *Receiver) acceptLines(s *seat, body []byte, reply *postReply) {
	batch := make([]queued, 0, appendBatch)
	refuse := func(no int, r *refusal) {
		rc.o.Seats.countRefusal(r.code)
		reply.Errors = append(reply.Errors, lineError{no, r.code, r.message})
	}
	flush := func() (more bool) {
		if len(batch) == 0 {
			return true
		}
		r := rc.append(s, batch)
		if r != nil {
			for _, q := range batch {
				refuse(q.no, r)
			}
		} else {
			reply.Accepted += len(batch)
		}
		batch = batch[:0]
		return r == nil || r.close == 0
	}
	var reader strictjson.Reader
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, maxPost+1)
	for no := 1; lines.Scan(); no++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		e, r := rc.acceptLine(s, &reader, line)
		if r == nil {
			if batch = append(batch, queued{e, len(line), no}); len(batch) == appendBatch && !flush() {
				return
			}
			continue
		}
		if !flush() { // errors are in the order of lines
			return
		}
		refuse(no, r)
		if r.close != 0 {
			return
		}
	}
	flush()
}
