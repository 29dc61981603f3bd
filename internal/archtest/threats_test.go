package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// threatIDs are the rows of the threat model, by letter: the number of the
// last one.
func threatIDs() []string {
	var ids []string
	for _, part := range []struct {
		letter string
		last   int
	}{{"S", 9}, {"R", 13}, {"E", 10}, {"V", 7}, {"F", 9}, {"A", 9}, {"C", 8}, {"L", 6}, {"J", 10}, {"T", 6}, {"M", 5}, {"G", 9}, {"N", 4}, {"O", 11}, {"P", 2}} {
		for n := 1; n <= part.last; n++ {
			ids = append(ids, part.letter+strconv.Itoa(n))
		}
	}
	return ids
}

// threatRow is one row of the table in docs/threat-model.md.
type threatRow struct {
	id    string
	tests [][2]string // name and file
}

// threatRows reads the table: | id | attack | expected | Name (file), … |.
func threatRows(t *testing.T) []threatRow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([A-Za-z0-9_]+)` \\(([^)]+)\\)")
	row := regexp.MustCompile(`^\| ([A-Z]\d+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$`)
	var rows []threatRow
	for line := range strings.Lines(string(text)) {
		cells := row.FindStringSubmatch(strings.TrimSpace(line))
		if cells == nil {
			continue
		}
		r := threatRow{id: cells[1]}
		for _, m := range named.FindAllStringSubmatch(cells[2], -1) {
			r.tests = append(r.tests, [2]string{m[1], m[2]})
		}
		rows = append(rows, r)
	}
	return rows
}

// Every row of the threat model names tests, and each of them says in its
// source that it proves this row.
func TestThreats_table(t *testing.T) {
	t.Parallel()
	var ids []string
	covered := 0
	for _, r := range threatRows(t) {
		ids = append(ids, r.id)
		if len(r.tests) == 0 {
			t.Errorf("row %s names no test", r.id)
			continue
		}
		covered++
		for _, test := range r.tests {
			if err := proves(t, test[0], test[1], r.id); err != nil {
				t.Errorf("row %s: %v", r.id, err)
			}
		}
	}
	if want := threatIDs(); !slices.Equal(ids, want) {
		t.Errorf("the table has the rows %v, want %v", ids, want)
	}
	t.Logf("threat rows covered: %d of %d", covered, len(ids))
}

// proves looks for the id in a function's source, with its comment.
func proves(t *testing.T, name, file, id string) error {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range parsed.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != name {
			continue
		}
		from := fn.Pos()
		if fn.Doc != nil {
			from = fn.Doc.Pos()
		}
		source := string(text[fset.Position(from).Offset:fset.Position(fn.End()).Offset])
		if !slices.Contains(threatsNamed(source), id) {
			return fmt.Errorf("%s in %s does not name it", name, file)
		}
		return nil
	}
	return fmt.Errorf("%s is not in %s", name, file)
}

// threatsNamed returns the ids in "Threat R3", "threats R1 to R4, R9 and S4".
func threatsNamed(source string) []string {
	list := regexp.MustCompile(`[Tt]hreats? ([A-Z]\d+(?:(?:, | and | to )[A-Z]\d+)*)`)
	var ids []string
	for _, m := range list.FindAllStringSubmatch(source, -1) {
		for part := range strings.SplitSeq(strings.ReplaceAll(m[1], " and ", ", "), ", ") {
			first, last, ranged := strings.Cut(part, " to ")
			if !ranged {
				last = first
			}
			from, _ := strconv.Atoi(first[1:])
			to, _ := strconv.Atoi(last[1:])
			for n := from; n <= to; n++ {
				ids = append(ids, first[:1]+strconv.Itoa(n))
			}
		}
	}
	return ids
}

func TestThreats_named(t *testing.T) {
	t.Parallel()
	got := threatsNamed("// Threat R3. Threats R1 to R3, S4 and F5.\n// threat V2: no threat model R9, Threat no")
	if want := []string{"R3", "R1", "R2", "R3", "S4", "F5", "V2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
