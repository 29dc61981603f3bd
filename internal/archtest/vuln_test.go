package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// make vuln fails when a module has a known vulnerability, also when the
// database is gone for the modules after it, and is loud about what it did not
// check.
func TestVuln_script(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		modules string // what the fake govulncheck reports about each
		fails   bool
		loud    bool
	}{
		"clean":                    {"clean clean", false, false},
		"found":                    {"clean found", true, false},
		"found, then clean":        {"found clean", true, false},
		"found, then out of reach": {"found away", true, true},
		"out of reach":             {"away away", false, true},
		"broken":                   {"broken clean", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fake := `#!/bin/sh
case "$*" in
*"-C found"*) echo "Vulnerability #1: GO-2026-0001"; exit 3;;
*"-C away"*) echo "govulncheck: fetching vulnerabilities: Get \"https://vuln.go.dev\": no such host"; exit 1;;
*"-C broken"*) echo "govulncheck: loading packages: there are errors"; exit 1;;
esac
echo "No vulnerabilities found."
`
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte(fake), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "bash", append([]string{filepath.Join(root(t), "scripts", "vuln.sh")}, strings.Fields(c.modules)...)...)
			cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails || strings.Contains(string(out), "NOT CHECKED") != c.loud {
				t.Errorf("error %v, want one: %t; printed\n%s", err, c.fails, out)
			}
		})
	}
}

// Every module, and the image, is built with the same patch release of Go: an
// older one may have known vulnerabilities. The SDK names it as its toolchain,
// so that it does not decide for the programs that import it.
func TestModules_GoPatch(t *testing.T) {
	t.Parallel()
	read := func(file, expression string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(expression).FindSubmatch(text)
		if found == nil {
			return ""
		}
		return string(found[1])
	}
	want := read("go.mod", `(?m)^go (1\.\d+\.[1-9]\d*)$`)
	if want == "" {
		t.Fatal("go.mod names no patch release")
	}
	for file, expression := range map[string]string{
		"cmd/chaos/go.mod": `(?m)^go (\S+)$`, "sdk/go/go.mod": `(?m)^toolchain go(\S+)$`, "Dockerfile": `golang:(\S+)-bookworm`,
	} {
		if got := read(file, expression); got != want {
			t.Errorf("%s is for Go %q, go.mod for %q", file, got, want)
		}
	}
}
