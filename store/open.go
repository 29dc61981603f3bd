package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/migrations"
)

// readerIdle is how long a connection that reads SQLite stays open unused. A
// crowd opens all of them, and each keeps up to 16 MiB of pages. It is shorter
// than the pauses between those jobs that come at the same second and use them
// all for a moment.
const readerIdle = 10 * time.Second

// packWindow is how far back the compressor of logs looks, in bytes. It keeps
// about twice that; the default is eight times as much.
const packWindow = 1 << 20

// Options are the parts that a Store needs. All are required.
type Options struct {
	Logger *slog.Logger
	Now    func() time.Time
}

// Store keeps the arena's rows. Its methods may be called from many
// goroutines.
type Store struct {
	log    *slog.Logger
	now    func() time.Time
	d      dialect
	reader *handle // several connections that cannot write
	writer *handle // the committer's
	commit *committer

	packer   *zstd.Encoder // of logs
	unpacker *zstd.Decoder
	archives *archiveCache
	fits     sync.Map     // of arena.Fit by league, as they were last read
	forgot   atomic.Int64 // commits at the last call of Forget

	once   sync.Once
	closed error
}

// Open connects to the database that databaseURL names: "sqlite:FILE" (made
// with mode 0600 when missing; its folder must exist) or "postgres://…".
// Databases in memory are refused, since a restart would lose matches. The
// schema is not touched: see Migrate.
func Open(ctx context.Context, databaseURL string, o Options) (*Store, error) {
	if o.Logger == nil || o.Now == nil {
		return nil, errors.New("store: Logger and Now are required")
	}
	s := &Store{log: o.Logger, now: o.Now, archives: newArchiveCache(archiveCacheBytes, o.Now)}
	var err error
	if s.packer, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(packWindow)); err != nil {
		return nil, fmt.Errorf("make compressor: %w", err)
	}
	if s.unpacker, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0)); err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	switch scheme, rest, _ := strings.Cut(databaseURL, ":"); scheme {
	case "sqlite":
		err = s.openSQLite(rest)
	case "postgres", "postgresql":
		err = s.openPostgres(databaseURL)
	default:
		err = errors.New(`the database URL begins with neither "sqlite:" nor "postgres:"`)
	}
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), s.reader.Close(), s.writer.Close())
	}
	s.commit = newCommitter(s.writer, s.d, s.run)
	return s, nil
}

func (s *Store) openSQLite(name string) error {
	name = strings.TrimPrefix(name, "//")
	if name == "" || strings.ContainsAny(name, "?") || strings.HasPrefix(name, ":") || strings.HasPrefix(name, "file:") {
		return fmt.Errorf("sqlite:%s: want sqlite:FILE, a plain file name without settings, and not in memory", name)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	// SQLite would make the file readable to others. Its -wal and -shm files
	// take over the mode of this one.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}

	s.d = sqliteDialect()
	uri := (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}).String()
	write := url.Values{"_txlock": {"immediate"}, "_dqs": {"0"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		// What a savepoint would put back, and the pages of a large transaction,
		// stay in memory: neither is for the disk. A longer log is copied back less
		// often, and what many matches write to again goes there once.
		"temp_store(MEMORY)", "cache_size(-65536)", "wal_autocheckpoint(16000)",
	}}
	read := url.Values{"_dqs": {"0"}, "_pragma": {"busy_timeout(5000)", "query_only(1)", "cache_size(-16384)"}}
	writer, err := sql.Open("sqlite", uri+"?"+write.Encode())
	if err != nil {
		return err
	}
	reader, err := sql.Open("sqlite", uri+"?"+read.Encode())
	if err != nil {
		return errors.Join(err, writer.Close())
	}
	s.writer, s.reader = newHandle(writer, s.d), newHandle(reader, s.d)
	s.writer.SetMaxOpenConns(1)
	s.writer.SetMaxIdleConns(1)
	readers := max(4, runtime.NumCPU())
	s.reader.SetMaxOpenConns(readers)
	s.reader.SetMaxIdleConns(readers)
	s.reader.SetConnMaxIdleTime(readerIdle) // its page cache goes with it
	return nil
}

func (s *Store) openPostgres(databaseURL string) error {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return err // pgx leaves the password out of it
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	for name, value := range map[string]string{
		"application_name": "arena", "statement_timeout": "30000",
		// A node that freezes or is cut off inside a transaction must not hold its
		// locks, such as that of claims, against the others (threat C2). It is
		// less than a lease lasts, so that take-over needs not wait for it.
		"idle_in_transaction_session_timeout": "3000",
	} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	s.d = postgresDialect()
	s.writer = newHandle(stdlib.OpenDB(*config), s.d)
	s.writer.SetMaxOpenConns(s.d.lanes + 1) // one more for Migrate and Ping
	s.writer.SetMaxIdleConns(s.d.lanes)

	readOnly := config.Copy()
	readOnly.RuntimeParams["default_transaction_read_only"] = "on"
	// What a page reads is there before another process or compiled code is.
	for _, name := range []string{"max_parallel_workers_per_gather", "jit"} {
		if _, set := readOnly.RuntimeParams[name]; !set {
			readOnly.RuntimeParams[name] = "0"
		}
	}
	s.reader = newHandle(stdlib.OpenDB(*readOnly), s.d)
	s.reader.SetMaxOpenConns(16)
	s.reader.SetMaxIdleConns(16)
	return nil
}

// Close runs the writes that wait, refuses more, and closes the connections.
// A second call changes nothing.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.commit.close()
		s.closed = errors.Join(s.reader.Close(), s.writer.Close())
	})
	return s.closed
}

// Ping reports whether the database answers, to readers and writers.
func (s *Store) Ping(ctx context.Context) error {
	// The writer first: it makes a new SQLite file what readers expect.
	for _, db := range []*handle{s.writer, s.reader} {
		if _, err := one(ctx, db, scanInt, "SELECT 1"); err != nil {
			return s.wrap(err, "ping database")
		}
	}
	return nil
}

// Migrate brings the schema up to date. Nodes that start together wait for
// each other on PostgreSQL.
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
	return nil
}

// SchemaVersion gives the schema's version and the one that this program
// wants.
func (s *Store) SchemaVersion(ctx context.Context) (current, wanted int64, err error) {
	p, err := s.provider()
	if err != nil {
		return 0, 0, err
	}
	current, wanted, err = p.GetVersions(ctx)
	return current, wanted, s.wrap(err, "read schema version")
}

func (s *Store) provider() (*goose.Provider, error) {
	files, err := migrations.For(s.d.name)
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
	}
	if s.d.rowLocks {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, fmt.Errorf("make migration lock: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	// The provider is never closed: that would close our handle.
	p, err := goose.NewProvider(s.d.goose, s.writer.DB, files, options...)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

// CommitStats tells how well writes share transactions.
type CommitStats struct {
	Operations int64 // that were committed since Open
	Commits    int64 // transactions that it took
}

// CommitStats gives the committer's counts since Open.
func (s *Store) CommitStats() CommitStats {
	return CommitStats{Operations: s.commit.operations.Load(), Commits: s.commit.commits.Load()}
}

// write queues run and waits for its outcome. key names the row that it
// locks first.
func (s *Store) write(ctx context.Context, key string, run func(context.Context, *transaction) error) error {
	return s.commit.do(ctx, &operation{key: key, run: run})
}

// writeAlone is write for operations that hold a lock of the whole cluster or
// take long.
func (s *Store) writeAlone(ctx context.Context, key string, run func(context.Context, *transaction) error) error {
	return s.commit.do(ctx, &operation{key: key, run: run, alone: true})
}

// view runs read inside one transaction whose statements see one state.
func (s *Store) view(ctx context.Context, read func(q querier) error) error {
	tx, err := s.reader.begin(ctx, s.d.snapshot)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to keep
	return read(tx)
}

// wrap says what was being done and turns a driver's error into the domain's.
func (s *Store) wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), s.d.explain(err))
}

func notFound(thing, id string) error {
	return arena.Errorf(arena.CodeNotFound, "there is no %s %q", thing, id)
}
