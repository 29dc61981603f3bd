package agentprotocol

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// Profile describes AgentProtocol to the conformance kit.
func (d *Driver) Profile() (protocol.Profile, error) {
	forgeries, err := d.forgeries()
	if err != nil {
		return protocol.Profile{}, err
	}
	return protocol.Profile{
		Name: arena.ProtocolAgentProtocol,
		Health: protocol.HealthProfile{
			Title: "hello is answered with a signed hello", Sent: "hello",
			Cure:   "Answer hello within 5 s with a hello of version 0.1 that is signed with the registered key, as the reply of the POST, or connect to /agentprotocol/ws of the arena.",
			Fields: []string{"version", "maxConcurrent"},
		},
		Clauses: protocol.Clauses{
			Health: "AgentProtocol, hello; rules, 4", Request: "AgentProtocol, request; rules, 2", Reply: "AgentProtocol, response; rules, 3",
			Errors: "AgentProtocol, Error Codes; rules, 3", Method: "AgentProtocol, HTTP",
		},
		Untrusted: "The agent does not accept the arena's signature. It must know the arena's agent id, which GET {issuer}/agentprotocol returns. " +
			"With an SDK: ARENA={issuer}, and it must be able to reach that address.",
		Reply:  `Answer with a signed response: {"correlationId":"…","status":"success","result":{"answer":"…"}}.`,
		Silent: true, LongTask: 40 << 10,
		Forgeries: forgeries,
		NotApplicable: map[string]string{
			"token.none":       "signatures of AgentProtocol have one algorithm",
			"token.other_body": "the signature is part of the message that it covers",
		},
	}, nil
}

// forgeries returns tasks in messages that an agent must not accept.
func (d *Driver) forgeries() ([]protocol.Forgery, error) {
	const verification = "AgentProtocol, Signature Verification"
	other, foreign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key for forgeries: %w", err)
	}
	send := func(change func(*identity)) protocol.Sender {
		forged := *d
		forged.forged = true
		change(&forged.me)
		return forged.Prepare
	}
	return []protocol.Forgery{
		{
			ID: "token.missing", What: "no signature", Clause: verification,
			Cure: "Refuse a message without a signature.",
			Send: send(func(i *identity) { i.forge.unsigned = true }),
		},
		{
			ID: "token.stranger", What: "a signature by an unknown key, which from.agentId names", Clause: verification,
			Cure: "Accept requests only of the arena's agent id.",
			Send: send(func(i *identity) { i.key, i.public = foreign, other }),
		},
		{
			ID: "token.signature", What: "a signature that is not by the key of from.agentId", Clause: verification,
			Cure: "Verify the signature with the key that from.agentId names before you use anything in the message.",
			Send: send(func(i *identity) { i.key = foreign }),
		},
		{
			ID: "token.expired", What: "a timestamp of ten minutes ago", Clause: "AgentProtocol, Security Considerations; docs/protocols/agentprotocol.md",
			Cure: "Refuse messages whose timestamp is more than five minutes from your clock, or anyone who has seen one can send it again.",
			Send: send(func(i *identity) {
				now := i.now
				i.now = func() time.Time { return now().Add(-10 * time.Minute) }
			}),
		},
		{
			ID: "token.other_agent", What: "to.agentId of another agent", Clause: "AgentProtocol, Base Message",
			Cure: "Compare to.agentId with the agent's own id. Without this check an opponent can send you its own tasks.",
			Send: send(func(i *identity) { i.forge.to = other }),
		},
	}, nil
}
