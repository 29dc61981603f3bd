package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	const (
		web = "http://127.0.0.1:8700/agora?a=b"
		did = "did:key:z6MkrMhG9pr5dVckMgwZcqo1tMfcLRkEZ74T9sdZYLuNoBgn"
		key = "po+GH2DNdVEmqBTqLYek5vZW+gBfyFgDrG6ASM/eU9c="
	)
	for arg, want := range map[string]target{
		web:                                    {name: "127.0.0.1:8700", protocol: "aap", endpoint: web},
		"ada=" + web:                           {name: "ada", protocol: "aap", endpoint: web, named: true},
		"agora=" + web:                         {name: "127.0.0.1:8700", protocol: "agora", endpoint: web},
		"ada=agora=" + web:                     {name: "ada", protocol: "agora", endpoint: web, named: true},
		"poll":                                 {name: "aap", protocol: "aap"},
		"a2a=" + web:                           {name: "127.0.0.1:8700", protocol: "a2a", endpoint: web},
		"agora=poll":                           {name: "agora", protocol: "agora"},
		"bob=agora=poll":                       {name: "bob", protocol: "agora", named: true},
		"envelope=" + did:                      {name: did[:29] + "…", protocol: "envelope", key: did},
		"agentprotocol=" + key:                 {name: key[:29] + "…", protocol: "agentprotocol", key: key},
		"bob=agentprotocol=" + key + "@" + web: {name: "bob", protocol: "agentprotocol", key: key, endpoint: web, named: true},
	} {
		got, err := parseTarget(arg, "aap")
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", arg, err, diff)
		}
	}
	for arg, protocol := range map[string]string{
		did: "envelope", key: "agentprotocol", key + "@" + web: "agentprotocol", "poll": "agora", web: "auto", "ada=" + did: "envelope", "agora=" + web: "agora",
	} {
		if got, err := parseTarget(arg, "auto"); err != nil || got.protocol != protocol {
			t.Errorf("%s is of %s, want %s; %v", arg, got.protocol, protocol, err)
		}
	}
	for arg, want := range map[string]string{
		did: "envelope=" + did, "agora=" + did: "by poll", "envelope=" + web: "did:key", "agentprotocol=" + web: "KEY@URL", "agora=" + key + "@" + web: "no keys", "aap=" + key: "by poll if it has none",
		"a2a=poll": "URL of its endpoint", "a2a=" + key + "@" + web: "no keys",
	} {
		if _, err := parseTarget(arg, "aap"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", arg, err, want)
		}
	}
}

func TestLocalFlags_identity(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "id.pem")
	made, err := LocalFlags{Identity: file}.identity()
	must(t, err)
	again, err := LocalFlags{Identity: file}.identity()
	if err != nil || len(made) == 0 || !bytes.Equal(made, again) {
		t.Errorf("the key is not kept: %v", err)
	}
	if fresh, err := (LocalFlags{}).identity(); fresh != nil || err != nil {
		t.Errorf("without a file: %v, %v", fresh, err)
	}
	if _, err := (LocalFlags{Identity: t.TempDir()}).identity(); err == nil {
		t.Error("a folder was read as a key")
	}
}
