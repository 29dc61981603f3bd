package quota

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Limits bound what one caller may ask for (docs/rules.md, section 3). Zero
// switches a limit off.
type Limits struct {
	AddressPerMinute  int // requests of one address without a good token
	OwnerPerMinute    int // requests of one owner, with any of its tokens, keys and sessions
	SignUpsPerHour    int // new owners from one address
	ChecksPerMinute   int // endpoint checks that one owner may cause (threat S7)
	ChecksPerHost     int // a minute, that owners ask for, of all agents on one server (threat N4)
	RehearsalsPerHour int // of one owner
	PasswordsPerHour  int // of leagues, that one owner may try (threat A4)
	AgentsPerOwner    int // agents of one owner that are not retired (threat S7: each is checked for as long as it exists)
	ChallengesPerDay  int // of one owner
	ChallengedPerDay  int // of one opponent, by all owners
	JudgingPerHour    int // seconds of processor time to judge the answers of one owner (threat J9)

	StreamsPerAddress int // open at once
	PollsPerAddress   int // of the relay, waiting at once
	SocketsPerAddress int // of AgentProtocol, open at once
	RefusedPerMinute  int // messages of AgentProtocol from unknown senders, of one address

	// Of one address: to the protocols and the stream together, as many of all owners to
	// the API, and to the pages.
	RequestsPerMinute int
	PagesPerMinute    int
	BytesPerMinute    int // in both directions, to each of the two
}

// DefaultLimits returns the limits in docs/rules.md.
func DefaultLimits() Limits {
	return Limits{
		AddressPerMinute: 60, OwnerPerMinute: 600, SignUpsPerHour: 120, ChecksPerMinute: 240, ChecksPerHost: 240, RehearsalsPerHour: 12, PasswordsPerHour: 60,
		AgentsPerOwner: 200, ChallengesPerDay: 20, ChallengedPerDay: 60, JudgingPerHour: 300,
		StreamsPerAddress: 64, PollsPerAddress: 1000, SocketsPerAddress: 64, RefusedPerMinute: 120,
		RequestsPerMinute: 6000, PagesPerMinute: 600, BytesPerMinute: 256 << 20,
	}
}

const (
	day = 24 * time.Hour
	// crowdWindow exceeds the longest round.
	crowdWindow = time.Hour
)

// Shared removes one of limit tokens of key, which return over window, and
// counts over all nodes. Without a token it returns the time to wait for one.
// An error means that the nodes cannot count together now.
type Shared func(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, ok bool, err error)

// Options are the parts of a Set.
type Options struct {
	Limits Limits
	Shared Shared // nil: this node is alone
	Now    func() time.Time
	Logger *slog.Logger
}

// Set holds the quotas of one node. Some count over all nodes, as documented there.
type Set struct {
	Limits Limits

	Address    *Quota // requests without a good token, by address
	Owner      *Quota // requests with a good token or session, by owner
	Owners     *Quota // the same of all owners, by address
	Guess      *Quota // bad tokens, by address, over all nodes
	SignUp     *Quota // by address, over all nodes
	Check      *Quota // endpoint checks, by owner
	CheckHost  *Quota // endpoint checks that owners ask for, by server, over all nodes
	Rehearsal  *Quota // by owner, over all nodes
	Password   *Quota // league passwords, by owner, over all nodes
	Challenge  *Quota // by owner, over all nodes
	Challenged *Quota // by opponent, over all nodes
	Judging    *Quota // milliseconds of processor time to judge answers, by owner, over all nodes
	Crowd      *Quota // guesses of spectators, one by an address and what follows it, over all nodes
	Refused    *Quota // messages of AgentProtocol from unknown senders, by address

	Protocols *Traffic // of the protocols and the stream
	Pages     *Traffic

	Streams *Slots // open streams, by address
	Polls   *Slots // waiting polls of the relay, by address
	Sockets *Slots // open sockets of AgentProtocol, by address

	kinds map[string]*Quota // all of them, by their name in metrics
}

// New makes the quotas of a node.
func New(o Options) *Set {
	l := o.Limits
	local := func(most int, per time.Duration, refusal string) *Quota {
		return &Quota{o: o, local: newLimiter(most, per), refusal: refusal, shares: shares}
	}
	shared := func(name string, most int, per time.Duration, refusal string) *Quota {
		return &Quota{o: o, local: newLimiter(most, per), name: name, most: most, per: per, refusal: refusal, shares: shares}
	}
	const requests = "too many requests from this address"
	s := &Set{
		Limits:     l,
		Address:    local(l.AddressPerMinute, time.Minute, requests).byAddress(),
		Owner:      local(l.OwnerPerMinute, time.Minute, "too many requests with the tokens, keys and sessions of this owner"),
		Owners:     local(l.RequestsPerMinute, time.Minute, "too many requests of owners at this address").byAddress(),
		SignUp:     shared("signup", l.SignUpsPerHour, time.Hour, "too many sign-ups from this address").byAddress(),
		Check:      local(l.ChecksPerMinute, time.Minute, "too many endpoint checks"),
		CheckHost:  shared("check", l.ChecksPerHost, time.Minute, "too many checks of agents on this host"),
		Rehearsal:  shared("rehearsal", l.RehearsalsPerHour, time.Hour, "too many rehearsals of this owner's agents"),
		Password:   shared("password", l.PasswordsPerHour, time.Hour, "too many passwords of this owner"),
		Challenge:  shared("challenge", l.ChallengesPerDay, day, "too many challenges of this owner's agents"),
		Challenged: shared("challenged", l.ChallengedPerDay, day, "this agent was challenged too often"),
		Judging:    shared("judging", l.JudgingPerHour*1000, time.Hour, "the answers of this owner's agents took too much processor time to judge"),
		Crowd:      shared("crowd", 1, crowdWindow, "someone at this address has answered this question already"),
		Refused:    local(l.RefusedPerMinute, time.Minute, "too many refused messages from this address").byAddress(),

		Protocols: newTraffic(l.RequestsPerMinute, l.BytesPerMinute, o.Now),
		Pages:     newTraffic(l.PagesPerMinute, l.BytesPerMinute, o.Now),

		Streams: NewSlots(l.StreamsPerAddress, "your network has as many streams open as it may"),
		Polls:   NewSlots(l.PollsPerAddress, "your network has as many polls waiting as it may"),
		Sockets: NewSlots(l.SocketsPerAddress, "your network has as many sockets open as it may"),
	}
	// The quota Address has counted a bad token on this node already.
	s.Guess = shared("login", l.AddressPerMinute, time.Minute, requests).byAddress()
	s.Guess.local = nil
	s.Crowd.shares = addressedShares
	s.kinds = map[string]*Quota{
		"address": s.Address, "token": s.Owner, "owners": s.Owners, "guess": s.Guess, "signup": s.SignUp, "check": s.Check, "check_host": s.CheckHost,
		"rehearsal": s.Rehearsal, "password": s.Password, "challenge": s.Challenge, "challenged": s.Challenged, "judging": s.Judging, "crowd": s.Crowd, "unknown_sender": s.Refused,
	}
	return s
}

// Take counts a request of a known caller, for its owner and for all owners at its address.
// An owner that sends too much takes nothing from the others there: what the quota of
// the owner refuses is not counted for the address.
func (s *Set) Take(ctx context.Context, c arena.Caller) error {
	if err := s.Owner.Take(ctx, c.Account()); err != nil {
		return err
	}
	if err := s.Owners.Take(ctx, c.Address); err != nil {
		s.Owner.Return(c.Account())
		return err
	}
	return nil
}

// Return undoes one Take of a caller.
func (s *Set) Return(c arena.Caller) {
	s.Owner.Return(c.Account())
	s.Owners.Return(c.Address)
}

// Refusals returns how often each quota refused a caller on this node, by kind.
func (s *Set) Refusals() map[string]int64 {
	counts := make(map[string]int64, len(s.kinds))
	for kind, q := range s.kinds {
		counts[kind] = q.refused.Load()
	}
	return counts
}

// Quota is how often each caller may do one thing. It is safe for concurrent
// use.
type Quota struct {
	o       Options
	local   *limiter // nil: this node does not count
	name    string   // of the buckets shared by all nodes, "" none
	most    int
	per     time.Duration
	refusal string
	shares  func(caller string) []share
	refused atomic.Int64
}

func (q *Quota) byAddress() *Quota {
	q.shares = addressShares
	return q
}

// Take uses one of the caller's tokens. When there is none, the error has the
// code rate_limited and the time to wait. The nodes count together after this
// one has let the caller through; when they cannot, this node's count holds.
func (q *Quota) Take(ctx context.Context, caller string) error {
	of := q.shares(caller)
	wait, ok := q.local.take(of, q.o.Now())
	for _, s := range of {
		if ok {
			wait, ok = q.takeShared(ctx, s)
		}
	}
	if !ok {
		q.refused.Add(1)
		return Exceeded(wait, q.refusal)
	}
	return nil
}

// Charge takes used milliseconds from the caller's quota, even if it has less left.
// The other nodes count them in parts of a second until the quota is used up.
func (q *Quota) Charge(ctx context.Context, caller string, used time.Duration) {
	of := q.shares(caller)
	q.local.charge(of, int(used.Milliseconds()), q.o.Now())
	if q.name == "" || q.o.Shared == nil || q.most <= 0 {
		return
	}
	for used = used.Truncate(time.Millisecond); used > 0; used -= time.Second {
		part := int(min(used, time.Second).Milliseconds())
		for _, s := range of {
			if _, ok, err := q.o.Shared(ctx, q.name+":"+s.key, max(q.most*s.factor/part, 1), q.per); err != nil || !ok {
				return
			}
		}
	}
}

// Return undoes one Take of the caller on this node. It does not exceed the
// limit.
func (q *Quota) Return(caller string) { q.local.giveBack(q.shares(caller), q.o.Now()) }

// Check returns the error that Take would return on this node, and uses no
// token.
func (q *Quota) Check(caller string) error {
	if wait := q.local.wait(q.shares(caller), q.o.Now()); wait > 0 {
		return Exceeded(wait, q.refusal)
	}
	return nil
}

func (q *Quota) takeShared(ctx context.Context, of share) (wait int, ok bool) {
	if q.name == "" || q.o.Shared == nil || q.most <= 0 {
		return 0, true
	}
	d, ok, err := q.o.Shared(ctx, q.name+":"+of.key, q.most*of.factor, q.per)
	if err != nil {
		q.o.Logger.DebugContext(ctx, "limit was not counted over all nodes", "limit", q.name, "error", err)
		return 0, true
	}
	return int(math.Ceil(d.Seconds())), ok
}

// Traffic is how many requests and bytes one part of the arena exchanges with
// each address on this node. It is safe for concurrent use.
type Traffic struct {
	requests, bytes *limiter
	now             func() time.Time
}

func newTraffic(requests, bytes int, now func() time.Time) *Traffic {
	return &Traffic{requests: newLimiter(requests, time.Minute), bytes: newLimiter(bytes, time.Minute), now: now}
}

// Take uses one request of the address. It fails with the code rate_limited when
// there is none, or when all bytes of the address are used.
func (t *Traffic) Take(address string) error {
	of := addressShares(address)
	if wait := t.bytes.wait(of, t.now()); wait > 0 {
		return Exceeded(wait, "too many bytes from and to this address")
	}
	if wait, ok := t.requests.take(of, t.now()); !ok {
		return Exceeded(wait, "too many requests from this address")
	}
	return nil
}

// Charge counts bytes from or to the address, however many it has left: what
// was let in is served to its end.
func (t *Traffic) Charge(address string, bytes int) {
	t.bytes.charge(addressShares(address), bytes, t.now())
}

// Exceeded returns the error for a caller over its quota.
func Exceeded(seconds int, refusal string) *arena.Error {
	e := arena.Errorf(arena.CodeRateLimited, "%s", refusal+"; try again in "+strconv.Itoa(seconds)+" s")
	e.RetryAfter = time.Duration(seconds) * time.Second
	return e
}
