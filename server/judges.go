package server

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/judge"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/protocol"
)

// newJudges makes the external judges: panels over the drivers of the players,
// the crowd, answers that are programs, and the operator's language model if
// there is one.
func (s *Server) newJudges(drivers map[string]engine.Driver) (*judge.Judges, error) {
	o := judge.Options{
		Agents: s.store.Agents.AgentsByID, Votes: s.store.Matches.Votes, Scripts: s.scripts, Now: s.now, Logger: s.log,
		Ask: func(ctx context.Context, q judge.Question) (arena.AnswerBody, error) {
			return s.askJudge(ctx, drivers, q)
		},
	}
	if s.cfg.JudgeURL != nil {
		client, err := protocol.NewOperatorClient(protocol.ClientOptions{})
		if err != nil {
			return nil, err
		}
		o.Model = &judge.Model{URL: completions(s.cfg.JudgeURL), Name: s.cfg.JudgeModel, Key: s.cfg.JudgeKey, HTTP: client}
	}
	return judge.New(o), nil
}

// completions returns the URL of the chat completions of a service, whose base URL
// may name them already.
func completions(base *url.URL) string {
	if strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/chat/completions") {
		return base.String()
	}
	return base.JoinPath("chat", "completions").String()
}

// askJudge puts one comparison to a judge agent as a match of one round, and
// once more when the outcome table allows it.
func (s *Server) askJudge(ctx context.Context, drivers map[string]engine.Driver, q judge.Question) (arena.AnswerBody, error) {
	driver, ok := drivers[q.Agent.Protocol]
	if !ok {
		return arena.AnswerBody{}, fmt.Errorf("ask judge agent %s: no driver for protocol %q", q.Agent.ID, q.Agent.Protocol)
	}
	a := arena.Attempt{
		MatchID: q.MatchID, League: q.League, Round: q.Round, TotalRounds: 1, Task: q.Task, TimeLimit: q.Limit, RoundLimit: q.Limit,
		Deadline: s.now().Add(q.Limit), Judging: true,
		Seat: arena.Seat{
			AgentID: q.Agent.ID, Name: q.Agent.Name, OwnerID: q.Agent.OwnerID, Protocol: q.Agent.Protocol,
			Endpoint: q.Agent.Endpoint, PublicKey: q.Agent.PublicKey, Version: q.Agent.Version,
		},
	}
	for a.Number = 1; ; a.Number++ {
		send, err := driver.Prepare(ctx, a)
		if err != nil {
			return arena.AnswerBody{}, fmt.Errorf("ask judge agent %s: %w", q.Agent.ID, err)
		}
		reply := send(ctx)
		if reply.Answer != nil {
			return *reply.Answer, nil
		}
		a.TimeLimit -= reply.Elapsed
		if a.Number > 1 || !reply.Retry || a.TimeLimit <= 0 {
			return arena.AnswerBody{}, fmt.Errorf("judge agent %s: %s (%s)", q.Agent.ID, reply.Outcome, reply.Reason)
		}
	}
}

// secret returns the secret of the arena for one purpose. It is made from the oldest
// key of the arena, which all nodes share and no rotation takes away.
func (s *Server) secret(ctx context.Context, purpose string) ([]byte, error) {
	keys, err := s.store.Keys.SigningKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the secret of %s: %w", purpose, err)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("read the secret of %s: there is no signing key", purpose)
	}
	return hkdf.Key(sha256.New, keys[0].Private, nil, "agora-arena "+purpose, sha256.Size)
}
