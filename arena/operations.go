package arena

import "time"

// Node is one process of the arena, as it last reported itself.
type Node struct {
	ID          string
	Version     string // of its binary
	StartedAt   time.Time
	SeenAt      time.Time // its last heartbeat, by the database's clock; zero: only its leases are known
	Alive       bool      // its last heartbeat is at most NodeSilence old, or it holds a lease
	Draining    bool
	LastError   string // the last error that it logged, "" none
	LastErrorAt time.Time
	Matches     int // running matches whose lease it holds
}

// NodeSilence is the time without a heartbeat after which a node counts as gone.
const NodeSilence = 15 * time.Second

// Queue counts the matches that wait for a node.
type Queue struct {
	Due    int       // matches that are due
	Later  int       // matches that start later
	Oldest time.Time // start of the oldest that is due, zero: none is
}

// OpenRound is a round in progress.
type OpenRound struct {
	MatchID       string
	League        string
	Node          string
	Round         int
	OpenedAt      time.Time
	Settings      Settings
	Interruptions int // of the match
}

// Operations is the current operational state of the arena.
type Operations struct {
	Nodes []Node
	Queue Queue
	Open  []OpenRound // oldest first
	Slow  []Agent     // active agents with the longest health checks, slowest first; id, name and health only
}

// Banner is a text that every page shows.
type Banner struct {
	Text  string // "" none
	Since time.Time
}

// AuditFilter selects entries of the audit log.
type AuditFilter struct {
	Find     string    // the actor, the action or the target; "" all
	Actor    string    // its id, its name, or a role; "" all
	Actions  []string  // none: all
	From, To time.Time // from From until before To; zero: without this bound
}

// Mover is an agent whose rating has changed in a league.
type Mover struct {
	AgentID string
	Name    string
	League  string
	Rating  MilliElo
	Rated   int      // rated matches in all
	Change  MilliElo // over the requested period
	Matches int      // rated matches in that period
	Recent  []MilliElo
}
