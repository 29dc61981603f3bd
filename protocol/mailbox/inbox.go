package mailbox

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Store keeps messages and notes of what was seen.
type Store interface {
	PutMail(ctx context.Context, m arena.Mail, expires time.Time) (arena.Mail, error)
	Mail(ctx context.Context, box string, after int64, limit int, now time.Time) ([]arena.Mail, error)
	DropMail(ctx context.Context, box string, upTo int64) error
	Once(ctx context.Context, scope, id string, digest [32]byte, now, expires time.Time) (first bool, err error)
}

// Inbox keeps messages until they are fetched, across restarts and nodes. It is
// safe for concurrent use.
type Inbox struct {
	store    Store
	notifier *Notifier
	now      func() time.Time
}

// NewInbox returns an Inbox.
func NewInbox(s Store, n *Notifier, now func() time.Time) *Inbox {
	return &Inbox{store: s, notifier: n, now: now}
}

// Put leaves a message in a box for ttl and wakes its waiters. The same
// message again changes nothing; conflict: another message has its id.
func (b *Inbox) Put(ctx context.Context, box, id string, body []byte, ttl time.Duration) error {
	now := b.now()
	_, err := b.store.PutMail(ctx, arena.Mail{Box: box, ID: id, Body: body, CreatedAt: now}, now.Add(ttl))
	if err != nil {
		return err
	}
	b.notifier.Notify(box)
	return nil
}

// Next returns at most limit messages that came into the box after number after,
// in order. It waits for the first of them; when ctx ends before, there are
// none and no error.
func (b *Inbox) Next(ctx context.Context, box string, after int64, limit int) (mail []arena.Mail, err error) {
	err = b.notifier.Await(ctx, box, func(ctx context.Context) (bool, error) {
		mail, err = b.store.Mail(ctx, box, after, limit, b.now())
		return len(mail) > 0, err
	})
	return mail, err
}

// Look returns what Next would find now, and does not wait.
func (b *Inbox) Look(ctx context.Context, box string, after int64, limit int) ([]arena.Mail, error) {
	return b.store.Mail(ctx, box, after, limit, b.now())
}

// Drop removes a box's messages up to number upTo, which have been dealt with.
func (b *Inbox) Drop(ctx context.Context, box string, upTo int64) error {
	return b.store.DropMail(ctx, box, upTo)
}

// Once reports whether id is seen for the first time in scope; the answer is
// remembered for ttl. conflict: it was seen there with another digest.
func (b *Inbox) Once(ctx context.Context, scope, id string, digest [32]byte, ttl time.Duration) (first bool, err error) {
	now := b.now()
	return b.store.Once(ctx, scope, id, digest, now, now.Add(ttl))
}
