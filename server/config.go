package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/certs"
)

// The values of ARENA_SIGNUP.
const (
	SignupOpen   = "open"
	SignupInvite = "invite"
	SignupClosed = "closed"
)

// The kinds of ARENA_TLS.
const (
	TLSOff   = "off"
	TLSAuto  = "auto"
	TLSFiles = "files"
)

// The values of ARENA_TASK_TOKENS.
const (
	TokensRequest = "request"
	TokensMatch   = "match"
)

// tlsAddr is the default of ARENA_ADDR with ARENA_TLS.
const tlsAddr = ":443"

// The values of ARENA_LOG_FORMAT.
const (
	LogAuto = "auto"
	LogJSON = "json"
	LogText = "text"
)

// Config is the settings of a process, checked. The table in settings.go says
// what each means.
type Config struct {
	Addr        string
	PublicURL   *url.URL // scheme and host only; see Listening
	TLS         string
	TLSFiles    certs.Files // with TLS files
	HTTPAddr    string      // "": off
	ACMEURL     *url.URL    // nil: the setting is wrong
	ACMEEmail   string      // "": none
	ACMECAFile  string      // "": only the system's authorities
	MetricsAddr string      // "": off
	DatabaseURL string
	RedisURL    string // "": this node is alone
	AdminToken  string // "": make one
	Signup      string
	JWTAlg      string
	TaskTokens  string

	AllowCIDRs         []netip.Prefix
	AllowCIDRsForce    bool
	AuditLeagues       bool                  // rated ones, when they open
	AllowHTTPEndpoints bool                  // on public addresses
	GroupOwnersBy      []arena.UnratedReason // links that make owners one group for rated play
	SharedNetworks     arena.SharedNetworks  // see sharedNetworks
	ExtraCAFile        string                // "": only the system's authorities
	TrustedProxies     []netip.Prefix

	HealthInterval       time.Duration
	HealthWorkers        int
	CanaryTargets        []string // empty: a sample of healthy endpoints
	Spectators           int
	EventRate            int // per second
	EventBurst           int
	EventMax             int // per seat and match
	SpectatorsPerAddress int
	JudgeSecondsPerOwner int // of processor time, in an hour
	RequestsPerAddress   int // a minute, to the protocols and the stream
	PagesPerAddress      int // a minute
	MiBPerAddress        int // a minute
	RelayMiBPerOwner     int
	AgentProtocolDir     string // "": no file exchange
	DownloadDir          string // "": the running program alone
	ShutdownGrace        time.Duration
	ArchiveAfter         time.Duration // 0: never
	KeepEvents           time.Duration // 0: for ever
	KeepDeliveries       time.Duration // 0: for ever

	Backup backupSettings

	LogFormat string
	LogLevel  slog.Level

	OTLPURL     *url.URL          // nil: nothing is exported
	OTLPHeaders map[string]string // by name
	TraceRatio  float64           // 0 to 1

	JudgeURL   *url.URL // nil: no language model judges
	JudgeModel string
	JudgeKey   string

	OIDCIssuer     *url.URL // nil: no OIDC tokens
	OIDCAudience   string   // "": no bearer tokens of the issuer
	OIDCAdminClaim string
	OIDCAdminValue string // "": the issuer makes no admins

	OIDCClientID     string // "": no sign-in with the issuer
	OIDCClientSecret string // "": a public client
	OIDCName         string // "": the issuer's host

	SMTP         *url.URL // nil: no mail
	SMTPPassword string
	MailFrom     string

	values map[string]value // by key, as they were given
}

// value is the text of a setting and where it was found.
type value struct {
	text, from string
}

// The places that a value may come from, weakest first.
const (
	fromDefault = "default"
	fromFile    = "file"
	fromEnv     = "environment"
	fromFlag    = "flag"
)

// Sources are the places that settings come from. Of a setting that stands in
// several, a flag wins over the environment, that over the file, and that
// over the default.
type Sources struct {
	Environ []string          // KEY=VALUE, as os.Environ gives it; names without ARENA_ are passed over
	File    string            // --config; "": what ARENA_CONFIG names, if anything
	Flags   map[string]string // by key
}

// Load reads, parses and validates the settings. The error joins all
// problems, one line for each, each beginning with the key; the Config then
// holds what could be read.
func Load(src Sources) (Config, error) {
	c := Config{values: map[string]value{}}
	table := Settings()
	for _, s := range table {
		c.values[s.Key] = value{s.Default, fromDefault}
	}
	env, problems := readEnviron(src.Environ, table)
	if file := cmp.Or(src.File, env[configKey]); file != "" {
		lines, err := readEnvFile(file, table)
		if err != nil {
			problems = append(problems, err)
		}
		problems = append(problems, c.take(lines, fromFile, table)...)
	}
	problems = append(problems, c.take(env, fromEnv, table)...)
	problems = append(problems, c.take(src.Flags, fromFlag, table)...)
	for _, s := range table {
		if err := s.parse(&c, c.values[s.Key].text); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", s.Key, err))
		}
	}
	if c.TLSOn() && c.values["ARENA_ADDR"].from == fromDefault {
		c.Addr = tlsAddr
		c.values["ARENA_ADDR"] = value{tlsAddr, "ARENA_TLS"}
	}
	if c.PublicURL == nil && c.values["ARENA_PUBLIC_URL"].text == "" && c.Addr != "" {
		c.PublicURL = c.localURL(c.Addr)
	}
	problems = append(problems, c.takeAWS(src.Environ)...)
	problems = append(problems, c.Validate())
	return c, errors.Join(problems...)
}

// take lays the values of one place over those already there and follows
// KEY_FILE to the files of secrets.
func (c *Config) take(values map[string]string, from string, table []Setting) []error {
	var problems []error
	for _, s := range table {
		text, set := values[s.Key]
		path, inFile := values[s.Key+"_FILE"]
		switch {
		case !s.Secret || !inFile || path == "":
		case set && text != "":
			problems = append(problems, fmt.Errorf("%s: set together with %s_FILE in the same place (%s); keep one", s.Key, s.Key, from))
		default:
			data, err := os.ReadFile(path) //nolint:gosec // G304: the operator names the file
			if err != nil {
				problems = append(problems, fmt.Errorf("%s_FILE: %w", s.Key, err))
				continue
			}
			text, set = strings.TrimRight(string(data), "\r\n"), true
		}
		if set {
			c.values[s.Key] = value{text, from}
		}
	}
	return problems
}

// Validate returns the problems that only several settings together have, joined.
func (c Config) Validate() error {
	var problems []error
	if len(c.AllowCIDRs) > 0 && c.PublicURL != nil && !arena.IsLoopbackHost(c.PublicURL.Hostname()) && !c.AllowCIDRsForce {
		problems = append(problems, fmt.Errorf(
			"ARENA_ALLOW_CIDRS: opens private addresses while ARENA_PUBLIC_URL %s is not on this machine; unset it, or set ARENA_ALLOW_CIDRS_FORCE=1 if you accept that agents can reach them", c.PublicURL))
	}
	if c.MetricsAddr != "" && c.MetricsAddr == c.Addr && !strings.HasSuffix(c.Addr, ":0") {
		problems = append(problems, fmt.Errorf("ARENA_METRICS_ADDR: %s is ARENA_ADDR; metrics need an address of their own, or leave it empty", c.MetricsAddr))
	}
	problems = append(problems, c.validateTLS())
	if c.JudgeURL != nil && c.JudgeModel == "" {
		problems = append(problems, errors.New("ARENA_JUDGE_MODEL: must name the model of ARENA_JUDGE_URL"))
	}
	if c.JudgeURL == nil && c.values["ARENA_JUDGE_URL"].text == "" && c.JudgeModel+c.JudgeKey != "" {
		problems = append(problems, errors.New("ARENA_JUDGE_URL: must be set with ARENA_JUDGE_MODEL and ARENA_JUDGE_KEY"))
	}
	if c.OIDCIssuer != nil && c.OIDCAudience == "" && c.OIDCClientID == "" {
		problems = append(problems, errors.New("ARENA_OIDC_AUDIENCE: must say which tokens of ARENA_OIDC_ISSUER are for this arena, or ARENA_OIDC_CLIENT_ID with which client people sign in"))
	}
	if noIssuer := c.OIDCIssuer == nil && c.values["ARENA_OIDC_ISSUER"].text == ""; noIssuer && c.OIDCAudience+c.OIDCClientID != "" {
		problems = append(problems, errors.New("ARENA_OIDC_ISSUER: must be set with ARENA_OIDC_AUDIENCE and ARENA_OIDC_CLIENT_ID"))
	}
	if c.OIDCClientID == "" && c.OIDCClientSecret != "" {
		problems = append(problems, errors.New("ARENA_OIDC_CLIENT_ID: must be set with ARENA_OIDC_CLIENT_SECRET"))
	}
	problems = append(problems, c.validateMail(), c.validateBackup())
	return errors.Join(problems...)
}

func (c Config) validateMail() error {
	noServer := c.SMTP == nil && c.values["ARENA_SMTP"].text == ""
	switch {
	case c.SMTP != nil && c.MailFrom == "" && c.values["ARENA_MAIL_FROM"].text == "":
		return errors.New("ARENA_MAIL_FROM: must be set with ARENA_SMTP")
	case c.SMTP != nil && (c.SMTP.User.Username() == "") != (c.SMTPPassword == ""):
		return errors.New("ARENA_SMTP_PASSWORD: must be set if ARENA_SMTP has a user, and only then")
	case noServer && c.MailFrom+c.SMTPPassword != "":
		return errors.New("ARENA_SMTP: must be set with ARENA_MAIL_FROM and ARENA_SMTP_PASSWORD")
	}
	return nil
}

// TLSOn reports whether the arena serves TLS itself.
func (c Config) TLSOn() bool { return c.TLS == TLSAuto || c.TLS == TLSFiles }

func (c Config) validateTLS() error {
	if !c.TLSOn() {
		if c.HTTPAddr != "" && c.TLS == TLSOff {
			return errors.New("ARENA_HTTP_ADDR: redirects to https, so it needs ARENA_TLS; leave it empty behind a proxy")
		}
		return nil
	}
	var problems []error
	switch given := c.values["ARENA_PUBLIC_URL"].text; {
	case given == "" && c.TLS == TLSAuto:
		problems = append(problems, errors.New("ARENA_PUBLIC_URL: must be set with ARENA_TLS=auto: the certificate is for its host"))
	case c.PublicURL != nil && c.PublicURL.Scheme != "https":
		problems = append(problems, fmt.Errorf("ARENA_PUBLIC_URL: %s must begin with https:// when ARENA_TLS is on", c.PublicURL))
	case c.PublicURL != nil && c.TLS == TLSAuto && c.ACMEURL != nil && c.ACMEURL.String() == certs.LetsEncrypt && !isPublicHost(c.PublicURL.Hostname()):
		problems = append(problems, fmt.Errorf("ARENA_PUBLIC_URL: Let's Encrypt issues no certificate for %s; use a name of the public DNS, or a private ACME server with ARENA_ACME_URL", c.PublicURL.Hostname()))
	}
	if c.TLS == TLSAuto && c.ACMEURL == nil && c.values["ARENA_ACME_URL"].text == "" {
		problems = append(problems, errors.New("ARENA_ACME_URL: must name the directory of an ACME server"))
	}
	if c.HTTPAddr != "" && c.HTTPAddr == c.Addr && !strings.HasSuffix(c.Addr, ":0") {
		problems = append(problems, fmt.Errorf("ARENA_HTTP_ADDR: %s is ARENA_ADDR; plain HTTP needs an address of its own, or leave it empty", c.HTTPAddr))
	}
	return errors.Join(problems...)
}

// Value returns the text of a setting and where it was found. The public URL
// that is made from the address counts as found there.
func (c Config) Value(key string) (text, from string) {
	v := c.values[key]
	if key == "ARENA_PUBLIC_URL" && v.text == "" && c.PublicURL != nil {
		return c.PublicURL.String(), "ARENA_ADDR"
	}
	return v.text, v.from
}

// LocalURL returns a URL that reaches the server of these settings from this
// machine, whatever its public URL is.
func (c Config) LocalURL() (string, error) {
	if _, port, _ := net.SplitHostPort(c.Addr); port == "0" {
		return "", errors.New("ARENA_ADDR: the server is on a port that only it knows; name a fixed one")
	}
	return c.localURL(c.Addr).String(), nil
}

// Listening puts the port that the listener was given into a public URL that
// was made from ARENA_ADDR. Before that the port of such a URL may be 0.
func (c *Config) Listening(addr net.Addr) {
	if c.values["ARENA_PUBLIC_URL"].text == "" {
		_, port, _ := net.SplitHostPort(addr.String())
		host, _, _ := net.SplitHostPort(c.Addr)
		c.PublicURL = c.localURL(net.JoinHostPort(host, port))
	}
}

// localURL is the URL of an arena that listens on addr. An address that means
// every interface is named localhost.
func (c Config) localURL(addr string) *url.URL {
	host, port, _ := net.SplitHostPort(addr)
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if c.TLSOn() {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}
}

// keys returns every name that may stand in the environment; those of the file
// are the same without ARENA_CONFIG.
func keys(table []Setting) []string {
	names := []string{configKey}
	for _, s := range table {
		names = append(names, s.Key)
		if s.Secret {
			names = append(names, s.Key+"_FILE")
		}
	}
	return names
}

// readEnviron picks the ARENA_ variables. A name that is nearly a setting is a
// problem, so that a typing error is not a setting silently left out; any other
// name may be somebody else's and is passed over.
func readEnviron(environ []string, table []Setting) (map[string]string, []error) {
	known := keys(table)
	env := map[string]string{}
	var problems []error
	for _, kv := range environ {
		key, text, _ := strings.Cut(kv, "=")
		switch {
		case !strings.HasPrefix(key, "ARENA_"), key == clientKey, strings.HasPrefix(key, testPrefix), isServiceLink(key, text):
		case !slices.Contains(known, key):
			if nearest(key, known) != "" {
				problems = append(problems, unknownKey(key, known))
			}
		default:
			if _, twice := env[key]; !twice { // the first one counts, as in os.Getenv
				env[key] = text
			}
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return env, problems
}

// isServiceLink recognises the variables that Kubernetes puts into every
// container beside a Service whose name begins with "arena".
func isServiceLink(key, text string) bool {
	if strings.HasSuffix(key, "_PORT") && strings.Contains(text, "://") {
		return true
	}
	return regexp.MustCompile(`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`).MatchString(key)
}

// readEnvFile reads lines KEY=VALUE. Empty lines and lines that begin with #
// are passed over; a value may stand in single or double quotes, which are
// taken off; nothing is expanded.
func readEnvFile(path string, table []Setting) (map[string]string, error) {
	data, err := os.ReadFile(path) //nolint:gosec // G304: the operator names the file
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err // it would name the path again
		}
		return nil, fmt.Errorf("%s: settings file %s: %w", configKey, path, err)
	}
	known := keys(table)[1:]
	values := map[string]string{}
	var problems []error
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, text, ok := strings.Cut(line, "=")
		key, text = strings.TrimSpace(key), strings.TrimSpace(text)
		_, twice := values[key]
		switch {
		case !ok:
			err = errors.New("not KEY=VALUE") // the line itself may be a secret
		case twice:
			err = fmt.Errorf("%s: is set twice", key)
		case !slices.Contains(known, key):
			err = unknownKey(key, known)
		default:
			values[key], err = unquote(text), nil
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: %w", path, n, err))
		}
	}
	return values, errors.Join(problems...)
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// sharedNetworks are the networks that unrelated people share.
func (c Config) sharedNetworks() arena.SharedNetworks {
	return slices.Concat(c.SharedNetworks, c.AllowCIDRs)
}
