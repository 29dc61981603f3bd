package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/migrations"
	"github.com/agora-arena/arena/store/budgets"
	"github.com/agora-arena/arena/store/certificates"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
	"github.com/agora-arena/arena/store/internal/writer"
	"github.com/agora-arena/arena/store/mailbox"
	"github.com/agora-arena/arena/store/outbox"
	"github.com/agora-arena/arena/store/people"
	"github.com/agora-arena/arena/store/results"
)

// packWindow is how far back the compressor of logs looks, in bytes. It keeps
// about twice that; the default is eight times as much.
const packWindow = 1 << 20

// Options are the parts that a Store needs. Logger and Now are required.
type Options struct {
	Logger *slog.Logger
	Now    func() time.Time
	SQLite Connect              // nil: the driver's connections, and Lock keeps the file for one server
	Shared arena.SharedNetworks // owners who signed up there have nothing in common
}

// Connect opens a handle on a data source of SQLite. It lets several Stores share one
// file, where it decides who writes.
type Connect = db.Connect

// Store is an open database: one value for each subject.
type Store struct {
	*core

	Accounts     *Accounts
	People       *people.Access
	Agents       *Agents
	Keys         *Keys
	Leagues      *Leagues
	Packs        *Packs
	Matches      *Matches
	Ratings      *Ratings
	Games        *results.Games
	Budgets      *budgets.Uses
	Operations   *Operations
	Outbox       *outbox.Outbox
	Certificates *certificates.Files

	// What protocols keep.
	Protocols   *Protocols
	Messages    *mailbox.Messages
	Relay       *mailbox.Relay
	PulledTasks *mailbox.PulledTasks

	once   sync.Once
	closed error
}

// The subjects of this package. Where a transaction of one changes rows of another,
// it calls the other's functions.
type (
	// Accounts are owners, people and their tokens.
	Accounts struct{ *core }
	// Agents are agents with their health, pauses and deliveries.
	Agents struct{ *core }
	// Keys are the keys that the arena signs with.
	Keys struct{ *core }
	// Leagues are leagues with their entries and seasons.
	Leagues struct{ *core }
	// Packs are task packs and scripts of games.
	Packs struct{ *core }
	// Matches are matches with their leases, rounds, answers, verdicts and logs.
	Matches struct{ *core }
	// Ratings are ratings and other figures of agents that follow from results.
	Ratings struct{ *core }
	// Operations are the nodes of an arena, their jobs, and the audit log.
	Operations struct{ *core }
	// Protocols are conversations and peers of agents.
	Protocols struct{ *core }
)

// core is what the subjects share.
type core struct {
	log    *slog.Logger
	now    func() time.Time
	shared arena.SharedNetworks
	db     *db.DB
	d      db.Dialect
	base   *base.Base
	reader *db.Handle // several connections that cannot write
	writer *db.Handle // the writer pool's
	pool   *writer.Pool[*matchWrite]

	insertClaimed *db.Statement[matchRow]

	packer   *zstd.Encoder // of logs
	unpacker *zstd.Decoder
	archives *archiveCache
	fits     sync.Map     // of arena.Fit by league, as they were last read
	settled  sync.Map     // of arena.SettledMatches by league, as far as Settled has read
	forgot   atomic.Int64 // commits at the last call of Forget

	// What transactions of several subjects call.
	accounts *Accounts
	people   *people.Access
	agents   *Agents
	leagues  *Leagues
	packs    *Packs
	matches  *Matches
	ratings  *Ratings
	outbox   *outbox.Outbox
	budgets  *budgets.Uses
}

// Open connects to the database that databaseURL names: "sqlite:FILE" (made
// with mode 0600 when missing; its folder must exist) or "postgres://…".
// An empty SQLite file is refused, since no arena leaves one behind. Databases in
// memory are refused, since a restart would lose matches. The schema is not
// touched: see Migrate.
func Open(ctx context.Context, databaseURL string, o Options) (*Store, error) {
	c := &core{log: o.Logger, now: o.Now, shared: o.Shared, archives: newArchiveCache(archiveCacheBytes, o.Now)}
	c.accounts, c.agents, c.leagues, c.packs, c.matches, c.ratings = &Accounts{c}, &Agents{c}, &Leagues{c}, &Packs{c}, &Matches{c}, &Ratings{c}
	var err error
	if c.packer, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(packWindow)); err != nil {
		return nil, fmt.Errorf("make compressor: %w", err)
	}
	if c.unpacker, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0)); err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	opened, err := db.Open(ctx, databaseURL, o.SQLite)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	c.db, c.d, c.reader, c.writer = opened, opened.Dialect, opened.Reader, opened.Writer
	c.insertClaimed = newInsertClaimed(c.d)
	c.pool = writer.New(c.writer, c.d, c.matches.runMatchWrites)
	c.base = base.New(opened, o.Now, func(ctx context.Context, key string, alone bool, run func(context.Context, *db.Tx) error) error {
		return c.pool.Do(ctx, writer.Write[*matchWrite]{Key: key, Run: run, Alone: alone})
	})
	c.people, c.outbox, c.budgets = people.New(c.base), outbox.New(c.base), budgets.NewUses(c.base)
	return &Store{
		core: c, Accounts: c.accounts, People: c.people, Agents: c.agents, Keys: &Keys{c}, Leagues: c.leagues, Packs: c.packs, Matches: c.matches,
		Ratings: c.ratings, Games: results.NewGames(c.base), Budgets: c.budgets, Operations: &Operations{c}, Outbox: c.outbox, Certificates: certificates.NewFiles(c.base),
		Protocols: &Protocols{c}, Messages: mailbox.NewMessages(c.base), Relay: mailbox.NewRelay(c.base), PulledTasks: mailbox.NewPulledTasks(c.base),
	}, nil
}

// Close runs the writes that wait, refuses more, and closes the connections.
// A second call changes nothing.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.pool.Close()
		s.closed = s.db.Close()
	})
	return s.closed
}

// Lock makes sure that no other server uses an SQLite file until Close or the end
// of this process (threat O3): two servers on one file would each publish only
// their own events and count only their own callers. Reading the file and
// commands beside the server need no lock. It does nothing on PostgreSQL.
func (s *Store) Lock(ctx context.Context) error { return s.wrap(s.db.Lock(ctx), "lock database") }

// TruncateLog moves what was written from the log of an SQLite file to the file and
// empties the log, which else keeps texts that were erased. While a reader needs the
// log or a write is running, it leaves the rest to the next call. It does nothing on
// PostgreSQL, which recycles its log by itself.
func (s *Store) TruncateLog(ctx context.Context) error {
	return s.wrap(s.db.TruncateLog(ctx), "truncate the log of the database")
}

// Ping reports whether the database answers, to readers and writers.
func (s *Store) Ping(ctx context.Context) error {
	return s.wrap(s.db.Ping(ctx), "ping database")
}

// Migrate brings the schema up to date. Nodes that start together wait for
// each other on PostgreSQL. A schema newer than this program's is refused.
func (s *Store) Migrate(ctx context.Context) error {
	p, err := s.provider()
	if err != nil {
		return err
	}
	done, err := p.Up(ctx)
	if err != nil {
		return s.wrap(err, "migrate database")
	}
	for _, m := range done {
		s.log.Info("migrated database", "version", m.Source.Version, "duration_ms", m.Duration.Milliseconds())
	}
	current, wanted, err := p.GetVersions(ctx)
	if err != nil {
		return s.wrap(err, "read schema version")
	}
	return checkNotNewer(current, wanted)
}

// checkNotNewer refuses the schema of a newer program: it may mean rows that this one
// would misread or spoil (threat O4).
func checkNotNewer(current, wanted int64) error {
	if current > wanted {
		return fmt.Errorf("the database has schema %d and this binary knows %d: use the newer binary, or restore a backup from before the upgrade", current, wanted)
	}
	return nil
}

// SchemaVersion returns the schema's version and the one that this program
// wants.
func (s *Store) SchemaVersion(ctx context.Context) (current, wanted int64, err error) {
	p, err := s.provider()
	if err != nil {
		return 0, 0, err
	}
	current, wanted, err = p.GetVersions(ctx)
	return current, wanted, s.wrap(err, "read schema version")
}

// gooseDialect returns the engine's name in goose.
func gooseDialect(d db.Dialect) goose.Dialect {
	if d.RowLocks {
		return goose.DialectPostgres
	}
	return goose.DialectSQLite3
}

func (s *Store) provider() (*goose.Provider, error) {
	files, err := migrations.For(s.d.Name)
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
	}
	if s.d.RowLocks {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, fmt.Errorf("make migration lock: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	// The provider is never closed: that would close our handle.
	p, err := goose.NewProvider(gooseDialect(s.d), s.writer.DB, files, options...)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

// CommitStats counts writes and the transactions that they shared.
type CommitStats struct {
	Operations int64 // that were committed since Open
	Commits    int64 // transactions that it took
}

// CommitStats returns the counts of the writer pool since Open.
func (s *Store) CommitStats() CommitStats {
	writes, commits := s.pool.Stats()
	return CommitStats{Operations: writes, Commits: commits}
}

// ErrorStats counts operations that the database did not carry out. Rejected
// input, conflicts and canceled operations are not among them.
type ErrorStats struct {
	Unavailable int64     // the storage was not available: not reachable, full, read-only, locked
	Failed      int64     // any other fault
	LastAt      time.Time // of the last of them; zero: there was none
}

// ErrorStats returns the counts since Open.
func (s *Store) ErrorStats() ErrorStats {
	unavailable, failed, lastAt := s.base.Errors()
	return ErrorStats{Unavailable: unavailable, Failed: failed, LastAt: lastAt}
}

// write queues run and waits for its outcome. key names the row that it
// locks first.
func (s *core) write(ctx context.Context, key string, run func(context.Context, *db.Tx) error) error {
	return s.base.Write(ctx, key, run)
}

// writeAlone is write for operations that hold a lock of the whole cluster or
// take long.
func (s *core) writeAlone(ctx context.Context, key string, run func(context.Context, *db.Tx) error) error {
	return s.base.WriteAlone(ctx, key, run)
}

// writeLong is writeAlone with a limit of its own for the transaction.
func (s *core) writeLong(ctx context.Context, key string, limit time.Duration, run func(context.Context, *db.Tx) error) error {
	return s.pool.Do(ctx, writer.Write[*matchWrite]{Key: key, Alone: true, Timeout: limit, Run: run})
}

// view runs read inside one transaction whose statements see one state.
func (s *core) view(ctx context.Context, read func(q db.Querier) error) error {
	return s.base.View(ctx, read)
}

// wrap adds the failed operation to an error, and counts it.
func (s *core) wrap(err error, format string, args ...any) error {
	return s.base.Wrap(err, format, args...)
}

func notFound(thing, id string) error {
	return arena.Errorf(arena.CodeNotFound, "there is no %s %q", thing, id)
}

// busyCommits is how many transactions a busy store commits between two calls of
// Forget. The cron jobs alone need a tenth of it.
const busyCommits = 1_000

// Forget frees memory: decoded logs that were not read for two minutes and, when
// little was written since the last call, SQLite's pages. Call it every half
// minute.
func (s *Store) Forget(ctx context.Context) error {
	s.archives.dropIdle()
	_, commits := s.pool.Stats()
	if commits-s.forgot.Swap(commits) >= busyCommits || s.d.Shrink == "" {
		return nil
	}
	_, err := s.reader.ExecContext(ctx, s.d.Shrink)
	return s.wrap(err, "let go of pages")
}

// PageBytes returns the bytes of the pages that connections to SQLite keep; 0 on
// another engine. It waits until each connection is free.
func (s *Store) PageBytes(ctx context.Context) (int, error) {
	if s.d.Shrink == "" {
		return 0, nil
	}
	written, err := s.writer.PageBytes(ctx)
	if err != nil {
		return 0, s.wrap(err, "count pages")
	}
	read, err := s.reader.PageBytes(ctx)
	return written + read, s.wrap(err, "count pages")
}
