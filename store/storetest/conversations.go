package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// conversations are kept with what they remember, are few per address, and
// leave a tombstone for a day.
func conversations(f *fixture) {
	ctx := f.t.Context()
	open := func(n byte, agent, address string, at time.Time) (arena.Conversation, error) {
		c := arena.Conversation{
			Key: [32]byte{n, 255}, AgentID: agent, Address: address, Document: "abc", State: `{"n":1}`,
			CreatedAt: at, ExpiresAt: at.Add(10 * time.Minute),
		}
		return c, f.OpenConversation(ctx, c, 2)
	}
	first := must(open(1, "", "192.0.2.1", start))(f)
	f.equal(first, must(f.Conversation(ctx, first.Key))(f))
	_, err := f.Conversation(ctx, [32]byte{1, 254})
	f.fails(arena.CodeNotFound, err)
	_, err = open(1, "", "192.0.2.2", start)
	f.fails(arena.CodeConflict, err)

	must(open(2, "", "192.0.2.1", start))(f)
	_, err = open(3, "", "192.0.2.1", start.Add(time.Minute))
	f.fails(arena.CodeRateLimited, err)
	must(open(3, "ag_a", "ag_a", start))(f)
	must(open(4, "", "192.0.2.2", start))(f)

	peer := f.peer()
	var wg sync.WaitGroup
	for _, s := range []interface {
		UpdateConversation(context.Context, [32]byte, func(*arena.Conversation)) (arena.Conversation, error)
	}{f.Store, peer} {
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
	f.equal(first, must(f.UpdateConversation(ctx, first.Key, func(c *arena.Conversation) { c.ExpiresAt = first.ExpiresAt }))(f))
	f.equal(first, must(f.Conversation(ctx, first.Key))(f))
	_, err = f.UpdateConversation(ctx, [32]byte{7}, func(*arena.Conversation) {})
	f.fails(arena.CodeNotFound, err)

	must(open(5, "", "192.0.2.1", start.Add(2*time.Second)))(f)                      // one of the two is over
	must(open(6, "", "192.0.2.9", first.ExpiresAt.Add(24*time.Hour)))(f)             // its tombstone stays for a day
	must(f.Conversation(ctx, first.Key))(f)                                          //
	must(open(7, "", "192.0.2.9", first.ExpiresAt.Add(24*time.Hour+time.Second)))(f) // and goes then
	_, err = f.Conversation(ctx, first.Key)
	f.fails(arena.CodeNotFound, err)
	must(f.Conversation(ctx, [32]byte{2, 255}))(f)
}

// secretBases belong to one agent each, and say how long it counts as present.
func secretBases(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	alive := func(id string) (until time.Time, atOnce int) {
		until, atOnce, err := f.AliveUntil(ctx, id)
		f.ok(err)
		return until, atOnce
	}
	until, _ := alive(ids[0])
	f.equal(time.Time{}, until)
	f.ok(f.KeepAlive(ctx, ids[0], start, 1)) // no base: nothing to note
	f.ok(f.SetSecretBase(ctx, ids[0], [32]byte{1}, start))
	f.equal(ids[0], must(f.AgentOfBase(ctx, [32]byte{1}))(f))
	f.fails(arena.CodeConflict, f.SetSecretBase(ctx, ids[1], [32]byte{1}, start))
	f.fails(arena.CodeNotFound, f.SetSecretBase(ctx, "ag_nobody", [32]byte{3}, start))

	f.ok(f.KeepAlive(ctx, ids[0], start.Add(time.Minute), 4))
	f.ok(f.KeepAlive(ctx, ids[0], start, 5))
	until, atOnce := alive(ids[0])
	f.equal(start.Add(time.Minute), until)
	f.equal(5, atOnce)

	f.ok(f.SetSecretBase(ctx, ids[0], [32]byte{2}, start)) // a fresh one ends the one before
	_, err := f.AgentOfBase(ctx, [32]byte{1})
	f.fails(arena.CodeNotFound, err)
	until, _ = alive(ids[0])
	f.equal(start.Add(time.Minute), until)

	_, _, err = f.UpdateAgent(ctx, ids[0], func(a *arena.Agent) error { a.RetiredAt = start; return nil })
	f.ok(err)
	_, err = f.AgentOfBase(ctx, [32]byte{2})
	f.fails(arena.CodeNotFound, err)
}
