package cli

import (
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/agora-arena/arena/internal/plaintext"
)

// maxCell bounds the text of a cell, in characters. The last cell of a row is not
// bounded.
const maxCell = 60

// cell is one text of a table.
type cell struct{ color, text string }

func plain(text string) cell        { return cell{None, text} }
func paint(color, text string) cell { return cell{color, text} }

// table prints rows in aligned columns. Texts may be untrusted.
type table struct {
	out    io.Writer
	style  Style
	rows   [][]cell // to print
	widths []int    // of the columns, of all rows so far
}

// table returns a table with a header, unless that is empty.
func (p *Process) table(header ...string) *table {
	t := &table{out: p.Stdout, style: p.Style()}
	if len(header) == 0 {
		return t
	}
	row := make([]cell, 0, len(header))
	for _, h := range header {
		row = append(row, paint(Dim, h))
	}
	t.row(row...)
	return t
}

// row adds a row.
func (t *table) row(cells ...cell) {
	row := make([]cell, 0, len(cells))
	for i, c := range cells {
		c.text = plaintext.Terminal(c.text)
		if i < len(cells)-1 {
			c.text = plaintext.Shorten(c.text, maxCell)
		}
		row = append(row, c)
	}
	t.rows = append(t.rows, row)
}

// print writes the rows that were added since the last call.
func (t *table) print() error {
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], columns(c.text))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(t.style.Paint(c.color, c.text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", t.widths[i]-columns(c.text)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	t.rows = nil
	_, err := io.WriteString(t.out, b.String())
	return err
}

// columns returns how many columns of a terminal a text fills: two for East Asian
// wide characters and emoji, none for combining marks.
func columns(text string) (n int) {
	last, joined := 0, false
	for _, r := range text {
		w := 1
		switch kind := width.LookupRune(r).Kind(); {
		case r == '\u200d':
			joined = true // the next character is drawn as part of the last one
			continue
		case r == '\ufe0f':
			w = min(last, 2-last) // the last character is shown as an emoji
		case joined, unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1f3fb && r <= 0x1f3ff: // marks and skin tones
			w = 0
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			w = 2
		}
		n, joined = n+w, false
		if w > 0 {
			last = w
		}
	}
	return n
}
