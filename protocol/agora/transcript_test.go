package agora_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

var update = flag.Bool("update", false, "rewrite the transcript in docs/protocols/agora.md")

// The transcripts of a round in docs/protocols/agora.md are what happens.
func TestTranscript(t *testing.T) {
	t.Parallel()
	tr := &protocoltest.Transcript{}
	tr.Replace(`/agora/x/[^/"\s]+`, "/agora/x/<secret>")
	tr.Replace(`[A-Z2-7]{26}`, "CONVERSATION#")
	tr.Replace(`"data:text/plain;charset=utf-8,[^"]*"`, `"data:text/plain;charset=utf-8,name%3A%20Agora%20Arena%20Round…"`)
	tr.Replace(`"conversationExpires": \d+`, `"conversationExpires": 1770046200`)
	listens(t, tr)
	synctest.Test(t, func(t *testing.T) { polls(t, tr) })
	tr.Check(t, "../../docs/protocols/agora.md", *update)
}

// listens is a match of two rounds with an agent that listens.
func listens(t *testing.T, tr *protocoltest.Transcript) {
	t.Helper()
	replies := []string{
		said(`{"answer":"Canberra","confidence":0.95}`, `,"conversationId":"c-17","conversationExpires":`, fmt.Sprint(time.Now().Add(time.Hour).Unix())),
		said(`{"error":"RATE_LIMITED"}`, `,"conversationExpires":`, fmt.Sprint(time.Now().Add(time.Hour).Unix())),
	}
	b := newBob(t, "", func(n int, _ received) (int, string) { return 200, replies[n-1] })
	d := newDriver(t, newMemoryStore())
	for n, want := range []arena.Outcome{arena.OutcomeAnswered, arena.OutcomeRateLimited} {
		if r := send(t, d, attempt(b, n+1, 2)); r.Outcome != want {
			t.Fatalf("round %d: %s %s", n+1, r.Outcome, r.Detail)
		}
	}
	<-b.end
	tr.Say("### An agent that listens")
	b.mu.Lock()
	defer b.mu.Unlock()
	says := map[string]string{
		"GET /agora/wellknown":             "At the start of a match the arena asks which documents the agent knows. 404 is accepted.",
		"POST /agora":                      "The first round opens the conversation. `body` is the JSON text of the task.",
		"POST /agora/conversations/c-17":   "The second round continues it; `status` is the result of the last reply. This agent is busy.",
		"DELETE /agora/conversations/c-17": "After the last round the arena ends the conversation.",
	}
	posts := 0
	for _, h := range b.received {
		line := h.Method + " " + h.Path
		if says[line] == "" {
			t.Errorf("%s is not described", line)
		}
		tr.Say(says[line])
		if h.Method != http.MethodPost {
			tr.AddLine(line)
			continue
		}
		body, err := json.Marshal(h.Raw)
		must(t, err)
		tr.Add(t, line, body)
		tr.Add(t, "200", []byte(replies[posts]))
		posts++
	}
}

// polls is a round with an agent that polls.
func polls(t *testing.T, tr *protocoltest.Transcript) {
	t.Helper()
	tr.Say("### An agent that polls")
	d := newPolled(t)
	exchange := func(say, path, message string) answer {
		t.Helper()
		a := d.post(path, message)
		if a.Status != "success" || a.Body == nil || strings.Contains(*a.Body, `"error"`) {
			t.Fatalf("%s: %d %s", message, a.HTTP, a.Raw)
		}
		tr.Say(say)
		tr.Add(t, "POST "+path, []byte(message))
		tr.Add(t, "200", []byte(a.Raw))
		return a
	}
	followUp := func(body string) string {
		text, err := json.Marshal(body)
		must(t, err)
		return `{"status":"success","body":` + string(text) + `}`
	}
	replies := d.put(t.Context(), 1, 30*time.Second)
	synctest.Wait()
	first := exchange("`next` opens a conversation and waits for a task.", d.base, under(t, "agent", `{"op": "next", "wait_seconds": 25}`, `,"multiround":true`))
	var n nextTask
	must(t, json.Unmarshal([]byte(*first.Body), &n))
	if n.Task == nil {
		t.Fatalf("%s", first.Raw)
	}
	at := d.base + "/conversations/" + first.ID
	exchange("`event` shows spectators what the agent does.", at, followUp(`{"op": "event", "match_id": "m_1", "events": [{"type": "thinking", "message": "It is not Sydney"}]}`))
	exchange("`answer` answers the task.", at, followUp(answerOf(*n.Task, `{"answer": "Canberra", "confidence": 0.95}`)))
	if r := <-replies; r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "Canberra" {
		t.Errorf("%s: %s", r.Outcome, r.Detail)
	}
	if len(d.events) != 1 {
		t.Errorf("events %v", d.events)
	}
}
