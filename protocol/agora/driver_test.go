package agora_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/agora"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// Threats R1 to R4, R6, R8, R9, R11, S4, and the outcome table of statuses.
func TestDriver_Suite(t *testing.T) {
	t.Parallel()
	health := doc(t, "health").Hash()
	protocoltest.RunDriverSuite(t, protocoltest.Suite{
		Driver: driverOf(t, newMemoryStore(), false, time.Now), // it has limits that must end
		Answer: func(text string) protocoltest.Behaviour {
			return protocoltest.Reply(200, "application/json", said(`{"answer":"`+text+`"}`))
		},
		Healthy: protocoltest.Reply(200, "application/json", said(`{"status":"ok","capabilities":["trivia"],"max_concurrent":5}`)),
		Check:   func(body []byte) bool { return bytes.Contains(body, []byte(health)) },
		Greets:  true,
	})
}

// One conversation per match: the first message names the document by hash and
// text, the later ones go to the conversation and name none, and the last
// round ends it (standard, 7.1, 7.2, 8.3; beginner's text, "Multi-round").
func TestDriver_conversation(t *testing.T) {
	t.Parallel()
	round := doc(t, "round")
	b := newBob(t, "", func(n int, _ received) (int, string) {
		answer := `{"answer":"Canberra"}`
		if n == 2 {
			answer = "no idea"
		}
		return 200, said(answer, `,"conversationId":"c/1","conversationExpires":`, fmt.Sprint(time.Now().Add(time.Hour).Unix()))
	})
	d := newDriver(t, newMemoryStore())
	for n, want := range []arena.Outcome{arena.OutcomeAnswered, arena.OutcomeInvalid, arena.OutcomeAnswered} {
		r := send(t, d, attempt(b, n+1, 3))
		if r.Outcome != want || r.SentAt.IsZero() || r.Elapsed <= 0 || want == arena.OutcomeAnswered && r.Answer.Answer != "Canberra" {
			t.Fatalf("round %d: %+v", n+1, r)
		}
	}
	<-b.end
	want := []string{
		"GET /agora/wellknown", "POST /agora", "POST /agora/conversations/c%2F1", "POST /agora/conversations/c%2F1", "DELETE /agora/conversations/c%2F1",
	}
	if got := b.methods(); !slices.Equal(got, want) {
		t.Errorf("requests %q", got)
	}
	posts := b.posts()
	first := posts[0]
	if first.Hash == nil || *first.Hash != round.Hash() || len(first.Sources) != 1 || first.Sources[0] != round.Source() || !first.Multiround {
		t.Errorf("first message %+v", first)
	}
	var task protocoltest.Task
	if err := json.Unmarshal([]byte(first.Body), &task); err != nil || task.League != "trivia" || task.Task.Description == "" {
		t.Errorf("task %+v, %v", task, err)
	}
	for i, status := range []string{"success", "failure"} { // on the reply before
		h := posts[i+1]
		if h.Raw["protocolHash"] != nil || h.Raw["protocolSources"] != nil || h.Raw["multiround"] != nil || h.Status != status || (h.Error != "") != (status == "failure") {
			t.Errorf("follow-up %d: %+v", i+1, h)
		}
	}
}

// The hash of the document covers its whole text, and the rules of the reference
// library read its source back to the same bytes (8.2).
func TestDriver_source_is_the_document(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"round", "judge", "health", "agent", "standings", "matches", "rules", "registration"} {
		d := doc(t, name)
		if text, ok := agora.SourceText(d.Source()); !ok || text != d.Text || !strings.HasPrefix(d.Source(), "data:text/plain;charset=utf-8,") {
			t.Errorf("%s: source %q", name, d.Source())
		}
		// Libraries read the metadata between the first two separators; the
		// standard reads it before the first.
		parts := strings.SplitN(d.Text, "---\n", 3)
		if len(parts) != 3 || parts[0] != parts[1] {
			t.Errorf("%s: not readable both ways", name)
		}
	}
}

func TestDriver_outcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reply string
		status      int
		want        arena.Outcome
		retry       bool
		reason      string
	}{
		{"body as text", said(`{"answer":"x"}`), 200, arena.OutcomeAnswered, false, ""},
		{"body as object", `{"status":"success","body":{"answer":"x","confidence":0.5},"mood":1}`, 200, arena.OutcomeAnswered, false, ""},
		{"timeout", said(`{"error":"TIMEOUT"}`), 200, arena.OutcomeTimeout, false, "agora_timeout"},
		{"rate limited", `{"status":"success","body":{"error":"rate_limited"}}`, 200, arena.OutcomeRateLimited, false, "agora_rate_limited"},
		{"unavailable", said(`{"error":"UNAVAILABLE"}`), 200, arena.OutcomeUnavailable, false, "agora_unavailable"},
		{"another error", said(`{"error":"Invalid date format"}`), 200, arena.OutcomeError, true, "agora_error"},
		{"failure", failed("Failed to parse query"), 200, arena.OutcomeError, true, "agora_failure"},
		{"failure of older texts", `{"status":"error","message":"no"}`, 200, arena.OutcomeError, true, "agora_failure"},
		{"failure without a text", `{"status":"failure"}`, 200, arena.OutcomeError, true, "agora_failure"},
		{"429", ``, 429, arena.OutcomeRateLimited, false, "status_429"},
		{"404 at the base", ``, 404, arena.OutcomeInvalid, false, "status_404"},
		{"no answer", said(`{"confidence":1}`), 200, arena.OutcomeInvalid, false, "empty_answer"},
		{"success without body", `{"status":"success"}`, 200, arena.OutcomeInvalid, false, "empty_answer"},
		{"answer of the wrong kind", said(`{"answer":{}}`), 200, arena.OutcomeInvalid, false, "bad_answer"},
		{"words under the document", said(`Canberra`), 200, arena.OutcomeInvalid, false, "bad_json"},
		{"another status word", `{"status":"ok","body":"{}"}`, 200, arena.OutcomeInvalid, false, "bad_json"},
		{"body of a wrong kind", `{"status":"success","body":[1]}`, 200, arena.OutcomeInvalid, false, "bad_json"},
		{"two statuses", `{"status":"success","status":"failure","body":"{}"}`, 200, arena.OutcomeInvalid, false, "bad_json"},
		{"status in another case", `{"Status":"success","body":"{}"}`, 200, arena.OutcomeInvalid, false, "bad_json"},
		{"unknown members in another case", `{"status":"success","Status":"failure","BODY":1,"body":"{\"answer\":\"x\"}"}`, 200, arena.OutcomeAnswered, false, ""},
		{"two answers", said(`{"answer":"a","answer":"b"}`), 200, arena.OutcomeInvalid, false, "bad_json"},
		{"not JSON", `nope`, 200, arena.OutcomeInvalid, false, "bad_json"},
		{"a list", `[]`, 200, arena.OutcomeInvalid, false, "bad_json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBob(t, "", func(int, received) (int, string) { return c.status, c.reply })
			r := send(t, newDriver(t, newMemoryStore()), attempt(b, 1, 2))
			if r.Outcome != c.want || r.Retry != c.retry || r.Reason != c.reason || (r.Answer != nil) != (c.want == arena.OutcomeAnswered) {
				t.Errorf("%+v", r)
			}
			if (r.Detail == "") != (c.want == arena.OutcomeAnswered) || len(r.Request) == 0 || r.Answer == nil && string(r.Head) != c.reply {
				t.Errorf("detail %q, request %q, head %q", r.Detail, r.Request, r.Head)
			}
		})
	}
}

// An agent that does not know the document in any form gets the task in plain
// words. One that refuses those too leaves the match. The next round begins in
// words.
func TestDriver_falls_back_to_words(t *testing.T) {
	t.Parallel()
	b := newBob(t, "", func(_ int, h received) (int, string) {
		if h.Hash != nil {
			return 200, failed("Unsupported protocol")
		}
		return 200, said(" It is Canberra. ", `,"conversationId":"c1"`)
	})
	d := newDriver(t, newMemoryStore())
	for n := range 2 {
		if r := send(t, d, attempt(b, n+1, 2)); r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "It is Canberra." {
			t.Fatalf("round %d: %+v", n+1, r)
		}
	}
	<-b.end
	posts := b.posts()
	if len(posts) != 5 || posts[3].Hash != nil || string(posts[3].Raw["protocolHash"]) != "null" || string(posts[3].Raw["protocolSources"]) != "[]" ||
		!posts[3].Multiround || posts[4].Path != "/agora/conversations/c1" {
		t.Errorf("%+v", posts)
	}
	for _, h := range posts[3:] {
		if !strings.Contains(h.Body, "What is the capital of Australia?") || !strings.Contains(h.Body, "- Canberra") || !strings.Contains(h.Body, `"task_id":"tk_1"`) {
			t.Errorf("words: %s", h.Body)
		}
	}

	for said, want := range map[string]string{`{"answer":"x"}`: "x", "{oddly}": "", "": ""} {
		b := newBob(t, `{"0000000000000000000000000000000000000001":["x"]}`, func(_ int, h received) (int, string) {
			if h.Hash != nil {
				t.Error("the list of documents was not minded")
			}
			body, _ := json.Marshal(said)
			return 200, `{"status":"success","body":` + string(body) + `}`
		})
		r := send(t, d, attempt(b, 1, 1))
		if (r.Outcome == arena.OutcomeAnswered) != (want != "") || want != "" && r.Answer.Answer != want {
			t.Errorf("%q: %+v", said, r)
		}
	}
	deaf := newBob(t, "", func(int, received) (int, string) { return 200, failed("Unsupported protocol") })
	if r := send(t, d, attempt(deaf, 1, 2)); r.Outcome != arena.OutcomeUnavailable || r.Reason != "unsupported_protocol" || len(deaf.posts()) != 4 {
		t.Errorf("%+v", r)
	}
}

// The list of documents chooses, however its hashes are written (9).
func TestDriver_wellknown(t *testing.T) {
	t.Parallel()
	hash := doc(t, "round").Hash()
	raw, err := hex.DecodeString(hash)
	must(t, err)
	for name, list := range map[string]string{
		"ours":          `{"` + hash + `":["x"]}`,
		"upper case":    `{"` + strings.ToUpper(hash) + `":["x"],"0000000000000000000000000000000000000001":["y"]}`,
		"base64":        `{"` + base64.StdEncoding.EncodeToString(raw) + `":["x"]}`,
		"wrapped":       `{"status":"success","protocols":{"` + hash + `":["x"]}}`,
		"empty":         `{}`,
		"no hashes":     `{"hello":["x"]}`,
		"not an object": `[]`,
		"not JSON":      `<html>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBob(t, list, func(_ int, h received) (int, string) {
				if h.Hash == nil {
					t.Error("plain words although the document may be known")
				}
				return 200, said(`{"answer":"x"}`)
			})
			if r := send(t, newDriver(t, newMemoryStore()), attempt(b, 1, 1)); r.Outcome != arena.OutcomeAnswered {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A conversation that the agent has dropped is opened again, once; an expired one is
// not used (7.3).
func TestDriver_expiry(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]struct {
		status int
		reply  string
	}{
		"expired":       {200, failed("Conversation expired")},
		"404":           {404, failed("Unknown conversation")},
		"404, no JSON":  {404, `<html>`},
		"not found":     {200, `{"status":"error","message":"Conversation not found."}`},
		"expired, 2025": {200, `{"status":"rejected","error":"conversation expired"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBob(t, "", func(n int, h received) (int, string) {
				if h.Path != "/agora" {
					return gone.status, gone.reply
				}
				return 200, said(`{"answer":"x"}`, `,"conversationId":"c1"`)
			})
			d := newDriver(t, newMemoryStore())
			for n := range 2 {
				if r := send(t, d, attempt(b, n+1, 3)); r.Outcome != arena.OutcomeAnswered {
					t.Fatalf("round %d: %+v", n+1, r)
				}
			}
			if posts := b.posts(); len(posts) != 3 || posts[1].Path != "/agora/conversations/c1" || posts[2].Hash == nil || !posts[2].Multiround {
				t.Errorf("%+v", posts)
			}
		})
	}
	// Clocks of many languages give seconds with a fraction.
	for _, c := range []struct{ expires, path string }{
		{"1741910401", "/agora"},
		{"1741910401.25", "/agora"},
		{"1.741910401e9", "/agora"},
		{"-1", "/agora"},
		{"-1e99", "/agora"},
		{"1e99", "/agora/conversations/c1"},
		{"41741910401.5", "/agora/conversations/c1"},
		{"null", "/agora/conversations/c1"},
	} {
		t.Run("told "+c.expires, func(t *testing.T) {
			t.Parallel()
			b := newBob(t, "", func(int, received) (int, string) {
				return 200, said(`{"answer":"x"}`, `,"conversationId":"c1","conversationExpires":`, c.expires)
			})
			d := newDriver(t, newMemoryStore())
			for n := range 2 {
				if r := send(t, d, attempt(b, n+1, 3)); r.Outcome != arena.OutcomeAnswered {
					t.Fatalf("round %d: %+v", n+1, r)
				}
			}
			if posts := b.posts(); len(posts) != 2 || posts[1].Path != c.path {
				t.Errorf("%+v", posts)
			}
		})
	}
	t.Run("always", func(t *testing.T) {
		t.Parallel()
		b := newBob(t, "", func(n int, _ received) (int, string) {
			if n > 1 {
				return 200, failed("Conversation expired")
			}
			return 200, said(`{"answer":"x"}`, `,"conversationId":"c1"`)
		})
		d := newDriver(t, newMemoryStore())
		send(t, d, attempt(b, 1, 3))
		if r := send(t, d, attempt(b, 2, 3)); r.Outcome != arena.OutcomeError || !r.Retry || len(b.posts()) != 3 {
			t.Errorf("%+v after %d posts", r, len(b.posts()))
		}
	})
}

// Agents without conversations play too, by single messages.
func TestDriver_no_conversations(t *testing.T) {
	t.Parallel()
	b := newBob(t, "", func(_ int, h received) (int, string) {
		if h.Multiround {
			return 200, failed("Multiround not supported")
		}
		return 200, said(`{"answer":"x"}`)
	})
	d := newDriver(t, newMemoryStore())
	for n := range 2 {
		if r := send(t, d, attempt(b, n+1, 2)); r.Outcome != arena.OutcomeAnswered {
			t.Fatalf("%+v", r)
		}
	}
	if got := b.methods(); !slices.Equal(got, []string{"GET /agora/wellknown", "POST /agora", "POST /agora", "POST /agora"}) {
		t.Errorf("%q", got)
	}
	for _, id := range []string{"..", ".", strings.Repeat("x", 257)} { // ids that lead elsewhere are refused
		b := newBob(t, "", func(int, received) (int, string) {
			return 200, said(`{"answer":"x"}`, `,"conversationId":"`+id+`"`)
		})
		send(t, d, attempt(b, 1, 3))
		send(t, d, attempt(b, 2, 3))
		if posts := b.posts(); len(posts) != 2 || posts[1].Path != "/agora" {
			t.Errorf("%.20s: %+v", id, posts)
		}
	}
}

// All exchanges of an attempt have one time limit.
func TestDriver_one_limit(t *testing.T) {
	t.Parallel()
	b := newBob(t, "", func(n int, _ received) (int, string) {
		if n == 1 {
			return 200, failed("Unsupported protocol")
		}
		return 408, ""
	})
	a := attempt(b, 1, 1)
	r := send(t, newDriver(t, newMemoryStore()), a)
	if r.Outcome != arena.OutcomeTimeout || r.Elapsed <= 0 || r.Elapsed > a.TimeLimit || len(b.posts()) != 2 {
		t.Errorf("%+v", r)
	}
}

// A judge is asked under a document of its own, in single messages, so that
// several questions of one match may be open at once.
func TestDriver_judge(t *testing.T) {
	t.Parallel()
	b := newBob(t, "", func(_ int, h received) (int, string) {
		if h.Hash != nil && h.Body == "" {
			t.Error("empty question")
		}
		return 200, said(`{"answer":"tie","reasoning":"both"}`)
	})
	a := attempt(b, 3, 1)
	a.Judging = true
	if r := send(t, newDriver(t, newMemoryStore()), a); r.Outcome != arena.OutcomeAnswered || r.Answer.Reasoning != "both" {
		t.Errorf("%+v", r)
	}
	posts := b.posts()
	if len(posts) != 1 || *posts[0].Hash != doc(t, "judge").Hash() || posts[0].Multiround {
		t.Errorf("%+v", posts)
	}
}

// HTTPS is a must beyond one's own machine (5.1, 11).
func TestDriver_https(t *testing.T) {
	t.Parallel()
	d := newDriver(t, newMemoryStore())
	a := protocoltest.NewAttempt("http://agent.example/agora", enough)
	if r := send(t, d, a); r.Outcome != arena.OutcomeError || !r.Unreached || r.Reason != "https_required" {
		t.Errorf("%+v", r)
	}
	if h := d.Probe(t.Context(), arena.Agent{Endpoint: a.Seat.Endpoint}); h.OK || h.Reason != "https_required" {
		t.Errorf("%+v", h)
	}
	// In development it continues to the guard.
	a.Seat.Endpoint = "http://192.0.2.1/agora"
	if r := send(t, newDriverWith(t, newMemoryStore(), true), a); !r.Unreached || r.Reason != "blocked" {
		t.Errorf("%+v", r)
	}
}

// An agent that refuses the health document is healthy if it accepts a task.
func TestDriver_Probe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		reply  string
		reason string
		plays  []string
		atOnce int
	}{
		{200, said(`{"status":"ok","capabilities":["sums"],"max_concurrent":3,"avg_latency_ms":250}`), "", []string{"sums"}, 3},
		{200, said(`{"status":"ok"}`), "", nil, 1},
		{200, said(`{"status":"ok","max_concurrent":1e9}`), "", nil, 1000},
		{200, `{"status":"success","body":{"status":"tired"}}`, "not_ok", nil, 1},
		{200, said(`I feel fine, thank you`), "", nil, 1},
		{200, failed("Unsupported protocol"), "every_way_refused", nil, 1},
		{200, `{"status":"error","message":"no sources"}`, "every_way_refused", nil, 1},
		{200, `{"answer":"x"}`, "bad_json", nil, 1},
		{500, ``, "status_500", nil, 1},
		{404, `{"status":"success"}`, "status_404", nil, 1},
	} {
		b := newBob(t, "", func(int, received) (int, string) { return c.status, c.reply })
		h := newDriver(t, newMemoryStore()).Probe(t.Context(), arena.Agent{ID: "ag_1", Endpoint: b.URL + "/agora", Leagues: []string{"trivia"}})
		if h.OK != (c.reason == "") || h.Reason != c.reason || !slices.Equal(h.Capabilities, c.plays) || h.MaxConcurrent != c.atOnce || h.CheckedAt.IsZero() {
			t.Errorf("%s: %+v", c.reply, h)
		}
		posts := b.posts()
		if c.reason != "every_way_refused" && len(posts) != 1 || *posts[0].Hash != doc(t, "health").Hash() || string(posts[0].Raw["protocolSources"]) != "[]" || posts[0].Multiround {
			t.Errorf("%+v", posts)
		}
	}
}
