package envelope_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/envelope"
)

var states = []envelope.State{envelope.StateOpen, envelope.StatePending, envelope.StateActive, envelope.StateCompleted, envelope.StateError}

func threadEvents() []envelope.Event {
	events := []envelope.Event{envelope.EventNoOffer, envelope.EventNoResult}
	for _, t := range envelope.Types() {
		events = append(events, envelope.Event(t))
	}
	return events
}

// "State Transitions": the table of the text is the table of the code, and
// every other pair of state and event is refused.
func TestNext(t *testing.T) {
	t.Parallel()
	want := map[string]envelope.State{
		"OPEN REQUEST":              envelope.StatePending,
		"PENDING OFFER":             envelope.StatePending,
		"PENDING ACCEPT":            envelope.StateActive,
		"PENDING timeout: no offer": envelope.StateError,
		"ACTIVE RESULT":             envelope.StateCompleted,
		"ACTIVE timeout: no result": envelope.StateError,
		"ACTIVE CANCEL":             envelope.StateError,
		"PENDING ERROR":             envelope.StateError,
		"ACTIVE ERROR":              envelope.StateError,
		"COMPLETED ERROR":           envelope.StateError,
		"ERROR ERROR":               envelope.StateError,
		// Where the text is silent.
		"PENDING CANCEL": envelope.StateError,
		"PENDING STATUS": envelope.StatePending,
		"ACTIVE STATUS":  envelope.StateActive,
	}
	for _, from := range append(slices.Clone(states), "", "DONE") {
		for _, event := range append(threadEvents(), "", "HELLO") {
			name := fmt.Sprintf("%s %s", from, event)
			got, ok := envelope.Next(from, event)
			if to, legal := want[name]; ok != legal || got.To != to {
				t.Errorf("%s: %s (%t), want %s (%t)", name, got.To, ok, to, legal)
			}
			delete(want, name)
		}
	}
	if len(want) > 0 {
		t.Errorf("never asked: %v", want)
	}
}

// step is a message in a thread, n seconds after its beginning.
type step struct {
	n     int
	from  string
	t     envelope.Type
	facts envelope.Facts
	code  arena.Code // "" taken
	state envelope.State
	to    string
}

func apply(t *testing.T, c *envelope.Conversation, s step) error {
	t.Helper()
	e := &envelope.Envelope{Type: s.t, Sender: envelope.Party{ID: s.from}}
	if s.to != "" {
		e.Recipient = &envelope.Party{ID: s.to}
	}
	ttl := 60.0
	e.Meta = &envelope.Meta{TTL: &ttl}
	return c.Apply(e, s.facts, at.Add(time.Duration(s.n)*time.Second))
}

func TestConversation(t *testing.T) {
	t.Parallel()
	req := envelope.Facts{RequestID: "r"}
	deadline := envelope.Facts{RequestID: "r", Deadline: at.Add(20 * time.Second)}
	const pending, active, completed, failed = envelope.StatePending, envelope.StateActive, envelope.StateCompleted, envelope.StateError
	const conflict, forbidden = arena.CodeConflict, arena.CodeForbidden
	request := step{0, "ann", envelope.TypeRequest, req, "", pending, "bob"}
	offer := step{1, "bob", envelope.TypeOffer, req, "", pending, ""}
	accept := step{2, "ann", envelope.TypeAccept, req, "", active, ""}
	for name, steps := range map[string][]step{
		"whole":                  {request, offer, offer, accept, {3, "bob", envelope.TypeResult, req, "", completed, ""}, {4, "bob", envelope.TypeResult, req, conflict, completed, ""}},
		"error after the result": {request, offer, accept, {3, "bob", envelope.TypeResult, req, "", completed, ""}, {4, "eve", envelope.TypeError, req, forbidden, completed, ""}, {4, "ann", envelope.TypeError, req, "", failed, ""}},
		"second request":         {request, {1, "ann", envelope.TypeRequest, req, conflict, pending, ""}},
		"no offer in time":       {request, {60, "bob", envelope.TypeOffer, req, conflict, failed, ""}},
		"offer in time":          {request, {59, "bob", envelope.TypeOffer, req, "", pending, ""}, {300, "ann", envelope.TypeAccept, req, "", active, ""}},
		"no result in time":      {request, offer, accept, {62, "bob", envelope.TypeResult, req, conflict, failed, ""}},
		"deadline of terms":      {request, offer, {2, "ann", envelope.TypeAccept, deadline, "", active, ""}, {20, "bob", envelope.TypeResult, req, conflict, failed, ""}},
		"just before it":         {request, offer, {2, "ann", envelope.TypeAccept, deadline, "", active, ""}, {19, "bob", envelope.TypeResult, req, "", completed, ""}},
		"error after a timeout":  {request, {61, "ann", envelope.TypeError, req, "", failed, ""}, {62, "eve", envelope.TypeError, req, forbidden, failed, ""}},
		"error is terminal":      {request, {1, "bob", envelope.TypeError, req, "", failed, ""}, {2, "bob", envelope.TypeError, req, "", failed, ""}, {2, "bob", envelope.TypeOffer, req, conflict, failed, ""}},
		"error of a stranger":    {request, {1, "eve", envelope.TypeError, req, forbidden, pending, ""}},
		"cancel":                 {request, offer, accept, {3, "bob", envelope.TypeCancel, req, forbidden, active, ""}, {3, "ann", envelope.TypeCancel, req, "", failed, ""}, {4, "bob", envelope.TypeResult, req, conflict, failed, ""}},
		"status moves nothing":   {request, {1, "bob", envelope.TypeStatus, req, "", pending, ""}, {1, "eve", envelope.TypeStatus, req, forbidden, pending, ""}, offer, accept, {3, "bob", envelope.TypeStatus, req, "", active, ""}},
		"accept without offer":   {request, {1, "ann", envelope.TypeAccept, req, conflict, pending, ""}, offer, accept},
		"own offer":              {{0, "ann", envelope.TypeRequest, req, "", pending, ""}, {1, "ann", envelope.TypeOffer, req, forbidden, pending, ""}},
		"another request_id":     {request, {1, "bob", envelope.TypeOffer, envelope.Facts{RequestID: "q"}, conflict, pending, ""}, {1, "bob", envelope.TypeOffer, envelope.Facts{}, "", pending, ""}},
		"result of an agent whose offer was not taken": {
			{0, "ann", envelope.TypeRequest, req, "", pending, ""},
			offer,
			{1, "eve", envelope.TypeOffer, req, "", pending, ""},
			{2, "ann", envelope.TypeAccept, req, conflict, pending, ""},
			{2, "ann", envelope.TypeAccept, req, conflict, pending, "cid"},
			{2, "ann", envelope.TypeAccept, req, "", active, "eve"},
			{3, "bob", envelope.TypeResult, req, forbidden, active, ""},
			{3, "eve", envelope.TypeResult, req, "", completed, ""},
		},
		"nothing before a request": {{0, "bob", envelope.TypeError, req, arena.CodeNotFound, envelope.StateOpen, ""}, {0, "bob", envelope.TypeResult, req, arena.CodeNotFound, envelope.StateOpen, ""}},
	} {
		c := &envelope.Conversation{}
		for i, s := range steps {
			err := apply(t, c, s)
			if got := arena.CodeOf(err); got != s.code || c.State != s.state {
				t.Errorf("%s, step %d: %s, %v; want %s, code %q", name, i, c.State, err, s.state, s.code)
			}
		}
	}
}

// A thread follows from its envelopes and when they came.
func TestReplay(t *testing.T) {
	t.Parallel()
	ann, bob := identityOf("ann"), identityOf("bob")
	var stored []arena.Envelope
	add := func(i *envelope.Identity, typ envelope.Type, payload any) {
		t.Helper()
		e, err := i.Sign(envelope.Draft{Type: typ, At: at, Thread: "thread_1", Payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, arena.Envelope{Body: e.Body, ReceivedAt: at})
	}
	add(ann, envelope.TypeRequest, envelope.Request{RequestID: "r", Intent: "arena.trivia", Params: json.RawMessage(`{}`)})
	add(bob, envelope.TypeOffer, envelope.Offer{RequestID: "r"})
	add(ann, envelope.TypeAccept, envelope.Accept{RequestID: "r"})
	c, err := envelope.Replay(stored)
	if err != nil || c.State != envelope.StateActive || c.Agent != bob.DID() || c.Client != ann.DID() {
		t.Errorf("%+v, %v", c, err)
	}
	if c.Tick(at.Add(envelope.DefaultTTL)); c.State != envelope.StateError {
		t.Errorf("%s", c.State)
	}
	if _, err := envelope.Replay(stored[1:]); err == nil {
		t.Error("a thread without its beginning was replayed")
	}
}
