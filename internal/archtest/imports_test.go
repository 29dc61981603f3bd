package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// importRule lists the packages that the sources of a directory may import in
// addition to the standard library.
type importRule struct {
	dir     string   // relative to the module; "protocol/*" matches each package right below
	ours    []string // packages of this module; may end in "/*"
	outside []string // third-party modules, or packages within them
	tests   []string // modules that only the tests import
	why     string
}

// importRules returns the rules of all packages. There are three layers: the
// domain types (arena) and the utility packages, which import nothing; services,
// actors and pure rules, which import the domain types; adapters, which import
// the domain types and one technology. cmd/arena connects them.
func importRules() []importRule {
	domain := []string{"arena"}
	return []importRule{
		{dir: "arena", why: "the domain types depend on no technology: standard library only"},
		{dir: "arena/strictjson", outside: []string{"github.com/go-json-experiment/json"}, why: "utility: the one JSON decoder"},
		{dir: "arena/visibility/seal", ours: domain, why: "utility: pure"},
		{dir: "arena/visibility/mode", ours: domain, why: "pure: what each visibility mode does"},
		{dir: "arena/plaintext", ours: domain, outside: []string{"golang.org/x/text/cases", "golang.org/x/text/unicode/norm"}, why: "utility: pure; what people may enter as names and texts"},
		{dir: "arena/record", ours: domain, why: "utility: pure; records are made on one side and checked on the other"},
		{dir: "arena/visibility", ours: []string{"arena", "arena/visibility/mode"}, why: "service: what spectators may see, and when; the only way to a public read"},
		{dir: "arena/visibility/visibilitytest", ours: []string{"arena", "arena/visibility"}, why: "visible matches for tests"},
		{dir: "scoring", ours: append([]string{"sdk/go/modeltext"}, domain...), outside: []string{"golang.org/x/text/unicode/norm"}, why: "pure: points and ratings depend on nothing that changes; it reads answers with the reader that authors have"},
		{dir: "scoring/sandbox", outside: []string{"github.com/dop251/goja"}, why: "the only package that imports the JavaScript interpreter; only arena/script/worker may import it, so that no server process runs untrusted code"},
		{dir: "scoring/sandbox/sandboxtest", ours: []string{"arena", "scoring/sandbox"}, why: "runs scripts in the process of a test"},
		{
			dir: "arena/script", ours: []string{"arena", "arena/script/internal/wire"},
			why: "adapter: the only package that starts processes for untrusted code",
		},
		{dir: "arena/script/internal/wire", why: "frames between the script pool and its workers"},
		{
			dir: "arena/script/worker", ours: []string{"arena/script/internal/wire", "scoring/sandbox"}, why: "the inside of a script worker: cmd/arena/script_worker.go starts it, and nothing else",
			outside: []string{"github.com/elastic/go-seccomp-bpf", "github.com/landlock-lsm/go-landlock", "golang.org/x/sys/unix"},
		},

		{dir: "arena/quota", ours: domain, outside: []string{"golang.org/x/time/rate"}, why: "how often callers may do what the API and the services offer"},
		{
			dir: "arena/backup", ours: domain, why: "service: what makes, stores and fills copies is handed in",
			outside: []string{"github.com/klauspost/compress/zstd"},
		},
		{
			dir: "arena/backup/s3", ours: domain, why: "adapter: the only package that imports a client of S3",
			outside: []string{"github.com/minio/minio-go/v7"},
		},
		{dir: "arena/account", ours: domain, why: "service: its parts are handed in"},
		{
			dir: "arena/signin", ours: domain, why: "adapter: the only package that signs people in with an OIDC provider; what their claims mean is handed in",
			outside: []string{"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2"}, tests: []string{"github.com/golang-jwt/jwt/v5"},
		},
		{dir: "arena/signin/signintest", ours: []string{"internal/testneed"}, why: "a real OIDC provider for tests"},
		{
			dir: "arena/mail", ours: []string{"arena", "arena/plaintext"}, outside: []string{"github.com/wneessen/go-mail"},
			why: "adapter: the only package that sends mail; the queue is handed in", tests: []string{"github.com/google/go-cmp"},
		},
		{dir: "arena/mail/mailtest", ours: []string{"internal/testneed"}, why: "an SMTP server for tests"},
		{dir: "arena/match", ours: []string{"arena", "arena/record"}, why: "service: its parts are handed in"},
		{dir: "arena/vote", ours: []string{"arena", "arena/quota", "arena/visibility"}, why: "service: the rows are handed in"},
		{dir: "arena/takeout", ours: domain, why: "adapter: the archive of an owner's data; the rows are handed in"},
		{dir: "arena/vitals", ours: domain, outside: []string{"golang.org/x/sys"}, why: "service: what it looks at is handed in"},
		{dir: "arena/registry", ours: domain, why: "service: its parts are handed in"},
		{dir: "arena/match/engine", ours: []string{"arena", "scoring", "league/game", "arena/visibility/mode"}, why: "actor: its parts are handed in"},
		{dir: "arena/judge", ours: []string{"arena", "scoring", "sdk/go/modeltext"}, why: "actor: its parts are handed in"},
		{dir: "arena/rehearsal", ours: domain, why: "actor: its parts are handed in"},
		{dir: "league/pack", ours: []string{"arena", "arena/plaintext", "scoring"}, why: "pure: where tasks come from"},
		{dir: "league/matching", why: "pure: graphs and weights, standard library only"},
		{dir: "league/format", ours: []string{"arena", "league/matching"}, why: "pure: who meets whom follows from a season's state alone"},
		{
			dir: "league/game/rules", ours: domain, why: "pure: the rules of turn-based games; those of chess are a library's",
			outside: []string{"github.com/corentings/chess/v2"},
		},
		{dir: "league/game/playout", ours: []string{"arena", "league/game/rules"}, why: "pure: tries out the rules of games"},
		{dir: "league/game/scripted", ours: []string{"arena", "league/game/rules"}, why: "rules of games in JavaScript: what runs the scripts is handed in"},
		{dir: "league/game/catalog", ours: []string{"arena", "league/game/rules", "league/game/scripted", "league/game/playout"}, why: "finds games by name: what runs scripts and what stores them is handed in"},
		{dir: "league/game", ours: []string{"arena", "arena/record", "arena/strictjson", "scoring", "league/game/rules"}, why: "pure: the games that matches are played in"},
		{dir: "league/settings", ours: []string{"arena", "scoring", "league/pack", "league/format", "league/game/rules"}, why: "pure: which settings of a league hold together"},
		{dir: "league", ours: []string{"arena", "scoring", "league/pack", "league/format", "league/game", "league/game/rules", "league/settings"}, why: "actor: its parts are handed in"},
		{dir: "health", ours: domain, why: "actor: its parts are handed in"},

		{
			dir: "arena/api", ours: []string{"arena", "arena/quota", "arena/visibility", "arena/vitals"}, why: "adapter: the only package that imports Gin and Huma",
			outside: []string{"github.com/gin-gonic/gin", "github.com/danielgtaylor/huma/v2", "github.com/klauspost/compress/gzhttp"},
		},
		{
			dir: "arena/certs", ours: domain, outside: []string{"golang.org/x/crypto/acme"},
			why: "adapter: the only package that imports the ACME client",
		},
		{dir: "arena/certs/certstest", ours: []string{"internal/testneed"}, why: "certificates and an ACME server for tests"},
		{
			dir: "arena/mcp", ours: domain, outside: []string{"github.com/modelcontextprotocol/go-sdk"},
			why: "adapter: the arena as tools; what they do is handed in, since the operations of the API and the tasks of agents are other adapters'",
		},
		{
			dir: "arena/token", ours: domain, why: "adapter: the arena's side of JSON web tokens",
			outside: []string{"github.com/golang-jwt/jwt/v5", "github.com/MicahParks/jwkset", "github.com/MicahParks/keyfunc/v3"},
		},
		{
			dir: "arena/telemetry", why: "adapter: the only package that imports OpenTelemetry; it reads the registry of metrics",
			outside: []string{
				"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/sdk/metric", "go.opentelemetry.io/otel/trace",
				"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp", "go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp",
				"go.opentelemetry.io/contrib/bridges/prometheus", "github.com/prometheus/client_golang",
			},
			tests: []string{"go.opentelemetry.io/proto/otlp", "google.golang.org/protobuf"},
		},
		{
			dir: "store", ours: []string{"arena", "migrations", "store/budgets", "store/certificates", "store/mailbox", "store/outbox", "store/people", "store/results", "store/internal/base", "store/internal/db", "store/internal/writer"}, why: "adapter: every SQL statement",
			outside: []string{"github.com/pressly/goose/v3", "github.com/klauspost/compress", "golang.org/x/net/publicsuffix"},
		},
		{dir: "store/fill", why: "rows for benchmarks and tests of queries, by plain SQL; standard library only"},
		{
			dir: "store/internal/db", ours: domain, why: "adapter: the only package that imports SQL drivers",
			outside: []string{"modernc.org/sqlite", "github.com/jackc/pgx/v5"},
		},
		{dir: "store/certificates", ours: []string{"arena", "store/internal/base", "store/internal/db"}, why: "adapter: the statements of what nodes share to serve TLS"},
		{dir: "store/internal/base", ours: []string{"arena", "store/internal/db"}, why: "what every group of rows needs, with the audit entries that go along with a change"},
		{dir: "store/people", ours: []string{"arena", "store/internal/base", "store/internal/db"}, why: "adapter: the statements of roles, sessions and invitations"},
		{dir: "store/outbox", ours: []string{"arena", "store/internal/base", "store/internal/db"}, why: "adapter: the statements of mails to owners and the links in them"},
		{dir: "store/mailbox", ours: []string{"arena", "store/internal/base", "store/internal/db"}, why: "adapter: the statements of messages, envelopes and pulled tasks"},
		{dir: "store/results", ours: []string{"arena", "store/internal/base", "store/internal/db"}, why: "adapter: the statements of counted games"},
		{dir: "store/budgets", ours: []string{"arena", "store/internal/base", "store/internal/db"}, why: "adapter: the statements of what agents have played and spent"},
		{dir: "store/internal/writer", ours: []string{"arena", "store/internal/db"}, why: "group commit: no statements of its own"},
		{
			dir: "store/pgserver", why: "the paths and the user of PostgreSQL's programs",
		},
		{
			dir: "store/storetest", ours: []string{"arena", "arena/visibility", "internal/testneed", "migrations", "store", "store/pgserver"}, why: "the suite that every engine passes, and databases to run it on",
			outside: append(testLibraries(), "github.com/jackc/pgx/v5"),
		},
		{
			dir: "arena/card", ours: []string{"arena", "arena/visibility"}, why: "adapter: the only package that draws images",
			outside: []string{"golang.org/x/image"},
		},
		{dir: "migrations", why: "embedded files only"},
		{
			dir: "stream", ours: []string{"arena", "arena/visibility", "stream/ws"}, why: "adapter: topics and their spectators",
			outside: []string{"golang.org/x/time/rate"},
		},
		{
			dir: "stream/ingest", ours: []string{"arena", "arena/visibility", "arena/visibility/mode", "stream/ws"}, why: "adapter: events of agents",
			outside: []string{"golang.org/x/time/rate"},
		},
		{
			dir: "stream/ws", ours: domain, why: "adapter: the only package that serves the sockets of /v1/stream",
			outside: []string{"github.com/coder/websocket"},
		},
		{
			dir: "stream/streamtest", ours: []string{"arena", "arena/visibility", "arena/visibility/mode"}, why: "an event log and clients of streams for tests",
			outside: []string{"github.com/coder/websocket"},
		},
		{
			dir: "stream/bus", why: "adapter: the only package that imports Redis; the hub uses an interface",
			outside: []string{"github.com/redis/go-redis/v9"},
		},
		{dir: "stream/bus/redistest", ours: []string{"internal/testneed"}, why: "Redis servers for tests, with a minimal client of its own"},
		{
			dir: "protocol", ours: domain, why: "adapter: the only guarded client for untrusted endpoints",
			outside: []string{"code.dny.dev/ssrf", "golang.org/x/net/idna", "golang.org/x/sys/unix"},
			tests:   []string{"golang.org/x/net/dns/dnsmessage"},
		},
		{dir: "protocol/task", ours: domain, why: "shared by the protocols: the encoding of tasks and answers"},
		{dir: "protocol/mailbox", ours: domain, why: "shared by the protocols: waiting for messages across nodes"},
		{dir: "protocol/conformance", ours: []string{"arena", "protocol"}, why: "the checks of an author's agent; drivers and profiles are handed in"},
		{dir: "protocol/aap/pull", ours: []string{"arena", "protocol", "protocol/aap", "protocol/task", "protocol/mailbox"}, why: "adapter: the tasks of AAP for agents without an endpoint"},
		{
			dir: "protocol/agora", ours: []string{"arena", "arena/visibility", "protocol", "protocol/task", "protocol/mailbox"}, outside: []string{"github.com/goccy/go-yaml"},
			why: "adapter: two-party Agora; its Protocol Documents begin with YAML",
		},
		{
			dir: "protocol/envelope", ours: []string{"arena", "protocol", "protocol/task"}, why: "adapter: signed envelopes, threads, and the driver that plays through them",
			outside: []string{"github.com/mr-tron/base58"}, tests: []string{"github.com/gowebpki/jcs"},
		},
		{dir: "protocol/envelope/relay", ours: []string{"arena", "protocol/envelope"}, why: "adapter: the relay over HTTP"},
		{
			dir: "protocol/agentprotocol", ours: []string{"arena", "protocol", "protocol/task"},
			why:     "adapter: the driver of signed messages and the arena's side of their three transports",
			outside: []string{"github.com/coder/websocket", "golang.org/x/time/rate"},
		},
		{
			dir: "protocol/a2a", ours: []string{"arena", "protocol", "protocol/task"}, why: "adapter: agents that are called over A2A",
			tests: []string{"github.com/a2aproject/a2a-go"},
		},
		{dir: "protocol/*", ours: []string{"arena", "protocol", "protocol/task", "protocol/mailbox"}, why: "adapter: one driver for each protocol, on the guarded client"},
		{dir: "web", why: "adapter: embedded pages, standard library only"},
		{dir: "sdk", ours: domain, why: "adapter: embedded packages of the SDKs"},
		{dir: "sdk/pack", why: "makes packages of the SDKs, standard library only"},

		{
			dir: "sdk/go/arenaagent", why: "a module of its own, for agent authors: it never imports the arena",
			outside: []string{"github.com/golang-jwt/jwt/v5", "github.com/MicahParks/jwkset", "github.com/MicahParks/keyfunc/v3", "golang.org/x/time/rate", "github.com/coder/websocket"},
		},
		{
			dir: "sdk/go/arenaagent/*", ours: []string{"sdk/go/arenaagent"}, why: "what authors test their agents with, and other protocols for their agents",
			outside: []string{"github.com/gowebpki/jcs", "github.com/mr-tron/base58", "github.com/golang-jwt/jwt/v5", "github.com/MicahParks/jwkset", "github.com/coder/websocket"},
		},
		{dir: "sdk/go/modeltext", why: "a part of the SDK that the judges use too: it imports the standard library only"},
		{dir: "examples/*", ours: []string{"sdk/go/*"}, why: "examples import only the SDK, as the agents of others do"},

		{
			dir: "arena/server", ours: []string{"arena", "arena/*", "health", "league", "league/*", "protocol", "protocol/*", "scoring", "sdk", "store", "stream", "stream/*", "web"},
			why:     "composition root: connects the parts of a node",
			outside: []string{"github.com/robfig/cron/v3", "github.com/prometheus/client_golang"}, tests: []string{"github.com/coder/websocket"},
		},
		{
			dir: "cmd/arena-bench", ours: []string{"arena", "arena/*", "internal/apiclient", "scoring", "store/*", "stream", "stream/*"},
			why: "benchmarks: measure the parts of a node", outside: []string{"github.com/alecthomas/kong"},
		},
		{
			dir: "cmd/arena", ours: []string{"*"}, why: "the command line: one file for each command",
			outside: []string{"github.com/alecthomas/kong", "github.com/modelcontextprotocol/go-sdk"},
		},
		{
			dir: "cmd/chaos", ours: []string{"arena", "league/game", "scoring", "store", "store/pgserver"}, why: "a module of its own, so that its libraries stay out of the server's go.mod; it injects faults into nodes and checks the stored result; it imports store and pure rules, but no wiring",
			outside: []string{"github.com/Shopify/toxiproxy/v2", "github.com/rs/zerolog", "github.com/anishathalye/porcupine", "github.com/coder/websocket"},
		},
		{
			dir: "e2e", why: "tests of the built programs",
			tests: []string{"github.com/coder/websocket", "github.com/golang-jwt/jwt/v5", "github.com/MicahParks/keyfunc/v3", "github.com/MicahParks/jwkset", "github.com/jackc/pgx/v5", "modernc.org/sqlite", "github.com/modelcontextprotocol/go-sdk"},
		},
		{dir: "internal/join", ours: []string{"internal/apiclient", "internal/userconfig", "sdk/go/arenaagent", "sdk/go/modeltext"}, why: "the player behind arena join: an agent as authors write them, and the API as its clients see it"},
		{
			dir: "internal/cli", ours: []string{"internal/apiclient", "internal/userconfig"}, why: "the client side of the command line: what a terminal and a stored login need",
			outside: []string{"github.com/alecthomas/kong", "golang.org/x/term", "golang.org/x/text/width"},
		},
		{dir: "internal/apiclient", why: "the API as its clients see it, standard library only"},
		{dir: "internal/testneed", why: "which programs tests cannot do without, standard library only"},
		{dir: "internal/testwait", why: "how tests wait for what nothing announces, standard library only"},
		{dir: "internal/userconfig", why: "the user's own files, standard library only"},
		{dir: "internal/archtest", why: "tests that read the sources; no code"},
	}
}

// sharedLibraries may be imported by several packages; every other library has one.
func sharedLibraries() map[string]string {
	return map[string]string{
		"github.com/klauspost/compress/zstd":     "the store packs logs into rows, and arena/backup whole backups",
		"github.com/alecthomas/kong":             "the programs parse a command line, and internal/cli holds commands",
		"golang.org/x/time/rate":                 "a token bucket is small enough for each package to have its own",
		"github.com/golang-jwt/jwt/v5":           "arena/token signs what the SDK verifies, and neither may import the other",
		"github.com/MicahParks/jwkset":           "the key sets of both sides",
		"github.com/MicahParks/keyfunc/v3":       "the SDK verifies task tokens with it, and arena/token those of an OIDC issuer",
		"github.com/coder/websocket":             "stream/ws serves the sockets that the SDK and the spectators of chaos dial, protocol/agentprotocol those of signed messages",
		"github.com/mr-tron/base58":              "a did:key is written and read on both sides, and neither may import the other",
		"golang.org/x/text/unicode/norm":         "one Unicode form for answers that are compared and for names",
		"github.com/modelcontextprotocol/go-sdk": "arena/mcp serves the tools that arena mcp offers on standard input and output",
		"github.com/prometheus/client_golang":    "arena/server measures, and arena/telemetry exports what it has measured",
		"golang.org/x/sys/unix":                  "socket options of outbound connections, and limits of script workers",
	}
}

// oneFile names libraries and packages that only one file may import.
func oneFile() map[string]string {
	return map[string]string{
		"github.com/robfig/cron/v3":    "arena/server/jobs.go",
		module + "arena/script/worker": "cmd/arena/script_worker.go",
	}
}

func testLibraries() []string {
	return []string{"github.com/google/go-cmp/cmp", "pgregory.net/rapid", "go.uber.org/goleak"}
}

// utilities returns the packages that every package may import, except arena and
// the SDKs.
func utilities() []string {
	return []string{"arena/strictjson", "arena/visibility/seal", "arena/record", "arena/plaintext"}
}

const (
	module    = "github.com/agora-arena/arena/"
	sdkModule = "github.com/agora-arena/agora-go/"
)

// modules returns the directories of the repository's Go modules, relative to
// the root.
func modules() []string { return []string{".", "sdk/go", "cmd/chaos"} }

// dirOf returns the directory of a package relative to the root, and reports
// whether the package belongs to one of the repository's modules.
func dirOf(pkg string) (dir string, ours bool) {
	if name, ok := strings.CutPrefix(pkg, sdkModule); ok {
		return "sdk/go/" + name, true
	}
	return strings.CutPrefix(pkg, module)
}

// root returns the directory of the repository and of its main module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// sources returns the files of the project with one of the extensions, relative
// to the root. It leaves out installed and generated files and test data.
func sources(t *testing.T, endings ...string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(root(t)), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (slices.Contains([]string{"node_modules", "dist", "bin", "testdata", "target"}, d.Name()) || d.Name()[0] == '.'):
			return fs.SkipDir
		case !d.IsDir() && slices.Contains(endings, path.Ext(name)):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// under reports whether name is the package or module p, or lies in it.
// A p that ends in "/*" matches everything below it.
func under(name, p string) bool {
	if p == "*" {
		return true
	}
	if above, ok := strings.CutSuffix(p, "/*"); ok {
		return strings.HasPrefix(name, above+"/")
	}
	return name == p
}

func ruleOf(dir string) (importRule, bool) {
	for _, r := range importRules() {
		if r.dir == dir {
			return r, true
		}
	}
	for _, r := range importRules() {
		if above, ok := strings.CutSuffix(r.dir, "/*"); ok && path.Dir(dir) == above {
			return r, true
		}
	}
	return importRule{}, false
}

// may reports whether a file of the rule's directory may import the package.
func (r importRule) may(file, pkg string) bool {
	test := strings.HasSuffix(file, "_test.go")
	if name, ours := dirOf(pkg); ours {
		if test { // tests combine real parts; the compiler rejects cycles
			return !strings.HasPrefix(r.dir, "sdk/") || strings.HasPrefix(name, "sdk/")
		}
		utility := slices.Contains(utilities(), name) && r.dir != "arena" && !strings.HasPrefix(r.dir, "sdk/")
		return utility || slices.ContainsFunc(r.ours, func(p string) bool { return under(name, p) })
	}
	allowed := r.outside
	if test {
		allowed = slices.Concat(r.outside, r.tests, testLibraries())
	}
	return slices.ContainsFunc(allowed, func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") })
}

func parse(t *testing.T, file string, mode parser.Mode) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), file), nil, mode)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".go") {
		r, ok := ruleOf(path.Dir(file))
		if !ok {
			t.Errorf("%s: the package %s has no import rule; add one", file, path.Dir(file))
			continue
		}
		for _, spec := range parse(t, file, parser.ImportsOnly).Imports {
			pkg, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(pkg, "/")
			if !strings.Contains(first, ".") { // the standard library
				continue
			}
			if !r.may(file, pkg) {
				t.Errorf("%s imports %s; %s: %s", file, pkg, r.dir, r.why)
			}
			for library, only := range oneFile() {
				inside := pkg == library || strings.HasPrefix(pkg, library+"/")
				ownTest := strings.HasSuffix(file, "_test.go") && strings.HasPrefix(library, module)
				if inside && !ownTest && file != only && file != strings.TrimSuffix(only, ".go")+"_test.go" && path.Dir(file) != "e2e" {
					t.Errorf("%s imports %s; only %s may", file, pkg, only)
				}
			}
			if _, ours := dirOf(pkg); ours && strings.HasSuffix(pkg, "test") && !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(path.Dir(file), "test") {
				t.Errorf("%s imports %s, which is for tests", file, pkg)
			}
		}
	}
}

func TestImports_onePackagePerLibrary(t *testing.T) {
	t.Parallel()
	home := map[string]string{}
	for _, r := range importRules() {
		for _, library := range r.outside {
			_, shared := sharedLibraries()[library]
			if first, taken := home[library]; taken && !shared && !strings.HasSuffix(r.dir, "test") {
				t.Errorf("%s is imported by %s and by %s; import it in one package only", library, first, r.dir)
			}
			if !slices.Contains(testLibraries(), library) {
				home[library] = r.dir
			}
		}
	}
}

// The rules must reject the imports that the design forbids.
func TestImports_rejected(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, pkg string }{
		{"arena/match.go", "github.com/google/uuid"},
		{"scoring/code.go", module + "scoring/sandbox"},
		{"arena/script/pool.go", module + "scoring/sandbox"},
		{"arena/match/engine/judge.go", module + "arena/script/worker"},
		{"arena/match.go", module + "arena/strictjson"},
		{"scoring/rating.go", module + "store"},
		{"arena/match/engine/engine.go", module + "store"},
		{"league/scheduler.go", module + "protocol"},
		{"league/format/swiss.go", module + "store"},
		{"league/matching/max.go", module + "arena"},
		{"store/store.go", module + "stream"},
		{"arena/api/api.go", module + "arena/match/engine"},
		{"protocol/aap/driver.go", module + "protocol/agora"},
		{"store/store.go", "github.com/gin-gonic/gin"},
		{"sdk/go/arenaagent/token.go", module + "arena"},
		{"sdk/go/arenaagent/token_test.go", module + "arena/token"},
		{"arena/token/verify.go", sdkModule + "arenaagent"},
		{"scoring/rating_test.go", "github.com/stretchr/testify/assert"},
		{"store/store.go", "github.com/google/go-cmp/cmp"},
	} {
		r, ok := ruleOf(path.Dir(tc.file))
		if !ok || r.may(tc.file, tc.pkg) {
			t.Errorf("%s may import %s", tc.file, tc.pkg)
		}
	}
}

func TestPackageDoc(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{} // by directory
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		dir := path.Dir(file)
		// An example is read as one file, so the comment is in that file.
		documented[dir] = documented[dir] || (path.Base(file) == "doc.go" || strings.HasPrefix(dir, "examples/")) &&
			len(parse(t, file, parser.ParseComments|parser.PackageClauseOnly).Doc.Text()) >= 80
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no doc.go that describes what the package owns", dir)
		}
	}
}
