package server

import (
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// writeFile makes a file in the test's own directory.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, environ ...string) Config {
	t.Helper()
	c, err := Load(Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoad_Defaults(t *testing.T) {
	t.Parallel()
	c := load(t, "PATH=/bin", "HOME=/")
	if got, want := c.PublicURL.String(), "http://localhost:8080"; got != want {
		t.Errorf("PublicURL = %s, want %s", got, want)
	}
	if now := time.Now(); !c.Backup.Schedule(now).Equal(now.Add(24 * time.Hour)) {
		t.Errorf("backups are scheduled at %v", c.Backup.Schedule(now))
	}
	c.PublicURL, c.values, c.Backup.Schedule = nil, nil, nil
	acmeURL, err := url.Parse("https://acme-v02.api.letsencrypt.org/directory")
	must(t, err)
	want := Config{
		Backup: backupSettings{Keep: 7},
		Addr:   ":8080", TLS: TLSOff, ACMEURL: acmeURL, MetricsAddr: "127.0.0.1:9090", DatabaseURL: "sqlite:arena.db",
		Signup: SignupOpen, JWTAlg: "ES256", TaskTokens: TokensRequest, HealthInterval: 30 * time.Second, HealthWorkers: 512, Spectators: 20000,
		EventRate: 20, EventBurst: 40, EventMax: 2000, SpectatorsPerAddress: 64, RequestsPerAddress: 6000, PagesPerAddress: 600, MiBPerAddress: 256, RelayMiBPerOwner: 64, JudgeSecondsPerOwner: 300,
		ShutdownGrace: 30 * time.Second, ArchiveAfter: 10 * time.Minute, KeepDeliveries: 90 * day, LogFormat: LogAuto, LogLevel: slog.LevelInfo, TraceRatio: 1,
		AuditLeagues:   true,
		GroupOwnersBy:  []arena.UnratedReason{arena.UnratedSharedEndpoint, arena.UnratedSharedKey},
		OIDCAdminClaim: "roles", OIDCAdminValue: "arena-admin",
	}
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(Config{}), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestLoad_Precedence(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "arena.env", "# settings\n\nARENA_EVENT_RATE=21\n ARENA_EVENT_BURST = '41'\nARENA_EVENT_MAX=\"2001\"\n")
	c, err := Load(Sources{
		Environ: []string{"ARENA_CONFIG=" + file, "ARENA_EVENT_BURST=42", "ARENA_EVENT_MAX=2002"},
		Flags:   map[string]string{"ARENA_EVENT_MAX": "2003"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := []int{c.EventRate, c.EventBurst, c.EventMax, c.SpectatorsPerAddress}
	if diff := cmp.Diff([]int{21, 42, 2003, 64}, got); diff != "" {
		t.Error("file < environment < flag:", diff)
	}
}

func TestLoad_FlagNamesTheFile(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "arena.env", "ARENA_ADDR=:9001\n")
	c, err := Load(Sources{Environ: []string{"ARENA_CONFIG=/nowhere"}, File: file})
	if err != nil || c.Addr != ":9001" {
		t.Errorf("Addr = %q, %v; want that of --config", c.Addr, err)
	}
}

func TestLoad_Values(t *testing.T) {
	t.Parallel()
	c := load(t,
		"ARENA_PUBLIC_URL=https://Arena.example/", "ARENA_METRICS_ADDR=", "ARENA_LOG_LEVEL=warn",
		"ARENA_TRUSTED_PROXIES=10.0.0.0/8, 192.0.2.7,2001:db8::/32", "ARENA_OIDC_ISSUER=https://a.example/t/", "ARENA_OIDC_AUDIENCE=m",
		"ARENA_DATABASE_URL=postgresql:///arena?host=/run/postgresql", "ARENA_CANARY_TARGETS=one.example:443, [2001:db8::1]:53,",
	)
	if diff := cmp.Diff([]string{"one.example:443", "[2001:db8::1]:53"}, c.CanaryTargets); diff != "" {
		t.Error(diff)
	}
	if got, want := c.PublicURL.String(), "https://arena.example"; got != want {
		t.Errorf("PublicURL = %s, want %s", got, want)
	}
	if c.MetricsAddr != "" {
		t.Errorf("MetricsAddr = %q, want it off", c.MetricsAddr)
	}
	if c.LogLevel != slog.LevelWarn {
		t.Errorf("LogLevel = %s", c.LogLevel)
	}
	var proxies []string
	for _, p := range c.TrustedProxies {
		proxies = append(proxies, p.String())
	}
	if diff := cmp.Diff([]string{"10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"}, proxies); diff != "" {
		t.Error(diff)
	}
	if got := c.OIDCIssuer.String(); got != "https://a.example/t/" {
		t.Errorf("OIDCIssuer = %s, not as it was given", got)
	}
}

// Each row is one bad setting and what its problem must name.
func TestLoad_Problems(t *testing.T) {
	t.Parallel()
	notPEM := writeFile(t, "ca.pem", "hello")
	for _, tc := range []struct {
		environ string
		want    string
	}{
		{"ARENA_CANARY_TARGETS=one.example", `ARENA_CANARY_TARGETS: "one.example" is not host:port`},
		{"ARENA_CANARY_TARGETS=:443", `ARENA_CANARY_TARGETS: ":443" needs a host and a port`},
		{"ARENA_CANARY_TARGETS=a:1,a:2,a:3,a:4,a:5,a:6,a:7,a:8,a:9", "ARENA_CANARY_TARGETS: has 9 addresses, at most 8 are allowed"},
		{"ARENA_ADDR=8080", `ARENA_ADDR: "8080" is not host:port`},
		{"ARENA_ADDR=", `ARENA_ADDR: "" is not host:port`},
		{"ARENA_ADDR=:65536", `ARENA_ADDR: port "65536" is not a number from 0 to 65535`},
		{"ARENA_ADDR=:+80", `ARENA_ADDR: port "+80"`},
		{"ARENA_ADDR=http://x:80", "ARENA_ADDR: "},
		{"ARENA_METRICS_ADDR=x", "ARENA_METRICS_ADDR: "},
		{"ARENA_METRICS_ADDR=:8080", "ARENA_METRICS_ADDR: :8080 is ARENA_ADDR"},
		{"ARENA_PUBLIC_URL=arena.example", "ARENA_PUBLIC_URL: needs the form https:// or http://host"},
		{"ARENA_PUBLIC_URL=ftp://arena.example", "ARENA_PUBLIC_URL: needs the form"},
		{"ARENA_PUBLIC_URL=http://:80", "ARENA_PUBLIC_URL: needs the form"},
		{"ARENA_PUBLIC_URL=https://arena.example/app", "ARENA_PUBLIC_URL: may hold a scheme, a host and a port only"},
		{"ARENA_PUBLIC_URL=https://u:p@arena.example", "ARENA_PUBLIC_URL: may hold"},
		{"ARENA_DATABASE_URL=arena.db", "ARENA_DATABASE_URL: needs the form sqlite:FILE or postgres://"},
		{"ARENA_DATABASE_URL=sqlite::memory:", "ARENA_DATABASE_URL: needs the name of a file"},
		{"ARENA_DATABASE_URL=postgres:///x", "ARENA_DATABASE_URL: names no host"},
		{"ARENA_ADMIN_TOKEN=short", "ARENA_ADMIN_TOKEN: has 5 characters, 16 to 256 are allowed"},
		{"ARENA_ADMIN_TOKEN=0123456789 0123456789", "ARENA_ADMIN_TOKEN: holds a character"},
		{"ARENA_SIGNUP=maybe", `ARENA_SIGNUP: "maybe" is none of open, invite, closed`},
		{"ARENA_TASK_TOKENS=round", `ARENA_TASK_TOKENS: "round" is none of request, match`},
		{"ARENA_JWT_ALG=HS256", `ARENA_JWT_ALG: "HS256" is none of ES256, EdDSA, RS256`},
		{"ARENA_ALLOW_CIDRS=10.0.0.0", ""}, // a lone address is a range of one
		{"ARENA_ALLOW_CIDRS=ten", `ARENA_ALLOW_CIDRS: "ten" is not an address range`},
		{"ARENA_ALLOW_CIDRS=10.1.2.3/8", "ARENA_ALLOW_CIDRS: 10.1.2.3/8 has bits set after its /8; did you mean 10.0.0.0/8?"},
		{"ARENA_ALLOW_CIDRS=::ffff:127.0.0.0/104", "ARENA_ALLOW_CIDRS: ::ffff:127.0.0.0/104 is an IPv4 range in IPv6 dress"},
		{"ARENA_ALLOW_CIDRS=fe80::1%eth0", "ARENA_ALLOW_CIDRS: "},
		{"ARENA_ALLOW_CIDRS_FORCE=yes", `ARENA_ALLOW_CIDRS_FORCE: "yes" is neither 1 nor 0`},
		{"ARENA_EXTRA_CA_FILE=/nowhere", "ARENA_EXTRA_CA_FILE: open /nowhere"},
		{"ARENA_EXTRA_CA_FILE=" + notPEM, "holds no PEM certificate"},
		{"ARENA_TRUSTED_PROXIES=0.0.0.0/0", "ARENA_TRUSTED_PROXIES: 0.0.0.0/0 trusts every address"}, // threat V2
		{"ARENA_TRUSTED_PROXIES=::/0", "ARENA_TRUSTED_PROXIES: ::/0 trusts every address"},
		{"ARENA_HEALTH_INTERVAL=30", `ARENA_HEALTH_INTERVAL: "30" is not a duration such as 30s`},
		{"ARENA_HEALTH_INTERVAL=10ms", "ARENA_HEALTH_INTERVAL: 10ms is outside 1s to 1h0m0s"},
		{"ARENA_EVENT_RATE=0", "ARENA_EVENT_RATE: 0 is outside 1 to 1000"},
		{"ARENA_EVENT_BURST=many", `ARENA_EVENT_BURST: "many" is not a whole number`},
		{"ARENA_EVENT_MAX=1000001", "ARENA_EVENT_MAX: 1000001 is outside 1 to 1000000"},
		{"ARENA_SPECTATORS_PER_ADDRESS=-1", "ARENA_SPECTATORS_PER_ADDRESS: -1 is outside"},
		{"ARENA_SHUTDOWN_GRACE=11m", "ARENA_SHUTDOWN_GRACE: 11m0s is outside 0s to 10m0s"},
		{"ARENA_ARCHIVE_AFTER=0", ""},
		{"ARENA_ARCHIVE_AFTER=soon", `ARENA_ARCHIVE_AFTER: "soon" is not a duration such as 36h or 90d`},
		{"ARENA_KEEP_EVENTS=30d", ""},
		{"ARENA_KEEP_EVENTS=90", `ARENA_KEEP_EVENTS: "90" is not a duration`},
		{"ARENA_KEEP_EVENTS=1m", "ARENA_KEEP_EVENTS: 1m is neither 0 nor inside 1h0m0s to 36500d"},
		{"ARENA_KEEP_DELIVERIES=-1d", `ARENA_KEEP_DELIVERIES: "-1d" is not a duration`},
		{"ARENA_KEEP_DELIVERIES=40000d", "ARENA_KEEP_DELIVERIES: 40000d is neither 0 nor inside"},
		{"ARENA_LOG_FORMAT=xml", "ARENA_LOG_FORMAT: "},
		{"ARENA_LOG_LEVEL=INFO", "ARENA_LOG_LEVEL: "},
		{"ARENA_REDIS_URL=redis://localhost", ""},
		{"ARENA_REDIS_URL=rediss://user:password@one:6379,two:6379,three", ""},
		{"ARENA_REDIS_URL=localhost:6379", "ARENA_REDIS_URL: needs the form redis://host or rediss://host"},
		{"ARENA_REDIS_URL=redis://one,two/3", "ARENA_REDIS_URL: names a database, but a cluster has only database 0"},
		{"ARENA_REDIS_URL=redis://one?pool=3", "ARENA_REDIS_URL: cannot be used: redis: unexpected option: pool"},
		{"ARENA_OIDC_ISSUER=localhost", "ARENA_OIDC_ISSUER: needs the form"},
		{"ARENA_OIDC_ISSUER=http://accounts.example", "ARENA_OIDC_ISSUER: needs https"},
		{"ARENA_OIDC_ISSUER=https://u:p@accounts.example", "ARENA_OIDC_ISSUER: may hold a scheme"},
		{"ARENA_OIDC_ISSUER=https://accounts.example", "ARENA_OIDC_AUDIENCE: must say"},
		{"ARENA_OIDC_AUDIENCE=arena", "ARENA_OIDC_ISSUER: must be set"},
		{"ARENA_OTLP_URL=collector:4318", "ARENA_OTLP_URL: needs the form https:// or http://"},
		{"ARENA_OTLP_HEADERS=Authorization", "ARENA_OTLP_HEADERS: header 1 of the list"},
		{"ARENA_TRACE_RATIO=1.5", "ARENA_TRACE_RATIO: must be a number from 0 to 1"},
		{"ARENA_TRACE_RATIO=NaN", "ARENA_TRACE_RATIO: must be a number from 0 to 1"},
		{"ARENA_JUDGE_URL=:", "ARENA_JUDGE_URL: not a URL"},
		{"ARENA_JUDGE_URL=https://llm.example/v1", "ARENA_JUDGE_MODEL: must name"},
		{"ARENA_JUDGE_KEY=k", "ARENA_JUDGE_URL: must be set"},
		{"ARENA_ADMIN_TOKEN_FILE=/nowhere", "ARENA_ADMIN_TOKEN_FILE: open /nowhere"},
		{"ARENA_CONFIG=/nowhere", "ARENA_CONFIG: settings file /nowhere: no such file"},
		{"ARENA_LOGLEVEL=info", "ARENA_LOGLEVEL: no such setting, did you mean ARENA_LOG_LEVEL?"},
		{"ARENA_ADMIN_TOKEN_FIEL=x", "did you mean ARENA_ADMIN_TOKEN_FILE?"},
		{"ARENA_SOMETHING_ELSE_ENTIRELY=1", ""}, // somebody else's
		{"ARENA_PORT=tcp://10.96.0.7:8080", ""}, // a Kubernetes Service named arena
		{"ARENA_PORT_8080_TCP_ADDR=10.96.0.7", ""},
		{"ARENA_REDIS_SERVICE_HOST=10.96.0.8", ""},
		{"ARENA_TEST_POSTGRES_URL=postgres://x", ""},
		{"ARENA_URL=http://localhost:8080", ""},
	} {
		t.Run(tc.environ, func(t *testing.T) {
			t.Parallel()
			_, err := Load(Sources{Environ: []string{tc.environ}})
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && err == nil:
				t.Error("accepted")
			case tc.want != "" && !strings.Contains(err.Error(), tc.want):
				t.Errorf("problem is %q, want %q in it", err, tc.want)
			case tc.want != "" && strings.Contains(err.Error(), "\n"):
				t.Errorf("one bad setting, several problems: %q", err)
			}
		})
	}
}

func TestLoad_GroupOwnersBy(t *testing.T) {
	t.Parallel()
	c := load(t, "ARENA_GROUP_OWNERS_BY=network, domain,network")
	want := []arena.UnratedReason{arena.UnratedSharedEndpoint, arena.UnratedSharedKey, arena.UnratedSharedNetwork, arena.UnratedSharedDomain}
	if !slices.Equal(c.GroupOwnersBy, want) {
		t.Errorf("got %q, want %q", c.GroupOwnersBy, want)
	}
	_, err := Load(Sources{Environ: []string{"ARENA_GROUP_OWNERS_BY=domain,endpoint"}})
	if err == nil || err.Error() != `ARENA_GROUP_OWNERS_BY: "endpoint" is none of domain, network` {
		t.Errorf("got %v", err)
	}
}

func TestLoad_AllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "arena.env", "ARENA_ADDR=:1\nARENA_ADDR=:2\nnonsense\nARENA_SIGNUPS=open\nARENA_EVENT_MAX=0\n")
	_, err := Load(Sources{
		Environ: []string{"ARENA_CONFIG=" + file, "ARENA_LOG_LEVL=info", "ARENA_EVENT_RATE=x"},
		Flags:   map[string]string{"ARENA_SIGNUP": "x"},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{
		"ARENA_LOG_LEVL: no such setting, did you mean ARENA_LOG_LEVEL?",
		file + ":2: ARENA_ADDR: is set twice",
		file + ":3: not KEY=VALUE",
		file + ":4: ARENA_SIGNUPS: no such setting, did you mean ARENA_SIGNUP?",
		`ARENA_SIGNUP: "x" is none of open, invite, closed`,
		`ARENA_EVENT_RATE: "x" is not a whole number`,
		"ARENA_EVENT_MAX: 0 is outside 1 to 1000000",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// Threat S8.
func TestLoad_AllowCIDRs(t *testing.T) {
	t.Parallel()
	const private = "ARENA_ALLOW_CIDRS=127.0.0.0/8,::1/128"
	for _, tc := range []struct {
		name    string
		environ []string
		want    string // "" accepted
	}{
		{"no public url", []string{private}, ""},
		{"localhost", []string{private, "ARENA_PUBLIC_URL=http://localhost:8080"}, ""},
		{"name under localhost", []string{private, "ARENA_PUBLIC_URL=http://arena.localhost"}, ""},
		{"loopback address", []string{private, "ARENA_PUBLIC_URL=http://[::1]:8080"}, ""},
		{"public name", []string{private, "ARENA_PUBLIC_URL=https://arena.example"}, "ARENA_ALLOW_CIDRS_FORCE=1"},
		{"name that only looks local", []string{private, "ARENA_PUBLIC_URL=https://localhost.example"}, "ARENA_ALLOW_CIDRS_FORCE=1"},
		{"listens on one public address", []string{private, "ARENA_ADDR=192.0.2.1:80"}, "ARENA_ALLOW_CIDRS_FORCE=1"},
		{"forced", []string{private, "ARENA_PUBLIC_URL=https://arena.example", "ARENA_ALLOW_CIDRS_FORCE=1"}, ""},
		{"metadata", []string{"ARENA_ALLOW_CIDRS=169.254.169.254/32"}, "never allowed"},
		{"metadata inside", []string{"ARENA_ALLOW_CIDRS=169.254.0.0/16"}, "never allowed"},
		{"metadata, IPv6", []string{"ARENA_ALLOW_CIDRS=fd00::/8"}, "never allowed"},
		{"everything", []string{"ARENA_ALLOW_CIDRS=0.0.0.0/0", "ARENA_ALLOW_CIDRS_FORCE=1"}, "never allowed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(Sources{Environ: tc.environ})
			if tc.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("problem is %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestLoad_SecretFromFile(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef"
	secret := writeFile(t, "token", token+"\n")
	c := load(t, "ARENA_ADMIN_TOKEN_FILE="+secret, "ARENA_ADMIN_TOKEN=")
	if c.AdminToken != token {
		t.Errorf("AdminToken = %q", c.AdminToken)
	}
	_, err := Load(Sources{Environ: []string{"ARENA_ADMIN_TOKEN_FILE=" + secret, "ARENA_ADMIN_TOKEN=" + token}})
	if err == nil || !strings.Contains(err.Error(), "keep one") {
		t.Errorf("both given: %v", err)
	}
	// The environment wins over the file, whichever form each uses.
	file := writeFile(t, "arena.env", "ARENA_ADMIN_TOKEN=another-token-altogether\n")
	c = load(t, "ARENA_CONFIG="+file, "ARENA_ADMIN_TOKEN_FILE="+secret)
	if c.AdminToken != token {
		t.Errorf("AdminToken = %q, want that of the environment", c.AdminToken)
	}
}

func TestConfig_Listening(t *testing.T) {
	t.Parallel()
	bound := &net.TCPAddr{IP: net.IPv6loopback, Port: 4711}
	for _, tc := range []struct{ name, addr, public, want string }{
		{"every interface", ":0", "", "http://localhost:4711"},
		{"every IPv4 interface", "0.0.0.0:0", "", "http://localhost:4711"},
		{"one address", "127.0.0.1:0", "", "http://127.0.0.1:4711"},
		{"given", ":0", "https://arena.example", "https://arena.example"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := load(t, "ARENA_ADDR="+tc.addr, "ARENA_PUBLIC_URL="+tc.public)
			c.Listening(bound)
			if got := c.PublicURL.String(); got != tc.want {
				t.Errorf("PublicURL = %s, want %s", got, tc.want)
			}
		})
	}
}

// A problem may be printed and logged; it must not hold the value of a secret.
func TestLoad_ProblemsHideSecrets(t *testing.T) {
	t.Parallel()
	const mark = "hunter2"
	for _, s := range Settings() {
		for _, secret := range []string{mark, "postgres://u:%" + mark + "@host", "redis://u:" + mark + "@ho st"} {
			_, err := Load(Sources{Environ: []string{s.Key + "=" + secret}})
			if s.Secret && err != nil && strings.Contains(err.Error(), mark) {
				t.Errorf("%s: the problem contains the secret: %v", s.Key, err)
			}
		}
	}
}
