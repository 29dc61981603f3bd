package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// CompletionCmd is `arena completion`.
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: ${enum}."`
}

// Help shows how a shell loads the completion.
func (c *CompletionCmd) Help() string {
	return `Prints a script that completes commands, flags and their values. Load it in the
shell's startup file:

    source <(arena completion bash)      # ~/.bashrc
    source <(arena completion zsh)       # ~/.zshrc, after compinit
    arena completion fish | source       # ~/.config/fish/config.fish`
}

// Run prints the script.
func (c *CompletionCmd) Run(p *Process) error {
	return p.print("%s", map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell])
}

// The scripts ask the program for the candidates of the words before the cursor.
// Without any the shell completes file names.
const (
	bashScript = `# bash completion for arena
_arena() {
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _arena arena
`
	zshScript = `#compdef arena
_arena() {
    local -a candidates
    local value help
    while IFS=$'\t' read -r value help; do
        candidates+=("${value//:/\\:}:$help")
    done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#candidates} )); then
        _describe arena candidates
    else
        _files
    fi
}
if [ "${funcstack[1]}" = "_arena" ]; then
    _arena "$@"
else
    compdef _arena arena
fi
`
	fishScript = `# fish completion for arena
function __arena_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    $words[1] __complete -- $words[2..-1] "$last" 2>/dev/null
end
complete -c arena -n 'test (count (__arena_complete)) -gt 0' -f -a '(__arena_complete)'
`
)

// CompleteCmd prints the candidates for the last of some words. The scripts of
// CompletionCmd call it.
type CompleteCmd struct {
	Words []string `arg:"" optional:"" help:"Words of the command line, up to the cursor."`
}

// Run prints a candidate on each line, and its help behind a tab.
func (c *CompleteCmd) Run(p *Process, call *kong.Context) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, found := range complete(call.Model.Node, words) {
		if err := p.print("%s\t%s\n", found[0], found[1]); err != nil {
			return err
		}
	}
	return nil
}

// complete returns the candidates for the last word, each with its help.
func complete(node *kong.Node, words []string) (candidates [][2]string) {
	if len(words) == 0 {
		return nil
	}
	words, prefix := words[:len(words)-1], words[len(words)-1]
	arguments := 0         // that stand before the prefix
	var waiting *kong.Flag // for its value
	for _, word := range words {
		switch {
		case node.Passthrough:
			return nil
		case waiting != nil && word == "=": // bash makes a word of it
		case waiting != nil:
			waiting = nil
		case strings.HasPrefix(word, "-"):
			if name, _, hasValue := strings.Cut(word, "="); !hasValue {
				waiting = valueFlag(node, name)
			}
		default:
			if child := childOf(node, word); child != nil {
				node, arguments = child, 0
			} else {
				arguments++
			}
		}
	}
	add := func(before, value, help string) {
		if strings.HasPrefix(before+value, prefix) {
			candidates = append(candidates, [2]string{before + value, strings.Join(strings.Fields(help), " ")})
		}
	}
	name, _, hasValue := strings.Cut(prefix, "=")
	switch {
	case node.Passthrough:
	case waiting != nil:
		if prefix == "=" {
			prefix = ""
		}
		for _, value := range enumOf(waiting.Value) {
			add("", value, "")
		}
	case hasValue && strings.HasPrefix(prefix, "-"):
		if flag := valueFlag(node, name); flag != nil {
			for _, value := range enumOf(flag.Value) {
				add(name+"=", value, "")
			}
		}
	case strings.HasPrefix(prefix, "-"):
		for _, level := range node.AllFlags(true) {
			for _, flag := range level {
				add("--", flag.Name, flag.Help)
			}
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				add("", child.Name, child.Help)
			}
		}
		if arguments < len(node.Positional) {
			for _, value := range enumOf(node.Positional[arguments]) {
				add("", value, "")
			}
		}
	}
	return candidates
}

// childOf returns the command of a word, nil if there is none.
func childOf(node *kong.Node, word string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == word {
			return child
		}
	}
	return nil
}

// valueFlag returns the flag of a word, nil for one without a value.
func valueFlag(node *kong.Node, word string) *kong.Flag {
	for _, level := range node.AllFlags(false) {
		for _, flag := range level {
			if (word == "--"+flag.Name || flag.Short != 0 && word == fmt.Sprintf("-%c", flag.Short)) && !flag.IsBool() {
				return flag
			}
		}
	}
	return nil
}

// enumOf returns the values that a flag or an argument may have.
func enumOf(v *kong.Value) (values []string) {
	if v.Enum == "" {
		return nil
	}
	for value := range strings.SplitSeq(v.Enum, ",") {
		if value = strings.TrimSpace(value); value != "" {
			values = append(values, value)
		}
	}
	return values
}
