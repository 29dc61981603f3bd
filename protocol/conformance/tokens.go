package conformance

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// forgery is a token that an agent must not take.
type forgery struct {
	id, what, clause string
	level            Level  // for an agent that checks tokens at all
	cure             string // for one that took it
	sign             func(*session, arena.TaskClaims) (string, error)
	alter            func([]byte) []byte // of the body, after the token was made for it
}

// forgeries lists them. The claims aud and bh are the arena's additions to
// AAP, so an agent that knows only AAP need not look at them (rules, 2).
func forgeries() []forgery {
	const aap = "AAP 5"
	return []forgery{
		{
			id: "token.missing", what: "no token", clause: aap, level: Must,
			cure: "Refuse a task that has no Authorization header.",
			sign: func(*session, arena.TaskClaims) (string, error) { return "", nil },
		},
		{
			id: "token.stranger", what: "a token signed with a stranger's key", clause: aap, level: Must,
			cure: "Take only signatures of the keys in the arena's key set.",
			sign: func(s *session, c arena.TaskClaims) (string, error) { return s.Unknown(c) },
		},
		{
			id: "token.signature", what: "a token with a broken signature", clause: aap, level: Must,
			cure: "Verify the signature before anything in the token is believed.",
			sign: func(s *session, c arena.TaskClaims) (string, error) { return brokenSignature(s.Sign(c)) },
		},
		{
			id: "token.none", what: "a token with alg none", clause: aap, level: Must,
			cure: "Name the algorithms that you take: those of the key set, ES256 by default.",
			sign: func(s *session, c arena.TaskClaims) (string, error) { return unsigned(s.Sign(c)) },
		},
		{
			id: "token.expired", what: "a token that has expired", clause: aap, level: Must,
			cure: "Check exp (the same instant as expires_at) with a leeway of some seconds.",
			sign: func(s *session, c arena.TaskClaims) (string, error) {
				c.IssuedAt, c.ExpiresAt = s.Now().Add(-5*time.Minute), s.Now().Add(-4*time.Minute)
				return s.Sign(c)
			},
		},
		{
			id: "token.other_agent", what: "a token for another agent", clause: "AAP 5; rules, 2", level: Should,
			cure: "Tell the agent its id and compare aud with it: without, an opponent can hand you the tasks that it got.",
			sign: func(s *session, c arena.TaskClaims) (string, error) {
				c.AgentID = "ag_somebody_else"
				return s.Sign(c)
			},
		},
		{
			id: "token.other_body", what: "a token for another body", clause: "rules, 2", level: Should,
			cure:  "Compare bh with the base64url SHA-256 of the body as it came: without, whoever holds a token can change the task.",
			sign:  func(s *session, c arena.TaskClaims) (string, error) { return s.Sign(c) },
			alter: func(body []byte) []byte { return []byte(strings.Replace(string(body), "Australia", "Austria", 1)) },
		},
	}
}

// tokenChecks are one check for each forgery. The first of them sends all, for
// their level depends on whether any is refused.
func tokenChecks() []check {
	var list []check
	for _, f := range forgeries() {
		list = append(list, check{
			id: f.id, level: f.level, title: "refuses a task with " + f.what, clause: f.clause, needs: answering,
			run: func(ctx context.Context, s *session) outcome { return s.judge(ctx, f) },
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
	for _, f := range forgeries() {
		x := s.post(ctx, s.attempt(nil), delivery{
			what: "a task with " + f.what, after: f.alter,
			sign: func(c arena.TaskClaims) (string, error) { return f.sign(s, c) },
		})
		s.refusals[f.id] = x
		if f.level == Must && refused(x) {
			s.verifies = true
		}
	}
}

func refused(x exchange) bool {
	return x.reply.Status == http.StatusUnauthorized || x.reply.Status == http.StatusForbidden
}

// judge returns the result of one forgery.
func (s *session) judge(ctx context.Context, f forgery) outcome {
	s.forge(ctx)
	x := s.refusals[f.id]
	if refused(x) {
		return passed(x.sent, x.got())
	}
	o := failed(x.sent, x.got(), "%s Refuse with 401.", f.cure)
	switch {
	case !s.verifies:
		o.level = Should
		o.cure = "The agent checks no tokens: whoever finds its address can send it tasks and use up its model. " + f.cure + " The SDKs do all of it."
	case x.reply.Status >= 400 && x.reply.Status <= 499:
		o.level = Should // it was refused, with another word
	}
	return o
}

// brokenSignature changes one bit in the middle of a token's signature.
func brokenSignature(token string, err error) (string, error) {
	dot := strings.LastIndexByte(token, '.')
	if err != nil || dot < 0 {
		return token, err
	}
	signature, err := base64.RawURLEncoding.DecodeString(token[dot+1:])
	if err != nil || len(signature) == 0 {
		return "", fmt.Errorf("the signer's token has no signature: %w", err)
	}
	signature[len(signature)/2] ^= 1
	return token[:dot+1] + base64.RawURLEncoding.EncodeToString(signature), nil
}

// unsigned returns the claims of a token under alg none.
func unsigned(token string, err error) (string, error) {
	parts := strings.Split(token, ".")
	if err != nil || len(parts) != 3 {
		return token, err
	}
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"aap-task+jwt"}`)) + "." + parts[1] + ".", nil
}
