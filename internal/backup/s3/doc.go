// Package s3 keeps backups in a bucket of Amazon S3, or of a service with the same
// interface.
//
// It leaves what a backup is, its name and how long it is kept to internal/backup, and
// to server which settings its options come from.
package s3
