package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/internal/certs"
	"github.com/agora-arena/arena/internal/plaintext"
)

// Setting is one line of the table from which the flags of serve, the output
// of `arena config` and docs/configuration.md are made.
type Setting struct {
	Key     string
	Default string
	Doc     string // one or two sentences, with the values allowed
	Secret  bool   // printed only in part, no flag, may come from the file that KEY_FILE names
	parse   func(c *Config, value string) error
}

// Settings returns the table, in the order of the documentation.
func Settings() []Setting {
	return []Setting{
		{
			Key: "ARENA_ADDR", Default: ":8080",
			Doc:   "Address that the API and the pages listen on, host:port. Port 0 takes a free one. With ARENA_TLS the default is :443.",
			parse: func(c *Config, v string) error { return parseAddr(v, &c.Addr) },
		},
		{
			Key:   "ARENA_PUBLIC_URL",
			Doc:   "URL under which agents and browsers reach the arena; tokens name it as their issuer. Empty: made from ARENA_ADDR, http://localhost:8080 by default.",
			parse: func(c *Config, v string) error { return parsePublicURL(v, &c.PublicURL) },
		},
		{
			Key: "ARENA_TLS", Default: TLSOff,
			Doc:   "TLS on ARENA_ADDR: off (behind a proxy that has it), auto (a certificate for the host of ARENA_PUBLIC_URL from the ACME server in ARENA_ACME_URL, whose terms you accept), or two PEM files separated by a comma, cert.pem,key.pem, which are read again when they change.",
			parse: func(c *Config, v string) error { return parseTLS(v, c) },
		},
		{
			Key:   "ARENA_HTTP_ADDR",
			Doc:   "With ARENA_TLS: second address, such as :80, that redirects plain HTTP to ARENA_PUBLIC_URL and answers HTTP-01 challenges. Empty: off; certificates then come by TLS-ALPN-01 on ARENA_ADDR alone.",
			parse: func(c *Config, v string) error { return parseOptional(v, &c.HTTPAddr, parseAddr) },
		},
		{
			Key: "ARENA_ACME_URL", Default: certs.LetsEncrypt,
			Doc:   "Directory of the ACME server for ARENA_TLS=auto. The default is Let's Encrypt.",
			parse: func(c *Config, v string) error { return parseURL(v, &c.ACMEURL, "https") },
		},
		{
			Key:   "ARENA_ACME_EMAIL",
			Doc:   "Address that the ACME server may write to about certificates. Empty: none.",
			parse: func(c *Config, v string) error { return parseOptional(v, &c.ACMEEmail, parseEmail) },
		},
		{
			Key: "ARENA_ACME_CA_FILE",
			Doc: "PEM file of the certificate authorities to trust for a private ACME server. Empty: the system's.",
			parse: func(c *Config, v string) error {
				c.ACMECAFile = v // read by checkTLS, and again and again by package certs
				return nil
			},
		},
		{
			Key: "ARENA_METRICS_ADDR", Default: "127.0.0.1:9090",
			Doc:   "Separate address of /metrics and /debug/pprof/. It has no access control: keep it private. Empty: off.",
			parse: func(c *Config, v string) error { return parseOptional(v, &c.MetricsAddr, parseAddr) },
		},
		{
			Key: "ARENA_DATABASE_URL", Default: "sqlite:arena.db", Secret: true,
			Doc:   "Where everything is kept: sqlite:FILE, or postgres://user:password@host/database.",
			parse: func(c *Config, v string) error { return parseDatabaseURL(v, &c.DatabaseURL) },
		},
		{
			Key: "ARENA_REDIS_URL", Secret: true,
			Doc:   "Redis 7 or newer that carries live events between nodes: redis://user:password@host:port/database, or rediss:// for TLS. Several hosts, separated by commas, are a cluster. Nothing is kept there. Empty: one node.",
			parse: func(c *Config, v string) error { return parseOptional(v, &c.RedisURL, parseRedisURL) },
		},
		{
			Key: "ARENA_ADMIN_TOKEN", Secret: true,
			Doc:   "Bearer token with the scope admin, 16 to 256 visible ASCII characters. A new one supersedes the old one. Empty: the first start creates one, prints it once and keeps its hash.",
			parse: func(c *Config, v string) error { return parseAdminToken(v, &c.AdminToken) },
		},
		{
			Key: "ARENA_SIGNUP", Default: SignupOpen,
			Doc: "Sign-up of owners: open (everyone), invite (owners that an admin invited), closed (no one).",
			parse: func(c *Config, v string) error {
				return parseOneOf(v, &c.Signup, SignupOpen, SignupInvite, SignupClosed)
			},
		},
		{
			Key: "ARENA_JWT_ALG", Default: "ES256",
			Doc:   "Algorithm of new keys for task tokens: ES256, EdDSA or RS256. Keys in use stay as they are until they are rotated.",
			parse: func(c *Config, v string) error { return parseOneOf(v, &c.JWTAlg, "ES256", "EdDSA", "RS256") },
		},
		{
			Key: "ARENA_TASK_TOKENS", Default: TokensRequest,
			Doc:   "Task tokens: request (each is for one task, whose round and body it names) or match (one is for all tasks of an agent in a match). match saves a signature for each task, but then only https protects the body of a task, a stolen token lasts up to ten minutes longer, and agents must accept a token without round and bh.",
			parse: func(c *Config, v string) error { return parseOneOf(v, &c.TaskTokens, TokensRequest, TokensMatch) },
		},
		{
			Key:   "ARENA_ALLOW_CIDRS",
			Doc:   "Private address ranges that agents' endpoints may have, separated by commas, for development. Refused when ARENA_PUBLIC_URL is not on this machine. Addresses of cloud metadata services are never allowed.",
			parse: func(c *Config, v string) error { return parseAllowCIDRs(v, &c.AllowCIDRs) },
		},
		{
			Key: "ARENA_ALLOW_CIDRS_FORCE", Default: "0",
			Doc:   "1: accept ARENA_ALLOW_CIDRS together with a public URL that is not on this machine. Anyone who may register an agent can then reach those ranges.",
			parse: func(c *Config, v string) error { return parseSwitch(v, &c.AllowCIDRsForce) },
		},
		{
			Key: "ARENA_AUDIT_LEAGUES", Default: "1",
			Doc:   "1: a new rated league of questions is audited in the background, and closed again if a cheat gets points whatever is asked. 0: leagues are audited on demand alone.",
			parse: func(c *Config, v string) error { return parseSwitch(v, &c.AuditLeagues) },
		},
		{
			Key: "ARENA_ALLOW_HTTP_ENDPOINTS", Default: "0",
			Doc:   "1: accept agents' endpoints on public addresses that begin with http://. Everyone on the way can then read and change tasks and answers. Addresses in ARENA_ALLOW_CIDRS need no https in any case, and agents that are registered already keep their endpoints.",
			parse: func(c *Config, v string) error { return parseSwitch(v, &c.AllowHTTPEndpoints) },
		},
		{
			Key: "ARENA_GROUP_OWNERS_BY",
			Doc: "Further reasons, beside endpoints and keys, to rate owners as one group: domain (registrable domain of their endpoints), network (public network they signed up from), separated by commas. Empty: nothing; the report on anomalies shows both in any case.",
			parse: func(c *Config, v string) error {
				kinds, err := parseOwnerLinks(v)
				c.GroupOwnersBy = kinds
				return err
			},
		},
		{
			Key: "ARENA_SHARED_NETWORKS",
			Doc: "Ranges of public addresses that unrelated people share, such as a school's, separated by commas. Elsewhere, owners who signed up from one network count as one opponent for a rank until they confirm an address, and one visitor of a network may vote without an account. Loopback and private addresses, and ARENA_ALLOW_CIDRS, are always shared.",
			parse: func(c *Config, v string) error {
				list, err := parseCIDRs(v)
				c.SharedNetworks = list
				return err
			},
		},
		{
			Key:   "ARENA_EXTRA_CA_FILE",
			Doc:   "PEM file of certificate authorities that are trusted for agents' endpoints beside the system's, for development.",
			parse: func(c *Config, v string) error { return parseOptional(v, &c.ExtraCAFile, parseCAFile) },
		},
		{
			Key:   "ARENA_TRUSTED_PROXIES",
			Doc:   "Address ranges of reverse proxies whose X-Forwarded-For names the client, separated by commas. Empty: the connection's own address counts.",
			parse: func(c *Config, v string) error { return parseTrustedProxies(v, &c.TrustedProxies) },
		},
		{
			Key: "ARENA_HEALTH_INTERVAL", Default: "30s",
			Doc: "Time between two health checks of an agent, 1s to 1h.",
			parse: func(c *Config, v string) error {
				return parseDuration(v, &c.HealthInterval, time.Second, time.Hour)
			},
		},
		{
			Key: "ARENA_HEALTH_WORKERS", Default: "512",
			Doc:   "Maximum number of concurrent health checks, 1 to 10000. The arena uses as many as it needs to keep up with the interval.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.HealthWorkers, 10_000) },
		},
		{
			Key:   "ARENA_CANARY_TARGETS",
			Doc:   "Up to 8 addresses outside this network, host:port separated by commas, that accept connections while the network works. While no address does, failed health checks do not count and open rounds are void. Empty: a sample of healthy agents of different owners.",
			parse: func(c *Config, v string) error { return parseTargets(v, &c.CanaryTargets) },
		},
		{
			Key: "ARENA_EVENT_RATE", Default: "20/s",
			Doc:   "Stream events that a seat may send per second in the long run, 1/s to 1000/s.",
			parse: func(c *Config, v string) error { return parseCount(strings.TrimSuffix(v, "/s"), &c.EventRate, 1000) },
		},
		{
			Key: "ARENA_EVENT_BURST", Default: "40",
			Doc:   "Stream events that a seat may send at once, 1 to 10000.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.EventBurst, 10_000) },
		},
		{
			Key: "ARENA_EVENT_MAX", Default: "2000",
			Doc:   "Stream events that a seat may send in one match, 1 to 1000000.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.EventMax, 1_000_000) },
		},
		{
			Key: "ARENA_SPECTATORS", Default: "20000",
			Doc:   "Open streams that this node serves at the same time, 1 to 1000000; each is an open file and about 12 KiB.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.Spectators, 1_000_000) },
		},
		{
			Key: "ARENA_SPECTATORS_PER_ADDRESS", Default: "64",
			Doc:   "Open streams that one client address may have, 1 to 1000000.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.SpectatorsPerAddress, 1_000_000) },
		},
		{
			Key: "ARENA_REQUESTS_PER_ADDRESS", Default: "6000",
			Doc:   "Requests that one client address may send in a minute to /a2a, /agora, /relay, /agentprotocol and /v1/stream together, and as many to the API with tokens, 1 to 10000000.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.RequestsPerAddress, 10_000_000) },
		},
		{
			Key: "ARENA_PAGES_PER_ADDRESS", Default: "600",
			Doc:   "Pages and files of pages that one client address may request in a minute, 1 to 10000000.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.PagesPerAddress, 10_000_000) },
		},
		{
			Key: "ARENA_MIB_PER_ADDRESS", Default: "256",
			Doc:   "Mebibytes that one client address may exchange in a minute with those paths, and as many with the pages, 1 to 1048576. Frames of WebSockets are not counted.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.MiBPerAddress, 1<<20) },
		},
		{
			Key: "ARENA_RELAY_MIB_PER_OWNER", Default: "64",
			Doc:   "Mebibytes of envelopes that the relay keeps for the agents of one owner, 1 to 1048576. The oldest beyond half of it are deleted after 15 minutes; what does not fit is refused.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.RelayMiBPerOwner, 1<<20) },
		},
		{
			Key: "ARENA_JUDGE_SECONDS_PER_OWNER", Default: "300",
			Doc:   "Seconds of processor time in an hour to judge the programs that one owner's agents answer with, 1 to 1000000. An owner beyond it starts no challenge in a league of the judge code, and its challenges under way are judged after all others. Rated matches are judged in any case.",
			parse: func(c *Config, v string) error { return parseCount(v, &c.JudgeSecondsPerOwner, 1_000_000) },
		},
		{
			Key:   "ARENA_AGENTPROTOCOL_DIR",
			Doc:   "Directory in which agents of AgentProtocol and the arena exchange messages as files, for leagues on one machine. Empty: none.",
			parse: func(c *Config, v string) error { c.AgentProtocolDir = v; return nil },
		},
		{
			Key:   "ARENA_DOWNLOAD_DIR",
			Doc:   "Folder of programs that authors on other platforms install from this arena (/install.sh), at OS-ARCH/arena, such as darwin-arm64/arena. Empty: the running program, for its own platform.",
			parse: func(c *Config, v string) error { c.DownloadDir = v; return nil },
		},
		{
			Key: "ARENA_SHUTDOWN_GRACE", Default: "30s",
			Doc: "Time that open rounds have to end after SIGTERM, 0s to 10m. A second signal ends the process at once.",
			parse: func(c *Config, v string) error {
				return parseDuration(v, &c.ShutdownGrace, 0, 10*time.Minute)
			},
		},
		{
			Key: "ARENA_ARCHIVE_AFTER", Default: "10m",
			Doc:   "Time after the end of a match until its events are packed into one compressed row, 1s to 365d; they stay readable as before. 0: never.",
			parse: func(c *Config, v string) error { return parseAge(v, &c.ArchiveAfter, time.Second, 365*day) },
		},
		{
			Key: "ARENA_KEEP_EVENTS", Default: "0",
			Doc:   "Time after the end of a match until its events are dropped, 1h to 36500d; result, answers and ratings stay. 0: they are kept forever.",
			parse: func(c *Config, v string) error { return parseAge(v, &c.KeepEvents, time.Hour, 36500*day) },
		},
		{
			Key: "ARENA_KEEP_DELIVERIES", Default: "90d",
			Doc:   "Time that the requests sent to agents, with their replies, can be looked up, 1h to 36500d. 0: forever.",
			parse: func(c *Config, v string) error { return parseAge(v, &c.KeepDeliveries, time.Hour, 36500*day) },
		},
		{
			Key:   "ARENA_BACKUP_TO",
			Doc:   "Where the arena backs itself up to, for this arena alone: an existing folder, or s3://bucket/prefix. Empty: no scheduled backups.",
			parse: func(c *Config, v string) error { return parseOptional(v, &c.Backup.To, parseBackupTo) },
		},
		{
			Key: "ARENA_BACKUP_SCHEDULE", Default: "24h",
			Doc:   "When: an interval after the last good backup, 10m to 31d, or a cron expression in UTC such as 0 3 * * *. The first backup is made at once; one that failed is tried again every hour.",
			parse: func(c *Config, v string) error { return parseBackupSchedule(v, &c.Backup.Schedule) },
		},
		{
			Key: "ARENA_BACKUP_KEEP", Default: "7",
			Doc:   "Number of newest backups to keep there, 1 to 10000; older ones are removed after each good backup. Other files are never touched. all: keep every backup.",
			parse: func(c *Config, v string) error { return parseKeep(v, &c.Backup.Keep) },
		},
		{
			Key:   "ARENA_BACKUP_S3_ENDPOINT",
			Doc:   "URL of the service that has the bucket. Empty: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, else Amazon S3.",
			parse: func(c *Config, v string) error { return parseURL(v, &c.Backup.Endpoint, "https", "http") },
		},
		{
			Key:   "ARENA_BACKUP_S3_REGION",
			Doc:   "Region of the bucket. Empty: AWS_REGION or AWS_DEFAULT_REGION, else the service is asked.",
			parse: func(c *Config, v string) error { c.Backup.Region = v; return nil },
		},
		{
			Key: "ARENA_BACKUP_S3_KEY", Secret: true,
			Doc:   "Id of the access key, which may list the bucket and get, put and delete objects. Empty: AWS_ACCESS_KEY_ID, with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.",
			parse: func(c *Config, v string) error { c.Backup.Key = v; return nil },
		},
		{
			Key: "ARENA_BACKUP_S3_SECRET", Secret: true,
			Doc:   "Secret of that key.",
			parse: func(c *Config, v string) error { c.Backup.Secret = v; return nil },
		},
		{
			Key: "ARENA_LOG_FORMAT", Default: LogAuto,
			Doc:   "auto (text on a terminal, else json), json or text.",
			parse: func(c *Config, v string) error { return parseOneOf(v, &c.LogFormat, LogAuto, LogJSON, LogText) },
		},
		{
			Key: "ARENA_LOG_LEVEL", Default: "info",
			Doc:   "debug, info, warn or error.",
			parse: func(c *Config, v string) error { return parseLevel(v, &c.LogLevel) },
		},
		{
			Key:   "ARENA_OTLP_URL",
			Doc:   "Base URL of an OpenTelemetry collector that gets traces and metrics by OTLP over HTTP, such as http://localhost:4318; /v1/traces and /v1/metrics are added. Tasks then have a traceparent. Empty: nothing is exported.",
			parse: func(c *Config, v string) error { return parseURL(v, &c.OTLPURL, "https", "http") },
		},
		{
			Key: "ARENA_OTLP_HEADERS", Secret: true,
			Doc:   "Headers of requests to the collector, name=value separated by commas, such as Authorization=Bearer KEY.",
			parse: func(c *Config, v string) error { return parseHeaders(v, &c.OTLPHeaders) },
		},
		{
			Key: "ARENA_TRACE_RATIO", Default: "1",
			Doc:   "Share of matches that are traced, 0 to 1. All nodes trace the same matches.",
			parse: func(c *Config, v string) error { return parseRatio(v, &c.TraceRatio) },
		},
		{
			Key:   "ARENA_OIDC_ISSUER",
			Doc:   "OpenID Connect issuer that people sign in with, and whose tokens the arena accepts beside its own: an https URL, exactly as in iss. Empty: none.",
			parse: func(c *Config, v string) error { return parseIssuer(v, &c.OIDCIssuer) },
		},
		{
			Key:   "ARENA_OIDC_AUDIENCE",
			Doc:   "Audience (aud) that those tokens must name. Empty: no bearer tokens of the issuer are accepted.",
			parse: func(c *Config, v string) error { c.OIDCAudience = v; return nil },
		},
		{
			Key:   "ARENA_OIDC_CLIENT_ID",
			Doc:   "Client id of the arena at that issuer, with which people sign in with a browser. The issuer must allow the redirect to ARENA_PUBLIC_URL/v1/signin/callback. Empty: people sign in with tokens alone.",
			parse: func(c *Config, v string) error { c.OIDCClientID = v; return nil },
		},
		{
			Key: "ARENA_OIDC_CLIENT_SECRET", Secret: true,
			Doc:   "Secret of that client. Empty: a public client, which only PKCE protects.",
			parse: func(c *Config, v string) error { c.OIDCClientSecret = v; return nil },
		},
		{
			Key:   "ARENA_OIDC_NAME",
			Doc:   "Name of the issuer on the button to sign in, at most 40 characters. Empty: the host of ARENA_OIDC_ISSUER.",
			parse: func(c *Config, v string) error { return parseProviderName(v, &c.OIDCName) },
		},
		{
			Key: "ARENA_OIDC_ADMIN_CLAIM", Default: "roles",
			Doc:   "Claim that makes the holder of such a token an admin when it is, or lists, ARENA_OIDC_ADMIN_VALUE. Dots lead into objects: realm_access.roles.",
			parse: func(c *Config, v string) error { c.OIDCAdminClaim = v; return nil },
		},
		{
			Key: "ARENA_OIDC_ADMIN_VALUE", Default: "arena-admin",
			Doc:   "That value. Empty: no token of the issuer makes an admin.",
			parse: func(c *Config, v string) error { c.OIDCAdminValue = v; return nil },
		},
		{
			Key:   "ARENA_SMTP",
			Doc:   "Server that delivers mail to owners: smtp://user@host:587, which has to offer STARTTLS unless it is on this machine, or smtps://user@host:465. Without a user the arena does not sign in. Empty: the arena sends no mail.",
			parse: func(c *Config, v string) error { return parseSMTP(v, &c.SMTP) },
		},
		{
			Key: "ARENA_SMTP_PASSWORD", Secret: true,
			Doc:   "Password of that user.",
			parse: func(c *Config, v string) error { c.SMTPPassword = v; return nil },
		},
		{
			Key:   "ARENA_MAIL_FROM",
			Doc:   "Address that mails come from, such as arena@example.org or Arena <arena@example.org>.",
			parse: func(c *Config, v string) error { return parseOptional(v, &c.MailFrom, parseSender) },
		},
		{
			Key:   "ARENA_JUDGE_URL",
			Doc:   "Base URL of an OpenAI-compatible service whose language model judges answers, such as https://api.openai.com/v1; /chat/completions is added. Empty: no league can have the judge model.",
			parse: func(c *Config, v string) error { return parseURL(v, &c.JudgeURL, "https", "http") },
		},
		{
			Key:   "ARENA_JUDGE_MODEL",
			Doc:   "Name of that model. It is part of every verdict, which is public.",
			parse: func(c *Config, v string) error { c.JudgeModel = v; return nil },
		},
		{
			Key: "ARENA_JUDGE_KEY", Secret: true,
			Doc:   "Bearer key for that service. Empty: none is sent.",
			parse: func(c *Config, v string) error { c.JudgeKey = v; return nil },
		},
	}
}

// Names that are no settings of the server, but may stand in its environment.
const (
	configKey  = "ARENA_CONFIG" // the settings file; not in the file itself
	clientKey  = "ARENA_URL"    // where clients of a running arena find it
	testPrefix = "ARENA_TEST_"  // switches of the project's own tests
)

// maxTypos is how many letters may be wrong in a name that was meant to be
// another one.
const maxTypos = 2

// nearest returns the known key that an unknown one was most likely meant to
// be, "" when none is near.
func nearest(unknown string, known []string) string {
	best, distance := "", maxTypos+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := plaintext.Distance(unknown, k, maxTypos); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// unknownKey is the error for a name that is no setting.
func unknownKey(key string, known []string) error {
	if near := nearest(key, known); near != "" {
		return fmt.Errorf("%s: no such setting, did you mean %s?", key, near)
	}
	return fmt.Errorf("%s: no such setting; %s lists them all", key, strconv.Quote("arena config"))
}
