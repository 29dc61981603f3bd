package api

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The pages embed the catalog.
func TestAPI_catalog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.do("GET", "/v1/catalog", "", nil).is(200)
	if got := r.header.Get("Cache-Control"); got != "public, max-age=60" {
		t.Errorf("Cache-Control is %q", got)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, bytes.TrimSpace(r.body), "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden := filepath.Join("..", "web", "src", "lib", "api", "catalog.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the catalog changed; if it was meant to, run the test with -update (-want +got):\n%s", diff)
	}
}
