package s3_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/backup"
	"github.com/agora-arena/arena/internal/backup/s3"
	"github.com/agora-arena/arena/internal/testwait"
)

// gateway is a server with the interface of Amazon S3.
const gateway = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

const user, secret = "operator", "a-secret-of-the-test"

// startGateway starts the gateway on an empty folder and returns its URL. The
// folders in that folder are its buckets.
func startGateway(t *testing.T) (endpoint *url.URL, dir string) {
	t.Helper()
	if os.Getenv("ARENA_TEST_SLOW") == "" {
		t.Skip("make test-all runs it")
	}
	bin, dir := t.TempDir(), t.TempDir()
	install := exec.CommandContext(t.Context(), "go", "install", gateway)
	install.Dir, install.Env = bin, append(os.Environ(), "GOBIN="+bin, "CGO_ENABLED=0")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install %s: %v: %s", gateway, err, out)
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(bin, "versitygw"),
		"--access", user, "--secret", secret, "--port", addr, "--quiet", "posix", "--sidecar", t.TempDir(), dir)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	testwait.Until(t, "the gateway listens", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return &url.URL{Scheme: "http", Host: addr}, dir
}

// Backups are stored in a bucket in parts, the newest is restored, and old ones
// are removed while other objects stay.
func TestSlow_Bucket(t *testing.T) {
	t.Parallel()
	endpoint, dir := startGateway(t)
	if err := os.Mkdir(filepath.Join(dir, "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	options := s3.Options{Endpoint: endpoint, Region: "us-east-1", Key: user, Secret: secret, Bucket: "backups", Prefix: "of/arena"}
	bucket := open(t, options)
	if _, err := backup.Latest(t.Context(), bucket); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("an empty bucket: %v", err)
	}
	now, copied := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC), make([]byte, 20<<20) // more than one part
	service := backup.New(backup.Options{
		Snapshot: func(_ context.Context, file string) (backup.Contents, error) {
			_, _ = rand.Read(copied) // which cannot be packed
			now = now.Add(time.Minute)
			return backup.Contents{}, os.WriteFile(file, copied, 0o600)
		},
		Record: func(context.Context, time.Time) error { return nil },
		Now:    func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
	})
	if _, err := service.Run(t.Context(), bucket, "mine.db", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := service.Run(t.Context(), bucket, "mine.db", 0); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("a name that is taken: %v", err)
	}
	for range 3 {
		if _, err := service.Run(t.Context(), bucket, "", 2); err != nil {
			t.Fatal(err)
		}
	}
	names, err := bucket.List(t.Context())
	if want := []string{"arena-20261124T030200Z.db.zst", "arena-20261124T030300Z.db.zst", "mine.db"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the bucket keeps %q (%v), want %q", names, err, want)
	}
	newest, err := backup.Latest(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), bucket, newest, backup.RestoreOptions{
		Empty: func(context.Context) error { return nil },
		Fill: func(_ context.Context, file string) (backup.Contents, error) {
			restored, err := os.ReadFile(file)
			if !bytes.Equal(restored, copied) {
				t.Errorf("restored %d bytes that differ from the newest backup", len(restored))
			}
			return backup.Contents{}, err
		},
		Workspace: t.TempDir(), Now: time.Now,
	}); err != nil {
		t.Error(err)
	}
	if _, err := bucket.Open(t.Context(), "none.db"); arena.CodeOf(err) != arena.CodeNotFound {
		t.Errorf("a name without an object: %v", err)
	}

	for name, test := range map[string]struct {
		change func(o *s3.Options)
		want   error
	}{
		"another bucket": {func(o *s3.Options) { o.Bucket = "none" }, s3.ErrBucket},
		"another secret": {func(o *s3.Options) { o.Secret = "wrong" }, s3.ErrCredentials},
		"another key":    {func(o *s3.Options) { o.Key = "nobody" }, s3.ErrCredentials},
	} {
		o := options
		test.change(&o)
		b := open(t, o)
		if _, err := service.Run(t.Context(), b, "", 0); !errors.Is(err, test.want) {
			t.Errorf("%s: a backup fails with %v", name, err)
		}
		if _, err := backup.Latest(t.Context(), b); !errors.Is(err, test.want) {
			t.Errorf("%s: a restore fails with %v", name, err)
		}
	}
}

func open(t *testing.T, o s3.Options) *s3.Bucket {
	t.Helper()
	b, err := s3.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
