package conformance

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// Level is the weight of a check.
type Level string

// The levels.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
)

// Result is how a check ended.
type Result string

// The results. A check is skipped when an earlier result makes it pointless,
// and not applicable when the protocol, or the way the agent is reached, has
// nothing to check.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	Skip          Result = "skip"
	NotApplicable Result = "not_applicable"
)

// Finding is one check with its result.
type Finding struct {
	ID        string `json:"id"` // stable: "token.expired"
	Level     Level  `json:"level"`
	Title     string `json:"title"`  // what an agent does
	Clause    string `json:"clause"` // where it is written
	Result    Result `json:"result"`
	Sent      string `json:"sent,omitempty"`
	Got       string `json:"got,omitempty"`  // of a check that was not made: why
	Cure      string `json:"cure,omitempty"` // what to do; "" when nothing is
	ElapsedMS int64  `json:"elapsed_ms"`
}

// Tally counts the findings of one level.
type Tally struct {
	Pass          int `json:"pass"`
	Fail          int `json:"fail"`
	Skip          int `json:"skip"`
	NotApplicable int `json:"not_applicable"`
}

// Report is everything that a run found.
type Report struct {
	Protocol  string    `json:"protocol"`
	Endpoint  string    `json:"endpoint"` // "" for an agent that connects to the arena
	AgentID   string    `json:"agent_id"` // under which the arena knows the agent
	Issuer    string    `json:"issuer"`   // URL of the arena
	League    string    `json:"league"`
	CheckedAt string    `json:"checked_at"` // RFC 3339
	Passed    bool      `json:"passed"`     // every MUST
	Must      Tally     `json:"must"`
	Should    Tally     `json:"should"`
	Checks    []Finding `json:"checks"`
}

// Driver sends tasks and health checks over the agent's protocol.
type Driver interface {
	Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error)
	Probe(ctx context.Context, a arena.Agent) arena.Health
}

// Options are the parts of a Kit. All but those with a default are needed.
type Options struct {
	Driver   Driver
	Profile  protocol.Profile // of the driver's protocol
	Client   *protocol.Client // for plain requests to the endpoint
	Issuer   string           // URL of the arena
	League   string           // default: the first that the agent's health names, else "trivia"
	Limit    time.Duration    // of tasks that are not about time, 1 s to 10 min; default 10 s
	Progress func(Finding)    // called for each finding as it comes; default: none
	Now      func() time.Time
}

// Kit runs the checks. It is safe for concurrent use.
type Kit struct{ o Options }

// New returns a Kit.
func New(o Options) (*Kit, error) {
	o.Limit = cmp.Or(o.Limit, 10*time.Second)
	if o.Progress == nil {
		o.Progress = func(Finding) {}
	}
	if o.Limit < time.Second || o.Limit > 10*time.Minute {
		return nil, fmt.Errorf("conformance: a time limit of %s is not in 1s..10m", o.Limit)
	}
	return &Kit{o: o}, nil
}

// Run makes all checks of one agent, one after the other. When the context
// ends, the rest is skipped and the report has not passed.
func (k *Kit) Run(ctx context.Context, agent arena.Agent) Report {
	now := k.o.Now()
	s := &session{
		Options: k.o, agent: agent, matchID: arena.NewID(arena.MatchPrefix, now),
		league: cmp.Or(k.o.League, "trivia"),
	}
	report := Report{
		Protocol: k.o.Profile.Name, Endpoint: agent.Endpoint, AgentID: agent.ID, Issuer: k.o.Issuer,
		CheckedAt: now.UTC().Format(arena.TimeFormat), Passed: true,
	}
	for _, c := range checks(k.o.Profile) {
		f := s.make(ctx, c)
		k.o.Progress(f)
		report.add(f)
	}
	report.League, report.Passed = s.league, report.Passed && ctx.Err() == nil
	return report
}

const noTime = "the run ended before this check"

// make runs one check.
func (s *session) make(ctx context.Context, c check) Finding {
	f := Finding{ID: c.id, Level: c.level, Title: c.title, Clause: c.clause}
	if why := s.notApplicable(c); why != "" {
		f.Result, f.Got = NotApplicable, why
		return f
	}
	if ctx.Err() != nil {
		f.Result, f.Got = Skip, noTime
		return f
	}
	if c.needs != nil {
		if why := c.needs(s); why != "" {
			f.Result, f.Got = Skip, why
			return f
		}
	}
	began := s.Now()
	o := c.run(ctx, s)
	if ctx.Err() != nil { // the result says nothing about the agent
		f.Result, f.Got = Skip, noTime
		return f
	}
	f.Result, f.Sent, f.Got, f.ElapsedMS = Pass, o.sent, o.got, s.Now().Sub(began).Milliseconds()
	if o.level != "" {
		f.Level = o.level
	}
	switch {
	case o.wrong:
		f.Result, f.Cure = Fail, o.cure
	case o.nothing:
		f.Result = NotApplicable
	}
	return f
}

// notApplicable returns why a check has no meaning, "" when it has one.
func (s *session) notApplicable(c check) string {
	if why := s.Profile.NotApplicable[c.id]; why != "" {
		return why
	}
	if c.endpoint && s.agent.Endpoint == "" {
		return "the agent has no endpoint"
	}
	return ""
}

func (r *Report) add(f Finding) {
	r.Checks = append(r.Checks, f)
	t := &r.Should
	if f.Level == Must {
		t = &r.Must
		r.Passed = r.Passed && f.Result != Fail
	}
	switch f.Result {
	case Pass:
		t.Pass++
	case Fail:
		t.Fail++
	case Skip:
		t.Skip++
	case NotApplicable:
		t.NotApplicable++
	}
}
