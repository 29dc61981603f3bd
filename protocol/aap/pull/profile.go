package pull

import (
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// Profile describes AAP to the conformance kit for agents that fetch their
// tasks. It has no forgeries: such an agent gets tasks from the arena alone,
// over a connection that it made itself.
func (d *Driver) Profile() protocol.Profile {
	const fetched = "the agent fetches its tasks from the arena, so no one else can send it one"
	const section = "docs/protocols/aap.md, Pull"
	return protocol.Profile{
		Name: arena.ProtocolAAP,
		Health: protocol.HealthProfile{
			Title: "the agent polls for tasks", Sent: "nothing: polls stand for health checks",
			Cure: "Poll GET {issuer}/v1/agents/{agent}/tasks?wait=50 with the agent key, and again after each answer and each 204.",
		},
		Clauses: protocol.Clauses{
			Health: section + "; rules, 4", Request: "AAP 1; rules, 2", Reply: "AAP 2; rules, 3", Errors: "AAP 6; rules, 3", Method: section,
		},
		Untrusted: "The agent fetched the task and declined it with status 503. If it verifies task tokens, it must accept those with iss \"{issuer}\" " +
			"and aud \"{agent}\", and read the keys from {issuer}/.well-known/jwks.json.",
		Reply:    `Post {"answer":"…"} to {issuer}/v1/agents/{agent}/tasks/{task_id}/answer, with the task_id of the poll and Content-Type application/json.`,
		BareTask: true, LongTask: 40 << 10,
		NotApplicable: map[string]string{
			"token.missing": fetched, "token.stranger": fetched, "token.signature": fetched, "token.none": fetched, "token.expired": fetched,
			"token.other_agent": fetched, "token.other_body": fetched,
			"load.over": "the agent fetches no more tasks than it can work on",
		},
	}
}
