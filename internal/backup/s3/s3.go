package s3

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/agora-arena/arena/arena"
)

// The causes of a failed call.
var (
	ErrCredentials = errors.New("the service refuses the credentials")
	ErrBucket      = errors.New("there is no such bucket")
	ErrRegion      = errors.New("the bucket is in another region")
	ErrUnreachable = errors.New("the service cannot be reached")
)

// Options name the bucket and the account. Bucket, Key and Secret are required.
type Options struct {
	Endpoint *url.URL // of the service; nil: Amazon S3
	Region   string   // "": asks the service for the bucket's region
	Key      string   // id of the access key
	Secret   string
	Session  string // token of temporary credentials, "" otherwise

	Bucket string
	Prefix string // of the objects, without a slash at the end; "": none
}

// Bucket keeps backups as objects.
type Bucket struct {
	client *minio.Client
	o      Options
}

// tries is how often a request is sent.
const tries = 4

// Open returns a Bucket. It sends nothing.
func Open(o Options) (*Bucket, error) {
	endpoint := o.Endpoint
	if endpoint == nil {
		endpoint = &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewStaticV4(o.Key, o.Secret, o.Session), Secure: endpoint.Scheme == "https", Region: o.Region, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", o.Bucket, err)
	}
	return &Bucket{client, o}, nil
}

// String returns the URL.
func (b *Bucket) String() string { return "s3://" + b.key(b.o.Bucket, b.o.Prefix) }

// Workspace returns the system's folder for temporary files.
func (b *Bucket) Workspace() string { return os.TempDir() }

// Check returns an error unless the bucket can be listed, and the name is free.
func (b *Bucket) Check(ctx context.Context, name string) error {
	listing, cancel := context.WithCancel(ctx)
	defer cancel() // of the rest of the list
	for object := range b.client.ListObjectsIter(listing, b.o.Bucket, minio.ListObjectsOptions{Prefix: b.key(b.o.Prefix, ""), MaxKeys: 1}) {
		if object.Err != nil {
			return explain(ctx, object.Err)
		}
		break
	}
	key := b.key(b.o.Prefix, name)
	switch _, err := b.client.StatObject(ctx, b.o.Bucket, key, minio.StatObjectOptions{}); {
	case err == nil:
		return arena.Errorf(arena.CodeConflict, "the object %s exists; a backup never replaces one", key)
	case minio.ToErrorResponse(err).StatusCode != http.StatusNotFound:
		return explain(ctx, err)
	}
	return nil
}

// Put uploads a file, in parts when it is large, reads the object back and
// compares its SHA-256. An object appears when all of it has arrived.
func (b *Bucket) Put(ctx context.Context, name, file string, sum [sha256.Size]byte) (err error) {
	f, err := os.Open(file) //nolint:gosec // G304: our own
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := b.client.PutObject(ctx, b.o.Bucket, b.key(b.o.Prefix, name), f, info.Size(), minio.PutObjectOptions{ContentType: "application/octet-stream"}); err != nil {
		return fmt.Errorf("upload: %w", explain(ctx, err))
	}
	if err := b.verify(ctx, name, sum, info.Size()); err != nil {
		return errors.Join(fmt.Errorf("verify the upload: %w", err), b.Remove(context.WithoutCancel(ctx), name))
	}
	return nil
}

func (b *Bucket) verify(ctx context.Context, name string, sum [sha256.Size]byte, size int64) (err error) {
	stored, err := b.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stored.Close()) }()
	h := sha256.New()
	n, err := io.Copy(h, stored)
	if err != nil {
		return explain(ctx, err)
	}
	if n != size || [sha256.Size]byte(h.Sum(nil)) != sum {
		return fmt.Errorf("the %d bytes that are stored are not the %d that were sent", n, size)
	}
	return nil
}

// Open opens an object.
func (b *Bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	object, err := b.client.GetObject(ctx, b.o.Bucket, b.key(b.o.Prefix, name), minio.GetObjectOptions{})
	if err == nil {
		_, err = object.Stat() // the first call that asks the service
	}
	if code := minio.ToErrorResponse(err).Code; code == minio.NoSuchKey {
		return nil, arena.Errorf(arena.CodeNotFound, "there is no such object")
	}
	if err != nil {
		return nil, explain(ctx, err)
	}
	return object, nil
}

// List returns the names of the objects below the prefix.
func (b *Bucket) List(ctx context.Context) (names []string, err error) {
	prefix := b.key(b.o.Prefix, "")
	for object := range b.client.ListObjectsIter(ctx, b.o.Bucket, minio.ListObjectsOptions{Prefix: prefix}) {
		if object.Err != nil {
			return nil, explain(ctx, object.Err)
		}
		names = append(names, strings.TrimPrefix(object.Key, prefix))
	}
	return names, nil
}

// Remove removes an object.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	return explain(ctx, b.client.RemoveObject(ctx, b.o.Bucket, b.key(b.o.Prefix, name), minio.RemoveObjectOptions{}))
}

// key joins two parts of a path.
func (b *Bucket) key(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return strings.TrimSuffix(prefix, "/") + "/" + name
}

// explain adds the cause of a failed call.
func explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	answer := minio.ToErrorResponse(err)
	switch answer.Code {
	case minio.NoSuchBucket:
		return fmt.Errorf("%w: %w", ErrBucket, err)
	case "XAdminUserNotFound": // with status 404, of the Versity S3 Gateway for an unknown key
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException":
		return fmt.Errorf("%w: %w", ErrRegion, err)
	}
	switch {
	case answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	case answer.StatusCode == 0:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}
