package store

import (
	lists "container/list"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// Where a match's log is: the values of matches.log_state.
const (
	logInRows  = 0 // in events
	logPacked  = 1 // in event_archives
	logDropped = 2 // gone
)

const (
	// partBytes is the size, before compression, from which a log goes on in
	// another row of event_archives. It bounds what is decoded to read one
	// page; nearly all logs are smaller.
	partBytes = 4 << 20
	// packedPage is how many rows are read at once to be packed.
	packedPage = 1_000
)

// part is one row of event_archives.
type part struct {
	matchID     string
	first, last int64 // seq
	bytes       int   // before compression
	archivedAt  time.Time
	data        []byte
}

// partTable reads no data: see unpack.
var partTable = db.NewTable("event_archives", "p",
	db.Text("match_id", func(p *part) *string { return &p.matchID }),
	db.Int("first_seq", func(p *part) *int64 { return &p.first }),
	db.Int("last_seq", func(p *part) *int64 { return &p.last }),
	db.Written("count", db.TypeInt, func(p *part) any { return p.last - p.first + 1 }),
	db.Int("bytes", func(p *part) *int { return &p.bytes }),
	db.Time("archived_at", func(p *part) *time.Time { return &p.archivedAt }),
	db.Written("data", db.TypeBytes, func(p *part) any { return p.data }),
)

var insertParts = db.NewInsert(partTable, "")

// ArchiveMatches packs the logs of matches that have been over since before
// olderThan, longest first, at most limit of them, and returns how many it
// packed. Their events stay readable as they were; hidden parts, which were
// revealed when their rounds closed, go. Two nodes may do it at once. A log
// that cannot be packed is left as it is and keeps none of the others back.
func (s *Matches) ArchiveMatches(ctx context.Context, olderThan time.Time, limit int) (n int, err error) {
	if err := checkLimit(limit); err != nil {
		return 0, err
	}
	ids, err := db.All(ctx, s.reader, db.ScanText, `SELECT m.id FROM matches m WHERE m.log_state = $1 AND m.finished_at > 0
		AND m.finished_at < $2 ORDER BY m.finished_at, m.id LIMIT $3`, logInRows, db.Millis(olderThan), limit)
	if err != nil {
		return 0, s.wrap(err, "find matches to archive")
	}
	var problems []error
	for _, id := range ids {
		packed, err := s.archive(ctx, id)
		if packed {
			n++
		}
		if err = s.wrap(err, "archive match %s", id); err != nil {
			problems = append(problems, err)
		}
		if ctx.Err() != nil || arena.CodeOf(err) == arena.CodeUnavailable {
			break
		}
	}
	return n, errors.Join(problems...)
}

// archive packs one match. Rows of a match that is over change only when texts
// are erased, so they are read and compressed before the transaction, which keeps
// others waiting.
func (s *Matches) archive(ctx context.Context, id string) (packed bool, err error) {
	erased, err := erasedTexts(ctx, s.reader, id)
	if err != nil {
		return false, err
	}
	parts, last, err := s.packLog(ctx, id)
	if err != nil {
		return false, err
	}
	err = s.writeAlone(ctx, id, func(ctx context.Context, tx *db.Tx) error {
		packed = false
		seq, err := db.One(ctx, tx, db.ScanInt, `SELECT m.seq FROM matches m WHERE m.id = $1 AND m.log_state = $2
			AND m.status IN ('finished', 'void', 'cancelled')`+s.d.Lock("m"), id, logInRows)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // another node was faster
		}
		if err != nil {
			return err
		}
		if seq != last {
			return fmt.Errorf("its log ends at %d and should at %d", last, seq)
		}
		if since, err := erasedTexts(ctx, tx, id); err != nil || since != erased {
			return err // what was read still has texts that were erased since
		}
		if _, err := insertParts.Exec(ctx, tx, parts...); err != nil {
			return err
		}
		deleted, err := db.Exec(ctx, tx, `DELETE FROM events WHERE match_id = $1`, id)
		if err != nil {
			return err
		}
		if deleted != last {
			return fmt.Errorf("its log has %d rows for %d events", deleted, last)
		}
		packed = true
		_, err = db.Exec(ctx, tx, `UPDATE matches SET log_state = $1 WHERE id = $2`, logPacked, id)
		return err
	})
	return packed && err == nil, err
}

// packLog compresses a match's log and returns the number of its last event.
func (s *Matches) packLog(ctx context.Context, id string) (parts []part, last int64, err error) {
	var raw []byte
	first := int64(1)
	cut := func() {
		parts = append(parts, part{
			matchID: id, first: first, last: last, bytes: len(raw), archivedAt: s.now(), data: s.packer.EncodeAll(raw, nil),
		})
		first, raw = last+1, raw[:0]
	}
	for {
		events, err := s.rowsAfter(ctx, id, last, packedPage)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range events {
			if last++; e.Seq != last {
				return nil, 0, fmt.Errorf("its log lacks event %d", last)
			}
			if raw = packEvent(raw, e); len(raw) >= partBytes {
				cut()
			}
		}
		if len(events) < packedPage {
			break
		}
	}
	if len(raw) > 0 {
		cut()
	}
	return parts, last, nil
}

// eventFormat begins each packed event. What follows is its round, its time in
// unix milliseconds, agent, type and body: numbers as varints, texts behind
// their lengths. Its match and number are those of the row.
const eventFormat = 1

func packEvent(b []byte, e arena.Event) []byte {
	b = append(b, eventFormat)
	b = binary.AppendVarint(b, int64(e.Round))
	b = binary.AppendVarint(b, db.Millis(e.At))
	for _, text := range [][]byte{[]byte(e.AgentID), []byte(e.Type), e.Body} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return b
}

var errPacked = errors.New("the packed log is damaged")

// unpackEvents is the reverse for all events of a row. Their bodies are parts
// of b.
func unpackEvents(matchID string, p part, b []byte) ([]arena.Event, error) {
	events := make([]arena.Event, 0, max(0, min(p.last-p.first+1, int64(len(b)))))
	known := map[string]string{} // agents and types come again and again
	number := func() (v int64) {
		v, n := binary.Varint(b)
		b = b[max(n, 0):]
		return v
	}
	text := func() []byte {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b[n:])) {
			b = nil
			return nil
		}
		end := n + int(length) //nolint:gosec // G115: not more than there are
		found := b[n:end:end]
		b = b[end:]
		return found
	}
	word := func() string {
		t := text()
		w, ok := known[string(t)]
		if !ok {
			w = string(t)
			known[w] = w
		}
		return w
	}
	for seq := p.first; seq <= p.last; seq++ {
		if len(b) == 0 || b[0] != eventFormat {
			return nil, errPacked
		}
		b = b[1:]
		e := arena.Event{MatchID: matchID, Seq: seq, Round: int(number()), At: db.FromMillis(number()), AgentID: word(), Type: arena.EventType(word())}
		if body := text(); len(body) > 0 {
			e.Body = body
		}
		events = append(events, e)
	}
	if len(b) > 0 {
		return nil, errPacked
	}
	return events, nil
}

// archivedAfter is EventsAfter for a log that is packed.
func (s *Matches) archivedAfter(ctx context.Context, matchID string, since int64, limit int) ([]arena.Event, error) {
	var events []arena.Event
	for len(events) < limit {
		// The rows decide, not the cache: the log may have been dropped.
		p, err := partTable.One(ctx, s.reader, ` WHERE p.match_id = $1 AND p.last_seq > $2 ORDER BY p.first_seq LIMIT 1`, matchID, since)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return nil, err
		}
		unpacked, err := s.archives.get(ctx, partKey{matchID, p.first, p.archivedAt}, func() ([]arena.Event, error) { return s.unpack(ctx, s.reader, matchID, p) })
		if errors.Is(err, sql.ErrNoRows) {
			break // dropped in between
		}
		if err != nil {
			return nil, err
		}
		page := unpacked[max(0, since+1-p.first):]
		page = page[:min(len(page), limit-len(events))]
		events = append(events, page...)
		since = events[len(events)-1].Seq
	}
	return events, nil
}

// unpack reads and decodes one row of event_archives.
func (s *Matches) unpack(ctx context.Context, q db.Querier, matchID string, p part) ([]arena.Event, error) {
	data, err := db.One(ctx, q, func(r db.Row) (b []byte, err error) {
		return b, r.Scan(&b)
	}, `SELECT data FROM event_archives WHERE match_id = $1 AND first_seq = $2`, matchID, p.first)
	if err != nil {
		return nil, err
	}
	b, err := s.unpacker.DecodeAll(data, make([]byte, 0, p.bytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	return unpackEvents(matchID, p, b)
}

// DropEvents drops the logs of matches that have been over since before
// before, longest first, at most limit of them, and returns how many. The
// matches stay, with empty logs.
func (s *Matches) DropEvents(ctx context.Context, before time.Time, limit int) (n int, err error) {
	if err := checkLimit(limit); err != nil {
		return 0, err
	}
	err = s.writeAlone(ctx, "drop events", func(ctx context.Context, tx *db.Tx) error {
		n = 0
		const oldest = ` AND z.finished_at > 0 AND z.finished_at < $3 ORDER BY z.finished_at, z.id LIMIT $4`
		c := db.Clauses{Args: []any{logInRows, logPacked, db.Millis(before), limit}}
		c.InAny("m.id", `SELECT z.id FROM matches z WHERE z.log_state = $1`+oldest, `SELECT z.id FROM matches z WHERE z.log_state = $2`+oldest)
		ids, err := db.All(ctx, tx, db.ScanText, `SELECT m.id FROM matches m`+c.Where()+` ORDER BY m.finished_at, m.id LIMIT $4`+s.d.LockFree(), c.Args...)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(ids, db.MaxIDs) {
			var of, byID db.Clauses
			db.In(&of, "match_id", some)
			db.In(&byID, "id", some)
			if _, err := db.Exec(ctx, tx, `DELETE FROM event_archives`+of.Where(), of.Args...); err != nil {
				return err
			}
			if _, err := db.Exec(ctx, tx, `DELETE FROM events`+of.Where(), of.Args...); err != nil {
				return err
			}
			where := byID.Where()
			if _, err := db.Exec(ctx, tx, `UPDATE matches SET log_state = `+byID.Arg(logDropped)+where, byID.Args...); err != nil {
				return err
			}
		}
		n = len(ids)
		return nil
	})
	if err != nil {
		return 0, s.wrap(err, "drop events")
	}
	return n, nil
}

// DropDeliveries drops attempts that were sent before before, oldest first, at
// most limit of them, and returns how many.
func (s *Matches) DropDeliveries(ctx context.Context, before time.Time, limit int) (n int, err error) {
	if err := checkLimit(limit); err != nil {
		return 0, err
	}
	err = s.writeAlone(ctx, "drop deliveries", func(ctx context.Context, tx *db.Tx) error {
		// Ids sort by time, so no index on the time itself, which every answer
		// would pay for, is needed to find the oldest.
		dropped, err := db.Exec(ctx, tx, `DELETE FROM deliveries WHERE sent_at < $1
			AND id IN (SELECT d.id FROM deliveries d ORDER BY d.id LIMIT $2)`, db.Millis(before), limit)
		n = int(dropped)
		return err
	})
	if err != nil {
		return 0, s.wrap(err, "drop deliveries")
	}
	return n, nil
}

const (
	// archiveCacheBytes bounds the packed logs that are kept decoded.
	archiveCacheBytes = 64 << 20
	// archiveIdle is how long an unread one is kept.
	archiveIdle = 2 * time.Minute
	// eventBytes is about what an event takes beside its body.
	eventBytes = 160
)

// partKey names a row of event_archives.
type partKey struct {
	matchID    string
	first      int64
	archivedAt time.Time // later once texts were erased from it
}

// archiveCache keeps decoded rows of event_archives, those read last, so that
// many late spectators of a match decode its log once. What is kept under a key
// does not change, so it is never stale.
type archiveCache struct {
	limit int
	now   func() time.Time

	mu     sync.Mutex
	bytes  int
	parts  map[partKey]*lists.Element
	recent *lists.List // of *cachedPart, the one read last in front
}

type cachedPart struct {
	key    partKey
	ready  chan struct{} // closed when the rest is set
	events []arena.Event
	bytes  int // 0 until it is loaded
	err    error
	read   time.Time // guarded by the cache's lock
}

func newArchiveCache(limit int, now func() time.Time) *archiveCache {
	return &archiveCache{limit: limit, now: now, parts: make(map[partKey]*lists.Element), recent: lists.New()}
}

// get returns the events of a row, which callers must not change. One of
// several concurrent callers loads them. When it fails, its context may be the
// cause, so the others load for themselves.
func (c *archiveCache) get(ctx context.Context, key partKey, load func() ([]arena.Event, error)) ([]arena.Event, error) {
	c.mu.Lock()
	if at, ok := c.parts[key]; ok {
		c.recent.MoveToFront(at)
		p := at.Value.(*cachedPart)
		p.read = c.now()
		c.mu.Unlock()
		select {
		case <-p.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if p.err != nil {
			return load()
		}
		return p.events, nil
	}
	p := &cachedPart{key: key, ready: make(chan struct{}), read: c.now()}
	at := c.recent.PushFront(p)
	c.parts[key] = at
	c.mu.Unlock()
	defer close(p.ready)

	p.events, p.err = load()
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.err != nil {
		c.remove(at)
		return nil, p.err
	}
	for _, e := range p.events {
		p.bytes += eventBytes + len(e.Body)
	}
	c.bytes += p.bytes
	for at := c.recent.Back(); at != nil && c.bytes > c.limit; {
		older := at.Prev()
		if at.Value.(*cachedPart).bytes > 0 { // else it is being loaded
			c.remove(at)
		}
		at = older
	}
	return p.events, nil
}

// dropIdle removes the rows that were not read for archiveIdle.
func (c *archiveCache) dropIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.now().Add(-archiveIdle)
	for at := c.recent.Back(); at != nil && at.Value.(*cachedPart).read.Before(before); {
		newer := at.Prev()
		if at.Value.(*cachedPart).bytes > 0 { // else it is being loaded
			c.remove(at)
		}
		at = newer
	}
}

func (c *archiveCache) remove(at *lists.Element) {
	p := c.recent.Remove(at).(*cachedPart)
	c.bytes -= p.bytes
	delete(c.parts, p.key)
}

// ArchiveCache returns the bytes that decoded logs take in memory, at most
// 64 MiB.
func (s *Matches) ArchiveCache() (bytes int) {
	s.archives.mu.Lock()
	defer s.archives.mu.Unlock()
	return s.archives.bytes
}
