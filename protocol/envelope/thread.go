package envelope

import (
	"time"

	"github.com/agora-arena/arena/arena"
)

// State is where a thread stands ("Thread State Machine").
type State string

// The states. COMPLETED and ERROR are ends: a thread there takes an ERROR and
// nothing else.
const (
	StateOpen      State = "OPEN"
	StatePending   State = "PENDING"
	StateActive    State = "ACTIVE"
	StateCompleted State = "COMPLETED"
	StateError     State = "ERROR"
)

// Event is what moves a thread: a message, or a time that has come.
type Event string

// The events that are not messages.
const (
	EventNoOffer  Event = "timeout: no offer"
	EventNoResult Event = "timeout: no result"
)

// Role is who may cause an event.
type Role string

// The roles.
const (
	RoleClient  Role = "client"  // who sent the REQUEST
	RoleInvited Role = "invited" // its recipient; anyone, when it named none
	RoleAgent   Role = "agent"   // whose offer was accepted
	RoleParty   Role = "party"   // the client, or one who offered or was invited
	RoleClock   Role = "clock"
)

// Transition is one line of the table.
type Transition struct {
	From  State
	Event Event
	By    Role
	To    State
}

// Transitions is the whole state machine: all other transitions are refused. A
// party may send an ERROR in any state of a thread. STATUS is an extension and
// changes no state.
func Transitions() []Transition {
	return []Transition{
		{StateOpen, Event(TypeRequest), RoleClient, StatePending},
		{StatePending, Event(TypeOffer), RoleInvited, StatePending},
		{StatePending, Event(TypeAccept), RoleClient, StateActive},
		{StatePending, Event(TypeCancel), RoleClient, StateError},
		{StatePending, Event(TypeStatus), RoleParty, StatePending},
		{StatePending, EventNoOffer, RoleClock, StateError},
		{StatePending, Event(TypeError), RoleParty, StateError},
		{StateActive, Event(TypeResult), RoleAgent, StateCompleted},
		{StateActive, Event(TypeCancel), RoleClient, StateError},
		{StateActive, Event(TypeStatus), RoleParty, StateActive},
		{StateActive, EventNoResult, RoleClock, StateError},
		{StateActive, Event(TypeError), RoleParty, StateError},
		{StateCompleted, Event(TypeError), RoleParty, StateError},
		{StateError, Event(TypeError), RoleParty, StateError},
	}
}

// Next returns the line for an event in a state; ok is false when there is none.
// It is total: any two texts have an answer.
func Next(from State, event Event) (t Transition, ok bool) {
	for _, t := range Transitions() {
		if t.From == from && t.Event == event {
			return t, true
		}
	}
	return Transition{}, false
}

// Conversation is the state of one thread. It follows from the thread's envelopes
// and their arrival times by the relay's clock. The zero value is OPEN.
type Conversation struct {
	State     State
	Client    string
	Invited   string // "" anyone
	Agent     string // whose offer was accepted
	RequestID string
	Offers    map[string]Facts // by did:key: the last one
	due       time.Time        // of the timeout of the state; zero: none
}

// Replay returns the conversation after these envelopes.
func Replay(stored []arena.Envelope) (*Conversation, error) {
	c := &Conversation{}
	for _, s := range stored {
		e, _, _, err := parse(s.Body) // its signature was checked when it came
		if err != nil {
			return nil, err
		}
		f, err := e.Facts()
		if err != nil {
			return nil, err
		}
		if err := c.Apply(e, f, s.ReceivedAt); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Tick applies the timeouts that are over at now.
func (c *Conversation) Tick(now time.Time) {
	if c.due.IsZero() || now.Before(c.due) {
		return
	}
	event := EventNoOffer
	if c.State == StateActive {
		event = EventNoResult
	}
	if t, ok := Next(c.State, event); ok {
		c.State, c.due = t.To, time.Time{}
	}
}

// Apply moves the conversation by a message that came at now. The failures
// are not_found (there is no such thread), conflict (the wrong order) and
// forbidden (the wrong sender); they change nothing but what time has done.
func (c *Conversation) Apply(e *Envelope, f Facts, now time.Time) error {
	if c.State == "" {
		c.State = StateOpen
	}
	c.Tick(now)
	if c.State == StateOpen && e.Type != TypeRequest {
		return arena.Errorf(arena.CodeNotFound, "there is no thread that this %s belongs to: name its thread.id or request_id", e.Type)
	}
	t, ok := Next(c.State, Event(e.Type))
	if !ok {
		return arena.Errorf(arena.CodeConflict, "the thread is %s: it takes no %s", c.State, e.Type)
	}
	if !c.may(t.By, e.Sender.ID) {
		return arena.Errorf(arena.CodeForbidden, "the sender is not the thread's %s and may send no %s", t.By, e.Type)
	}
	if c.RequestID != "" && f.RequestID != "" && f.RequestID != c.RequestID {
		return arena.Errorf(arena.CodeConflict, "request_id belongs to another thread")
	}
	switch e.Type {
	case TypeRequest:
		c.Client, c.Invited, c.RequestID, c.Offers = e.Sender.ID, e.To(), f.RequestID, map[string]Facts{}
		c.due = now.Add(e.TTL())
	case TypeOffer:
		c.Offers[e.Sender.ID] = f
		c.due = time.Time{} // this state has no timeout
	case TypeAccept:
		agent, err := c.choose(e.To())
		if err != nil {
			return err
		}
		c.Agent, c.due = agent, now.Add(e.TTL())
		if !f.Deadline.IsZero() {
			c.due = f.Deadline
		}
	case TypeResult, TypeError, TypeCancel:
		c.due = time.Time{}
	case TypeStatus:
	}
	c.State = t.To
	return nil
}

// choose returns whose offer an ACCEPT takes: its recipient's, or the only one.
func (c *Conversation) choose(recipient string) (string, error) {
	if _, ok := c.Offers[recipient]; ok {
		return recipient, nil
	}
	if recipient == "" && len(c.Offers) == 1 {
		for agent := range c.Offers {
			return agent, nil
		}
	}
	if len(c.Offers) == 0 {
		return "", arena.Errorf(arena.CodeConflict, "there is no OFFER to accept")
	}
	return "", arena.Errorf(arena.CodeConflict, "name the recipient whose OFFER is accepted")
}

func (c *Conversation) may(role Role, sender string) bool {
	_, offered := c.Offers[sender]
	switch role {
	case RoleClient:
		return c.Client == "" || c.Client == sender
	case RoleInvited:
		return sender != c.Client && (c.Invited == "" || c.Invited == sender)
	case RoleAgent:
		return c.Agent == sender
	case RoleParty:
		return sender == c.Client || sender == c.Invited || offered
	case RoleClock:
	}
	return false
}
