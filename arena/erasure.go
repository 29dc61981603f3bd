package arena

import "time"

// TokenUse is a use of a token.
type TokenUse struct {
	TokenID string
	At      time.Time
	Network string // the address came from, see AddressKeys
}

// DeletedOwner replaces the name of an owner whose personal data was deleted.
const DeletedOwner = "deleted owner"

// HiddenText replaces a text that an admin or a moderator hid.
const HiddenText = "[hidden by a moderator]"

// OwnerErasure records that the personal data of an owner was deleted. It holds
// no personal data, so it can be kept and applied again to a restored backup.
type OwnerErasure struct {
	OwnerID string
	At      time.Time
}

// SeatTexts names the texts of an agent in one match.
type SeatTexts struct {
	MatchID string
	AgentID string
}

// RotationGraces lists how long a token may stay valid after another one has
// replaced it.
func RotationGraces() []time.Duration { return []time.Duration{0, time.Hour, 24 * time.Hour} }
