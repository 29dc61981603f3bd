package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Alerts and dashboards ask for metrics that a node has.
func TestDeploy_Metrics(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, file := range sources(t, ".go") {
		if strings.HasPrefix(file, "server/") {
			code.WriteString(read(t, file))
		}
	}
	names := regexp.MustCompile(`arena_[a-z_]+`)
	found := 0
	for _, file := range sources(t, ".yml", ".json") {
		if !strings.HasPrefix(file, "deploy/") {
			continue
		}
		for _, name := range names.FindAllString(read(t, file), -1) {
			found++
			if !strings.Contains(code.String(), `"`+strings.TrimSuffix(name, "_bucket")+`"`) {
				t.Errorf("%s: no node has the metric %s", file, name)
			}
		}
	}
	if found == 0 {
		t.Error("no metric in deploy")
	}
}

// read returns the text of a file of the project.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
