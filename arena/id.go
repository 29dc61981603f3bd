package arena

import (
	"crypto/rand"
	"encoding/base32"
	"time"
)

// The prefixes of ids. A league's id is its slug and has no prefix.
const (
	MatchPrefix    = "m_"
	AgentPrefix    = "ag_"
	OwnerPrefix    = "ow_"
	PackPrefix     = "pk_"
	TaskPrefix     = "tk_"
	TokenPrefix    = "to_"
	DeliveryPrefix = "dl_"
	NodePrefix     = "nd_"
	SeasonPrefix   = "se_"
	AuditPrefix    = "au_"

	SessionPrefix    = "ss_"
	InvitationPrefix = "in_"
	MailPrefix       = "ml_"
)

// idAlphabet is in ASCII order, so that ids sort by the time they were made.
var idAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID returns a new id: the prefix and 26 characters that encode the Unix
// milliseconds of at (48 bits) and 80 random bits. Ids of later milliseconds
// sort after those of earlier ones.
func NewID(prefix string, at time.Time) string {
	b := idBytes(at)
	_, _ = rand.Read(b[6:]) // documented never to fail
	return prefix + idAlphabet.EncodeToString(b[:])
}

// FirstID returns the least id that NewID can return for the millisecond of at.
func FirstID(prefix string, at time.Time) string {
	b := idBytes(at)
	return prefix + idAlphabet.EncodeToString(b[:])
}

// idBytes returns the time of an id, with zeros for its random bits.
func idBytes(at time.Time) (b [16]byte) {
	ms := at.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i))) //nolint:gosec // G115: the lowest byte is meant
	}
	return b
}
