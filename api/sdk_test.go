package api

import (
	"strings"
	"testing"
)

func TestAPI_sdk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/sdk", "/sdk/"} {
		if r := w.do("GET", path, "", nil).is(200); string(r.body) != "sdk" {
			t.Errorf("%s: body is %q", path, r.body)
		}
	}
	r := w.do("GET", "/sdk/cargo/config.json", "", nil).is(404)
	if r.header.Get("Content-Type") != "application/problem+json" || r.str("detail") != "no such SDK package" {
		t.Errorf("%v %s", r.header, r.body)
	}
	w.do("POST", "/sdk", "", object{}).is(405)
	w.do("POST", "/sdk/x", "", object{}).is(404)
	if r := w.do("GET", "/sdkfoo", "", nil).is(200); !strings.HasPrefix(string(r.body), "page GET") {
		t.Errorf("body is %q", r.body)
	}
}
