package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"

	"github.com/agora-arena/arena/internal/strictjson"
)

const (
	issuerFresh   = 10 * time.Minute // how long keys are used without a refresh
	issuerKeep    = time.Hour        // how long while the issuer is unreachable
	issuerRetry   = 10 * time.Second // minimum interval of refreshes: any client can send an unknown kid
	issuerTimeout = 5 * time.Second  // of one refresh, discovery and keys
	issuerBody    = 64 << 10         // bytes of a response
	issuerMost    = 100              // keys
	issuerRSABits = 2048             // at least
)

// errIssuerUnreachable is returned when a key is unknown and the issuer is unreachable.
var errIssuerUnreachable = errors.New("the issuer is unreachable")

// issuerKeys holds an OIDC issuer's public keys, found by its discovery document
// (OpenID Connect Discovery 1.0, section 4).
type issuerKeys struct {
	issuer string
	http   interface {
		Do(*http.Request) (*http.Response, error)
	}
	now func() time.Time
	log *slog.Logger

	known atomic.Pointer[foundKeys]

	looking  sync.Mutex // one refresh at a time
	lookedAt time.Time  // guarded by looking
	failed   error      // error of the last refresh, guarded by looking
}

// foundKeys is the result of one refresh.
type foundKeys struct {
	keyfunc.Keyfunc
	kids map[string]bool
	at   time.Time
}

// with returns the keys if the one with the kid is among them. It refreshes them
// if they are old or the kid is unknown, at most once per issuerRetry. While the
// issuer is unreachable, keys remain valid for issuerKeep.
func (k *issuerKeys) with(ctx context.Context, kid string) (*foundKeys, error) {
	known := k.known.Load()
	usable := known != nil && known.kids[kid] && k.age(known) < issuerKeep
	if usable && k.age(known) < issuerFresh {
		return known, nil
	}
	if !k.looking.TryLock() {
		if usable { // another caller refreshes the keys
			return known, nil
		}
		k.looking.Lock()
	}
	defer k.looking.Unlock()
	if now := k.now(); k.lookedAt.IsZero() || now.Sub(k.lookedAt) >= issuerRetry || now.Before(k.lookedAt) {
		k.lookedAt = now
		if k.failed = k.look(ctx); k.failed != nil {
			k.log.WarnContext(ctx, "keys of the oidc issuer could not be read", "error", k.failed)
		}
	}
	switch known = k.known.Load(); {
	case known != nil && known.kids[kid] && k.age(known) < issuerKeep:
		return known, nil
	case k.failed != nil:
		return nil, fmt.Errorf("%w: %w", errIssuerUnreachable, k.failed)
	}
	return nil, errors.New("the issuer has no such key")
}

func (k *issuerKeys) age(f *foundKeys) time.Duration { return k.now().Sub(f.at) }

// look fetches the keys. If one caller's context ends, the fetch continues for
// the others.
func (k *issuerKeys) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), issuerTimeout)
	defer cancel()
	var about struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := k.get(ctx, strings.TrimRight(k.issuer, "/")+"/.well-known/openid-configuration", &about, "issuer", "jwks_uri"); err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	if about.Issuer != k.issuer {
		return fmt.Errorf("discovery: the issuer calls itself %q, not %q", about.Issuer, k.issuer)
	}
	uri, err := url.Parse(about.JWKSURI)
	if err != nil || uri.Host == "" || uri.User != nil || uri.Scheme != "https" && !strings.HasPrefix(k.issuer, uri.Scheme+"://") {
		return errors.New("discovery: jwks_uri is not an https URL")
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := k.get(ctx, about.JWKSURI, &set, "keys"); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	found, err := readKeys(ctx, set.Keys)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	found.at = k.now()
	k.known.Store(found)
	return nil
}

// get reads one JSON object of the issuer.
func (k *issuerKeys) get(ctx context.Context, address string, into any, names ...string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := k.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d", address, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, issuerBody+1))
	if err != nil {
		return err
	}
	if len(body) > issuerBody {
		return fmt.Errorf("%s answers with more than %d bytes", address, issuerBody)
	}
	return strictjson.UnmarshalOpen(body, into, names...)
}

// readKeys returns the keys that can verify a signature. It ignores others, such
// as keys for encryption or of unknown kinds.
func readKeys(ctx context.Context, raw []json.RawMessage) (*foundKeys, error) {
	if len(raw) > issuerMost {
		return nil, fmt.Errorf("%d keys, at most %d are read", len(raw), issuerMost)
	}
	storage, kids := jwkset.NewMemoryStorage(), map[string]bool{}
	for _, one := range raw {
		var m jwkset.JWKMarshal
		if json.Unmarshal(one, &m) != nil || m.KTY == jwkset.KtyOct || m.KID == "" || m.USE != "" && m.USE != jwkset.UseSig {
			continue
		}
		m.D, m.P, m.Q, m.DP, m.DQ, m.QI = "", "", "", "", "", "" // drop private parts
		key, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil {
			continue
		}
		switch public := key.Key().(type) {
		case *rsa.PublicKey:
			if public.N.BitLen() < issuerRSABits {
				continue
			}
		case *ecdsa.PublicKey, ed25519.PublicKey:
		default:
			continue
		}
		if kids[m.KID] {
			return nil, fmt.Errorf("two keys are called %q", m.KID)
		}
		kids[m.KID] = true
		if err := storage.KeyWrite(ctx, key); err != nil {
			return nil, err
		}
	}
	keys, err := keyfunc.New(keyfunc.Options{Ctx: context.WithoutCancel(ctx), Storage: storage})
	if err != nil {
		return nil, err
	}
	return &foundKeys{Keyfunc: keys, kids: kids}, nil
}
