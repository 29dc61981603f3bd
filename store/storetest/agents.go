package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

func createAgent(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	a := f.agent("a", func(a *arena.Agent) {
		a.Leagues = []string{"sums", "trivia"}
		a.Mark = "star-teal"
		a.Pauses = []arena.Pause{
			{Reason: arena.PauseOwner, Since: start},
			{Reason: arena.PauseRateLimit, Since: start, Until: start.Add(time.Minute)},
		}
	})
	f.equal(a, must(f.Agents.Agent(ctx, a.ID))(f))
	f.equal(map[string]arena.Agent{a.ID: a}, must(f.Agents.AgentsByID(ctx, []string{a.ID, "ag_none"}))(f))
	free := f.agent("free", func(b *arena.Agent) {
		b.Pauses = []arena.Pause{{Reason: arena.PauseRateLimit, Since: start, Until: start.Add(time.Minute)}}
	})
	gone := f.agent("gone", func(b *arena.Agent) { b.RetiredAt, b.Mark = start, "dots-red" })
	f.equal(map[string]string{a.ID: "star-teal", gone.ID: "dots-red"}, must(f.Agents.Marks(ctx))(f))
	_, _, err := f.Agents.UpdateAgent(ctx, gone.ID, func(b *arena.Agent) error { b.Mark = ""; return nil })
	f.ok(err)
	f.equal(map[string]string{a.ID: "star-teal"}, must(f.Agents.Marks(ctx))(f))
	f.equal(map[string]arena.Cooldown{a.ID: {Pauses: a.Pauses}, gone.ID: {Retired: true}},
		must(f.Agents.Cooldowns(ctx, []string{a.ID, free.ID, gone.ID, "ag_none"}, start.Add(time.Minute)))(f))
	f.equal(free.Pauses, must(f.Agents.Cooldowns(ctx, []string{free.ID}, start.Add(time.Minute-1)))(f)[free.ID].Pauses)
	f.equal(1, must(f.Leagues.League(ctx, "sums"))(f).Agents)

	_, err = f.Agents.Agent(ctx, "ag_none")
	f.fails(arena.CodeNotFound, err)
	same := arena.Agent{ID: "ag_2", OwnerID: a.OwnerID, Name: "A", CreatedAt: start}
	f.fails(arena.CodeNameTaken, f.Agents.CreateAgent(ctx, same))
	f.owner("other")
	theirs := arena.Agent{ID: "ag_other", OwnerID: "ow_other", Name: "А", CreatedAt: start} // Cyrillic
	f.fails(arena.CodeNameTaken, f.Agents.CreateAgent(ctx, theirs))
	theirs.RetiredAt = start
	f.ok(f.Agents.CreateAgent(ctx, theirs)) // the name of a retired agent is nobody's
	f.fails(arena.CodeNotFound, f.Agents.CreateAgent(ctx, arena.Agent{ID: "ag_3", OwnerID: "ow_none", Name: "x", CreatedAt: start}))
	f.fails(arena.CodeNotFound, f.Agents.CreateAgent(ctx, arena.Agent{ID: "ag_4", OwnerID: a.OwnerID, Name: "y", Leagues: []string{"none"}}))
	_, err = f.Agents.Agent(ctx, "ag_4")
	f.fails(arena.CodeNotFound, err)

	// An agent and its first key are stored together or not at all.
	polls := arena.Agent{ID: "ag_polls", OwnerID: a.OwnerID, Name: "polls", CreatedAt: start}
	key := arena.Token{ID: "to_polls", OwnerID: a.OwnerID, AgentID: polls.ID, Scope: arena.ScopeAgent, Hash: token("to_other", "").Hash, CreatedAt: start}
	if err := f.Agents.CreateAgentWithKey(ctx, polls, key); err == nil {
		f.t.Error("two tokens have one secret")
	}
	_, err = f.Agents.Agent(ctx, polls.ID)
	f.fails(arena.CodeNotFound, err)
	key.Hash = token(key.ID, "").Hash
	f.ok(f.Agents.CreateAgentWithKey(ctx, polls, key))
	f.equal(polls.ID, must(f.Accounts.TokenByHash(ctx, key.Hash))(f).AgentID)

	// An agent without health allows one running seat.
	f.ok(f.Agents.CreateAgent(ctx, arena.Agent{ID: "ag_5", OwnerID: a.OwnerID, Name: "z", CreatedAt: start}))
	f.equal(1, must(f.Agents.Agent(ctx, "ag_5"))(f).Health.MaxConcurrent)
}

func listAgents(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.agents("ant", "bee", "cat_%")
	f.agent("dog", func(a *arena.Agent) { a.RetiredAt = start; a.OwnerID = "ow_ant" })
	f.agent("Éel", func(a *arena.Agent) { a.OwnerID = "ow_ant" })
	f.ok(f.Leagues.Enter(ctx, "trivia", "ag_bee", start))
	f.ok(f.Leagues.Enter(ctx, "trivia", "ag_ant", start))
	f.ok(f.Leagues.Withdraw(ctx, "trivia", "ag_ant", start))
	for _, c := range []struct {
		filter arena.AgentFilter
		want   []string
	}{
		{arena.AgentFilter{}, []string{"Éel", "cat_%", "bee", "ant"}},
		{arena.AgentFilter{Retired: true}, []string{"Éel", "dog", "cat_%", "bee", "ant"}},
		{arena.AgentFilter{OwnerID: "ow_ant"}, []string{"Éel", "ant"}},
		{arena.AgentFilter{League: "trivia"}, []string{"bee"}},
		{arena.AgentFilter{Query: "BE"}, []string{"bee"}},
		{arena.AgentFilter{Query: "éE"}, []string{"Éel"}},
		{arena.AgentFilter{Query: "_%"}, []string{"cat_%"}},
		{arena.AgentFilter{Query: `\`}, nil},
		{arena.AgentFilter{Query: "a\x00\xff"}, nil},
		{arena.AgentFilter{OwnerID: "ow_none"}, nil},
	} {
		items, next, err := f.Agents.Agents(ctx, c.filter, arena.Page{Limit: 10})
		f.ok(err)
		f.equal("", next)
		var names []string
		for _, a := range items {
			names = append(names, a.Name)
		}
		f.equal(c.want, names)
	}
	due := must(f.Agents.DueForProbe(ctx))(f)
	f.equal(4, len(due))
	f.equal(false, slices.ContainsFunc(due, func(a arena.Agent) bool { return a.Name == "dog" }))
}

// healthyEndpoints samples one endpoint of each owner.
func healthyEndpoints(f *fixture) {
	ctx := f.t.Context()
	well := func(change func(*arena.Agent)) func(*arena.Agent) {
		return func(a *arena.Agent) {
			a.PassedAt, a.Endpoint, a.Health.OK = start, "https://"+a.ID+".example", true
			if change != nil {
				change(a)
			}
		}
	}
	f.agent("a", well(nil))
	for _, name := range []string{"b", "c", "d"} {
		f.agent(name, well(func(a *arena.Agent) { a.OwnerID = "ow_a" }))
	}
	f.agent("e", well(nil))
	f.agent("retired", well(func(a *arena.Agent) { a.RetiredAt = start }))
	f.agent("pending", well(func(a *arena.Agent) { a.PassedAt = time.Time{} }))
	f.agent("unhealthy", well(func(a *arena.Agent) { a.Health.OK = false }))
	f.agent("polls", well(func(a *arena.Agent) { a.Endpoint = "" }))
	for range 5 {
		var owners []string
		for _, a := range must(f.Agents.HealthyEndpoints(ctx, 10))(f) {
			owners = append(owners, a.OwnerID)
		}
		slices.Sort(owners)
		f.equal([]string{"ow_a", "ow_e"}, owners)
	}
	f.equal(1, len(must(f.Agents.HealthyEndpoints(ctx, 1))(f)))
}

func updateAgent(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	was := f.agent("a", func(a *arena.Agent) { a.Leagues = []string{"trivia"} })
	f.agent("b", func(a *arena.Agent) { a.OwnerID, a.OwnerName = "ow_a", "a" })

	want := was
	want.Name, want.Endpoint, want.Version, want.Description, want.PublicKey = "A2", "http://x", "2", "d", "k2"
	want.Pauses = []arena.Pause{{Reason: arena.PauseHealth, Since: start}}
	want.Health = arena.Health{Capabilities: []string{"x", "y"}, MaxConcurrent: 7, Failures: 3}
	want.PassedAt, want.EndpointSince = start.Add(time.Hour), start.Add(2*time.Hour)
	before, after, err := f.Agents.UpdateAgent(ctx, was.ID, func(a *arena.Agent) error {
		f.equal(was, *a)
		*a = want
		a.ID, a.OwnerID, a.Protocol, a.CreatedAt, a.Leagues, a.Running = "other", "other", "other", time.Time{}, nil, 9 // not written
		return nil
	})
	f.ok(err)
	f.equal(was, before)
	f.equal(want, after)
	f.equal(want, must(f.Agents.Agent(ctx, was.ID))(f))

	refused := errors.New("refused")
	_, _, err = f.Agents.UpdateAgent(ctx, was.ID, func(a *arena.Agent) error { a.Name = "never"; return refused })
	if !errors.Is(err, refused) {
		f.t.Fatalf("error of apply is lost: %v", err)
	}
	_, _, err = f.Agents.UpdateAgent(ctx, was.ID, func(a *arena.Agent) error { a.Name = "B"; return nil })
	f.fails(arena.CodeNameTaken, err)
	_, _, err = f.Agents.UpdateAgent(ctx, "ag_none", func(*arena.Agent) error { return nil })
	f.fails(arena.CodeNotFound, err)
	f.equal(want, must(f.Agents.Agent(ctx, was.ID))(f))
}

func retireAgent(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	a := f.agent("a", func(a *arena.Agent) { a.Leagues = []string{"trivia"} })
	_, after, err := f.Agents.UpdateAgent(ctx, a.ID, func(a *arena.Agent) error { a.RetiredAt = start.Add(time.Hour); return nil })
	f.ok(err)
	f.equal(0, len(after.Leagues))
	f.equal(0, must(f.Leagues.League(ctx, "trivia"))(f).Agents)
	f.equal(0, len(must(f.Agents.DueForProbe(ctx))(f)))
	// Its name is free again, for its owner too.
	f.ok(f.Agents.CreateAgent(ctx, arena.Agent{ID: "ag_2", OwnerID: a.OwnerID, Name: "A", CreatedAt: start}))
}

func updateAgentRace(f *fixture) {
	ctx := f.t.Context()
	a := f.agent("a")
	nodes := []*store.Agents{f.Agents, f.another().Agents}
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			_, _, errs[i] = nodes[i%2].UpdateAgent(ctx, a.ID, func(a *arena.Agent) error { a.Health.Failures++; return nil })
		})
	}
	wg.Wait()
	f.ok(errors.Join(errs...))
	f.equal(a.Health.Failures+len(errs), must(f.Agents.Agent(ctx, a.ID))(f).Health.Failures)
}

func recordProbes(f *fixture) {
	ctx := f.t.Context()
	a := f.agent("a")
	late := time.Date(2020, 3, 1, 23, 59, 59, 0, time.UTC)
	for _, p := range []struct {
		at time.Time
		ok bool
	}{{start.AddDate(0, 0, -5), true}, {late, true}, {late, false}, {late, true}, {late.Add(time.Second), false}} {
		recorded := must(f.Agents.RecordProbes(ctx, p.at, []arena.Probe{{AgentID: a.ID, OK: p.ok, Apply: func(a *arena.Agent) error {
			a.Health.CheckedAt, a.Health.Failures = p.at, a.Health.Failures+1
			return nil
		}}}))(f)
		f.equal(p.at, recorded[0].After.Health.CheckedAt)
		f.equal(recorded[0].After, must(f.Agents.Agent(ctx, a.ID))(f))
	}
	// More than one transaction takes, of which some are not recorded.
	refused := errors.New("refused")
	var many []arena.Probe
	paused := arena.Pause{Reason: arena.PauseHealth, Since: start}
	for i := range 300 {
		id := fmt.Sprintf("m%03d", i)
		f.agent(id, func(m *arena.Agent) { m.OwnerID = a.OwnerID })
		many = append(many, arena.Probe{AgentID: "ag_" + id, Apply: func(m *arena.Agent) error {
			m.SetPause(paused)
			m.PassedAt, m.Health.Capabilities, m.Health.Reason = start, []string{id}, "refused"
			return nil
		}})
	}
	many[7].AgentID = "ag_none"
	many[8].Apply = func(*arena.Agent) error { return refused }
	recorded := must(f.Agents.RecordProbes(ctx, late, many))(f)
	f.fails(arena.CodeNotFound, recorded[7].Err)
	f.equal(true, errors.Is(recorded[8].Err, refused))
	f.equal(0, len(must(f.Agents.Uptime(ctx, "ag_m008", start))(f)))
	for _, i := range []int{0, 299} {
		f.equal(recorded[i].After, must(f.Agents.Agent(ctx, many[i].AgentID))(f))
		f.equal([]arena.Pause{paused}, recorded[i].After.Pauses)
		f.equal([]arena.Pause(nil), recorded[i].Before.Pauses)
	}
	f.equal([]arena.UptimeDay{{Day: "2020-03-01", OK: 2, Failed: 1}, {Day: "2020-03-02", Failed: 1}},
		must(f.Agents.Uptime(ctx, a.ID, start))(f))
}

// pages walks every list with the smallest page and with bad ones.
// Threats A5, L3: cursors and limits from outside.
func pages(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c", "d", "e")
	m := f.open("m_0", ids[0], ids[1])
	for i := range 4 {
		f.match(fmt.Sprintf("m_%d", i+1), "trivia", ids[0], ids[1])
	}
	var sent []arena.Delivery
	for i := range 5 {
		f.ok(f.Packs.CreatePack(ctx, arena.Pack{ID: fmt.Sprintf("pk_%d", i), CreatedAt: start}, nil))
		sent = append(sent, arena.Delivery{ID: fmt.Sprintf("dl_%d", i), AgentID: ids[0], Round: 1, SentAt: start})
	}
	_, err := f.Matches.SaveAnswer(ctx, m.Lease, arena.Answer{Round: 1, AgentID: ids[0], Outcome: arena.OutcomeTimeout}, sent, nil)
	f.ok(err)

	lists := map[string]func(arena.Page) ([]string, string, error){
		"agents": func(p arena.Page) ([]string, string, error) {
			items, next, err := f.Agents.Agents(ctx, arena.AgentFilter{}, p)
			return pick(items, func(a arena.Agent) string { return a.ID }), next, err
		},
		"matches": func(p arena.Page) ([]string, string, error) {
			items, next, err := f.Matches.Matches(ctx, arena.MatchFilter{}, p)
			return pick(items, func(m arena.Match) string { return m.ID }), next, err
		},
		"packs": func(p arena.Page) ([]string, string, error) {
			items, next, err := f.Packs.Packs(ctx, p)
			return pick(items, func(p arena.Pack) string { return p.ID }), next, err
		},
		"deliveries": func(p arena.Page) ([]string, string, error) {
			items, next, err := f.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: ids[0]}, p)
			return pick(items, func(d arena.Delivery) string { return d.ID }), next, err
		},
	}
	cursors := map[string]string{}
	for name, list := range lists {
		var seen []string
		for cursor := ""; ; {
			ids, next, err := list(arena.Page{Limit: 2, Cursor: cursor})
			f.ok(err)
			seen = append(seen, ids...)
			if next == "" {
				break
			}
			cursor, cursors[name] = next, next
		}
		f.equal(5, len(seen))
		if !slices.IsSortedFunc(seen, func(a, b string) int { return -cmp.Compare(a, b) }) {
			f.t.Fatalf("%s are not newest first: %v", name, seen)
		}
		exact, next, err := list(arena.Page{Limit: 5})
		f.ok(err)
		f.equal(5, len(exact))
		f.equal("", next)
		for _, limit := range []int{-1, 0, 101} {
			_, _, err := list(arena.Page{Limit: limit})
			f.fails(arena.CodeInvalid, err)
		}
		for _, bad := range []string{"x", "!!", "bTo", "YTo", "Og", "' OR 1=1", "YTr_", "YTph_w", "YToAeA", "bToAeA", "YTpheA!!", "bTpheA!!"} {
			_, _, err := list(arena.Page{Limit: 2, Cursor: bad})
			f.fails(arena.CodeInvalid, err)
		}
	}
	_, _, err = lists["agents"](arena.Page{Limit: 2, Cursor: cursors["matches"]})
	f.fails(arena.CodeInvalid, err)
}

func pick[T any](items []T, id func(T) string) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = id(item)
	}
	return ids
}

// A name belongs to one agent until that agent is renamed or retired. Threat T5.
func agentNames(f *fixture) {
	ctx := f.t.Context()
	f.agent("Ada")
	f.agent("bob")
	rename := func(id, name string) error {
		_, _, err := f.Agents.UpdateAgent(ctx, id, func(a *arena.Agent) error { a.Name = name; return nil })
		return err
	}
	f.fails(arena.CodeNameTaken, rename("ag_bob", "АDA")) // with a Cyrillic A
	f.ok(rename("ag_bob", "b0b"))                         // alike to its own
	f.ok(rename("ag_Ada", "Eve"))
	f.ok(rename("ag_bob", "Ada"))
	_, _, err := f.Agents.UpdateAgent(ctx, "ag_bob", func(a *arena.Agent) error { a.RetiredAt = start; return nil })
	f.ok(err)
	f.ok(rename("ag_Ada", "Bob"))
	f.ok(rename("ag_Ada", "Ada"))
	f.ok(f.Agents.CreateAgent(ctx, arena.Agent{ID: "ag_new", OwnerID: "ow_bob", Name: "Bob", CreatedAt: start}))
	f.ok(f.Migrate(ctx))
	f.fails(arena.CodeNameTaken, rename("ag_new", "adа"))
}

func conformance(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	f.fails(arena.CodeNotFound, second(f.Agents.Conformance(ctx, ids[0])))
	f.fails(arena.CodeNotFound, f.Agents.SaveConformance(ctx, arena.Conformance{AgentID: "ag_none", Report: []byte(`{}`)}))
	check := func(version string, at time.Duration) arena.Conformance {
		c := arena.Conformance{
			AgentID: ids[0], Version: version, CheckedAt: start.Add(at), Passed: true, MustPass: 1, MustTotal: 2, ShouldPass: 3, ShouldTotal: 4,
			Report: []byte(fmt.Sprintf(`{"checks":["%s\u0000"]}`, version)),
		}
		f.ok(f.Agents.SaveConformance(ctx, c))
		return c
	}
	check("1", 0)
	two := check("2", time.Hour)
	f.equal(two, must(f.Agents.Conformance(ctx, ids[0]))(f))
	one := check("1", 2*time.Hour) // an old version once more
	f.equal(one, must(f.Agents.Conformance(ctx, ids[0]))(f))
	one.Report = nil
	f.equal(map[string]arena.Conformance{ids[0]: one}, must(f.Agents.Conformances(ctx, ids))(f))

	// Due is who calls itself otherwise, is well and free, after a while.
	change := func(apply func(*arena.Agent)) {
		_, _, err := f.Agents.UpdateAgent(ctx, ids[0], func(a *arena.Agent) error { apply(a); return nil })
		f.ok(err)
	}
	now := start.Add(3 * time.Hour)
	due := func() string {
		a, ok, err := f.Agents.DueForConformance(ctx, now, now.Add(-time.Hour))
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
	f.equal("v9", must(f.Agents.Conformance(ctx, ids[0]))(f).Version)
}
