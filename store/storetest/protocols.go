package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

func agentByKey(f *fixture) {
	ctx := f.t.Context()
	const key = "did:key:z6Mk"
	withKey := func(a *arena.Agent) { a.Protocol, a.PublicKey = arena.ProtocolEnvelope, key }
	f.agent("ant", withKey)
	f.agent("bee", withKey)
	_, err := f.Agents.AgentByKey(ctx, arena.ProtocolEnvelope, key) // nobody has proved it
	f.fails(arena.CodeNotFound, err)

	prove := func(a *arena.Agent) error { a.KeyProvedAt = start; return nil }
	_, proved, err := f.Agents.UpdateAgent(ctx, "ag_ant", prove)
	f.ok(err)
	f.equal(start, proved.KeyProvedAt)
	f.equal(proved, must(f.Agents.AgentByKey(ctx, arena.ProtocolEnvelope, key))(f))
	_, err = f.Agents.AgentByKey(ctx, arena.ProtocolAgentProtocol, key)
	f.fails(arena.CodeNotFound, err)

	_, _, err = f.Agents.UpdateAgent(ctx, "ag_bee", prove)
	f.fails(arena.CodeConflict, err)
	_, _, err = f.Agents.UpdateAgent(ctx, "ag_ant", func(a *arena.Agent) error { a.RetiredAt = start; return nil })
	f.ok(err)
	_, bee, err := f.Agents.UpdateAgent(ctx, "ag_bee", prove)
	f.ok(err)
	f.equal(bee, must(f.Agents.AgentByKey(ctx, arena.ProtocolEnvelope, key))(f))
}

func mail(f *fixture) {
	ctx := f.t.Context()
	put := func(box, id, body string, expires time.Time) arena.Mail {
		f.t.Helper()
		return must(f.Messages.PutMail(ctx, arena.Mail{Box: box, ID: id, Body: []byte(body), CreatedAt: start}, expires))(f)
	}
	hour := start.Add(time.Hour)
	a := put("ant", "1", "hello", hour)
	put("bee", "1", "not for ant", hour)
	b := put("ant", "2", "again", start.Add(time.Minute))
	if a.N < 1 || b.N <= a.N {
		f.t.Fatalf("numbers %d and %d", a.N, b.N)
	}
	f.equal(a, put("ant", "1", "hello", hour))
	_, err := f.Messages.PutMail(ctx, arena.Mail{Box: "ant", ID: "1", Body: []byte("other")}, hour)
	f.fails(arena.CodeConflict, err)

	f.equal([]arena.Mail{a, b}, must(f.Messages.Mail(ctx, "ant", 0, 10, start))(f))
	f.equal([]arena.Mail{a}, must(f.Messages.Mail(ctx, "ant", 0, 1, start))(f))
	f.equal([]arena.Mail{b}, must(f.Messages.Mail(ctx, "ant", a.N, 10, start))(f))
	f.equal([]arena.Mail{a}, must(f.Messages.Mail(ctx, "ant", 0, 10, start.Add(time.Minute)))(f)) // b has expired

	f.equal(1, must(f.Messages.DropExpired(ctx, start.Add(2*time.Minute), 10))(f))
	c := put("ant", "2", "anew", hour)
	if c.N <= b.N {
		f.t.Fatalf("number %d after %d", c.N, b.N)
	}
	f.ok(f.Messages.DropMail(ctx, "ant", a.N))
	f.equal([]arena.Mail{c}, must(f.Messages.Mail(ctx, "ant", 0, 10, start))(f))
	f.equal(1, len(must(f.Messages.Mail(ctx, "bee", 0, 10, start))(f)))
}

// A reader that goes by numbers misses nothing, however many write at once.
func mailOrder(f *fixture) {
	ctx, peer := f.t.Context(), f.peer()
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			to := f.Store
			if w%2 == 1 {
				to = peer
			}
			for i := range each {
				if _, err := to.Messages.PutMail(ctx, arena.Mail{Box: "ant", ID: fmt.Sprint(w, i), Body: []byte("x"), CreatedAt: start}, start.Add(time.Hour)); err != nil {
					f.t.Error(err)
					return
				}
			}
		})
	}
	var seen []int64
	var after int64
	for len(seen) < writers*each && !f.t.Failed() {
		for _, m := range must(f.Messages.Mail(ctx, "ant", after, 7, start))(f) {
			after = m.N
			seen = append(seen, m.N)
		}
	}
	wg.Wait()
	if !slices.IsSorted(seen) || len(slices.Compact(seen)) != writers*each {
		f.t.Errorf("a reader saw %d messages in the order %v", len(seen), seen)
	}
}

func once(f *fixture) {
	ctx := f.t.Context()
	digest, other := [32]byte{1}, [32]byte{2}
	until := start.Add(10 * time.Minute)
	f.equal(true, must(f.Messages.Once(ctx, "bee", "id", digest, start, until))(f))
	f.equal(false, must(f.Messages.Once(ctx, "bee", "id", digest, start, until))(f))
	f.equal(true, must(f.Messages.Once(ctx, "ant", "id", digest, start, until))(f))
	_, err := f.Messages.Once(ctx, "bee", "id", other, start, until)
	f.fails(arena.CodeConflict, err)
	f.equal(true, must(f.Messages.Once(ctx, "bee", "id", other, until, until.Add(time.Minute)))(f)) // the note has expired
	f.equal(1, must(f.Messages.DropExpired(ctx, until.Add(time.Second), 10))(f))
	f.equal(true, must(f.Messages.Once(ctx, "ant", "id", digest, start, until))(f))

	// Of many at once, one is the first.
	var wg sync.WaitGroup
	firsts := make(chan bool, 8)
	for range cap(firsts) {
		wg.Go(func() {
			first, err := f.Messages.Once(ctx, "race", "id", digest, start, until)
			if err != nil {
				f.t.Error(err)
			}
			firsts <- first
		})
	}
	wg.Wait()
	close(firsts)
	n := 0
	for first := range firsts {
		if first {
			n++
		}
	}
	f.equal(1, n)
}

// conversations are kept with what they remember, are few per address, and
// leave a tombstone for a day.
func conversations(f *fixture) {
	ctx := f.t.Context()
	open := func(n byte, agent, address string, at time.Time) (arena.Conversation, error) {
		c := arena.Conversation{
			Key: [32]byte{n, 255}, AgentID: agent, Address: address, Document: "abc", State: `{"n":1}`,
			CreatedAt: at, ExpiresAt: at.Add(10 * time.Minute),
		}
		return c, f.Protocols.OpenConversation(ctx, c, 2)
	}
	first := must(open(1, "", "192.0.2.1", start))(f)
	f.equal(first, must(f.Protocols.Conversation(ctx, first.Key))(f))
	_, err := f.Protocols.Conversation(ctx, [32]byte{1, 254})
	f.fails(arena.CodeNotFound, err)
	_, err = open(1, "", "192.0.2.2", start)
	f.fails(arena.CodeConflict, err)

	must(open(2, "", "192.0.2.1", start))(f)
	_, err = open(3, "", "192.0.2.1", start.Add(time.Minute))
	f.fails(arena.CodeRateLimited, err)
	must(open(3, "ag_a", "ag_a", start))(f)
	must(open(4, "", "192.0.2.2", start))(f)

	// A site has more than a network, and not without end. Threat V5.
	for i := range byte(2*arena.SiteFactor + 1) {
		c := arena.Conversation{
			Key: [32]byte{100, i, 255}, Address: fmt.Sprintf("2001:db8:0:%x::/64", i), Site: "2001:db8::/48", State: `{}`, CreatedAt: start, ExpiresAt: start.Add(time.Minute),
		}
		if err := f.Protocols.OpenConversation(ctx, c, 2); i < 2*arena.SiteFactor {
			f.ok(err)
			f.equal(c, must(f.Protocols.Conversation(ctx, c.Key))(f))
		} else {
			f.fails(arena.CodeRateLimited, err)
		}
	}

	peer := f.peer()
	var wg sync.WaitGroup
	for _, s := range []*store.Protocols{f.Protocols, peer.Protocols} {
		wg.Go(func() {
			for range 10 {
				if _, err := s.UpdateConversation(ctx, first.Key, func(c *arena.Conversation) { c.State += "x" }); err != nil {
					f.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	first.State += "xxxxxxxxxxxxxxxxxxxx"
	first.ExpiresAt = start.Add(time.Second)
	f.equal(first, must(f.Protocols.UpdateConversation(ctx, first.Key, func(c *arena.Conversation) { c.ExpiresAt = first.ExpiresAt }))(f))
	f.equal(first, must(f.Protocols.Conversation(ctx, first.Key))(f))
	_, err = f.Protocols.UpdateConversation(ctx, [32]byte{7}, func(*arena.Conversation) {})
	f.fails(arena.CodeNotFound, err)

	must(open(5, "", "192.0.2.1", start.Add(2*time.Second)))(f)                      // one of the two is over
	must(open(6, "", "192.0.2.9", first.ExpiresAt.Add(24*time.Hour)))(f)             // its tombstone stays for a day
	must(f.Protocols.Conversation(ctx, first.Key))(f)                                //
	must(open(7, "", "192.0.2.9", first.ExpiresAt.Add(24*time.Hour+time.Second)))(f) // and goes then
	_, err = f.Protocols.Conversation(ctx, first.Key)
	f.fails(arena.CodeNotFound, err)
	must(f.Protocols.Conversation(ctx, [32]byte{2, 255}))(f)
}

// secretBases belong to one agent each, and say how long it counts as present.
func secretBases(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	alive := func(id string) (until time.Time, atOnce int) {
		until, atOnce, err := f.Protocols.AliveUntil(ctx, id)
		f.ok(err)
		return until, atOnce
	}
	until, _ := alive(ids[0])
	f.equal(time.Time{}, until)
	f.ok(f.Protocols.KeepAlive(ctx, ids[0], start, 1)) // no base: nothing to note
	f.ok(f.Protocols.SetSecretBase(ctx, ids[0], [32]byte{1}, start))
	f.equal(ids[0], must(f.Protocols.AgentOfBase(ctx, [32]byte{1}))(f))
	f.fails(arena.CodeConflict, f.Protocols.SetSecretBase(ctx, ids[1], [32]byte{1}, start))
	f.fails(arena.CodeNotFound, f.Protocols.SetSecretBase(ctx, "ag_nobody", [32]byte{3}, start))

	f.ok(f.Protocols.KeepAlive(ctx, ids[0], start.Add(time.Minute), 4))
	f.ok(f.Protocols.KeepAlive(ctx, ids[0], start, 5))
	until, atOnce := alive(ids[0])
	f.equal(start.Add(time.Minute), until)
	f.equal(5, atOnce)

	f.ok(f.Protocols.SetSecretBase(ctx, ids[0], [32]byte{2}, start)) // a fresh one ends the one before
	_, err := f.Protocols.AgentOfBase(ctx, [32]byte{1})
	f.fails(arena.CodeNotFound, err)
	until, _ = alive(ids[0])
	f.equal(start.Add(time.Minute), until)

	_, _, err = f.Agents.UpdateAgent(ctx, ids[0], func(a *arena.Agent) error { a.RetiredAt = start; return nil })
	f.ok(err)
	_, err = f.Protocols.AgentOfBase(ctx, [32]byte{2})
	f.fails(arena.CodeNotFound, err)
}

// agoraWays hold for one agent at one endpoint.
func agoraWays(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	const first, second = "https://a.example/", "https://b.example/"
	f.equal("", must(f.Protocols.AgoraWay(ctx, ids[0], first))(f))
	f.ok(f.Protocols.SetAgoraWay(ctx, ids[0], first, "words"))
	f.equal("words", must(f.Protocols.AgoraWay(ctx, ids[0], first))(f))
	f.equal("", must(f.Protocols.AgoraWay(ctx, ids[0], second))(f))
	f.equal("", must(f.Protocols.AgoraWay(ctx, ids[1], first))(f))
	f.ok(f.Protocols.SetAgoraWay(ctx, ids[0], second, "hex"))
	f.equal("", must(f.Protocols.AgoraWay(ctx, ids[0], first))(f))
	f.equal("hex", must(f.Protocols.AgoraWay(ctx, ids[0], second))(f))
	f.ok(f.Protocols.SetAgoraWay(ctx, ids[0], second, ""))
	f.equal("", must(f.Protocols.AgoraWay(ctx, ids[0], second))(f))
	f.fails(arena.CodeNotFound, f.Protocols.SetAgoraWay(ctx, "ag_nobody", first, "hex"))
}

// peers: what a hello said, and which connection is the newest.
func peers(f *fixture) {
	ctx := f.t.Context()
	ant := f.agent("ant", func(a *arena.Agent) {
		a.Protocol, a.PublicKey, a.KeyProvedAt = arena.ProtocolAgentProtocol, "key of ant", start
	})
	f.agent("bee")
	_, err := f.Protocols.Peer(ctx, ant.ID)
	f.fails(arena.CodeNotFound, err)
	_, err = f.Agents.AgentByKeyName(ctx, "name")
	f.fails(arena.CodeNotFound, err)

	f.ok(f.Protocols.NamePeer(ctx, ant.ID, "name"))
	f.ok(f.Protocols.NamePeer(ctx, "ag_bee", "name")) // whose key nobody proved
	f.equal(ant, must(f.Agents.AgentByKeyName(ctx, "name"))(f))
	f.ok(f.Protocols.GreetPeer(ctx, ant.ID, []string{"arena:round", "\x00"}, start))
	f.equal(int64(1), must(f.Protocols.ConnectPeer(ctx, ant.ID, "websocket", start))(f))
	f.equal(int64(2), must(f.Protocols.ConnectPeer(ctx, ant.ID, "file", start.Add(time.Second)))(f))
	f.equal(false, must(f.Protocols.SeePeer(ctx, ant.ID, 1, start.Add(time.Minute)))(f))
	want := arena.Peer{
		AgentID: ant.ID, KeyName: "name", Capabilities: []string{"arena:round", "\x00"}, HelloAt: start,
		Way: "file", Epoch: 2, SeenAt: start.Add(time.Second),
	}
	f.equal(want, must(f.Protocols.Peer(ctx, ant.ID))(f))
	f.equal(true, must(f.Protocols.SeePeer(ctx, ant.ID, 2, time.Time{}))(f))
	want.SeenAt = time.Time{}
	f.equal(want, must(f.Protocols.Peer(ctx, ant.ID))(f))

	_, _, err = f.Agents.UpdateAgent(ctx, ant.ID, func(a *arena.Agent) error { a.RetiredAt = start; return nil })
	f.ok(err)
	_, err = f.Agents.AgentByKeyName(ctx, "name")
	f.fails(arena.CodeNotFound, err)
	f.fails(arena.CodeNotFound, f.Protocols.NamePeer(ctx, "ag_none", "x"))
}

func pulledTask(agent, task, id string) arena.PulledTask {
	return arena.PulledTask{
		ID: id, AgentID: agent, TaskID: task, MatchID: "m_1", Round: 1, Attempt: 1, Body: []byte(`{"a":"é"}`), OutputFormat: "json",
		Deadline: start.Add(time.Minute),
	}
}

// A task waits, is delivered once, and has one answer. Threat P1.
func pulled(f *fixture) {
	ctx := f.t.Context()
	now := start
	_, ok, err := f.PulledTasks.TakePulled(ctx, "ag_ant", 0, now)
	f.ok(err)
	f.equal(false, ok)

	put := must(f.PulledTasks.PutPulled(ctx, pulledTask("ag_ant", "tk_1", "p_1"), time.Minute))(f)
	f.equal(start, put.SentAt)
	f.equal(start.Add(time.Minute), put.ExpiresAt)
	f.equal(put, must(f.PulledTasks.Pulled(ctx, "ag_ant", "tk_1"))(f))
	agents, answered, err := f.PulledTasks.PulledChanges(ctx, now, now)
	f.ok(err)
	f.equal([]string{"ag_ant"}, agents)
	f.equal(0, len(answered))
	for agent, at := range map[string]time.Time{"ag_bee": now, "ag_ant": put.ExpiresAt} { // another's; over
		if _, ok, err = f.PulledTasks.TakePulled(ctx, agent, 0, at); ok || err != nil {
			f.t.Fatalf("%s took the task (%v)", agent, err)
		}
	}

	// Of many polls at two nodes, one gets it.
	var polls sync.WaitGroup
	peer := f.peer()
	took := make(chan arena.PulledTask, 8)
	for i := range cap(took) {
		polls.Go(func() {
			s := f.Store
			if i%2 == 1 {
				s = peer
			}
			if t, ok, err := s.PulledTasks.TakePulled(ctx, "ag_ant", 9, now.Add(time.Second)); err != nil {
				f.t.Error(err)
			} else if ok {
				took <- t
			}
		})
	}
	polls.Wait()
	close(took)
	var got []arena.PulledTask
	for t := range took {
		got = append(got, t)
	}
	put.Deliveries, put.FetchedAt = 1, now.Add(time.Second)
	f.equal([]arena.PulledTask{put}, got)
	f.equal(put, must(f.PulledTasks.Pulled(ctx, "ag_ant", "tk_1"))(f))

	// A delivery that failed is available at once, an older one is not touched.
	f.ok(f.PulledTasks.ReturnPulled(ctx, put))
	again, ok, err := f.PulledTasks.TakePulled(ctx, "ag_ant", 9, now)
	f.ok(err)
	f.equal(true, ok)
	f.equal(2, again.Deliveries)
	f.ok(f.PulledTasks.ReturnPulled(ctx, put))
	f.equal(again, must(f.PulledTasks.Pulled(ctx, "ag_ant", "tk_1"))(f))

	first := false
	answer := func(agent, task, body string, at time.Time) (t arena.PulledTask, err error) {
		t, first, err = f.PulledTasks.AnswerPulled(ctx, agent, task, []byte(body), at)
		return t, err
	}
	_, err = answer("ag_bee", "tk_1", "4", now)
	f.fails(arena.CodeTaskNotFound, err)
	_, err = answer("ag_ant", "tk_\x00", "4", now)
	f.fails(arena.CodeTaskNotFound, err)
	_, err = answer("ag_ant", "tk_1", "4", put.ExpiresAt.Add(time.Millisecond))
	f.fails(arena.CodeAnswerLate, err)
	given := must(answer("ag_ant", "tk_1", "4", put.ExpiresAt))(f)
	f.equal(put.ExpiresAt, given.AnsweredAt)
	f.equal(true, first)
	f.equal(given, must(answer("ag_ant", "tk_1", "4", put.ExpiresAt.Add(time.Hour)))(f)) // the same again
	f.equal(false, first)
	_, err = answer("ag_ant", "tk_1", "5", now)
	f.fails(arena.CodeAnswerRepeated, err)
	f.equal(given, must(f.PulledTasks.Pulled(ctx, "ag_ant", "tk_1"))(f))
	_, answered, err = f.PulledTasks.PulledChanges(ctx, now, now)
	f.ok(err)
	f.equal([]string{"p_1"}, answered)

	// Another dispatch replaces it, and its removal leaves the newer one.
	next := must(f.PulledTasks.PutPulled(ctx, pulledTask("ag_ant", "tk_1", "p_2"), time.Hour))(f)
	f.equal(next, must(f.PulledTasks.Pulled(ctx, "ag_ant", "tk_1"))(f))
	f.ok(f.PulledTasks.DropPulled(ctx, given))
	f.equal(next, must(f.PulledTasks.Pulled(ctx, "ag_ant", "tk_1"))(f))
	f.equal(0, must(f.Messages.DropExpired(ctx, next.ExpiresAt.Add(time.Minute), 9))(f)) // late answers are recognized
	f.equal(1, must(f.Messages.DropExpired(ctx, next.ExpiresAt.Add(time.Hour), 9))(f))
	_, err = f.PulledTasks.Pulled(ctx, "ag_ant", "tk_1")
	f.fails(arena.CodeTaskNotFound, err)

	f.ok(f.PulledTasks.ExtendPresence(ctx, []arena.Presence{{AgentID: "ag_ant", Until: start}, {AgentID: "ag_bee", Until: start}}))
	f.ok(f.PulledTasks.ExtendPresence(ctx, []arena.Presence{{AgentID: "ag_ant", Until: start.Add(-time.Hour)}, {AgentID: "ag_bee", Until: start.Add(time.Hour)}}))
	f.equal(start, must(f.PulledTasks.PresentUntil(ctx, "ag_ant"))(f))
	f.equal(start.Add(time.Hour), must(f.PulledTasks.PresentUntil(ctx, "ag_bee"))(f))
	f.equal(time.Time{}, must(f.PulledTasks.PresentUntil(ctx, "ag_cat"))(f))
}

// The oldest delivery without an answer or an event is delivered again when
// there are too many.
func pulledAgain(f *fixture) {
	ctx := f.t.Context()
	ids := f.agents("ant", "bee")
	f.league("trivia")
	f.open("m_1", ids...)
	take := func(most int) string {
		f.t.Helper()
		f.clock.advance(time.Second)
		t, ok, err := f.PulledTasks.TakePulled(ctx, ids[0], most, f.clock.read())
		f.ok(err)
		if !ok {
			return ""
		}
		return t.TaskID
	}
	for _, task := range []string{"tk_1", "tk_2"} {
		f.ok(second(f.PulledTasks.PutPulled(ctx, pulledTask(ids[0], task, "p_"+task), time.Hour)))
		f.clock.advance(time.Second)
	}
	f.equal("tk_1", take(0))
	f.equal("tk_2", take(0))
	f.equal("", take(2)) // two are out, and two may be
	f.equal("tk_1", take(1))
	f.equal("tk_2", take(1)) // the oldest now
	retry := pulledTask(ids[0], "tk_2", "p_4")
	retry.Attempt = 2
	f.equal(3, must(f.PulledTasks.PutPulled(ctx, retry, time.Hour))(f).Attempt) // it was delivered as 1 and 2
	f.equal("tk_2", take(2))
	_, _, err := f.PulledTasks.AnswerPulled(ctx, ids[0], "tk_1", []byte("4"), f.clock.read())
	f.ok(err)
	f.equal("tk_2", take(-1))
	// An event of the round acknowledges what was fetched before it.
	f.ok(second(f.Matches.AppendEvents(ctx, "m_1", ids[0], []arena.Event{{At: f.clock.read(), Type: arena.EventThinking, Body: []byte(`{}`)}})))
	f.equal("", take(-1))

	f.ok(second(f.PulledTasks.PutPulled(ctx, pulledTask(ids[1], "tk_1", "p_3"), time.Hour)))
	n := 0
	for ; ; n++ {
		f.clock.advance(time.Second)
		_, ok, err := f.PulledTasks.TakePulled(ctx, ids[1], -1, f.clock.read())
		f.ok(err)
		if !ok {
			break
		}
	}
	f.equal(10, n)
}

// Revoked keys, suspended owners, and agents that do not fetch any more.
// Threat P2.
func revokedSince(f *fixture) {
	ctx := f.t.Context()
	f.agents("ant", "bee", "cat", "dog")
	at := start.Add(time.Minute)
	f.clock.advance(time.Minute)
	f.equal(0, len(must(f.PulledTasks.RevokedSince(ctx, start))(f)))
	f.ok(f.Accounts.RevokeToken(ctx, "ow_ant", "to_ant"))
	f.ok(second(f.Accounts.SuspendOwner(ctx, "ow_bee", at, "", arena.AuditEntry{})))
	change := func(id string, apply func(*arena.Agent)) {
		f.t.Helper()
		_, _, err := f.Agents.UpdateAgent(ctx, id, func(a *arena.Agent) error { apply(a); return nil })
		f.ok(err)
	}
	change("ag_cat", func(a *arena.Agent) { a.RetiredAt = at })
	change("ag_dog", func(a *arena.Agent) { a.EndpointSince = at })
	f.equal([]string{"to_ant", "ow_bee", "ag_cat", "ag_dog"}, must(f.PulledTasks.RevokedSince(ctx, at))(f))
	f.equal(0, len(must(f.PulledTasks.RevokedSince(ctx, at.Add(time.Millisecond)))(f)))
	change("ag_dog", func(a *arena.Agent) { a.Endpoint = "" }) // that is how it fetches
	f.equal([]string{"to_ant", "ow_bee", "ag_cat"}, must(f.PulledTasks.RevokedSince(ctx, at))(f))
}

// The keys of an agent are tokens of their own scope.
func agentKeys(f *fixture) {
	ctx := f.t.Context()
	f.agents("ant", "bee")
	key := token("to_key", "ow_ant")
	key.Scope, key.AgentID = arena.ScopeAgent, "ag_ant"
	f.ok(f.Accounts.CreateToken(ctx, key))
	f.equal([]arena.Token{key}, must(f.Accounts.AgentKeys(ctx, "ag_ant"))(f))
	f.equal(0, len(must(f.Accounts.AgentKeys(ctx, "ag_bee"))(f)))
	f.equal([]arena.Token{token("to_ant", "ow_ant")}, must(f.Accounts.Tokens(ctx, "ow_ant"))(f))
	owners, _, err := f.Accounts.Owners(ctx, arena.OwnerFilter{Query: "ow_ant"}, arena.Page{Limit: 9})
	f.ok(err)
	f.equal(1, owners[0].Tokens)
	f.equal("ag_ant", must(f.Accounts.TokenByHash(ctx, key.Hash))(f).AgentID)
	key.ID, key.Hash, key.AgentID = "to_none", [32]byte{1}, "ag_none"
	f.fails(arena.CodeNotFound, f.Accounts.CreateToken(ctx, key))
	f.equal(1, must(f.Accounts.ReplaceTokens(ctx, "ow_bee", nil))(f))
	f.equal(2, must(f.Accounts.ReplaceTokens(ctx, "ow_ant", nil))(f)) // an owner's token can create keys, so they go with it
	f.equal(0, len(must(f.Accounts.AgentKeys(ctx, "ag_ant"))(f)))
}
