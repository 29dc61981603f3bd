package certs

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/agora-arena/arena/arena"
)

// Store keeps the files of the ACME client for all nodes.
type Store interface {
	PutTLSFile(ctx context.Context, key string, value []byte) error
	TLSFile(ctx context.Context, key string) (arena.TLSFile, error)
	TLSFiles(ctx context.Context, prefix string) ([]arena.TLSFile, error)
	DropTLSFiles(ctx context.Context, key string) error
	HoldTLSLock(ctx context.Context, name, holder string, ttl time.Duration) (held bool, err error)
	ReleaseTLSLock(ctx context.Context, name, holder string) error
}

const (
	lockTTL    = time.Minute      // after which the lock of a lost node is free
	lockExtend = lockTTL / 4      // between two extensions of a held lock
	lockPoll   = time.Second      // between two attempts to get a lock
	lockLimit  = 10 * time.Second // for the database to extend or release one
)

// storage is the storage of certmagic in the database.
type storage struct {
	store Store
	log   *slog.Logger

	use    sync.RWMutex // held for reading while the store is used
	closed bool

	mu   sync.Mutex
	held map[string]*lock
}

// lock is a lock that this node holds and extends.
type lock struct {
	holder string
	stop   context.CancelFunc
	done   chan struct{} // closed when it is extended no more
}

func newStorage(s Store, log *slog.Logger) *storage {
	return &storage{store: s, log: log, held: map[string]*lock{}}
}

// do runs an operation on the store, unless the storage is closed.
func (s *storage) do(operation func() error) error {
	s.use.RLock()
	defer s.use.RUnlock()
	if s.closed {
		return errClosed
	}
	err := operation()
	if arena.CodeOf(err) == arena.CodeNotFound {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// Store stores a value.
func (s *storage) Store(ctx context.Context, key string, value []byte) error {
	return s.do(func() error { return s.store.PutTLSFile(ctx, key, value) })
}

// Load returns a value, or an error that is fs.ErrNotExist.
func (s *storage) Load(ctx context.Context, key string) (value []byte, err error) {
	err = s.do(func() error {
		f, err := s.store.TLSFile(ctx, key)
		value = f.Value
		return err
	})
	return value, err
}

// Delete deletes a value, and those in the folder of that name.
func (s *storage) Delete(ctx context.Context, key string) error {
	return s.do(func() error { return s.store.DropTLSFiles(ctx, key) })
}

// Exists reports whether there is a value or a folder.
func (s *storage) Exists(ctx context.Context, key string) bool {
	_, err := s.Stat(ctx, key)
	return err == nil
}

// List returns the keys in a folder: all, or values and folders that are directly
// in it.
func (s *storage) List(ctx context.Context, path string, recursive bool) (keys []string, err error) {
	prefix := strings.Trim(path, "/")
	if prefix != "" {
		prefix += "/"
	}
	files, err := s.files(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		key := f.Key
		if !recursive {
			first, _, _ := strings.Cut(key[len(prefix):], "/")
			key = prefix + first
		}
		keys = append(keys, key)
	}
	keys = slices.Compact(keys) // they are ordered
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return keys, nil
}

func (s *storage) files(ctx context.Context, prefix string) (files []arena.TLSFile, err error) {
	err = s.do(func() (err error) {
		files, err = s.store.TLSFiles(ctx, prefix)
		return err
	})
	return files, err
}

// Stat describes a value or a folder.
func (s *storage) Stat(ctx context.Context, key string) (certmagic.KeyInfo, error) {
	key = strings.Trim(key, "/")
	files, err := s.files(ctx, key)
	if err != nil {
		return certmagic.KeyInfo{}, err
	}
	info := certmagic.KeyInfo{Key: key}
	found := false
	for _, f := range files {
		switch {
		case f.Key == key:
			return certmagic.KeyInfo{Key: key, Modified: f.ModifiedAt, Size: int64(len(f.Value)), IsTerminal: true}, nil
		case strings.HasPrefix(f.Key, key+"/"):
			found = true
			if f.ModifiedAt.After(info.Modified) {
				info.Modified = f.ModifiedAt
			}
		}
	}
	if !found {
		return certmagic.KeyInfo{}, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	return info, nil
}

// Lock waits for a lock of the whole cluster. The lock is extended until Unlock;
// if this node is lost, it expires.
func (s *storage) Lock(ctx context.Context, name string) error {
	l := &lock{holder: rand.Text(), done: make(chan struct{})}
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		var held bool
		if err := s.do(func() (err error) {
			held, err = s.store.HoldTLSLock(ctx, name, l.holder, lockTTL)
			return err
		}); err != nil {
			return err
		}
		if held {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
	extend, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	s.mu.Lock()
	s.held[name] = l
	s.mu.Unlock()
	go s.extend(extend, name, l)
	return nil
}

// extend keeps a lock until ctx ends.
func (s *storage) extend(ctx context.Context, name string, l *lock) {
	defer close(l.done)
	tick := time.NewTicker(lockExtend)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.do(func() error {
			limited, cancel := context.WithTimeout(ctx, lockLimit)
			defer cancel()
			_, err := s.store.HoldTLSLock(limited, name, l.holder, lockTTL)
			return err
		})
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "lock of certificates not extended", "lock", name, "error", err)
		}
	}
}

// Unlock releases a lock, also after ctx has ended.
func (s *storage) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	l := s.held[name]
	delete(s.held, name)
	s.mu.Unlock()
	if l == nil {
		return nil // close has released it
	}
	l.stop()
	<-l.done // outside of do, which it calls itself
	return s.do(func() error { return s.release(ctx, name, l) })
}

func (s *storage) release(ctx context.Context, name string, l *lock) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockLimit)
	defer cancel()
	return s.store.ReleaseTLSLock(limited, name, l.holder)
}

// close releases all locks. The store is not used after it.
func (s *storage) close() {
	s.use.Lock()
	s.closed = true
	s.use.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, l := range s.held {
		l.stop()
		<-l.done
		if err := s.release(context.Background(), name, l); err != nil {
			s.log.Warn("lock of certificates not released", "lock", name, "error", err)
		}
	}
	clear(s.held)
}
