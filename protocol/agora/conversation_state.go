package agora

import (
	"context"
	"encoding/json"

	"github.com/agora-arena/arena/arena"
)

// conversationState is what the server keeps of a conversation, as JSON in
// arena.Conversation.State.
type conversationState struct {
	League   string  `json:"league,omitempty"`
	Asked    intent  `json:"asked,omitempty"`    // in words, of a league that was not named yet
	Language string  `json:"language,omitempty"` // of Asked
	Answered []int64 `json:"answered,omitempty"` // tasks, the newest last
}

// maxAnswered is how many answered tasks are kept: more than are open at once.
const maxAnswered = 64

// readState returns the state of a conversation; "" is the zero state.
func readState(c arena.Conversation) (s conversationState) {
	_ = json.Unmarshal([]byte(c.State), &s) // the server has encoded it
	return s
}

// updateState changes the state of a call's conversation, if it has one.
func (s *Server) updateState(ctx context.Context, c *call, change func(*conversationState)) error {
	if c.conversation == nil {
		return nil
	}
	changed, err := s.o.Store.UpdateConversation(ctx, c.conversation.Key, func(a *arena.Conversation) {
		m := readState(*a)
		change(&m)
		m.Answered = m.Answered[max(0, len(m.Answered)-maxAnswered):]
		if state, err := json.Marshal(m); err == nil { // it always encodes
			a.State = string(state)
		}
	})
	if err == nil {
		c.conversation = &changed
	}
	return err
}
