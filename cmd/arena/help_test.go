package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// The help of every command is what users and documents rely on.
func TestHelp_golden(t *testing.T) {
	t.Parallel()
	table := commands{}
	table.Serve.Settings, table.Config.Settings = settingFlags(), settingFlags()
	parser, err := kong.New(&table, kong.Name("arena"), kong.Vars{"overlap": "1h"})
	must(t, err)
	var text strings.Builder
	err = kong.Visit(parser.Model.Node, func(node kong.Visitable, next kong.Next) error {
		n, ok := node.(*kong.Node)
		if !ok || n.Type != kong.ApplicationNode && n.Type != kong.CommandNode {
			return next(nil)
		}
		if n.Passthrough { // arena-bench prints it
			return nil
		}
		args := strings.Fields(strings.TrimPrefix(n.FullPath(), "arena"))
		code, out, errs := call(t, nil, append(args, "--help")...)
		if code != exitOK || errs != "" {
			t.Errorf("%s --help: exit code %d, stderr %q", n.FullPath(), code, errs)
		}
		fmt.Fprintf(&text, "$ %s --help\n%s\n", n.FullPath(), out)
		return next(nil)
	})
	must(t, err)
	golden := filepath.Join("testdata", "help.txt")
	if *updateGolden {
		must(t, os.WriteFile(golden, []byte(text.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("if it was meant to change, run the test with -update (-want +got):\n%s", diff)
	}
}
