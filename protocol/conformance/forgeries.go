package conformance

import (
	"context"
	"time"

	"github.com/agora-arena/arena/protocol"
)

// silence is the time limit of a forgery where agents leave messages
// unanswered that they do not trust.
const silence = 2 * time.Second

// credential is a check of a credential that an agent must refuse.
type credential struct {
	id    string
	level Level  // for an agent that checks credentials at all
	what  string // for a protocol that has no such forgery
}

// credentials lists them.
func credentials() []credential {
	return []credential{
		{"token.missing", Must, "no credential"},
		{"token.stranger", Must, "a credential of an unknown key"},
		{"token.signature", Must, "a broken signature"},
		{"token.none", Must, "a credential without an algorithm"},
		{"token.expired", Must, "a credential that has expired"},
		{"token.other_agent", Should, "a credential for another agent"},
		{"token.other_body", Should, "a credential for another task"},
	}
}

// forgeryChecks are one check for each forgery. The first of them sends all,
// for their level depends on whether any is refused.
func forgeryChecks(p protocol.Profile) []check {
	var list []check
	for _, c := range credentials() {
		f, ok := p.Forgery(c.id)
		if !ok {
			f.What, f.Clause = c.what, p.Clauses.Request
		}
		list = append(list, check{
			id: c.id, level: c.level, title: "refuses a task with " + f.What, clause: f.Clause, needs: answering,
			run: func(ctx context.Context, s *session) outcome {
				if !ok {
					return outcome{nothing: true, got: "the protocol has no such credential"}
				}
				return s.judge(ctx, f)
			},
		})
	}
	return list
}

// forge sends every forgery once.
func (s *session) forge(ctx context.Context) {
	if s.refusals != nil {
		return
	}
	s.refusals = map[string]exchange{}
	for _, c := range credentials() {
		f, ok := s.Profile.Forgery(c.id)
		if !ok {
			continue
		}
		a := s.attempt(nil)
		if s.Profile.Silent {
			a.TimeLimit = min(a.TimeLimit, silence)
		}
		x := s.send(ctx, a, f.Send, "a task with "+f.What)
		s.refusals[f.ID] = x
		if c.level == Must && s.refused(x) {
			s.verifies = true
		}
	}
}

// refused reports whether the agent refused a forgery.
func (s *session) refused(x exchange) bool {
	return x.reply.Refused || s.Profile.Silent && !x.ok()
}

// judge returns the result of one forgery.
func (s *session) judge(ctx context.Context, f protocol.Forgery) outcome {
	s.forge(ctx)
	x := s.refusals[f.ID]
	if s.refused(x) {
		return passed(x.sent, x.got())
	}
	refuse := " Refuse with 401."
	if s.Profile.Silent {
		refuse = ""
	}
	o := failed(x.sent, x.got(), "%s%s", f.Cure, refuse)
	switch {
	case !s.verifies:
		o.level = Should
		o.cure = "The agent checks no credentials: anyone who finds its address can send it tasks and use up its model. " + f.Cure + " The SDKs check all of them."
	case clientError(x.reply.Status):
		o.level = Should // it was refused, with another status
	}
	return o
}
