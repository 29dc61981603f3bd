package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// tool is a command line to complete.
type tool struct {
	Color string `enum:"auto,never" default:"auto"`
	Agent struct {
		List struct{} `cmd:"" help:"List: all of them."`
		Logs struct {
			Name    string `arg:""`
			Order   string `arg:"" enum:"up,down"`
			Outcome string `short:"o" enum:",answered,timeout" default:""`
			Follow  bool   `short:"f"`
			Secret  string `hidden:""`
		} `cmd:""`
	} `cmd:""`
	Bench struct {
		Args []string `arg:"" optional:""`
	} `cmd:"" passthrough:""`
	Hidden struct{} `cmd:"" hidden:""`
}

func TestComplete(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&tool{})
	must(t, err)
	for line, want := range map[string]string{
		"":                                 "agent bench",
		"a":                                "agent",
		"x":                                "",
		"agent ":                           "list logs",
		"agent --color never l":            "list logs",
		"agent --color=never l":            "list logs",
		"agent --color = never l":          "list logs",
		"agent logs -":                     "--help --color --outcome --follow",
		"agent logs --outcome ":            "answered timeout",
		"agent logs -o a":                  "answered",
		"agent logs --outcome =":           "answered timeout",
		"agent logs --outcome = t":         "timeout",
		"agent logs --outcome=":            "--outcome=answered --outcome=timeout",
		"agent logs --follow ":             "",
		"agent logs ada ":                  "up down",
		"agent logs -f ada --color auto d": "down",
		"agent logs ada up ":               "",
		"bench --":                         "",
		"hid":                              "",
	} {
		var got []string
		for _, c := range complete(parser.Model.Node, strings.Split(line, " ")) {
			got = append(got, c[0])
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
	if got := complete(parser.Model.Node, nil); got != nil {
		t.Errorf("without words: %v", got)
	}
}

// The scripts are read by their shells, as far as they are installed here.
func TestCompletion_scripts(t *testing.T) {
	t.Parallel()
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			must(t, (&CompletionCmd{Shell: shell}).Run(process(t, &out)))
			if !strings.Contains(out.String(), "__complete -- ") {
				t.Errorf("the script asks for no candidates:\n%s", out.String())
			}
			file := filepath.Join(t.TempDir(), "script")
			must(t, os.WriteFile(file, out.Bytes(), 0o600))
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(shell + " is not installed")
			}
			if text, err := exec.CommandContext(t.Context(), shell, append(check, file)...).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// Bash gets the candidates from the program that is completed.
func TestCompletion_bash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "arena")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$*\" >"+dir+"/called\nprintf 'two words\\thelp\\nlogs\\t\\n'\n"), 0o700))
	script := bashScript + "COMP_WORDS=('" + program + "' agent 'lo'); COMP_CWORD=2; _arena; printf '%s\\n' \"${COMPREPLY[@]}\""
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput()
	must(t, err)
	called, err := os.ReadFile(filepath.Join(dir, "called"))
	must(t, err)
	if got := strings.Split(strings.TrimSpace(string(out)), "\n"); !slices.Equal(got, []string{"two words", "logs"}) || string(called) != "__complete -- agent lo\n" {
		t.Errorf("candidates %q of %q", got, called)
	}
}
