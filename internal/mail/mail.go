package mail

import (
	"context"
	"log/slog"
	"time"

	"github.com/agora-arena/arena/arena"
)

const (
	confirmLasts = 24 * time.Hour // a link, after its mail was sent
	resetLasts   = time.Hour

	// A mail is given up when it is this old.
	resetKept  = time.Hour // who asked for it has asked again
	othersKept = 24 * time.Hour

	maxOwners = 20 // in a mail with links for all owners with an address
	maxMails  = 50 // in one run of Deliver

	firstPause   = time.Minute // before the second attempt; it doubles
	longestPause = 4 * time.Hour
)

// Limits returns how many mails are queued.
func Limits() arena.MailLimits {
	return arena.MailLimits{Waiting: 1000, PerHour: 5, PerAgent: 24 * time.Hour}
}

// Kept is how long a mail that has ended is remembered, for the limits.
const Kept = 25 * time.Hour

// Store keeps the mails, the links in them, and who they are for.
type Store interface {
	QueueMail(ctx context.Context, m arena.QueuedMail, limits arena.MailLimits) error
	ClaimMail(ctx context.Context, now time.Time, next func(m arena.QueuedMail) time.Time) (arena.QueuedMail, error)
	EndMail(ctx context.Context, id string, at time.Time) error
	AddMailLinks(ctx context.Context, links []arena.MailLink) error
	OwnersAt(ctx context.Context, address string, limit int) ([]arena.Owner, error)
	Owner(ctx context.Context, id string) (arena.Owner, error)
	Agent(ctx context.Context, id string) (arena.Agent, error)
}

// Sender delivers a message. *RefusedError: it is in vain to try again.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Options are the parts of a Mailer. All are needed.
type Options struct {
	Store  Store
	Sender Sender
	URL    string // of the arena
	Now    func() time.Time
	Logger *slog.Logger
}

// Mailer queues and delivers mails.
type Mailer struct{ o Options }

// New makes a Mailer.
func New(o Options) *Mailer {
	return &Mailer{o: o}
}

// now returns the current time in UTC, truncated to milliseconds.
func (m *Mailer) now() time.Time { return m.o.Now().UTC().Truncate(time.Millisecond) }

func (m *Mailer) queue(ctx context.Context, q arena.QueuedMail, kept time.Duration) error {
	now := m.now()
	q.ID, q.CreatedAt, q.NextAt, q.GiveUpAt = arena.NewID(arena.MailPrefix, now), now, now, now.Add(kept)
	return m.o.Store.QueueMail(ctx, q, Limits())
}

// Confirm queues a mail with a link that confirms the owner's address.
// rate_limited: the address has got as many; unavailable: too many mails wait.
func (m *Mailer) Confirm(ctx context.Context, o arena.Owner) error {
	return m.queue(ctx, arena.QueuedMail{Kind: arena.MailConfirm, OwnerID: o.ID, Address: o.Email}, othersKept)
}

// Reset queues a mail with a link for each owner that has confirmed the address.
// The owners are looked up at delivery, so that this call does not disclose
// whether any exist. It returns the same errors as Confirm.
func (m *Mailer) Reset(ctx context.Context, address string) error {
	return m.queue(ctx, arena.QueuedMail{Kind: arena.MailReset, Address: address}, resetKept)
}

// Paused queues a notice of a pause to the owner of an agent, if the owner wants
// notices at a confirmed address. A notice that is not queued is logged: the pause
// holds in any case.
func (m *Mailer) Paused(ctx context.Context, g arena.Agent, p arena.Pause) {
	ctx = context.WithoutCancel(ctx) // the agent is paused
	o, err := m.o.Store.Owner(ctx, g.OwnerID)
	if err == nil && wantsNotices(o) {
		err = m.queue(ctx, arena.QueuedMail{Kind: arena.MailPause, OwnerID: o.ID, AgentID: g.ID, Pause: p.Reason, Address: o.Email}, othersKept)
	}
	switch {
	case err == nil:
	case arena.CodeOf(err) == arena.CodeRateLimited:
		m.o.Logger.DebugContext(ctx, "no mail about a paused agent", "agent_id", g.ID, "cause", err)
	default:
		m.o.Logger.WarnContext(ctx, "no mail about a paused agent", "agent_id", g.ID, "error", err)
	}
}

// wantsNotices reports whether an owner gets notices of pauses.
func wantsNotices(o arena.Owner) bool {
	return o.Email != "" && !o.EmailConfirmedAt.IsZero() && !o.NoPauseMails && o.SuspendedAt.IsZero() && o.ErasedAt.IsZero()
}
