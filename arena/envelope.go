package arena

import "time"

// Envelope is a signed message of the relay as it is stored. Body holds the
// received bytes; the other fields were read from it or set by the arena.
type Envelope struct {
	No         int64  // order of arrival, from 1
	Seq        int64  // order in which it became visible; 0: it is sealed
	ID         string // unique for its sender
	Sender     string // did:key
	OwnerID    string // of the sender; "": the arena, or a key that is not registered
	Recipient  string // did:key, "" for a broadcast
	Type       string // "REQUEST", "OFFER" …
	Thread     string
	RequestID  string
	At         time.Time // ts: the sender's own clock
	ReceivedAt time.Time
	ExpiresAt  time.Time // no longer delivered from then on
	Digest     [32]byte  // SHA-256 of the signed text
	Body       []byte

	// For threads in which the arena sends a task: their envelopes become visible
	// to others at the end of the round.
	MatchID string
	Round   int
	AgentID string // of the seat
}

// EnvelopeRules are the checks that the store makes while it adds an envelope.
type EnvelopeRules struct {
	// Admit accepts or rejects the envelope by the thread so far, in order of
	// arrival, and may complete it. A Seq below 0 seals the envelope until its
	// round has closed. Admit runs inside the transaction and may run more than
	// once.
	Admit func(thread []Envelope, e *Envelope) error
	// PerMinute and BytesPerMinute bound what one sender may add; 0: no bound.
	PerMinute      int
	BytesPerMinute int
	// OwnerBytes bounds the size of the bodies stored for one owner; 0: no bound.
	OwnerBytes int
	// Rising rejects a time that is not after all earlier times of the sender for
	// this recipient.
	Rising bool
}

// EnvelopeQuery selects visible envelopes; empty fields select all.
type EnvelopeQuery struct {
	After     int64 // Seq, exclusive
	Recipient string
	Sender    string
	Type      string
	Thread    string
	Now       time.Time // leaves out the envelopes that have expired by then
	Limit     int
}

// Chooses reports whether the filters of q select e.
func (q EnvelopeQuery) Chooses(e Envelope) bool {
	return (q.Recipient == "" || q.Recipient == e.Recipient) && (q.Sender == "" || q.Sender == e.Sender) &&
		(q.Type == "" || q.Type == e.Type) && (q.Thread == "" || q.Thread == e.Thread)
}

// EnvelopeKeep defines what a sweep of the relay keeps.
type EnvelopeKeep struct {
	Since     time.Time // deletes older ones
	Young     time.Time // keeps all later ones, which detect replays
	PerSender int       // newest of one sender
	All       int       // newest of all
	PerOwner  int       // bytes of the newest of one owner; 0: no bound
}

// RelayKey is the relay's record of a key.
type RelayKey struct {
	Key        string
	PolledAt   time.Time // zero: never
	PostedAt   time.Time // of its last envelope; zero: none is kept
	Manifest   []byte    // JSON, nil: it published none
	ManifestAt time.Time
}
