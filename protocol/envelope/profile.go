package envelope

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// Profile describes signed envelopes to the conformance kit.
func (d *Driver) Profile() (protocol.Profile, error) {
	forgeries, err := d.forgeries()
	if err != nil {
		return protocol.Profile{}, err
	}
	const stale, addressed = "the relay delivers no expired envelopes", "the relay delivers an agent the envelopes that are addressed to it"
	return protocol.Profile{
		Name: arena.ProtocolEnvelope,
		Health: protocol.HealthProfile{
			Title: "the agent polls the relay", Sent: "nothing: the relay was asked when the agent was last there",
			Cure:   "Poll GET {issuer}/relay/events?recipient=<did:key of the agent> at least once a minute.",
			Fields: []string{"intents", "max_concurrent"},
		},
		Clauses: protocol.Clauses{
			Health: "Envelopes, Capability Manifest; rules, 4", Request: "Envelopes, REQUEST; rules, 2", Reply: "Envelopes, RESULT; rules, 3",
			Errors: "Envelopes, ERROR; rules, 3", Method: "Envelopes, Relay",
		},
		Untrusted: "The agent does not accept the arena's envelopes. It must know the arena's did:key, which GET {issuer}/relay/health returns. With an SDK: ARENA={issuer}.",
		Reply:     `Answer REQUEST with an OFFER, and ACCEPT with a RESULT: {"request_id":"…","status":"success","output":{"answer":"…"}}.`,
		Silent:    true, LongTask: 40 << 10,
		Forgeries: forgeries,
		NotApplicable: map[string]string{
			"token.missing": "the relay delivers no unsigned envelopes", "token.none": "signatures of envelopes have one algorithm",
			"token.expired": stale, "token.other_agent": addressed, "token.other_body": "the signature is part of the envelope that it covers",
		},
	}, nil
}

// forgeries returns tasks in envelopes that an agent must not accept. They skip
// the relay's own check of signatures.
func (d *Driver) forgeries() ([]protocol.Forgery, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key for forgeries: %w", err)
	}
	send := func(self *Identity) protocol.Sender {
		log := *d.log
		log.self = self
		return (&Driver{log: &log, logger: d.logger, now: d.now, forged: true}).Prepare
	}
	broken := *d.log.self
	broken.broken = true
	return []protocol.Forgery{
		{
			ID: "token.stranger", What: "the sender and signature of an unknown key", Clause: "Envelopes, Security",
			Cure: "Accept tasks only of the arena's did:key.",
			Send: send(NewIdentity(key, "Agora Arena")),
		},
		{
			ID: "token.signature", What: "a broken signature", Clause: "Envelopes, Security: signature verification is mandatory",
			Cure: "Verify every envelope over its canonical form before you use anything in it.",
			Send: send(&broken),
		},
	}, nil
}
