package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

func leagues(f *fixture) {
	ctx := f.t.Context()
	l := f.league("trivia")
	f.equal(l, must(f.Leagues.League(ctx, "trivia"))(f))
	f.fails(arena.CodeNameTaken, f.Leagues.CreateLeague(ctx, l))
	_, err := f.Leagues.League(ctx, "none")
	f.fails(arena.CodeNotFound, err)

	bad := l
	bad.Slug, bad.Settings.PackID = "other", "pk_none"
	f.fails(arena.CodeInvalid, f.Leagues.CreateLeague(ctx, bad))
	f.ok(f.Packs.CreatePack(ctx, arena.Pack{ID: "pk_1", CreatedAt: start}, nil))
	other := l
	other.Slug, other.CreatedAt, other.Settings.PackID, other.Settings.Generator = "other", start.Add(-time.Hour), "pk_1", nil
	f.ok(f.Leagues.CreateLeague(ctx, other))
	f.equal([]arena.League{other, l}, must(f.Leagues.Leagues(ctx))(f))

	want := l
	want.Title, want.Status, want.Schedule, want.Note, want.NextRunAt = "T", arena.LeagueRunning, "", arena.WaitsForAgentNote(2, "Ann"), time.Time{}
	want.Description, want.Prize, want.RulesText, want.SignupUntil, want.ArchivedAt, want.JudgeSince = "D", "P", "R", start, start.Add(time.Hour), start.Add(time.Minute)
	want.Settings.Rounds, want.Entry = 9, arena.EntryRules{Allow: []string{"ag_1"}}
	after, err := f.Leagues.UpdateLeague(ctx, "trivia", func(stored *arena.League) error {
		*stored = want
		stored.Slug, stored.Drift, stored.CreatedAt, stored.Agents = "x", 5, time.Time{}, 5 // not written
		return nil
	})
	f.ok(err)
	f.equal(want, after)
	f.equal(want, must(f.Leagues.League(ctx, "trivia"))(f))

	_, err = f.Leagues.UpdateLeague(ctx, "trivia", func(l *arena.League) error { l.Settings.PackID = "pk_none"; return nil })
	f.fails(arena.CodeInvalid, err)
	refused := errors.New("refused")
	_, err = f.Leagues.UpdateLeague(ctx, "trivia", func(l *arena.League) error { l.Title = "never"; return refused })
	if !errors.Is(err, refused) {
		f.t.Fatalf("error of apply is lost: %v", err)
	}
	_, err = f.Leagues.UpdateLeague(ctx, "none", func(*arena.League) error { return nil })
	f.fails(arena.CodeNotFound, err)
	f.equal(want, must(f.Leagues.League(ctx, "trivia"))(f))

	f.ok(f.Leagues.DeleteLeague(ctx, "other"))
	f.fails(arena.CodeNotFound, f.Leagues.DeleteLeague(ctx, "other"))
	f.agents("a", "b")
	f.begin("m_1", "trivia", "ag_a", "ag_b")
	f.fails(arena.CodeConflict, f.Leagues.DeleteLeague(ctx, "trivia"))
}

// A league has the built-in opponents that it names, whoever has their names. They are of
// one owner, whom no list shows.
func builtIn(f *fixture) {
	ctx := f.t.Context()
	kind := func(name string) arena.Agent {
		k, ok := arena.BuiltInOf(name)
		if !ok {
			f.t.Fatal(name)
		}
		return k.Agent(start)
	}
	random, greedy, known := kind("random"), kind("greedy"), kind("p60")
	f.agent(random.Name) // somebody was quicker
	l := f.league("four")
	name := func(names ...string) arena.League {
		return must(f.Leagues.UpdateLeague(ctx, "four", func(l *arena.League) error { l.Settings.BuiltIn = names; return nil }))(f)
	}
	f.equal(2, name("random", "greedy").Agents)
	l.Slug, l.Settings.BuiltIn = "sums", []string{"p60", "random"}
	f.ok(f.Leagues.CreateLeague(ctx, l))
	f.equal(2, must(f.Leagues.League(ctx, "sums"))(f).Agents)

	stored := must(f.Agents.Agent(ctx, random.ID))(f)
	f.equal(2, len(stored.Leagues))
	f.equal([]any{true, arena.AgentActive, arena.BuiltInOwnerID(), true}, []any{stored.BuiltIn(), stored.StatusAt(start), stored.OwnerID, stored.Health.MaxConcurrent >= 500})
	owners, _, err := f.Accounts.Owners(ctx, arena.OwnerFilter{}, arena.Page{Limit: 100})
	f.ok(err)
	f.equal(1, len(owners))

	f.equal(1, name("greedy").Agents)
	f.equal([]string{"sums"}, must(f.Agents.Agent(ctx, random.ID))(f).Leagues)
	f.equal(0, name().Agents)
	f.equal(0, len(must(f.Agents.Agent(ctx, greedy.ID))(f).Leagues))
	f.equal(2, name("greedy", "random").Agents)
	f.equal([]string{"sums"}, must(f.Agents.Agent(ctx, known.ID))(f).Leagues)

	rows := must(f.Leagues.Standings(ctx, "sums", start))(f)
	f.equal(2, len(rows))
	for _, row := range rows {
		row.Rating.Matches, row.Groups, row.Rating.LastRatedAt = 99, 9, start
		f.equal(false, row.Ranked(start))
	}
}

func enter(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	a := f.agent("a")
	entered := func() []string { return must(f.Agents.Agent(ctx, a.ID))(f).Leagues }
	f.ok(f.Leagues.Enter(ctx, "trivia", a.ID, start.Add(time.Minute)))
	f.ok(f.Leagues.Enter(ctx, "sums", a.ID, start))
	f.ok(f.Leagues.Enter(ctx, "trivia", a.ID, start)) // again: keeps its first time
	f.equal([]string{"sums", "trivia"}, entered())
	f.equal(1, must(f.Leagues.League(ctx, "trivia"))(f).Agents)

	f.ok(f.Leagues.Withdraw(ctx, "sums", a.ID, start))
	f.fails(arena.CodeNotFound, f.Leagues.Withdraw(ctx, "sums", a.ID, start))
	f.fails(arena.CodeNotFound, f.Leagues.Withdraw(ctx, "none", a.ID, start))
	f.equal([]string{"trivia"}, entered())
	f.ok(f.Leagues.Enter(ctx, "sums", a.ID, start.Add(time.Hour)))
	f.equal([]string{"trivia", "sums"}, entered())

	f.fails(arena.CodeNotFound, f.Leagues.Enter(ctx, "none", a.ID, start))
	f.fails(arena.CodeNotFound, f.Leagues.Enter(ctx, "trivia", "ag_none", start))
}

// gameScripts keeps every version of a game, and one for each source.
func gameScripts(f *fixture) {
	ctx := f.t.Context()
	version := func(n int) arena.GameScript {
		return arena.GameScript{
			Name: "nim", Version: strconv.Itoa(n), SHA256: fmt.Sprintf("%064d", n), Title: "Nim", Source: strings.Repeat("é", n),
			Report: json.RawMessage(`{"games":1}`), CreatedAt: start.Add(time.Duration(n) * time.Second), CreatedBy: "admin",
		}
	}
	entry := arena.AuditEntry{ID: "au_1", At: start, Actor: "admin", Action: "create-game", Target: "nim"}
	f.equal(version(2), must(f.Packs.CreateGameScript(ctx, version(2), entry))(f))
	f.equal(version(1), must(f.Packs.CreateGameScript(ctx, version(1)))(f))
	again := version(2)
	again.CreatedAt, again.CreatedBy = start.Add(time.Hour), "another"
	f.equal(version(2), must(f.Packs.CreateGameScript(ctx, again, entry))(f)) // a second entry with this id would fail
	other := version(3)
	other.Version = "2"
	_, err := f.Packs.CreateGameScript(ctx, other)
	f.fails(arena.CodeConflict, err)

	f.equal(version(2), must(f.Packs.GameScript(ctx, "nim", ""))(f))
	f.equal(version(1), must(f.Packs.GameScript(ctx, "nim", version(1).SHA256))(f))
	for _, none := range [][2]string{{"chess", ""}, {"nim", "00"}, {"chess", version(1).SHA256}} {
		_, err := f.Packs.GameScript(ctx, none[0], none[1])
		f.fails(arena.CodeNotFound, err)
	}
	one, two := version(1), version(2)
	one.Source, two.Source = "", ""
	f.equal([]arena.GameScript{two, one}, must(f.Packs.GameScripts(ctx))(f))
}

func packs(f *fixture) {
	ctx := f.t.Context()
	tasks := make([]arena.Task, 1_100) // more than one statement takes
	for i := range tasks {
		tasks[i] = arena.Task{ID: fmt.Sprintf("tk_%d", i), Description: "é\x00\"", Answers: []string{}, MaxTokens: i}
	}
	p := arena.Pack{ID: "pk_1", Name: "big", Format: "jsonl", Tasks: len(tasks), CreatedAt: start}
	f.ok(f.Packs.CreatePack(ctx, p, tasks))
	f.equal(p, must(f.Packs.Pack(ctx, p.ID))(f))
	f.equal(tasks[0], must(f.Packs.Task(ctx, p.ID, 0))(f))
	f.equal(tasks[1_099], must(f.Packs.Task(ctx, p.ID, 1_099))(f))
	for _, n := range []int{-1, 1_100} {
		_, err := f.Packs.Task(ctx, p.ID, n)
		f.fails(arena.CodeNotFound, err)
	}
	_, err := f.Packs.Task(ctx, "pk_none", 0)
	f.fails(arena.CodeNotFound, err)
	_, err = f.Packs.Pack(ctx, "pk_none")
	f.fails(arena.CodeNotFound, err)
	f.fails(arena.CodeConflict, f.Packs.CreatePack(ctx, p, nil))

	seen := 0
	f.ok(f.Packs.EachTask(ctx, p.ID, func(n int, task arena.Task) error {
		f.equal(seen, n)
		f.equal(tasks[n], task)
		seen++
		return nil
	}))
	f.equal(len(tasks), seen)
	refused := errors.New("refused")
	if err := f.Packs.EachTask(ctx, p.ID, func(int, arena.Task) error { return refused }); !errors.Is(err, refused) {
		f.t.Fatalf("the visitor's error is lost: %v", err)
	}

	full := round(1).Task
	full.Source, full.Cases = "pk_9/1", []arena.Case{{Args: []byte(`[1]`), Want: []byte(`2`)}}
	f.ok(f.Packs.CreatePack(ctx, arena.Pack{ID: "pk_2", CreatedAt: start}, []arena.Task{full}))
	f.equal(full, must(f.Packs.Task(ctx, "pk_2", 0))(f))
}

// Threats G1, G2 and G7: links of owners are found by server and key, and opponents
// count for a rank by group.
func ownerGroups(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	at := func(server, key string) func(*arena.Agent) {
		return func(g *arena.Agent) { g.EndpointKey, g.PublicKey = server, key }
	}
	star := f.agent("star", at("", ""))
	a := f.agent("a", at("one:443", ""))
	b := f.agent("b", at("one:443", "k"), func(g *arena.Agent) { g.RetiredAt = start })
	c := f.agent("c", at("two:443", "k"))
	const endpoint, key = arena.UnratedSharedEndpoint, arena.UnratedSharedKey
	always, optional := arena.OwnerLinkKinds()
	links := must(f.Agents.OwnerLinks(ctx, []string{c.OwnerID, b.OwnerID, star.OwnerID, "ow_none"}, always))(f)
	slices.SortFunc(links, func(x, y arena.OwnerLink) int { return strings.Compare(x.OwnerID+x.Value, y.OwnerID+y.Value) })
	f.equal([]arena.OwnerLink{
		{OwnerID: b.OwnerID, Kind: key, Value: "k", First: b.ID, FirstOf: b.OwnerID},
		{OwnerID: b.OwnerID, Kind: endpoint, Value: "one:443", First: a.ID, FirstOf: a.OwnerID},
		{OwnerID: c.OwnerID, Kind: key, Value: "k", First: b.ID, FirstOf: b.OwnerID},
		{OwnerID: c.OwnerID, Kind: endpoint, Value: "two:443", First: c.ID, FirstOf: c.OwnerID},
	}, links)
	f.equal(0, len(must(f.Agents.OwnerLinks(ctx, nil, always))(f)))

	x := f.agent("x", at("x.agents.example.co.uk:443", ""))
	y := f.agent("y", at("y.example.co.uk:8443", ""))
	for _, none := range []string{"192.0.2.1:443", "[2001:db8::1]:443", "co.uk:443", "http://127.0.0.1:80/agora"} {
		f.agent("none "+none, at(none, ""))
	}
	f.ok(f.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow_n1", Name: "N1", Network: "192.0.2.7", CreatedAt: start}, token("to_n1", "ow_n1")))
	f.ok(f.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow_n2", Name: "N2", Network: "192.0.2.7", CreatedAt: start}, token("to_n2", "ow_n2")))
	owners, _, err := f.Accounts.Owners(ctx, arena.OwnerFilter{}, arena.Page{Limit: 100})
	f.ok(err)
	var all []string
	for _, o := range owners {
		all = append(all, o.ID)
	}
	f.equal([]arena.SharedLink{
		{Kind: arena.UnratedSharedDomain, Value: "example.co.uk", OwnerIDs: []string{x.OwnerID, y.OwnerID}},
		{Kind: arena.UnratedSharedNetwork, Value: "192.0.2.7", OwnerIDs: []string{"ow_n1", "ow_n2"}},
	}, arena.SharedLinks(must(f.Agents.OwnerLinks(ctx, all, optional))(f)))

	// Four opponents of one group are four opponents and one group.
	others := f.agents("o0", "o1", "o2", "o3", "p0", "p1", "p2", "p3")
	for i, id := range others {
		m := f.begin(fmt.Sprintf("m_%d", i), "trivia", star.ID, id)
		if i < 4 {
			m.Seats[1].OwnerGroup = "ow_o0"
		}
		f.settle(m, start.Add(time.Duration(i)*time.Hour))
	}
	table := must(f.Leagues.Standings(ctx, "trivia", start))(f)
	f.equal([]int{8, arena.RankedGroups}, []int{table[0].Opponents, table[0].Groups})
	for i := range 4 {
		f.settle(f.begin(fmt.Sprintf("m_1%d", i), "trivia", others[4], others[i]), start.Add(time.Duration(10+i)*time.Hour))
	}
	for _, s := range must(f.Leagues.Standings(ctx, "trivia", start))(f) {
		if s.Agent.ID == others[0] {
			f.equal([]int{2, 2}, []int{s.Opponents, s.Groups})
		}
	}
}

// Threat G2: for a rank, owners who signed up from one network are one group, unless
// there is evidence that they are different people.
func rankNetworks(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	star := f.agent("star")
	owner := func(name string, change ...func(*arena.Agent)) string {
		o := arena.Owner{ID: "ow_" + name, Name: name, Email: name + "@example.org", Network: "203.0.113.5", CreatedAt: start}
		if name == "confirmed" {
			o.EmailConfirmedAt = start
		}
		f.ok(f.Accounts.CreateOwner(ctx, o, token("to_"+name, o.ID)))
		a := arena.Agent{ID: "ag_" + name, OwnerID: o.ID, Name: name, Protocol: "aap", CreatedAt: start, PassedAt: start}
		for _, c := range change {
			c(&a)
		}
		f.ok(f.Agents.CreateAgent(ctx, a))
		return a.ID
	}
	at := func(server string) func(*arena.Agent) { return func(a *arena.Agent) { a.EndpointKey = server } }
	for i, c := range []struct {
		id     string
		groups int // of star's opponents so far
	}{
		{owner("one"), 1},
		{owner("two"), 1},
		{owner("half", at("a.example.net:443")), 1}, // both agents are under one domain
		{owner("other half", at("b.example.net:443")), 1},
		{owner("silent", at("silent.example:443"), func(a *arena.Agent) { a.PassedAt = time.Time{} }), 1},
		{owner("confirmed"), 2},
		{owner("host", at("own.example:443")), 3},
	} {
		f.settle(f.begin(fmt.Sprintf("m_%d", i), "trivia", star.ID, c.id), start.Add(time.Duration(i)*time.Hour))
		table := must(f.Leagues.Standings(ctx, "trivia", start))(f)
		f.equal(star.ID, table[0].Agent.ID)
		f.equal(c.groups, table[0].Groups)
	}
	f.settle(f.begin("m_x", "trivia", "ag_one", "ag_two"), start.Add(time.Hour)) // they are still rated
	for _, s := range must(f.Leagues.Standings(ctx, "trivia", start))(f) {
		if s.Agent.ID == "ag_one" {
			f.equal([]int{2, 1}, []int{s.Opponents, s.Groups})
		}
	}
}

func standings(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	star := f.agent("star")
	var others []string
	for i := range arena.RankedGroups {
		others = append(others, f.agent(fmt.Sprintf("o%d", i)).ID)
	}
	f.agents("entered", "withdrawn", "stranger")
	for _, id := range []string{"ag_entered", "ag_withdrawn", star.ID} {
		f.ok(f.Leagues.Enter(ctx, "trivia", id, start))
	}
	f.ok(f.Leagues.Withdraw(ctx, "trivia", "ag_withdrawn", start))

	// star wins 25 matches against five others: it is the only one with
	// enough opponents for a rank.
	last := start
	for i := range 25 {
		last = start.Add(time.Duration(i) * time.Hour)
		f.settle(f.begin(fmt.Sprintf("m_%02d", i), "trivia", star.ID, others[i%len(others)]), last)
	}
	table := must(f.Leagues.Standings(ctx, "trivia", last))(f)
	f.equal([]string{"ag_star", "ag_entered", "ag_o0", "ag_o1", "ag_o2", "ag_o3", "ag_o4"},
		pick(table, func(s arena.Standing) string { return s.Agent.ID }))
	want := arena.Rating{
		League: "trivia", AgentID: star.ID, MilliElo: 1_750_000, Peak: 1_750_000, Matches: 25, Wins: 25, LastRatedAt: last,
	}
	f.equal(want, table[0].Rating)
	f.equal(1, table[0].Rank)
	f.equal(5, table[0].Opponents)
	f.equal(5, table[0].Groups)
	f.equal(20, len(table[0].Recent))
	f.equal(arena.MilliElo(1_560_000), table[0].Recent[0])
	f.equal(arena.MilliElo(1_750_000), table[0].Recent[19])
	f.equal(arena.NewRating("trivia", "ag_entered"), table[1].Rating)
	f.equal(0, table[1].Rank+table[1].Opponents+len(table[1].Recent))
	f.equal(5, table[2].Rating.Losses)
	f.equal(1, table[2].Opponents)
	f.equal(1, table[2].Groups)
	shown := must(f.Agents.Agent(ctx, star.ID))(f)
	f.equal(arena.Agent{
		ID: shown.ID, OwnerID: shown.OwnerID, OwnerName: shown.OwnerName, Name: shown.Name, Protocol: shown.Protocol, Endpoint: shown.Endpoint,
		Version: shown.Version, Model: shown.Model,
		Pauses: shown.Pauses, PassedAt: shown.PassedAt, RetiredAt: shown.RetiredAt,
	}, table[0].Agent)

	// Unranked after 30 days: then rating alone decides, and nobody has a place.
	table = must(f.Leagues.Standings(ctx, "trivia", last.Add(arena.RankedWithin+time.Millisecond)))(f)
	f.equal("ag_star", table[0].Agent.ID)
	f.equal(0, table[0].Rank)

	history := must(f.Ratings.RatingHistory(ctx, star.ID, "trivia", 2))(f)
	f.equal([]arena.RatingPoint{
		{MatchID: "m_23", At: last.Add(-time.Hour), Rating: 1_740_000, Delta: 10_000, Version: "1"},
		{MatchID: "m_24", At: last, Rating: 1_750_000, Delta: 10_000, Version: "1"},
	}, history)
	_, err := f.Ratings.RatingHistory(ctx, star.ID, "trivia", 0)
	f.fails(arena.CodeInvalid, err)
	f.equal(map[string][]arena.Rating{star.ID: {want}}, must(f.Ratings.AgentRatings(ctx, []string{star.ID, "ag_entered"}))(f))

	// A declared new version counts down in every league.
	declare := func(version string) {
		_, _, err := f.Agents.UpdateAgent(ctx, star.ID, func(a *arena.Agent) error { a.Version = version; return nil })
		f.ok(err)
	}
	newVersion := func() int { return must(f.Ratings.AgentRatings(ctx, []string{star.ID}))(f)[star.ID][0].NewVersion }
	declare("") // nothing is declared
	f.equal(0, newVersion())
	declare("2") // another, though none stood there
	f.equal(arena.NewVersionMatches, newVersion())
	f.settle(f.begin("m_next", "trivia", star.ID, others[0]), last)
	f.equal(arena.NewVersionMatches-1, newVersion())

	_, err = f.Leagues.Standings(ctx, "none", last)
	f.fails(arena.CodeNotFound, err)
}
