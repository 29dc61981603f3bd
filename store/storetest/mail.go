package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

func agentByKey(f *fixture) {
	ctx := f.t.Context()
	const key = "did:key:z6Mk"
	withKey := func(a *arena.Agent) { a.Protocol, a.PublicKey = arena.ProtocolEnvelope, key }
	f.agent("ant", withKey)
	f.agent("bee", withKey)
	_, err := f.AgentByKey(ctx, arena.ProtocolEnvelope, key) // nobody has proved it
	f.fails(arena.CodeNotFound, err)

	prove := func(a *arena.Agent) error { a.KeyProvedAt = start; return nil }
	_, proved, err := f.UpdateAgent(ctx, "ag_ant", prove)
	f.ok(err)
	f.equal(start, proved.KeyProvedAt)
	f.equal(proved, must(f.AgentByKey(ctx, arena.ProtocolEnvelope, key))(f))
	_, err = f.AgentByKey(ctx, arena.ProtocolAgentProtocol, key)
	f.fails(arena.CodeNotFound, err)

	_, _, err = f.UpdateAgent(ctx, "ag_bee", prove)
	f.fails(arena.CodeConflict, err)
	_, _, err = f.UpdateAgent(ctx, "ag_ant", func(a *arena.Agent) error { a.RetiredAt = start; return nil })
	f.ok(err)
	_, bee, err := f.UpdateAgent(ctx, "ag_bee", prove)
	f.ok(err)
	f.equal(bee, must(f.AgentByKey(ctx, arena.ProtocolEnvelope, key))(f))
}

func mail(f *fixture) {
	ctx := f.t.Context()
	put := func(box, id, body string, expires time.Time) arena.Mail {
		f.t.Helper()
		return must(f.PutMail(ctx, arena.Mail{Box: box, ID: id, Body: []byte(body), CreatedAt: start}, expires))(f)
	}
	hour := start.Add(time.Hour)
	a := put("ant", "1", "hello", hour)
	put("bee", "1", "not for ant", hour)
	b := put("ant", "2", "again", start.Add(time.Minute))
	if a.N < 1 || b.N <= a.N {
		f.t.Fatalf("numbers %d and %d", a.N, b.N)
	}
	f.equal(a, put("ant", "1", "hello", hour))
	_, err := f.PutMail(ctx, arena.Mail{Box: "ant", ID: "1", Body: []byte("other")}, hour)
	f.fails(arena.CodeConflict, err)

	f.equal([]arena.Mail{a, b}, must(f.Mail(ctx, "ant", 0, 10, start))(f))
	f.equal([]arena.Mail{a}, must(f.Mail(ctx, "ant", 0, 1, start))(f))
	f.equal([]arena.Mail{b}, must(f.Mail(ctx, "ant", a.N, 10, start))(f))
	f.equal([]arena.Mail{a}, must(f.Mail(ctx, "ant", 0, 10, start.Add(time.Minute)))(f)) // b has expired

	f.equal(1, must(f.DropExpired(ctx, start.Add(2*time.Minute), 10))(f))
	c := put("ant", "2", "anew", hour)
	if c.N <= b.N {
		f.t.Fatalf("number %d after %d", c.N, b.N)
	}
	f.ok(f.DropMail(ctx, "ant", a.N))
	f.equal([]arena.Mail{c}, must(f.Mail(ctx, "ant", 0, 10, start))(f))
	f.equal(1, len(must(f.Mail(ctx, "bee", 0, 10, start))(f)))
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
				if _, err := to.PutMail(ctx, arena.Mail{Box: "ant", ID: fmt.Sprint(w, i), Body: []byte("x"), CreatedAt: start}, start.Add(time.Hour)); err != nil {
					f.t.Error(err)
					return
				}
			}
		})
	}
	var seen []int64
	var after int64
	for len(seen) < writers*each && !f.t.Failed() {
		for _, m := range must(f.Mail(ctx, "ant", after, 7, start))(f) {
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
	f.equal(true, must(f.Once(ctx, "bee", "id", digest, start, until))(f))
	f.equal(false, must(f.Once(ctx, "bee", "id", digest, start, until))(f))
	f.equal(true, must(f.Once(ctx, "ant", "id", digest, start, until))(f))
	_, err := f.Once(ctx, "bee", "id", other, start, until)
	f.fails(arena.CodeConflict, err)
	f.equal(true, must(f.Once(ctx, "bee", "id", other, until, until.Add(time.Minute)))(f)) // the note has expired
	f.equal(1, must(f.DropExpired(ctx, until.Add(time.Second), 10))(f))
	f.equal(true, must(f.Once(ctx, "ant", "id", digest, start, until))(f))

	// Of many at once, one is the first.
	var wg sync.WaitGroup
	firsts := make(chan bool, 8)
	for range cap(firsts) {
		wg.Go(func() {
			first, err := f.Once(ctx, "race", "id", digest, start, until)
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
