package mailbox

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// Relay is the envelopes of the relay, with the keys that use it.
type Relay struct{ base *base.Base }

// NewRelay returns the envelopes of a database.
func NewRelay(b *base.Base) *Relay { return &Relay{base: b} }

// relayLock is the key of writes to envelopes. Their numbers come from one
// counter whose row a transaction holds until it commits, so that they stand in
// commit order: a reader who has seen a number misses none below it.
const relayLock = "envelopes"

// envelopeRow is a row of envelopes.
type envelopeRow struct {
	arena.Envelope

	shownAt int64 // when it became visible; 0: it is sealed
	size    int   // of Body
}

var envelopeTable = db.NewTable("envelopes", "e",
	db.Int("no", func(e *envelopeRow) *int64 { return &e.No }),
	db.Int("seq", func(e *envelopeRow) *int64 { return &e.Seq }),
	db.Text("id", func(e *envelopeRow) *string { return &e.ID }),
	db.Text("sender", func(e *envelopeRow) *string { return &e.Sender }),
	db.Text("recipient", func(e *envelopeRow) *string { return &e.Recipient }),
	db.Text("type", func(e *envelopeRow) *string { return &e.Type }),
	db.Text("thread", func(e *envelopeRow) *string { return &e.Thread }),
	db.Text("request_id", func(e *envelopeRow) *string { return &e.RequestID }),
	db.Time("ts", func(e *envelopeRow) *time.Time { return &e.At }),
	db.Time("received_at", func(e *envelopeRow) *time.Time { return &e.ReceivedAt }),
	db.Int("shown_at", func(e *envelopeRow) *int64 { return &e.shownAt }),
	db.Time("expires_at", func(e *envelopeRow) *time.Time { return &e.ExpiresAt }),
	db.Digest("digest", func(e *envelopeRow) *[32]byte { return &e.Digest }),
	db.Bytes("body", func(e *envelopeRow) *[]byte { return &e.Body }),
	db.Text("match_id", func(e *envelopeRow) *string { return &e.MatchID }),
	db.Int("round", func(e *envelopeRow) *int { return &e.Round }),
	db.Text("agent_id", func(e *envelopeRow) *string { return &e.AgentID }),
	db.Text("owner_id", func(e *envelopeRow) *string { return &e.OwnerID }),
	db.Int("size", func(e *envelopeRow) *int { return &e.size }),
)

var (
	insertEnvelopes = db.NewInsert(envelopeTable, "")
	showEnvelopes   = db.NewUpdate(envelopeTable, []string{"no"}, []string{"seq", "shown_at", "expires_at"})
)

func readEnvelopes(ctx context.Context, q db.Querier, rest string, args ...any) (envelopes []arena.Envelope, err error) {
	rows, err := envelopeTable.All(ctx, q, rest, args...)
	for _, r := range rows {
		envelopes = append(envelopes, r.Envelope)
	}
	return envelopes, err
}

func nextEnvelope(ctx context.Context, tx *db.Tx) (int64, error) {
	return db.One(ctx, tx, db.ScanInt, `INSERT INTO counters (name, value) VALUES ('envelopes', 1)
		ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value`)
}

// AddEnvelope adds e to its thread, in which STATUS counts for nothing, under the rules r and returns it as stored;
// fresh is false when the same envelope was stored before. An envelope without
// a thread joins that of its request. conflict: the sender has used the id for
// something else; name_taken: the rules want rising times, and this one is not
// later than all that the sender gave the recipient; rate_limited: the sender's bounds; anything that Admit says.
func (s *Relay) AddEnvelope(ctx context.Context, e arena.Envelope, r arena.EnvelopeRules) (stored arena.Envelope, fresh bool, err error) {
	err = s.base.WriteAlone(ctx, relayLock, func(ctx context.Context, tx *db.Tx) error {
		stored, fresh = e, false
		var err error
		if stored.No, err = nextEnvelope(ctx, tx); err != nil {
			return err
		}
		before, err := envelopeTable.One(ctx, tx, ` WHERE e.sender = $1 AND e.id = $2`, e.Sender, e.ID)
		switch {
		case err == nil && before.Digest == e.Digest:
			stored = before.Envelope
			return nil
		case err == nil:
			return arena.Errorf(arena.CodeConflict, "the id %q stands in another envelope of the same sender", e.ID)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		if err := admitEnvelope(ctx, tx, &stored, r); err != nil {
			return err
		}
		fresh = true
		return insertEnvelope(ctx, tx, &stored)
	})
	return stored, fresh && err == nil, s.base.Wrap(err, "add envelope %s", e.ID)
}

func admitEnvelope(ctx context.Context, tx *db.Tx, e *arena.Envelope, r arena.EnvelopeRules) error {
	if r.PerMinute > 0 {
		type sum struct{ n, bytes int64 }
		minute, err := db.One(ctx, tx, func(r db.Row) (x sum, err error) { return x, r.Scan(&x.n, &x.bytes) },
			`SELECT count(*), coalesce(sum(size), 0) FROM envelopes WHERE sender = $1 AND received_at > $2 AND received_at <= $3`,
			e.Sender, db.Millis(e.ReceivedAt.Add(-time.Minute)), db.Millis(e.ReceivedAt.Add(arena.ClockSlack)))
		if err != nil {
			return err
		}
		if minute.n >= int64(r.PerMinute) || minute.bytes+int64(len(e.Body)) > int64(r.BytesPerMinute) {
			return arena.Errorf(arena.CodeRateLimited, "one key may post %d envelopes and %d bytes in a minute", r.PerMinute, r.BytesPerMinute)
		}
	}
	if r.OwnerBytes > 0 && e.OwnerID != "" { // the query repeats it: the index holds such rows alone
		kept, err := db.One(ctx, tx, db.ScanInt, `SELECT coalesce(sum(size), 0) FROM envelopes WHERE owner_id = $1 AND owner_id <> ''`, e.OwnerID)
		if err != nil {
			return err
		}
		if kept+int64(len(e.Body)) > int64(r.OwnerBytes) {
			return arena.Errorf(arena.CodeRateLimited, "the relay keeps at most %d bytes of one owner's agents, and %d are kept; older envelopes are deleted after 15 minutes", r.OwnerBytes, kept)
		}
	}
	if e.Thread == "" && e.RequestID != "" {
		// Of the requests with this id, the newest that has to do with the sender.
		thread, err := db.One(ctx, tx, db.ScanText, `SELECT thread FROM envelopes WHERE type = 'REQUEST' AND request_id = $1
			AND (sender = $2 OR recipient = $2 OR recipient = '') ORDER BY no DESC LIMIT 1`, e.RequestID, e.Sender)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		e.Thread = thread
	}
	var thread []arena.Envelope
	if e.Thread != "" {
		var err error
		if thread, err = readEnvelopes(ctx, tx, ` WHERE e.thread = $1 AND e.type <> 'STATUS' ORDER BY e.no`, e.Thread); err != nil {
			return err
		}
	}
	if err := r.Admit(thread, e); err != nil {
		return err
	}
	if !r.Rising || e.Recipient == "" || e.Seq < 0 {
		return nil
	}
	taken, err := db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM envelopes WHERE recipient = $1 AND ts >= $2 AND sender = $3`,
		e.Recipient, db.Millis(e.At), e.Sender)
	if err == nil && taken > 0 {
		return arena.Errorf(arena.CodeNameTaken, "another envelope to this recipient has that ts or a later one")
	}
	return err
}

// insertEnvelope stores e; a Seq below 0 means that it is sealed.
func insertEnvelope(ctx context.Context, tx *db.Tx, e *arena.Envelope) error {
	var shown int64
	if e.Seq < 0 {
		e.Seq = 0
	} else {
		e.Seq = e.No
		var err error
		if shown, err = showTime(ctx, tx, e.ReceivedAt); err != nil {
			return err
		}
	}
	_, err := insertEnvelopes.Exec(ctx, tx, envelopeRow{Envelope: *e, shownAt: shown, size: len(e.Body)})
	return err
}

// showTime is now, or the time of the last one when this node's clock is behind.
func showTime(ctx context.Context, tx *db.Tx, now time.Time) (int64, error) {
	last, err := db.One(ctx, tx, db.ScanInt, `SELECT shown_at FROM envelopes ORDER BY seq DESC LIMIT 1`)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	return max(last, db.Millis(now)), nil
}

// chosen adds the filters of q. With lead the first one that is given leads to
// the envelopes, by an index in the order of seq. A recipient and a type have one
// together, since everyone writes to the arena. The others are compared on the
// way, as texts that no index holds: without statistics an engine might follow
// the wrong one.
func chosen(c *db.Clauses, q arena.EnvelopeQuery, lead bool) {
	for _, f := range []struct{ column, value string }{
		{"thread", q.Thread}, {"sender", q.Sender}, {"recipient", q.Recipient}, {"type", q.Type},
	} {
		switch {
		case f.value == "":
		case lead:
			lead = f.column == "recipient"
			c.And(f.column+" = ?", f.value)
		default:
			c.And(f.column+" || '' = ?", f.value)
		}
	}
}

// Envelopes returns visible envelopes in the order of Seq.
func (s *Relay) Envelopes(ctx context.Context, q arena.EnvelopeQuery) ([]arena.Envelope, error) {
	var c db.Clauses
	chosen(&c, q, true)
	c.And("seq > ?", max(q.After, 0))
	c.And("expires_at > ?", db.Millis(q.Now))
	es, err := readEnvelopes(ctx, s.base.Reader, c.Where()+` ORDER BY e.seq LIMIT `+c.Arg(q.Limit), c.Args...)
	return es, s.base.Wrap(err, "read envelopes")
}

// EnvelopeAfter returns the Seq to resume from for a reader that gives a time: the
// first envelope of q with exactly this time, else the last envelope that was
// visible before it.
func (s *Relay) EnvelopeAfter(ctx context.Context, q arena.EnvelopeQuery, since time.Time) (after int64, exact bool, err error) {
	err = s.base.View(ctx, func(tx db.Querier) error {
		var c db.Clauses
		c.And("ts = ?", db.Millis(since))
		c.And("seq > 0")
		chosen(&c, q, false)
		var err error
		after, err = db.One(ctx, tx, db.ScanInt, `SELECT seq FROM envelopes`+c.Where()+` ORDER BY seq LIMIT 1`, c.Args...)
		if exact = err == nil; !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		after, err = db.One(ctx, tx, db.ScanInt, `SELECT seq - 1 FROM envelopes WHERE shown_at >= $1 AND seq > 0 ORDER BY shown_at, seq LIMIT 1`, db.Millis(since))
		if errors.Is(err, sql.ErrNoRows) {
			after, err = lastEnvelope(ctx, tx)
		}
		return err
	})
	return after, exact, s.base.Wrap(err, "find the time %s among envelopes", since.Format(arena.TimeFormat))
}

func lastEnvelope(ctx context.Context, q db.Querier) (int64, error) {
	return db.One(ctx, q, db.ScanInt, `SELECT coalesce(max(seq), 0) FROM envelopes`)
}

// LastEnvelope returns the highest Seq, 0 when there is none.
func (s *Relay) LastEnvelope(ctx context.Context) (int64, error) {
	n, err := lastEnvelope(ctx, s.base.Reader)
	return n, s.base.Wrap(err, "read the last envelope")
}

// EnvelopeTime returns the latest ts of a sender's envelopes to a recipient.
func (s *Relay) EnvelopeTime(ctx context.Context, sender, recipient string) (time.Time, error) {
	at, err := db.One(ctx, s.base.Reader, func(r db.Row) (at time.Time, err error) { return at, r.Scan(db.IntoTime(&at)) },
		`SELECT coalesce(max(ts), 0) FROM envelopes WHERE recipient = $1 AND sender = $2`, recipient, sender)
	return at, s.base.Wrap(err, "read the time of the last envelope")
}

// EnvelopeThread returns what came in a thread after number no, sealed or not,
// in the order of arrival.
func (s *Relay) EnvelopeThread(ctx context.Context, thread string, no int64) ([]arena.Envelope, error) {
	es, err := readEnvelopes(ctx, s.base.Reader, ` WHERE e.thread = $1 AND e.no > $2 ORDER BY e.no`, thread, no)
	return es, s.base.Wrap(err, "read thread %s", thread)
}

// ShowEnvelopes reveals what was sealed for rounds that have closed, and
// that spectators have seen close, as if it had come now, at most limit at
// once, and returns it.
func (s *Relay) ShowEnvelopes(ctx context.Context, now time.Time, limit int) ([]arena.Envelope, error) {
	var shown []arena.Envelope
	err := s.base.WriteAlone(ctx, relayLock, func(ctx context.Context, tx *db.Tx) error {
		shown = nil
		seq, err := nextEnvelope(ctx, tx) // before reading: it locks the counter
		if err != nil {
			return err
		}
		due, err := envelopeTable.All(ctx, tx, ` WHERE e.seq = 0 AND EXISTS (SELECT 1 FROM rounds r
			JOIN matches m ON m.id = r.match_id WHERE r.match_id = e.match_id AND r.no = e.round AND r.closed_at <> 0
			AND (m.delay = 0 OR r.closed_at <= $2 - m.delay)) ORDER BY e.no LIMIT $1`, limit, db.Millis(now))
		if err != nil || len(due) == 0 {
			return err
		}
		at, err := showTime(ctx, tx, now)
		if err != nil {
			return err
		}
		for i := range due {
			e := &due[i]
			if i > 0 {
				if seq, err = nextEnvelope(ctx, tx); err != nil {
					return err
				}
			}
			e.Seq, e.ExpiresAt, e.shownAt = seq, db.FromMillis(at).Add(e.ExpiresAt.Sub(e.ReceivedAt)), at
			shown = append(shown, e.Envelope)
		}
		_, err = showEnvelopes.Exec(ctx, tx, due...)
		return err
	})
	return shown, s.base.Wrap(err, "show envelopes of closed rounds")
}

// SweepEnvelopes deletes the envelopes that k does not keep and returns their
// number.
func (s *Relay) SweepEnvelopes(ctx context.Context, k arena.EnvelopeKeep) (int64, error) {
	var gone int64
	err := s.base.WriteAlone(ctx, relayLock, func(ctx context.Context, tx *db.Tx) error {
		gone = 0
		for _, part := range []struct {
			query string
			args  []any
		}{
			{`DELETE FROM envelopes WHERE received_at < $1`, []any{db.Millis(k.Since)}},
			{
				`DELETE FROM envelopes WHERE received_at < $1 AND no <= (SELECT no FROM envelopes ORDER BY no DESC LIMIT 1 OFFSET $2)`,
				[]any{db.Millis(k.Young), k.All},
			},
			{
				`DELETE FROM envelopes WHERE no IN (SELECT no FROM (SELECT no, received_at,
				row_number() OVER (PARTITION BY sender ORDER BY no DESC) AS place FROM envelopes) p WHERE place > $1 AND received_at < $2)`,
				[]any{k.PerSender, db.Millis(k.Young)},
			},
			{
				`DELETE FROM envelopes WHERE no IN (SELECT no FROM (SELECT no, received_at,
				sum(size) OVER (PARTITION BY owner_id ORDER BY no DESC) AS bytes FROM envelopes WHERE owner_id <> '') p
				WHERE $1 > 0 AND bytes > $1 AND received_at < $2)`,
				[]any{k.PerOwner, db.Millis(k.Young)},
			},
		} {
			n, err := db.Exec(ctx, tx, part.query, part.args...)
			if err != nil {
				return err
			}
			gone += n
		}
		return nil
	})
	return gone, s.base.Wrap(err, "sweep envelopes")
}

var relayKeyTable = db.NewTable("relay_keys", "k",
	db.Text("key", func(k *arena.RelayKey) *string { return &k.Key }),
	db.Time("polled_at", func(k *arena.RelayKey) *time.Time { return &k.PolledAt }),
	db.Column[arena.RelayKey]{
		Name: "manifest", Type: db.TypeBytes,
		Value: func(k *arena.RelayKey) any { return append([]byte{}, k.Manifest...) }, // not NULL
		Into:  func(k *arena.RelayKey) any { return manifestInto{&k.Manifest} },
	},
	db.Time("manifest_at", func(k *arena.RelayKey) *time.Time { return &k.ManifestAt }),
	db.Computed(`(SELECT coalesce(max(e.received_at), 0) FROM envelopes e WHERE e.sender = k.key)`,
		func(k *arena.RelayKey) any { return db.IntoTime(&k.PostedAt) }),
)

var (
	pollRelayKeys = db.NewInsert(relayKeyTable, `ON CONFLICT (key) DO UPDATE SET polled_at = excluded.polled_at
		WHERE relay_keys.polled_at < excluded.polled_at`)
	saveManifests = db.NewInsert(relayKeyTable, `ON CONFLICT (key) DO UPDATE SET manifest = excluded.manifest,
		manifest_at = excluded.manifest_at WHERE relay_keys.manifest_at < excluded.manifest_at`)
)

// manifestInto scans a manifest; nil for an empty one.
type manifestInto struct{ manifest *[]byte }

func (i manifestInto) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok {
		return fmt.Errorf("scan manifest: got %T", src)
	}
	*i.manifest = nil
	if len(b) > 0 {
		*i.manifest = bytes.Clone(b)
	}
	return nil
}

// RelayKey returns what is known about a key, also when that is nothing.
func (s *Relay) RelayKey(ctx context.Context, key string) (arena.RelayKey, error) {
	k := arena.RelayKey{Key: key}
	ks, err := relayKeyTable.All(ctx, s.base.Reader, ` WHERE k.key = $1`, key)
	switch {
	case err == nil && len(ks) == 1:
		k = ks[0]
	case err == nil: // it may have posted and never asked
		k.PostedAt, err = db.One(ctx, s.base.Reader, func(r db.Row) (at time.Time, err error) { return at, r.Scan(db.IntoTime(&at)) },
			`SELECT coalesce(max(received_at), 0) FROM envelopes WHERE sender = $1`, key)
	}
	return k, s.base.Wrap(err, "read relay key")
}

// RelayManifests returns the keys that have published a manifest, newest first.
func (s *Relay) RelayManifests(ctx context.Context, limit int) ([]arena.RelayKey, error) {
	ks, err := relayKeyTable.All(ctx, s.base.Reader, ` WHERE k.manifest_at > 0 ORDER BY k.manifest_at DESC, k.key LIMIT $1`, limit)
	return ks, s.base.Wrap(err, "read manifests")
}

// PolledRelay records a poll for the envelopes sent to a key.
func (s *Relay) PolledRelay(ctx context.Context, key string, at time.Time) error {
	err := s.base.Write(ctx, key, func(ctx context.Context, tx *db.Tx) error {
		_, err := pollRelayKeys.Exec(ctx, tx, arena.RelayKey{Key: key, PolledAt: at})
		return err
	})
	return s.base.Wrap(err, "note a poll")
}

// SaveManifest stores what a key published about itself, unless it has
// published something later.
func (s *Relay) SaveManifest(ctx context.Context, key string, manifest []byte, at time.Time) error {
	err := s.base.Write(ctx, key, func(ctx context.Context, tx *db.Tx) error {
		_, err := saveManifests.Exec(ctx, tx, arena.RelayKey{Key: key, Manifest: manifest, ManifestAt: at})
		return err
	})
	return s.base.Wrap(err, "store a manifest")
}
