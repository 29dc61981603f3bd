package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
)

func (h *matchHandlers) rescore(ctx context.Context, in *IDParam) (*output[arena.RescoreReport], error) {
	report, err := h.matches.Rescore(ctx, callerOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return answer(report)
}

func (h *matchHandlers) rescoreLeague(ctx context.Context, in *SlugParam) (*output[arena.RescoreReport], error) {
	report, err := h.matches.RescoreLeague(ctx, callerOf(ctx), in.Slug)
	if err != nil {
		return nil, err
	}
	return answer(report)
}

type verdictView struct {
	Round   int                 `json:"round"`
	Judge   string              `json:"judge" doc:"Its kind."`
	Version string              `json:"version" doc:"Changes whenever the same answers could be judged differently."`
	Seats   []arena.SeatVerdict `json:"seats"`
	Ballots []arena.Ballot      `json:"ballots" doc:"Of judges that are asked: each comparison, in the order in which it was shown."`
	At      jsonTime            `json:"at"`
}

// verdicts answers with every verdict on every round. Where a round has
// several, the last one counts.
func (h *matchHandlers) verdicts(ctx context.Context, in *IDPartParams) (*output[listOf[verdictView]], error) {
	m, err := h.visible.Match(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	verdicts, err := h.visible.Verdicts(ctx, m)
	if err != nil {
		return nil, err
	}
	var items []verdictView
	for _, v := range verdicts {
		items = append(items, verdictView{
			Round: v.Round, Judge: v.Judge, Version: v.Version, Seats: orEmpty(v.Seats), Ballots: orEmpty(v.Ballots), At: jsonTime(v.At),
		})
	}
	return answerPart(in.PartParams, items)
}

type ratingsCheckView struct {
	OK      bool                  `json:"ok" doc:"Every rating is what a replay of all settlements gives."`
	Problem string                `json:"problem,omitempty"`
	Leagues []arena.RatingsReport `json:"leagues"`
}

func (h *analysisHandlers) verifyRatings(ctx context.Context, _ *struct{}) (*output[ratingsCheckView], error) {
	reports, err := h.ratings(ctx)
	if code := arena.CodeOf(err); code == arena.CodeUnavailable {
		return nil, err
	}
	v := ratingsCheckView{OK: err == nil, Leagues: orEmpty(reports)}
	if err != nil {
		v.Problem = err.Error()
	}
	return answer(v)
}

type rebuildInput struct {
	Body struct {
		League string `json:"league" minLength:"1" maxLength:"40"`
	}
}

type rebuiltView struct {
	League      string `json:"league"`
	Settlements int    `json:"settlements" doc:"How many of them changed."`
}

func (h *matchHandlers) rebuildRatings(ctx context.Context, in *rebuildInput) (*output[rebuiltView], error) {
	n, err := h.matches.RebuildRatings(ctx, callerOf(ctx), in.Body.League)
	if err != nil {
		return nil, err
	}
	return answer(rebuiltView{League: in.Body.League, Settlements: n})
}
