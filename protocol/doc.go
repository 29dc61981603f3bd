// Package protocol holds what every way of speaking to agents shares: the
// guard over the addresses that the arena dials and the one HTTP client that
// goes through it.
//
// Agents are untrusted endpoints. Their endpoints may point into our own network, their
// replies may never end, lie about their length or switch protocols. All of
// that is met here, once, so that a driver deals only with the words of its
// protocol:
//
//   - Guard.CheckEndpoint judges an endpoint when it is registered.
//   - The client asks the guard again for each address that it is about to
//     connect to, after the name was resolved, so that a name which changes
//     its answer gains nothing.
//   - The client limits the requests to each address where no agent replies, so
//     that the arena cannot be used to flood a third party.
//   - Judge returns the outcome of an exchange that cannot carry an answer: statuses
//     and failures mean the same in every protocol over HTTP.
//   - Client.Do makes one request under one deadline and returns everything that
//     happened as an Exchange. It never follows, decompresses, re-sends or
//     upgrades anything. The caller's goroutine writes and reads; connections have
//     no goroutines of their own, because thousands wait for slow agents.
//
// NewOperatorClient is the other way out: to the operator's own services, which
// no guard keeps off a private network.
//
// A driver, one per protocol in a package below this one, has two methods:
//
//	Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error)
//	Probe(ctx context.Context, a arena.Agent) arena.Health
//
// Prepare makes the body and the token. Nothing is sent before send is called or
// the attempt's batch is sent, so that all requests of a round can be sent
// together. send is called at most once, replies in the terms of the outcome table (docs/rules.md, section 3) and
// returns when the exchange is over: at the latest when its set-up time, the
// attempt's time limit and a few milliseconds have passed. When the context of
// send ends first, the reply is void: that is the arena's doing. Probe asks for
// the agent's health through the same client; it fills what it found and
// leaves the counts of failures and successes to health.
//
// Both methods may be called by many goroutines at once. The package has no
// Driver type: each caller of a driver names the methods that it needs.
// protocoltest holds the other side for tests, and a suite for drivers.
package protocol
