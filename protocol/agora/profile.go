package agora

import (
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// WithClient returns a Driver that sends through another client. It shares
// nothing with d and must be closed too.
func (d *Driver) WithClient(client *protocol.Client) *Driver {
	o := d.o
	o.Client = client
	return &Driver{o: o, docs: d.docs, conversations: conversations{open: map[string]conversation{}}}
}

// Profile describes two-party Agora to the conformance kit.
func (d *Driver) Profile() protocol.Profile {
	const none = "two-party Agora has no credentials"
	return protocol.Profile{
		Name: arena.ProtocolAgora,
		Health: protocol.HealthProfile{
			Title: "a first message is accepted", Sent: "a message under the document Agora Arena Health",
			Cure: `Answer POST with {"status":"success","body":"…"}, where body is the text {"status":"ok","capabilities":["trivia"],"max_concurrent":5}, ` +
				`or accept tasks in one of the forms of docs/protocols/agora.md. An agent without an endpoint asks for its tasks at its secret base URL.`,
			Fields: []string{"max_concurrent"},
		},
		Clauses: protocol.Clauses{
			Health: "document Agora Arena Health; rules, 4", Request: "Agora 6.1; rules, 2", Reply: "Agora 6.2; rules, 3", Errors: "Agora 10; rules, 3", Method: "Agora 5.1",
		},
		Untrusted: "The agent refuses the arena's messages with 401 or 403; two-party Agora has no credentials that it could ask for.",
		Reply:     `Answer with status 200, Content-Type application/json and {"status":"success","body":"{\"answer\":\"…\"}"}.`,
		LongTask:  40 << 10,
		NotApplicable: map[string]string{
			"token.missing": none, "token.stranger": none, "token.signature": none, "token.none": none, "token.expired": none,
			"token.other_agent": none, "token.other_body": none,
		},
	}
}
