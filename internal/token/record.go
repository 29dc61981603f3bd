package token

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/MicahParks/jwkset"

	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/record"
)

// recordTyp distinguishes the signatures of records from task tokens (threat
// E6).
const recordTyp = "arena-record+jws"

// jwsHeader is the whole header of a record's signature.
type jwsHeader struct {
	Alg string `json:"alg"`
	KID string `json:"kid"`
	Typ string `json:"typ"`
}

// SignRecord signs the bytes of a match record with the key that signs now:
// a JWS in compact form with the payload left out (RFC 7515, Appendix F).
func (k *Keys) SignRecord(payload []byte) (record.Signature, error) {
	key := k.ring.Load().signing(k.now())
	if key == nil {
		return record.Signature{}, errors.New("sign a record: no key may sign now")
	}
	header, err := json.Marshal(jwsHeader{key.Alg, key.KID, recordTyp})
	if err != nil {
		return record.Signature{}, fmt.Errorf("sign a record: %w", err)
	}
	head := base64.RawURLEncoding.EncodeToString(header)
	signature, err := key.sign([]byte(head + "." + base64.RawURLEncoding.EncodeToString(payload)))
	if err != nil {
		return record.Signature{}, fmt.Errorf("sign a record: %w", err)
	}
	return record.Signature{Alg: key.Alg, KID: key.KID, Value: head + ".." + base64.RawURLEncoding.EncodeToString(signature)}, nil
}

// VerifyRecord checks the signature of a match record against the JWK set (RFC
// 7517) of the arena that made it.
func VerifyRecord(jwks, payload []byte, s record.Signature) error {
	head, rest, _ := strings.Cut(s.Value, ".")
	between, signature, ok := strings.Cut(rest, ".")
	if !ok || between != "" {
		return errors.New("value is not a JWS with a detached payload")
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(head)
	if err != nil {
		return errors.New("the header of value is not base64url")
	}
	var header jwsHeader
	if err := strictjson.Unmarshal(raw, &header); err != nil {
		return fmt.Errorf("the header of value: %w", err)
	}
	if header != (jwsHeader{s.Alg, s.KID, recordTyp}) {
		return fmt.Errorf("the header of value has alg %q, kid %q, typ %q", header.Alg, header.KID, header.Typ)
	}
	method := methodOf(header.Alg)
	if method == nil {
		return fmt.Errorf("alg %q is not one of %s, %s, %s", header.Alg, ES256, EdDSA, RS256)
	}
	public, err := publicKey(jwks, header)
	if err != nil {
		return err
	}
	sig, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil {
		return errors.New("the signature in value is not base64url")
	}
	if err := method.Verify(head+"."+base64.RawURLEncoding.EncodeToString(payload), sig, public); err != nil {
		return fmt.Errorf("the record is not what key %s signed: %w", header.KID, err)
	}
	return nil
}

// publicKey finds the key of a header in a JWK set.
func publicKey(jwks []byte, h jwsHeader) (any, error) {
	var set jwkset.JWKSMarshal
	if err := json.Unmarshal(jwks, &set); err != nil {
		return nil, fmt.Errorf("the key set is not JSON: %w", err)
	}
	keys, err := set.JWKSlice()
	if err != nil {
		return nil, fmt.Errorf("the key set cannot be read: %w", err)
	}
	for _, key := range keys {
		m := key.Marshal()
		if m.KID != h.KID {
			continue
		}
		if m.ALG != "" && m.ALG.String() != h.Alg {
			return nil, fmt.Errorf("key %s is for %s, not for %s", h.KID, m.ALG, h.Alg)
		}
		return key.Key(), nil
	}
	return nil, fmt.Errorf("the key set has no key %s; if the arena has rotated its keys, fetch the record again", h.KID)
}
