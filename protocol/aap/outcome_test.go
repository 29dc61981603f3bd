package aap

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

const jsonType = "application/json"

// Threat R8: the table is total. Only status 200 with application/json carries
// an answer; every other status has the outcome of the table, whatever its type
// and whatever became of its body.
func TestClassify_every_status_and_type(t *testing.T) {
	t.Parallel()
	good := map[string]bool{
		jsonType: true, "application/json; charset=utf-8": true, "Application/JSON;charset=UTF-8": true, `application/json; charset="utf-8"`: true,
	}
	types := []string{
		"", "text/html", "text/json", "application/problem+json", "application/json; charset=latin1", "application/json; charset=utf-8; charset=latin1",
		"application/json; profile=x", "application/jsonx", "application/json, application/json", "application/json;;", "application/ json",
	}
	for s := range good {
		types = append(types, s)
	}
	special := map[int]protocol.Verdict{
		408: {Outcome: arena.OutcomeTimeout},
		429: {Outcome: arena.OutcomeRateLimited},
		500: {Outcome: arena.OutcomeError, Retry: true},
		502: {Outcome: arena.OutcomeError, Retry: true},
		503: {Outcome: arena.OutcomeUnavailable},
		504: {Outcome: arena.OutcomeError, Retry: true},
	}
	for status := range 1000 {
		for _, contentType := range types {
			for _, failure := range []protocol.Failure{"", protocol.FailTruncated, protocol.FailTooLarge} {
				v, answer := classify(protocol.Exchange{
					Failure: failure, Status: status, ContentType: contentType, Body: []byte(`{"answer":"42"}`), Connected: true, Replied: true,
				}, "")
				want, ok := special[status]
				switch {
				case ok:
				case status == 200 && good[contentType] && failure == "":
					want.Outcome = arena.OutcomeAnswered
				default:
					want.Outcome = arena.OutcomeInvalid
				}
				answered := want.Outcome == arena.OutcomeAnswered
				if v.Outcome != want.Outcome || v.Retry != want.Retry || v.Unreached || answered != (answer != nil) ||
					answered != (v.Reason == "") || answered != (v.Detail == "") {
					t.Fatalf("status %d, type %q, failure %q: %+v, answer %v; want %+v", status, contentType, failure, v, answer, want)
				}
			}
		}
	}
}

// Threat R4: what came encoded is called so, and is not read.
func TestClassify_reasons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x    protocol.Exchange
		want string
	}{
		{protocol.Exchange{Status: 418}, "status_418"},
		{protocol.Exchange{Status: 204, ContentType: jsonType}, "status_204"},
		{protocol.Exchange{Status: 0, Replied: true}, "status_0"},
		{protocol.Exchange{Status: 307}, "redirect"},
		{protocol.Exchange{Status: 101}, "switching_protocols"},
		{protocol.Exchange{Status: 200, ContentType: "text/html"}, "bad_content_type"},
		{protocol.Exchange{Status: 200, ContentType: jsonType, Encoding: "gzip"}, "bad_encoding"},
		{protocol.Exchange{Status: 200, ContentType: jsonType, Encoding: "identity, gzip"}, "bad_encoding"},
		{protocol.Exchange{Status: 200, ContentType: jsonType, Encoding: "Identity"}, "bad_json"}, // the name of no encoding: the body is read
		{protocol.Exchange{Status: 200, ContentType: jsonType, Failure: protocol.FailTooLarge}, "too_large"},
		{protocol.Exchange{Status: 200, ContentType: jsonType, Failure: protocol.FailTruncated}, "truncated"},
		{protocol.Exchange{Failure: protocol.FailTruncated, Replied: true}, "truncated"},
		{protocol.Exchange{Status: 200, ContentType: jsonType}, "bad_json"},
		{protocol.Exchange{Status: 200, ContentType: jsonType, Body: []byte(`{"answer":null}`)}, "empty_answer"},
		{protocol.Exchange{Status: 200, ContentType: jsonType, Body: []byte(`{}`)}, "empty_answer"},
		{protocol.Exchange{Status: 200, ContentType: jsonType, Body: []byte(`{"answer":[1]}`)}, "bad_answer"},
		{protocol.Exchange{Status: 429, Failure: protocol.FailTooLarge}, "status_429"},
		{protocol.Exchange{Status: 200, ContentType: jsonType, Body: []byte(`{"answer":"42"}`), Failure: protocol.FailLate}, "late"}, // Threat R7.
	} {
		if v, _ := classify(c.x, ""); v.Reason != c.want {
			t.Errorf("%+v: reason %q, want %q", c.x, v.Reason, c.want)
		}
	}
}

func TestClassify_every_failure(t *testing.T) {
	t.Parallel()
	unreached := protocol.Verdict{Outcome: arena.OutcomeError, Unreached: true, Retry: true}
	for failure, want := range map[protocol.Failure]protocol.Verdict{
		protocol.FailCancelled:   {Outcome: arena.OutcomeVoid},
		protocol.FailBlocked:     unreached,
		protocol.FailDNS:         unreached,
		protocol.FailRefused:     unreached,
		protocol.FailUnreachable: unreached,
		protocol.FailConnect:     unreached,
		protocol.FailTLS:         unreached,
		protocol.FailDropped:     {Outcome: arena.OutcomeError, Retry: true},
		protocol.FailTimeout:     {Outcome: arena.OutcomeTimeout},
		protocol.FailLate:        {Outcome: arena.OutcomeTimeout},
		protocol.FailHTTP:        {Outcome: arena.OutcomeInvalid},
		protocol.FailHeaders:     {Outcome: arena.OutcomeInvalid},
		protocol.FailTruncated:   {Outcome: arena.OutcomeInvalid},
		protocol.FailTooLarge:    {Outcome: arena.OutcomeInvalid},
	} {
		got, answer := classify(protocol.Exchange{Failure: failure}, "")
		if got.Reason != string(failure) || !strings.Contains(got.Detail, " ") {
			t.Errorf("%s: reason %q, detail %q", failure, got.Reason, got.Detail)
		}
		got.Reason, got.Detail = "", ""
		if got != want || answer != nil {
			t.Errorf("%s: %+v, want %+v", failure, got, want)
		}
	}
}

// badReplies are refused whole. Threat R5.
func badReplies() []string {
	deep := strings.Repeat(`[`, 1_000_000)
	return []string{
		``, ` `, `null`, `42`, `"42"`, `[]`, `[{"answer":"x"}]`, `{}`, `{"answer":null}`, `{"answer":{}}`, `{"answer":["x"]}`,
		`{"answer":"x"`, `{"answer":"x"}}`, `{"answer":"x"} {"answer":"y"}`, `{"answer":"x"}x`, "\xef\xbb\xbf" + `{"answer":"x"}`,
		`{"answer":"x","answer":"y"}`, `{"answer":"x","mood":1,"mood":2}`, `{"answer":"x","mood":{"a":1,"a":2}}`,
		`{"Answer":"x"}`, `{"answer":"x","ANSWER":"y"}`, `{"answer":"x","Confidence":0.5}`,
		"{\"answer\":\"\xff\"}", `{"answer":"\ud800"}`, `{"answer":"\udc00\ud800"}`, "{\"answer\":\"a\nb\"}",
		`{"answer":NaN}`, `{"answer":Infinity}`, `{"answer":1e400}`, `{"answer":01}`, `{"answer":+1}`, `{"answer":.5}`, `{'answer':'x'}`,
		`{"answer":"x","mood":` + deep + `}`, deep, `{"answer":"x","mood":` + strings.Repeat(`[`, 32) + strings.Repeat(`]`, 32) + `}`,
	}
}

// Threat R5.
func TestDecodeReply_refuses(t *testing.T) {
	t.Parallel()
	for _, body := range badReplies() {
		v, answer := classify(protocol.Exchange{Status: 200, ContentType: jsonType, Body: []byte(body)}, "")
		if v.Outcome != arena.OutcomeInvalid || answer != nil {
			t.Errorf("%.80q: %+v, %+v", body, v, answer)
		}
		if len(v.Detail) > 400 || !utf8.ValidString(v.Detail) {
			t.Errorf("%.80q: detail of %d bytes: %.80q", body, len(v.Detail), v.Detail)
		}
	}
}

func FuzzClassify(f *testing.F) {
	for _, body := range badReplies() {
		if len(body) < 1000 {
			f.Add(200, jsonType, []byte(body))
		}
	}
	f.Add(200, jsonType, []byte(`{"answer":"Canberra","confidence":0.95,"reasoning":"r","subagents_used":["a"],"tools_used":[],"tokens":1,"latency_ms":3}`))
	f.Add(429, "text/html", []byte(`x`))
	outcomes := []arena.Outcome{
		arena.OutcomeAnswered, arena.OutcomeTimeout, arena.OutcomeRateLimited, arena.OutcomeError, arena.OutcomeUnavailable, arena.OutcomeInvalid,
	}
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte) {
		for _, format := range []string{"", "json"} {
			v, answer := classify(protocol.Exchange{Status: status, ContentType: contentType, Body: body}, format)
			if !slices.Contains(outcomes, v.Outcome) || (v.Outcome == arena.OutcomeAnswered) != (answer != nil) {
				t.Fatalf("%+v, %+v", v, answer)
			}
			if answer != nil && !utf8.ValidString(answer.Answer+answer.Reasoning) {
				t.Fatalf("invalid UTF-8 went through: %q", answer.Answer)
			}
		}
		if r, err := decodeHealth(body); err == nil {
			var h arena.Health
			r.describe(&h)
			if h.MaxConcurrent < 1 || h.MaxConcurrent > 1000 || h.DeclaredLatency < 0 || h.DeclaredLatency > time.Hour {
				t.Fatalf("%+v", h)
			}
		}
	})
}

func TestHealthURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://a.example/agora":        "https://a.example/agora/health",
		"https://a.example/agora/":       "https://a.example/agora/health",
		"https://a.example/":             "https://a.example/health",
		"https://a.example/agora?key=1":  "https://a.example/agora/health?key=1",
		"https://a.example/a%2Fb/?k=%20": "https://a.example/a%2Fb/health?k=%20",
	} {
		if got, err := healthURL(in); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	if _, err := healthURL("http://a b/"); err == nil {
		t.Error("no error for a URL with a space")
	}
}

func BenchmarkClassify(b *testing.B) {
	x := protocol.Exchange{Status: 200, ContentType: jsonType, Body: []byte(`{"answer":"42","confidence":0.9,"tokens":12}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, answer := classify(x, ""); answer == nil {
			b.Fatal("no answer")
		}
	}
}
