package arena

import "time"

// Envelope is a signed message of the relay as the store keeps it. Body is
// what was received, byte for byte; everything else was read from it or
// decided by the arena.
type Envelope struct {
	No         int64  // order of arrival, from 1
	Seq        int64  // order in which it became visible; 0: it is sealed
	ID         string // unique for its sender
	Sender     string // did:key
	OwnerID    string // of the sender; "": the arena, or a key that is not registered
	Recipient  string // did:key, "" everyone
	Type       string // "REQUEST", "OFFER" …
	Thread     string
	RequestID  string
	At         time.Time // ts: the sender's own clock
	ReceivedAt time.Time
	ExpiresAt  time.Time // nobody is given it from then on
	Digest     [32]byte  // SHA-256 of the signed text
	Body       []byte

	// Of threads in which the arena puts a task: what others may see of them
	// waits for the end of the round.
	MatchID string
	Round   int
	AgentID string // of the seat
}

// EnvelopeRules are what the store checks while it adds an envelope.
type EnvelopeRules struct {
	// Admit decides by the thread so far, in order of arrival, and may complete
	// the envelope; a Seq below 0 seals it until its round has closed. It runs inside the transaction, perhaps more than once.
	Admit func(thread []Envelope, e *Envelope) error
	// PerMinute and BytesPerMinute bound what one sender may add; 0: no bound.
	PerMinute      int
	BytesPerMinute int
	// OwnerBytes bounds the bodies that are kept for one owner; 0: no bound.
	OwnerBytes int
	// Rising refuses a time that is not after all that the sender gave this
	// recipient.
	Rising bool
}

// EnvelopeQuery chooses visible envelopes; empty members choose all.
type EnvelopeQuery struct {
	After     int64 // Seq, exclusive
	Recipient string
	Sender    string
	Type      string
	Thread    string
	Now       time.Time // what has expired by then is left out
	Limit     int
}

// EnvelopeKeep is what a sweep of the relay leaves.
type EnvelopeKeep struct {
	Since     time.Time // older ones go
	Young     time.Time // what came after is kept whatever its number: replays are known by it
	PerSender int       // newest of one sender
	All       int       // newest of all
	PerOwner  int       // bytes of the newest of one owner; 0: no bound
}

// RelayKey is what the relay knows about a key.
type RelayKey struct {
	Key        string
	PolledAt   time.Time // zero: never
	PostedAt   time.Time // of its last envelope; zero: none is kept
	Manifest   []byte    // JSON, nil: it published none
	ManifestAt time.Time
}
