package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/agora-arena/arena/arena"
)

// Sum is the SHA-256 of a file.
type Sum = [sha256.Size]byte

// packedEnding ends the names of backups that are packed with zstd.
const packedEnding = ".zst"

// pack packs a file into a new one, flushes that to the disk, and compares what
// it unpacks to with the original.
func pack(ctx context.Context, plain, packed string) (err error) {
	wanted, _, err := sumOf(ctx, plain)
	if err != nil {
		return err
	}
	if err := packInto(ctx, plain, packed); err != nil {
		return err
	}
	f, err := os.Open(packed) //nolint:gosec // G304: our own
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer r.Close()
	if got, _, err := sumFrom(ctx, r); err != nil {
		return fmt.Errorf("read the packed file: %w", err)
	} else if got != wanted {
		return errors.New("the packed file differs from what was packed")
	}
	return nil
}

func packInto(ctx context.Context, plain, packed string) (err error) {
	from, err := os.Open(plain) //nolint:gosec // G304: our own
	if err != nil {
		return err
	}
	defer from.Close()                                                       //nolint:errcheck // only read from
	to, err := os.OpenFile(packed, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // G304: our own
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	w, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1)) // the other processors are for matches
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, within(ctx, from)); err != nil {
		return errors.Join(err, w.Close())
	}
	if err := w.Close(); err != nil {
		return err
	}
	return to.Sync()
}

// unpackTo writes what a backup holds to a new file. It recognizes packed ones by
// their first bytes. Packed content has a checksum.
func unpackTo(ctx context.Context, stored io.Reader, file string) (err error) {
	buffered := bufio.NewReader(within(ctx, stored))
	from := io.Reader(buffered)
	if first, err := buffered.Peek(4); err == nil && bytes.Equal(first, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		r, err := zstd.NewReader(buffered)
		if err != nil {
			return err
		}
		defer r.Close()
		from = r
	}
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // G304: our own //nolint:gosec // G304: our own
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	switch _, err := io.Copy(to, from); {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, zstd.ErrMagicMismatch):
		return arena.Errorf(arena.CodeInvalid, "the backup is damaged: %w", err)
	case err != nil:
		return err
	}
	return nil
}

func sumOf(ctx context.Context, file string) (Sum, int64, error) {
	f, err := os.Open(file) //nolint:gosec // G304: our own
	if err != nil {
		return Sum{}, 0, err
	}
	defer f.Close() //nolint:errcheck // only read from
	return sumFrom(ctx, f)
}

func sumFrom(ctx context.Context, r io.Reader) (sum Sum, size int64, err error) {
	h := sha256.New()
	size, err = io.Copy(h, within(ctx, r))
	return Sum(h.Sum(nil)), size, err
}

// reader ends with its context.
type reader struct {
	io.Reader
	done func() error
}

// within returns a reader that fails once ctx is done.
func within(ctx context.Context, r io.Reader) io.Reader {
	return reader{r, func() error { return context.Cause(ctx) }}
}

// Read reads unless the context is done.
func (r reader) Read(p []byte) (int, error) {
	if err := r.done(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
