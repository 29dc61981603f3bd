package server

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Settings that cannot work are refused, each with its name.
func TestLoad_BackupRefused(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"ARENA_BACKUP_TO=ftp://host/x":         "ARENA_BACKUP_TO: is neither a folder nor",
		"ARENA_BACKUP_TO=s3://":                "ARENA_BACKUP_TO: needs the form s3://bucket/prefix",
		"ARENA_BACKUP_TO=s3://b/x.db.zst":      "ARENA_BACKUP_TO: names one object",
		"ARENA_BACKUP_TO=s3://b/x":             "ARENA_BACKUP_S3_KEY: a bucket needs it",
		"ARENA_BACKUP_SCHEDULE=often":          "ARENA_BACKUP_SCHEDULE: is neither an interval",
		"ARENA_BACKUP_SCHEDULE=1s":             "ARENA_BACKUP_SCHEDULE: is neither an interval",
		"ARENA_BACKUP_SCHEDULE=0 99 * * *":     "ARENA_BACKUP_SCHEDULE: not a cron expression",
		"ARENA_BACKUP_KEEP=0":                  "ARENA_BACKUP_KEEP: 0 is outside 1 to 10000, or all",
		"ARENA_BACKUP_S3_ENDPOINT=example.org": "ARENA_BACKUP_S3_ENDPOINT: needs the form",
	} {
		if _, err := Load(Sources{Environ: []string{setting}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", setting, err, want)
		}
	}
}

// The variables that clients of S3 share stand in for settings, and never beside a
// key that was set.
func TestLoad_BackupFromAWS(t *testing.T) {
	t.Parallel()
	aws := []string{"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_SESSION_TOKEN=session", "AWS_REGION=eu-west-1", "AWS_ENDPOINT_URL=http://127.0.0.1:7"}
	c := load(t, append(aws, "ARENA_BACKUP_TO=s3://b/x", "ARENA_BACKUP_SCHEDULE=0 3 * * *", "ARENA_BACKUP_KEEP=all")...)
	if b := c.Backup; b.Key != "id" || b.Secret != "secret" || b.Session != "session" || b.Region != "eu-west-1" || b.Endpoint.Host != "127.0.0.1:7" || b.Keep != 0 {
		t.Errorf("got %+v", b)
	}
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	if next := c.Backup.Schedule(at); !next.Equal(at.Add(15 * time.Hour)) {
		t.Errorf("the next backup is at %v", next)
	}
	c = load(t, append(aws, "ARENA_BACKUP_S3_KEY=mine", "ARENA_BACKUP_S3_SECRET=own")...)
	if b := c.Backup; b.Key != "mine" || b.Secret != "own" || b.Session != "" {
		t.Errorf("got %+v", b)
	}
}

// A folder that cannot be written to is named before the first backup fails.
func TestServer_logsBackupFolder(t *testing.T) {
	t.Parallel()
	for folder, warned := range map[string]bool{t.TempDir(): false, filepath.Join(t.TempDir(), "none"): true} {
		var log bytes.Buffer
		s, err := New(t.Context(), testConfig(t, "sqlite:"+t.TempDir()+"/arena.db", "ARENA_BACKUP_TO="+folder), slog.New(slog.NewTextHandler(&log, nil)), Options{})
		must(t, err)
		must(t, s.Close())
		if strings.Contains(log.String(), "no backup will be made") != warned {
			t.Errorf("%s: %s", folder, log.String())
		}
	}
}
