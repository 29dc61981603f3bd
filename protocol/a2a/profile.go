package a2a

import (
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// WithClient returns a Driver that sends through another client. Closing either
// closes both.
func (d *Driver) WithClient(client *protocol.Client) *Driver {
	return d.with(func(o *Options) { o.Client = client })
}

// with returns a Driver with other options, which knows the same cards.
func (d *Driver) with(change func(*Options)) *Driver {
	other := &Driver{o: d.o, secret: d.secret, cards: d.cards, background: d.background}
	change(&other.o)
	return other
}

// Profile describes A2A to the conformance kit, whose forgeries are signed by
// sign, for one task each, or by unknown, with a key that the arena does not publish.
func (d *Driver) Profile(sign, unknown func(arena.TaskClaims) (string, error)) protocol.Profile {
	const card = "the endpoint is the base of the agent card, not an address for messages"
	return protocol.Profile{
		Name: arena.ProtocolA2A,
		Health: protocol.HealthProfile{
			Title: "the agent card names a JSON-RPC interface that the arena can use", Sent: "GET " + cardPath + " below the endpoint",
			Cure: "Serve an agent card of version 1.0 or 0.3 with a JSONRPC interface on the card's own host (docs/protocols/a2a.md).",
		},
		Clauses: protocol.Clauses{
			Health: "A2A, Discovery; rules, 4", Request: "A2A, SendMessage; rules, 2", Reply: "docs/protocols/a2a.md, A round; rules, 3",
			Errors: "docs/protocols/a2a.md, A round; rules, 3", Method: "A2A, JSON-RPC",
		},
		Untrusted: "The agent refused the message or rejected its task. If it verifies metadata.arena_token, it must accept tokens with iss \"{issuer}\" " +
			"and aud \"{agent}\", and read the keys from {issuer}/.well-known/jwks.json.",
		Reply:    `Answer with a message, or with a task that completes, whose last data part is {"answer":"…"} or whose last text part is the answer.`,
		LongTask: 40 << 10,
		Forgeries: protocol.TokenForgeries{
			Clause: "docs/protocols/a2a.md, A round", Covered: "the data part in its RFC 8785 form",
			Sign: sign, Unknown: unknown, Now: d.o.Now,
			Signed: func(sign func(arena.TaskClaims) (string, error)) protocol.Sender {
				return d.with(func(o *Options) { o.Sign = sign }).Prepare
			},
			Altered: d.altered(sign).Prepare,
		}.List(),
		NotApplicable: map[string]string{
			"health.fields": "a card may leave the leagues and max_concurrent out",
			"body.broken":   card, "http.get": card,
		},
	}
}

// altered returns a Driver that changes tasks after it has signed them.
func (d *Driver) altered(sign func(arena.TaskClaims) (string, error)) *Driver {
	other := d.with(func(o *Options) { o.Sign = sign })
	other.alter = protocol.AlterTask
	return other
}
