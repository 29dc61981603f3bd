package envelope

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// Identity is a key that signs envelopes.
type Identity struct {
	private ed25519.PrivateKey
	party   Party
	broken  bool // one bit of each signature is wrong; for forgeries
}

// keyName is the row of the arena's own key.
const keyName = "arena"

// LoadKey returns the arena's own Ed25519 key: the one that the store keeps,
// made at the first start.
func LoadKey(ctx context.Context, store interface {
	Identity(ctx context.Context, name string, fresh []byte) ([]byte, error)
},
) (ed25519.PrivateKey, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the arena's key: %w", err)
	}
	fresh, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode the arena's key: %w", err)
	}
	kept, err := store.Identity(ctx, keyName, fresh)
	if err != nil {
		return nil, fmt.Errorf("load the arena's key: %w", err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(kept)
	if err != nil {
		return nil, fmt.Errorf("read the arena's key: %w", err)
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("read the arena's key: it is not an Ed25519 key")
	}
	return private, nil
}

// NewIdentity makes an identity of a private key. name is shown as the sender's.
func NewIdentity(private ed25519.PrivateKey, name string) *Identity {
	public, _ := private.Public().(ed25519.PublicKey)
	return &Identity{private: private, party: Party{ID: DID(public), Name: name}}
}

// DID returns the identity's did:key.
func (i *Identity) DID() string { return i.party.ID }

// Draft is an envelope before it is signed.
type Draft struct {
	Type      Type
	ID        string // "" makes one
	At        time.Time
	Recipient string // did:key; "": none
	Thread    string // "" none
	TTL       time.Duration
	Payload   any
}

// Sign makes the envelope of a draft.
func (i *Identity) Sign(d Draft) (*Envelope, error) {
	payload, err := json.Marshal(d.Payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if d.ID == "" {
		d.ID = arena.NewID("msg_", d.At)
	}
	e := &Envelope{
		Version: Version, ID: d.ID, TS: d.At.UTC().Truncate(time.Millisecond), Type: d.Type, Sender: i.party, Payload: payload,
	}
	if d.Recipient != "" {
		e.Recipient = &Party{ID: d.Recipient}
	}
	if d.Thread != "" {
		e.Thread = &Thread{ID: d.Thread}
	}
	if d.TTL > 0 {
		seconds := float64((d.TTL + time.Second - 1) / time.Second)
		hop := 0.0
		e.Meta = &Meta{TTL: &seconds, Hop: &hop}
	}
	unsigned, err := strictjson.CanonicalOf(struct {
		*Envelope
		TS string `json:"ts"`
	}{e, e.TS.Format(arena.TimeFormat)})
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	raw := ed25519.Sign(i.private, unsigned)
	if i.broken {
		raw[len(raw)/2] ^= 1
	}
	signature := base64.RawURLEncoding.EncodeToString(raw)
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(unsigned, []byte("}")))
	b.WriteString(`,"sig":"` + signature + `"}`)
	e, _, _, err = parse(b.Bytes())
	return e, err
}
