package agora

import (
	"context"
	"encoding/json"

	"github.com/agora-arena/arena/arena"
)

// memory is what a conversation remembers.
type memory struct {
	League   string  `json:"league,omitempty"`
	Asked    intent  `json:"asked,omitempty"`    // in words, of a league that was not named yet
	Language string  `json:"language,omitempty"` // of Asked
	Answered []int64 `json:"answered,omitempty"` // tasks, the newest last
}

// maxAnswered is how many answered tasks are remembered: more than are open at
// once.
const maxAnswered = 64

func readMemory(c arena.Conversation) (m memory) {
	_ = json.Unmarshal([]byte(c.State), &m) // "" remembers nothing
	return m
}

// remember changes the memory of a call's conversation, if it has one.
func (s *Server) remember(ctx context.Context, c *call, change func(*memory)) error {
	if c.conversation == nil {
		return nil
	}
	changed, err := s.o.Store.UpdateConversation(ctx, c.conversation.Key, func(a *arena.Conversation) {
		m := readMemory(*a)
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
