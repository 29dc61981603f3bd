package takeout

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

const (
	pageSize   = 100
	maxHistory = 100_000 // points of one rating
)

// Archive writes archives.
type Archive struct {
	store *store.Store
	url   string // of the arena
	now   func() time.Time
}

// New returns an Archive of the rows in s.
func New(s *store.Store, url string, now func() time.Time) *Archive {
	return &Archive{store: s, url: url, now: now}
}

// Write writes the archive of an owner to w as it reads it.
func (a *Archive) Write(ctx context.Context, w io.Writer, ownerID string) error {
	o, err := a.store.Accounts.Owner(ctx, ownerID)
	if err != nil {
		return err
	}
	t := &takeout{Archive: a, zip: zip.NewWriter(w), owner: o}
	for _, part := range []func(context.Context) error{t.readme, t.account, t.agents, t.matches, t.deliveries, t.ratings, t.audit} {
		if err := part(ctx); err != nil {
			return fmt.Errorf("export owner %s: %w", ownerID, err)
		}
	}
	if err := t.zip.Close(); err != nil {
		return fmt.Errorf("export owner %s: %w", ownerID, err)
	}
	return nil
}

// takeout is one archive that is being written.
type takeout struct {
	*Archive

	zip   *zip.Writer
	owner arena.Owner
	own   []arena.Agent
}

const readme = `Your data in the arena %s
Owner %s, exported %s

account.json      name, email and mail settings, role, sign-up, sessions, and identities at sign-in providers
tokens.jsonl      your tokens and the keys of your agents, without the secrets
agents.jsonl      your agents, retired ones too, with their leagues
matches.jsonl     every match of an agent of yours, with its result
answers.jsonl     what your agents answered, by match and round
deliveries.jsonl  requests that the arena sent to your agents, while they are kept
ratings.jsonl     ratings by league, with their history
audit.jsonl       what you did, and what admins did to your account and agents

A .jsonl file has one JSON object in each line. Times are RFC 3339 in UTC.
Nothing of other owners is in this archive. The signed record of a finished
match, with all of its seats, is at %s/v1/matches/MATCH_ID/record.
`

func (t *takeout) readme(context.Context) error {
	w, err := t.create("README.txt")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, readme, t.url, t.owner.ID, stamp(t.now()), t.url)
	return err
}

func (t *takeout) create(name string) (io.Writer, error) {
	return t.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: t.now()})
}

func (t *takeout) account(ctx context.Context) error {
	identities, err := t.store.Accounts.Identities(ctx, t.owner.ID)
	if err != nil {
		return err
	}
	sessions, err := t.store.People.Sessions(ctx, t.owner.ID)
	if err != nil {
		return err
	}
	v := account{
		OwnerID: t.owner.ID, Name: t.owner.Name, Email: t.owner.Email, CreatedAt: stamp(t.owner.CreatedAt), Network: t.owner.Network,
		SuspendedAt: stamp(t.owner.SuspendedAt), SuspendReason: t.owner.SuspendReason, Identities: []identity{},
		Role: string(t.owner.Role.Scope), RoleLeagues: t.owner.Role.Leagues, Sessions: []session{},
		EmailConfirmedAt: stamp(t.owner.EmailConfirmedAt), MailPauses: !t.owner.NoPauseMails,
	}
	for _, s := range sessions {
		v.Sessions = append(v.Sessions, session{SessionID: s.ID, Browser: s.Browser, CreatedAt: stamp(s.CreatedAt), LastUsedAt: stamp(s.LastUsedAt)})
	}
	for _, i := range identities {
		v.Identities = append(v.Identities, identity{Issuer: i.Issuer, Subject: i.Subject})
	}
	w, err := t.create("account.json")
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// agents writes the agents, and the tokens after them.
func (t *takeout) agents(ctx context.Context) (err error) {
	if t.own, err = all(func(p arena.Page) ([]arena.Agent, string, error) {
		return t.store.Agents.Agents(ctx, arena.AgentFilter{OwnerID: t.owner.ID, Retired: true}, p)
	}); err != nil {
		return err
	}
	e, err := t.lines("agents.jsonl")
	if err != nil {
		return err
	}
	tokens, err := t.store.Accounts.Tokens(ctx, t.owner.ID)
	if err != nil {
		return err
	}
	for _, g := range t.own {
		if err := e.Encode(viewAgent(g)); err != nil {
			return err
		}
		keys, err := t.store.Accounts.AgentKeys(ctx, g.ID)
		if err != nil {
			return err
		}
		tokens = append(tokens, keys...)
	}
	if e, err = t.lines("tokens.jsonl"); err != nil {
		return err
	}
	for _, k := range tokens {
		if err := e.Encode(viewToken(k)); err != nil {
			return err
		}
	}
	return nil
}

// lines begins a file of one JSON object in each line.
func (t *takeout) lines(name string) (*json.Encoder, error) {
	w, err := t.create(name)
	if err != nil {
		return nil, err
	}
	return json.NewEncoder(w), nil
}

// eachMatch calls f for the matches of all agents.
func (t *takeout) eachMatch(ctx context.Context, f func(arena.Agent, arena.Match) error) error {
	for _, g := range t.own {
		if err := each(func(p arena.Page) ([]arena.Match, string, error) {
			return t.store.Matches.Matches(ctx, arena.MatchFilter{AgentID: g.ID}, p)
		}, func(m arena.Match) error { return f(g, m) }); err != nil {
			return err
		}
	}
	return nil
}

// matches writes the matches, and the answers in a file of their own.
func (t *takeout) matches(ctx context.Context) error {
	e, err := t.lines("matches.jsonl")
	if err != nil {
		return err
	}
	if err := t.eachMatch(ctx, func(g arena.Agent, m arena.Match) error {
		i := slices.IndexFunc(m.Seats, func(s arena.Seat) bool { return s.AgentID == g.ID })
		return e.Encode(viewMatch(m, m.Seats[i]))
	}); err != nil {
		return err
	}
	if e, err = t.lines("answers.jsonl"); err != nil {
		return err
	}
	return t.eachMatch(ctx, func(g arena.Agent, m arena.Match) error {
		answers, err := t.store.Matches.Answers(ctx, m.ID)
		if err != nil {
			return err
		}
		for _, a := range answers {
			if a.AgentID != g.ID {
				continue
			}
			if err := e.Encode(viewAnswer(a, m.Status.Over())); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *takeout) deliveries(ctx context.Context) error {
	e, err := t.lines("deliveries.jsonl")
	if err != nil {
		return err
	}
	for _, g := range t.own {
		if err := each(func(p arena.Page) ([]arena.Delivery, string, error) {
			return t.store.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: g.ID}, p)
		}, func(d arena.Delivery) error { return e.Encode(viewDelivery(d)) }); err != nil {
			return err
		}
	}
	return nil
}

func (t *takeout) ratings(ctx context.Context) error {
	e, err := t.lines("ratings.jsonl")
	if err != nil {
		return err
	}
	for _, g := range t.own {
		byAgent, err := t.store.Ratings.AgentRatings(ctx, []string{g.ID})
		if err != nil {
			return err
		}
		for _, r := range byAgent[g.ID] {
			points, err := t.store.Ratings.RatingHistory(ctx, g.ID, r.League, maxHistory)
			if err != nil {
				return err
			}
			if err := e.Encode(viewRating(r, points)); err != nil {
				return err
			}
		}
	}
	return nil
}

// audit writes the entries by the owner and about its account, agents and keys.
// Who acted is named for the owner alone: others are "admin" or the like.
func (t *takeout) audit(ctx context.Context) error {
	e, err := t.lines("audit.jsonl")
	if err != nil {
		return err
	}
	find := []string{t.owner.ID}
	for _, g := range t.own {
		find = append(find, g.ID)
	}
	for i, id := range find {
		if err := each(func(p arena.Page) ([]arena.AuditEntry, string, error) {
			return t.store.Operations.AuditLog(ctx, arena.AuditFilter{Find: id}, p)
		}, func(entry arena.AuditEntry) error {
			if i > 0 && entry.Actor == t.owner.ID { // written already
				return nil
			}
			return e.Encode(viewAudit(entry, t.owner.ID))
		}); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for every item of a paged list.
func each[T any](list func(arena.Page) ([]T, string, error), f func(T) error) error {
	for p := (arena.Page{Limit: pageSize}); ; {
		items, next, err := list(p)
		if err != nil {
			return err
		}
		for _, item := range items {
			if err := f(item); err != nil {
				return err
			}
		}
		if p.Cursor = next; next == "" {
			return nil
		}
	}
}

// all returns every item of a paged list.
func all[T any](list func(arena.Page) ([]T, string, error)) (items []T, err error) {
	err = each(list, func(item T) error {
		items = append(items, item)
		return nil
	})
	return items, err
}
