package agora_test

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/agora"
)

// formOf returns the form in which a message names its document.
func formOf(t *testing.T, h received) string {
	t.Helper()
	if h.Hash == nil {
		return "words"
	}
	text, ok := agora.SourceText(h.Sources[0])
	sum := sha1.Sum([]byte(text))
	switch {
	case !ok:
		t.Errorf("source %q", h.Sources[0])
	case *h.Hash == hex.EncodeToString(sum[:]):
		return "hex"
	case *h.Hash != base64.StdEncoding.EncodeToString(sum[:]):
		t.Errorf("hash %q", *h.Hash)
	case strings.HasPrefix(h.Sources[0], "data:text/plain;charset=utf-8;base64,"):
		return "data"
	}
	return "base64"
}

// picky starts an agent that refuses all forms but one in the words of known
// receivers, and the health check, whose message has no source.
func picky(t *testing.T, form string) *bob {
	t.Helper()
	return newBob(t, "", func(_ int, h received) (int, string) {
		if h.Hash != nil && len(h.Sources) == 0 {
			return 200, `{"status":"error","message":"Failed to download protocol."}`
		}
		switch got := formOf(t, h); {
		case got == form:
			return 200, said(`{"answer":"Canberra"}`)
		case got == "hex":
			return 200, `{"status":"error","message":"Failed to download protocol."}`
		case got == "base64":
			return 400, failed("the source is not base64")
		default:
			return 200, failed("The protocol is not suitable for execution")
		}
	})
}

func forms(t *testing.T, b *bob) string {
	t.Helper()
	var all []string
	for _, h := range b.posts() {
		if h.Hash == nil || len(h.Sources) > 0 {
			all = append(all, formOf(t, h))
		}
	}
	return strings.Join(all, " ")
}

// Any failure under the document leads to the next way, and the way that the
// agent accepted is used by all later matches.
func TestDriver_ways(t *testing.T) {
	t.Parallel()
	for form, tried := range map[string]string{
		"hex": "hex", "base64": "hex base64", "data": "hex base64 data", "words": "hex base64 data words",
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			m, b := newMemoryStore(), picky(t, form)
			for range 2 { // the second driver belongs to another node
				if r := send(t, newDriver(t, m), attempt(b, 1, 1)); r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "Canberra" {
					t.Fatalf("%+v", r)
				}
			}
			if got := forms(t, b); got != tried+" "+form {
				t.Errorf("tried %q, want %q and then %q", got, tried, form)
			}
		})
	}
}

// A health check finds the way, and the match uses it at once.
func TestDriver_Probe_finds_the_way(t *testing.T) {
	t.Parallel()
	m, b := newMemoryStore(), picky(t, "data")
	a := attempt(b, 1, 1)
	g := arena.Agent{ID: a.Seat.AgentID, Endpoint: a.Seat.Endpoint, Leagues: []string{"trivia"}}
	d := newDriver(t, m)
	for range 2 { // the second check does not search
		if h := d.Probe(t.Context(), g); !h.OK {
			t.Fatalf("%+v", h)
		}
	}
	if r := send(t, d, a); r.Outcome != arena.OutcomeAnswered {
		t.Errorf("%+v", r)
	}
	if got := forms(t, b); got != "hex base64 data data" {
		t.Errorf("tried %q", got)
	}
}

// An agent that refuses all ways is unhealthy, also after it accepted one.
func TestDriver_every_way_refused(t *testing.T) {
	t.Parallel()
	m, b := newMemoryStore(), picky(t, "none")
	a := attempt(b, 1, 1)
	d := newDriver(t, m)
	must(t, m.SetAgoraWay(t.Context(), a.Seat.AgentID, a.Seat.Endpoint, "base64"))
	r := send(t, d, a)
	if r.Outcome != arena.OutcomeError || r.Reason != "agora_failure" || !strings.Contains(r.Detail, "hexadecimal hash: Failed to download") {
		t.Errorf("%+v", r)
	}
	if got := forms(t, b); got != "base64 hex data words" {
		t.Errorf("tried %q", got)
	}
	h := d.Probe(t.Context(), arena.Agent{ID: a.Seat.AgentID, Endpoint: a.Seat.Endpoint, Leagues: []string{"trivia"}})
	if h.OK || h.Reason != "every_way_refused" {
		t.Errorf("%+v", h)
	}
	for _, want := range []string{
		"hexadecimal hash: Failed to download protocol.", "base64 hash: the source is not base64",
		"base64 data: source: The protocol is not suitable", "plain words: The protocol is not suitable",
	} {
		if !strings.Contains(h.Detail, want) {
			t.Errorf("detail %q does not have %q", h.Detail, want)
		}
	}
}

// A practice task that the limit of its address holds back is no refusal.
// Threat N3.
func TestDriver_ways_host_busy(t *testing.T) {
	t.Parallel()
	health := doc(t, "health").Hash()
	b := newBob(t, "", func(n int, h received) (int, string) {
		switch {
		case n == 1: // so that the limit is reached between two ways
			return 404, "{}"
		case h.Hash != nil && *h.Hash == health:
			return 200, failed("Unsupported protocol")
		}
		return 400, "{}"
	})
	d := newDriver(t, newMemoryStore())
	reasons := map[string]int{}
	for range 40 {
		h := d.Probe(t.Context(), arena.Agent{ID: "ag_1", Endpoint: b.URL + "/", Leagues: []string{"trivia"}})
		reasons[h.Reason]++
		if h.Reason != arena.ReasonHostBusy && strings.Contains(h.Detail, "too often") {
			t.Errorf("%+v", h)
		}
	}
	if reasons["every_way_refused"] == 0 || reasons[arena.ReasonHostBusy] == 0 {
		t.Errorf("reasons %v", reasons)
	}
}
