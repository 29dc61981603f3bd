package api

import "context"

// calibrationAnswers is how many of an agent's answers its calibration looks
// at, the newest ones: what PostgreSQL reads in a few milliseconds among a million
// matches.
const calibrationAnswers = 500

type calibrationInput struct {
	IDParam
	League string `query:"league" maxLength:"40" doc:"Of its newest 500 answers only those in this league."`
}

type calibrationView struct {
	AgentID  string               `json:"agent_id"`
	Declared bool                 `json:"declared" doc:"Always true: it rests on what the agent says of itself."`
	Answers  int                  `json:"answers" doc:"Of its newest 500 judged answers those with a confidence."`
	Brier    *float64             `json:"brier" doc:"Mean of (confidence - right)^2: 0 is best, a coin has 0.25; null: no answers."`
	Bins     []calibrationBinView `json:"bins" doc:"Ten of equal width, by confidence."`
	Tokens   tokenCostView        `json:"tokens"`
}

type calibrationBinView struct {
	From           float64  `json:"from"`
	To             float64  `json:"to"`
	Count          int      `json:"count"`
	MeanConfidence *float64 `json:"mean_confidence" doc:"null: no answers"`
	RightShare     *float64 `json:"right_share" doc:"Answers that got the whole point, 0 to 1; null: no answers."`
}

type tokenCostView struct {
	Declared bool     `json:"declared" doc:"Always true: nobody checks it."`
	Answers  int      `json:"answers" doc:"Of its newest 500 judged answers those with a number of tokens."`
	Total    int64    `json:"total"`
	PerRight *float64 `json:"per_right" doc:"Total by right answers; null: none was right."`
}

// calibration compares the confidence that an agent declared in closed rounds
// with its results, and adds the cost of its right answers as it declared it.
func (h *historyHandlers) calibration(ctx context.Context, in *calibrationInput) (*output[calibrationView], error) {
	if _, err := h.rows.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	claims, err := h.rows.AgentClaims(ctx, in.ID, in.League, calibrationAnswers)
	if err != nil {
		return nil, err
	}
	c := h.calibrate(claims)
	v := calibrationView{
		AgentID: in.ID, Declared: true, Answers: c.Answers, Brier: c.Brier, Bins: []calibrationBinView{},
		Tokens: tokenCostView{Declared: true, Answers: c.Tokens.Answers, Total: c.Tokens.Total, PerRight: c.Tokens.PerRight},
	}
	for _, b := range c.Bins {
		v.Bins = append(v.Bins, calibrationBinView(b))
	}
	return answer(v)
}
