package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// PrintHelp prints the help of a command. The help of the program lists its
// commands by group; the help of a command lists all commands below it.
func PrintHelp(options kong.HelpOptions, call *kong.Context) error {
	options.NoExpandSubcommands = call.Selected() == nil
	for node := call.Selected(); node != nil; node = node.Parent {
		if node.Group = nil; node.Parent == call.Model.Node {
			for _, flag := range node.Parent.Flags {
				flag.Hidden = flag.Name != "help"
			}
		}
	}
	return kong.DefaultHelpPrinter(options, call)
}

// Example is a command line of the short help.
type Example struct{ Line, Help string }

// PrintShortHelp prints what the program is, examples of its most useful commands,
// and the names of all commands by group.
func PrintShortHelp(p *Process, app *kong.Application, examples ...Example) error {
	var b strings.Builder
	style := p.Style()
	fmt.Fprintf(&b, "%s\n\n%s\n", app.Help, style.Paint(Bold, "Start here"))
	longest := 0
	for _, e := range examples {
		longest = max(longest, columns(e.Line))
	}
	for _, e := range examples {
		fmt.Fprintf(&b, "  %s%s  %s\n", style.Paint(Cyan, e.Line), strings.Repeat(" ", longest-columns(e.Line)), e.Help)
	}
	var groups []string
	names := map[string][]string{}
	for _, node := range app.Children {
		if node.Hidden || node.Group == nil {
			continue
		}
		title := strings.TrimSuffix(node.Group.Title, ":")
		if names[title] == nil {
			groups = append(groups, title)
		}
		names[title] = append(names[title], node.Name)
	}
	for _, title := range groups {
		fmt.Fprintf(&b, "\n%s\n  %s\n", style.Paint(Bold, title), strings.Join(names[title], ", "))
	}
	fmt.Fprintf(&b, "\nRun \"%[1]s --help\" for all commands, \"%[1]s <command> --help\" for one.\n", app.Name)
	return p.print("%s", b.String())
}
