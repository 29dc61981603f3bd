package agora

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol"
)

// conversation is the driver's state of the conversation with one agent in one
// match. It is in memory only: a node that takes over a match opens a new one.
type conversation struct {
	id      string // "" none is open
	expires int64  // Unix seconds, 0 unknown
	way     way    // the form of its first message
	settled bool   // the agent has accepted it
	single  bool   // the agent has no conversations
	problem string // the problem of its last reply, or ""
	used    time.Time
}

// conversations are the open conversations of a driver.
type conversations struct {
	mu     sync.Mutex
	open   map[string]conversation // by match and agent
	ending sync.WaitGroup
}

// The limits of conversations. An idle one belongs to a match that ended without
// its last round.
const (
	maxConversations = 1 << 14
	conversationIdle = time.Hour
)

func conversationKey(a arena.Attempt) string {
	return a.MatchID + " " + a.Seat.AgentID + " " + a.Seat.Endpoint
}

func (c *conversations) get(a arena.Attempt) (conversation, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.open[conversationKey(a)]
	return found, ok
}

func (c *conversations) put(a arena.Attempt, kept conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= maxConversations {
		for key, old := range c.open {
			if kept.used.Sub(old.used) > conversationIdle {
				delete(c.open, key)
			}
		}
	}
	if len(c.open) < maxConversations {
		c.open[conversationKey(a)] = kept
	}
}

func (c *conversations) drop(a arena.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conversationKey(a))
}

// askLimit bounds the requests that are not of the match itself.
const askLimit = time.Second

// choose negotiates at the start of a match which documents the agent knows
// (standard, section 9). A list without the arena's document begins with plain
// words; no list changes nothing. over reports that the endpoint cannot be
// reached.
func (t *turn) choose(ctx context.Context) (v protocol.Verdict, over bool) {
	x := t.d.o.Client.Do(ctx, protocol.Request{
		Method: http.MethodGet, URL: below(t.base, "wellknown"), Limit: min(askLimit, t.a.TimeLimit/10), WholeCall: true,
	})
	switch x.Failure { //nolint:exhaustive // any answer proves that the host can be reached
	case protocol.FailBlocked, protocol.FailDNS, protocol.FailRefused, protocol.FailUnreachable, protocol.FailTLS, protocol.FailBusy:
		t.exchange = x
		return protocol.Judge(x)
	}
	if _, decided := protocol.Judge(x); decided {
		return protocol.Verdict{}, false
	}
	hashes := decodeWellknown(x.Body)
	switch {
	case hashes[t.doc().Hash()] && t.conv.way == byPlainText:
		t.conv.way = byHex
	case len(hashes) > 0 && !hashes[t.doc().Hash()]:
		t.conv.way = byPlainText
	}
	return protocol.Verdict{}, false
}

// decodeWellknown returns the hashes of a list of documents, none when it cannot
// be read. Some servers put the list into the member protocols.
func decodeWellknown(data []byte) map[string]bool {
	var list map[string]json.RawMessage
	if strictjson.UnmarshalOpen(data, &list) != nil {
		return nil
	}
	if inner, ok := list["protocols"]; ok {
		list = nil
		if strictjson.UnmarshalOpen(inner, &list) != nil {
			return nil
		}
	}
	hashes := map[string]bool{}
	for key := range list {
		if hash := normalHash(key); hash != "" {
			hashes[hash] = true
		}
	}
	return hashes
}
