package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// Tx is the transaction of a write.
type Tx = db.Tx

// Write queues any write, for tests of the writer pool.
func (s *Store) Write(ctx context.Context, key string, run func(context.Context, *Tx) error) error {
	return s.write(ctx, key, run)
}

// Queued returns the number of writes that wait.
func (s *Store) Queued() int { return s.pool.Queued() }

// Writer returns the writing handle.
func (s *Store) Writer() *sql.DB { return s.writer.DB }

// Reader returns the reading handle.
func (s *Store) Reader() *sql.DB { return s.reader.DB }

// WriteInShard is Write with a key of shard n.
func (s *Store) WriteInShard(ctx context.Context, n int, run func(context.Context, *Tx) error) error {
	key := ""
	for s.pool.Shard(key) != n {
		key += "x"
	}
	return s.write(ctx, key, run)
}

// View runs read in one transaction.
func (s *Store) View(ctx context.Context, read func(q *Tx) error) error {
	return s.view(ctx, func(q db.Querier) error { return read(q.(*Tx)) })
}

// Prepared returns the number of texts that writers and readers keep prepared.
func (s *Store) Prepared() (writer, reader int) { return len(s.writer.Texts()), len(s.reader.Texts()) }

// Pack packs events of one match that are numbered from 1.
func Pack(events []arena.Event) []byte {
	var b []byte
	for _, e := range events {
		b = packEvent(b, e)
	}
	return b
}

// Unpack is the reverse of Pack for n events.
func Unpack(matchID string, n int, b []byte) ([]arena.Event, error) {
	return unpackEvents(matchID, part{first: 1, last: int64(n)}, b)
}

// ArchiveCache is the cache of decoded logs.
type ArchiveCache = archiveCache

// NewArchiveCache makes one.
func NewArchiveCache(limit int) *ArchiveCache { return newArchiveCache(limit, time.Now) }

// DropIdle drops what was not read for long.
func (c *ArchiveCache) DropIdle() { c.dropIdle() }

// Get reads the first row of a match.
func (c *ArchiveCache) Get(ctx context.Context, matchID string, load func() ([]arena.Event, error)) ([]arena.Event, error) {
	return c.get(ctx, partKey{matchID: matchID, first: 1}, load)
}

// Size returns what it holds.
func (c *ArchiveCache) Size() (rows, bytes int) { return len(c.parts), c.bytes }

// Tables returns the names of the tables that Copy copies.
func Tables() []string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.name
	}
	return names
}

// Explain turns a driver's error into the domain's, as every method does.
func (s *Store) Explain(err error) error { return s.d.Explain(err) }

// ClaimQuery is the query of AgentClaims.
func ClaimQuery(agentID, league string, limit int) (string, []any) {
	return claimQuery(agentID, league, limit)
}

// Texts returns the queries that readers keep prepared.
func (s *Store) Texts() []string {
	return slices.DeleteFunc(s.reader.Texts(), func(text string) bool { return strings.HasPrefix(text, "EXPLAIN ") })
}

// WriteTexts returns the texts that have been written with.
func (s *Store) WriteTexts() []string { return s.writer.Texts() }

// ResultQuery is the query of AgentResults.
func ResultQuery(agentID string, matches int) (string, []any) { return resultQuery(agentID, matches) }

// LossQuery is the query of LostRounds.
func LossQuery(f arena.LossFilter, afterMatch string, afterRound int64) (string, []any) {
	return lossQuery(f, afterMatch, afterRound, 10)
}

// TopicQuery is the query of Topics.
func TopicQuery(f arena.LossFilter, own bool) (string, []any) {
	return topicQuery(f, own, 10)
}

// MoversQuery and OpenRounds are the texts of two queries.
const (
	MoversQuery = moversQuery
	OpenRounds  = openRoundsQuery
)

// LastSeasonsQuery returns the query of LastSeasons.
func LastSeasonsQuery() string { return seasonList.Select() + lastSeasons }

// BusyCommits is how many make a store busy.
const BusyCommits = busyCommits

// Committed counts so many transactions more.
func (s *Store) Committed(n int64) { s.forgot.Add(-n) }

// Readers returns how many connections for reading are open.
func (s *Store) Readers() int { return s.reader.Stats().OpenConnections }

// HoldReaders uses n connections for reading at once, until release.
func (s *Store) HoldReaders(ctx context.Context, n int) (release func()) {
	var all []*sql.Conn
	for range n {
		c, err := s.reader.Conn(ctx)
		if err != nil {
			panic(err)
		}
		all = append(all, c)
	}
	return func() {
		for _, c := range all {
			_ = c.Close()
		}
	}
}

// TimeColumn is a column that MendTimes looks at.
type TimeColumn struct {
	Table, Column, Only string
	Ahead               time.Duration
}

// TimeColumns returns the columns that MendTimes looks at.
func TimeColumns() (columns []TimeColumn) {
	for _, c := range timeColumns() {
		columns = append(columns, TimeColumn{c.table, c.column, cmp.Or(c.only, "1 = 1"), c.ahead})
	}
	return columns
}

// Indexes returns the indexes of the schema with their definitions, and the name of the
// engine.
func (s *Store) Indexes(ctx context.Context) (engine string, indexes []string, err error) {
	indexes, err = db.All(ctx, s.reader, func(r db.Row) (string, error) {
		var name, definition string
		err := r.Scan(&name, &definition)
		return name + ": " + definition, err
	}, s.d.Indexes)
	return s.d.Name, indexes, err
}
