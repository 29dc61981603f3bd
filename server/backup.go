package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/internal/backup"
	"github.com/agora-arena/arena/internal/backup/s3"
	"github.com/agora-arena/arena/league/schedule"
	"github.com/agora-arena/arena/store"
)

// backupSettings say where backups go and when.
type backupSettings struct {
	To       string          // "": no scheduled backups
	Schedule backup.Schedule // of them
	Keep     int             // 0: all
	Endpoint *url.URL        // nil: Amazon S3
	Region   string
	Key      string
	Secret   string
	Session  string // only from the environment
}

// scheme begins the URLs of buckets.
const scheme = "s3://"

func parseBackupTo(v string, to *string) error {
	if rest, ok := strings.CutPrefix(v, scheme); ok {
		if bucket, _, _ := strings.Cut(rest, "/"); bucket == "" || strings.ContainsAny(rest, "?#@") {
			return errors.New("needs the form s3://bucket/prefix")
		}
		if backup.IsFile(rest) {
			return errors.New("names one object: the prefix is that of several backups")
		}
	} else if strings.Contains(v, "://") {
		return errors.New("is neither a folder nor of the form s3://bucket/prefix")
	}
	*to = v
	return nil
}

// parseBackupSchedule accepts an interval or a cron expression.
func parseBackupSchedule(v string, to *backup.Schedule) error {
	var every time.Duration
	if err := parseAge(v, &every, 10*time.Minute, 31*day); err == nil && every > 0 {
		*to = func(after time.Time) time.Time { return after.Add(every) }
		return nil
	}
	if !strings.Contains(v, " ") {
		return errors.New("is neither an interval of 10m to 31d, such as 24h, nor a cron expression such as 0 3 * * *")
	}
	if err := schedule.Check(v, time.Now()); err != nil {
		return err
	}
	*to = func(after time.Time) time.Time { return schedule.Next(v, after) }
	return nil
}

// takeAWS fills what no setting names from the variables that clients of Amazon
// S3 share.
func (c *Config) takeAWS(environ []string) []error {
	env := map[string]string{}
	for _, kv := range environ {
		if key, value, _ := strings.Cut(kv, "="); strings.HasPrefix(key, "AWS_") {
			env[key] = value
		}
	}
	if c.Backup.Key == "" && c.Backup.Secret == "" {
		c.Backup.Key, c.Backup.Secret, c.Backup.Session = env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], env["AWS_SESSION_TOKEN"]
	}
	c.Backup.Region = cmp.Or(c.Backup.Region, env["AWS_REGION"], env["AWS_DEFAULT_REGION"])
	var problems []error
	for _, key := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if c.Backup.Endpoint == nil {
			if err := parseURL(env[key], &c.Backup.Endpoint, "https", "http"); err != nil && strings.HasPrefix(c.Backup.To, scheme) {
				problems = append(problems, fmt.Errorf("%s: %w", key, err))
			}
		}
	}
	return problems
}

// validateBackup returns what is missing for a bucket.
func (c Config) validateBackup() error {
	if !strings.HasPrefix(c.Backup.To, scheme) {
		return nil
	}
	_, _, err := c.BackupDestination(c.Backup.To)
	return err
}

// BackupDestination returns where a text leads: to one of s3://bucket/prefix, a
// folder, or a file or object, whose name it returns.
func (c Config) BackupDestination(text string) (_ backup.Destination, name string, err error) {
	rest, ok := strings.CutPrefix(text, scheme)
	if !ok {
		if info, err := os.Stat(text); err == nil && info.IsDir() || strings.HasSuffix(text, string(filepath.Separator)) {
			return backup.Folder{Dir: filepath.Clean(text)}, "", nil
		}
		return backup.Folder{Dir: filepath.Dir(text)}, filepath.Base(text), nil
	}
	if c.Backup.Key == "" || c.Backup.Secret == "" {
		return nil, "", errors.New("ARENA_BACKUP_S3_KEY: a bucket needs it and ARENA_BACKUP_S3_SECRET, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	bucket, prefix, _ := strings.Cut(rest, "/")
	if prefix = strings.Trim(prefix, "/"); backup.IsFile(prefix) {
		prefix, name = prefix[:max(0, strings.LastIndex(prefix, "/"))], prefix[strings.LastIndex(prefix, "/")+1:]
	}
	b, err := s3.Open(s3.Options{
		Endpoint: c.Backup.Endpoint, Region: c.Backup.Region, Key: c.Backup.Key, Secret: c.Backup.Secret, Session: c.Backup.Session,
		Bucket: bucket, Prefix: prefix,
	})
	if err != nil {
		return nil, "", fmt.Errorf("ARENA_BACKUP_S3_ENDPOINT: %w", err)
	}
	return b, name, nil
}

// BackupFolder returns ARENA_BACKUP_TO as the name of a folder or prefix, also
// where there is none yet; "" without the setting.
func (c Config) BackupFolder() string {
	if c.Backup.To == "" {
		return ""
	}
	return strings.TrimSuffix(c.Backup.To, "/") + "/"
}

// NewBackups returns the service that backs up a store.
func NewBackups(s *store.Store, log *slog.Logger, progress func(store.CopyProgress)) *backup.Service {
	return backup.New(backup.Options{
		Snapshot: func(ctx context.Context, file string) (backup.Contents, error) {
			report, err := s.Snapshot(ctx, file, progress)
			return contents(report), err
		},
		Record: s.RecordBackup, Now: time.Now, Logger: log,
	})
}

// RestoreBackup fills the empty database of the settings from a backup. With name
// "" it is the newest. It returns where the backup is.
func (c Config) RestoreBackup(ctx context.Context, from backup.Destination, name string, log *slog.Logger, progress func(store.CopyProgress)) (string, backup.Contents, error) {
	if name == "" {
		var err error
		if name, err = backup.Latest(ctx, from); err != nil {
			return "", backup.Contents{}, err
		}
	}
	o := store.Options{Logger: log, Now: time.Now}
	workspace := os.TempDir()
	if file, ok := c.databaseFile(); ok { // the file is given its name there
		workspace = filepath.Dir(file)
	}
	restored, err := backup.Restore(ctx, from, name, backup.RestoreOptions{
		Empty: func(ctx context.Context) error {
			if err := store.CheckEmpty(ctx, c.DatabaseURL, o); err != nil {
				return fmt.Errorf("ARENA_DATABASE_URL: %w", err)
			}
			return nil
		},
		Fill: func(ctx context.Context, file string) (backup.Contents, error) {
			report, err := store.Restore(ctx, file, c.DatabaseURL, o, progress)
			return contents(report), err
		},
		After: c.afterRestore(o), Workspace: workspace, Now: time.Now,
	})
	return backup.PlaceOf(from, name), restored, err
}

// afterRestore returns what runs in a restored database before it is started:
// whatever was decided since the backup and must outlive it.
func (c Config) afterRestore(store.Options) []func(ctx context.Context) error { return nil }

func contents(r store.CopyReport) backup.Contents {
	c := backup.Contents{Differs: r.Differs}
	for _, t := range r.Tables {
		c.Rows += t.Rows
	}
	for _, l := range r.Leagues {
		c.Settlements += l.Settlements
	}
	return c
}

// ExplainBackup names the setting that a failed backup or restore is a matter of.
func ExplainBackup(err error) error {
	for cause, key := range map[error]string{
		s3.ErrCredentials: "ARENA_BACKUP_S3_KEY, ARENA_BACKUP_S3_SECRET", s3.ErrRegion: "ARENA_BACKUP_S3_REGION",
		s3.ErrUnreachable: "ARENA_BACKUP_S3_ENDPOINT", s3.ErrBucket: "ARENA_BACKUP_TO",
	} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w (%s)", err, key)
		}
	}
	return err
}

// backUp makes the backup that is due, unless another node does.
func (s *Server) backUp(ctx context.Context) error {
	last, err := s.store.LastBackup(ctx)
	if err != nil {
		return err
	}
	now := s.now()
	if !s.cfg.Backup.Schedule.Due(last, now) {
		return nil
	}
	if mine, err := s.store.Operations.ClaimTick(ctx, "backup_attempt", s.cfg.Backup.Schedule.Retry(now)); err != nil || !mine {
		return err
	}
	to, _, err := s.cfg.BackupDestination(s.cfg.BackupFolder())
	if err != nil {
		return err
	}
	made, err := NewBackups(s.store, s.log, func(store.CopyProgress) {}).Run(ctx, to, "", s.cfg.Backup.Keep)
	if err != nil {
		return fmt.Errorf("ARENA_BACKUP_TO: earlier backups are unchanged: %w", ExplainBackup(err))
	}
	if made.Differs != nil {
		s.log.Error("backed up, and the ratings differ from what the settlements give: see arena admin ratings verify, and arena admin ratings rebuild LEAGUE",
			"place", made.Place, "error", made.Differs)
	}
	s.log.Info("backed up", "place", made.Place, "bytes", made.Bytes, "rows", made.Rows,
		"duration_ms", made.Took.Milliseconds(), "removed", len(made.Removed))
	return nil
}

// folders returns where the arena keeps what grows: the database, if it is a file,
// and backups.
func (c Config) folders() (folders []string) {
	if file, ok := c.databaseFile(); ok {
		folders = append(folders, filepath.Dir(file))
	}
	if c.Backup.To != "" && !strings.HasPrefix(c.Backup.To, scheme) {
		folders = append(folders, filepath.Clean(c.Backup.To))
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// databaseFile returns the file of an SQLite database.
func (c Config) databaseFile() (string, bool) {
	file, ok := strings.CutPrefix(c.DatabaseURL, "sqlite:")
	return strings.TrimPrefix(file, "//"), ok
}

// backupOverdue reports whether scheduled backups fail to be made; nil when none
// are scheduled.
func (c Config) backupOverdue() func(last, now time.Time) bool {
	if c.Backup.To == "" || c.Backup.Schedule == nil {
		return nil
	}
	return c.Backup.Schedule.Overdue
}
