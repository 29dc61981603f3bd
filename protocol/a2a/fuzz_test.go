package a2a

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Whatever a card contains, the arena calls only the card's own origin.
func FuzzReadCard(f *testing.F) {
	for _, s := range []string{
		card(v10, "https://a.example/rpc", true), card(v03, "https://a.example/rpc", false), card(v10, "https://b.example", false),
		`{"protocolVersion":"0.3.0","url":"https://a.example:443/","preferredTransport":"GRPC","additionalInterfaces":[{"url":"https://a.example","transport":"JSONRPC"}]}`,
		`{"capabilities":{"extensions":[{"uri":"` + Extension + `","params":{"leagues":["a"],"max_concurrent":5}}]}}`, `null`, `{"url":7}`,
	} {
		f.Add([]byte(s))
	}
	from, err := cardURL("https://a.example/")
	must(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readCard(data, from)
		if err != nil {
			return
		}
		if rest, ok := strings.CutPrefix(strings.ToLower(s.url), "https://a.example"); !ok || rest != "" && !strings.ContainsAny(rest[:1], ":/?.") {
			t.Fatalf("interface %q", s.url)
		}
		if s.maxConcurrent < 1 || s.maxConcurrent > maxConcurrent || len(s.tenant) > maxTenant {
			t.Fatalf("service %+v", s)
		}
	})
}

// Whatever a reply is, it has one outcome, and only an answer has no reason.
func FuzzReadReply(f *testing.F) {
	for _, s := range []string{
		said(v10, "x"), said(v03, "x"), result(task1("COMPLETED", `},"artifacts":[{"artifactId":"a","parts":[{"text":"x"},{"data":{"answer":1}}]}]`)),
		result(task0("WORKING", `}`)), result(`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_FAILED"}}}`),
		result(`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true}}`),
		result(`{"kind":"status-update","taskId":"t","status":{"state":"completed","message":{"parts":[{"kind":"text","text":"x"}]}}}`),
		`{"jsonrpc":"2.0","error":{"code":-32603,"message":"x"}}`, `{"jsonrpc":"2.0","result":null}`,
	} {
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for _, v := range []version{v10, v03} {
			for _, m := range []method{send, stream, get, cancel} {
				var p progress
				for _, data := range [][]byte{first, second} {
					u, failed, err := readReply(data, v, m)
					if err != nil {
						break
					}
					if failed != nil {
						if d := byCode(failed); d.Outcome == arena.OutcomeAnswered || d.Reason == "" {
							t.Fatalf("verdict %+v", d)
						}
						break
					}
					if p.apply(u) != nil || p.over() {
						break
					}
				}
				if !p.over() {
					continue
				}
				d, answer := p.verdict("")
				if answered := d.Outcome == arena.OutcomeAnswered; answered != (answer != nil) || answered != (d.Reason == "") || answered != (d.Detail == "") {
					t.Fatalf("verdict %+v, answer %v", d, answer)
				}
			}
		}
	})
}

// A stream of events is read the same however it is cut into lines, and never
// holds more than one event.
func FuzzReadStream(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "id: 1\r\ndata:a\r\ndata: b\r\n\r\n", ": x\n\n", "data\n\n", "data: a", "\n\n\n", "event: x\ndata: {}\n\ndata: {}\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var events [][]byte
		if err := readStream(bytes.NewReader(body), func(data []byte) bool {
			events = append(events, bytes.Clone(data))
			return true
		}); err != nil {
			t.Fatalf("%v", err) // no input is that long
		}
		for _, e := range events {
			if len(e) == 0 || len(e) > len(body) {
				t.Fatalf("event %q", e)
			}
		}
		if n := strings.Count(string(body), "data:"); len(events) > n {
			t.Fatalf("%d events of %d data lines", len(events), n)
		}
	})
}
