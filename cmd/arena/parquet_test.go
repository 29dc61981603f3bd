package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// mmluRow is a row of MMLU as Hugging Face stores it.
type mmluRow struct {
	Question string   `parquet:"question"`
	Subject  string   `parquet:"subject"`
	Choices  []string `parquet:"choices,list"`
	Answer   int64    `parquet:"answer"`
}

func parquetFile[T any](t *testing.T, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := parquet.Write(&file, rows, options...); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestPackCheck_Parquet(t *testing.T) {
	t.Parallel()
	rows := []mmluRow{
		{"What flies?", "animals", []string{"cow", "eagle", "trout"}, 1},
		{"¿Qué ladra?", "animals", []string{"perro", "gato"}, 0},
	}
	for name, options := range map[string][]parquet.WriterOption{
		"plain": nil, "zstd": {parquet.Compression(&parquet.Zstd)}, "snappy": {parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1)},
	} {
		data := parquetFile(t, rows, options...)
		path := filepath.Join(t.TempDir(), "set.parquet")
		must(t, os.WriteFile(path, data, 0o600))
		code, out, errs := call(t, nil, "pack", "check", path)
		for _, s := range []string{"format:    mmlu", "tasks:     2", "answer:  eagle", "answer:  perro", "topic:   animals"} {
			if !strings.Contains(out, s) {
				t.Errorf("%s: no %q in\n%s%s", name, s, out, errs)
			}
		}
		if code != exitOK {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
		code, out, errs = call(t, nil, "pack", "check", "--map", "description=subject,answer=question,options=choices", path)
		if code != exitFailure || !strings.Contains(out, "line 2") {
			t.Errorf("%s, mapped: exit code %d\n%s%s", name, code, out, errs)
		}
		must(t, os.WriteFile(path, data[:len(data)-3], 0o600))
		if code, _, errs = call(t, nil, "pack", "check", path); code != exitFailure || !strings.Contains(errs, "Parquet") {
			t.Errorf("%s, cut: exit code %d: %s", name, code, errs)
		}
	}
}
