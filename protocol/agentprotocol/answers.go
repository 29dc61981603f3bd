package agentprotocol

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// arrival is a message from an agent for someone who waits.
type arrival struct {
	At   time.Time // when it came in, by the clock of the node that took it
	Data []byte    // as it came
	m    message
}

// correlation is the content of a request's id: its match and the time until which
// it may be answered. A code in it proves to any node that the arena issued the id
// to this agent.
type correlation struct {
	matchID string
	until   time.Time
}

func correlationSecret(key ed25519.PrivateKey) [32]byte {
	return sha256.Sum256(append([]byte("agentprotocol correlation\n"), key.Seed()...))
}

func (x *core) newCorrelation(agentID string, c correlation) string {
	text := c.matchID + "." + strconv.FormatInt(c.until.UnixMilli(), 36) + "." + rand.Text()
	return text + "." + x.code(agentID, text)
}

func (x *core) code(agentID, text string) string {
	mac := hmac.New(sha256.New, x.secret[:])
	_, _ = mac.Write([]byte(agentID + "\n" + text)) // a hash takes everything
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// readCorrelation reads an id that was given to the agent.
func (x *core) readCorrelation(id, agentID string) (correlation, bool) {
	i := strings.LastIndexByte(id, '.')
	if i < 0 || !hmac.Equal([]byte(id[i+1:]), []byte(x.code(agentID, id[:i]))) {
		return correlation{}, false
	}
	part := strings.Split(id[:i], ".")
	until, err := strconv.ParseInt(part[1], 36, 64)
	return correlation{matchID: part[0], until: time.UnixMilli(until)}, err == nil
}

// wait registers for what arrives under a key on this node, until stop.
func (x *core) wait(key string) (arrivals <-chan arrival, stop func()) {
	ch := make(chan arrival, 1)
	x.waitingMu.Lock()
	x.waiting[key] = append(x.waiting[key], ch)
	x.waitingMu.Unlock()
	return ch, func() {
		x.waitingMu.Lock()
		defer x.waitingMu.Unlock()
		left := slices.DeleteFunc(x.waiting[key], func(c chan arrival) bool { return c == ch })
		if x.waiting[key] = left; len(left) == 0 {
			delete(x.waiting, key)
		}
	}
}

// arrived passes a message to its waiter on this node, or leaves it for another
// node. The error conflict means that there is another answer already.
func (x *core) arrived(ctx context.Context, key string, m message, ttl time.Duration) error {
	a := arrival{At: x.o.Now(), Data: m.raw, m: m}
	x.waitingMu.Lock()
	here := x.waiting[key]
	delete(x.waiting, key)
	for _, ch := range here {
		ch <- a // its buffer holds one, and it gets no other
	}
	x.waitingMu.Unlock()
	if len(here) > 0 && m.Type != TypeHello { // several nodes may ask for a hello
		return nil
	}
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode arrival: %w", err)
	}
	id := "answer" // the first one counts
	if m.Type == TypeHello {
		id = m.ID
	}
	return x.o.Mail.Put(ctx, answerInbox(key), id, body, ttl)
}

func answerInbox(key string) string { return "agentprotocol from " + key }

func agentInbox(agentID string) string { return "agentprotocol to " + agentID }

func helloOf(agentID string) string { return "hello " + agentID }

// helloStays is how long a hello waits for a node that asked for it.
const helloStays = 15 * time.Second

// lastLook is how long after the end the mailbox is read once more, because an
// answer that reached another node in time may still be on its way. lookTime is how
// long that read may take.
const (
	lastLook = 25 * time.Millisecond
	lookTime = time.Second
)

// await waits until something arrives, here or at another node, and until the
// time is over. Messages that came in before since are passed over.
func (x *core) await(ctx context.Context, key string, here <-chan arrival, since time.Time, limit time.Duration) (arrival, bool) {
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	elsewhere := make(chan arrival, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if a, ok := fetch(waiting, x.o.Mail.Next, key, since); ok {
			elsewhere <- a
		}
	}()
	defer func() { stop(); <-done }()
	select {
	case a := <-here:
		return a, true
	case a := <-elsewhere:
		return a, true
	case <-waiting.Done():
	}
	<-done
	select {
	case a := <-here: // both were ready
		return a, true
	case a := <-elsewhere:
		return a, true
	default:
	}
	if ctx.Err() != nil {
		return arrival{}, false
	}
	select {
	case a := <-here:
		return a, true
	case <-time.After(lastLook):
	}
	last, end := context.WithTimeout(ctx, lookTime)
	defer end()
	return fetch(last, x.o.Mail.Look, key, since)
}

// fetch returns the first message of a key that another node left since a time.
func fetch(ctx context.Context, next func(ctx context.Context, box string, after int64, limit int) ([]arena.Mail, error), key string, since time.Time) (arrival, bool) {
	for after := int64(0); ; {
		mail, err := next(ctx, answerInbox(key), after, 1)
		if err != nil || len(mail) == 0 {
			return arrival{}, false
		}
		after = mail[0].N
		var a arrival
		if json.Unmarshal(mail[0].Body, &a) != nil || a.At.Before(since) {
			continue
		}
		if a.m, err = readMessage(a.Data); err == nil {
			return a, true
		}
	}
}
