package api

import (
	"runtime"
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

func TestAPI_program(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	script := w.do("GET", "/install.sh", "", nil).is(200)
	if script.header.Get("Content-Type") != "text/x-shellscript; charset=utf-8" || !strings.Contains(string(script.body), "\n  arena='https://arena.example'\n") {
		t.Errorf("%v %s", script.header, script.body)
	}
	path := "/download/" + runtime.GOOS + "-" + runtime.GOARCH + "/arena"
	sum := w.do("GET", path+".sha256", "", nil).is(200)
	if len(sum.body) != 64+len("  arena\n") {
		t.Errorf("checksum is %q", sum.body)
	}
	part := w.do("GET", path, "", nil, "Range", "bytes=0-3").is(206)
	if part.header.Get("Content-Type") != "application/octet-stream" || part.header.Get("ETag") == "" || len(part.body) != 4 {
		t.Errorf("%v, %d bytes", part.header, len(part.body))
	}
	for _, path := range []string{"/download", "/download/", "/download/plan9-mips/arena", "/download/plan9-mips", path + "x"} {
		if r := w.do("GET", path, "", nil).is(404); r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v %s", path, r.header, r.body)
		}
	}
	w.do("POST", "/install.sh", "", object{}).is(405)
}
