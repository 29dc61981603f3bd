package arena

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Format is the method by which a league pairs its agents and ranks a match.
type Format string

// The formats (docs/rules.md, section 8).
const (
	FormatLadder            Format = "ladder"
	FormatRoundRobin        Format = "round_robin"
	FormatSwiss             Format = "swiss"
	FormatKnockout          Format = "knockout"
	FormatDoubleElimination Format = "double_elimination"
	FormatArena             Format = "arena"
	FormatElimination       Format = "elimination"
	FormatGauntlet          Format = "gauntlet"
)

// Visibility controls what spectators see of a running match (docs/rules.md,
// section 5): live, sealed, or "delayed:<seconds>".
type Visibility string

// The visibilities without a number.
const (
	VisibilityLive   Visibility = "live"   // every event at once
	VisibilitySealed Visibility = "sealed" // events without texts; the texts when the round closes
)

// The forms of a Visibility, as a text and as a regular expression.
const (
	VisibilityForms   = "live, sealed or delayed:<seconds> with 1 to 3600 seconds"
	VisibilityPattern = "^(live|sealed|delayed:[1-9][0-9]{0,3})$"
)

// MaxDelay is the longest delay, in whole seconds; the shortest is 1 s.
const MaxDelay = time.Hour

// Delay returns the delay after which spectators see events: 1 s to MaxDelay for
// "delayed:<seconds>", with the seconds as a plain whole number, and 0 for all
// other values.
func (v Visibility) Delay() time.Duration {
	text, ok := strings.CutPrefix(string(v), "delayed:")
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 16)
	d := time.Duration(n) * time.Second
	if err != nil || d > MaxDelay || text != strconv.FormatUint(n, 10) {
		return 0
	}
	return d
}

// Valid reports whether it is one of the visibilities.
func (v Visibility) Valid() bool {
	return v == VisibilityLive || v == VisibilitySealed || v.HoldsBack()
}

// HoldsBack reports whether spectators see the events of a running match later
// than they are stored.
func (v Visibility) HoldsBack() bool { return v.Delay() > 0 }

// Sealed reports whether texts are hidden until the round closes. A value that
// is not known is sealed.
func (v Visibility) Sealed() bool { return v != VisibilityLive && !v.HoldsBack() }

// LeagueStatus is the state of a competition (docs/rules.md, section 8).
type LeagueStatus string

// The states of a league.
const (
	LeagueDraft    LeagueStatus = "draft"
	LeagueOpen     LeagueStatus = "open"    // agents may enter, admins may schedule matches
	LeagueRunning  LeagueStatus = "running" // the scheduler pairs its agents
	LeaguePaused   LeagueStatus = "paused"
	LeagueFrozen   LeagueStatus = "frozen" // running, standings hidden
	LeagueFinished LeagueStatus = "finished"
)

// LeagueAction moves a league from one state to another.
type LeagueAction string

// The actions on leagues.
const (
	OpenLeague     LeagueAction = "open"
	StartLeague    LeagueAction = "start"
	StartLeagueNow LeagueAction = "start-now" // without waiting for the next occurrence of its schedule
	PauseLeague    LeagueAction = "pause"
	ResumeLeague   LeagueAction = "resume"
	FreezeLeague   LeagueAction = "freeze"
	FinishLeague   LeagueAction = "finish"

	// An archived league keeps its state. It is not listed, starts no matches and
	// takes no entries; its pages stay.
	ArchiveLeague   LeagueAction = "archive"
	UnarchiveLeague LeagueAction = "unarchive"
)

// JudgeSpec names the judge of a league and its settings. Members that belong
// to other kinds are zero.
type JudgeSpec struct {
	Kind      string  `json:"kind"`
	Tolerance float64 `json:"tolerance,omitempty"` // number: largest absolute difference that is right, 0..1e9
	Partial   bool    `json:"partial,omitempty"`   // set, code: points for partly right answers
	Match     string  `json:"match,omitempty"`     // exact, choice, set: "" or MatchStrict

	Agents   []string      `json:"agents,omitempty"`    // panel: ids of the judge agents, 1..9
	Criteria string        `json:"criteria,omitempty"`  // panel, crowd, model: criteria for the judges
	Gold     string        `json:"gold,omitempty"`      // model: id of the pack of gold items; "": none
	Window   time.Duration `json:"window,omitempty"`    // crowd: duration of the vote, 5 s to 10 min
	MinVotes int           `json:"min_votes,omitempty"` // crowd: fewer void the round
	// crowd: only owners vote, each once; a rated league needs it
	VoterAccounts bool `json:"voter_accounts,omitempty"`
}

// MatchStrict is the comparison of texts as they are written: case, punctuation and
// symbols count.
const MatchStrict = "strict"

// The judges that decide by the answer and the task alone.
const (
	JudgeExact  = "exact"
	JudgeChoice = "choice"
	JudgeNumber = "number"
	JudgeRegex  = "regex"
	JudgeSet    = "set"
	JudgeJSON   = "json"
	JudgeCode   = "code"
)

// The judges that compare answers in pairs (docs/rules.md, section 6).
const (
	JudgePanel = "panel" // judge agents
	JudgeCrowd = "crowd" // votes of spectators
	JudgeModel = "model" // a language model
)

// Compares reports whether the judge compares answers in pairs. With such a
// judge, an answer without an opponent wins the round.
func (j JudgeSpec) Compares() bool {
	return j.Kind == JudgePanel || j.Kind == JudgeCrowd || j.Kind == JudgeModel
}

// External reports whether the judge runs outside this process, so that it takes
// time and may fail.
func (j JudgeSpec) External() bool { return j.Compares() || j.RunsAnswers() }

// RunsAnswers reports whether the judge runs answers as programs, which takes
// processor time of the arena.
func (j JudgeSpec) RunsAnswers() bool { return j.Kind == JudgeCode }

// GeneratorSpec names a generator of tasks.
type GeneratorSpec struct {
	Name        string `json:"name"`                   // "arithmetic"
	Difficulty  int    `json:"difficulty,omitempty"`   // 1..5, default 2
	HarderEvery int    `json:"harder_every,omitempty"` // rounds after which the difficulty rises by one; 0: it stays
}

// The longest times of a league.
const (
	MaxTimeLimit = 10 * time.Minute // of a round
	MaxTimeBank  = time.Hour        // of a seat of a game
	// MaxAnswerTime is the longest time that a seat may have for one answer. What
	// must last as long as a task is valid derives its time from it.
	MaxAnswerTime = MaxTimeLimit + MaxTimeBank
)

// Settings are the settings of a league. A match keeps the copy from the time at
// which it was scheduled.
type Settings struct {
	Format     Format         `json:"format"`
	PackID     string         `json:"pack_id,omitempty"` // or Generator
	Generator  *GeneratorSpec `json:"generator,omitempty"`
	Judge      JudgeSpec      `json:"judge"`
	Rounds     int            `json:"rounds"`          // 0: open end
	MaxRounds  int            `json:"max_rounds"`      // cap of an open end
	TimeLimit  time.Duration  `json:"time_limit"`      // of the first round, 1 s to 10 min; see TimeLimitIn
	Break      time.Duration  `json:"break,omitempty"` // between a round's close and the next task, 0 to 60 s
	MaxTokens  int            `json:"max_tokens,omitempty"`
	MaxCostUSD float64        `json:"max_cost_usd,omitempty"` // the highest price that an agent may offer, 0: free of charge
	Rules      []string       `json:"rules,omitempty"`
	MinSeats   int            `json:"min_seats"`
	MaxSeats   int            `json:"max_seats"`
	Rated      bool           `json:"rated"`
	Visibility Visibility     `json:"visibility"`
	ScoreMode  string         `json:"score_mode"` // ScoreMatch (default), ScoreRounds or ScoreResult
	Options    FormatOptions  `json:"format_options,omitzero"`
	Canary     int            `json:"canary,omitempty"` // one round in this many is a canary, 0 none; see CanarySource
	Debate     *DebateSpec    `json:"debate,omitempty"` // nil: every seat answers the same task
	Game       *GameSpec      `json:"game,omitempty"`   // nil: the league asks questions

	Pace *Pace `json:"pace,omitempty"` // nil in a match and in a league without limits; see PaceInForce

	BuiltIn []string `json:"built_in,omitempty"` // names of BuiltInKinds that play in the league; nil in a match

	MaxTokensPolicy TokenPolicy `json:"max_tokens_policy,omitempty"` // of answers over the token limit; "": note

	RulesVersion int `json:"rules_version,omitempty"` // of a match; 0 in a league
}

// TokenPolicy is the treatment of answers over their token limit.
type TokenPolicy string

// The token policies (docs/rules.md, section 3).
const (
	NoteTokens       TokenPolicy = "note"        // they are marked
	ZeroPointsTokens TokenPolicy = "zero_points" // they are marked and get no points
)

// TokenLimit returns the token limit of an answer to a task, or 0 if there is
// none.
func (s Settings) TokenLimit(t Task) int { return cmp.Or(t.MaxTokens, s.MaxTokens) }

// TimeLimitIn returns the time limit of a round, which counts from 1. Options.Faster
// shortens each round after the first, down to a third of the first one's limit and
// to 2 s.
func (s Settings) TimeLimitIn(round int) time.Duration {
	least := min(s.TimeLimit, max(s.TimeLimit/3, 2*time.Second))
	return max(least.Round(time.Millisecond), s.TimeLimit-time.Duration(max(0, round-1))*s.Options.Faster)
}

// DebateSpec makes a match a debate: two seats argue for and against a motion
// and change sides at half time.
type DebateSpec struct {
	Turns int `json:"turns"` // speeches of each seat for each side, 1..5
}

// GameSpec makes a match a series of turn-based games (docs/games.md). It takes
// the place of a pack, a generator and a judge.
type GameSpec struct {
	Name    string         `json:"name"`
	Version string         `json:"version,omitempty"` // of the rules; pinned in a match, "" in a league
	SHA256  string         `json:"sha256,omitempty"`  // hex, of a game's script; pinned in a match, "" if the game is built in
	Options map[string]int `json:"options,omitempty"` // of the game

	Games     int           `json:"games"`                // of a match, 1 to 20; seats change places after each
	Duplicate bool          `json:"duplicate,omitempty"`  // a deal is played once from each place
	TimeBank  time.Duration `json:"time_bank,omitempty"`  // of each seat and match, spent after the time limit of a move; 0 to 60 min
	Hidden    bool          `json:"hidden,omitempty"`     // players know different things: from the rules
	HideLegal bool          `json:"hide_legal,omitempty"` // agents do not receive the list of legal moves
}

// Brief returns the game as spectators see it, or nil for no game.
func (g *GameSpec) Brief() *GameBrief {
	if g == nil {
		return nil
	}
	return &GameBrief{
		Name: g.Name, Version: g.Version, SHA256: g.SHA256, Games: g.Games, Duplicate: g.Duplicate, TimeBankSeconds: g.TimeBank.Seconds(), Options: g.Options,
		Hidden: g.Hidden, HideLegal: g.HideLegal,
	}
}

// UntilEnd reports whether what the agents of a match write stays sealed until
// the match has finished, and not only until the round has closed (docs/rules.md,
// section 5).
func (s Settings) UntilEnd() bool {
	return s.Game != nil && (s.Visibility.Sealed() || s.Game.Hidden)
}

// Refuses returns why no agent of a protocol may play, or "". Messages of the
// protocol envelope are public, so such an agent cannot know what its opponents must
// not (threat F1).
func (s Settings) Refuses(protocol string) string {
	if protocol == ProtocolEnvelope && s.Game != nil && s.Game.Hidden {
		return "its tasks are public messages, and the players of the game know different things"
	}
	return ""
}

// Score modes (docs/rules.md, section 7).
const (
	ScoreMatch  = "match"  // points summed over common rounds
	ScoreRounds = "rounds" // every common round is compared
	ScoreResult = "result" // final points are compared: the mode of turn-based games
)

// EntryRules restrict the entry to a league. The zero value admits every agent.
type EntryRules struct {
	Allow          []string `json:"allow,omitempty"`            // agent ids; empty: all agents
	AgentsPerOwner int      `json:"agents_per_owner,omitempty"` // 0: no limit
	PasswordHash   string   `json:"password_hash,omitempty"`    // hex SHA-256 of salt and password; "": none is required
	MinRating      MilliElo `json:"min_rating,omitempty"`       // in this league; 0: no limit
	MaxRating      MilliElo `json:"max_rating,omitempty"`       // 0: no limit
	MinMatches     int      `json:"min_matches,omitempty"`      // rated matches in any league
}

// HashPassword returns the stored form of a league's password: salt, colon,
// hash. The password protects the entry to one league, not an account.
func HashPassword(salt, password string) string {
	sum := sha256.Sum256([]byte(salt + ":" + password))
	return salt + ":" + hex.EncodeToString(sum[:])
}

// Admits reports whether the password is the league's or the league has none.
func (r EntryRules) Admits(password string) bool {
	if r.PasswordHash == "" {
		return true
	}
	salt, _, _ := strings.Cut(r.PasswordHash, ":")
	return subtle.ConstantTimeCompare([]byte(r.PasswordHash), []byte(HashPassword(salt, password))) == 1
}

// League is a standing competition with one task source, judge and format.
type League struct {
	Slug      string
	Title     string
	Status    LeagueStatus
	Settings  Settings
	Entry     EntryRules
	Schedule  string   // cron expression in UTC, "" none
	Drift     MilliElo // sum of all ratings minus agents * StartRating
	CreatedAt time.Time
	NextRunAt time.Time // when the scheduler pairs next; zero: unknown
	Note      Note      // why the scheduler is not pairing ("needs 2 idle agents, has 1")
	Agents    int       // entered and not withdrawn

	Description string    // for people, plain text; "" none
	Prize       string    // one line; "" none
	RulesText   string    // for people; Settings.Rules are for agents
	SignupUntil time.Time // entries close at this time; zero: they do not
	ArchivedAt  time.Time // zero: not archived

	RemovedTasks int // questions removed from its pack after its matches had used them
	// CorrectedTasks counts the questions whose answer was corrected for rounds of its
	// matches, too.
	CorrectedTasks int
	// JudgeSince is when the league left a pause that its judge had caused. The judge's
	// card counts verdicts from then on; zero: all.
	JudgeSince time.Time

	Audit *AuditReport // the newest; nil: never audited
}

// The longest texts of a league, in characters.
const (
	MaxLeagueDescription = 2000
	MaxLeaguePrize       = 200
	MaxLeagueRulesText   = 4000
)

// TakesEntries returns an error if the league takes no entries at a time.
func (l League) TakesEntries(at time.Time) error {
	switch {
	case !l.ArchivedAt.IsZero():
		return Errorf(CodeConflict, "league %s is archived and takes no entries", l.Slug)
	case l.Status == LeagueDraft || l.Status == LeagueFinished:
		return Errorf(CodeConflict, "league %s is %s and takes no entries", l.Slug, l.Status)
	case !l.SignupUntil.IsZero() && !at.Before(l.SignupUntil):
		return Errorf(CodeSignupClosed, "league %s took entries until %s", l.Slug, l.SignupUntil.UTC().Format(TimeFormat))
	}
	return nil
}

// ListedLeagues returns the leagues that are not archived.
func ListedLeagues(all []League) []League {
	listed := make([]League, 0, len(all))
	for _, l := range all {
		if l.ArchivedAt.IsZero() {
			listed = append(listed, l)
		}
	}
	return listed
}

// Entry is an agent's place in a league.
type Entry struct {
	League      string
	AgentID     string
	EnteredAt   time.Time
	WithdrawnAt time.Time
}
