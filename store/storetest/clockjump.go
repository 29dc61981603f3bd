package storetest

import "time"

// clockJump: threat C7, a lease ends by the clock of the database. What the
// clock of a node says ends none and keeps none.
func clockJump(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	m := f.begin("m_1", "trivia", f.agents("a", "b")...)
	for _, jump := range []time.Duration{time.Hour, -2 * time.Hour, 24 * time.Hour, -365 * 24 * time.Hour} {
		f.clock.advance(jump)
		f.equal(0, len(must(f.ClaimMatches(ctx, "nd_2", ttl, 10))(f)))
		held := must(f.RenewLeases(ctx, m.Lease.Node, []string{"m_1"}, ttl))(f)
		f.equal(1, len(held))
		f.equal(m.Lease, held[0])
	}
	f.clock.advance(-time.Hour)
	f.equal(1, len(must(f.RenewLeases(ctx, m.Lease.Node, []string{"m_1"}, -time.Second))(f))) // it ends now
	f.equal([]string{"m_1"}, matchIDs(must(f.ClaimMatches(ctx, "nd_2", ttl, 10))(f)))
}
