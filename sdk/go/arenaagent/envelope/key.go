package envelope

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/gowebpki/jcs"
)

// Key is an agent's Ed25519 key.
type Key struct{ private ed25519.PrivateKey }

// NewKey makes a key.
func NewKey() Key {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return Key{private}
}

// KeyOf uses a private key that exists already.
func KeyOf(private ed25519.PrivateKey) Key { return Key{private} }

// LoadKey reads a key from a PEM file (PKCS #8), which it makes, readable for
// its owner alone, when there is none.
func LoadKey(file string) (Key, error) {
	data, err := os.ReadFile(file) //nolint:gosec // G304: the agent's owner names the file
	if errors.Is(err, fs.ErrNotExist) {
		k := NewKey()
		der, err := x509.MarshalPKCS8PrivateKey(k.private)
		if err != nil {
			return Key{}, fmt.Errorf("encode the key: %w", err)
		}
		return k, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read the key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return Key{}, fmt.Errorf("read the key: %s is not a PEM file", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Key{}, fmt.Errorf("read the key: %w", err)
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return Key{}, fmt.Errorf("read the key: %s holds no Ed25519 key", file)
	}
	return Key{private}, nil
}

// DID returns the did:key under which the agent is registered.
func (k Key) DID() string { return didOf(k.private.Public().(ed25519.PublicKey)) }

// Prove signs the key_challenge that registration answers with.
func (k Key) Prove(challenge string) string {
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(k.private, []byte(challenge)))
}

const didPrefix = "did:key:z"

func didOf(key ed25519.PublicKey) string {
	return didPrefix + base58Encode(append([]byte{0xed, 0x01}, key...))
}

func keyOf(did string) (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(did, didPrefix)
	raw, err := base58Decode(text[:min(len(text), 64)])
	if !ok || err != nil || len(raw) != 2+ed25519.PublicKeySize || raw[0] != 0xed || raw[1] != 0x01 {
		return nil, fmt.Errorf("%.80q is not the did:key of an Ed25519 key", did)
	}
	return raw[2:], nil
}

// sign returns the envelope with its signature: Ed25519 over RFC 8785.
func (k Key) sign(envelope map[string]any) ([]byte, error) {
	text, err := json.Marshal(envelope)
	if err != nil {
		return nil, fmt.Errorf("encode the envelope: %w", err)
	}
	canonical, err := jcs.Transform(text)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	sig := base64.RawURLEncoding.EncodeToString(ed25519.Sign(k.private, canonical))
	return append(canonical[:len(canonical)-1], `,"sig":"`+sig+`"}`...), nil
}

// verify checks an envelope's signature by the sender that it names, and returns
// the text that was signed.
func verify(envelope []byte, sender string) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(envelope, &members); err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	var text string
	if err := json.Unmarshal(members["sig"], &text); err != nil {
		return nil, errors.New("the envelope is not signed")
	}
	sig, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sig) != ed25519.SignatureSize {
		return nil, errors.New("sig is not a signature")
	}
	delete(members, "sig")
	rest, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	canonical, err := jcs.Transform(rest)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	key, err := keyOf(sender)
	if err != nil {
		return nil, err
	}
	if !ed25519.Verify(key, canonical, sig) {
		return nil, errors.New("the signature is not the sender's")
	}
	return canonical, nil
}
