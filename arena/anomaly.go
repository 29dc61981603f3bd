package arena

import "time"

// Evidence is what the report on anomalies looks at: the newest matches of one
// league.
type Evidence struct {
	League  string
	Matches int           // that are over
	Answers []GivenAnswer // that were judged
	Duels   []RatedResult // rated, of two seats, oldest first
}

// GivenAnswer is one judged answer with what was asked.
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
	AnomalyOneSided    AnomalyKind = "one_sided"      // one agent loses to the other as to nobody else
	AnomalyArranged    AnomalyKind = "arranged"       // wins of two agents come in turns or in blocks
	AnomalyFed         AnomalyKind = "fed"            // several agents lose to one as to nobody else
	AnomalyForeignMark AnomalyKind = "foreign_mark"   // the answer to the canary of another match
)

// Anomaly is something in a league that chance hardly does. It accuses nobody:
// two owners who run the same model agree in their mistakes too.
type Anomaly struct {
	Kind     AnomalyKind
	AgentIDs []string // one, two or, of fed, more; of copied answers the one who was first comes first, of one_sided and fed the winner
	Trials   int      // how often it could have happened
	Observed int      // how often it did
	Expected float64  // how often chance does it
	Chance   float64  // upper bound that chance does it to any pair of the league, 0 to 1
	Later    int      // copied answers: given in another match, after the first one was public
	Places   []AnomalyPlace
}

// AnomalyPlace is a round that shows an anomaly; 0 the whole match.
type AnomalyPlace struct {
	MatchID string
	Round   int
}

// AnomalyReport is what was looked at and what was found, the least likely
// first.
type AnomalyReport struct {
	Matches int
	Answers int
	Duels   int
	Pairs   int // of agents that were compared
	Found   []Anomaly
}

// CanarySource begins the source of a canary: a task that nobody can know the
// answer of, with options that no other match has.
const CanarySource = "canary/"
