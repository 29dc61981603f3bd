package mail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
)

// Deliver sends the mails that are due. One that fails is tried again after pauses
// that double, up to longestPause, until it is given up. The nodes of a cluster
// may run it at the same time: each mail is claimed by one of them.
func (m *Mailer) Deliver(ctx context.Context) error {
	for range maxMails {
		now := m.now()
		q, err := m.o.Store.ClaimMail(ctx, now, func(q arena.QueuedMail) time.Time { return now.Add(pauseAfter(q.Attempts)) })
		if arena.CodeOf(err) == arena.CodeNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if reached, err := m.deliver(ctx, q); err != nil || !reached {
			return err // another mail would wait for the same server
		}
	}
	return nil
}

// pauseAfter is how long a mail waits after the begin of an attempt, from 1 up. A
// node that dies meanwhile leaves it to others then.
func pauseAfter(attempts int) time.Duration {
	return min(firstPause<<min(attempts-1, 16), longestPause)
}

// deliver makes one attempt. It reports whether the server took or refused the
// mail; the error is one of the store.
func (m *Mailer) deliver(ctx context.Context, q arena.QueuedMail) (reached bool, err error) {
	var messages []Message
	if m.now().Before(q.GiveUpAt) { // else no node ran for long
		if messages, err = m.compose(ctx, q); err != nil {
			return false, err
		}
	}
	log := m.o.Logger.With("mail_id", q.ID, "kind", q.Kind, "attempt", q.Attempts)
	for _, message := range messages {
		if err = m.o.Sender.Send(ctx, message); err != nil {
			break
		}
		log.InfoContext(ctx, "mail sent")
	}
	switch _, refused := errors.AsType[*RefusedError](err); {
	case err == nil:
	case refused:
		log.WarnContext(ctx, "mail given up: the owner has to enter another address", "error", err)
	case !q.NextAt.Before(q.GiveUpAt):
		log.ErrorContext(ctx, "mail given up: run arena config --check to find the fault of the server in ARENA_SMTP; the owner can then request another mail", "error", err)
	default:
		log.WarnContext(ctx, "mail not sent; it is tried again", "next_at", q.NextAt, "error", err)
		return false, nil
	}
	return true, m.o.Store.EndMail(ctx, q.ID, m.now())
}

// compose makes the messages of a mail as its owners are now: none if the mail has
// no purpose any more.
func (m *Mailer) compose(ctx context.Context, q arena.QueuedMail) ([]Message, error) {
	if q.Kind == arena.MailReset {
		return m.composeReset(ctx, q)
	}
	o, err := m.o.Store.Owner(ctx, q.OwnerID)
	switch {
	case arena.CodeOf(err) == arena.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case o.Email != q.Address:
		return nil, nil
	}
	var subject, text string
	switch q.Kind {
	case arena.MailConfirm:
		if !o.EmailConfirmedAt.IsZero() || !o.SuspendedAt.IsZero() {
			return nil, nil
		}
		links, urls := m.links(arena.MailConfirm, "confirm", confirmLasts, o)
		if err := m.o.Store.AddMailLinks(ctx, links); err != nil {
			return nil, err
		}
		subject, text = confirmText(m.o.URL, o, urls[0])
	case arena.MailPause:
		if !wantsNotices(o) {
			return nil, nil
		}
		g, err := m.o.Store.Agent(ctx, q.AgentID)
		if err != nil {
			return nil, err
		}
		if g.OwnerID != o.ID || !g.RetiredAt.IsZero() {
			return nil, nil
		}
		subject, text = pauseText(m.o.URL, o, g, q.Pause)
	default:
		return nil, fmt.Errorf("mail %s has the kind %q", q.ID, q.Kind)
	}
	return []Message{{To: o.Email, Subject: subject, Text: text, At: m.now()}}, nil
}

// composeReset makes the message with links for the owners at an address. It goes
// to the address as they have entered it, whose letters may have another case than
// in the request.
func (m *Mailer) composeReset(ctx context.Context, q arena.QueuedMail) ([]Message, error) {
	owners, err := m.o.Store.OwnersAt(ctx, q.Address, maxOwners)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	links, urls := m.links(arena.MailReset, "reset", resetLasts, owners...)
	if err := m.o.Store.AddMailLinks(ctx, links); err != nil {
		return nil, err
	}
	var addresses []string
	to := map[string][]resetLink{}
	for i, o := range owners {
		if to[o.Email] == nil {
			addresses = append(addresses, o.Email)
		}
		to[o.Email] = append(to[o.Email], resetLink{o, urls[i]})
	}
	var messages []Message
	for _, address := range addresses {
		subject, text := resetText(m.o.URL, to[address])
		messages = append(messages, Message{To: address, Subject: subject, Text: text, At: m.now()})
	}
	return messages, nil
}

// links makes a link to a page of the console for each owner. The secret is behind
// a #, so that no server and no log on the way gets it.
func (m *Mailer) links(kind arena.MailKind, page string, lasts time.Duration, owners ...arena.Owner) (links []arena.MailLink, urls []string) {
	for _, o := range owners {
		secret, hash := token.NewSecret(token.MailSecretPrefix)
		links = append(links, arena.MailLink{Hash: hash, Kind: kind, OwnerID: o.ID, Address: o.Email, ExpiresAt: m.now().Add(lasts)})
		urls = append(urls, m.o.URL+"/console/"+page+"#"+secret)
	}
	return links, urls
}
