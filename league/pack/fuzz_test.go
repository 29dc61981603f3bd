package pack_test

import (
	"encoding/base64"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
	"github.com/agora-arena/arena/scoring"
)

// fuzzPack is threat A6: no file breaks the reader, and what it takes can be
// answered.
func fuzzPack(f *testing.F, format string) {
	f.Helper()
	limits := pack.DefaultLimits()
	limits.Entries, limits.Skipped, limits.File = 1000, 10, 1<<16
	f.Fuzz(func(t *testing.T, data []byte) {
		tasks, skipped, err := pack.Parse(format, data, limits)
		if err != nil {
			if code := arena.CodeOf(err); code == arena.CodeInternal || tasks != nil {
				t.Fatalf("error %v beside %d tasks", err, len(tasks))
			}
			return
		}
		if len(tasks)+len(skipped) == 0 || len(tasks) > limits.Entries || len(skipped) > limits.Skipped {
			t.Fatalf("%d tasks, %d skipped", len(tasks), len(skipped))
		}
		for _, task := range tasks {
			kind := arena.JudgeExact
			switch {
			case format == pack.GSM8K:
				kind = arena.JudgeNumber
			case len(task.Options) > 0:
				kind = arena.JudgeChoice
			case len(task.Answers) == 0 && format == pack.JSONL:
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
