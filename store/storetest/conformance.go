package storetest

import (
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
)

func conformance(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	f.fails(arena.CodeNotFound, second(f.Conformance(ctx, ids[0])))
	f.fails(arena.CodeNotFound, f.SaveConformance(ctx, arena.Conformance{AgentID: "ag_none", Report: []byte(`{}`)}))
	check := func(version string, at time.Duration) arena.Conformance {
		c := arena.Conformance{
			AgentID: ids[0], Version: version, CheckedAt: start.Add(at), Passed: true, MustPass: 1, MustTotal: 2, ShouldPass: 3, ShouldTotal: 4,
			Report: []byte(fmt.Sprintf(`{"checks":["%s\u0000"]}`, version)),
		}
		f.ok(f.SaveConformance(ctx, c))
		return c
	}
	check("1", 0)
	two := check("2", time.Hour)
	f.equal(two, must(f.Conformance(ctx, ids[0]))(f))
	one := check("1", 2*time.Hour) // an old version once more
	f.equal(one, must(f.Conformance(ctx, ids[0]))(f))
	one.Report = nil
	f.equal(map[string]arena.Conformance{ids[0]: one}, must(f.Conformances(ctx, ids))(f))

	// Due is who calls itself otherwise, is well and free, after a while.
	change := func(apply func(*arena.Agent)) {
		_, _, err := f.UpdateAgent(ctx, ids[0], func(a *arena.Agent) error { apply(a); return nil })
		f.ok(err)
	}
	now := start.Add(3 * time.Hour)
	due := func() string {
		a, ok, err := f.DueForConformance(ctx, now, now.Add(-time.Hour))
		f.ok(err)
		f.equal(ok, a.ID != "")
		return a.ID
	}
	change(func(a *arena.Agent) { a.Version, a.Health.OK = "1", true })
	f.equal("", due())
	change(func(a *arena.Agent) { a.Version = "3" })
	f.equal(ids[0], due())
	now = now.Add(-time.Second)
	f.equal("", due()) // too soon
	now = now.Add(time.Second)
	change(func(a *arena.Agent) { a.Health.OK = false })
	f.equal("", due())
	change(func(a *arena.Agent) {
		a.Health.OK = true
		a.SetPause(arena.Pause{Reason: arena.PauseOwner, Since: start})
	})
	f.equal("", due())
	change(func(a *arena.Agent) { a.LiftPause(arena.PauseOwner) })
	f.begin("m_1", "trivia", ids...)
	f.equal("", due())

	// Old versions are forgotten.
	for i := range 25 {
		check(fmt.Sprint("v", i), 4*time.Hour+time.Duration(i))
	}
	f.equal("v9", must(f.Conformance(ctx, ids[0]))(f).Version)
}
