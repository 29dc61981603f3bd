package arena

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// SeasonStatus is the state of one season of a league.
type SeasonStatus string

// The states of a season. Its league can also be paused or frozen.
const (
	SeasonRunning  SeasonStatus = "running"
	SeasonFinished SeasonStatus = "finished"
)

// Season is one run of a league's format, from start to podium. Its next pairing
// depends only on the season and its pairings, so that any node may continue it
// at any point.
type Season struct {
	ID         string
	League     string
	No         int // 1, 2, 3 … within the league
	Status     SeasonStatus
	Format     Format
	Options    FormatOptions
	Seed       uint64 // of all draws
	Entrants   []Entrant
	StartedAt  time.Time
	EndsAt     time.Time // zero: the format decides
	FinishedAt time.Time
	// CorrectedAt is when the answer of a question that its matches had used was last
	// corrected. Its table stayed as it was. Zero: never, or it was running then.
	CorrectedAt time.Time
	Table       []TableRow // final, once finished; best first
	Version     int64      // increases with each change; a change of an old version is rejected
}

// Entrant is an agent in a season.
type Entrant struct {
	AgentID string   `json:"agent_id"`
	OwnerID string   `json:"owner_id"`
	Name    string   `json:"name"`
	Rating  MilliElo `json:"rating"` // when it joined: seeds go by it
	// Round is the first round in which it may play: 1 for those that were
	// there at the start, more for late joiners.
	Round int `json:"round"`
	// WithdrawnRound is the first round in which it no longer plays; 0: it plays.
	WithdrawnRound int `json:"withdrawn_round,omitempty"`
}

// Plays reports whether the entrant takes part in a round.
func (e Entrant) Plays(round int) bool {
	return e.Round <= round && (e.WithdrawnRound == 0 || round < e.WithdrawnRound)
}

// PairingResult is the result of a pairing.
type PairingResult string

// The results.
const (
	PairingOpen    PairingResult = ""        // not decided yet
	PairingPlayed  PairingResult = "played"  // by its match
	PairingBye     PairingResult = "bye"     // one agent, no match
	PairingForfeit PairingResult = "forfeit" // an agent was absent; see Scores
	PairingVoid    PairingResult = "void"    // its match was void: the format orders a replay; in formats without a bracket the third one is a draw
)

// Pairing is a meeting that a season has ordered. It is identified by season,
// round, slot and game.
type Pairing struct {
	SeasonID string
	Round    int    // 1-based
	Slot     int    // 1-based: the board, or the place in the bracket
	Game     int    // 1-based: replays and games of a best-of-n
	Bracket  string // double elimination: "winners", "losers" or "final"; else ""
	Agents   []string
	Result   PairingResult
	// Scores holds the score of each agent, in the order of Agents: a win is
	// 1000, a draw 500, a loss 0. With more than two seats it is the share of the
	// others that the agent beat, with half for a tie. Nil while open or void.
	Scores    []Points
	MatchID   string // "" before its match exists, and for byes and forfeits
	CreatedAt time.Time
	DecidedAt time.Time
}

// Open reports whether the pairing waits for a result.
func (p Pairing) Open() bool { return p.Result == PairingOpen }

// TableRow is one line of a season's table.
type TableRow struct {
	Rank      int        `json:"rank"` // 1 is best; equals share the better rank
	AgentID   string     `json:"agent_id"`
	Name      string     `json:"name"`
	Played    int        `json:"played"` // decided pairings with an opponent, forfeits among them
	Wins      int        `json:"wins"`
	Draws     int        `json:"draws"`
	Losses    int        `json:"losses"`
	Byes      int        `json:"byes,omitempty"`
	Forfeits  int        `json:"forfeits,omitempty"` // lost by absence
	Score     Points     `json:"score"`
	TieBreaks []TieBreak `json:"tie_breaks,omitempty"` // in order of precedence
	Withdrawn bool       `json:"withdrawn,omitempty"`
}

// TieBreak is one figure that orders equal scores; more is better.
type TieBreak struct {
	Name  string `json:"name"` // "buchholz_cut_1", "buchholz", "direct", "sonneborn_berger", "wins", "matches", "rating"
	Value Points `json:"value"`
}

// FormatOptions are the settings of one format or of its schedule. Zero fields
// mean the format's default.
type FormatOptions struct {
	Double   bool          `json:"double,omitempty"`   // round robin: every pair meets twice
	Rounds   int           `json:"rounds,omitempty"`   // Swiss: 1..30; 0: enough for one winner
	BestOf   int           `json:"best_of,omitempty"`  // knockout, double elimination: 1, 3, 5 or 7
	Duration time.Duration `json:"duration,omitempty"` // arena: 1 min to 24 h, default 30 min; others: how long a season lasts, 0 as long as it takes
	Champion string        `json:"champion,omitempty"` // gauntlet: the agent that meets all others; "": the highest rated
	Forfeit  time.Duration `json:"forfeit,omitempty"`  // time to wait for a paired agent, 10 s to 24 h, default 2 min
	Faster   time.Duration `json:"faster,omitempty"`   // elimination: how much shorter each round is than the one before, 0 to 1 min; see Settings.TimeLimitIn
	Starts   string        `json:"starts,omitempty"`   // what the schedule starts: "season", "round" or "match"
}

// The values of FormatOptions.Starts.
const (
	StartsSeason = "season" // ladder, arena and tournaments: ends the season that runs, begins the next
	StartsRound  = "round"  // tournaments: the next round
	StartsMatch  = "match"  // elimination: the next match
)

// SeasonChange is an atomic change of a season.
type SeasonChange struct {
	Join     []Entrant // new, or with another WithdrawnRound
	Pairings []Pairing // new, or with a result or a match
	Finish   *SeasonEnd
}

// SeasonEnd ends a season.
type SeasonEnd struct {
	At    time.Time
	Table []TableRow
}

// Empty reports whether the change changes nothing.
func (c SeasonChange) Empty() bool {
	return len(c.Join) == 0 && len(c.Pairings) == 0 && c.Finish == nil
}

// SeasonDay sums up the seasons of a league that began on one day in UTC.
type SeasonDay struct {
	League      string
	Day         int // 0-based, from the start of the requested period; seasons that began before it are on day 0
	First, Last int // their numbers
	StartedAt   time.Time
	FinishedAt  time.Time // of the last one; zero: it runs
	EndsAt      time.Time // of the running season; zero: none runs, or its format decides
}

// NoteCode is the kind of note with which the scheduler explains why it is not
// pairing.
type NoteCode string

// The kinds of notes.
const (
	NoteNeedsAgents      NoteCode = "needs_agents"
	NoteBudgetsStop      NoteCode = "budgets_stop"       // as needs_agents, and budgets stop more agents
	NoteJustMet          NoteCode = "just_met"           // the last opponents are the only ones
	NoteWaitsForOpponent NoteCode = "waits_for_opponent" // some will become idle, or it will pair them all the same
	NoteOnlyUnrated      NoteCode = "only_unrated"
	NoteWaitsForAgent    NoteCode = "waits_for_agent"
	NoteWaitsForBudget   NoteCode = "waits_for_budget" // as waits_for_agent, and a budget stops it
	NoteGathers          NoteCode = "gathers"
	NotePlaysElsewhere   NoteCode = "plays_elsewhere" // as waits_for_agent, and it is in a match of another league
	NoteNotOffered       NoteCode = "not_offered"     // as needs_agents, and health checks of more do not list the league
	NoteGameFailed       NoteCode = "game_failed"
	NoteJudgeOrder       NoteCode = "judge_order" // paused: a line of the judge's card is over its limit
	NoteJudgeLength      NoteCode = "judge_length"
	NoteJudgeFamily      NoteCode = "judge_family"
	NoteAudit            NoteCode = "audit" // did not open, or is paused: cheats succeeded in its audit
	NoteJudgeGold        NoteCode = "judge_gold"
)

// noteTexts is the table of the kinds of notes with their texts in English. A
// {name} stands for the member of NoteParams with that JSON name. noteUntil is added
// to the text of a note with that member.
var noteTexts = []struct {
	code NoteCode
	text string
}{
	{NoteNeedsAgents, "needs {least} idle agents, has {has}"},
	{NoteBudgetsStop, "needs {least} idle agents, has {has}; the budgets of their owners stop {stopped} more"},
	{NoteJustMet, "{idle} idle agents have just met; they wait for another opponent"},
	{NoteWaitsForOpponent, "{idle} idle agents have just met or can meet only unrated; they wait up to {seconds} s for another opponent"},
	{NoteOnlyUnrated, "{idle} idle agents can meet only unrated: they are of one owner, or have met {meetings} times in 24 h"},
	{NoteWaitsForBudget, "round {round} waits for {agent}: the budget of its owner stops it"},
	{NoteWaitsForAgent, "round {round} waits for {agent}"},
	{NoteGathers, "{ready} agents are ready; {playing} still play elsewhere"},
	{NotePlaysElsewhere, "round {round} waits for {agent}, which plays elsewhere"},
	{NoteNotOffered, "needs {least} idle agents, has {has}; these do not list {league} in their health checks: {agents}"},
	{NoteGameFailed, "the rules of the game failed in match {match_id}: {fault}"},
	{NoteJudgeOrder, "the judge contradicts itself when answers are swapped: at least {least_percent} % of comparisons in {matches} matches, the limit is {limit_percent} %"},
	{NoteJudgeLength, "the judge prefers longer answers: they win at least {least_percent} % of comparable comparisons in {matches} matches, the limit is {limit_percent} %"},
	{NoteJudgeFamily, "the judge prefers answers of its own model family, compared with the other judges: a share of at least {least_percent} % in {matches} matches, 50 % is fair, the limit is {limit_percent} %"},
	{NoteAudit, "the audit found that agents can cheat: {cheats}"},
	{NoteJudgeGold, "the judge does not choose the better answer where it is known: in at least {least_percent} % of {items} gold items, the limit is {limit_percent} %"},
}

const noteUntil = ", until {until} at the latest"

// NoteCodes lists the kinds of notes.
func NoteCodes() []NoteCode {
	codes := make([]NoteCode, len(noteTexts))
	for i, n := range noteTexts {
		codes[i] = n.code
	}
	return codes
}

// Note is why the scheduler is not pairing. The zero Note has nothing to explain.
type Note struct {
	Code   NoteCode   `json:"code,omitempty"`
	Params NoteParams `json:"params,omitzero"`
}

// NoteParams are the values of a note. Those that its kind does not have are nil.
type NoteParams struct {
	Least    *int     `json:"least,omitempty" doc:"Idle agents that it needs."`
	Has      *int     `json:"has,omitempty" doc:"Idle agents that it has."`
	Stopped  *int     `json:"stopped,omitempty" doc:"Agents that budgets stop."`
	Idle     *int     `json:"idle,omitempty" doc:"Idle agents."`
	Meetings *int     `json:"meetings,omitempty" doc:"Rated meetings of a pair in 24 hours, at most."`
	Seconds  *float64 `json:"seconds,omitempty" doc:"How long they wait for another opponent, at most."`
	Round    *int     `json:"round,omitempty"`
	Agent    *string  `json:"agent,omitempty" doc:"The name of the agent that it waits for."`
	Ready    *int     `json:"ready,omitempty" doc:"Agents that are ready."`
	Playing  *int     `json:"playing,omitempty" doc:"Agents that still play elsewhere."`
	MatchID  *string  `json:"match_id,omitempty" doc:"The match whose game failed."`
	Fault    *string  `json:"fault,omitempty" doc:"The error of the game, in English."`
	League   *string  `json:"league,omitempty" doc:"The capability that health checks have to list."`
	Agents   *string  `json:"agents,omitempty" doc:"The names of up to three agents whose health checks do not, then … for more."`
	Matches  *int     `json:"matches,omitempty" doc:"Matches in which the judge was measured."`
	Items    *int     `json:"items,omitempty" doc:"Gold items that the judge was asked about."`
	// LeastPercent is rounded down, and above the limit by less than 1 at times.
	LeastPercent *int    `json:"least_percent,omitempty" doc:"The low end of the interval of the judge's share, in percent."`
	LimitPercent *int    `json:"limit_percent,omitempty" doc:"The limit of that share, in percent."`
	Cheats       *string `json:"cheats,omitempty" doc:"The cheats that succeeded, by their names in the audit."`
	// Until is in UTC, to the second.
	Until *time.Time `json:"until,omitempty" doc:"When their matches elsewhere end at the latest."`
}

// String returns the note in English.
func (n Note) String() string {
	var values map[string]any
	if body, err := json.Marshal(n.Params); err != nil || json.Unmarshal(body, &values) != nil {
		return string(n.Code)
	}
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", fmt.Sprint(value))
	}
	for _, t := range noteTexts {
		if t.code == n.Code {
			text := t.text
			if n.Params.Until != nil {
				text += noteUntil
			}
			return strings.NewReplacer(pairs...).Replace(text)
		}
	}
	return string(n.Code)
}

// Equal reports whether two notes say the same.
func (n Note) Equal(o Note) bool { return n.Code == o.Code && n.String() == o.String() }

// NeedsAgentsNote is the note of a season or a league that has too few agents.
func NeedsAgentsNote(least, has int) Note {
	return Note{NoteNeedsAgents, NoteParams{Least: &least, Has: &has}}
}

// BudgetsStopNote is the note of a league that has too few agents while the
// budgets of their owners stop more of them.
func BudgetsStopNote(least, has, stopped int) Note {
	return Note{NoteBudgetsStop, NoteParams{Least: &least, Has: &has, Stopped: &stopped}}
}

// JustMetNote is the note of a season whose idle agents are each other's last
// opponents.
func JustMetNote(idle int) Note { return Note{NoteJustMet, NoteParams{Idle: &idle}} }

// WaitsForOpponentNote is the note of a ladder whose idle agents wait, for some
// seconds at most, for opponents that they have not just met.
func WaitsForOpponentNote(idle int, seconds float64) Note {
	return Note{NoteWaitsForOpponent, NoteParams{Idle: &idle, Seconds: &seconds}}
}

// OnlyUnratedNote is the note of a rated ladder in which no two idle agents can
// meet rated. A pair may meet rated so many times in 24 hours.
func OnlyUnratedNote(idle, meetings int) Note {
	return Note{NoteOnlyUnrated, NoteParams{Idle: &idle, Meetings: &meetings}}
}

// WaitsForAgentNote is the note of a season that waits for an absent agent.
func WaitsForAgentNote(round int, agent string) Note {
	return Note{NoteWaitsForAgent, NoteParams{Round: &round, Agent: &agent}}
}

// WaitsForBudgetNote is the note of a season that waits for an agent that the
// budget of its owner stops.
func WaitsForBudgetNote(round int, agent string) Note {
	return Note{NoteWaitsForBudget, NoteParams{Round: &round, Agent: &agent}}
}

// GathersNote is the note of an elimination that waits for agents whose matches
// elsewhere end at a time at the latest.
func GathersNote(ready, playing int, until time.Time) Note {
	return Note{NoteGathers, NoteParams{Ready: &ready, Playing: &playing, Until: noteTime(until)}}
}

// PlaysElsewhereNote is the note of a season that waits for an agent whose matches
// elsewhere end at a time at the latest.
func PlaysElsewhereNote(round int, agent string, until time.Time) Note {
	return Note{NotePlaysElsewhere, NoteParams{Round: &round, Agent: &agent, Until: noteTime(until)}}
}

func noteTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}

// maxNotedAgents is the number of agents that a note names.
const maxNotedAgents = 3

// NotOfferedNote is the note of a season or a league that has too few agents while the
// health checks of others, by name, do not list the league.
func NotOfferedNote(least, has int, league string, names []string) Note {
	if len(names) > maxNotedAgents {
		names = append(slices.Clone(names[:maxNotedAgents]), "…")
	}
	agents := strings.Join(names, ", ")
	return Note{NoteNotOffered, NoteParams{Least: &least, Has: &has, League: &league, Agents: &agents}}
}

// GameFailedNote is the note of a league that was paused because its game failed.
func GameFailedNote(matchID, fault string) Note {
	return Note{NoteGameFailed, NoteParams{MatchID: &matchID, Fault: &fault}}
}

// JudgeNote is the note of a league that was paused because a line of its judge's card
// is over its limit.
func JudgeNote(m JudgeMeasure) Note {
	least, limit := int(m.Low*100), int(math.Round(m.Limit*100))
	params := NoteParams{Matches: &m.N, LeastPercent: &least, LimitPercent: &limit}
	if m.Name == BiasGold {
		params.Matches, params.Items = nil, &m.N
	}
	return Note{"judge_" + NoteCode(m.Name), params}
}

// AuditNote is the note of a league that its audit closed because these cheats succeeded.
func AuditNote(found []string) Note {
	cheats := strings.Join(found, ", ")
	return Note{NoteAudit, NoteParams{Cheats: &cheats}}
}

// OfJudge reports whether it is a JudgeNote.
func (c NoteCode) OfJudge() bool { return strings.HasPrefix(string(c), "judge_") }
