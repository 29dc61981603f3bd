package stream

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTail_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := bounds{rapid.IntRange(1, 50).Draw(t, "events"), rapid.IntRange(1, 8000).Draw(t, "bytes")}
		tl := newTail(formBatch, 0, limit)
		var all []string // all[i] is the event with seq i+1
		live := tl.seek(0)
		got := 0
		fell := false
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"append", "append", "read", "seek"}).Draw(t, "do") {
			case "append":
				e := fmt.Sprintf("%d:%s", len(all)+1, strings.Repeat("x", rapid.IntRange(0, 3000).Draw(t, "size")))
				all = append(all, e)
				tl.append(int64(len(all)), noID, []byte(e))
			case "read":
				b, n, ok := tl.next(&live)
				if !ok {
					if len(all)-got < limit.events && total(all[got:]) < limit.bytes {
						t.Fatalf("fell off with only %d events behind", len(all)-got)
					}
					fell = true
				}
				if fell {
					return
				}
				if want := lines(all[got : got+n]); string(b) != want {
					t.Fatalf("read %q, want %q", b, want)
				}
				got += n
			case "seek":
				at := rapid.IntRange(int(tl.base), len(all)).Draw(t, "at")
				c := tl.seek(int64(at))
				for {
					b, n, ok := tl.next(&c)
					if !ok {
						t.Fatalf("position %d is in the tail, base %d, and fell off", at, tl.base)
					}
					if n == 0 {
						break
					}
					if want := lines(all[at : at+n]); string(b) != want {
						t.Fatalf("after %d: %q, want %q", at, b, want)
					}
					at += n
				}
				if at != len(all) {
					t.Fatalf("seek ends at %d of %d", at, len(all))
				}
			}
		}
		if tl.oldest != tl.newest && (tl.events-len(tl.oldest.entries) >= limit.events || tl.bytes-len(tl.oldest.buf) >= limit.bytes) {
			t.Fatalf("keeps %d events, %d bytes over the bounds %+v", tl.events, tl.bytes, limit)
		}
	})
}

func lines(events []string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e + "\n")
	}
	return b.String()
}

func total(events []string) int { return len(lines(events)) }

// A reader that is stuck in an old segment must not keep all later ones.
func TestTail_Trim_cuts_the_chain(t *testing.T) {
	t.Parallel()
	tl := newTail(formMessage, 0, bounds{10, 1 << 20})
	stuck := tl.seek(0)
	event := bytes.Repeat([]byte("x"), firstSegment)
	for seq := range int64(100) {
		tl.append(seq+1, noID, event)
	}
	chain := 0
	for s := stuck.seg; s != nil; s = s.next {
		chain++
	}
	if chain > 2 {
		t.Errorf("a stuck reader keeps %d segments alive", chain)
	}
	if _, _, ok := tl.next(&stuck); ok {
		t.Error("the stuck reader did not fall off")
	}
}
