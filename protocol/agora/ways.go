package agora

import (
	"context"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// way is a form in which a message names its Protocol Document. Receivers
// differ in the forms that they read.
type way string

// The ways, in the order in which they are tried.
const (
	byHex       way = "hex"    // hexadecimal hash, text as a percent-encoded data URI: the standard's form
	byBase64    way = "base64" // hash in base64, as the library of the protocol's authors writes it
	byData      way = "data"   // the same, with the text as a base64 data URI
	byPlainText way = "words"  // no document: natural language
)

func ways() []way { return []way{byHex, byBase64, byData, byPlainText} }

func (w way) String() string {
	switch w {
	case byHex:
		return "hexadecimal hash"
	case byBase64:
		return "base64 hash"
	case byData:
		return "base64 data: source"
	case byPlainText:
		return "plain words"
	}
	return string(w)
}

// text returns the body that puts a task to an agent.
func (w way) text(a arena.Attempt, taskJSON string) string {
	if w == byPlainText {
		return inWords(a, taskJSON)
	}
	return taskJSON
}

// request returns the first message of a conversation under the document.
func (w way) request(doc Document, body string) request {
	r := request{Sources: []string{}, Body: body}
	if w == byPlainText {
		return r
	}
	hash, source := doc.Hash(), doc.Source()
	if w != byHex {
		hash = doc.Base64Hash()
	}
	if w == byData {
		source = doc.Base64Source()
	}
	r.Hash, r.Sources = &hash, []string{source}
	return r
}

// Ways stores the way that each agent accepted at its endpoint.
type Ways interface {
	// AgoraWay returns the stored way, "" when there is none.
	AgoraWay(ctx context.Context, agentID, endpoint string) (way string, err error)
	// SetAgoraWay replaces the stored way; "" removes it.
	SetAgoraWay(ctx context.Context, agentID, endpoint, way string) error
}

// wayOf returns the stored way of an agent, "" when there is none. A failed
// read only costs a search.
func (d *Driver) wayOf(ctx context.Context, agentID, endpoint string) way {
	stored, err := d.o.Ways.AgoraWay(ctx, agentID, endpoint)
	if err != nil || !slices.Contains(ways(), way(stored)) {
		return ""
	}
	return way(stored)
}

// storeWay stores a way. A failed write only costs another search.
func (d *Driver) storeWay(ctx context.Context, agentID, endpoint string, w way) {
	_ = d.o.Ways.SetAgoraWay(ctx, agentID, endpoint, string(w))
}

// refusals are the ways that an agent refused, with its reasons.
type refusals struct {
	ways    []way
	reasons []string
}

// maxReason bounds the part of an agent's reason that is kept, in bytes.
const maxReason = 48

// add notes a refusal and returns the next way to try. ok is false when the
// agent has refused all of them.
func (r *refusals) add(w way, a answered) (next way, ok bool) {
	reason := a.reason()
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	r.ways = append(r.ways, w)
	r.reasons = append(r.reasons, w.String()+": "+reason)
	for _, next := range ways() {
		if !slices.Contains(r.ways, next) {
			return next, true
		}
	}
	return "", false
}

func (r *refusals) String() string { return strings.Join(r.reasons, "; ") }

// practice returns the task by which a health check finds out which way an
// agent accepts: one that any agent can answer.
func (d *Driver) practice(a arena.Agent) arena.Attempt {
	league := "practice"
	if len(a.Leagues) > 0 {
		league = a.Leagues[0]
	}
	return arena.Attempt{
		MatchID: "m_check", League: league, Round: 1, TotalRounds: 1, Number: 1, Opponents: 1,
		Task:      arena.Task{ID: "tk_check", Description: "This is a health check. What is 2 + 2?"},
		TimeLimit: probeLimit, Deadline: d.o.Now().Add(probeLimit),
	}
}
