package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/cli"
)

// A benchmark gets its flags as they are, and the process is replaced by the
// program that holds it.
func TestBench_replacesTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, benchProgram)
	must(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	var got []string
	var errs bytes.Buffer
	app := &App{Process: cli.Process{Stderr: &errs, Environ: []string{"PATH=/nowhere" + string(os.PathListSeparator) + dir, "A=B"}}, Exec: func(program string, argv, environ []string) error {
		got = append([]string{program}, argv...)
		got = append(got, environ[1:]...)
		return errors.New("as in a test")
	}}
	code := app.run([]string{"bench", "match", "--help", "--seats=3", "x"})
	if want := []string{program, program, "match", "--help", "--seats=3", "x", "A=B"}; !slices.Equal(got, want) {
		t.Errorf("replaced by %q, want %q", got, want)
	}
	if code != exitFailure || !strings.Contains(errs.String(), "as in a test") {
		t.Errorf("exit code %d, stderr %q", code, &errs)
	}
}

func TestFindBench(t *testing.T) {
	t.Parallel()
	beside, onPath, empty := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{beside, onPath} {
		must(t, os.WriteFile(filepath.Join(dir, benchProgram), nil, 0o700))
	}
	for _, tc := range []struct{ folder, path, want string }{
		{beside, onPath, filepath.Join(beside, benchProgram)},
		{empty, empty + string(os.PathListSeparator) + onPath, filepath.Join(onPath, benchProgram)},
	} {
		if got, err := findBench(tc.folder, tc.path); got != tc.want || err != nil {
			t.Errorf("in %s and %s: %q, %v, want %q", tc.folder, tc.path, got, err, tc.want)
		}
	}
	_, err := findBench(empty, "/nowhere")
	for _, want := range []string{empty, "/nowhere", "make bin/arena-bench"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
