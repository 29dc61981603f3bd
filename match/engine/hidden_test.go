package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/match/engine"
	"github.com/agora-arena/arena/visibility"
)

// poker is a game of two turns in which each player has a secret hand.
type poker struct{}

type pokerState struct {
	Seed uint64
	Bets []string
}

func (poker) Info() rules.Info {
	return rules.Info{Name: "poker", Title: "Poker", Version: "1", MinPlayers: 2, MaxPlayers: 2, MaxTurns: 2, Deals: true, Hidden: true}
}

func (poker) Setup(_ context.Context, s rules.Start) (rules.State, error) {
	return json.Marshal(pokerState{Seed: s.Seed})
}

// hand returns the secret of a player, which begins with "hand-".
func (s pokerState) hand(player int) string { return fmt.Sprintf("hand-%d-%d", player, s.Seed) }

func (poker) Position(_ context.Context, st rules.State) (rules.Position, error) {
	var s pokerState
	if err := json.Unmarshal(st, &s); err != nil {
		return rules.Position{}, err
	}
	public, err := json.Marshal(map[string]any{"kind": "table", "bets": s.Bets})
	if err != nil || len(s.Bets) == 2 {
		return rules.Position{Public: public, Points: []arena.Points{arena.OnePoint, 0}}, err
	}
	player := len(s.Bets)
	observation, err := json.Marshal(map[string]string{"hand": s.hand(player)})
	return rules.Position{Public: public, ToAct: []rules.ToAct{{
		Player: player, Text: "You hold " + s.hand(player), Observation: observation, Legal: []string{"bet", "check"}, Default: "check",
	}}}, err
}

func (poker) Parse(_ context.Context, _ rules.State, _ int, text string) (string, error) {
	for _, move := range []string{"bet", "check"} {
		if strings.HasPrefix(text, move) {
			return move, nil
		}
	}
	return "", rules.Illegalf("bet or check")
}

func (poker) Move(_ context.Context, st rules.State, moves []rules.Move) (rules.State, error) {
	var s pokerState
	err := json.Unmarshal(st, &s)
	s.Bets = append(s.Bets, moves[0].Move)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// saloon is a library of poker and the games that are built in.
type saloon struct{ game.Builtin }

func (l saloon) Rules(ctx context.Context, spec arena.GameSpec) (rules.Rules, error) {
	if spec.Name == "poker" {
		return poker{}, nil
	}
	return l.Builtin.Rules(ctx, spec)
}

func (l saloon) Pin(ctx context.Context, spec arena.GameSpec) (arena.GameSpec, error) {
	if spec.Name == "poker" {
		spec.Version, spec.Hidden = poker{}.Info().Version, poker{}.Info().Hidden
		return spec, nil
	}
	return l.Builtin.Pin(ctx, spec)
}

// talkative answers with a move and its hand, in every field of an answer.
func talkative(move string) script {
	return func(_ context.Context, a arena.Attempt) arena.Reply {
		var seen struct{ Hand string }
		if err := json.Unmarshal(a.Task.Observation, &seen); err != nil {
			return bad(arena.OutcomeError, "no observation")
		}
		return arena.Reply{
			Outcome: arena.OutcomeAnswered, Status: 200, SentAt: time.Now(), Elapsed: time.Millisecond,
			Answer: &arena.AnswerBody{
				Answer: move + " with " + seen.Hand, Reasoning: seen.Hand, Confidence: new(0.5), SubagentsUsed: []string{seen.Hand},
				ToolsUsed: []string{seen.Hand}, Artifacts: json.RawMessage(`["` + seen.Hand + `"]`),
			},
		}
	}
}

// public returns everything that spectators may read of a match, as one text.
func (b *bench) public(id string) []byte {
	b.t.Helper()
	ctx := b.t.Context()
	reader := visibility.NewReader(b.store.Matches, time.Now)
	m, err := reader.Match(ctx, id)
	b.ok(err)
	rounds, err := reader.Rounds(ctx, m)
	b.ok(err)
	closed, err := reader.ClosedRounds(ctx, m)
	b.ok(err)
	events, err := reader.Events(ctx, m.Log(), 0, 1000)
	b.ok(err)
	claims, err := b.store.Ratings.AgentClaims(ctx, agentID(0), "", 100)
	b.ok(err)
	results, err := b.store.Ratings.AgentResults(ctx, agentID(0), 100)
	b.ok(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	all, err := json.Marshal([]any{rounds, closed, events, b.published, claims, results})
	b.ok(err)
	return all
}

// What the players of a game know of each other's hands, and what they write, is
// in no public read, event or statistic before the match has finished, whatever its
// visibility mode. Then all of it is. docs/rules.md, section 5. Threat F1.
func TestEngine_HiddenGame(t *testing.T) {
	t.Parallel()
	for _, v := range []arena.Visibility{arena.VisibilitySealed, "delayed:1", arena.VisibilityLive} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			var b *bench
			looks := 0
			look := func(next script) script {
				return func(ctx context.Context, a arena.Attempt) arena.Reply {
					looks++
					if all := b.public(a.MatchID); bytes.Contains(all, []byte("hand-")) || bytes.Contains(all, []byte(`onfidence":0.5`)) {
						t.Errorf("round %d: a hand is public: %s", a.Round, all)
					}
					return next(ctx, a)
				}
			}
			b = newBench(t, look(talkative("bet")), look(talkative("fold")))
			b.node("n1", func(o *engine.Options) { o.Games = saloon{} })
			id := b.match(func(s *arena.Settings) {
				connectFour(2)(s)
				s.Game.Name, s.Game.Hidden, s.Visibility = "poker", true, v
			})
			m, _ := b.over(id)
			if m.Status != arena.MatchFinished || looks != 6 { // the second agent is asked twice: it may not fold
				t.Fatalf("match %s (%s) after %d requests", m.Status, m.VoidReason, looks)
			}
			reader := visibility.NewReader(b.store.Matches, time.Now)
			seen, err := reader.Match(t.Context(), id)
			b.ok(err)
			rounds, err := reader.ClosedRounds(t.Context(), seen)
			b.ok(err)
			for i, r := range rounds {
				hand := string(r.Turn.Prompts[0].Observation)
				if !strings.Contains(hand, "hand-") || !strings.Contains(r.Turn.Prompts[0].Description, "hand-") || !strings.Contains(r.Answers[0].Body.Reasoning, "hand-") {
					t.Errorf("round %d after the end: %+v", i+1, r)
				}
				if len(r.Game.Moves) != 1 || !strings.Contains(string(r.Game.State), `"kind":"table"`) {
					t.Errorf("round %d led to %+v", i+1, r.Game)
				}
			}
		})
	}
}

// What is sealed in a game stays so when the match becomes void. docs/rules.md,
// section 5.
func TestEngine_VoidHiddenGame(t *testing.T) {
	t.Parallel()
	b := newBench(t, talkative("bet"), always(unavailable))
	b.node("n1", func(o *engine.Options) { o.Games = saloon{} })
	id := b.match(func(s *arena.Settings) {
		connectFour(2)(s)
		s.Game.Name, s.Game.Hidden, s.Visibility = "poker", true, arena.VisibilityLive
	})
	if m, _ := b.over(id); m.Status != arena.MatchVoid {
		t.Fatalf("match %s", m.Status)
	}
	all := b.public(id)
	if bytes.Contains(all, []byte("hand-")) || !bytes.Contains(all, []byte(`"Answer":"bet"`)) && !bytes.Contains(all, []byte(`"answer":"bet"`)) {
		t.Errorf("a void match shows %s", all)
	}
}
