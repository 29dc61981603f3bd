package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/internal/backup"
	"github.com/agora-arena/arena/internal/certs"
	"github.com/agora-arena/arena/internal/telemetry"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/stream/bus"
)

// checkTime is how long everything that the settings name may take to answer.
const checkTime = 5 * time.Second

// CheckServices tries what the settings of a successful Load name outside this
// process, all at the same time, with the functions that a server calls: database,
// Redis, collector, canary, certificates and their ACME server, OIDC issuer, SMTP
// server, folders and buckets. It leaves nothing behind. The error joins one line for
// each that cannot be used, with the setting, what was tried and the reason, and
// without secrets (threat O5).
func (c Config) CheckServices(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	checks := []func(context.Context) error{
		c.checkDatabase, c.checkRedis, c.checkCollector, c.checkTLS, c.checkProvider, c.checkMail, c.checkBackups, c.checkMessages, c.checkPrograms,
	}
	for _, target := range c.CanaryTargets {
		checks = append(checks, func(ctx context.Context) error {
			return failed("ARENA_CANARY_TARGETS: connect to "+target, dialTarget(ctx, target))
		})
	}
	problems := make([]error, len(checks))
	var running sync.WaitGroup
	for i, check := range checks {
		running.Go(func() { problems[i] = check(ctx) })
	}
	running.Wait()
	return errors.Join(problems...)
}

// failed adds what was tried to an error.
func failed(tried string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", tried, err)
}

// checkDatabase opens the database. In place of a file of SQLite that does not exist
// yet it tries the folder.
func (c Config) checkDatabase(ctx context.Context) error {
	tried := "ARENA_DATABASE_URL: connect to " + withoutSecrets(c.DatabaseURL)
	if file, ok := c.databaseFile(); ok {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return failed("ARENA_DATABASE_URL", backup.Folder{Dir: filepath.Dir(file)}.Check(ctx, filepath.Base(file)))
		}
		tried = "ARENA_DATABASE_URL: open " + file
	}
	return failed(tried, store.Check(ctx, c.DatabaseURL, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now}))
}

func (c Config) checkRedis(ctx context.Context) error {
	if c.RedisURL == "" {
		return nil
	}
	return failed("ARENA_REDIS_URL: connect to "+withoutSecrets(c.RedisURL), bus.Check(ctx, c.RedisURL))
}

// withoutSecrets returns the hosts of a URL and, without its parameters, what it
// names there.
func withoutSecrets(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "it" // the text may be a secret
	}
	return u.Host + u.Path
}

// checkCollector exports nothing to the OpenTelemetry collector.
func (c Config) checkCollector(ctx context.Context) error {
	if c.OTLPURL == nil {
		return nil
	}
	o, err := c.telemetryOptions()
	if err == nil {
		err = telemetry.Check(ctx, o)
	}
	return failed("ARENA_OTLP_URL: export to "+c.OTLPURL.Redacted(), err)
}

// checkTLS reads the files of the certificates, or asks the ACME server for its
// directory.
func (c Config) checkTLS(ctx context.Context) error {
	switch c.TLS {
	case TLSFiles:
		return failed("ARENA_TLS", c.TLSFiles.Check(c.PublicURL.Hostname(), time.Now()))
	case TLSAuto:
		return certs.CheckDirectory(ctx, c.ACMEURL.String(), c.ACMECAFile)
	}
	return nil
}

// checkProvider reads the documents of the OIDC issuer, if people sign in with one,
// and authenticates with the client's secret.
func (c Config) checkProvider(ctx context.Context) error {
	provider, err := c.newProvider(c.PublicURL.String(), slog.New(slog.DiscardHandler))
	if err != nil || provider == nil {
		return err
	}
	if err := provider.Ready(ctx); err != nil {
		return fmt.Errorf("ARENA_OIDC_ISSUER: %s: %w", c.OIDCIssuer, err)
	}
	if c.OIDCClientSecret == "" {
		return nil
	}
	return failed(fmt.Sprintf("ARENA_OIDC_CLIENT_SECRET: authenticate as %s at %s", c.OIDCClientID, c.OIDCIssuer), provider.Authenticate(ctx))
}

// checkMail signs in at the SMTP server, if there is one.
func (c Config) checkMail(ctx context.Context) error {
	smtp, err := c.newSMTP()
	if err == nil && smtp != nil {
		err = smtp.Ready(ctx)
	}
	if err != nil {
		return fmt.Errorf("ARENA_SMTP: sign in at %s: %w", c.SMTP.Host, err)
	}
	return nil
}

// checkBackups tests that a scheduled backup could be stored.
func (c Config) checkBackups(ctx context.Context) error {
	if c.Backup.To == "" {
		return nil
	}
	tried := "ARENA_BACKUP_TO"
	if strings.HasPrefix(c.Backup.To, scheme) {
		tried += ": look into " + c.Backup.To
	}
	to, _, err := c.BackupDestination(c.BackupFolder())
	if err == nil {
		err = to.Check(ctx, backup.NameAt(time.Now()))
	}
	return failed(tried, ExplainBackup(err))
}

// checkMessages tests that agents and the arena can exchange files.
func (c Config) checkMessages(ctx context.Context) error {
	if c.AgentProtocolDir == "" {
		return nil
	}
	return failed("ARENA_AGENTPROTOCOL_DIR", backup.Folder{Dir: c.AgentProtocolDir}.Check(ctx, backup.NameAt(time.Now())))
}

// checkPrograms tests that the programs for authors can be found.
func (c Config) checkPrograms(context.Context) error {
	if c.DownloadDir == "" {
		return nil
	}
	_, err := os.ReadDir(c.DownloadDir)
	return failed("ARENA_DOWNLOAD_DIR", err)
}
