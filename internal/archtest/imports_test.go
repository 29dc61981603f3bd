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

// layers lists the folders from top to bottom. A package imports packages of its
// own folder and of the layers below it; rules may import each other. The longest entry that matches decides,
// so league is a service and league/format a rule.
func layers() [][]string {
	return [][]string{
		{"cmd", "e2e"},
		{"examples"},
		{"server"},
		{"api"},
		{"protocol", "stream", "sdk", "web"},
		services(),
		{"visibility"},
		{"internal"},
		{"store"},
		rules(),
		{"arena"},
		{"internal/strictjson", "internal/apiclient", "internal/userconfig", "internal/archtest", "migrations", "sdk/go"},
	}
}

// services decide over time. They know no HTTP.
func services() []string {
	return []string{"account", "health", "judge", "league", "match", "registry"}
}

// rules are pure: they do no I/O and read no clock.
func rules() []string {
	return []string{"league/format", "league/audit", "league/game", "league/matching", "league/pack", "league/schedule", "league/settings", "record", "scoring", "visibility/mode", "visibility/seal", "internal/plaintext"}
}

// homes lists the packages that may import a library. A library that is missing
// here may be imported anywhere.
func homes() map[string][]string {
	return map[string][]string{
		"net/http":                               {"api", "cmd", "examples", "internal", "judge", "protocol", "registry/rehearsal", "sdk", "server", "stream", "web"},
		"os/exec":                                {"cmd", "e2e", "internal", "sdk/pack", "store/pgserver", "store/storetest", "stream/bus/redistest"},
		"database/sql":                           {"store", "cmd"},
		"modernc.org/sqlite":                     {"store/internal/db"},
		"github.com/jackc/pgx/v5":                {"store/internal/db", "store/storetest", "cmd/chaos"},
		"github.com/pressly/goose/v3":            {"store"},
		"github.com/gin-gonic/gin":               {"api"},
		"github.com/danielgtaylor/huma/v2":       {"api"},
		"github.com/redis/go-redis/v9":           {"stream/bus"},
		"github.com/coder/websocket":             {"stream", "protocol/agentprotocol", "sdk/go", "cmd/chaos"},
		"github.com/robfig/cron/v3":              {"server", "league/schedule"},
		"github.com/prometheus/client_golang":    {"server", "internal/telemetry"},
		"go.opentelemetry.io":                    {"internal/telemetry"},
		"github.com/golang-jwt/jwt/v5":           {"internal/token", "sdk/go"},
		"github.com/MicahParks":                  {"internal/token", "sdk/go"},
		"github.com/modelcontextprotocol/go-sdk": {"api/mcp", "cmd/arena"},
		"github.com/coreos/go-oidc/v3":           {"internal/signin"},
		"github.com/wneessen/go-mail":            {"internal/mail"},
		"github.com/minio/minio-go/v7":           {"internal/backup/s3"},
		"golang.org/x/crypto/acme":               {"internal/certs"},
		"golang.org/x/image":                     {"api/card"},
		"github.com/corentings/chess/v2":         {"league/game/rules", "league/game/players"},
		"github.com/dop251/goja":                 {"scoring/sandbox"}, // untrusted code runs in worker processes only
		module + "scoring/sandbox":               {"internal/script/worker", "scoring/sandbox"},
		module + "internal/script/worker":        {"cmd/arena"},
	}
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

// within reports whether name is p or lies below it.
func within(name, p string) bool { return name == p || strings.HasPrefix(name, p+"/") }

// layerOf returns the number of a folder's layer, counted from the top, and the
// entry that decided; -1 when there is none.
func layerOf(dir string) (number int, entry string) {
	number = -1
	for n, layer := range layers() {
		for _, e := range layer {
			if within(dir, e) && len(e) > len(entry) {
				number, entry = n, e
			}
		}
	}
	return number, entry
}

// refusal returns why a package may not import another, or "".
func refusal(dir, pkg string) string {
	for library, only := range homes() {
		if within(pkg, library) && !slices.ContainsFunc(only, func(home string) bool { return within(dir, home) }) {
			return "only " + strings.Join(only, ", ") + " may"
		}
	}
	layer, entry := layerOf(dir)
	target, ours := dirOf(pkg)
	switch {
	case layer < 0:
		return dir + " has no layer; add it to one"
	case within(dir, "sdk/go") && ours && !within(target, "sdk/go"):
		return "agents of others import the SDK without the arena"
	case (slices.Contains(rules(), entry) || entry == "arena") && slices.Contains([]string{"net/http", "os", "os/exec", "database/sql"}, pkg):
		return "rules do no I/O"
	case !ours:
		return ""
	case strings.HasSuffix(pkg, "test") && !strings.HasSuffix(dir, "test"):
		return "it is for tests"
	}
	if below, other := layerOf(target); below < layer || below == layer && other != entry && !slices.Contains(rules(), entry) {
		return target + " is not below " + dir
	}
	return ""
}

func parse(t *testing.T, file string, mode parser.Mode) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), file), nil, mode)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Imports point down. Tests and packages for tests combine real parts; there the
// compiler alone decides.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".go") {
		dir := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(dir, "test") {
			continue
		}
		for _, spec := range parse(t, file, parser.ImportsOnly).Imports {
			pkg, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := refusal(dir, pkg); why != "" {
				t.Errorf("%s imports %s: %s", file, pkg, why)
			}
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
