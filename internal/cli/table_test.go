package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// process returns a process with a configuration folder of its own.
func process(t *testing.T, out *bytes.Buffer, environ ...string) *Process {
	t.Helper()
	return &Process{
		Ctx: t.Context(), Environ: append(environ, "ARENA_CONFIG_DIR="+t.TempDir()), Stdin: strings.NewReader(""), Stdout: out, Stderr: out,
		Now: func() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) },
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := process(t, &out)
	tab := p.table("NAME", "STATUS", "ID")
	for _, name := range []string{"Ada", "日本", "👩‍🚀", "caf\u0065\u0301", "\x1b[31mred\x1b[0m\u202e\nx", strings.Repeat("long", 30)} {
		tab.row(plain(name), paint(Green, "ok"), plain("1"))
	}
	must(t, tab.print())
	for line := range strings.Lines(out.String()) {
		at := strings.Index(line, "ok ")
		if i := strings.Index(line, "STATUS"); i >= 0 {
			at = i
		}
		if got := columns(line[:at]); got != maxCell+2 {
			t.Errorf("the second column begins at %d: %q", got, line)
		}
	}
	if text := out.String(); strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("printed %q", text)
	}
	out.Reset()
	tab = &table{out: &out, style: true}
	tab.row(paint(Red, "no"), plain("x"))
	tab.row(plain("longer"), plain(""))
	must(t, tab.print())
	if want := "\x1b[31mno\x1b[0m      x\nlonger\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "Ada": 3, "é": 1, "e\u0301": 1, "日本": 4, "ｆ": 2, "👩": 2, "👩‍🚀": 2, "👍🏽": 2, "❤": 1, "❤️": 2, "🇪🇸": 2, "\ufe0f": 0, "שלום": 4,
	} {
		if got := columns(text); got != want {
			t.Errorf("%q fills %d columns, want %d", text, got, want)
		}
	}
}

func TestStyle(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	must(t, err)
	t.Cleanup(func() { must(t, null.Close()) })
	if (&Process{Stdout: null}).Style() || (&Process{Stdout: &bytes.Buffer{}}).Style() {
		t.Error("colors without a terminal")
	}
	if got := Style(false).Paint(Red, "x") + Style(true).Paint(Red, "x") + Style(true).Paint(None, "x"); got != "x\x1b[31mx\x1b[0mx" {
		t.Errorf("painted %q", got)
	}
}
