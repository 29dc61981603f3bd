package storetest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// envelope makes one that came at start plus n seconds, from ann to bob.
func envelope(id string, n int, change ...func(*arena.Envelope)) arena.Envelope {
	at := start.Add(time.Duration(n) * time.Second)
	e := arena.Envelope{
		ID: id, Sender: "did:key:ann", Recipient: "did:key:bob", Type: "REQUEST", Thread: "thread_" + id, RequestID: "req_" + id,
		At: at, ReceivedAt: at, ExpiresAt: at.Add(time.Minute), Digest: sha256.Sum256([]byte(id)), Body: []byte(`{"id":"` + id + `" }`),
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

func admitAll([]arena.Envelope, *arena.Envelope) error { return nil }

func (f *fixture) post(e arena.Envelope) arena.Envelope {
	f.t.Helper()
	stored, _, err := f.Relay.AddEnvelope(f.t.Context(), e, arena.EnvelopeRules{Admit: admitAll})
	f.ok(err)
	return stored
}

// seen returns the ids of visible envelopes.
func (f *fixture) seen(q arena.EnvelopeQuery) []string {
	f.t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	ids := []string{}
	for _, e := range must(f.Relay.Envelopes(f.t.Context(), q))(f) {
		ids = append(ids, e.ID)
	}
	return ids
}

func envelopes(f *fixture) {
	ctx := f.t.Context()
	first := f.post(envelope("a", 1))
	f.equal(envelope("a", 1, func(e *arena.Envelope) { e.No, e.Seq = 1, 1 }), first)
	f.post(envelope("b", 2, func(e *arena.Envelope) { e.Recipient, e.Type = "did:key:cid", "OFFER" }))
	f.post(envelope("c", 3, func(e *arena.Envelope) { e.Sender, e.Thread = "did:key:cid", "thread_a" }))
	f.equal([]arena.Envelope{first}, must(f.Relay.Envelopes(ctx, arena.EnvelopeQuery{Limit: 1, Now: start}))(f))
	for _, c := range []struct {
		q    arena.EnvelopeQuery
		want []string
	}{
		{arena.EnvelopeQuery{}, []string{"a", "b", "c"}},
		{arena.EnvelopeQuery{After: 1}, []string{"b", "c"}},
		{arena.EnvelopeQuery{After: -7}, []string{"a", "b", "c"}},
		{arena.EnvelopeQuery{Recipient: "did:key:bob"}, []string{"a", "c"}},
		{arena.EnvelopeQuery{Sender: "did:key:ann"}, []string{"a", "b"}},
		{arena.EnvelopeQuery{Type: "OFFER"}, []string{"b"}},
		{arena.EnvelopeQuery{Thread: "thread_a"}, []string{"a", "c"}},
		{arena.EnvelopeQuery{Thread: "thread_a", Sender: "did:key:cid"}, []string{"c"}},
		{arena.EnvelopeQuery{Now: start.Add(62 * time.Second)}, []string{"c"}}, // the others have expired
	} {
		f.equal(c.want, f.seen(c.q))
	}
	// A time: that of an envelope, one between two, one before and one after all.
	after := func(q arena.EnvelopeQuery, at time.Time, want int64, exact bool) {
		f.t.Helper()
		got, hit, err := f.Relay.EnvelopeAfter(ctx, q, at)
		f.ok(err)
		f.equal([]any{want, exact}, []any{got, hit})
	}
	for at, want := range map[time.Time]int64{
		start.Add(2 * time.Second): 2, start.Add(2500 * time.Millisecond): 2, start: 0, start.Add(time.Hour): 3,
	} {
		after(arena.EnvelopeQuery{}, at, want, at.Equal(start.Add(2*time.Second)))
	}
	// The time of an envelope that somebody else gets says nothing about mine.
	after(arena.EnvelopeQuery{Recipient: "did:key:bob"}, start.Add(2*time.Second), 1, false)
	// A time far ahead of the clock stands where it arrived (threat L3).
	ahead := f.post(envelope("ahead", 4, func(e *arena.Envelope) { e.At = start.Add(5 * time.Minute) }))
	after(arena.EnvelopeQuery{Recipient: "did:key:bob"}, ahead.At, ahead.Seq, true)
	f.equal(ahead.Seq, must(f.Relay.LastEnvelope(ctx))(f))

	// One without a thread joins that of its request, if it may have to do with it.
	var joined []string
	join := func(e arena.Envelope) arena.Envelope {
		stored, _, err := f.Relay.AddEnvelope(ctx, e, arena.EnvelopeRules{Admit: func(thread []arena.Envelope, _ *arena.Envelope) error {
			joined = nil
			for _, e := range thread {
				joined = append(joined, e.ID)
			}
			return nil
		}})
		f.ok(err)
		return stored
	}
	reply := func(id, sender string) arena.Envelope {
		return envelope(id, 5, func(e *arena.Envelope) {
			e.Sender, e.Recipient, e.Type, e.Thread, e.RequestID = sender, "", "OFFER", "", "req_a"
		})
	}
	f.equal("thread_a", join(reply("d", "did:key:bob")).Thread)
	f.equal([]string{"a", "c"}, joined)
	f.equal("", join(reply("e", "did:key:eve")).Thread)
	f.equal(0, len(joined))
	f.equal(3, len(must(f.Relay.EnvelopeThread(ctx, "thread_a", 0))(f)))
	f.equal(1, len(must(f.Relay.EnvelopeThread(ctx, "thread_a", 3))(f)))
}

// envelopeReplays: threats L2 and L4.
func envelopeReplays(f *fixture) {
	ctx := f.t.Context()
	first := f.post(envelope("a", 1))
	again, fresh, err := f.Relay.AddEnvelope(ctx, envelope("a", 9), arena.EnvelopeRules{Admit: func([]arena.Envelope, *arena.Envelope) error {
		return arena.Errorf(arena.CodeForbidden, "a replay is not looked at")
	}})
	f.ok(err)
	f.equal(false, fresh)
	f.equal(first, again)
	f.equal([]string{"a"}, f.seen(arena.EnvelopeQuery{}))

	refuse := func(code arena.Code, e arena.Envelope, r arena.EnvelopeRules) {
		f.t.Helper()
		if r.Admit == nil {
			r.Admit = admitAll
		}
		_, fresh, err := f.Relay.AddEnvelope(ctx, e, r)
		f.fails(code, err)
		f.equal(false, fresh)
		f.equal([]string{"a"}, f.seen(arena.EnvelopeQuery{}))
	}
	refuse(arena.CodeConflict, envelope("a", 1, func(e *arena.Envelope) { e.Digest[0]++ }), arena.EnvelopeRules{})
	refuse(arena.CodeForbidden, envelope("b", 2), arena.EnvelopeRules{Admit: func([]arena.Envelope, *arena.Envelope) error {
		return arena.Errorf(arena.CodeForbidden, "no")
	}})
	refuse(arena.CodeRateLimited, envelope("b", 2), arena.EnvelopeRules{PerMinute: 1, BytesPerMinute: 1000})
	refuse(arena.CodeRateLimited, envelope("b", 2), arena.EnvelopeRules{PerMinute: 9, BytesPerMinute: 2*len(first.Body) - 1})
	// The arena's own times rise, so that each names one place.
	refuse(arena.CodeNameTaken, envelope("b", 1), arena.EnvelopeRules{Rising: true})
	refuse(arena.CodeNameTaken, envelope("b", 0), arena.EnvelopeRules{Rising: true})
	f.equal(first.At, must(f.Relay.EnvelopeTime(ctx, first.Sender, first.Recipient))(f))
	f.equal(time.Time{}, must(f.Relay.EnvelopeTime(ctx, first.Sender, "did:key:eve"))(f))
	f.post(envelope("a", 0, func(e *arena.Envelope) { e.Sender = "did:key:eve" })) // the id is its own sender's
	f.post(envelope("b", 0, func(e *arena.Envelope) { e.Recipient = "" }))
	f.post(envelope("c", 0, func(e *arena.Envelope) { e.Recipient = "" }))
	_, _, err = f.Relay.AddEnvelope(ctx, envelope("d", 62), arena.EnvelopeRules{Admit: admitAll, PerMinute: 1, BytesPerMinute: 1000})
	f.ok(err)
}

// envelopesSealed: what agents say about an open round waits for its end, and
// then stands behind what is there already. Threat F1.
func envelopesSealed(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	sealed := func(e *arena.Envelope) { e.MatchID, e.Round, e.AgentID, e.Recipient, e.Seq = "m_1", 1, ids[0], "", -1 }
	answer := f.post(envelope("answer", 1, sealed))
	f.equal(int64(0), answer.Seq)
	f.post(envelope("other", 1, sealed, func(e *arena.Envelope) { e.Round = 2 }))
	f.post(envelope("open", 2))
	f.equal([]string{"open"}, f.seen(arena.EnvelopeQuery{After: -1}))
	after := func(at time.Time, want int64) {
		f.t.Helper()
		got, exact, err := f.Relay.EnvelopeAfter(ctx, arena.EnvelopeQuery{}, at)
		f.ok(err)
		f.equal([]any{want, false}, []any{got, exact})
	}
	after(answer.At, 2)                  // its own time is nobody's to name
	after(answer.At.Add(time.Minute), 3) // nothing later is visible
	f.equal("answer", must(f.Relay.EnvelopeThread(ctx, "thread_answer", 0))(f)[0].ID)
	now := start.Add(time.Hour)
	f.equal(0, len(must(f.Relay.ShowEnvelopes(ctx, now, 10))(f)))

	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	shown := must(f.Relay.ShowEnvelopes(ctx, now, 10))(f)
	f.equal(1, len(shown))
	f.equal(now.Add(time.Minute), shown[0].ExpiresAt) // it lives as long as it was meant to
	f.equal(shown[0], must(f.Relay.Envelopes(ctx, arena.EnvelopeQuery{Type: "REQUEST", After: 3, Limit: 1, Now: now}))(f)[0])
	f.equal([]string{"open", "answer"}, f.seen(arena.EnvelopeQuery{}))
	f.equal(0, len(must(f.Relay.ShowEnvelopes(ctx, now, 10))(f)))
	// A clock that is behind does not put anything before what was shown.
	f.post(envelope("late", 3))
	after(now.Add(-time.Second), shown[0].Seq-1)
	f.equal([]string{"answer", "late"}, f.seen(arena.EnvelopeQuery{After: shown[0].Seq - 1}))
}

// envelopesOfGames: what agents say in a sealed game waits for its end, and is never
// shown if the match is void. Threat F1.
func envelopesOfGames(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	now := start.Add(time.Hour)
	for _, id := range []string{"m_1", "m_2"} {
		m := arena.Match{ID: id, League: "trivia", Settings: settings(), CreatedAt: start, StartsAt: start}
		m.Settings.Visibility, m.Settings.Game = arena.VisibilityLive, &arena.GameSpec{Name: "poker", Hidden: true}
		for i, agent := range ids {
			m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: agent, State: arena.SeatActive})
		}
		f.ok(second(f.Matches.CreateMatch(ctx, m, event(arena.EventMatchScheduled, `{}`))))
		m.Lease = f.claim().Lease
		f.ok(second(f.Matches.StartMatch(ctx, m.Lease, m.Seats, start, nil, nil)))
		f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(1), nil)))
		f.post(envelope("answer "+id, 1, func(e *arena.Envelope) { e.MatchID, e.Round, e.AgentID, e.Recipient, e.Seq = id, 1, ids[0], "", -1 }))
		f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{
			Round: 1, Seats: m.Seats, RevealFrom: 2,
			Answers: []arena.Answer{{Round: 1, AgentID: ids[0], Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "4"}, Judged: true}},
		}, noEvents)))
		f.equal(0, len(must(f.Relay.ShowEnvelopes(ctx, now, 10))(f)))
		f.equal(0, len(must(f.Ratings.AgentResults(ctx, ids[0], 10))(f)))
		if id == "m_1" {
			f.ok(second(f.Matches.VoidMatch(ctx, m.Lease, arena.OperatorReason("a fault"), m.Seats, start, event(arena.EventMatchVoid, `{}`))))
		} else {
			f.settle(m, start)
		}
	}
	shown := must(f.Relay.ShowEnvelopes(ctx, now, 10))(f)
	f.equal(1, len(shown))
	f.equal("m_2", shown[0].MatchID)
	f.equal(1, len(must(f.Ratings.AgentResults(ctx, ids[0], 10))(f)))
}

// envelopeOrder: whoever has read up to a number misses nothing below it,
// however many nodes write.
func envelopeOrder(f *fixture) {
	ctx := f.t.Context()
	const each = 25
	nodes := []*store.Store{f.Store, f.peer()}
	var writers sync.WaitGroup
	for n, s := range nodes {
		writers.Go(func() {
			for i := range each {
				e := envelope(fmt.Sprintf("%d_%d", n, i), n*each+i)
				if _, _, err := s.Relay.AddEnvelope(ctx, e, arena.EnvelopeRules{Admit: admitAll}); err != nil {
					f.t.Error(err)
				}
			}
		})
	}
	got := map[string]bool{}
	for after := int64(0); len(got) < each*len(nodes); {
		for _, e := range must(f.Relay.Envelopes(ctx, arena.EnvelopeQuery{After: after, Limit: 7}))(f) {
			got[e.ID], after = true, e.Seq
		}
		if f.t.Failed() || after > 2*each*int64(len(nodes)) {
			break
		}
		if after >= each*int64(len(nodes)) && len(got) < each*len(nodes) {
			f.t.Fatalf("read up to %d and have only %d envelopes", after, len(got))
		}
	}
	writers.Wait()
}

// envelopeSweep: threat L4.
func envelopeSweep(f *fixture) {
	ctx := f.t.Context()
	for n := range 10 {
		f.post(envelope(fmt.Sprint(n), n))
	}
	f.post(envelope("eve", 0, func(e *arena.Envelope) { e.Sender, e.Recipient = "did:key:eve", "" }))
	for _, c := range []struct {
		keep arena.EnvelopeKeep
		want []string
	}{
		{arena.EnvelopeKeep{Since: start, Young: start, PerSender: 1, All: 1}, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "eve"}},
		{arena.EnvelopeKeep{Since: start, Young: start.Add(2 * time.Second), PerSender: 1, All: 100}, []string{"2", "3", "4", "5", "6", "7", "8", "9", "eve"}},
		{arena.EnvelopeKeep{Since: start, Young: start.Add(time.Hour), PerSender: 6, All: 100}, []string{"4", "5", "6", "7", "8", "9", "eve"}},
		{arena.EnvelopeKeep{Since: start, Young: start.Add(time.Hour), PerSender: 100, All: 5}, []string{"6", "7", "8", "9", "eve"}},
		{arena.EnvelopeKeep{Since: start.Add(8 * time.Second), Young: start.Add(time.Hour), PerSender: 100, All: 100}, []string{"8", "9"}},
	} {
		before := len(f.seen(arena.EnvelopeQuery{}))
		gone := must(f.Relay.SweepEnvelopes(ctx, c.keep))(f)
		f.equal(c.want, f.seen(arena.EnvelopeQuery{}))
		f.equal(int64(before-len(c.want)), gone)
	}
}

// envelopesOfOwner: threat L5.
func envelopesOfOwner(f *fixture) {
	ctx := f.t.Context()
	post := func(sender, owner, id string, n int, size int) error {
		e := envelope(id, n, func(e *arena.Envelope) {
			e.Sender, e.OwnerID, e.Body = "did:key:"+sender, owner, bytes.Repeat([]byte{' '}, size)
		})
		_, _, err := f.Relay.AddEnvelope(ctx, e, arena.EnvelopeRules{Admit: admitAll, OwnerBytes: 100})
		return err
	}
	f.ok(post("ann", "ow_a", "a", 1, 40))
	f.ok(post("bob", "ow_a", "b", 2, 40)) // another agent of the same owner
	f.fails(arena.CodeRateLimited, post("ann", "ow_a", "c", 3, 21))
	f.ok(post("ann", "ow_a", "d", 4, 20))
	f.fails(arena.CodeRateLimited, post("bob", "ow_a", "e", 5, 1))
	f.ok(post("cid", "ow_b", "f", 6, 100)) // another owner
	f.ok(post("arena", "", "g", 7, 1000))  // nobody's
	keep := arena.EnvelopeKeep{Since: start, Young: start.Add(2 * time.Second), PerSender: 100, All: 100, PerOwner: 50}
	f.equal(int64(1), must(f.Relay.SweepEnvelopes(ctx, keep))(f)) // the rest is young
	f.equal([]string{"b", "d", "f", "g"}, f.seen(arena.EnvelopeQuery{}))
	f.ok(post("ann", "ow_a", "h", 8, 40))
	keep.Young = start.Add(time.Hour)
	f.equal(int64(3), must(f.Relay.SweepEnvelopes(ctx, keep))(f))
	f.equal([]string{"g", "h"}, f.seen(arena.EnvelopeQuery{}))
}

func relayKeys(f *fixture) {
	ctx := f.t.Context()
	f.equal(arena.RelayKey{Key: "did:key:bob"}, must(f.Relay.RelayKey(ctx, "did:key:bob"))(f))
	f.post(envelope("a", 1, func(e *arena.Envelope) { e.Sender, e.Recipient = "did:key:bob", "" }))
	f.equal(arena.RelayKey{Key: "did:key:bob", PostedAt: start.Add(time.Second)}, must(f.Relay.RelayKey(ctx, "did:key:bob"))(f))
	f.ok(f.Relay.PolledRelay(ctx, "did:key:bob", start.Add(time.Minute)))
	f.ok(f.Relay.PolledRelay(ctx, "did:key:bob", start)) // another node's, late
	f.ok(f.Relay.SaveManifest(ctx, "did:key:bob", []byte(`{"id":"cap"}`), start.Add(time.Minute)))
	f.ok(f.Relay.SaveManifest(ctx, "did:key:bob", []byte(`{"id":"old"}`), start))
	f.ok(f.Relay.SaveManifest(ctx, "did:key:ann", []byte(`{}`), start))
	want := arena.RelayKey{
		Key: "did:key:bob", PolledAt: start.Add(time.Minute), PostedAt: start.Add(time.Second),
		Manifest: []byte(`{"id":"cap"}`), ManifestAt: start.Add(time.Minute),
	}
	f.equal(want, must(f.Relay.RelayKey(ctx, "did:key:bob"))(f))
	f.equal([]arena.RelayKey{want, {Key: "did:key:ann", Manifest: []byte(`{}`), ManifestAt: start}}, must(f.Relay.RelayManifests(ctx, 10))(f))
	f.equal(1, len(must(f.Relay.RelayManifests(ctx, 1))(f)))
}

func ownKeys(f *fixture) {
	ctx := f.t.Context()
	first := must(f.Keys.Identity(ctx, "envelope", []byte("one")))(f)
	if other := must(f.another().Keys.Identity(ctx, "envelope", []byte("two")))(f); !bytes.Equal(first, other) {
		f.t.Fatalf("nodes have %q and %q", first, other)
	}
	f.equal([]byte("three"), must(f.Keys.Identity(ctx, "other", []byte("three")))(f))
}
