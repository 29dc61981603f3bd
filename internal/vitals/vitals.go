package vitals

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Level is the urgency of a fact.
type Level string

// The levels.
const (
	OK       Level = "ok"
	Warning  Level = "warning"  // to be mended in the next days
	Critical Level = "critical" // matches stop, or something is about to be lost
)

// Name is the subject of a fact.
type Name string

// The names of facts. Each comment defines Value, Of and At of its Fact.
const (
	Database    Name = "database"    // it answers and accepts writes; At: when it last failed to carry out an operation
	Disk        Name = "disk"        // of Subject, a folder; Value of Of bytes are free
	Backup      Name = "backup"      // At: when the newest good backup was begun
	Certificate Name = "certificate" // of the arena's own; At: when it expires
	Network     Name = "network"     // this node reaches the agents
	Redis       Name = "redis"       // the bus between nodes
	Nodes       Name = "nodes"       // Value of Of run that should
	Queue       Name = "queue"       // Value matches are due; At: since when the oldest waits
	Proxy       Name = "proxy"       // none is undeclared; Subject: the address of one, At: when it sent X-Forwarded-For last
	Schedule    Name = "schedule"    // scheduled jobs are run somewhere; At: since when no tick of theirs has come
)

// Fact is one thing that a host should know.
type Fact struct {
	Name    Name
	Level   Level
	Subject string
	Value   float64
	Of      float64
	At      time.Time // zero: never
}

// Thresholds of the levels; docs/monitoring.md states them.
const (
	diskLow  = 0.20 // share of a disk that is free
	diskFull = 0.05

	certificateSoon = 14 * 24 * time.Hour // ACME renews a month before
	certificateLast = 3 * 24 * time.Hour

	recently = 10 * time.Minute // an error of the database counts so long

	// A node that died is missed until its matches have moved and this time has
	// passed; by then it was started again or removed.
	missed = 5 * time.Minute

	queueSlow  = 10 * time.Second
	queueStuck = 10 * time.Minute
)

// TickSilence is how long the schedule of an arena, which ticks every second, may be
// silent.
const TickSilence = time.Minute

// Options are the parts of a Service. A part that an arena does not have is nil.
type Options struct {
	Database    func(ctx context.Context) error // tests a write
	LastFailure func() time.Time                // of an operation of the database, zero: none
	Folders     []string                        // whose disks must not fill up
	LastBackup  func(context.Context) (time.Time, error)
	Overdue     func(last, now time.Time) bool                         // nil: no backups are scheduled
	Expires     func() time.Time                                       // of the certificate; nil: TLS is not the arena's, zero: there is none yet
	CutOff      func() bool                                            // this node is cut off from the agents
	Redis       func() bool                                            // it is reachable; nil: there is none
	Proxy       func() (address string, at time.Time, undeclared bool) // one that no setting names; nil: none is looked for
	TickAge     func() time.Duration                                   // time since the last tick of the schedule, by elapsed time
	Now         func() time.Time
}

// Service gathers facts.
type Service struct{ o Options }

// New returns a Service.
func New(o Options) *Service {
	return &Service{o}
}

// Facts returns what can be said now, always in the same order. o is the current
// operational state.
func (s *Service) Facts(ctx context.Context, o arena.Operations) ([]Fact, error) {
	now := s.o.Now()
	backup, err := s.backup(ctx, now)
	if err != nil {
		return nil, err
	}
	facts := []Fact{s.database(ctx, now)}
	for _, folder := range s.o.Folders {
		if f, ok := disk(folder); ok {
			facts = append(facts, f)
		}
	}
	facts = append(facts, backup)
	if s.o.Expires != nil {
		facts = append(facts, certificate(s.o.Expires(), now))
	}
	facts = append(facts, Fact{Name: Network, Level: worse(s.o.CutOff(), Critical)})
	if s.o.Redis != nil {
		facts = append(facts, Fact{Name: Redis, Level: worse(!s.o.Redis(), Warning)})
	}
	if s.o.Proxy != nil {
		address, at, undeclared := s.o.Proxy()
		facts = append(facts, Fact{Name: Proxy, Level: worse(undeclared, Warning), Subject: address, At: at})
	}
	return append(facts, nodes(o.Nodes, now), queue(o.Queue, now), schedule(s.o.TickAge(), now)), nil
}

// worse returns the level of a fact that is bad if so is true.
func worse(so bool, bad Level) Level {
	if so {
		return bad
	}
	return OK
}

func (s *Service) database(ctx context.Context, now time.Time) Fact {
	f := Fact{Name: Database, Level: OK, At: s.o.LastFailure()}
	switch {
	case s.o.Database(ctx) != nil:
		f.Level = Critical
	case !f.At.IsZero() && now.Sub(f.At) < recently:
		f.Level = Warning
	}
	return f
}

func (s *Service) backup(ctx context.Context, now time.Time) (Fact, error) {
	last, err := s.o.LastBackup(ctx)
	if err != nil {
		return Fact{}, err
	}
	f := Fact{Name: Backup, Level: OK, At: last}
	switch {
	case s.o.Overdue == nil:
		f.Level = Warning
	case s.o.Overdue(last, now):
		f.Level = Critical
	}
	return f, nil
}

func certificate(expires, now time.Time) Fact {
	f := Fact{Name: Certificate, Level: OK, At: expires}
	switch left := expires.Sub(now); {
	case left < certificateLast:
		f.Level = Critical
	case left < certificateSoon:
		f.Level = Warning
	}
	return f
}

// nodes counts those that run and those that should.
func nodes(known []arena.Node, now time.Time) Fact {
	f := Fact{Name: Nodes}
	for _, n := range known {
		if n.Alive {
			f.Value++
		}
		if n.Alive || !n.Draining && (n.Matches > 0 || now.Sub(n.SeenAt) < missed) {
			f.Of++
		}
	}
	f.Level = worse(f.Value < f.Of, Warning)
	return f
}

func schedule(age time.Duration, now time.Time) Fact {
	f := Fact{Name: Schedule, Level: worse(age >= TickSilence, Warning)}
	if f.Level != OK {
		f.At = now.Add(-age)
	}
	return f
}

func queue(q arena.Queue, now time.Time) Fact {
	f := Fact{Name: Queue, Level: OK, Value: float64(q.Due), At: q.Oldest}
	if q.Oldest.IsZero() {
		return f
	}
	switch wait := now.Sub(q.Oldest); {
	case wait >= queueStuck:
		f.Level = Critical
	case wait >= queueSlow:
		f.Level = Warning
	}
	return f
}
