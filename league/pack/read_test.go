package pack_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
)

// inUTF16 encodes a text with or without a byte order mark.
func inUTF16(text string, bigEndian, mark bool) []byte {
	units := utf16.Encode([]rune(text))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	var data []byte
	for _, u := range units {
		if bigEndian {
			data = append(data, byte(u>>8), byte(u))
		} else {
			data = append(data, byte(u), byte(u>>8))
		}
	}
	return data
}

func TestRead_utf16(t *testing.T) {
	t.Parallel()
	want := []arena.Task{task("¿Qué? 🦊", "é")}
	for format, text := range map[string]string{
		pack.JSONL: "{\"description\":\"¿Qué? 🦊\",\"answer\":\"é\"}\r\n",
		pack.CSV:   "description\tanswer\r\n¿Qué? 🦊\té\r\n",
	} {
		for _, form := range [][2]bool{{false, true}, {true, true}, {false, false}, {true, false}} {
			tasks, skipped, err := pack.Parse(format, inUTF16(text, form[0], form[1]), pack.DefaultLimits())
			if d := cmp.Diff(want, tasks); d != "" || err != nil || skipped != nil {
				t.Errorf("%s, big endian %t, mark %t: %v, %v %s", format, form[0], form[1], err, skipped, d)
			}
		}
	}
	for name, cut := range map[string][]byte{
		"half a pair":      inUTF16(`{"description":"`, false, true),
		"half a character": nil,
	} {
		data := inUTF16(`{"description":"q","answer":"a"}`, false, true)
		if cut != nil {
			data = append(append(cut, 0x3d, 0xd8), inUTF16(`","answer":"a"}`, false, false)...)
		} else {
			data = append(data, 'x')
		}
		if tasks, skipped, err := pack.Parse(pack.JSONL, data, pack.DefaultLimits()); len(tasks) != 0 || len(skipped) != 1 {
			t.Errorf("%s: %v, %v, %v", name, tasks, skipped, err)
		}
	}
}

// answersOf reads entries of which each has the options and one of the answers,
// and returns the answers found, or the reasons for missing ones.
func answersOf(t *testing.T, options string, answers ...string) string {
	t.Helper()
	var file strings.Builder
	for _, a := range answers {
		file.WriteString(`{"description":"q","options":[` + options + `],"answer":` + a + "}\n")
	}
	tasks, skipped, err := pack.Parse(pack.JSONL, []byte(file.String()), pack.DefaultLimits())
	if err != nil {
		return err.Error()
	}
	var found []string
	for _, task := range tasks {
		found = append(found, task.Answers...)
	}
	for _, s := range skipped {
		found = append(found, s.Reason)
	}
	return strings.Join(found, ",")
}

func TestRead_answersThatNameOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, options string
		answers       []string
		want          string
	}{
		{"letters", `"x","y"`, []string{`"A"`, `"b"`, `"y"`}, "x,y,y"},
		{"indexes from 0", `"x","y","z"`, []string{`0`, `1`, `"2"`}, "x,y,z"},
		{"numbers from 1", `"x","y","z"`, []string{`1`, `"3"`}, "x,z"},
		{"from 0 and from 1", `"x","y"`, []string{`0`, `2`}, "has indexes from 0 and from 1: line 1 has 0, and line 2 has 2"},
		{"from where?", `"x","y","z"`, []string{`1`, `2`}, "does not show whether the first option is 0 or 1"},
		{"outside", `"x","y"`, []string{`0`, `9`}, "x,the answer is option 9, and there are 2 options"},
		{"no index at all", `"x","y"`, []string{`1969`}, "the answer is not among the options"},
		{"numbers that are options", `3,2,1,0`, []string{`1`, `3`}, "1,3"},
		{"a number beside indexes", `"x","y",1`, []string{`0`, `1`}, "x,the answer \"1\" is the text of option C, and other entries would mean option B by it"},
		{"a letter that is an option", `"B","A"`, []string{`"A"`}, "A"},
		{"a letter beside letters", `"B","A","x"`, []string{`"C"`, `"A"`}, "x,the answer \"A\" is the text of option B, and other entries would mean option A by it"},
		{"spaces around options", `" x ","y\t"`, []string{`"y"`, `" x"`}, "y,x"},
		{"a loose text", `"The Beatles","Yes."`, []string{`"beatles"`, `"yes"`}, "The Beatles,Yes."},
	} {
		if got := answersOf(t, c.options, c.answers...); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRead_repeatedOptionsAreReported(t *testing.T) {
	t.Parallel()
	got, err := pack.Read(pack.Source{Format: pack.OpenTriviaQA, Data: []byte("#Q q?\n^ c\nA a\nB A\nC c\n\n#Q r?\n^ A\nA a\nB b\nC b")}, pack.DefaultLimits())
	if err != nil || len(got.Skipped) > 0 {
		t.Fatal(got.Skipped, err)
	}
	if d := cmp.Diff([]arena.Task{task("q?", "c", "a", "c"), task("r?", "a", "a", "b")}, got.Tasks); d != "" {
		t.Error(d)
	}
	want := []arena.SkippedLine{
		{Line: 1, Reason: `options A and B are the same ("A"): the second is left out`},
		{Line: 7, Reason: `options B and C are the same ("b"): the second is left out`},
	}
	if d := cmp.Diff(want, got.Warnings); d != "" {
		t.Error(d)
	}
}
