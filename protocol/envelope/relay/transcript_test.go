package relay_test

import (
	"encoding/json"
	"flag"
	"net/url"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/envelope"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

var update = flag.Bool("update", false, "rewrite docs/protocols/envelope-transcript.md")

// The transcript of a round in docs/protocols/envelope-transcript.md is what happens.
func TestTranscript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := identityOf("ann").DID()
	tr := &protocoltest.Transcript{}
	tr.Replace(ann, "did:key:z6Mk…agent")
	tr.Replace(w.self.DID(), "did:key:z6Mk…arena")
	tr.Replace(`msg_[0-9A-Za-z]{20,}`, "msg_#")
	tr.Replace(`thread_[A-Z2-7]{26}`, "thread_#")
	tr.Replace(`req_[A-Z2-7]{26}`, "req_#")
	tr.Replace(`[A-Za-z0-9_-]{86}`, "<86 characters>")
	tr.Replace(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(~\d+)?`, "2026-02-02T15:30:00.000Z")

	thread := ""
	post := func(say string, typ envelope.Type, payload any) {
		d := envelope.Draft{Type: typ, Payload: payload}
		if thread != "" {
			d.Thread, d.Recipient = thread, w.self.DID()
		}
		body := w.sign("ann", d)
		tr.Say(say)
		tr.Add(t, "POST /relay/events", body)
		tr.Add(t, "200", w.mustPost(body).body)
	}
	since := w.now().UTC().Format(arena.TimeFormat)
	poll := func(say string, want envelope.Type) event {
		t.Helper()
		v := url.Values{"since": {since}, "recipient": {ann}, "timeout": {"60"}}
		a, err := w.do(t.Context(), "GET", "/events?"+v.Encode(), nil)
		if err != nil || len(a.Events) != 1 || a.Events[0].Type != want {
			t.Fatalf("%s: %v", a.body, err)
		}
		tr.Say(say)
		tr.AddLine("GET /relay/events?since=" + since + "&recipient=" + ann + "&timeout=60")
		tr.Add(t, "200", a.body)
		since = a.LastTS
		return a.Events[0]
	}

	post("The agent publishes its manifest once, in a STATUS without a thread.", envelope.TypeStatus, json.RawMessage(`{"manifest": {
		"id": "cap_ann", "name": "Ann", "version": "1.0.0", "intents": [{"id": "arena.trivia", "name": "Trivia"}],
		"pricing": {"model": "fixed", "currency": "USD", "amount": 0.005}, "privacy_policy": "https://ann.example/privacy",
		"supported_languages": ["en", "es"], "auth": {"methods": ["ed25519"]}, "max_concurrent": 2}}`))
	a := attempt(enough)
	a.TotalRounds, a.MaxCostUSD = 5, 0.01
	send, err := w.driver().Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	replies := make(chan arena.Reply, 1)
	go func() { replies <- send(t.Context()) }()
	e := poll("It polls. The REQUEST of a round arrives; its `params` are the task.", envelope.TypeRequest)
	thread = e.Thread.ID
	request := requestID(e)
	eta := 2.0
	post("The agent makes an offer.", envelope.TypeOffer, envelope.Offer{
		RequestID: request, Plan: "Look it up, then check it", Price: &envelope.Price{Amount: 0.005, Currency: "USD"}, ETASeconds: &eta,
	})
	poll("The arena accepts it, on its terms.", envelope.TypeAccept)
	post("While it works, a STATUS in the thread is an event for spectators.", envelope.TypeStatus, json.RawMessage(
		`{"event": {"type": "tool_call", "tool": "search", "args": {"q": "capital of Australia"}}}`))
	post("The RESULT ends the thread; its `output` is the answer.", envelope.TypeResult, envelope.Result{
		RequestID: request, Status: envelope.ResultSuccess, Output: json.RawMessage(`{"answer": "Canberra", "confidence": 0.95, "tools_used": ["search"]}`),
		Artifacts: json.RawMessage(`[{"name": "source", "url": "https://ann.example/canberra"}]`), Metrics: json.RawMessage(`{"latency_ms": 1200, "cost_actual": 0.005}`),
	})
	r := <-replies
	if r.Outcome != arena.OutcomeAnswered {
		t.Fatalf("%s: %s", r.Outcome, r.Detail)
	}
	kept, err := json.Marshal(r.Answer)
	if err != nil {
		t.Fatal(err)
	}
	tr.Say("The arena stores and shows:")
	tr.Add(t, "the answer, in seat_outcome and in the record", kept)
	tr.Check(t, "../../../docs/protocols/envelope-transcript.md", *update)
}
