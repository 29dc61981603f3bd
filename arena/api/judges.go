package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/visibility"
)

// The window of a judge's health.
const (
	healthVerdicts = 500
	healthMatches  = 50 // whose answers are measured, the newest ones
)

// JudgeHealthView is arena.JudgeHealth as everyone sees it. Huma reads
// embedded members of exported types only.
type JudgeHealthView struct {
	Versions   []string `json:"versions" doc:"Of the judge, newest first."`
	Verdicts   int      `json:"verdicts" doc:"The newest ones of judges that are asked, at most 500."`
	Ballots    int      `json:"ballots"`
	FlipRate   *float64 `json:"flip_rate" doc:"Comparisons made in both orders that came out differently, 0 to 1; null: none."`
	FirstRate  *float64 `json:"first_rate" doc:"Comparisons with a winner that were won by the answer shown first; near 0.5 is good."`
	LongerRate *float64 `json:"longer_rate" doc:"Comparisons with a winner that were won by the longer answer, in the newest 50 matches."`
	Agreement  *float64 `json:"agreement" doc:"Pairs of answers with several judges on which all of them agreed."`
}

type judgeView struct {
	League   string `json:"league"`
	Kind     string `json:"kind"`
	Criteria string `json:"criteria,omitempty" doc:"What a judge that is asked judges by."`
	JudgeHealthView
}

// getJudge shows how far the judge of a league can be trusted.
func (a *API) getJudge(ctx context.Context, in *SlugParam) (*output[judgeView], error) {
	l, err := a.Store.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	spec := l.Settings.Judge
	var verdicts []arena.Verdict
	if spec.Compares() {
		if verdicts, err = a.Store.LeagueVerdicts(ctx, l.Slug, healthVerdicts); err != nil {
			return nil, err
		}
	}
	lengths, err := a.answerLengths(ctx, verdicts)
	if err != nil {
		return nil, err
	}
	h := a.JudgeHealth(spec, verdicts, func(matchID string, round int, agentID string) (int, bool) {
		n, ok := lengths[laidAnswer{matchID, round, agentID}]
		return n, ok
	})
	return answer(judgeView{League: l.Slug, Kind: spec.Kind, Criteria: spec.Criteria, JudgeHealthView: JudgeHealthView(h)})
}

// laidAnswer names an answer as it was laid before a judge.
type laidAnswer struct {
	matchID string
	round   int
	agentID string
}

// answerLengths measures the answers of the newest matches of the verdicts,
// which come newest match first.
func (a *API) answerLengths(ctx context.Context, verdicts []arena.Verdict) (map[laidAnswer]int, error) {
	lengths := map[laidAnswer]int{}
	var m visibility.Match
	var answers []arena.Answer
	seen := 0
	for _, v := range verdicts {
		if v.MatchID != m.ID {
			if seen++; seen > healthMatches {
				break
			}
			var err error
			if m, err = a.Visible.Match(ctx, v.MatchID); err != nil {
				return nil, err
			}
			rounds, err := a.Visible.ClosedRounds(ctx, m)
			if err != nil {
				return nil, err
			}
			answers = answersOf(rounds)
		}
		for _, laid := range a.Laid(m.Row(), answers, v.Round).Answers {
			lengths[laidAnswer{v.MatchID, v.Round, laid.AgentID}] = len(laid.Text)
		}
	}
	return lengths, nil
}
