package envelope

import (
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

// The limits of one key.
const (
	PerMinute      = 1200    // envelopes: STATUS may come as often as stream events
	BytesPerMinute = 8 << 20 // of their bodies
	maxThread      = 64      // envelopes of one thread, STATUS left out
)

// Store is the part of the store that a Log uses.
type Store interface {
	AddEnvelope(ctx context.Context, e arena.Envelope, r arena.EnvelopeRules) (stored arena.Envelope, fresh bool, err error)
	EnvelopeThread(ctx context.Context, thread string, no int64) ([]arena.Envelope, error)
	EnvelopeTime(ctx context.Context, sender, recipient string) (time.Time, error)
	RelayKey(ctx context.Context, key string) (arena.RelayKey, error)
}

// Notifier wakes those who wait for envelopes, on every node.
type Notifier interface {
	Notify(key string)
	// Await calls look until it finds something or ctx ends, each time that the
	// key is notified.
	Await(ctx context.Context, key string, look func(context.Context) (found bool, err error)) error
}

// NotifyAll is the key that is notified of every visible envelope.
const NotifyAll = "relay/all"

// NotifyThread returns the key that is notified of envelopes in a thread, sealed
// or not.
func NotifyThread(id string) string { return "relay/thread/" + id }

// Log is the relay's list of envelopes. Both sides write to it: agents by the
// relay, the arena by the driver. It is safe for concurrent use.
type Log struct {
	store    Store
	notifier Notifier
	self     *Identity
	now      func() time.Time
}

// NewLog returns a Log. self is the arena.
func NewLog(store Store, notifier Notifier, self *Identity, now func() time.Time) *Log {
	return &Log{store: store, notifier: notifier, self: self, now: now}
}

// Self returns the arena's identity.
func (l *Log) Self() *Identity { return l.self }

// Add adds an envelope whose signature was checked to its thread, and wakes its
// readers. fresh is false if the same envelope is already there. Envelopes of
// agents in a thread of the arena are sealed until the round has closed. The bodies
// kept for ownerID have at most ownerBytes; for "" they are not counted.
func (l *Log) Add(ctx context.Context, e *Envelope, ownerID string, ownerBytes int) (stored arena.Envelope, fresh bool, err error) {
	return l.add(ctx, e, arena.Envelope{OwnerID: ownerID}, ownerBytes)
}

// add is Add with the match, round and agent of a REQUEST of the arena's own.
func (l *Log) add(ctx context.Context, e *Envelope, of arena.Envelope, ownerBytes int) (stored arena.Envelope, fresh bool, err error) {
	facts, err := e.Facts()
	if err != nil {
		return of, false, err
	}
	now := l.now().UTC().Truncate(time.Millisecond) // as it is stored
	s := arena.Envelope{
		ID: e.ID, Sender: e.Sender.ID, Recipient: e.To(), Type: string(e.Type), Thread: e.ThreadID(), RequestID: facts.RequestID,
		At: e.TS, ReceivedAt: now, ExpiresAt: now.Add(e.TTL()), Digest: e.Digest, Body: e.Body,
		MatchID: of.MatchID, Round: of.Round, AgentID: of.AgentID, OwnerID: of.OwnerID,
	}
	if s.Thread == "" && e.Type == TypeRequest {
		s.Thread = "request:" + s.Sender + ":" + s.RequestID
	}
	ours := s.Sender == l.self.DID()
	rules := arena.EnvelopeRules{PerMinute: PerMinute, BytesPerMinute: BytesPerMinute, OwnerBytes: ownerBytes, Admit: l.admit(e, facts)}
	if ours {
		rules.PerMinute, rules.BytesPerMinute, rules.Rising = 0, 0, true
	}
	stored, fresh, err = l.store.AddEnvelope(ctx, s, rules)
	if err != nil {
		return stored, false, fmt.Errorf("post %s: %w", e.Type, err)
	}
	if fresh {
		l.Notify(stored)
	}
	return stored, fresh, nil
}

// Notify wakes the waiters for an envelope.
func (l *Log) Notify(e arena.Envelope) {
	if e.Thread != "" {
		l.notifier.Notify(NotifyThread(e.Thread))
	}
	if e.Seq > 0 {
		l.notifier.Notify(NotifyAll)
	}
}

// admit decides by the thread so far. It runs inside the store's transaction.
func (l *Log) admit(e *Envelope, facts Facts) func([]arena.Envelope, *arena.Envelope) error {
	return func(thread []arena.Envelope, s *arena.Envelope) error {
		if e.Type == TypeStatus && e.Thread == nil && s.Thread == "" {
			if _, ok, err := e.ManifestOf(); !ok && err == nil {
				return arena.Errorf(arena.CodeNotFound, "a STATUS belongs to a thread, or publishes a manifest")
			} else if err != nil {
				return err
			}
			return nil
		}
		c, err := Replay(thread)
		if err != nil {
			return arena.Errorf(arena.CodeNotFound, "the beginning of the thread is not kept any more")
		}
		if err := c.Apply(e, facts, s.ReceivedAt); err != nil {
			return err
		}
		if len(thread) >= maxThread {
			return arena.Errorf(arena.CodeConflict, "a thread has at most %d messages", maxThread)
		}
		if len(thread) == 0 || thread[0].MatchID == "" {
			return nil
		}
		s.MatchID, s.Round, s.AgentID = thread[0].MatchID, thread[0].Round, thread[0].AgentID
		if s.Sender == l.self.DID() {
			return nil
		}
		if s.Recipient != "" && s.Recipient != l.self.DID() {
			return arena.Errorf(arena.CodeForbidden, "the recipient of an envelope in a thread of the arena must be the arena")
		}
		s.Seq = -1 // not readable before the round has closed
		return nil
	}
}

// say signs and adds an envelope of the arena. Times increase for each recipient,
// so that a reader that resumes after the last envelope misses nothing.
func (l *Log) say(ctx context.Context, d Draft, of arena.Envelope) (*Envelope, arena.Envelope, error) {
	var err error
	for try := range 50 { // another node may have taken the same millisecond
		d.At = l.now().Truncate(time.Millisecond)
		last, readErr := l.store.EnvelopeTime(ctx, l.self.DID(), d.Recipient)
		if readErr != nil {
			return nil, arena.Envelope{}, fmt.Errorf("post %s: %w", d.Type, readErr)
		}
		if !d.At.After(last) {
			d.At = last.Add(time.Millisecond)
		}
		d.At = d.At.Add(time.Duration(try*try) * time.Millisecond)
		var e *Envelope
		if e, err = l.self.Sign(d); err != nil {
			return nil, arena.Envelope{}, fmt.Errorf("sign %s: %w", d.Type, err)
		}
		var stored arena.Envelope
		if stored, _, err = l.add(ctx, e, of, 0); err == nil {
			return e, stored, nil
		}
		if arena.CodeOf(err) != arena.CodeNameTaken {
			break
		}
	}
	return nil, arena.Envelope{}, err
}
