package pack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
)

func found(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "found", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// lineOf shows a task in one line. It does not sort options that a format shuffles:
// the description determines their order.
func lineOf(task arena.Task) string {
	line := task.Description + " [" + strings.Join(task.Options, "; ") + "] " + strings.Join(task.Answers, " or ")
	if task.Topic != "" {
		line += " #" + task.Topic
	}
	return line
}

// readAll reads a file and returns its tasks, one a line, then what is wrong
// with it.
func readAll(t *testing.T, in pack.Source) (pack arena.PackContents, lines string) {
	t.Helper()
	got, err := readSource(in)
	if err != nil {
		return got, err.Error()
	}
	var out []string
	for _, task := range got.Tasks {
		out = append(out, lineOf(task))
	}
	for _, s := range got.Skipped {
		out = append(out, "skipped: "+s.Reason)
	}
	for _, s := range got.Warnings {
		out = append(out, "warning: "+s.Reason)
	}
	return got, strings.Join(out, "\n")
}

func readSource(in pack.Source) (arena.PackContents, error) {
	return pack.Read(in, pack.DefaultLimits())
}

func TestRead_found(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, format, want string }{
		{"mmlu.csv", pack.MMLU, "Find the remainder of 17 divided by 5. [0; 2; 3; 7] 2\n" +
			"Which letter, alone, names a blood group that receives from all? [A; AB; O; B] AB\n" +
			`Which of these is a "prime"? [9; 15; 21; 23] 23`},
		{"mmlu.jsonl", pack.MMLU, "How many sides has a hexagon? [5; 6; 7; 8] 6 #elementary_mathematics\n" +
			"Which index does this name? [3; 2; 1; 0] 3 #elementary_mathematics\n" +
			"Which one is a noble gas? [Oxygen; Neon; Iron] Neon #high_school_chemistry\n" +
			`warning: options C and D are the same ("Iron"): the second is left out`},
		{"mmlu_pro.jsonl", pack.MMLU, "Which form carries most weight? [One; Two; Three; Four; Five; Six; Seven; Eight; Nine; Ten] Nine #business"},
		{"arc.jsonl", pack.ARC, "Which surface makes the most heat when hands are rubbed? [dry palms; wet palms; oiled palms; creamed palms] dry palms\n" +
			"What melts first in the sun? [rock; ice; iron] ice"},
		{"arc_table.jsonl", pack.ARC, "Which one gives light of its own? [the Moon; the Sun; Mars] the Sun"},
		{"aqua.json", pack.AQuA, "A shop sells 3 pens for 63 cents. What does one cost? [21; 21.5; 22; 22.5; 23] 21\n" +
			"A train covers 120 km in 2 h. How fast is it? [40 km/h; 50 km/h; 60 km/h; 70 km/h; none of these] 60 km/h"},
		{"bigbench_choice.json", pack.BIGBench, "Answer about animals.\nWhich one flies? [trout; cow; eagle] eagle #made_animals\n" +
			"Answer about animals.\nWhich one barks? [cat; dog] dog #made_animals\n" +
			"skipped: every option has the same score"},
		{"bigbench_target.json", pack.BIGBench, "not ( True ) and ( True ) is [] False\nA greeting? [] hello or hi"},
	} {
		for _, format := range []string{pack.Auto, c.format} {
			for _, data := range [][]byte{found(t, c.file), []byte(strings.ReplaceAll(string(found(t, c.file)), "\n", "\r\n")), inUTF16(string(found(t, c.file)), false, true)} {
				got, lines := readAll(t, pack.Source{Format: format, Data: data})
				if lines != c.want || got.Format != c.format || got.Map != "" {
					t.Errorf("%s as %s: format %s, map %q:\n%s\nwant\n%s", c.file, format, got.Format, got.Map, lines, c.want)
				}
			}
		}
	}
}

// Threat A6: the same bounds as for every other format.
func TestRead_foundBad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, format, data, says string }{
		{"three cells", pack.MMLU, "q,a,A", "a record is a question, two or more options"},
		{"letter behind the last option", pack.MMLU, "q,x,y,C", "the answer is option C, and there are 2 options"},
		{"no letter", pack.MMLU, "q,x,y,what", "the answer is not among the options"},
		{"another number of cells", pack.MMLU, "q,x,y,A\nq,x,A", "3 cells, the first record has 4"},
		{"index outside", pack.MMLU, `{"question":"q","choices":["x","y"],"answer":2}`, "the answer is option 2, and there are 2 options"},
		{"negative index", pack.MMLU, `{"question":"q","choices":["x","y"],"answer":-1}`, "the answer is not among the options"},
		{"no choices", pack.MMLU, `{"question":"q","answer":0}`, "the options are missing"},
		{"no answerKey", pack.ARC, `{"question":"q","answer":"A"}`, `the member "answerKey" is missing; did you mean "answer"?`},
		{"unknown label", pack.ARC, `{"question":"q","choices":{"text":["x","y"],"label":["A","B"]},"answerKey":"E"}`, "not among the options"},
		{"labels without texts", pack.ARC, `{"question":"q","choices":{"text":["x","y"],"label":["A"]},"answerKey":"A"}`, "2 texts and 1 labels"},
		{"question is a list", pack.ARC, `{"question":[],"choices":{},"answerKey":"A"}`, "neither a string nor a number"},
		{"a choice without text", pack.ARC, `{"question":{"stem":"q","choices":[{"label":"A"},{"text":"y","label":"B"}]},"answerKey":"B"}`, "option A is empty"},
		{"options of two kinds", pack.AQuA, `{"question":"q","options":["A)x",{}],"correct":"A"}`, "neither a string nor a number"},
		{"no examples", pack.BIGBench, `{"name":"x","subtasks":[]}`, "the list examples is missing"},
		{"not JSON", pack.BIGBench, `{"examples":`, "the pack cannot be read"},
		{"scores are no numbers", pack.BIGBench, `{"examples":[{"input":"q","target_scores":{"a":"b"}}]}`, "target_scores: "},
		{"no scores", pack.BIGBench, `{"examples":[{"input":"q","target_scores":{}}]}`, "target_scores is empty"},
		{"no input", pack.BIGBench, `{"task_prefix":"p","examples":[{"target":"x"}]}`, `the member "input" is missing`},
		{"an example of another kind", pack.BIGBench, `{"examples":[1]}`, "not a JSON object"},
		{"a bomb of brackets", pack.BIGBench, `{"examples":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "nested deeper"},
	} {
		if _, lines := readAll(t, pack.Source{Format: c.format, Data: []byte(c.data)}); !strings.Contains(lines, c.says) {
			t.Errorf("%s: %s, want %q", c.name, lines, c.says)
		}
	}
}

func TestRead_guessesByContent(t *testing.T) {
	t.Parallel()
	for want, data := range map[string]string{
		pack.JSONL:        `{"description":"q","answer":"a"}`,
		pack.CSV:          "description;answer\nq;a",
		pack.OpenTriviaQA: "\n#Q q?\n^ b\nA a\nB b",
		pack.OpenTDB:      `[{"type":"boolean","question":"q","correct_answer":"True","incorrect_answers":["False"]}]`,
		pack.GSM8K:        `{"question":"q","answer":"a\n#### 1"}`,
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(data)})
		if got.Format != want || len(got.Tasks) != 1 || got.Map != "" || len(got.Skipped) > 0 {
			t.Errorf("%s: guessed %s: %s", want, got.Format, lines)
		}
	}
	for _, file := range []struct {
		name, format string
		tasks        int
	}{{"gsm8k-test.jsonl", pack.GSM8K, 1319}, {"opentriviaqa-geography.txt", pack.OpenTriviaQA, 842}} {
		got, err := readSource(pack.Source{Format: pack.Auto, Data: dataFile(t, file.name)})
		if err != nil || got.Format != file.format || len(got.Tasks) != file.tasks {
			t.Errorf("%s: %s, %d tasks, %v", file.name, got.Format, len(got.Tasks), err)
		}
	}
}

func TestRead_mapped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, by, format, want string }{
		{"a table", "id;Frage;Antworten;Nr\n1;q;x|y;1\n2;r;x|y;2\n", "description=Frage,options=Antworten,answer_number=Nr", pack.CSV, "q [x; y] x\nr [x; y] y"},
		{"a column for each option", "Frage,eins,zwei,drei,i\nq,x,y,,0\nr,x,y,z,2", "description=Frage,options=eins+zwei+drei,answer_index=i", pack.CSV, "q [x; y] x\nr [x; y; z] z"},
		{"the answer is one of the columns", "q,right,w1,w2\none,a,b,c\ntwo,d,e,f", "description=q,options=right+w1+w2,answer=right", pack.CSV, "one [b; c; a] a\ntwo [e; d; f] d"},
		{"objects", `{"q":{"de":"Was?"},"choices":["x","y"],"label":1}` + "\n" + `{"q":{"de":"Wo?"},"choices":["x","y"],"label":0}`, "description=q.de,options=choices,answer=label", pack.JSONL, "Was? [x; y] y\nWo? [x; y] x"},
		{"a list of objects", "[{\"q\":\"q\",\n\"a\":true,\"t\":\"sport\",\"n\":5},\n{\"q\":\"r\"}]", "description=q,answer=a,topic=t,max_tokens=n", pack.JSONL, "q [] true #sport\n" + `skipped: the member "a" is missing; there are q`},
		{"labels as names", `{"q":"q","o":{"B":"y","A":"x"},"a":"b"}`, "description=q,options=o,answer=a", pack.JSONL, "q [x; y] y"},
		{"a slip", "question,answer\nq,a", "description=queston,answer=answer", pack.CSV, `did you mean "question"?`},
		{"no such member", `{"question":"q","answer":"a"}`, "description=queston,answer=answer", pack.JSONL, `the member "queston" is missing; did you mean "question"?`},
		{"a column twice", "q,q,a\n1,2,3", "description=q,answer=a", pack.CSV, `two columns have the name "q"`},
		{"no index", `{"q":"q","o":["x","y"],"a":"x"}`, "description=q,options=o,answer_index=a", pack.JSONL, `the answer "x" is not the index of an option`},
		{"number 0", `{"q":"q","o":["x","y"],"a":0}`, "description=q,options=o,answer_number=a", pack.JSONL, "the answer is option 0, and there are 2 options"},
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Map: c.by, Data: []byte(c.data)})
		if lines != c.want && !(strings.HasPrefix(lines, "the pack") || strings.HasPrefix(lines, "skipped")) || !strings.Contains(lines, c.want) {
			t.Errorf("%s: %s\nwant %s", c.name, lines, c.want)
		}
		if got.Format != c.format || got.Map != c.by {
			t.Errorf("%s: format %s, map %s", c.name, got.Format, got.Map)
		}
	}
}

func TestRead_suggestsAMapping(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, by, want string }{
		{"question,A,B,C,D,answer\nq,w,x,y,z,B", "description=question,options=A+B+C+D,answer=answer", "q [w; x; y; z] x"},
		{"id\tprompt\tOption 1\tOption 2\tCorrect answer\tSubject\n1\tq\tx\ty\tx\tart", "description=prompt,options=Option 1+Option 2,answer=Correct answer,topic=Subject", "q [x; y] x #art"},
		{`{"question":"q","distractor1":"x","correct_answer":"y","support":""}`, "description=question,context=support,options=correct_answer+distractor1,answer=correct_answer", "q [y; x] y"},
		{`{"question":"q","options":{"A":"x","B":"y"},"answer":"x","answer_idx":"A"}`, "description=question,options=options,answer=answer", "q [x; y] x"},
		{`{"prompt":"q","label":true}`, "description=prompt,answer=label", "q [] true"},
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(c.data)})
		if got.Map != c.by || lines != c.want {
			t.Errorf("map %s, want %s:\n%s\nwant %s", got.Map, c.by, lines, c.want)
		}
	}
	got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte("Frage,Antwort\nq,a")})
	if got.Map != "" || strings.Join(got.Names, ",") != "Frage,Antwort" || !strings.Contains(lines, `the column "frage" is not known`) {
		t.Errorf("%+v %s", got, lines)
	}
}

// Threat A6: a mapping that does not hold together is refused.
func TestRead_refusedMappings(t *testing.T) {
	t.Parallel()
	for by, says := range map[string]string{
		"question":                              `"question" is not of the form`,
		"description=q,anwser=a":                `did you mean "answer"?`,
		"description=q,description=r":           "description is mapped twice",
		"description=,answer=a":                 "description has no column",
		"description=a+b,answer=c":              "only context and options may have several",
		"answer=a":                              "description is missing",
		"description=q":                         "one of answer, answer_index and answer_number",
		"description=q,answer=a,answer_index=b": "one of answer, answer_index and answer_number",
		"description=q,answer_index=b":          "an index needs options",
	} {
		_, err := readSource(pack.Source{Format: pack.Auto, Map: by, Data: []byte("q,a\n1,2")})
		if arena.CodeOf(err) != arena.CodeInvalid || !strings.Contains(err.Error(), says) {
			fields := ""
			if e, ok := err.(*arena.Error); ok && len(e.Fields) > 0 { //nolint:errorlint // its own type is what is tested
				fields = e.Fields[0].Field + " " + e.Fields[0].Message
			}
			if !strings.Contains(fields, says) {
				t.Errorf("%s: %v (%s), want %q", by, err, fields, says)
			}
		}
	}
	if _, err := readSource(pack.Source{Format: pack.GSM8K, Map: "description=q,answer=a", Data: []byte("{}")}); arena.CodeOf(err) != arena.CodeInvalid {
		t.Errorf("a mapped gsm8k: %v", err)
	}
}
