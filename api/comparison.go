package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/scoring"
)

// comparedParts is the largest number of topics that a comparison lists.
const comparedParts = 50

type comparisonInput struct {
	SlugParam
	A string `query:"a" required:"true" minLength:"1" maxLength:"64" doc:"Id of the agent that the verdict is about."`
	B string `query:"b" required:"true" minLength:"1" maxLength:"64" doc:"Id of the agent that it is compared with."`
}

type comparisonView struct {
	ComparedView

	League string             `json:"league"`
	A      string             `json:"a"`
	B      string             `json:"b"`
	Unit   string             `json:"unit" enum:"round,game" doc:"The results are rounds that counted for both, or games."`
	Needed neededView         `json:"needed"`
	Topics []comparedPartView `json:"topics" doc:"By topic, most rounds first, at most 50."`
	Sides  []comparedPartView `json:"sides" doc:"By the place of a in games of two: first is player 0, second is player 1."`
}

// ComparedView is exported only because Huma skips unexported embedded structs.
type ComparedView = comparedView

type comparedView struct {
	Verdict scoring.ComparisonVerdict `json:"verdict" enum:"better,worse,too_few" doc:"Of a: it is better or worse than b, or the results do not show which."`
	Reason  scoring.ComparisonReason  `json:"reason,omitempty" enum:"no_matches,few_matches,few_tasks,all_even,undecided,frozen" doc:"Why it is too_few. frozen: the table is hidden."`
	P       float64                   `json:"p" minimum:"0" maximum:"1" doc:"Two-sided probability that equal agents differ as much."`
	Matches int                       `json:"matches" doc:"Of the newest 1,000 finished matches in which both sat to the end, those with a result that counts; none that a person asked for."`
	Tasks   int                       `json:"tasks" doc:"Different questions; 0 in games."`
	Won     int                       `json:"won" doc:"Rounds or games in which a has more points."`
	Even    int                       `json:"even"`
	Lost    int                       `json:"lost"`
	Elo     eloRangeView              `json:"elo" doc:"Difference in Elo, a above b, with its 95 % interval; null: without bound, or no results."`
}

type eloRangeView struct {
	Mean *arena.MilliElo `json:"mean" nullable:"true"`
	Low  *arena.MilliElo `json:"low" nullable:"true"`
	High *arena.MilliElo `json:"high" nullable:"true"`
}

type neededView struct {
	Elo     int `json:"elo"`
	Matches int `json:"matches" doc:"How many more matches like these would show a difference of so much Elo with a probability of 80 %."`
}

type comparedPartView struct {
	Name string `json:"name" doc:"The topic, empty: questions without one; or the side."`
	ComparedView
}

// comparison answers whether one agent is better than another in a league, by the
// matches that spectators have seen to the end.
func (h *leagueHandlers) comparison(ctx context.Context, in *comparisonInput) (*output[comparisonView], error) {
	l, err := h.rows.Leagues.League(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	found, err := h.rows.Agents.AgentsByID(ctx, []string{in.A, in.B})
	if err != nil {
		return nil, err
	}
	for _, given := range [][2]string{{"a", in.A}, {"b", in.B}} {
		if _, ok := found[given[1]]; !ok {
			return nil, arena.Invalid(given[0], "there is no agent %q", given[1])
		}
	}
	if in.A == in.B {
		return nil, arena.Invalid("b", "must be another agent than a")
	}
	v := comparisonView{League: l.Slug, A: in.A, B: in.B, Unit: "round", Topics: []comparedPartView{}, Sides: []comparedPartView{}}
	if l.Settings.Game != nil {
		v.Unit = "game"
	}
	if l.Status == arena.LeagueFrozen && !callerOf(ctx).May(l.Slug, arena.RightOrganize) {
		none := scoring.Compare(nil, l.Settings.Game == nil)
		none.Reason = "frozen"
		v.ComparedView, v.Needed = viewCompared(none), neededView{scoring.NeededElo, none.Needed}
		return answer(v)
	}
	trials, parts, err := h.trials(ctx, l, in.A, in.B)
	if err != nil {
		return nil, err
	}
	whole, split := scoring.Compare(trials, l.Settings.Game == nil), []comparedPartView{}
	for _, p := range scoring.CompareParts(parts, l.Settings.Game == nil, comparedParts) {
		split = append(split, comparedPartView{p.Name, viewCompared(p.Comparison)})
	}
	v.ComparedView, v.Needed = viewCompared(whole), neededView{scoring.NeededElo, whole.Needed}
	if l.Settings.Game != nil {
		v.Sides = split
	} else {
		v.Topics = split
	}
	return answer(v)
}

// trials returns the results of a against b, and the same by topic or, in games, by side.
func (h *leagueHandlers) trials(ctx context.Context, l arena.League, a, b string) (all []scoring.Trial, parts map[string][]scoring.Trial, err error) {
	parts = map[string][]scoring.Trial{}
	if l.Settings.Game != nil {
		matches, err := h.rows.Ratings.CommonSeries(ctx, l.Slug, a, b)
		for _, m := range matches {
			for _, g := range game.CommonGames(m) {
				t := scoring.Trial{Match: m.MatchID, Score: scoring.TrialScore(g.A, g.B)}
				all = append(all, t)
				if g.Place >= 0 {
					side := [...]string{"first", "second"}[g.Place]
					parts[side] = append(parts[side], t)
				}
			}
		}
		return all, parts, err
	}
	rounds, err := h.rows.Ratings.CommonRounds(ctx, l.Slug, a, b)
	for _, r := range rounds {
		t := scoring.Trial{Match: r.MatchID, Task: r.Task(), Score: scoring.TrialScore(r.A, r.B)}
		all, parts[r.Topic] = append(all, t), append(parts[r.Topic], t)
	}
	return all, parts, err
}

func viewCompared(c scoring.Comparison) comparedView {
	v := comparedView{Verdict: c.Verdict, Reason: c.Reason, P: c.P, Matches: c.Matches, Tasks: c.Tasks, Won: c.Won, Even: c.Even, Lost: c.Lost}
	if c.Matches > 0 {
		v.Elo = eloRangeView{optionalElo(c.Share.Share), optionalElo(c.Share.Low), optionalElo(c.Share.High)}
	}
	return v
}

func optionalElo(score float64) *arena.MilliElo {
	if elo, ok := scoring.EloOf(score); ok {
		return &elo
	}
	return nil
}
