package pack_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
)

func TestParse_csv(t *testing.T) {
	t.Parallel()
	full := arena.Task{
		Description: "d", Answers: []string{"x", "y"}, Options: []string{"x", "z"}, InputFormat: "i", OutputFormat: "o",
		Topic: "t", Difficulty: "3", MaxTokens: 7, Rules: []string{"only_one_answer", "be_brief"},
	}
	tests := []struct {
		name, data string
		want       []arena.Task
	}{
		{"two columns", "description,answer\nq,a\n", []arena.Task{task("q", "a")}},
		{"other order, no last line end", "answer,description\na,q", []arena.Task{task("q", "a")}},
		{
			"everything",
			"description,answer,options,topic,difficulty,input_format,output_format,max_tokens,rules\n" +
				"d,x|y,x | z,t,3,i,o,7,only_one_answer|be_brief\n",
			[]arena.Task{full},
		},
		{
			"byte order mark, CR LF, capitals and spaces in the header, blank lines",
			"\xef\xbb\xbfDescription, Answer \r\n\r\nq,a\r\nr,b\r\n",
			[]arena.Task{task("q", "a"), task("r", "b")},
		},
		{
			"a quoted header behind a byte order mark", "\xef\xbb\xbf\"description\",\"answer\"\nq,a\n", []arena.Task{task("q", "a")},
		},
		{
			"commas, quotes and line ends in cells", "description,answer\n\"q, \"\"r\"\"\r\nand s\",\"a, b\"\n",
			[]arena.Task{task("q, \"r\"\nand s", "a, b")},
		},
		{
			"numbered options, fewer than the header has", "description,option_1,option_2,option_3,answer\nq,a,b,,b\n",
			[]arena.Task{task("q", "b", "a", "b")},
		},
		{"lettered options", "description,a,b,c,answer\nq,x,y,z,y\n", []arena.Task{task("q", "y", "x", "y", "z")}},
		{"the answer is a letter", "description,a,b,answer\nq,x,y,B\nr,x,y,a\n", []arena.Task{task("q", "y", "x", "y"), task("r", "x", "x", "y")}},
		{"a letter that is an option", "description,options,answer\nq,B|A|O,A\n", []arena.Task{task("q", "A", "B", "A", "O")}},
		{"a letter without options", "description,answer\nq,B\n", []arena.Task{task("q", "B")}},
		{"a bar in an option", "description,a,b,answer\nq,x|y,z,x|y\n", []arena.Task{task("q", "x|y", "x|y", "z")}},
		{"spelling of an option", "description,options,answer\nq,Rome|Paris,rome\n", []arena.Task{task("q", "Rome", "Rome", "Paris")}},
		{"semicolons", "description;answer;options\n\"q, r; s\";a;a | b\n", []arena.Task{task("q, r; s", "a", "a", "b")}},
		{"tabs", "description\tanswer\nq, r; s\ta\n", []arena.Task{task("q, r; s", "a")}},
		{"indexes from 0", "description,a,b,answer\nq,x,y,0\nr,x,y,1\n", []arena.Task{task("q", "x", "x", "y"), task("r", "y", "x", "y")}},
		{"indexes from 1", "description,a,b,answer\nq,x,y,1\nr,x,y,2\n", []arena.Task{task("q", "x", "x", "y"), task("r", "y", "x", "y")}},
		{"what looks like a formula is text", "description,answer\n=1+1,2\n", []arena.Task{task("=1+1", "2")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tasks, skipped, err := pack.Parse(pack.CSV, []byte(tt.data), pack.DefaultLimits())
			if err != nil || skipped != nil {
				t.Fatalf("error %v, skipped %v", err, skipped)
			}
			if d := cmp.Diff(tt.want, tasks); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestParse_csvBad parses one bad record at a time, behind a good one that
// takes two lines and before another. Threat A6.
func TestParse_csvBad(t *testing.T) {
	t.Parallel()
	const header = "description,answer,max_tokens,a,b,c\n"
	const good = "\"good\nq\",x,,x,y,\n"
	tests := []struct{ name, record, reason string }{
		{"too few cells", "q,x,,x,y", "5 cells, the header has 6: the cell of c is missing"},
		{"too many cells", "q,x,,x,y,z,z", "7 cells, the header has 6"},
		{"a quote inside", `q"r,x,,x,y,z`, `bare "`},
		{"text behind a quote", `"q"r,x,,x,y,z`, `"`},
		{"no description", " ,x,,x,y,", "description is missing"},
		{"no answer", "q,,,x,y,", "answer is missing"},
		{"answer is no option", "q,ww,,x,y,z", "not among the options"},
		{"letter behind the last option", "q,D,,x,y,z", "the answer is option D, and there are 3 options"},
		{"letter of an empty option", "q,c,,x,y,", "the answer is option C, and there are 2 options"},
		{"one option", "q,x,,x,,", "one option only"},
		{"a gap", "q,x,,x,,z", "option B is empty"},
		{"option twice", "q,x,,x,y,Y", "options B and C are the same"},
		{"max_tokens is no number", "q,x,many,x,y,", `max_tokens "many" is not a whole number`},
		{"max_tokens below", "q,x,-1,x,y,", "max_tokens must be 0"},
		{"not UTF-8", "é\xff,x,,x,y,", "damaged"},
		{"control character", "q\x00,x,,x,y,", "control character U+0000"},
		{"description over the limit", strings.Repeat("q", 8193) + ",x,,x,y,", "8193 bytes, the limit is 8192"},
		{"option over the limit", "q,x,,x," + strings.Repeat("y", 513) + ",", "513 bytes, the limit is 512"},
		{"empty item of a list", "q,v|,,,,", "accepted answer is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tasks, skipped, err := pack.Parse(pack.CSV, []byte(header+good+tt.record+"\n"+good), pack.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if len(tasks) != 2 {
				t.Errorf("%d good records, want the 2 around the bad one", len(tasks))
			}
			if len(skipped) != 1 || skipped[0].Line != 4 || !strings.Contains(skipped[0].Reason, tt.reason) {
				t.Errorf("skipped %v, want line 4 with %q", skipped, tt.reason)
			}
		})
	}
	t.Run("an open quote takes the rest of the file with it", func(t *testing.T) {
		t.Parallel()
		tasks, skipped, err := pack.Parse(pack.CSV, []byte(header+good+"\"q,x,,x,y,\n"+good), pack.DefaultLimits())
		if err != nil || len(tasks) != 1 || len(skipped) == 0 || skipped[0].Line != 4 {
			t.Errorf("%d tasks, skipped %v, error %v", len(tasks), skipped, err)
		}
	})
}

func TestParse_csvHeader(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, header, says string }{
		{"unknown column", "description,answer,colour", `the column "colour" is not known`},
		{"another word", "question,answer", `the column "question" is not known; did you mean "description"?`},
		{"a slip", "description,anwser", `did you mean "answer"?`},
		{"a column without a name", "description,,answer", `the column "" is not known`},
		{"column twice", "description,answer,Answer", `the column "answer" stands there twice`},
		{"no description", "answer,topic", `the column "description" is missing`},
		{"no answer", "description,topic", `the column "answer" is missing`},
		{"no header", "What is 1+1?,2", `the column "what is 1+1?" is not known`},
		{"a gap between options", "description,answer,option_1,option_3", `the column "option_3" is not the option that is next`},
		{"options begin late", "description,answer,b", `the column "b" is not the option that is next`},
		{"option_0", "description,answer,option_0", `the column "option_0" is not known`},
		{"option_27", "description,answer,option_27", `the column "option_27" is not known`},
		{"both kinds of options", "description,answer,options,a,b", "exclude each other"},
		{"a quote inside", `desc"ription,answer`, `bare "`},
		{"long name", strings.Repeat("x", 1000), `"` + strings.Repeat("x", 40) + `…"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tasks, skipped, err := pack.Parse(pack.CSV, []byte(tt.header+"\nq,a,b,c\n"), pack.DefaultLimits())
			if arena.CodeOf(err) != arena.CodePackInvalid || !strings.Contains(err.Error(), "header: ") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want pack_invalid with %q", err, tt.says)
			}
			if tasks != nil || skipped != nil {
				t.Errorf("%d tasks and %d skipped beside the error", len(tasks), len(skipped))
			}
		})
	}
	t.Run("only a header", func(t *testing.T) {
		t.Parallel()
		if _, _, err := pack.Parse(pack.CSV, []byte("description,answer\n"), pack.DefaultLimits()); arena.CodeOf(err) != arena.CodePackInvalid {
			t.Errorf("error %v", err)
		}
	})
	t.Run("all 26 options", func(t *testing.T) {
		t.Parallel()
		header, record := "description,answer", "q,Z"
		for i := range 26 {
			header += ",option_" + string("0123456789"[(i+1)/10]) + string("0123456789"[(i+1)%10])
			record += ",o" + string(rune('a'+i))
		}
		tasks, skipped, err := pack.Parse(pack.CSV, []byte(header+"\n"+record), pack.DefaultLimits())
		if err != nil || skipped != nil || len(tasks) != 1 || tasks[0].Answers[0] != "oz" || len(tasks[0].Options) != 26 {
			t.Errorf("%+v, skipped %v, error %v", tasks, skipped, err)
		}
	})
}
