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

// judgeReads are the rows that judgeHandlers read.
type judgeReads interface {
	leagueReader
	LeagueVerdicts(ctx context.Context, league string, limit int) ([]arena.Verdict, error)
}

// judgeHandlers serve the route of a league's judge.
type judgeHandlers struct {
	rows    judgeReads
	visible Visible
	input   func(m arena.Match, answers []arena.Answer, round int) arena.Judging
	health  func(spec arena.JudgeSpec, verdicts []arena.Verdict, length func(matchID string, round int, agentID string) (int, bool)) arena.JudgeHealth
}

// judgeRoutes mounts one of the judgeHandlers.
func judgeRoutes[I, O any](h func(*judgeHandlers, context.Context, *I) (*O, error)) func(*API, route) {
	return handleOn(func(a *API) *judgeHandlers { return a.judges }, h)
}

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

// get answers with the quality of a league's judge.
func (h *judgeHandlers) get(ctx context.Context, in *SlugParam) (*output[judgeView], error) {
	l, err := h.rows.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	spec := l.Settings.Judge
	var verdicts []arena.Verdict
	if spec.Compares() {
		if verdicts, err = h.rows.LeagueVerdicts(ctx, l.Slug, healthVerdicts); err != nil {
			return nil, err
		}
	}
	lengths, err := h.answerLengths(ctx, verdicts)
	if err != nil {
		return nil, err
	}
	health := h.health(spec, verdicts, func(matchID string, round int, agentID string) (int, bool) {
		n, ok := lengths[judgedAnswer{matchID, round, agentID}]
		return n, ok
	})
	return answer(judgeView{League: l.Slug, Kind: spec.Kind, Criteria: spec.Criteria, JudgeHealthView: JudgeHealthView(health)})
}

// judgedAnswer identifies an answer that a judge was given.
type judgedAnswer struct {
	matchID string
	round   int
	agentID string
}

// answerLengths measures the answers of the newest matches of the verdicts,
// which come newest match first.
func (h *judgeHandlers) answerLengths(ctx context.Context, verdicts []arena.Verdict) (map[judgedAnswer]int, error) {
	lengths := map[judgedAnswer]int{}
	var m visibility.Match
	var answers []arena.Answer
	seen := 0
	for _, v := range verdicts {
		if v.MatchID != m.ID {
			if seen++; seen > healthMatches {
				break
			}
			var err error
			if m, err = h.visible.Match(ctx, v.MatchID); err != nil {
				return nil, err
			}
			rounds, err := h.visible.ClosedRounds(ctx, m)
			if err != nil {
				return nil, err
			}
			answers = answersOf(rounds)
		}
		for _, shown := range h.input(m.Row(), answers, v.Round).Answers {
			lengths[judgedAnswer{v.MatchID, v.Round, shown.AgentID}] = len(shown.Text)
		}
	}
	return lengths, nil
}
