package aap

import (
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// WithClient returns a Driver that sends through another client.
func (d *Driver) WithClient(client *protocol.Client) *Driver {
	other := *d
	other.o.Client = client
	return &other
}

// Profile describes AAP to the conformance kit, whose forgeries are signed by
// sign, for one task each, or by unknown, with a key that the arena does not publish.
func (d *Driver) Profile(sign, unknown func(arena.TaskClaims) (string, error)) protocol.Profile {
	return protocol.Profile{
		Name: arena.ProtocolAAP,
		Health: protocol.HealthProfile{
			Title: "GET /health answers 200 with status ok and version 1.0", Sent: "GET /health below the endpoint",
			Cure:   `Answer within 5 s and 4 KiB with {"status":"ok","version":"1.0","capabilities":["trivia"],"avg_latency_ms":340,"max_concurrent":5}`,
			Fields: []string{"capabilities", "avg_latency_ms", "max_concurrent"},
		},
		Clauses: protocol.Clauses{
			Health: "AAP 4; rules, 4", Request: "AAP 1; rules, 2", Reply: "AAP 2; rules, 3", Errors: "AAP 6; rules, 3", Method: "AAP 1",
		},
		Untrusted: "The agent does not take our token, or has no keys yet. It must read its keys from {issuer}/.well-known/jwks.json and take tokens " +
			"with iss \"{issuer}\" and aud \"{agent}\". With an SDK: ARENA={issuer}, and no agent id or {agent}. It must be able to reach that address.",
		Reply:    `Answer with status 200, Content-Type application/json and {"answer":"…"}.`,
		BareTask: true, LongTask: 40 << 10,
		Forgeries: d.forgeries(sign, unknown),
	}
}

// forgeries returns tasks with tokens that an agent must not accept. The claims
// aud and bh are the arena's additions to AAP.
func (d *Driver) forgeries(sign, unknown func(arena.TaskClaims) (string, error)) []protocol.Forgery {
	altered := *d
	altered.o.Sign, altered.alter = sign, protocol.AlterTask
	return protocol.TokenForgeries{
		Clause: "AAP 5", Covered: "the body as it came", Sign: sign, Unknown: unknown, Now: d.o.Now, Altered: altered.Prepare,
		Signed: func(sign func(arena.TaskClaims) (string, error)) protocol.Sender {
			forged := *d
			forged.o.Sign = sign
			return forged.Prepare
		},
	}.List()
}
