package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/agora-arena/arena/server"
)

func TestConfig_PrintHidesSecrets(t *testing.T) {
	t.Parallel()
	const mark = "hunter2hunter2hunter2"
	for _, s := range server.Settings() {
		if !s.Secret {
			continue
		}
		for _, secret := range []string{mark, "postgres://user:" + mark + "@host/db", "postgres://host/db?password=" + mark} {
			c, _ := server.Load(server.Sources{Environ: []string{s.Key + "=" + secret}})
			var out bytes.Buffer
			if err := printConfig(&out, c); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), mark) {
				t.Errorf("%s=%s is printed:\n%s", s.Key, secret, out.String())
			}
		}
	}
}

func TestSettings_Documentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := writeMarkdown(&table); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, table.Bytes()) {
		t.Errorf("docs/configuration.md does not hold the table that `arena config --markdown` prints:\n%s", table.String())
	}
}
