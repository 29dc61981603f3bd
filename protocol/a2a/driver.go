package a2a

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/task"
)

const (
	headBytes = 2 << 10   // of a reply that was not an answer
	maxReply  = 256 << 10 // a task may hold more than its answer
	maxStream = 1 << 20

	// tokenLeeway is how long a task token outlives its deadline (threat F2).
	tokenLeeway = 5 * time.Second
	// warmLimit bounds the reading of a card before a round.
	warmLimit = 2 * time.Second
)

// Options are the parts of a Driver. All are needed.
type Options struct {
	Client *protocol.Client
	Key    ed25519.PrivateKey // of the arena: the ids of contexts are derived from it
	Sign   func(arena.TaskClaims) (string, error)
	Events Events
	Now    func() time.Time
}

// Driver sends tasks and health checks over A2A. It is safe for concurrent use
// and must be closed.
type Driver struct {
	o          Options
	secret     [32]byte
	cards      *cards
	background *sync.WaitGroup          // cancellations, and cards that are read before a round
	alter      func(task []byte) []byte // if set, changes a task after it was signed
}

// New returns a Driver.
func New(o Options) *Driver {
	return &Driver{o: o, secret: sha256.Sum256(append([]byte("a2a context\n"), o.Key.Seed()...)), cards: newCards(o.Now), background: &sync.WaitGroup{}}
}

// Close waits for what runs in the background: at most a few seconds.
func (d *Driver) Close() { d.background.Wait() }

// Warm opens a connection to an agent that is about to get a task, and reads its
// card if that was not read lately.
func (d *Driver) Warm(endpoint string) {
	d.o.Client.Warm(endpoint) // the card and the interface share it
	if !d.cards.claim(endpoint) {
		return
	}
	d.background.Go(func() {
		defer d.cards.release(endpoint)
		_, _, _ = d.readCard(context.Background(), endpoint, protocol.Request{Limit: warmLimit, WholeCall: true}) // the request itself reports errors
	})
}

// readCard reads the card of an endpoint now and remembers what it declares. r has
// the limits of the request. An error is a *cardError, nil when the exchange
// itself failed.
func (d *Driver) readCard(ctx context.Context, endpoint string, r protocol.Request) (service, protocol.Exchange, error) {
	from, err := cardURL(endpoint)
	if err != nil {
		return service{}, protocol.Exchange{Failure: protocol.FailBlocked, Err: err}, nil //nolint:nilerr // the exchange holds it
	}
	r.Method, r.URL, r.MaxBody = http.MethodGet, from.String(), maxCard
	x := d.o.Client.Do(ctx, r)
	if reason, _ := protocol.Unreadable(x); reason != "" {
		return service{}, x, nil
	}
	s, err := readCard(x.Body, from)
	if err != nil {
		d.cards.drop(endpoint)
		return service{}, x, err
	}
	d.cards.put(endpoint, s)
	return s, x, nil
}

// Prepare returns a function that sends the task as a message. If the agent's
// card is known, the message is made now and added to the batch of the round;
// otherwise the function reads the card first. Nothing is sent before. The
// function is called at most once. An error means that the arena could not make
// the message.
func (d *Driver) Prepare(_ context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error) {
	where := func(err error) error {
		return fmt.Errorf("task of %s in match %s: %w", a.Seat.AgentID, a.MatchID, err)
	}
	if a.Seat.Endpoint == "" || a.TimeLimit <= 0 {
		return nil, where(errors.New("no endpoint or no time"))
	}
	t := &turn{d: d, a: a, thoughts: thoughts{events: d.o.Events, a: &a}}
	data, err := task.Encode(a)
	if err != nil {
		return nil, where(err)
	}
	t.out = outgoing{
		id: d.uuid("message", a.MatchID, a.Seat.AgentID, a.Task.ID, strconv.Itoa(a.Number)), context: d.contextOf(&a), text: prompt(&a), data: data,
	}
	if t.out.token, err = d.sign(&a, data); err != nil {
		return nil, where(err)
	}
	if d.alter != nil {
		t.out.data = d.alter(data)
	}
	if s, known := d.cards.get(a.Seat.Endpoint); known {
		if err := t.open(s); err != nil {
			return nil, where(err)
		}
		a.Batch.Add(t.call.TrySend)
	}
	return t.run, nil
}

// sign makes the token of a task. Its body hash covers the data part in the form of
// RFC 8785, because an A2A library passes the agent the value of a part, not its
// bytes.
func (d *Driver) sign(a *arena.Attempt, data []byte) (string, error) {
	canonical, err := strictjson.Canonical(data)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(canonical)
	return d.o.Sign(arena.TaskClaims{
		ID: rand.Text(), AgentID: a.Seat.AgentID, MatchID: a.MatchID, Round: a.Round,
		BodyHash: base64.RawURLEncoding.EncodeToString(hash[:]),
		IssuedAt: d.o.Now(), ExpiresAt: a.Deadline.Add(tokenLeeway).Truncate(time.Second),
	})
}

// contextOf returns the id of the context of an attempt: the rounds of a match
// share one, and each question to a judge has its own. It cannot be
// guessed, so no other client can write into the conversation.
func (d *Driver) contextOf(a *arena.Attempt) string {
	if a.Judging {
		return d.uuid("judging", rand.Text())
	}
	return d.uuid("context", a.MatchID, a.Seat.AgentID)
}

// uuid returns a UUID of version 8 that follows from the arena's key and parts.
func (d *Driver) uuid(parts ...string) string {
	mac := hmac.New(sha256.New, d.secret[:])
	_, _ = io.WriteString(mac, strings.Join(parts, "\n")) // a hash takes everything
	b := mac.Sum(nil)[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// prompt is the text part of a task.
func prompt(a *arena.Attempt) string {
	return task.Words(*a) + fmt.Sprintf("\nReply within %g seconds with the answer alone, or with a data part: {\"answer\": \"...\", \"confidence\": 0.9, \"reasoning\": \"...\"}. "+
		"The data part of this message holds the task as JSON.", a.TimeLimit.Seconds())
}
