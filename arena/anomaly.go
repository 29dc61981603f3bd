package arena

import "time"

// Evidence is the input of the report on anomalies: the newest matches of one
// league.
type Evidence struct {
	League   string
	Matches  int           // that are over
	Compared bool          // points come from comparing answers, and so depend on the opponent
	Answers  []GivenAnswer // that were judged
	Duels    []RatedResult // rated, of two seats, oldest first
}

// GivenAnswer is one judged answer with its task.
type GivenAnswer struct {
	MatchID string
	Round   int
	AgentID string
	OwnerID string
	Source  string   // of the task; "" it was made for its match
	Options []string // of the task
	Text    string
	Points  Points
	AskedAt time.Time
}

// AnomalyKind is a kind of anomaly.
type AnomalyKind string

// The kinds of anomalies.
const (
	AnomalyCopied      AnomalyKind = "copied_answers" // wrong answers of two agents agree
	AnomalyOneSided    AnomalyKind = "one_sided"      // one agent loses to the other far more than to all others
	AnomalyArranged    AnomalyKind = "arranged"       // wins of two agents come in turns or in blocks
	AnomalyFed         AnomalyKind = "fed"            // several agents lose to one, or answer worse against it, far more than to all others
	AnomalyForeignMark AnomalyKind = "foreign_mark"   // the answer to the canary of another match
)

// Anomaly is a statistical anomaly of a league. It is no proof of cheating: two
// owners that run the same model make the same mistakes.
type Anomaly struct {
	Kind     AnomalyKind
	AgentIDs []string // one, two or, for fed, more; the first one is the author of copied answers, or the winner of one_sided and fed
	Trials   int      // opportunities
	Observed int      // occurrences
	Expected float64  // occurrences expected by chance
	Chance   float64  // upper bound of the probability by chance for any pair of the league, 0 to 1
	Later    int      // copied answers: given in another match, after the first one was public
	Places   []AnomalyPlace
}

// AnomalyPlace is a round that shows an anomaly; 0 is the whole match.
type AnomalyPlace struct {
	MatchID string
	Round   int
}

// AnomalyReport is the extent and the findings of a search for anomalies, the
// least likely first.
type AnomalyReport struct {
	Matches int
	Answers int
	Duels   int
	Pairs   int // of agents that were compared
	Found   []Anomaly
}

// CanarySource is the prefix of the source of a canary: a task without a
// knowable answer, with options that no other match has.
const CanarySource = "canary/"
