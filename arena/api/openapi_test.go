package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/openapi.json anew")

// The web client's types are made from this file, so that a change of the
// contract shows in a diff.
func TestAPI_openapi_golden(t *testing.T) {
	t.Parallel()
	a := newAPI(t, testOptions(t))
	var got bytes.Buffer
	if err := json.Indent(&got, a.docs.openapi, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden := filepath.Join("testdata", "openapi.json")
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
		t.Errorf("the document changed; if it was meant to, run the test with -update (-want +got):\n%s", diff)
	}
}

func TestAPI_openapi_operations(t *testing.T) {
	t.Parallel()
	a := newAPI(t, testOptions(t))
	doc := a.huma.OpenAPI()
	for _, r := range routes() {
		op := operationAt(doc, r.method, r.path)
		if op == nil {
			t.Errorf("%s %s is not in the document", r.method, r.path)
			continue
		}
		if op.Summary == "" || len(op.Tags) != 1 || op.OperationID != r.id || op.Security == nil {
			t.Errorf("%s %s lacks summary, tag, operationId or security: %+v", r.method, r.path, op)
		}
		if needs := len(r.scope.admits()) > 0; needs != (len(op.Security) == 1 && op.Security[0]["bearer"] != nil) {
			t.Errorf("%s %s has scope %q and security %v", r.method, r.path, r.scope, op.Security)
		}
	}
}
