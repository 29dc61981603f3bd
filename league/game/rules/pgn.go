package rules

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agora-arena/arena/internal/plaintext"
)

const (
	pgnWidth    = 79  // characters of a line of moves, at most
	pgnLongest  = 200 // characters of the value of a tag, at most
	pgnUnproven = "*" // result of a game that has none
)

// pgnTag matches the names of tags.
var pgnTag = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,39}$`)

// FormatPGN returns a game of chess in the export format of the PGN standard
// (1994), section 3.2. moves are in SAN. result is "1-0", "0-1" or "1/2-1/2";
// everything else is a game without a result. Missing tags of the seven tag roster
// are unknown. Tags whose name PGN does not allow are left out, and characters that
// a name may not have are left out of their values.
func FormatPGN(tags map[string]string, moves []string, result string) string {
	if !slices.Contains([]string{"1-0", "0-1", "1/2-1/2"}, result) {
		result = pgnUnproven
	}
	all := map[string]string{"Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?", "White": "?", "Black": "?"}
	roster := []string{"Event", "Site", "Date", "Round", "White", "Black", "Result"}
	for name, value := range tags {
		if value = plaintext.Line(value, pgnLongest); value != "" && pgnTag.MatchString(name) {
			all[name] = value
		}
	}
	all["Result"] = result
	var b strings.Builder
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return slices.Contains(roster, name) })
	for _, name := range append(roster, rest...) {
		b.WriteString("[" + name + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(all[name]) + "\"]\n")
	}
	b.WriteByte('\n')
	width := 0
	for _, token := range append(movetext(moves), result) {
		switch {
		case width == 0:
		case width+1+len(token) > pgnWidth:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(token)
		width += len(token)
	}
	b.WriteString("\n\n")
	return b.String()
}
