package arena

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Budget is what an owner lets an agent play. The zero Budget has no limits. It
// keeps an agent from new matches and never ends one (docs/rules.md, section 8).
type Budget struct {
	MatchesPerDay int           `json:"matches_per_day,omitempty"` // 0: no limit
	TokensPerDay  int64         `json:"tokens_per_day,omitempty"`  // 0: no limit
	Hours         *PlayingHours `json:"hours,omitempty"`           // nil: at any time
}

// Bounds of a Budget.
const (
	MaxMatchesPerDay = 10_000
	MaxTokensPerDay  = 1_000_000_000_000
)

// IsZero reports whether the budget limits nothing.
func (b Budget) IsZero() bool { return b.MatchesPerDay == 0 && b.TokensPerDay == 0 && b.Hours == nil }

// Zone returns the time zone whose calendar days the budget counts.
func (b Budget) Zone() string {
	if b.Hours == nil {
		return "UTC"
	}
	return cmp.Or(b.Hours.Zone, "UTC")
}

// PlayingHours are the hours of the day and the days of the week in which an
// agent plays.
type PlayingHours struct {
	Zone string         `json:"zone"`           // an IANA name; "": UTC
	From int            `json:"from,omitempty"` // minutes after midnight, 0 to 1439
	To   int            `json:"to,omitempty"`   // not later than From: on the next day
	Days []time.Weekday `json:"days,omitempty"` // on which the hours begin; empty: every day
}

// Next returns the first time, at or after t, at which the agent may play.
func (h *PlayingHours) Next(t time.Time, zone *time.Location) time.Time {
	if h == nil {
		return t
	}
	local := t.In(zone)
	for day := -1; day <= 8; day++ { // hours that began yesterday may still run
		y, m, d := local.Date()
		from := time.Date(y, m, d+day, 0, h.From, 0, 0, zone)
		to := time.Date(y, m, d+day, 0, h.To, 0, 0, zone)
		if h.To <= h.From {
			to = time.Date(y, m, d+day+1, 0, h.To, 0, 0, zone)
		}
		weekday := time.Date(y, m, d+day, 12, 0, 0, 0, zone).Weekday()
		switch {
		case len(h.Days) > 0 && !slices.Contains(h.Days, weekday), !t.Before(to):
		case t.Before(from):
			return from
		default:
			return t
		}
	}
	return t // hours of no length on the only day: a change of clocks
}

// Zones finds time zones by name and remembers them. It must not be used by
// several goroutines at once.
type Zones map[string]*time.Location

// Of returns the zone of a budget; UTC if this system does not know it.
func (z Zones) Of(b Budget) *time.Location {
	name := b.Zone()
	if known, ok := z[name]; ok {
		return known
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		zone = time.UTC
	}
	z[name] = zone
	return zone
}

// AgentDay is a calendar day of an agent.
type AgentDay struct {
	AgentID  string
	From, To time.Time // To is the beginning of the next day
}

// Day returns the agent's day of a time.
func (z Zones) Day(a Agent, t time.Time) AgentDay {
	zone := z.Of(a.Budget)
	y, m, d := t.In(zone).Date()
	return AgentDay{AgentID: a.ID, From: time.Date(y, m, d, 0, 0, 0, 0, zone), To: time.Date(y, m, d+1, 0, 0, 0, 0, zone)}
}

// DayUse is what an agent has used of a day. A match counts on each day on which
// it is played.
type DayUse struct {
	Matches int   // that have ended on the day
	Tokens  int64 // of these matches
	// Reserved has the tokens of each match that runs or waits for a start on the
	// day: what the agent has spent in it so far, or was estimated to spend in it when
	// it was created if that is more.
	Reserved []int64
	Largest  int64 // most tokens of a match of the last UseWindow, or of one that runs; 0: none is known
	// The matches that have ended in the last UseWindow, and their tokens.
	WindowMatches int
	WindowTokens  int64
}

// UseWindow is the time over which the use of a month is forecast.
const UseWindow = 7 * 24 * time.Hour

// AllMatches returns the number of matches that count on the day.
func (u DayUse) AllMatches() int { return u.Matches + len(u.Reserved) }

// AllTokens returns the tokens that count on the day, if each open match costs at
// least as many as estimate.
func (u DayUse) AllTokens(estimate int64) int64 {
	sum := u.Tokens
	for _, tokens := range u.Reserved {
		sum += max(tokens, estimate)
	}
	return sum
}

// Add returns the use with one more open match.
func (u DayUse) Add(tokens int64) DayUse {
	u.Reserved = append(slices.Clip(u.Reserved), tokens)
	return u
}

// MostRounds returns the number of rounds that a match has at most, at least 1.
func (s Settings) MostRounds() int64 { return int64(cmp.Or(s.Rounds, s.MaxRounds, 1)) }

// knownMatches is the number of matches within UseWindow after which the largest
// one is a good measure of the next.
const knownMatches = 10

// MatchTokens returns the estimate of what a match with these settings costs the
// agent (docs/rules.md, section 8): the tokens of its largest match of late plus
// 25 %, or twice as many while it has played fewer than ten; else twice what its last
// rehearsal suggests; else as many as the token limit of answers allows.
func (u DayUse) MatchTokens(a Agent, s Settings) int64 {
	rounds := s.MostRounds()
	switch {
	case u.Largest > 0 && u.WindowMatches >= knownMatches:
		return u.Largest + (u.Largest+3)/4
	case u.Largest > 0:
		return 2 * u.Largest
	case a.RoundTokens > 0:
		return 2 * rounds * a.RoundTokens
	}
	return rounds * int64(s.MaxTokens)
}

// CooldownReason is the part of a budget that keeps an agent from playing.
type CooldownReason string

// The reasons.
const (
	CooldownMatches CooldownReason = "matches" // the matches of the day are used
	CooldownTokens  CooldownReason = "tokens"  // another match could exceed the tokens of the day
	CooldownHours   CooldownReason = "hours"   // outside its playing hours
)

// Public returns the reason as the public may see it.
func (r CooldownReason) Public() string {
	if r == CooldownHours {
		return "hours"
	}
	return "budget"
}

// BudgetCooldown is the time in which a budget keeps an agent from new matches.
type BudgetCooldown struct {
	Reason CooldownReason
	Until  time.Time // zero: until the budget is changed
}

// CooldownAt returns why the agent may not start a match that is estimated to cost so
// many tokens. day and use are those of the time. ok is false if it may.
func (b Budget) CooldownAt(at time.Time, zone *time.Location, day AgentDay, use DayUse, tokens int64) (c BudgetCooldown, ok bool) {
	switch {
	case b.MatchesPerDay > 0 && use.AllMatches() >= b.MatchesPerDay:
		return BudgetCooldown{CooldownMatches, b.Hours.Next(day.To, zone)}, true
	case b.TokensPerDay > 0 && tokens > b.TokensPerDay:
		return BudgetCooldown{Reason: CooldownTokens}, true // on no day
	case b.TokensPerDay > 0 && use.AllTokens(tokens)+max(tokens, 1) > b.TokensPerDay:
		return BudgetCooldown{CooldownTokens, b.Hours.Next(day.To, zone)}, true
	}
	if next := b.Hours.Next(at, zone); next.After(at) {
		return BudgetCooldown{CooldownHours, next}, true
	}
	return BudgetCooldown{}, false
}

// BudgetDays returns the days of a time of the agents that have a budget.
func (z Zones) BudgetDays(agents []Agent, at time.Time) (days []AgentDay) {
	for _, a := range agents {
		if !a.Budget.IsZero() {
			days = append(days, z.Day(a, at))
		}
	}
	return days
}

// CheckBudgets refuses a match that the budget of one of its agents does not allow
// at the time of its start (docs/rules.md, section 8). uses are those of BudgetDays.
// The error is public, so it has no numbers.
func (z Zones) CheckBudgets(agents []Agent, uses map[string]DayUse, s Settings, at time.Time) error {
	var wrong []FieldError
	for i, a := range agents {
		if a.Budget.IsZero() {
			continue
		}
		use := uses[a.ID]
		c, waits := a.Budget.CooldownAt(at, z.Of(a.Budget), z.Day(a, at), use, use.MatchTokens(a, s))
		if !waits {
			continue
		}
		cause := "its owner's budget for the day is used"
		if c.Reason == CooldownHours {
			cause = "it is outside its playing hours"
		}
		wrong = append(wrong, FieldError{Field: fmt.Sprintf("agents[%d]", i), Message: fmt.Sprintf("agent %s takes no match then: %s", a.ID, cause)})
	}
	if len(wrong) == 0 {
		return nil
	}
	return &Error{Code: CodeAgentNotReady, Message: "some agents cannot play then", Fields: wrong}
}

// BudgetUse is the use of an agent's budget today.
type BudgetUse struct {
	Agent       Agent
	Day         AgentDay
	Use         DayUse
	MatchTokens int64           // estimate of a match in the cheapest of its leagues; 0: unknown
	Cooldown    *BudgetCooldown // nil: its budget lets it play
}

// Forecast returns the matches and tokens of a month of 30 days that goes on like
// the days of UseWindow in which the agent existed.
func (u BudgetUse) Forecast(now time.Time) (matches int, tokens int64) {
	const month = 30 * 24 * time.Hour
	known := min(max(now.Sub(u.Agent.CreatedAt), 24*time.Hour), UseWindow)
	share := float64(month) / float64(known)
	return int(float64(u.Use.WindowMatches)*share + 0.5), int64(float64(u.Use.WindowTokens)*share + 0.5)
}

// Pace limits how often a league calls each agent.
type Pace struct {
	MatchesPerDay int           `json:"matches_per_day,omitempty"` // in any 24 h; 0: no limit
	Pause         time.Duration `json:"pause,omitempty"`           // between two matches of an agent
	// UnratedFiller lets the ladder of a rated league pair agents that can meet only
	// unrated.
	UnratedFiller bool `json:"unrated_filler,omitempty"`
}

// PaceWindow is the time in which Pace.MatchesPerDay counts matches.
const PaceWindow = 24 * time.Hour

// PaceInForce returns the pace of a league.
func (s Settings) PaceInForce() Pace {
	if s.Pace == nil {
		return Pace{}
	}
	return *s.Pace
}

// Played sums up the matches of an agent in a league.
type Played struct {
	Matches int       // within PaceWindow, those that wait for their start included
	First   time.Time // start of the first one of them
	Last    time.Time // end of the last one, or the start of one that is not over; zero: none has started
}

// Ready returns the first time at which the pace lets the agent play again.
func (p Pace) Ready(of Played) (at time.Time) {
	if !of.Last.IsZero() {
		at = of.Last.Add(p.Pause)
	}
	if full := of.First.Add(PaceWindow); p.MatchesPerDay > 0 && of.Matches >= p.MatchesPerDay && full.After(at) {
		at = full
	}
	return at
}

// SpentTokens returns the tokens that an answer cost: the number that the agent
// declared, else an estimate by the length of what it wrote.
func (b AnswerBody) SpentTokens() int64 {
	if b.Tokens != nil {
		return min(max(*b.Tokens, 0), mostSpentTokens)
	}
	return int64(len(b.Answer)+len(b.Reasoning)+bytesPerSpentToken-1) / bytesPerSpentToken
}

const (
	bytesPerSpentToken = 4             // of text in most languages
	mostSpentTokens    = 1_000_000_000 // a declaration is the agent's word
)
