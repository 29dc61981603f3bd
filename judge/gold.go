package judge

import (
	"context"
	"errors"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// The answers of a gold item, in place of the ids of agents.
const (
	betterAnswer = "better"
	worseAnswer  = "worse"
)

// Gold asks the judge of a league about a gold item, as about a round of a match: in both
// orders, with the same texts around the answers. A judge that gives no verdict is no
// error: the version of the returned verdict is empty.
func (s *Judges) Gold(ctx context.Context, l arena.League, n int, item arena.Task) (arena.GoldVerdict, error) {
	better, worse, problem := scoring.GoldPair(item)
	if problem != "" {
		return arena.GoldVerdict{}, errors.New("the gold item " + problem)
	}
	g := arena.GoldVerdict{League: l.Slug, PackID: l.Settings.Judge.Gold, Task: n}
	v, err := s.Judge(ctx, arena.Judging{
		MatchID: arena.NewID(arena.MatchPrefix, s.o.Now()), League: l.Slug, Round: 1, Spec: l.Settings.Judge, Rated: l.Settings.Rated,
		Task:    arena.Task{Description: item.Description},
		Answers: []arena.JudgedAnswer{{AgentID: betterAnswer, Text: better}, {AgentID: worseAnswer, Text: worse}},
	})
	if ctx.Err() != nil {
		return arena.GoldVerdict{}, context.Cause(ctx)
	}
	g.At = s.o.Now()
	if err != nil {
		s.o.Logger.WarnContext(ctx, "no verdict on a gold item", "league", l.Slug, "error", err)
		return g, nil
	}
	g.Version, g.Agreed = v.Version, v.Seats[0].Points == arena.OnePoint
	return g, nil
}
