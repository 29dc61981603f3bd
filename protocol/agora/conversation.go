package agora

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/agora-arena/arena/arena"
)

// life is how long a conversation lives. It is extended when less than half of
// it is left, so that not every poll is a write.
const life = 15 * time.Minute

// open opens a conversation for a call and returns its id: 130 random bits.
func (s *Server) open(c *call, hash string) (id string, err error) {
	id = rand.Text()
	now := s.o.Now().Truncate(time.Second) // its end is sent in whole seconds
	opened := arena.Conversation{
		Key: sha256.Sum256([]byte(id)), AgentID: c.agentID, Address: c.agentID, Document: hash, CreatedAt: now, ExpiresAt: now.Add(life),
	}
	if c.agentID == "" {
		opened.Address, opened.Site = arena.AddressKeys(c.address)
	}
	err = s.o.Store.OpenConversation(c.request.Context(), opened, s.o.PerAddress)
	if arena.CodeOf(err) == arena.CodeRateLimited {
		return "", tooMany("Too many conversations")
	}
	c.conversation = &opened
	return id, err
}

// find returns the conversation of an id, over or not. A conversation is found only
// under the base URL where it was opened.
func (s *Server) find(c *call, id string) error {
	found, err := s.o.Store.Conversation(c.request.Context(), sha256.Sum256([]byte(id)))
	if arena.CodeOf(err) == arena.CodeNotFound || err == nil && found.AgentID != c.agentID {
		return notHere("conversation")
	}
	c.conversation = &found
	return err
}

// serveFollowUp answers a later message of a conversation (standard, sections
// 7.2 and 7.3).
func (s *Server) serveFollowUp(w http.ResponseWriter, c *call, id string) error {
	m, err := read(w, c.request)
	if err != nil {
		return err
	}
	if err := s.find(c, id); err != nil {
		return err
	}
	at := c.conversation
	if m.named && !sameHash(m.hash, at.Document) {
		return refusal{http.StatusBadRequest, "A conversation keeps its protocol: leave protocolHash out"}
	}
	now := s.o.Now()
	if !now.Before(at.ExpiresAt) {
		return failure(errExpired)
	}
	if m.body == nil {
		return failure(errNoBody)
	}
	if at.ExpiresAt.Sub(now) < life/2 {
		extended, err := s.o.Store.UpdateConversation(c.request.Context(), at.Key, func(a *arena.Conversation) {
			a.ExpiresAt = now.Add(life).Truncate(time.Second)
		})
		if err != nil {
			return err
		}
		c.conversation = &extended
	}
	return s.answer(w, c, at.Document, m, reply{ConversationID: id, ConversationExpires: c.conversation.ExpiresAt.Unix()})
}

// sameHash reports whether a follow-up names the conversation's own protocol,
// as some clients do with every message.
func sameHash(named *string, document string) bool {
	if named == nil {
		return document == ""
	}
	hash := normalHash(*named)
	return hash != "" && hash == document
}

// serveEnd ends a conversation. An unknown one has ended too.
func (s *Server) serveEnd(w http.ResponseWriter, c *call, id string) error {
	err := s.find(c, id)
	if err == nil {
		now := s.o.Now()
		_, err = s.o.Store.UpdateConversation(c.request.Context(), c.conversation.Key, func(a *arena.Conversation) {
			if a.ExpiresAt.After(now) {
				a.ExpiresAt = now
			}
		})
	}
	if no, ok := err.(refusal); ok && no.status == http.StatusNotFound { //nolint:errorlint // find gives it as it is
		err = nil
	}
	if err == nil {
		send(w, http.StatusOK, map[string]string{"status": statusSuccess})
	}
	return err
}
