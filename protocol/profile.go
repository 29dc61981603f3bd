package protocol

import (
	"context"

	"github.com/agora-arena/arena/arena"
)

// Sender prepares one attempt, as the Prepare method of a driver does.
type Sender func(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error)

// Profile describes a protocol to the conformance kit and to rehearsals: what
// its text requires of an agent, and how its credentials are forged.
type Profile struct {
	Name    string
	Health  HealthProfile
	Clauses Clauses

	// Untrusted is the advice for an agent that refuses genuine messages of the
	// arena. {issuer} and {agent} stand for the arena's URL and the agent's id.
	Untrusted string
	// Reply is the advice for an agent whose reply to a task cannot be read.
	Reply string
	// Silent reports that agents leave messages unanswered that they do not trust.
	Silent bool
	// BareTask reports that the body of a request is the task itself, without a
	// frame around it.
	BareTask bool
	// LongTask is the length of a long description, in bytes.
	LongTask int

	Forgeries []Forgery
	// NotApplicable are the reasons why the protocol has nothing to check, by the
	// id of the check.
	NotApplicable map[string]string
}

// HealthProfile describes the first contact with an agent.
type HealthProfile struct {
	Title  string   // what a healthy agent does
	Sent   string   // what the arena sends
	Cure   string   // advice for an agent that is not healthy
	Fields []string // members that the agent's description of itself should have
}

// Clauses are the places in the texts that state what is checked.
type Clauses struct {
	Health  string // first contact
	Request string // tasks
	Reply   string // replies
	Errors  string // time limits, refusals and second deliveries
	Method  string // methods of HTTP
}

// Forgery is a task with a credential that an agent must not accept.
type Forgery struct {
	ID     string // of the check: "token.expired"
	What   string // "a token that has expired"
	Clause string
	Cure   string // advice for an agent that accepts it
	Send   Sender
}

// Forgery returns the forgery for a check; ok is false when the protocol has
// none.
func (p Profile) Forgery(id string) (f Forgery, ok bool) {
	for _, f := range p.Forgeries {
		if f.ID == id {
			return f, true
		}
	}
	return Forgery{}, false
}
