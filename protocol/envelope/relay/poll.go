package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/envelope"
)

const (
	pageSize     = 100
	pageBytes    = 1 << 20
	defaultWait  = 30 * time.Second
	maxWait      = 60 * time.Second
	readers      = 2                // reads of polls at once: SQLite has at least 4
	notePolls    = 15 * time.Second // a key's polls are noted at most this often
	notedAtOnce  = 10_000           // keys
	cursorPrefix = "seq:"
	timeSuffix   = "~" // between a time and the number of the envelope
)

// reader identifies a polling client.
type reader struct{ address, recipient, sender, kind, thread string }

// place is the last envelope that a reader was sent. Other envelopes may have the
// same time: a reader that gives only the time resumes after this one.
type place struct {
	at    time.Time
	after int64
}

// query is a poll: what, since when, and how long to wait.
type query struct {
	arena.EnvelopeQuery
	since  time.Time // zero: q.After counts
	echo   string    // lastTs of an empty answer
	cursor bool      // since was a cursor
	reader reader
	wait   time.Duration
}

// parseQuery reads the parameters. since may be missing: then everything that
// is kept comes.
func parseQuery(v url.Values, now time.Time) (query, error) {
	q := query{wait: defaultWait, EnvelopeQuery: arena.EnvelopeQuery{
		Recipient: v.Get("recipient"), Sender: v.Get("sender"), Type: v.Get("type"), Thread: v.Get("thread"), Limit: pageSize + 1,
	}}
	for name, values := range v {
		if len(values) > 1 || len(values[0]) > 2*envelope.MaxID {
			return q, arena.Errorf(arena.CodeMalformed, "%.20s: must stand once and have at most %d characters", name, 2*envelope.MaxID)
		}
	}
	if q.Type != "" && !slices.Contains(envelope.Types(), envelope.Type(q.Type)) {
		return q, arena.Errorf(arena.CodeMalformed, "type: must be one of %v", envelope.Types())
	}
	for name, did := range map[string]string{"recipient": q.Recipient, "sender": q.Sender} {
		if did == "" {
			continue
		}
		if _, err := envelope.ParseDID(did); err != nil {
			return q, arena.Errorf(arena.CodeMalformed, "%s: %s", name, err)
		}
	}
	if text := v.Get("timeout"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0) {
			return q, arena.Errorf(arena.CodeMalformed, "timeout: must be 0 to %d seconds", int(maxWait.Seconds()))
		}
		q.wait = time.Duration(min(seconds, maxWait.Seconds()) * float64(time.Second))
	}
	return q, q.parseSince(v.Get("since"), now)
}

func (q *query) parseSince(text string, now time.Time) error {
	q.echo = text
	number, ok := strings.CutPrefix(text, cursorPrefix)
	if at, suffix, found := strings.Cut(text, timeSuffix); found {
		if _, err := envelope.ParseTime(at); err == nil {
			number, ok = suffix, true
		}
	}
	if ok {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != number {
			return arena.Errorf(arena.CodeMalformed, "since: is not a cursor of this relay")
		}
		q.After, q.cursor = n, true
		return nil
	}
	if text == "" {
		q.echo = now.UTC().Format(arena.TimeFormat)
		return nil
	}
	// A + that was not escaped arrives as a space.
	t, err := envelope.ParseTime(strings.ReplaceAll(text, " ", "+"))
	switch {
	case err != nil:
		return arena.Errorf(arena.CodeMalformed, "since: must be a time like 2026-02-02T15:30:00.000Z, or the cursor of an answer")
	case t.Sub(now) >= 2*envelope.Window:
		return arena.Errorf(arena.CodeMalformed, "since: is in the future: the relay's clock is at %s", now.UTC().Format(arena.TimeFormat))
	case t.Year() < 1970:
		t = time.UnixMilli(1).UTC()
	}
	q.since = t
	return nil
}

// poll answers with the envelopes that match, or waits for one.
func (s *Server) poll(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.Query(), s.o.Now())
	if err == nil {
		q.reader = reader{arena.AddressOf(r.RemoteAddr), q.Recipient, q.Sender, q.Type, q.Thread}
		s.notePoll(r.Context(), q.Recipient)
		var page []arena.Envelope
		if page, err = s.wait(w, r, &q); err == nil {
			s.page(w, q, page)
			return
		}
	}
	s.Refuse(w, r, err)
}

// wait returns the first page that is not empty, or an empty one when the time
// is over. After its first look a poll reads no more: the tail hands it what
// comes from then on.
func (s *Server) wait(w http.ResponseWriter, r *http.Request, q *query) (page []arena.Envelope, err error) {
	if page, err = s.look(r.Context(), q); len(page) > 0 || err != nil || q.wait == 0 {
		return page, err
	}
	leave, err := s.park(arena.AddressOf(r.RemoteAddr))
	if err != nil {
		return nil, err
	}
	defer leave()
	if r.ContentLength == 0 { // else net/http waits for the body before it answers (threat E10)
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the server's own would end the wait
	}
	ctx, cancel := context.WithTimeout(r.Context(), q.wait)
	defer cancel()
	defer context.AfterFunc(s.open, cancel)()
	p := s.join(q.EnvelopeQuery)
	defer s.leave(p)
	if p.missed {
		if page, err = s.look(ctx, q); len(page) > 0 || err != nil && ctx.Err() == nil {
			return page, err
		}
	}
	select {
	case came := <-p.came:
		return came.page, came.err
	case <-ctx.Done():
		return nil, nil
	}
}

// look reads the envelopes that match now. If none does, the cursor of q advances to
// the newest envelope.
func (s *Server) look(ctx context.Context, q *query) (page []arena.Envelope, err error) {
	err = s.read(ctx, func() error {
		last, err := s.o.Store.LastEnvelope(ctx)
		if err != nil {
			return err
		}
		if err := s.place(ctx, q, last); err != nil {
			return err
		}
		q.Now = s.o.Now()
		if page, err = s.o.Store.Envelopes(ctx, q.EnvelopeQuery); len(page) == 0 && err == nil {
			q.After, q.cursor = max(q.After, last), true
		}
		return err
	})
	return page, err
}

// read runs a read of the database for a poll when it is its turn: however many
// polls come, they leave readers to all others (threat L6).
func (s *Server) read(ctx context.Context, read func() error) error {
	select {
	case s.reads <- struct{}{}:
		defer func() { <-s.reads }()
		return read()
	case <-ctx.Done():
		return fmt.Errorf("wait for a reader: %w", ctx.Err())
	}
}

// place turns the time of a query into its cursor.
func (s *Server) place(ctx context.Context, q *query, last int64) error {
	if q.cursor {
		if q.After > last {
			return arena.Errorf(arena.CodeMalformed, "since: is not a cursor of this relay")
		}
		return nil
	}
	if q.since.IsZero() {
		return nil
	}
	after, exact, err := s.o.Store.EnvelopeAfter(ctx, q.EnvelopeQuery, q.since)
	if ahead := q.since.Sub(s.o.Now()); err == nil && !exact && ahead > 0 {
		// The reader's clock is ahead of ours: what came lately comes again
		// rather than not at all.
		after, _, err = s.o.Store.EnvelopeAfter(ctx, q.EnvelopeQuery, s.o.Now().Add(-ahead))
	}
	q.After = after
	if was := s.placeOf(q.reader); exact && was.at.Equal(q.since) {
		q.After = max(after, was.after)
	}
	return err
}

func (s *Server) placeOf(r reader) place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places[r]
}

func (s *Server) notePlace(r reader, p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.places) >= notedAtOnce {
		clear(s.places)
	}
	s.places[r] = p
}

// park counts a poll that waits. rate_limited: too many of one address, or in
// all.
func (s *Server) park(from string) (leave func(), err error) {
	release, err := s.o.Addresses.Acquire(from)
	if err != nil {
		return nil, err //nolint:wrapcheck // an *arena.Error for the client
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parked >= s.o.Polls {
		release()
		return nil, arena.Errorf(arena.CodeRateLimited, "at most %d polls may wait at once", s.o.Polls)
	}
	s.parked++
	return func() {
		release()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.parked--
	}, nil
}

// Parked returns how many polls wait.
func (s *Server) Parked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parked
}

// notePoll notes that a registered key was asked for. It is what health goes
// by, and never a reason to refuse the poll.
func (s *Server) notePoll(ctx context.Context, did string) {
	now := s.o.Now()
	s.mu.Lock()
	due := did != "" && now.Sub(s.polled[did]) >= notePolls
	if due {
		if len(s.polled) >= notedAtOnce {
			clear(s.polled)
		}
		s.polled[did] = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	var agent arena.Agent
	err := s.read(ctx, func() (err error) {
		agent, err = s.o.Agents.AgentByKey(ctx, arena.ProtocolEnvelope, did)
		return err
	})
	if arena.CodeOf(err) == arena.CodeNotFound {
		return
	}
	if err == nil {
		err = s.o.Store.PolledRelay(ctx, did, now)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		s.o.Logger.Warn("a poll could not be noted", "error", err)
	case err == nil && !agent.Health.OK && s.o.Awake != nil:
		s.o.Awake(ctx, agent.ID)
	}
}

// page writes envelopes, each as the bytes that came. A page never ends
// between two envelopes of one time.
func (s *Server) page(w http.ResponseWriter, q query, found []arena.Envelope) {
	n, size, after := 0, 0, q.After
	for n < min(len(found), pageSize) && (n == 0 || size+len(found[n].Body) <= pageBytes) {
		size += len(found[n].Body)
		n++
	}
	more := n < len(found)
	for k := n; more && k > 0; k-- {
		if !found[k-1].At.Equal(found[k].At) {
			n = k
			break
		}
	}
	lastTS := q.echo
	if n > 0 {
		last := found[n-1]
		lastTS = last.At.Format(arena.TimeFormat)
		if n > 1 && slices.ContainsFunc(found[:n-1], func(e arena.Envelope) bool { return e.At.Equal(last.At) }) {
			lastTS += timeSuffix + strconv.FormatInt(last.Seq, 10)
		}
		after = last.Seq
		s.notePlace(q.reader, place{at: last.At, after: after})
	}
	var b bytes.Buffer
	b.Grow(size + 256)
	b.WriteString(`{"ok":true,"events":[`)
	for i, e := range found[:n] {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(e.Body)
	}
	quoted, _ := json.Marshal(lastTS) // a text always encodes
	b.WriteString(`],"hasMore":` + strconv.FormatBool(more) + `,"lastTs":` + string(quoted) +
		`,"cursor":"` + cursorPrefix + strconv.FormatInt(after, 10) + `"}`)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b.Bytes()) // the caller may have hung up: that is its right
}
