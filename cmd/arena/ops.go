package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/server"
	"github.com/agora-arena/arena/store"
)

// version is the name of a release, which only the linker sets (-X
// main.version=…). Empty means the version that the Go command recorded.
var version string

// buildInfo identifies the source of this binary.
type buildInfo struct {
	Version  string // "v1.2.0", or "devel"
	Revision string // commit, "" if the build had none
	Time     string // of the commit, RFC 3339
	Modified bool   // there were changes that were not committed
	Go       string
	Platform string
}

func readBuildInfo() buildInfo {
	b := buildInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "devel")
		return b
	}
	b.Version = cmp.Or(b.Version, strings.Trim(info.Main.Version, "()"), "devel")
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b buildInfo) String() string {
	s := "arena " + b.Version
	if b.Revision != "" {
		s += ", commit " + b.Revision[:min(12, len(b.Revision))]
		if b.Time != "" {
			s += " of " + b.Time
		}
		if b.Modified {
			s += " with local changes"
		}
	}
	return s + ", " + b.Go + " " + b.Platform
}

// VersionCmd is `arena version`.
type VersionCmd struct{}

// Run prints the version.
func (c *VersionCmd) Run(app *App) error {
	_, err := fmt.Fprintln(app.Stdout, readBuildInfo())
	return err
}

// ConfigCmd is `arena config`.
type ConfigCmd struct {
	ConfigFlags
	Check    bool `xor:"form" help:"Only check: print unsafe settings and all problems, connect to everything that they name, and exit with 1 when there is a problem."`
	Markdown bool `xor:"form" help:"Print the table of all settings as in the documentation."`
}

// Help shows the command at work.
func (c *ConfigCmd) Help() string {
	return `Prints every setting with its value and where the value was found. Secrets are
hidden. A flag wins over the environment, the environment over the file, the
file over the default.

    arena config
    arena config --config /etc/arena.env --check
    ARENA_ADDR=:9000 arena config | grep ADDR`
}

// Run prints or checks the settings.
func (c *ConfigCmd) Run(app *App) error {
	if c.Markdown {
		return writeMarkdown(app.Stdout)
	}
	cfg, problems := c.Load(app)
	if c.Check {
		result := "the settings are good"
		for _, w := range cfg.Warnings() {
			result = "the settings work, but some are unsafe"
			_, _ = fmt.Fprintln(app.Stdout, "warning:", w)
		}
		if problems == nil {
			problems = cfg.CheckServices(app.Ctx)
		}
		if problems == nil {
			_, problems = fmt.Fprintln(app.Stdout, result)
		}
		return problems
	}
	if err := printConfig(app.Stdout, cfg); err != nil {
		return err
	}
	return problems
}

// printConfig writes the effective settings as a table, secrets hidden.
func printConfig(w io.Writer, c server.Config) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "SETTING\tVALUE\tFROM") // a tabwriter reports errors at Flush
	for _, s := range server.Settings() {
		text, from := c.Value(s.Key)
		if s.Secret {
			text = redact(text)
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", s.Key, cmp.Or(text, "-"), from)
	}
	return t.Flush()
}

// redact returns the parts of a secret that identify it without disclosing it:
// the user, host and path of a URL, and nothing of other secrets.
func redact(secret string) string {
	if secret == "" || strings.HasPrefix(secret, "sqlite:") {
		return secret
	}
	u, err := url.Parse(secret)
	if err != nil || u.Host == "" {
		return "(hidden)"
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), "hidden")
		}
	}
	if u.RawQuery != "" {
		u.RawQuery = "hidden" // a driver may take a password here
	}
	u.Fragment = ""
	return u.String()
}

// KeysCmd groups the commands about signing keys.
type KeysCmd struct {
	List   KeysListCmd   `cmd:"" help:"List the keys, newest first. Private parts are never shown."`
	Rotate KeysRotateCmd `cmd:"" help:"Make a new key that takes over from the present one."`
}

// KeysListCmd is `arena keys list`.
type KeysListCmd struct {
	FileFlag
}

// Help explains the states.
func (c *KeysListCmd) Help() string {
	return `A key is "next" (published, does not sign yet), "signing", "retiring"
(published until its last tokens have died) or "expired". Settings:
ARENA_DATABASE_URL, from the file or the environment.

    arena keys list`
}

// Run lists the keys. It changes nothing, even if the configured algorithm
// differs from the newest key's.
func (c *KeysListCmd) Run(app *App) error {
	return withKeys(app, c.FileFlag, func(ctx context.Context, s *store.Store, o token.Options) error {
		rows, err := s.Keys.SigningKeys(ctx)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			_, err := fmt.Fprintln(app.Stdout, "no keys yet: arena serve makes the first one")
			return err
		}
		o.Alg = rows[len(rows)-1].Alg
		keys, err := token.New(ctx, o)
		if err != nil {
			return err
		}
		return printKeys(app, keys.Keys())
	})
}

// KeysRotateCmd is `arena keys rotate`.
type KeysRotateCmd struct {
	FileFlag
	After time.Duration `default:"${overlap}" placeholder:"DURATION" help:"Time until the new key signs, 0s to 168h. Default ${overlap}: every cache of the key set has it by then."`
}

// Help describes what running servers and agents notice.
func (c *KeysRotateCmd) Help() string {
	return `The new key is published at once and signs after --after; the old ones stay
published until their last tokens have died. Running servers notice within a
minute, agents notice nothing. Settings: ARENA_DATABASE_URL, ARENA_JWT_ALG
(algorithm of the new key), from the file or the environment.

    arena keys rotate
    ARENA_JWT_ALG=EdDSA arena keys rotate`
}

// Run adds a key.
func (c *KeysRotateCmd) Run(app *App) error {
	return withKeys(app, c.FileFlag, func(ctx context.Context, s *store.Store, o token.Options) error {
		rows, err := s.Keys.SigningKeys(ctx)
		if err != nil {
			return err
		}
		keys, err := token.New(ctx, o)
		if err != nil {
			return err
		}
		// New itself makes the first key, and one when the algorithm changed.
		made := len(rows) == 0 || keys.Keys()[0].KID != rows[len(rows)-1].KID
		if !made || c.After != token.DefaultOverlap {
			if _, err := keys.Rotate(ctx, c.After); err != nil {
				return err
			}
		}
		return printKeys(app, keys.Keys())
	})
}

// withKeys opens a database whose schema is this binary's and hands it over
// with the options of its keys.
func withKeys(app *App, file FileFlag, do func(context.Context, *store.Store, token.Options) error) error {
	return withStore(app, file, func(cfg server.Config, s *store.Store) error {
		if current, wanted, err := s.SchemaVersion(app.Ctx); err != nil {
			return err
		} else if current != wanted {
			return fmt.Errorf("the database has schema %d and this binary wants %d: see arena migrate --status", current, wanted)
		}
		return do(app.Ctx, s, token.Options{
			Store: s.Keys, Issuer: cfg.PublicURL.String(), Alg: cfg.JWTAlg, Now: time.Now, Logger: app.Logger(cfg),
		})
	})
}

func printKeys(app *App, keys []token.Info) error {
	t := tabwriter.NewWriter(app.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "KID\tALG\tSTATE\tSIGNS FROM\tPUBLISHED UNTIL") // a tabwriter reports errors at Flush
	for _, k := range keys {
		until := "-"
		if !k.ExpiresAt.IsZero() {
			until = k.ExpiresAt.UTC().Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", k.KID, k.Alg, k.State, k.SignsFrom.UTC().Format(time.RFC3339), until)
	}
	return t.Flush()
}
