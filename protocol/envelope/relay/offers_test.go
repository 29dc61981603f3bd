package relay_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/envelope"
)

// An offer that the league does not allow ends the round without a loss, and
// the agent reads why.
func TestDriver_offers_declined(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		offer  string // members beside request_id
		reason string
		code   envelope.ErrorCode
		says   []string
		detail string // of the ERROR, beside request_id
	}{
		{
			"price", `"price":{"amount":0.0051,"currency":"USD"}`, "offer_price", envelope.ErrInsufficientBudget,
			[]string{"0.0051 USD", "max_cost_usd is 0.005"},
			`"min_required":0.0051,"provided":0.005`,
		},
		{
			"currency", `"price":{"amount":0.001,"currency":"EUR"}`, "offer_price", envelope.ErrInsufficientBudget,
			[]string{`"EUR"`, "max_cost_usd is in USD"},
			`"provided":0.005`,
		},
		{
			"eta", `"eta_seconds":60.5`, "offer_late", envelope.ErrTimeout,
			[]string{"eta_seconds is 60.5", "the time limit is 60 seconds"},
			`"eta_seconds":60.5,"max_latency_ms":60000`,
		},
		{
			"expired", `"valid_until":"2026-01-01T00:00:00Z"`, "offer_expired", envelope.ErrTimeout,
			[]string{"valid until 2026-01-01T00:00:00Z"},
			`"valid_until":"2026-01-01T00:00:00Z"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ended := make(chan event, 1)
			w.play(func(p *player, e event) {
				switch e.Type {
				case envelope.TypeRequest:
					p.say(e, envelope.TypeOffer, json.RawMessage(`{"request_id":"`+requestID(e)+`",`+c.offer+`}`))
				case envelope.TypeError:
					ended <- e
				default:
					t.Errorf("%s: %s", e.Type, e.Payload)
				}
			})
			a := attempt(enough)
			a.MaxCostUSD = 0.005
			r := w.send(a)
			if r.Outcome != arena.OutcomeUnavailable || r.Reason != c.reason || r.Retry {
				t.Errorf("%q, %q, retry %t", r.Outcome, r.Reason, r.Retry)
			}
			e := <-ended
			for _, text := range c.says {
				message, err := strconv.Unquote(string(e.Payload["message"]))
				if err != nil || !strings.Contains(r.Detail, text) || !strings.Contains(message, text) {
					t.Errorf("detail %q and message %q, want %q: %v", r.Detail, message, text, err)
				}
			}
			details := string(e.Payload["details"])
			if string(e.Payload["code"]) != strconv.Quote(string(c.code)) || !strings.Contains(details, `"request_id":"req_`) {
				t.Errorf("%s %s", e.Payload["code"], details)
			}
			for member := range strings.SplitSeq(c.detail, `,"`) {
				if !strings.Contains(details, strings.TrimPrefix(member, `"`)) {
					t.Errorf("details %s, want %s", details, member)
				}
			}
		})
	}
}

// ACCEPT repeats the terms of the OFFER, and the offer is kept with the answer.
func TestDriver_offers_accepted(t *testing.T) {
	t.Parallel()
	eta := 60.0
	metrics, artifacts := json.RawMessage(`{"cost_actual":0.004,"latency_ms":1200}`), json.RawMessage(`[{"name":"notes.txt"}]`)
	for _, c := range []struct {
		name  string
		most  float64
		offer envelope.Offer
		want  arena.AnswerBody
		terms string
	}{
		{
			"at the limits", 0.005,
			envelope.Offer{Plan: "think <twice>", Price: &envelope.Price{Amount: 0.005, Currency: "usd"}, ETASeconds: &eta, ValidUntil: time.Now().Add(time.Hour).UTC().Format(arena.TimeFormat)},
			arena.AnswerBody{Answer: "x", Offer: &arena.Offer{Plan: "think <twice>", PriceUSD: 0.005, ETASeconds: &eta}, Metrics: metrics, Artifacts: artifacts},
			`"eta_seconds":60,"price_usd":0.005`,
		},
		{
			"free", 0,
			envelope.Offer{Price: &envelope.Price{Currency: "EUR"}},
			arena.AnswerBody{Answer: "x", Offer: &arena.Offer{}, Metrics: metrics, Artifacts: artifacts},
			`"price_usd":0`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			said := make(chan event, 8)
			w.play(func(p *player, e event) {
				said <- e
				switch e.Type {
				case envelope.TypeRequest:
					o := c.offer
					o.RequestID = requestID(e)
					p.say(e, envelope.TypeOffer, o)
				case envelope.TypeAccept:
					p.say(e, envelope.TypeOffer, envelope.Offer{RequestID: requestID(e), Plan: "another"}) // comes too late to count
					p.say(e, envelope.TypeResult, envelope.Result{
						RequestID: requestID(e), Status: envelope.ResultSuccess, Output: json.RawMessage(`{"answer":"x"}`), Metrics: metrics, Artifacts: artifacts,
					})
				}
			})
			a := attempt(enough)
			a.MaxCostUSD = c.most
			r := w.send(a)
			if d := cmp.Diff(&c.want, r.Answer); r.Outcome != arena.OutcomeAnswered || d != "" {
				t.Errorf("%s %s: %s", r.Outcome, r.Detail, d)
			}
			request, accept := <-said, <-said
			var constraints envelope.Constraints
			if err := json.Unmarshal(request.Payload["constraints"], &constraints); err != nil || constraints.MaxCostUSD == nil || *constraints.MaxCostUSD != c.most {
				t.Errorf("%s: %v", request.Payload["constraints"], err)
			}
			want := `{"deadline":"` + constraints.Deadline + `",` + c.terms + `}`
			if accept.Type != envelope.TypeAccept || string(accept.Payload["terms"]) != want {
				t.Errorf("%s has the terms %s, want %s", accept.Type, accept.Payload["terms"], want)
			}
		})
	}
}

// The relay refuses offers and results that are out of bounds; the error names
// the field and the limit, and the agent may post again.
func TestDriver_offers_bounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refused := func(p *player, e event, typ envelope.Type, member string, says ...string) {
		p.say(e, typ, json.RawMessage(`{"request_id":"`+requestID(e)+`","status":"success","output":{"answer":"y"},`+member+`}`))
		w.refused(http.StatusBadRequest, "INVALID_REQUEST", p.last)
		for _, text := range says {
			if !strings.Contains(p.last.Message, text) {
				t.Errorf("%.60s: %q, want %q", member, p.last.Message, text)
			}
		}
	}
	w.play(func(p *player, e event) {
		switch e.Type {
		case envelope.TypeRequest:
			refused(p, e, envelope.TypeOffer, `"plan":"`+strings.Repeat("p", 4097)+`"`, "payload.plan", "4096")
			refused(p, e, envelope.TypeOffer, `"price":{"amount":-0.1,"currency":"USD"}`, "payload.price.amount", "0 or more")
			refused(p, e, envelope.TypeOffer, `"price":{"amount":"1","currency":"USD"}`, "payload")
			refused(p, e, envelope.TypeOffer, `"price":{"amount":1,"currency":"`+strings.Repeat("U", 129)+`"}`, "payload.price.currency", "128")
			refused(p, e, envelope.TypeOffer, `"eta_seconds":-1`, "payload.eta_seconds", "0 to 86400")
			refused(p, e, envelope.TypeOffer, `"eta_seconds":86401`, "payload.eta_seconds", "0 to 86400")
			p.say(e, envelope.TypeOffer, envelope.Offer{RequestID: requestID(e), Plan: strings.Repeat("p", 4096)})
		case envelope.TypeAccept:
			refused(p, e, envelope.TypeResult, `"metrics":[]`, "payload.metrics", "an object", "4096")
			refused(p, e, envelope.TypeResult, `"metrics":{"a":"`+strings.Repeat("m", 4096)+`"}`, "payload.metrics", "4096")
			refused(p, e, envelope.TypeResult, `"artifacts":{}`, "payload.artifacts", "an array", "16384")
			refused(p, e, envelope.TypeResult, `"artifacts":["`+strings.Repeat("a", 16384)+`"]`, "payload.artifacts", "16384")
			p.say(e, envelope.TypeResult, json.RawMessage(`{"request_id":"`+requestID(e)+`","status":"success","output":{"answer":"x"},"metrics":null,"artifacts":null}`))
		}
	})
	r := w.send(attempt(enough))
	if r.Outcome != arena.OutcomeAnswered || r.Answer.Answer != "x" || r.Answer.Metrics != nil || r.Answer.Artifacts != nil {
		t.Errorf("%+v", r)
	}
}
