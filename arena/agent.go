package arena

import (
	"encoding/json"
	"slices"
	"time"
)

// Owner is a person or team that registers agents.
type Owner struct {
	ID        string
	Name      string
	Email     string
	CreatedAt time.Time

	SuspendedAt   time.Time // by an admin; zero: it is not suspended
	SuspendReason string    // which the owner reads; "": none was given
	ErasedAt      time.Time // when its personal data was deleted; zero: it is not deleted
	Network       string    // public network it signed up from, see AddressKeys; "" unknown
	Role          Role      // what this person may do beside having agents

	EmailConfirmedAt time.Time // when it was shown that Email is read; zero: it was not
	NoPauseMails     bool      // the arena writes no mail when it pauses an agent
}

// OwnerSummary is an owner in the list of admins.
type OwnerSummary struct {
	Owner

	Agents     int       // that are not retired
	Tokens     int       // that are not revoked
	LastUsedAt time.Time // of any of its tokens and its agents' keys, to the minute; zero: never
}

// OwnerStatus is the state of an owner.
type OwnerStatus string

// The states of an owner.
const (
	OwnerActive    OwnerStatus = "active"
	OwnerSuspended OwnerStatus = "suspended"
	OwnerDeleted   OwnerStatus = "deleted"
)

// Status returns the state of the owner.
func (o Owner) Status() OwnerStatus {
	switch {
	case !o.ErasedAt.IsZero():
		return OwnerDeleted
	case !o.SuspendedAt.IsZero():
		return OwnerSuspended
	}
	return OwnerActive
}

// OwnerFilter selects owners.
type OwnerFilter struct {
	// Query is part of the name, the email or the name of one of its agents,
	// whatever the case of ASCII letters, or the whole id of the owner or of one of
	// its agents; "": all.
	Query  string
	Status OwnerStatus // "": any
}

// AgentStatus is the state of an agent, which decides whether it may take a seat.
type AgentStatus string

// The states of an agent (docs/rules.md, section 1).
const (
	AgentPending AgentStatus = "pending" // no passed endpoint check yet
	AgentActive  AgentStatus = "active"
	AgentPaused  AgentStatus = "paused"
	AgentRetired AgentStatus = "retired"
)

// PauseReason is the cause of a pause, which decides what ends it.
type PauseReason string

// The reasons, strongest first. Only the strongest one is shown.
const (
	PauseAdmin     PauseReason = "admin"      // until an admin resumes it
	PauseOwner     PauseReason = "owner"      // until its owner resumes it
	PauseExpired   PauseReason = "expired"    // until a check of its endpoint passes: none ever has
	PauseHealth    PauseReason = "health"     // until two health checks in a row succeed
	PauseFailing   PauseReason = "failing"    // until its owner resumes it: it failed too many rounds in a row
	PauseRateLimit PauseReason = "rate_limit" // until a time: it answered 429
)

// PauseKind is a row of the table of pause reasons.
type PauseKind struct {
	Reason    PauseReason `json:"reason"`
	OwnerEnds bool        `json:"owner_ends" doc:"The owner of the agent may end it. An admin may too."`

	ending string // how it ends; "": at a time
}

// PauseReasons lists the reasons, strongest first.
func PauseReasons() []PauseReason {
	var reasons []PauseReason
	for _, k := range PauseKinds() {
		reasons = append(reasons, k.Reason)
	}
	return reasons
}

// PauseKinds returns the table of pause reasons, strongest first.
func PauseKinds() []PauseKind {
	return []PauseKind{
		{Reason: PauseAdmin, ending: "an admin has to resume it"},
		{Reason: PauseOwner, OwnerEnds: true, ending: "its owner has to resume it"},
		{Reason: PauseExpired, ending: "its endpoint has to pass a check: POST /v1/agents/{id}/check, or PATCH it with another endpoint"},
		{Reason: PauseHealth, ending: "two health checks in a row have to succeed"},
		{Reason: PauseFailing, OwnerEnds: true, ending: "its owner has to resume it, best after a rehearsal"},
		{Reason: PauseRateLimit},
	}
}

// Pause is one reason why an agent takes no new seats. An agent may have
// several at once; each ends in its own way.
type Pause struct {
	Reason PauseReason
	Since  time.Time
	Until  time.Time // zero: until it is lifted
}

// Ending describes how the pause ends.
func (p Pause) Ending() string {
	for _, k := range PauseKinds() {
		if k.Reason == p.Reason && k.ending != "" {
			return k.ending
		}
	}
	return "it ends at " + p.Until.UTC().Format(TimeFormat)
}

// Cooldown is the reason why the engine skips an agent during a match.
type Cooldown struct {
	Pauses  []Pause
	Retired bool
}

// Agent is a program behind an HTTP endpoint that competes for its owner.
type Agent struct {
	ID          string
	OwnerID     string
	OwnerName   string
	Name        string
	Protocol    string    // one of the Protocol constants
	Endpoint    string    // "" when it only polls
	EndpointKey string    // equal for endpoints on the same server, "" none
	PublicKey   string    // in the canonical form of its protocol, "" none
	KeyProvedAt time.Time // when its owner proved possession of PublicKey; zero: not yet
	Version     string
	Model       string // the language model or framework that answers, as its owner declares it; "": none
	Mark        string // one of AllMarks; "": made from its id
	Description string
	Leagues     []string // slugs it has entered
	Pauses      []Pause
	Health      Health
	CreatedAt   time.Time
	PassedAt    time.Time // first passed check of its endpoint; zero: pending
	RetiredAt   time.Time
	Running     int // seats it holds in running matches

	// PauseAfter is the number of failed rounds in a row that pauses the agent,
	// 0 to MaxPauseAfter; 0: none does. Rounds before ResumedAt do not count.
	PauseAfter int
	ResumedAt  time.Time // when its last failing pause was ended; zero: never

	PullConcurrent int // matches that it plays at once if it fetches its tasks
	Budget         Budget
	RoundTokens    int64 // most tokens of a round in its last rehearsal; 0: unknown

	EndpointSince    time.Time // when its endpoint was last changed; zero: never
	OwnerSuspendedAt time.Time // zero: its owner is not suspended
}

// Bounds of Agent.PauseAfter.
const (
	DefaultPauseAfter = 10
	MaxPauseAfter     = 100
)

// Pulls reports whether an AAP agent fetches its tasks.
func (a Agent) Pulls() bool { return a.Protocol == ProtocolAAP && a.Endpoint == "" }

// Health is the result of the last probe of an endpoint.
type Health struct {
	OK              bool
	CheckedAt       time.Time // zero: never checked
	Latency         time.Duration
	Reason          string // stable word for a failure: "refused", "status_503", "bad_json"
	Detail          string // one sentence for the owner
	Capabilities    []string
	DeclaredLatency time.Duration // avg_latency_ms, the agent's own claim
	MaxConcurrent   int           // running seats the agent allows; at least 1
	Failures        int           // in a row
	Successes       int           // in a row
	Body            []byte        // the agent's description of itself, as it came; not stored, nil: none came
}

// ReasonHostBusy is the reason of a request that the arena did not make because
// too many of its requests to the same address failed. It does not affect the
// health of the endpoint.
const ReasonHostBusy = "host_busy"

// Registration is the data with which an owner registers an agent.
type Registration struct {
	Name        string
	Protocol    string
	Endpoint    string // "" when it only polls
	PublicKey   string
	Version     string
	Model       string
	Mark        string
	Description string
	Leagues     []string // slugs of leagues to enter

	PullConcurrent int // 0: 1, or as its health checks declare

	// IdempotencyKey identifies the request: repeated, it returns the same agent with
	// the same first key, if it fetches its tasks. "": it is not repeated.
	IdempotencyKey string
}

// AgentUpdate is a change of an agent by its owner. Nil members stay as they
// are.
type AgentUpdate struct {
	Name, Endpoint, Version, Model, Mark, Description *string

	PauseAfter     *int
	PullConcurrent *int // of an agent that fetches its tasks, as it is after the change
	Budget         *Budget
}

// NotRetired returns a conflict if the agent is retired.
func (a Agent) NotRetired() error {
	if a.RetiredAt.IsZero() {
		return nil
	}
	return Errorf(CodeConflict, "agent %s is retired", a.ID)
}

// HealthStep is the consequence of one health check of an agent.
type HealthStep struct {
	Health Health // with Failures and Successes counted
	Pause  bool   // the health pause begins
	Resume bool   // it ends
	Passed bool   // a pending agent has passed its first check
	Expire bool   // a pending agent has not passed one for too long
}

// Apply changes the agent by the step, at the time for which the step was
// decided. It also ends pauses whose time is over.
func (s HealthStep) Apply(a *Agent, now time.Time) {
	a.Health = s.Health
	if s.Passed {
		a.PassedAt = now
		a.LiftPause(PauseExpired)
	}
	if s.Expire {
		a.SetPause(Pause{Reason: PauseExpired, Since: now})
	}
	if s.Pause {
		a.SetPause(Pause{Reason: PauseHealth, Since: now})
	}
	if s.Resume {
		a.LiftPause(PauseHealth)
	}
	for _, p := range slices.Clone(a.Pauses) {
		if !p.Until.IsZero() && !now.Before(p.Until) {
			a.LiftPause(p.Reason)
		}
	}
}

// HealthCheck is a completed health check.
type HealthCheck struct {
	Agent Agent // as it was checked
	OK    bool
	Sweep bool // stored at the end of its sweep: void if another check of the agent was stored since
	// Step returns the consequence of the check for the stored agent. It may run
	// more than once.
	Step func(stored Agent) HealthStep
}

// Probe is the outcome of a health check of an agent, to be stored.
type Probe struct {
	AgentID string
	OK      bool
	// Apply changes the health, the pauses and PassedAt of the stored agent. It
	// may run more than once. After an error the agent is not stored.
	Apply func(*Agent) error
}

// Probed is an agent before and after a Probe was stored. Err is the error of
// Apply, or not_found if there is no such agent.
type Probed struct {
	Before, After Agent
	Err           error
}

// PauseAt returns the strongest pause that holds at now.
func (a Agent) PauseAt(now time.Time) (Pause, bool) {
	for _, reason := range PauseReasons() {
		for _, p := range a.Pauses {
			if p.Reason == reason && (p.Until.IsZero() || now.Before(p.Until)) {
				return p, true
			}
		}
	}
	return Pause{}, false
}

// StatusAt returns the agent's state at now.
func (a Agent) StatusAt(now time.Time) AgentStatus {
	_, paused := a.PauseAt(now)
	switch _, expired := a.PauseFor(PauseExpired); {
	case !a.RetiredAt.IsZero():
		return AgentRetired
	case a.PassedAt.IsZero() && !expired:
		return AgentPending
	case paused:
		return AgentPaused
	default:
		return AgentActive
	}
}

// PauseFor returns the agent's pause with this reason.
func (a Agent) PauseFor(reason PauseReason) (Pause, bool) {
	i := slices.IndexFunc(a.Pauses, func(p Pause) bool { return p.Reason == reason })
	if i < 0 {
		return Pause{}, false
	}
	return a.Pauses[i], true
}

// Plays reports whether the agent's health lists the league among its
// capabilities, or lists none (docs/rules.md, section 1).
func (a Agent) Plays(league string) bool {
	return len(a.Health.Capabilities) == 0 || slices.Contains(a.Health.Capabilities, league)
}

// SetPause adds p, or replaces the pause that has the same reason.
func (a *Agent) SetPause(p Pause) {
	a.LiftPause(p.Reason)
	a.Pauses = append(a.Pauses, p)
}

// LiftPause ends the pause with this reason and reports whether there was one.
func (a *Agent) LiftPause(reason PauseReason) bool {
	before := len(a.Pauses)
	a.Pauses = slices.DeleteFunc(slices.Clone(a.Pauses), func(p Pause) bool { return p.Reason == reason })
	return len(a.Pauses) < before
}

// Conformance is the result of the last full check of one version of an agent by
// the conformance kit. A skipped check does not count as passed.
type Conformance struct {
	AgentID     string
	Version     string // of the agent at that time
	CheckedAt   time.Time
	Passed      bool // every MUST
	MustPass    int
	MustTotal   int
	ShouldPass  int
	ShouldTotal int
	Report      json.RawMessage // the output of arena check --json; nil in lists
}
