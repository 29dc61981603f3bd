package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// licenceOf names the licence of a text, by words that stand in no other one;
// "" when it is none of those that ask for nothing but a notice.
func licenceOf(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, copyleft := range []string{
		"gnu general public license", "gnu lesser general public license", "gnu affero general public license", "mozilla public license",
		"eclipse public license", "common development and distribution license", "server side public license", "business source license",
	} {
		if strings.Contains(text, copyleft) {
			return ""
		}
	}
	for _, l := range [][2]string{
		{"Apache-2.0", "apache license version 2.0"},
		{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
		{"BSD", "redistribution and use in source and binary forms, with or without modification, are permitted"},
		{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"},
		{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted"},
		{"public domain", "this is free and unencumbered software released into the public domain"},
		{"CC0", "cc0 1.0 universal"},
	} {
		if strings.Contains(text, l[1]) {
			return l[0]
		}
	}
	return ""
}

// licenceExceptions are modules whose texts the rule would refuse.
func licenceExceptions() map[string]string {
	return map[string]string{
		"kernel.org/pub/linux/libs/security/libcap/psx": "BSD-3-Clause or GPL-2.0, as its user chooses; the first",

		"pgregory.net/rapid": "MPL-2.0, unchanged; only tests use it, it is in no binary",
	}
}

// Whatever is linked into the program, its tools and its tests may be passed
// on under a notice alone. It reads the licences that lie beside the sources.
func TestLicences(t *testing.T) {
	t.Parallel()
	var dependencies []string
	for _, dir := range modules() {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-tags", "nomsgpack",
			"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./...")
		cmd.Dir = filepath.Join(root(t), dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list in %s: %v", dir, err)
		}
		dependencies = slices.AppendSeq(dependencies, strings.SplitSeq(strings.TrimSpace(string(out)), "\n"))
	}
	slices.Sort(dependencies)
	found := map[string]int{}
	for _, line := range slices.Compact(dependencies) {
		module, dir, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		if _, excepted := licenceExceptions()[module]; excepted {
			continue
		}
		name := licenceIn(t, dir)
		if name == "" {
			t.Errorf("%s has no licence that asks for a notice alone: look at %s", module, dir)
		}
		found[name]++
	}
	if len(found) < 3 {
		t.Errorf("found only %v: are the modules there?", found)
	}
	t.Logf("licences of modules: %v", found)
}

func licenceIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		if f.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "UNLICENSE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if l := licenceOf(string(text)); l != "" {
			return l
		}
	}
	return ""
}

// lock is the part of a package-lock.json that the rules below read.
type lock struct {
	Packages map[string]struct {
		Resolved string
		Licence  string `json:"license"`
	}
}

// lockProblems returns what the rules for npm packages forbid in a lock file: a
// download address, and in the SDK and the examples, which authors install, a
// licence that asks for more than a notice.
func lockProblems(file string, l lock) (problems []string) {
	permissive := regexp.MustCompile(`\b(MIT|Apache-2\.0|ISC|0BSD|BSD-[23]-Clause)\b`)
	for name, p := range l.Packages {
		if p.Resolved != "" {
			problems = append(problems, name+" has the address "+p.Resolved)
		}
		if !strings.HasPrefix(file, "web/") && !permissive.MatchString(p.Licence) && name != "" {
			problems = append(problems, name+" has the licence "+p.Licence)
		}
	}
	return problems
}

func TestLicences_npm(t *testing.T) {
	t.Parallel()
	found := 0
	for _, file := range sources(t, ".json") {
		if filepath.Base(file) != "package-lock.json" {
			continue
		}
		found++
		data, err := os.ReadFile(filepath.Join(root(t), file))
		var l lock
		if err == nil {
			err = json.Unmarshal(data, &l)
		}
		if err != nil || len(l.Packages) < 2 {
			t.Fatalf("%s lists %d packages, %v", file, len(l.Packages), err)
		}
		for _, problem := range lockProblems(file, l) {
			t.Errorf("%s: %s", file, problem)
		}
	}
	if found < 3 {
		t.Errorf("found %d lock files", found)
	}
	// The rules find what they must.
	var l lock
	err := json.Unmarshal([]byte(`{"packages": {"": {}, "a": {"license": "MIT", "resolved": "https://npm.example/a.tgz"}, "b": {"license": "GPL-3.0"}, "c": {}}}`), &l)
	if problems := lockProblems("examples/package-lock.json", l); err != nil || len(problems) != 3 {
		t.Errorf("found %v, %v", problems, err)
	}
}

func TestLicenceOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004":                                                     "Apache-2.0",
		"Redistribution and use in source and binary forms, with or without\nmodification, are permitted": "BSD",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                                            "",
		"Mozilla Public License Version 2.0":                                                              "",
		"All rights reserved.":                                                                            "",
	} {
		if got := licenceOf(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
