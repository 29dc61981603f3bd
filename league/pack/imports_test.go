package pack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
)

// Option columns are found however they are named and numbered, in the order of
// their numbers.
func TestRead_optionColumns(t *testing.T) {
	t.Parallel()
	const want = "q [w; x; y; z] x"
	for _, header := range []string{
		"choice0,choice1,choice2,choice3", "choice_0,choice_1,choice_2,choice_3", "ending0,ending1,ending2,ending3",
		"Option 1,Option 2,Option 3,Option 4", "option-1,option-2,option-3,option-4", "OPTION1,OPTION2,OPTION3,OPTION4",
		"option_a,option_b,option_c,option_d", "optionA,optionB,optionC,optionD", "Option (A),Option (B),Option (C),Option (D)",
		"A,B,C,D", "A),B),C),D)", "A1,A2,A3,A4", "0,1,2,3", "1,2,3,4", "opa,opb,opc,opd", "ansA,ansB,ansC,ansD", "answer1,answer2,answer3,answer4",
		"choices[0],choices[1],choices[2],choices[3]", "options.1.text,options.2.text,options.3.text,options.4.text",
		"Alternative A,Alternative B,Alternative C,Alternative D", "respuesta_a,respuesta_b,respuesta_c,respuesta_d",
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte("question," + header + ",correct\nq,w,x,y,z,x\n")})
		if lines != want || len(got.Reading.LeftOut) > 0 {
			t.Errorf("%s: %s, left out %v", header, lines, got.Reading.LeftOut)
		}
	}
	// Names sort as text in another order than their numbers: choice10 comes behind choice9.
	var header, cells, fields []string
	for i := range 12 {
		header, cells = append(header, "choice"+string("0123456789"[i%10])), append(cells, "o"+string(rune('a'+i)))
		if i > 9 {
			header[i] = "choice1" + string("01"[i-10])
		}
		fields = append(fields, `"`+header[i]+`":"`+cells[i]+`"`)
	}
	for name, data := range map[string]string{
		"table":   strings.Join(header, ",") + ",question,answer\n" + strings.Join(cells, ",") + ",q,11\n" + strings.Join(cells, ",") + ",r,0\n",
		"objects": "{" + strings.Join(fields, ",") + `,"question":"q","answer":11}` + "\n{" + strings.Join(fields, ",") + `,"question":"r","answer":0}`,
		"list":    `{"options":["` + strings.Join(cells, `","`) + `"],"question":"q","label":"11"}` + "\n" + `{"options":["` + strings.Join(cells, `","`) + `"],"question":"r","label":0}`,
	} {
		options := "[" + strings.Join(cells, "; ") + "]"
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(data)})
		if lines != "q "+options+" ol\nr "+options+" oa" {
			t.Errorf("%s: %s", name, lines)
		}
		if name != "list" && slices.Index(got.Names, "choice10") != slices.Index(got.Names, "choice9")+1 {
			t.Errorf("%s: names %v", name, got.Names)
		}
	}
}

// Wrong answers beside the right one are options.
func TestRead_wrongAnswerColumns(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		"question,correct_answer,distractor1,distractor2,distractor3\nq,x,w,y,z\n",
		"question,correct_answer,incorrect_answer_1,incorrect_answer_2,incorrect_answer_3\nq,x,w,y,z\n",
		"Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\nq,x,w,y,z\n",
		"question,answer,wrong0,wrong1,wrong2\nq,x,w,y,z\n",
		"question,answer,incorrect_answers\nq,x,w|y|z\n",
		`{"question":"q","answer":"x","distractors":["w","y","z"]}`,
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(data)})
		if len(got.Tasks) != 1 || len(got.Tasks[0].Options) != 4 || strings.Join(got.Tasks[0].Answers, "|") != "x" || len(got.Reading.LeftOut) > 0 {
			t.Errorf("%s: %s %v", data, lines, got.Reading.LeftOut)
		}
	}
}

// Without options, a letter or a small number is a doubtful answer.
func TestRead_noOptionsFound(t *testing.T) {
	t.Parallel()
	for data, note := range map[string]bool{
		"question,first,second,answer\nq,x,y,B\nr,x,y,1\n":   true,
		"question,first,second,answer\nq,x,y,B\nr,x,y,yes\n": false,
		"question,answer\nq,B\n":                             false,
	} {
		got, _ := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(data)})
		if (len(got.Reading.Notes) > 0) != note {
			t.Errorf("%q: %v", data, got.Reading.Notes)
		}
	}
}

// Columns that look like options and cannot be put in order are not dropped.
func TestRead_optionColumnsWithGaps(t *testing.T) {
	t.Parallel()
	for header, says := range map[string]string{
		"choice0,choice1,choice3":      `"choice3" look like options, and their numbers have a gap`,
		"choice2,choice3,choice4":      `"choice4" look like options, and their numbers have a gap`,
		"option_a,option_b,option_d":   `have a gap`,
		"A,B,D":                        `have a gap`,
		"option1,option_1,option2":     `have the same number`,
		"option,option,option":         `3 columns have the name "option"`,
		"option 1,option 2,option 003": "", // the same as 3
	} {
		_, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte("question," + header + ",answer\nq,x,y,z,x\n")})
		if says == "" && lines != "q [x; y; z] x" || !strings.Contains(lines, says) {
			t.Errorf("%s: %s, want %q", header, lines, says)
		}
	}
}

// The whole file decides where indexes begin, and nothing is guessed without
// evidence.
func TestRead_firstIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, want, evidence string }{
		{"names from 0, and a 0", "question,choice0,choice1,choice2,choice3,answer\nq,w,x,y,z,0\nr,w,x,y,z,1\n", "q [w; x; y; z] w\nr [w; x; y; z] x", "zero"},
		{"names from 0 alone", "question,choice0,choice1,choice2,answer\nq,x,y,z,1\nr,x,y,z,2\n", "q [x; y; z] y\nr [x; y; z] z", "names"},
		{"a 0 far behind", "question,a,b,c,answer\n" + strings.Repeat("q,x,y,z,1\n", 30) + "r,x,y,z,0\n", strings.Repeat("q [x; y; z] y\n", 30) + "r [x; y; z] x", "zero"},
		{"the number of options", "question,option1,option2,option3,answer\nq,x,y,z,3\nr,x,y,z,1\n", "q [x; y; z] z\nr [x; y; z] x", "count"},
		{"a 0 beside names from 1", "premise,question,choice1,choice2,label\np,q,x,y,0\np,r,x,y,1\n", "p\n\nq [x; y] x\np\n\nr [x; y] y", "zero"},
		{"objects without subject", `{"question":"q","options":["x","y","z"],"answer":3}` + "\n" + `{"question":"r","options":["x","y","z"],"answer":1}`, "q [x; y; z] z\nr [x; y; z] x", "count"},
		{"names of the columns", "question,1,2,3,answer\nq,x,y,z,1\nr,x,y,z,2\n", "q [x; y; z] x\nr [x; y; z] y", ""},
		{"an answer names its column", "question,choice1,choice2,answer\nq,x,y,choice2\nr,x,y,Choice 1\n", "q [x; y] y\nr [x; y] x", ""},
		{"letters of option_a", "question,option_a,option_b,answer\nq,x,y,B\nr,x,y,option_a\n", "q [x; y] y\nr [x; y] x", ""},
		{"numbers of a program for numbers", "question,a,b,answer\nq,x,y,1.0\nr,x,y,0.0\n", "q [x; y] y\nr [x; y] x", "zero"},
		{"letters in brackets", "question,A,B,answer\nq,x,y,(B)\nr,x,y,a.\n", "q [x; y] y\nr [x; y] x", ""},
		{"options that are numbers", "question,a,b,c,d,answer\nlegs,2,3,4,8,4\neyes,1,2,3,4,2\n", "legs [2; 3; 4; 8] 4\neyes [1; 2; 3; 4] 2", ""},
		{"numbers that are options in a file of indexes", "question,a,b,c,answer\nq,x,y,z,0\nr,2,1,0,1\ns,2,1,0,2\n", "q [x; y; z] x\nr [2; 1; 0] 1\n" +
			`skipped: the answer "2" is the text of option A, and other entries would mean option C by it`, "zero"},
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(c.data)})
		if lines != c.want || got.Reading.Evidence != c.evidence {
			t.Errorf("%s: evidence %q:\n%s\nwant %q:\n%s", c.name, got.Reading.Evidence, lines, c.evidence, c.want)
		}
	}
	for _, c := range []struct {
		name, data string
		says       []string
	}{
		{"both bases", "question,a,b,c,answer\nq,x,y,z,1\nr,x,y,z,2\n", []string{`the column "answer"`, "line 2", "description=question,options=a+b+c,answer_index=answer", "description=question,options=a+b+c,answer_number=answer"}},
		{"both bases, the arena's own names", "description,a,b,c,answer,topic\nq,x,y,z,1\n", []string{"description=description,options=a+b+c,answer_index=answer,topic=topic"}},
		{"both bases, names from 1", "question,option1,option2,option3,key\nq,x,y,z,1\nr,x,y,z,2\n", []string{`the column "key"`}},
		{"a column that is called an index", "question,a,b,c,answer_index\nq,3,2,1,1\nr,3,2,1,2\n", []string{`the column "answer_index"`}},
		{"both bases, objects", `{"question":"q","options":["x","y","z"],"answer":1}`, []string{`the field "answer"`, "description=question,options=options,answer_index=answer"}},
		{"a 0 and the number of options", "question,a,b,c,answer\nq,x,y,z,0\nr,x,y,z,3\n", []string{"line 2 has 0", "line 3 has 3, the number of options"}},
		{"names from 0 and the number of options", "question,choice0,choice1,answer\nq,x,y,1\nr,x,y,2\n", []string{`"choice0"`, "line 3 has 2, the number of options"}},
	} {
		got, err := readSource(pack.Source{Format: pack.Auto, Data: []byte(c.data)})
		for _, says := range c.says {
			if arena.CodeOf(err) != arena.CodePackInvalid || got.Tasks != nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want %q", c.name, err, says)
			}
		}
		// The mapping that the error suggests is read.
		for _, base := range []string{"answer_index=", "answer_number="} {
			by := strings.Replace(got.Map, "answer=", base, 1)
			if got, err := readSource(pack.Source{Format: pack.Auto, Map: by, Data: []byte(c.data)}); err != nil || got.Reading.Evidence != "declared" {
				t.Errorf("%s by %q: %v, %+v", c.name, by, err, got.Reading)
			}
		}
	}
}

// A passage that a question is about stands in front of it.
func TestRead_context(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, want string }{
		{`{"article":"Long text.","question":"What?","options":["x","y"],"answer":"A"}`, "Long text.\n\nWhat? [x; y] x"},
		{`{"passage":"P.","question":"is it","answer":true}`, "P.\n\nis it [] true"},
		{`{"id":"1","title":"T","context":"C.","question":"Where?","answers":{"text":["Rome","Roma"],"answer_start":[1,2]}}`, "C.\n\nWhere? [] Rome or Roma"},
		{`{"question":"q","distractor1":"x","correct_answer":"y","support":"S."}`, "S.\n\nq [y; x] y"},
		{"story,question,answer\nOnce.,Who?,me\n,What?,it\n", "Once.\n\nWho? [] me\nWhat? [] it"},
		{"context,question,answerA,answerB,label\nC.,q,x,y,B\n", "C.\n\nq [x; y] y"},
		{"Background;Passage;Question;Answer\nB.;P.;q;a\n", "B.\n\nP.\n\nq [] a"},
		{`{"dialogue":["a: hi","b: ho"],"question":"q","answer":"x"}`, "a: hi\nb: ho\n\nq [] x"},
		{`{"text":"T.","question":"q","answer":"x"}`, "T.\n\nq [] x"},
		{`{"description":"q","context":"C.","answer":"x"}`, "C.\n\nq [] x"},
		{`{"para":"P.","question":{"stem":"q","choices":[{"text":"x","label":"A"},{"text":"y","label":"B"}]},"answerKey":"B"}`, "P.\n\nq [x; y] y"},
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(c.data)})
		if lines != c.want || len(got.Reading.Context) == 0 {
			t.Errorf("%s: %q, want %q, context %v", c.data, lines, c.want, got.Reading.Context)
		}
	}
	got, lines := readAll(t, pack.Source{Format: pack.Auto, Map: "description=q,context=a+b,answer=r", Data: []byte("a,b,q,r,s\n1,2,3,4,5\n")})
	if lines != "1\n\n2\n\n3 [] 4" || got.Map != "description=q,context=a+b,answer=r" || strings.Join(got.Reading.LeftOut, ",") != "s" {
		t.Errorf("%s, %+v", lines, got)
	}
}

// What no part of a task holds is listed, wherever in the file it is.
func TestRead_leftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, want string }{
		{"id,question,answer,source,\n1,q,a,s,\n", "id,source"},
		{",question,answer\n0,q,a\n", "column 1"},
		{`{"question":"q","choices":["x","y"],"answer":"A","subject":"s","split":"test"}`, "split"},
		{strings.Repeat(`{"question":"q","choices":["x","y"],"answer":"A"}`+"\n", 20) + `{"question":"q","choices":["x","y"],"answer":"A","late":1}`, "late"},
		{`{"question":"q","options":["A)x","B)y"],"rationale":"r","correct":"A"}`, "rationale"},
		{`{"id":"7","question":{"stem":"q","choices":[{"text":"x","label":"A"},{"text":"y","label":"B"}],"note":"n"},"answerKey":"B"}`, "id,question.note"},
		{`{"examples":[{"input":"q","target":"a","comment":"c"}]}`, "comment"},
		{`{"description":"q","answer":"a"}`, ""},
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(c.data)})
		if strings.Join(got.Reading.LeftOut, ",") != c.want || len(got.Tasks) == 0 {
			t.Errorf("%s: %v, want %s; %s", c.data, got.Reading.LeftOut, c.want, lines)
		}
	}
}

// Empty rows, missing cells at the end and surplus separators come with
// spreadsheets.
func TestRead_raggedTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data, want string
		empty      int
	}{
		{"description,answer,options,topic\nq,a\nr,b,,m\n", "q [] a\nr [] b #m", 0},
		{"description,answer\nq,a\n,\n  , \nr,b\n,\n,,,\n", "q [] a\nr [] b", 4},
		{",,,\n\ndescription,answer,,\nq,a,,\n,,,\n", "q [] a", 2},
		{"description,answer\nq,a,\nr,b,,,\n", "q [] a\nr [] b", 0},
		{"question,topic,answer\nq,t,a\nr,t\n", "q [] a #t\nskipped: 2 cells, the header has 3: the cell of answer is missing", 0},
		{"description,answer,a,b,c\nq,x,x,y\n", "skipped: 4 cells, the header has 5: the cell of c is missing", 0},
		{"description,answer\nq,a,b\n", "skipped: 3 cells, the header has 2", 0},
		{"description,answer,\nq,a,b\n", "skipped: 3 cells, the header has 2", 0},
		{"What flies?,cow,eagle,trout,dog,B\n,,,,,\n", "What flies? [cow; eagle; trout; dog] eagle", 1},
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(c.data)})
		if lines != c.want || got.Reading.EmptyRows != c.empty {
			t.Errorf("%q: %s, %d empty rows; want %s and %d", c.data, lines, got.Reading.EmptyRows, c.want, c.empty)
		}
	}
	limits := pack.DefaultLimits()
	limits.Entries = 1
	got, err := pack.Read(pack.Source{Format: pack.CSV, Data: []byte("description,answer\nq,a\n" + strings.Repeat(",\n", 1000))}, limits)
	if err != nil || len(got.Tasks) != 1 || got.Reading.EmptyRows != 1000 {
		t.Errorf("empty rows count as entries: %v, %+v", err, got)
	}
	if _, err := readSource(pack.Source{Format: pack.CSV, Data: []byte("description,answer\n,\n")}); arena.CodeOf(err) != arena.CodePackInvalid {
		t.Errorf("only empty rows: %v", err)
	}
}

// The first line of a file for Excel names its separator; lines are counted
// with it.
func TestRead_separatorLine(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		"sep=;\r\ndescription;answer\r\n2, 3?;4\r\n;b\r\n", "SEP=,\ndescription,answer\n\"2, 3?\",4\n,b\n", "\xef\xbb\xbf\"sep=\t\"\ndescription\tanswer\n2, 3?\t4\n\tb\n",
		"sep=|\ndescription|answer\n2, 3?|4\n|b\n", string(inUTF16("sep=;\ndescription;answer\n2, 3?;4\n;b\n", false, true)),
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(data)})
		if lines != "2, 3? [] 4\nskipped: the description is missing or empty" || got.Skipped[0].Line != 4 {
			t.Errorf("%q: %s %v", data, lines, got.Skipped)
		}
	}
}

// Text in Windows-1252 is read and reported; damaged UTF-8 is not taken for it.
func TestRead_windows1252(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, want string }{
		{"description;answer\r\nHauptstadt von \xd6sterreich?;Wien\r\n", "Hauptstadt von Österreich? [] Wien"},
		{"description,answer\nO\xf9 est le caf\xe9?,Gr\xf6\xdfe \x80 5 \x96 \x93x\x94\n", "Où est le café? [] Größe € 5 – “x”"},
		{"{\"description\":\"\xbfQu\xe9?\",\"answer\":\"ma\xf1ana\"}", "¿Qué? [] mañana"},
		{"pregunta_\xf1,question,answer\nx,q,a\n", "q [] a"},
	} {
		got, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(c.data)})
		if lines != c.want || len(got.Reading.Notes) != 1 || !strings.Contains(got.Reading.Notes[0], "Windows-1252") {
			t.Errorf("%s, want %s; notes %v", lines, c.want, got.Reading.Notes)
		}
	}
	for name, text := range map[string]string{
		"UTF-8 beside it":         "caf\xc3\xa9 caf\xe9",
		"a byte without meaning":  "x\x81y",
		"cut UTF-8":               "who\xc3?",
		"cut quotation marks":     "\xe2\x80Badger\xe2\x80",
		"another code page":       "\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0! \xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0! \xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0!",
		"another code page, kana": "\x83\x81\x83\x8d\x83\x93",
	} {
		_, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte("description,answer\n" + text + ",a\n")})
		if !strings.HasPrefix(lines, "skipped: ") || !strings.Contains(lines, "save the file as UTF-8") {
			t.Errorf("%s: %s", name, lines)
		}
	}
}

// Files of other programs get a sentence that says what to do. Threat A6.
func TestRead_otherFiles(t *testing.T) {
	t.Parallel()
	for data, says := range map[string]string{
		"PK\x03\x04\x14\x00\x06\x00[Content_Types].xml xl/workbook.xml":            "an Excel workbook; save the sheet as CSV UTF-8",
		"PK\x03\x04\x14\x00mimetypeapplication/vnd.oasis.opendocument.spreadsheet": "an OpenDocument spreadsheet; save the sheet as CSV",
		"PK\x03\x04\x14\x00\x00\x00questions.csv":                                  "a ZIP archive; unpack it",
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 Workbook":                                "an old Excel or Word file; save the sheet as CSV UTF-8",
		"\x1f\x8b\x08\x00":        "compressed; unpack it",
		"BZh91AY&SY":              "compressed; unpack it",
		"\xfd7zXZ\x00":            "compressed; unpack it",
		"\x28\xb5\x2f\xfd\x00":    "compressed; unpack it",
		"7z\xbc\xaf\x27\x1c":      "a 7z archive; unpack it",
		"SQLite format 3\x00":     "a SQLite database; export the table as CSV",
		"%PDF-1.7":                "a PDF",
		"ARROW1\x00\x00":          "an Arrow file",
		"PAR1 PAR1":               "a Parquet file",
		"\n<!DOCTYPE html><html>": "a web page; download the file itself",
		"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n": "a Git LFS pointer",
		"{\\rtf1\\ansi question": "a text document (RTF)",
		"<?xml version=\"1.0\"?><Workbook xmlns=\"urn:schemas-microsoft-com:office\"/>": "XML",
	} {
		for _, format := range []string{pack.Auto, pack.CSV} {
			_, err := readSource(pack.Source{Format: format, Data: []byte(data)})
			if arena.CodeOf(err) != arena.CodePackInvalid || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v, want %q", data[:4], err, says)
			}
		}
	}
}

// Answers that fit no option or two of them, and questions that contradict each
// other, are reported by line.
func TestRead_contradictions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, want string }{
		{"no option", "question,a,b,answer\nq,x,y,z z\n", "skipped: the answer is not among the options"},
		{"two options, loosely", `{"question":"q","options":["The Beatles","Beatles!"],"answer":"beatles"}`, "skipped: the answer \"beatles\" fits options A and B"},
		{"options that are the same", "question,a,b,c,answer\nq,x,Y,y,A\n", "q [x; Y] x\n" + `warning: options B and C are the same ("y"): the second is left out`},
		{"the right option twice", "question,a,b,c,answer\nq,x,X,y,A\n", "skipped: options A and B are the same"},
		{"an accepted answer that is no option", `{"description":"q","options":["x","y"],"answer":["x","z"]}`, "q [x; y] x or z\n" + `warning: the accepted answer "z" is not among the options`},
		{"several letters", `{"description":"q","options":["x","y","z"],"answer":["A","C"]}`, "q [x; y; z] x or z"},
		{"different answers", "description,answer\n2+2?,4\n2+2?,4\n 2+2? ,5\n", "2+2? [] 4\n2+2? [] 4\n2+2? [] 5\n" +
			`warning: the question of line 2 again, with another answer: "4" there, "5" here`},
		{"different answers with options", "description,a,b,answer\nq,x,y,A\nQ,y,x,A\nq,v,w,A\n", "q [x; y] x\nQ [y; x] y\nq [v; w] v\n" +
			`warning: the question of line 2 again, with another answer: "x" there, "y" here`},
		{"different answers in different options", "description,a,b,answer\nA fish?,pike,cow,pike\nA fish?,tuna,dog,tuna\n", "A fish? [pike; cow] pike\nA fish? [tuna; dog] tuna"},
		{"accepted answers in common", `{"description":"q","answer":["a","b"]}` + "\n" + `{"description":"q","answer":["c","B"]}`, "q [] a or b\nq [] c or B"},
	} {
		if _, lines := readAll(t, pack.Source{Format: pack.Auto, Data: []byte(c.data)}); lines != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, lines, c.want)
		}
	}
}

// A check shows how three rows were understood, and by which columns.
func TestRead_report(t *testing.T) {
	t.Parallel()
	got, err := readSource(pack.Source{Format: pack.Auto, Data: []byte("id,question,choice0,choice1,choice2,answer\n1,q,x,y,z,0\n2,r,x,y,z,z\n3,s,x,y,z,B\n4,t,x,y,z,choice2\n,,,,,\n")})
	if err != nil {
		t.Fatal(err)
	}
	r := got.Report("", 4, 100)
	if r.Reading.Description != "question" || strings.Join(r.Reading.Options, "+") != "choice0+choice1+choice2" || r.Reading.Answer != "answer" ||
		r.Reading.FirstIndex == nil || *r.Reading.FirstIndex != 0 || r.Reading.Evidence != "zero" || r.Reading.EmptyRows != 1 || strings.Join(r.Reading.LeftOut, ",") != "id" {
		t.Errorf("%+v", r.Reading)
	}
	for i, want := range []struct {
		given, means string
		right        int
	}{{"0", "index", 0}, {"z", "text", 2}, {"B", "letter", 1}, {"choice2", "label", 2}} {
		s := r.Samples[i]
		if s.Line != i+2 || s.Given != want.given || s.Means != want.means || len(s.Right) != 1 || s.Right[0] != want.right {
			t.Errorf("line %d: %+v, want %+v", i+2, s, want)
		}
	}
	got, err = readSource(pack.Source{Format: pack.Auto, Data: []byte("question,correct_answer,distractor1\nq,x,y\n")})
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Report("", 3, 3).Samples[0]; s.Means != "text" || s.Given != "x" || len(s.Right) != 1 || s.Options[s.Right[0]] != "x" {
		t.Errorf("%+v", s)
	}
}
