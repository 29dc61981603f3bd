package agora

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/task"
)

// The limits of a health check (docs/rules.md, section 4).
const (
	probeLimit = 5 * time.Second // from dialling to the last byte
	probeBody  = 4 << 10

	maxConcurrent   = 1000
	maxLatency      = time.Hour
	maxCapabilities = 100
)

const awayDetail = "the agent has not asked for a task within the last minute"

// Probe checks whether an agent can play, by one exchange under the document
// "Agora Arena Health": the very request of a match with another body. An
// agent that refuses the document is healthy if it accepted a task in some way
// before, or accepts a practice task in one now; it names no leagues, so
// that it plays all that it enters. An agent without an endpoint is healthy
// while it polls. Probe counts nothing: Failures and Successes stay 0.
func (d *Driver) Probe(ctx context.Context, a arena.Agent) arena.Health {
	h := arena.Health{CheckedAt: d.o.Now(), MaxConcurrent: 1}
	if a.Endpoint == "" {
		d.probeBase(ctx, a, &h)
	} else {
		d.probeEndpoint(ctx, a, &h)
	}
	h.OK = h.Reason == ""
	return h
}

func (d *Driver) probeBase(ctx context.Context, a arena.Agent, h *arena.Health) {
	until, atOnce, err := d.o.Bases.AliveUntil(ctx, a.ID)
	switch {
	case err != nil:
		h.Reason, h.Detail = "not_stored", "the arena could not look when the agent polled"
	case !d.o.Now().Before(until):
		h.Reason, h.Detail = "not_polling", awayDetail
	default:
		h.MaxConcurrent = max(atOnce, 1)
	}
}

func (d *Driver) probeEndpoint(ctx context.Context, a arena.Agent, h *arena.Health) {
	base, err := url.Parse(a.Endpoint)
	if err != nil {
		h.Reason, h.Detail = string(protocol.FailBlocked), "the endpoint is not a URL"
		return
	}
	if d.insecure(base) {
		v := needsTLS()
		h.Reason, h.Detail = v.Reason, v.Detail
		return
	}
	hash := d.docs.health.Hash()
	message, err := encode(request{Hash: &hash, Sources: []string{}, Body: "{}"})
	if err != nil {
		h.Reason, h.Detail = "not_encoded", "the arena could not make the message"
		return
	}
	x := d.o.Client.Do(ctx, protocol.Request{
		Method: http.MethodPost, URL: base.String(), Body: message, Limit: probeLimit, WholeCall: true, MaxBody: probeBody, Unproven: !a.Health.OK,
	})
	h.Latency = x.Elapsed
	if h.Reason, h.Detail = protocol.Unreadable(x); h.Reason != "" {
		return
	}
	said, err := decodeReply(x.Body)
	if err != nil {
		h.Reason, h.Detail = "bad_json", protocol.Sentence(err.Error())
		return
	}
	if !said.failed {
		h.Body = []byte(said.body)
		describe(said.body, h)
		return
	}
	if d.wayOf(ctx, a.ID, a.Endpoint) == "" {
		d.search(ctx, a, probeLimit-x.Elapsed, h)
	}
}

// search sends a practice task in one way after the other until the agent does
// not refuse it, and stores that way. No reply in time is no refusal: answers
// may take longer than a health check.
func (d *Driver) search(ctx context.Context, a arena.Agent, left time.Duration, h *arena.Health) {
	attempt := d.practice(a)
	body, err := task.Encode(attempt)
	if err != nil {
		h.Reason, h.Detail = "not_encoded", "the arena could not make the message"
		return
	}
	var r refusals
	for w, ok := ways()[0], true; ok; {
		message, err := encode(w.request(d.docs.round, w.text(attempt, string(body))))
		if err != nil {
			h.Reason, h.Detail = "not_encoded", "the arena could not make the message"
			return
		}
		if left <= 0 {
			return
		}
		x := d.o.Client.Do(ctx, protocol.Request{
			Method: http.MethodPost, URL: a.Endpoint, Body: message, Limit: left, WholeCall: true, MaxBody: probeBody, Unproven: !a.Health.OK,
		})
		if left -= x.Elapsed; x.Failure == protocol.FailBusy {
			h.Reason, h.Detail = protocol.Unreadable(x)
			return
		}
		refused, failed := refusalIn(x)
		if !failed {
			d.storeWay(ctx, a.ID, a.Endpoint, w)
			return
		}
		w, ok = r.add(w, refused)
	}
	h.Reason, h.Detail = "every_way_refused", protocol.Sentence("the agent refused every way: "+r.String())
}

// refusalIn returns the failure in a reply to a practice task, if it is one.
func refusalIn(x protocol.Exchange) (a answered, failed bool) {
	if x.Failure == protocol.FailTimeout || x.Failure == protocol.FailLate {
		return answered{}, false
	}
	badRequest := x.Failure == "" && x.Status == http.StatusBadRequest
	if _, detail := protocol.Unreadable(x); detail != "" && !badRequest {
		return answered{problem: detail}, true
	}
	a, err := decodeReply(x.Body)
	if err != nil {
		return answered{problem: err.Error()}, true
	}
	return a, a.failed
}

// describe copies an agent's own description, within bounds. A reply outside the
// document proves only that a server answers.
func describe(body string, h *arena.Health) {
	var said struct {
		Status        *string  `json:"status"`
		Capabilities  []string `json:"capabilities"`
		MaxConcurrent float64  `json:"max_concurrent"`
		AvgLatencyMS  float64  `json:"avg_latency_ms"`
	}
	if strictjson.UnmarshalOpen([]byte(body), &said, "status", "capabilities", "max_concurrent", "avg_latency_ms") != nil || said.Status == nil {
		return
	}
	if *said.Status != "ok" {
		h.Reason, h.Detail = "not_ok", protocol.Sentence("the agent reports the status "+*said.Status)
	}
	if said.Capabilities != nil {
		h.Capabilities = said.Capabilities[:min(len(said.Capabilities), maxCapabilities)]
	}
	h.MaxConcurrent = int(min(max(said.MaxConcurrent, 1), maxConcurrent))
	h.DeclaredLatency = time.Duration(min(max(said.AvgLatencyMS, 0), float64(maxLatency.Milliseconds())) * float64(time.Millisecond))
}
