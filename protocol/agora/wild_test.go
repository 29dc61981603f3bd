package agora_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/agora"
)

// Programs in the wild differ from the texts in ways that are known. These
// tests play such programs, written from what they were seen to do.

// A receiver as the library of the protocol's authors serves it: its base is
// "/", it asks for both keys, knows documents by text alone and reads them in
// its own form, fails with status "error" and a message, sends no expiry, and
// has neither a list of documents nor conversations that live for long.
func TestWild_receiver(t *testing.T) {
	t.Parallel()
	for _, knows := range []bool{true, false} {
		t.Run(fmt.Sprintf("knows the document %t", knows), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			turns := map[string]int{}
			b := newBob(t, "", func(n int, h received) (int, string) {
				mu.Lock()
				defer mu.Unlock()
				id, follows := strings.CutPrefix(h.Path, "/conversations/")
				switch {
				case follows && turns[id] == 0:
					return 200, `{"status":"error","message":"Conversation not found."}`
				case follows:
				case h.Raw["protocolHash"] == nil || h.Raw["protocolSources"] == nil:
					return 200, `{"status":"error","message":"'protocolSources'"}`
				case h.Hash != nil && len(h.Sources) == 0:
					return 200, `{"status":"error","message":"no source has the text"}`
				case h.Hash != nil:
					text, ok := agora.SourceText(h.Sources[0])
					parts := strings.Split(text, "---")
					if !ok || len(parts) < 3 || !strings.Contains(parts[1], "multiround: true") {
						t.Errorf("cannot read the document %q", text)
					}
					if !knows {
						return 200, `{"status":"error","message":"Protocol rejected"}`
					}
				}
				reply := `{"status":"success","body":"{\"answer\": \"Canberra\"}"`
				if h.Multiround {
					id = fmt.Sprintf("9b1deb4d-%d", n)
					reply += `,"conversationId":"` + id + `"`
				}
				if turns[id]++; turns[id] == 2 { // forgets it then
					delete(turns, id)
				}
				return 200, reply + "}"
			})
			d := newDriver(t, newMemoryStore())
			for round := range 4 {
				a := attempt(b, round+1, 5)
				a.Seat.Endpoint = b.URL + "/"
				if r := send(t, d, a); r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "Canberra" {
					t.Fatalf("round %d: %+v", round+1, r)
				}
			}
			h := d.Probe(t.Context(), arena.Agent{Endpoint: b.URL + "/", Leagues: []string{"trivia"}})
			if !h.OK {
				t.Errorf("%+v", h)
			}
		})
	}
}

// A sender as that library writes it: the hash as base64, all members with
// every message, DELETE at the end, and an error for every status but 200.
func TestWild_sender(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	base := f.base("ag_a")
	d := doc(t, "agent")
	raw, err := hex.DecodeString(d.Hash())
	must(t, err)
	message := fmt.Sprintf(`{"protocolHash":%q,"protocolSources":[%q],"body":"{\"op\":\"event\"}","multiround":true}`,
		base64.StdEncoding.EncodeToString(raw), d.Source())
	first := f.post(base, message)
	if !first.says("error") || first.ID == "" {
		t.Fatalf("%s", first.Raw)
	}
	at := base + "/conversations/" + first.ID
	if a := f.post(at, message); !a.says("error") || a.ID != first.ID {
		t.Errorf("%s", a.Raw)
	}
	if a := f.do(http.MethodDelete, at, "", ""); a.HTTP != 200 {
		t.Errorf("%s", a.Raw)
	}
	words := `{"protocolHash":null,"protocolSources":null,"body":"hello","multiround":true}`
	first = f.post("/agora", words)
	if a := f.post("/agora/conversations/"+first.ID, words); !a.says("Agora Arena") {
		t.Errorf("%s", a.Raw)
	}
	if a := f.post("/agora", `{"protocolHash":"negotiation","protocolSources":null,"body":"let us talk","multiround":true}`); !a.failedWith(200, "Unsupported protocol") {
		t.Errorf("%s", a.Raw)
	}
}
