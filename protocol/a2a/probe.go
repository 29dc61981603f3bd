package a2a

import (
	"context"
	"errors"
	"net/http"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// Probe reads the agent's card. OK means that it names a JSON-RPC interface that
// the arena can use; otherwise Reason and Detail say what is wrong. An agent that
// declares no leagues plays those that it entered. Probe counts nothing: Failures
// and Successes stay 0.
func (d *Driver) Probe(ctx context.Context, a arena.Agent) arena.Health {
	s, x, err := d.readCard(ctx, a.Endpoint, protocol.Request{Limit: cardLimit, WholeCall: true, Unproven: !a.Health.OK})
	h := arena.Health{CheckedAt: d.o.Now(), Latency: x.Elapsed}
	if wrong, isCard := errors.AsType[*cardError](err); isCard {
		h.Reason, h.Detail = wrong.reason, protocol.Sentence(wrong.detail)
		return h
	}
	if h.Reason, h.Detail = protocol.Unreadable(x); h.Reason != "" {
		return h
	}
	h.OK, h.MaxConcurrent, h.Capabilities = true, s.maxConcurrent, s.leagues
	return h
}

// CheckEndpoint reads the card of an endpoint that is being registered. The error
// is an *arena.Error about the endpoint if the reply is not a card that the arena can
// use. An endpoint that cannot be reached now is accepted: its health
// checks report that.
func (d *Driver) CheckEndpoint(ctx context.Context, endpoint string) error {
	_, x, err := d.readCard(ctx, endpoint, protocol.Request{Limit: cardLimit, WholeCall: true, Unproven: true})
	detail := ""
	if wrong, isCard := errors.AsType[*cardError](err); isCard {
		detail = wrong.detail
	} else if reason, explained := protocol.Unreadable(x); reason != "" && x.Status != 0 && !temporary(x) {
		detail = explained
	}
	if detail == "" {
		return nil
	}
	return &arena.Error{
		Code: arena.CodeEndpointInvalid, Message: "the endpoint cannot be used",
		Fields: []arena.FieldError{{Field: "endpoint", Message: protocol.Sentence("the agent card at " + cardPath + ": " + detail)}},
	}
}

// temporary reports whether another attempt may bring a card.
func temporary(x protocol.Exchange) bool {
	switch x.Failure {
	case "", protocol.FailTooLarge:
	default:
		return true
	}
	return x.Status >= 500 || x.Status == http.StatusRequestTimeout || x.Status == http.StatusTooManyRequests
}
