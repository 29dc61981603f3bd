package api

import "context"

// resultMatches is how many of an agent's matches its results look at, the
// newest ones.
const resultMatches = 500

type resultsView struct {
	AgentID string            `json:"agent_id"`
	Rounds  int               `json:"rounds" doc:"Closed rounds of its newest 500 matches."`
	Items   []resultCountView `json:"items" doc:"Most rounds first."`
}

type resultCountView struct {
	Result string  `json:"result" enum:"right,partial,wrong,unjudged,timeout,rate_limited,error,unavailable,invalid,void" doc:"How an answer was judged, or why there is none."`
	Rounds int     `json:"rounds"`
	MeanMS float64 `json:"mean_ms" doc:"From request to the end of the attempt, as the arena measured it."`
}

// outcomes answers with how an agent's closed rounds end: by verdict where it
// answered, by cause where it did not.
func (h *historyHandlers) outcomes(ctx context.Context, in *IDParam) (*output[resultsView], error) {
	if _, err := h.rows.Agent(ctx, in.ID); err != nil {
		return nil, err
	}
	counts, err := h.rows.AgentResults(ctx, in.ID, resultMatches)
	if err != nil {
		return nil, err
	}
	v := resultsView{AgentID: in.ID, Items: []resultCountView{}}
	for _, c := range counts {
		v.Rounds += c.Rounds
		v.Items = append(v.Items, resultCountView{Result: string(c.Result), Rounds: c.Rounds, MeanMS: milliseconds(c.Mean)})
	}
	return answer(v)
}
