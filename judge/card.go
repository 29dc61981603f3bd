package judge

import (
	"context"
	"maps"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/visibility"
)

// The window of a judge's health.
const (
	healthVerdicts = 500
	healthMatches  = 100 // whose answers are measured, the newest ones
)

// HealthOptions are the parts of Health. All are needed.
type HealthOptions struct {
	// Verdicts returns the newest verdicts of a league, newest match first.
	Verdicts func(ctx context.Context, league string, limit int) ([]arena.Verdict, error)
	// Gold returns the newest verdict of a league's judge on each gold item of a pack,
	// oldest first.
	Gold func(ctx context.Context, league, packID string) ([]arena.GoldVerdict, error)
	// Agents returns the agents that exist among ids.
	Agents  func(ctx context.Context, ids []string) (map[string]arena.Agent, error)
	Visible Visible
	Input   visibility.JudgeInput
}

// Visible is what spectators may see of matches.
type Visible interface {
	Match(ctx context.Context, id string) (visibility.Match, error)
	ClosedRounds(ctx context.Context, m visibility.Match) ([]visibility.ClosedRound, error)
}

// Health measures the judges of leagues.
type Health struct{ o HealthOptions }

// NewHealth makes a Health.
func NewHealth(o HealthOptions) *Health { return &Health{o} }

// Newest returns the newest match of a league that its judge has judged, or "".
func (h *Health) Newest(ctx context.Context, league string) (matchID string, err error) {
	newest, err := h.o.Verdicts(ctx, league, 1)
	if err != nil || len(newest) == 0 {
		return "", err
	}
	return newest[0].MatchID, nil
}

// Of measures the judge of a league by its newest verdicts. The card counts those since
// l.JudgeSince.
func (h *Health) Of(ctx context.Context, l arena.League) (arena.JudgeHealth, error) {
	spec := l.Settings.Judge
	var verdicts []arena.Verdict
	var err error
	if spec.Compares() {
		if verdicts, err = h.o.Verdicts(ctx, l.Slug, healthVerdicts); err != nil {
			return arena.JudgeHealth{}, err
		}
	}
	read := measuredAnswers{lengths: map[answerKey]int{}, versions: map[answerKey]string{}}
	if err := h.measure(ctx, verdicts, read); err != nil {
		return arena.JudgeHealth{}, err
	}
	families, err := h.families(ctx, spec, verdicts)
	if err != nil {
		return arena.JudgeHealth{}, err
	}
	var gold []arena.GoldVerdict
	if spec.Gold != "" {
		if gold, err = h.o.Gold(ctx, l.Slug, spec.Gold); err != nil {
			return arena.JudgeHealth{}, err
		}
		gold = slices.DeleteFunc(gold, func(g arena.GoldVerdict) bool { return g.At.Before(l.JudgeSince) })
	}
	health := scoring.JudgeHealth(spec, verdicts, read.length)
	since := slices.DeleteFunc(verdicts, func(v arena.Verdict) bool { return v.At.Before(l.JudgeSince) })
	health.Card = scoring.JudgeCard(spec, since, scoring.JudgeFacts{
		Length: read.length, Version: read.version, Family: func(id string) string { return families[id] }, Gold: gold,
	})
	return health, nil
}

// roundsPerItem is how many rounds a judge judges before it is asked about another gold
// item, so that items cost at most a tenth of its work.
const roundsPerItem = 10

// DueGold reports whether the judge of a league has judged enough rounds since it was last
// asked about a gold item, with or without a verdict, to be asked about another one.
func (h *Health) DueGold(ctx context.Context, l arena.League) (bool, error) {
	since := l.JudgeSince
	gold, err := h.o.Gold(ctx, l.Slug, l.Settings.Judge.Gold)
	if err != nil {
		return false, err
	}
	if n := len(gold); n > 0 && gold[n-1].At.After(since) {
		since = gold[n-1].At
	}
	verdicts, err := h.o.Verdicts(ctx, l.Slug, healthVerdicts)
	if err != nil {
		return false, err
	}
	judged := 0
	for _, v := range verdicts {
		if v.Judge == l.Settings.Judge.Kind && v.At.After(since) {
			judged++
		}
	}
	return judged >= roundsPerItem, nil
}

// answerKey identifies an answer that a judge was given; with round 0, a seat.
type answerKey struct {
	matchID string
	round   int
	agentID string
}

// measuredAnswers are the lengths of answers in bytes, and the versions of their agents.
type measuredAnswers struct {
	lengths  map[answerKey]int
	versions map[answerKey]string
}

func (m measuredAnswers) length(matchID string, round int, agentID string) (int, bool) {
	n, ok := m.lengths[answerKey{matchID, round, agentID}]
	return n, ok
}

func (m measuredAnswers) version(matchID, agentID string) string {
	return m.versions[answerKey{matchID: matchID, agentID: agentID}]
}

// measure measures the answers of the newest matches of the verdicts, which come newest
// match first.
func (h *Health) measure(ctx context.Context, verdicts []arena.Verdict, read measuredAnswers) error {
	var m visibility.Match
	var answers []arena.Answer
	seen := 0
	for _, v := range verdicts {
		if v.MatchID != m.ID {
			if seen++; seen > healthMatches {
				break
			}
			var err error
			if m, err = h.o.Visible.Match(ctx, v.MatchID); err != nil {
				return err
			}
			for _, s := range m.Seats {
				read.versions[answerKey{matchID: m.ID, agentID: s.AgentID}] = s.Version
			}
			rounds, err := h.o.Visible.ClosedRounds(ctx, m)
			if err != nil {
				return err
			}
			answers = nil
			for _, r := range rounds {
				answers = append(answers, r.Answers...)
			}
		}
		in, err := h.o.Input(ctx, m.Row(), answers, v.Round)
		if err != nil {
			return err
		}
		for _, a := range in.Answers {
			read.lengths[answerKey{v.MatchID, v.Round, a.AgentID}] = len(a.Text)
		}
	}
	return nil
}

// families returns the model families of the judges of a panel and of the agents that
// they compared. Other judges are compared with no other one.
func (h *Health) families(ctx context.Context, spec arena.JudgeSpec, verdicts []arena.Verdict) (map[string]string, error) {
	families := map[string]string{}
	if spec.Kind != arena.JudgePanel || len(verdicts) == 0 {
		return families, nil
	}
	for _, v := range verdicts {
		for _, b := range v.Ballots {
			families[b.Judge], families[b.First], families[b.Second] = "", "", ""
		}
	}
	agents, err := h.o.Agents(ctx, slices.Sorted(maps.Keys(families)))
	if err != nil {
		return nil, err
	}
	for id, a := range agents {
		families[id] = scoring.ModelFamily(a.Model)
	}
	return families, nil
}
