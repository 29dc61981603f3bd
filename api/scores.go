package api

import (
	"context"
	"maps"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
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
		items = append(items, viewVerdict(v))
	}
	return answerPart(in.PartParams, items)
}

func viewVerdict(v arena.Verdict) verdictView {
	return verdictView{
		Round: v.Round, Judge: v.Judge, Version: v.Version, Seats: orEmpty(v.Seats), Ballots: orEmpty(v.Ballots), At: jsonTime(v.At),
	}
}

type ratingsCheckView struct {
	OK      bool                  `json:"ok" doc:"Every rating is what a replay of all settlements gives."`
	Problem string                `json:"problem,omitempty"`
	Leagues []arena.RatingsReport `json:"leagues"`
}

func (h *analysisHandlers) verifyRatings(ctx context.Context, _ *struct{}) (*output[ratingsCheckView], error) {
	reports, err := h.rows.Ratings.CheckRatings(ctx)
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

// analysisHandlers serve the routes that check a league's results.
type analysisHandlers struct {
	rows Rows
}

type listAnomaliesInput struct {
	League  string `query:"league" required:"true" maxLength:"40" doc:"Its slug."`
	Matches int    `query:"matches" default:"1000" minimum:"1" maximum:"2000" doc:"How many of its newest matches are looked at."`
}

type anomaliesView struct {
	League  string        `json:"league"`
	Matches int           `json:"matches" doc:"Looked at: the newest that are over."`
	Answers int           `json:"answers"`
	Duels   int           `json:"duels" doc:"Rated ones."`
	Pairs   int           `json:"pairs" doc:"Of agents of different owners that were compared."`
	Items   []anomalyView `json:"items" doc:"The least likely first. They prove nothing: two owners who run the same model agree in their mistakes too."`
	Shared  []sharedView  `json:"shared" doc:"Things that owners of these matches have in common. Hosts of many agents and campuses are in it too."`
}

type sharedView struct {
	Kind     arena.UnratedReason `json:"kind" enum:"shared_endpoint,shared_key,shared_domain,shared_network"`
	Value    string              `json:"value,omitempty" doc:"The host and port, or the domain."`
	OwnerIDs []string            `json:"owner_ids"`
}

type anomalyView struct {
	Kind     arena.AnomalyKind  `json:"kind" enum:"copied_answers,one_sided,arranged,fed,foreign_mark"`
	AgentIDs []string           `json:"agent_ids" doc:"copied_answers: who was first, who came later; one_sided: winner, loser; fed: who is favored, opponents."`
	Trials   int                `json:"trials" doc:"How often it could have happened. fed: answers of the opponents, or duels where they cannot be told apart."`
	Observed int                `json:"observed" doc:"How often it did. arranged: runs of wins; fed: points that the answers missed, or duels lost."`
	Expected float64            `json:"expected" doc:"How often chance does it."`
	Chance   float64            `json:"chance" doc:"At most: that chance does this to any pair of the league."`
	Later    int                `json:"later,omitempty" doc:"copied_answers: given in a match after the first was public."`
	Places   []anomalyPlaceView `json:"places" doc:"The first five."`
}

type anomalyPlaceView struct {
	MatchID string `json:"match_id"`
	Round   int    `json:"round,omitempty"`
}

func (h *analysisHandlers) listAnomalies(ctx context.Context, in *listAnomaliesInput) (*output[anomaliesView], error) {
	if err := callerOf(ctx).Require(in.League, arena.RightOrganize, arena.RightModerate); err != nil {
		return nil, err
	}
	l, err := h.rows.Leagues.League(ctx, in.League)
	if err != nil {
		return nil, err
	}
	evidence, err := h.rows.Ratings.Evidence(ctx, l.Slug, in.Matches)
	if err != nil {
		return nil, err
	}
	evidence.Compared = l.Settings.Judge.Compares()
	r, err := scoring.Anomalies(evidence)
	if err != nil {
		return nil, err
	}
	v := viewAnomalies(l.Slug, r)
	v.Shared, err = h.shared(ctx, evidence)
	if err != nil {
		return nil, err
	}
	return answer(v)
}

func viewAnomalies(league string, r arena.AnomalyReport) anomaliesView {
	v := anomaliesView{League: league, Matches: r.Matches, Answers: r.Answers, Duels: r.Duels, Pairs: r.Pairs, Items: []anomalyView{}}
	for _, f := range r.Found {
		item := anomalyView{
			Kind: f.Kind, AgentIDs: f.AgentIDs, Trials: f.Trials, Observed: f.Observed, Expected: f.Expected, Chance: f.Chance, Later: f.Later,
		}
		for _, p := range f.Places {
			item.Places = append(item.Places, anomalyPlaceView(p))
		}
		v.Items = append(v.Items, item)
	}
	return v
}

// shared returns what the owners of evidence have in common.
func (h *analysisHandlers) shared(ctx context.Context, e arena.Evidence) ([]sharedView, error) {
	owners := map[string]bool{}
	for _, a := range e.Answers {
		owners[a.OwnerID] = true
	}
	links, err := h.rows.Agents.OwnerLinks(ctx, slices.Sorted(maps.Keys(owners)), slices.Concat(arena.OwnerLinkKinds()))
	if err != nil {
		return nil, err
	}
	return sharedViews(links), nil
}

// sharedViews returns what a page shows of links.
func sharedViews(links []arena.OwnerLink) []sharedView {
	found := []sharedView{}
	for _, s := range arena.SharedLinks(links) {
		v := sharedView{Kind: s.Kind, OwnerIDs: s.OwnerIDs}
		if s.Kind == arena.UnratedSharedEndpoint || s.Kind == arena.UnratedSharedDomain {
			v.Value = s.Value // a network is personal data, and a key says nothing
		}
		found = append(found, v)
	}
	return found
}
