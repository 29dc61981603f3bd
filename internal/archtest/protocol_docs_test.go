package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Every protocol has a table of its clauses, and every test that a table
// names exists.
func TestDocs_protocols(t *testing.T) {
	t.Parallel()
	tests := allTests(t)
	row := regexp.MustCompile(`^\| .+ \| .+ \| (.+) \|$`)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)(?:/[^`]*)?`")
	for _, protocol := range []string{arena.ProtocolAAP, arena.ProtocolAgora, arena.ProtocolEnvelope, arena.ProtocolAgentProtocol, arena.ProtocolA2A} {
		text, err := os.ReadFile(filepath.Join(root(t), "docs", "protocols", protocol+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		clauses := 0
		for line := range strings.Lines(string(text)) {
			cells := row.FindStringSubmatch(strings.TrimSpace(line))
			if cells == nil || strings.HasPrefix(line, "| clause ") || strings.HasPrefix(line, "|---") {
				continue
			}
			names := named.FindAllStringSubmatch(cells[1], -1)
			if len(names) > 0 {
				clauses++
			}
			for _, name := range names {
				if !tests[name[1]] {
					t.Errorf("docs/protocols/%s.md names %s, which is no test", protocol, name[1])
				}
			}
		}
		if clauses < 10 {
			t.Errorf("docs/protocols/%s.md has %d clauses with a test", protocol, clauses)
		}
		t.Logf("%s: %d clauses with a test", protocol, clauses)
	}
}

// allTests returns the names of all test and fuzz functions.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	name := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && d.Name() != "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range name.FindAllStringSubmatch(string(source), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
