package pack_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/scoring"
)

// fuzzPack is threat A6: no file breaks the reader, and what it takes can be
// answered.
func fuzzPack(f *testing.F, format string) {
	f.Helper()
	fuzzMapped(f, format, "")
}

func fuzzMapped(f *testing.F, format, by string) {
	f.Helper()
	limits := pack.DefaultLimits()
	limits.Entries, limits.Skipped, limits.File = 1000, 10, 1<<16
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := pack.Read(pack.Source{Format: format, Map: by, Data: data}, limits)
		tasks, skipped := got.Tasks, got.Skipped
		if err != nil {
			if code := arena.CodeOf(err); code == arena.CodeInternal || tasks != nil {
				t.Fatalf("error %v beside %d tasks", err, len(tasks))
			}
			return
		}
		if len(tasks)+len(skipped) == 0 || len(tasks) > limits.Entries || len(skipped) > limits.Skipped || len(got.Warnings) > limits.Skipped {
			t.Fatalf("%d tasks, %d skipped", len(tasks), len(skipped))
		}
		for _, task := range tasks {
			kind := arena.JudgeExact
			switch {
			case got.Format == pack.GSM8K:
				kind = arena.JudgeNumber
			case len(task.Options) > 0:
				kind = arena.JudgeChoice
			case len(task.Answers) == 0 && (format == pack.JSONL || format == pack.Auto):
				kind = arena.JudgePanel // an open question, or one with cases only
			}
			if !scoring.Accepts(arena.JudgeSpec{Kind: kind}, task) {
				t.Fatalf("nothing answers %+v", task)
			}
		}
	})
}

func FuzzParse_jsonl(f *testing.F) {
	f.Add([]byte(`{"description":"q","answer":["a",1],"options":["a","b"],"difficulty":3}`))
	f.Add([]byte(`{"description":"q","answer":[],"cases":[{"args":[1],"want":null}]}`))
	f.Add([]byte("\xef\xbb\xbf{\"description\":\"q\",\"answer\":2}\r\n[]\r"))
	fuzzPack(f, pack.JSONL)
}

func FuzzParse_opentriviaqa(f *testing.F) {
	f.Add([]byte("#Q q\nmore\n^ b\r\nA a\rB b\n\n#Q \xd0?n\n^ a\nA a\nB \xe4"))
	f.Add([]byte("x\n#Q\n^\nA\n"))
	fuzzPack(f, pack.OpenTriviaQA)
}

func FuzzParse_gsm8k(f *testing.F) {
	f.Add([]byte(`{"question":"q","answer":"#### 1,200"}`))
	f.Add([]byte(`{"question":"q","answer":"####"}`))
	fuzzPack(f, pack.GSM8K)
}

func FuzzParse_csv(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfdescription,answer,a,b\r\nq,B,x,\"y\nz\"\r\n"))
	f.Add([]byte("description,answer,options,max_tokens,rules\nq,a|b,a|c,5,r|s\n\"\n"))
	f.Add([]byte("Option_1,description,option_2,answer\nq\n,,,\n\"a\"b,\n"))
	fuzzPack(f, pack.CSV)
}

func FuzzParse_opentdb(f *testing.F) {
	f.Add([]byte(`{"response_code":0,"results":[{"type":"multiple","difficulty":"easy","category":"c","question":"q &quot;","correct_answer":"a","incorrect_answers":["b","c"]}]}`))
	f.Add([]byte(`[{"type":"boolean","question":"q%3F","correct_answer":"True","incorrect_answers":["False"]},{}]`))
	encoded := base64.StdEncoding.EncodeToString([]byte("boolean"))
	f.Add([]byte(`[{"type":"` + encoded + `","question":"cQ==","correct_answer":"VHJ1ZQ==","incorrect_answers":["RmFsc2U="]}]`))
	fuzzPack(f, pack.OpenTDB)
}

// addFound adds the files of other people's formats.
func addFound(f *testing.F, names ...string) {
	f.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("testdata", "found", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

func FuzzParse_mmlu(f *testing.F) {
	addFound(f, "mmlu.csv", "mmlu.jsonl", "mmlu_pro.jsonl")
	fuzzPack(f, pack.MMLU)
}

func FuzzParse_arc(f *testing.F) {
	addFound(f, "arc.jsonl", "arc_table.jsonl")
	fuzzPack(f, pack.ARC)
}

func FuzzParse_aqua(f *testing.F) {
	addFound(f, "aqua.json")
	fuzzPack(f, pack.AQuA)
}

func FuzzParse_bigbench(f *testing.F) {
	addFound(f, "bigbench_choice.json", "bigbench_target.json")
	fuzzPack(f, pack.BIGBench)
}

// Threat A6: no file that is guessed breaks a reader.
func FuzzRead_auto(f *testing.F) {
	addFound(f, "mmlu.csv", "mmlu.jsonl", "arc.jsonl", "aqua.json", "bigbench_choice.json")
	f.Add([]byte("\xff\xfed\x00,\x00"))
	f.Add([]byte("prompt;a;b;correct\nq;x;y;1\nr;x;y;2\n"))
	f.Add([]byte(`{"question":"q","distractor1":"x","correct_answer":"y"}`))
	fuzzPack(f, pack.Auto)
}

func FuzzRead_mapped(f *testing.F) {
	f.Add([]byte("q.r,o,a\nq,x|y,1\nr,x|y,0\n"))
	f.Add([]byte(`{"q":{"r":"q"},"o":[{"text":"x","label":1},{"text":"y","label":2}],"a":2}`))
	f.Add([]byte(`[{"q":{"r":"q"},"o":["A)x","B)y"],"a":"B"},{"q":{"r":"q"},"o":{"A":"x","B":1},"a":null}]`))
	fuzzMapped(f, pack.Auto, "description=q.r,options=o,answer=a")
}

// FuzzMapping reads mappings. One that is taken is read the same from its own
// text.
func FuzzMapping(f *testing.F) {
	f.Add("description=a,options=b+c,answer=d")
	f.Add("description=a, answer_index = b ,options=c")
	f.Fuzz(func(t *testing.T, by string) {
		limits := pack.DefaultLimits()
		first, err := pack.Read(pack.Source{Format: pack.Auto, Map: by, Data: []byte(`{"a":1}`)}, limits)
		if err != nil {
			return
		}
		again, err := pack.Read(pack.Source{Format: pack.Auto, Map: first.Map, Data: []byte(`{"a":1}`)}, limits)
		if err != nil || again.Map != first.Map {
			t.Fatalf("%q: %q, then %q, %v", by, first.Map, again.Map, err)
		}
	})
}
