package token

import (
	"cmp"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/agora-arena/arena/arena"
)

const (
	// DefaultMaxLifetime is the maximum lifetime of a task token: the longest time
	// that a seat may have for an answer, and a margin.
	DefaultMaxLifetime = arena.MaxAnswerTime + 30*time.Second
	// DefaultOverlap is how long a new key is published before it signs: twice
	// the time for which a JWK set may be cached.
	DefaultOverlap = 2 * cacheFor

	leeway          = 5 * time.Second // for clocks that differ
	lifetimeSlack   = time.Minute     // over MaxLifetime, threat E7
	staleSigner     = 5 * time.Minute // a node may sign with the old key until its next Reload
	reloadEvery     = 5 * time.Second // at most, for tokens with an unknown kid
	cacheFor        = 5 * time.Minute // max-age of the JWK set
	kidPrefix       = "key_"          // ids of keys sort by the time they were made
	typ             = "aap-task+jwt"  // a task token is no other kind of token, threat E6
	maxTokenLength  = 4 << 10         // bytes
	maxOverlapDelay = 7 * 24 * time.Hour
)

// Store keeps the signing keys of the arena; all nodes share them.
type Store interface {
	// SigningKeys returns all keys, oldest first.
	SigningKeys(ctx context.Context) ([]arena.SigningKey, error)
	// AddSigningKey adds k and sets when older keys expire, in one transaction.
	AddSigningKey(ctx context.Context, k arena.SigningKey, retire map[string]time.Time) error
	// FirstSigningKey adds k only if there is no key yet, and returns all keys.
	FirstSigningKey(ctx context.Context, k arena.SigningKey) ([]arena.SigningKey, error)
}

// Options are the parts of Keys.
type Options struct {
	Store       Store
	Issuer      string           // iss: the arena's public URL; a slash at its end is cut
	Alg         string           // of new keys: ES256, EdDSA, RS256
	Now         func() time.Time // the clock
	MaxLifetime time.Duration    // of a token; 0: DefaultMaxLifetime
	Logger      *slog.Logger
}

// Keys signs and checks task tokens. It is safe for concurrent use.
type Keys struct {
	store       Store
	issuer      string
	alg         string
	now         func() time.Time
	maxLifetime time.Duration
	log         *slog.Logger

	ring atomic.Pointer[ring]

	reloading  sync.Mutex // one reload at a time
	reloadedAt time.Time  // guarded by reloading
}

// ring is one immutable snapshot of the keys, newest first.
type ring struct{ keys []*key }

type key struct {
	arena.SigningKey
	method jwt.SigningMethod
	signer crypto.Signer
	header string          // encoded header with the dot after it
	jwk    json.RawMessage // public part
}

// New loads the keys from the store. At the first start of an arena it creates a
// key. If the newest key has another algorithm than o.Alg, it adds a key that
// signs after DefaultOverlap.
func New(ctx context.Context, o Options) (*Keys, error) {
	k := &Keys{
		store: o.Store, issuer: strings.TrimRight(o.Issuer, "/"), alg: o.Alg, now: o.Now,
		maxLifetime: cmp.Or(o.MaxLifetime, DefaultMaxLifetime), log: o.Logger,
	}
	switch {
	case o.Store == nil, o.Now == nil, o.Logger == nil:
		return nil, errors.New("token: store, clock and logger are needed")
	case k.issuer == "":
		return nil, errors.New("token: an issuer is needed")
	case methodOf(o.Alg) == nil:
		return nil, fmt.Errorf("token: algorithm %q is not one of %s, %s, %s", o.Alg, ES256, EdDSA, RS256)
	case o.MaxLifetime < 0:
		return nil, errors.New("token: the longest lifetime is below zero")
	}
	if err := k.Reload(ctx); err != nil {
		return nil, err
	}
	if len(k.ring.Load().keys) == 0 {
		if err := k.first(ctx); err != nil {
			return nil, err
		}
	}
	if newest := k.ring.Load().keys[0]; newest.Alg != k.alg {
		k.log.InfoContext(ctx, "signing algorithm changed", "from", newest.Alg, "to", k.alg)
		if _, err := k.Rotate(ctx, DefaultOverlap); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// first creates the arena's first key. If two nodes start at the same time, the
// store keeps one of their keys for both.
func (k *Keys) first(ctx context.Context) error {
	now := k.now()
	made, err := k.make(now, now)
	if err != nil {
		return err
	}
	rows, err := k.store.FirstSigningKey(ctx, made)
	if err != nil {
		return fmt.Errorf("store the first signing key: %w", err)
	}
	if len(rows) == 0 {
		return errors.New("store the first signing key: the store gave no key back")
	}
	return k.use(rows)
}

func (k *Keys) make(createdAt, signsFrom time.Time) (arena.SigningKey, error) {
	private, err := generate(k.alg)
	if err != nil {
		return arena.SigningKey{}, err
	}
	return arena.SigningKey{
		KID: arena.NewID(kidPrefix, createdAt), Alg: k.alg, Private: private,
		CreatedAt: createdAt, SignsFrom: signsFrom,
	}, nil
}

// Reload reads the keys again. A job calls it at least every minute, so that a
// rotation on another node is noticed long before the new key signs.
func (k *Keys) Reload(ctx context.Context) error {
	k.reloading.Lock()
	defer k.reloading.Unlock()
	return k.reload(ctx)
}

// reload needs k.reloading.
func (k *Keys) reload(ctx context.Context) error {
	k.reloadedAt = k.now()
	rows, err := k.store.SigningKeys(ctx)
	if err != nil {
		return fmt.Errorf("load signing keys: %w", err)
	}
	return k.use(rows)
}

// use makes rows the current snapshot.
func (k *Keys) use(rows []arena.SigningKey) error {
	r := &ring{keys: make([]*key, 0, len(rows))}
	known := map[string]*key{}
	if old := k.ring.Load(); old != nil {
		for _, o := range old.keys {
			known[o.KID] = o
		}
	}
	for _, row := range rows {
		loaded, err := load(row, known[row.KID])
		if err != nil {
			return fmt.Errorf("load signing key %s: %w", row.KID, err)
		}
		r.keys = append(r.keys, loaded)
	}
	slices.SortFunc(r.keys, func(a, b *key) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.KID, a.KID))
	})
	k.ring.Store(r)
	return nil
}

// load prepares a stored key. Only the times of a key can change, so it reuses
// the parts that were prepared before.
func load(row arena.SigningKey, before *key) (*key, error) {
	if before != nil {
		again := *before
		again.SigningKey = row
		return &again, nil
	}
	signer, err := parse(row.Alg, row.Private)
	if err != nil {
		return nil, err
	}
	header, err := json.Marshal(struct {
		Alg string `json:"alg"`
		KID string `json:"kid"`
		Typ string `json:"typ"`
	}{row.Alg, row.KID, typ})
	if err != nil {
		return nil, fmt.Errorf("encode the header: %w", err)
	}
	public, err := jwkset.NewJWKFromKey(signer.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{
		ALG: jwkset.ALG(row.Alg), KID: row.KID, USE: jwkset.UseSig,
	}})
	if err != nil {
		return nil, fmt.Errorf("make the JWK: %w", err)
	}
	jwk, err := json.Marshal(public.Marshal())
	if err != nil {
		return nil, fmt.Errorf("encode the JWK: %w", err)
	}
	return &key{
		SigningKey: row, method: methodOf(row.Alg), signer: signer, jwk: jwk,
		header: base64.RawURLEncoding.EncodeToString(header) + ".",
	}, nil
}

// published reports whether the key is in the JWK set at now.
func (k *key) published(now time.Time) bool { return k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt) }

// signing returns the key that signs at now: the newest whose time has come. If
// this node's clock is behind the clock of the node that made the first key, no
// key's time may have come; then signing returns the oldest.
func (r *ring) signing(now time.Time) *key {
	var oldest *key
	for _, k := range r.keys {
		if !k.published(now) {
			continue
		}
		if !k.SignsFrom.After(now) {
			return k
		}
		oldest = k
	}
	return oldest
}

// find returns the published key with the given kid, nil when there is none.
func (r *ring) find(kid string, now time.Time) *key {
	for _, k := range r.keys {
		if k.KID == kid && k.published(now) {
			return k
		}
	}
	return nil
}

// Rotate creates a new key of the configured algorithm and returns its kid. The
// key is published at once and signs after the delay (0 to 7 days; with
// DefaultOverlap, every cache of the JWK set is updated first). The previous keys
// stay published until their last tokens have expired.
func (k *Keys) Rotate(ctx context.Context, after time.Duration) (kid string, err error) {
	if after < 0 || after > maxOverlapDelay {
		return "", arena.Invalid("after", "must be 0 to %s", maxOverlapDelay)
	}
	k.reloading.Lock()
	defer k.reloading.Unlock()
	if err := k.reload(ctx); err != nil { // another node may have rotated
		return "", err
	}
	now := k.now()
	createdAt := now
	if keys := k.ring.Load().keys; len(keys) > 0 && !now.After(keys[0].CreatedAt) {
		createdAt = keys[0].CreatedAt.Add(time.Millisecond) // newest, even when this node's clock is behind
	}
	next, err := k.make(createdAt, now.Add(after))
	if err != nil {
		return "", err
	}
	gone := next.SignsFrom.Add(k.maxLifetime + lifetimeSlack + leeway + staleSigner)
	retire := map[string]time.Time{}
	for _, old := range k.ring.Load().keys {
		if old.ExpiresAt.IsZero() {
			retire[old.KID] = gone
		}
	}
	if err := k.store.AddSigningKey(ctx, next, retire); err != nil {
		return "", fmt.Errorf("store signing key %s: %w", next.KID, err)
	}
	k.log.InfoContext(ctx, "signing key added", "kid", next.KID, "alg", next.Alg, "signs_from", next.SignsFrom)
	return next.KID, k.reload(ctx)
}

// State is the use of a key.
type State string

// The states of a key, in the order of its life.
const (
	StateNext     State = "next"     // published, does not sign yet
	StateSigning  State = "signing"  // published, signs
	StateRetiring State = "retiring" // published, no longer signs
	StateExpired  State = "expired"  // no longer published
)

// Info describes a key without its secret parts.
type Info struct {
	KID       string    `json:"kid"`
	Alg       string    `json:"alg"`
	State     State     `json:"state"`
	CreatedAt time.Time `json:"created_at"`
	SignsFrom time.Time `json:"signs_from"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Keys lists the keys of the last Reload, newest first.
func (k *Keys) Keys() []Info {
	now, r := k.now(), k.ring.Load()
	signing := r.signing(now)
	list := make([]Info, 0, len(r.keys))
	for _, key := range r.keys {
		state := StateRetiring
		switch {
		case !key.published(now):
			state = StateExpired
		case key == signing:
			state = StateSigning
		case key.SignsFrom.After(now):
			state = StateNext
		}
		list = append(list, Info{
			KID: key.KID, Alg: key.Alg, State: state,
			CreatedAt: key.CreatedAt, SignsFrom: key.SignsFrom, ExpiresAt: key.ExpiresAt,
		})
	}
	return list
}
