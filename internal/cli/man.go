package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// ManCmd is `arena man`.
type ManCmd struct{}

// Help shows how the page is read.
func (c *ManCmd) Help() string {
	return `Prints the manual page of all commands, in the form that man reads. Packages
install it; elsewhere:

    arena man | man -l -
    arena man > /usr/local/share/man/man1/arena.1`
}

// Run prints the page.
func (c *ManCmd) Run(p *Process, call *kong.Context) error { return p.print("%s", manPage(call.Model)) }

// manPage returns the manual page of a program in the language of man(7).
func manPage(app *kong.Application) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n", roff(strings.ToUpper(app.Name)), roff(app.Name), roff(app.Help))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I command\n.RI [ arguments ]\n.SH COMMANDS\n", roff(app.Name))
	for _, group := range app.Children {
		if !group.Hidden {
			manCommands(&b, group)
		}
	}
	fmt.Fprintf(&b, ".SH EXIT STATUS\n0 success, 1 failure, 2 wrong usage.\n")
	return b.String()
}

// manCommands writes the commands of a node, each with its flags and examples.
func manCommands(b *strings.Builder, node *kong.Node) {
	if node.Leaf() {
		fmt.Fprintf(b, ".SS %s\n%s\n", roff(node.Summary()), roff(node.Help))
		manDetail(b, node.Detail)
		for _, arg := range node.Positional {
			fmt.Fprintf(b, ".TP\n.I %s\n%s\n", roff(arg.Summary()), roff(arg.Help))
		}
		for _, flag := range node.Flags {
			if !flag.Hidden {
				fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(flag.String()), roff(flag.Help))
			}
		}
	}
	for _, child := range node.Children {
		if !child.Hidden {
			manCommands(b, child)
		}
	}
}

// manDetail writes a text of several lines as it stands: examples are indented.
func manDetail(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	b.WriteString(".PP\n.nf\n")
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(b, "%s\n", roff(line))
	}
	b.WriteString(".fi\n")
}

// roff returns a text without a meaning of its own in the language of man(7): a
// backslash begins an escape, a full stop or apostrophe at the beginning of a line
// a request, and a bare hyphen may be broken or typeset as a dash.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
