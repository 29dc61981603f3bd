package cli

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// helped is a command whose detail has lines that man(7) would take for requests.
type helped struct {
	Name  string `arg:"" help:"Name of it."`
	Force bool   `short:"f" help:"Do it anyway."`
	Quiet bool   `hidden:"" help:"Never shown."`
}

func (helped) Help() string { return ".hidden files and 'quotes'\n'    a\\b --force" }

func TestManPage(t *testing.T) {
	t.Parallel()
	var table struct {
		Do struct {
			It helped `cmd:"" help:"Do it."`
		} `cmd:"" help:"Do things."`
		Secret helped `cmd:"" hidden:"" help:"Never shown."`
	}
	parser, err := kong.New(&table, kong.Name("tool"), kong.Description("A tool-box."))
	if err != nil {
		t.Fatal(err)
	}
	want := `.TH TOOL 1
.SH NAME
tool \- A tool\-box.
.SH SYNOPSIS
.B tool
.I command
.RI [ arguments ]
.SH COMMANDS
.SS do it <name> [flags]
Do it.
.PP
.nf
\&.hidden files and 'quotes'
\&'    a\eb \-\-force
.fi
.TP
.I <name>
Name of it.
.TP
.B \-f, \-\-force
Do it anyway.
.SH EXIT STATUS
0 success, 1 failure, 2 wrong usage.
`
	if d := cmp.Diff(want, manPage(parser.Model)); d != "" {
		t.Error(d)
	}
	if strings.Contains(manPage(parser.Model), "Never") {
		t.Error("hidden commands and flags are in the manual page")
	}
}
