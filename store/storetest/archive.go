package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// wire is a log as spectators get it.
func wire(events []arena.Event) string {
	var b []byte
	for _, e := range events {
		b = append(e.AppendJSON(b), '\n')
	}
	return string(b)
}

// over plays a match with a sealed round and ends it at at.
func (f *fixture) over(id string, at time.Time, agents ...string) {
	f.t.Helper()
	ctx := f.t.Context()
	m := f.open(id, agents...)
	var report []arena.Event
	for i := range 20 {
		e := event(arena.EventThinking, fmt.Sprintf(`{"message":"%d <b>\u2028 é","n":%d.50}`, i, i))
		e.At = start.Add(time.Duration(i) * 1_001 * time.Millisecond)
		e.Hidden = json.RawMessage(`{"message":"the secret"}`)
		report = append(report, e)
	}
	report = append(report, arena.Event{At: start, Type: arena.EventError}) // no body, no hidden part
	f.ok(second(f.Matches.AppendEvents(ctx, id, agents[0], report)))
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	f.settle(m, at)
}

// archiveMatches: a log reads the same, byte for byte, before and after it is
// packed, from every position and with every limit.
func archiveMatches(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c", "d")
	f.over("m_1", start, ids[0], ids[1])
	f.over("m_2", start.Add(time.Hour), ids[0], ids[1])
	running := f.open("m_3", ids[2], ids[3])
	f.match("m_4", "trivia", ids...)
	f.ok(second(f.Matches.EndMatch(ctx, "m_4", arena.MatchCancelled, arena.OperatorReason("rain"), start, event(arena.EventMatchVoid, `{}`))))

	counts := must(f.Operations.Counts(ctx))(f)
	match := must(f.Matches.Match(ctx, "m_1"))(f)
	before := f.log("m_1")
	pages := func() (text []string) {
		for since := range int64(len(before) + 2) {
			for _, limit := range []int{1, 7, 1000} {
				text = append(text, wire(must(f.Matches.EventsAfter(ctx, "m_1", since-1, limit))(f)))
			}
		}
		return text
	}
	want := pages()
	f.equal(0, must(f.Matches.ArchiveMatches(ctx, start, 10))(f)) // over since start, not before it
	f.equal(1, must(f.Matches.ArchiveMatches(ctx, start.Add(time.Minute), 1))(f))
	f.equal(1, must(f.Matches.ArchiveMatches(ctx, start.Add(time.Minute), 10))(f)) // m_4
	f.equal(0, must(f.Matches.ArchiveMatches(ctx, start.Add(time.Minute), 10))(f)) // again changes nothing
	f.equal(want, pages())
	f.equal(before, f.log("m_1"))
	f.equal(match, must(f.Matches.Match(ctx, "m_1"))(f))
	f.equal(counts, must(f.Operations.Counts(ctx))(f))
	f.equal([]arena.EventType{arena.EventMatchScheduled, arena.EventMatchVoid}, types(f.log("m_4")))
	f.equal(int64(len(before)), must(f.Matches.Match(ctx, "m_2"))(f).Seq)

	// What was handed out may be used as one's own, but for the bodies.
	got := must(f.Matches.EventsAfter(ctx, "m_1", 0, 1000))(f)
	got[0].Round, got[5].Body = 99, append(got[5].Body, strings.Repeat("more", 50)...)
	f.equal(want, pages())
	// Another node, which has not decoded it yet, reads the same.
	f.equal(before, must(f.another().Matches.EventsAfter(ctx, "m_1", 0, 1000))(f))
	// A match that is not over stays, and goes on.
	f.ok(second(f.Matches.AppendEvents(ctx, "m_3", ids[2], []arena.Event{event(arena.EventThinking, `{}`)})))
	f.settle(running, start.Add(time.Hour))
	_, err := f.Matches.ArchiveMatches(ctx, start, 0)
	f.fails(arena.CodeInvalid, err)
}

// archiveLarge packs a log that is more than one part.
func archiveLarge(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	for i := range 30 {
		var report []arena.Event
		for j := range 50 {
			noise := fmt.Sprintf("%d-%d ", i, j)
			report = append(report, event(arena.EventThinking, `{"message":"`+strings.Repeat(noise, 8_000/len(noise))+`"}`))
		}
		f.ok(second(f.Matches.AppendEvents(ctx, "m_1", ids[i%2], report)))
	}
	f.settle(m, start)
	before := f.log("m_1")
	f.equal(1, must(f.Matches.ArchiveMatches(ctx, start.Add(time.Minute), 10))(f))
	f.equal(len(before), len(f.log("m_1")))
	for _, since := range []int64{0, 400, 520, 530, 1100, 1503, 1504, 9999} {
		for _, limit := range []int{1, 200, 2000} {
			from := min(int(since), len(before))
			want := before[from:min(from+limit, len(before))]
			got := must(f.Matches.EventsAfter(ctx, "m_1", since, limit))(f)
			if wire(want) != wire(got) {
				f.t.Fatalf("since %d, limit %d: %d events, want %d", since, limit, len(got), len(want))
			}
		}
	}
}

// archiveRace packs on two nodes while many read: nobody sees a gap.
func archiveRace(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	var want []string
	const matches = 12
	for i := range matches {
		f.over(fmt.Sprintf("m_%02d", i), start, ids...)
		want = append(want, wire(f.log(fmt.Sprintf("m_%02d", i))))
	}
	nodes := []*store.Store{f.Store, f.peer()}
	var wg, reading sync.WaitGroup
	errs := make([]error, 2+16)
	packed := make([]int, 2)
	done := make(chan struct{})
	reading.Add(16)
	for i := range 16 {
		wg.Go(func() {
			first := sync.OnceFunc(reading.Done)
			defer first()
			for {
				for n := range matches {
					events, err := nodes[i%2].Matches.EventsAfter(ctx, fmt.Sprintf("m_%02d", n), 0, 1000)
					if err == nil && wire(events) != want[n] {
						err = fmt.Errorf("match %d was read wrongly: %d events", n, len(events))
					}
					if err != nil {
						errs[2+i] = err
						return
					}
				}
				first()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	reading.Wait()
	var packing sync.WaitGroup
	for i := range 2 {
		packing.Go(func() { packed[i], errs[i] = nodes[i].Matches.ArchiveMatches(ctx, start.Add(time.Minute), 100) })
	}
	packing.Wait()
	close(done)
	wg.Wait()
	f.ok(errors.Join(errs...))
	f.equal(matches, packed[0]+packed[1])
}

// retention drops logs and attempts; matches, answers and ratings stay.
func retention(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	f.over("m_1", start, ids...)
	f.over("m_2", start.Add(time.Minute), ids...)
	f.over("m_3", start.Add(time.Hour), ids...)
	f.equal(1, must(f.Matches.ArchiveMatches(ctx, start.Add(time.Second), 10))(f))
	f.log("m_1")
	each := must(f.Operations.Counts(ctx))(f).Events / 3
	ratings := must(f.Ratings.AgentRatings(ctx, ids))(f)

	f.equal(0, must(f.Matches.DropEvents(ctx, start, 10))(f))
	f.equal(1, must(f.Matches.DropEvents(ctx, start.Add(30*time.Minute), 1))(f)) // the archived one first
	f.equal(1, must(f.Matches.DropEvents(ctx, start.Add(30*time.Minute), 10))(f))
	f.equal(0, must(f.Matches.DropEvents(ctx, start.Add(30*time.Minute), 10))(f))
	f.equal(0, must(f.Matches.ArchiveMatches(ctx, start.Add(30*time.Minute), 10))(f))
	for _, id := range []string{"m_1", "m_2"} {
		f.equal(0, len(f.log(id))) // and its match has seq 0: a spectator finds nothing to wait for
		f.equal(arena.MatchFinished, must(f.Matches.Match(ctx, id))(f).Status)
		f.equal(1, len(must(f.Matches.Rounds(ctx, id))(f)))
	}
	f.equal(each, int64(len(f.log("m_3"))))
	f.equal(each, must(f.Operations.Counts(ctx))(f).Events)
	f.equal(ratings, must(f.Ratings.AgentRatings(ctx, ids))(f))

	m := f.open("m_4", ids...)
	var attempts []arena.Delivery
	for i := range 10 {
		attempts = append(attempts, arena.Delivery{AgentID: ids[0], SentAt: start.Add(time.Duration(i) * time.Hour), Request: bytes.Repeat([]byte("x"), 10)})
	}
	f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, fullAnswer(ids[0]), attempts, nil)))
	f.equal(0, must(f.Matches.DropDeliveries(ctx, start, 10))(f))
	f.equal(3, must(f.Matches.DropDeliveries(ctx, start.Add(5*time.Hour), 3))(f))
	f.equal(2, must(f.Matches.DropDeliveries(ctx, start.Add(5*time.Hour), 3))(f))
	left, _, err := f.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: ids[0]}, arena.Page{Limit: 100})
	f.ok(err)
	f.equal(5, len(left))
	f.equal(start.Add(5*time.Hour), left[4].SentAt)
	for _, err := range []error{second(f.Matches.DropEvents(ctx, start, 0)), second(f.Matches.DropDeliveries(ctx, start, 0))} {
		f.fails(arena.CodeInvalid, err)
	}
}

// eraseTexts: what an agent wrote and chose in a match goes, from rows and from
// a packed log alike, and the commitments stay.
func eraseTexts(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := due("m_1", ids...)
	m.SeedSalt, m.Seats[0].Salt, m.Seats[1].Salt = "seed salt", "salt a", "salt b"
	_, err := f.Matches.CreateMatch(ctx, m, event(arena.EventMatchScheduled, `{"name":"secret a"}`))
	f.ok(err)
	claimed := f.claim()
	f.equal(m.SeedSalt, claimed.SeedSalt)
	f.equal("salt b", claimed.Seats[1].Salt)
	first := round(1)
	first.Turn.State = json.RawMessage(`{"transcript":["secret a"]}`)
	_, err = f.Matches.StartMatch(ctx, claimed.Lease, claimed.Seats, start, &first, []arena.Event{event(arena.EventMatchStarted, `{}`), roundEvent()})
	f.ok(err)
	thought := event(arena.EventThinking, `{"commitment":"c"}`)
	thought.Hidden = json.RawMessage(`{"message":"secret a"}`)
	_, err = f.Matches.AppendEvents(ctx, "m_1", ids[0], []arena.Event{thought})
	f.ok(err)
	for _, id := range ids {
		f.ok(second(f.Matches.SaveAnswer(ctx, claimed.Lease, func() arena.Answer { a := fullAnswer(id); a.MatchID = "m_1"; return a }(), nil, nil)))
	}
	erasure := arena.TextErasure{
		MatchID: "m_1", AgentID: ids[0], Commitments: map[string]string{"/seats/0/name": "c1"},
		Events: []arena.Event{{Seq: 1, Body: json.RawMessage(`{"name":"gone"}`)}},
	}
	f.fails(arena.CodeConflict, f.Matches.EraseTexts(ctx, erasure))
	f.settle(claimed, start)
	f.equal(map[string]string(nil), must(f.Matches.ErasedTexts(ctx, "m_1"))(f))
	before := f.log("m_1")
	answers := must(f.Matches.Answers(ctx, "m_1"))(f)

	f.ok(f.Matches.EraseTexts(ctx, erasure))
	f.equal(erasure.Commitments, must(f.Matches.ErasedTexts(ctx, "m_1"))(f))
	f.equal(json.RawMessage(nil), must(f.Matches.Rounds(ctx, "m_1"))(f)[0].Turn.State)
	before[0].Body = json.RawMessage(`{"name":"gone"}`)
	f.equal(before, f.log("m_1"))
	answers[0].Body = &arena.AnswerBody{}
	f.equal(answers, must(f.Matches.Answers(ctx, "m_1"))(f))
	seats := must(f.Matches.Match(ctx, "m_1"))(f).Seats
	f.equal([]string{arena.DeletedAgent, "", ""}, []string{seats[0].Name, seats[0].Version, seats[0].Salt})
	f.equal([]string{"b", "1", "salt b"}, []string{seats[1].Name, seats[1].Version, seats[1].Salt})

	// The same once the log is packed, though it was read, and cached, before.
	f.clock.advance(time.Hour)
	f.equal(1, must(f.Matches.ArchiveMatches(ctx, f.clock.read(), 10))(f))
	f.equal(before, f.log("m_1"))
	last := len(before) - 1
	erasure.AgentID, erasure.Events = ids[1], []arena.Event{{Seq: before[last].Seq, Body: json.RawMessage(`{"rated":true,"gone":2}`)}}
	maps.Copy(erasure.Commitments, map[string]string{"/seats/1/name": "c2"})
	f.ok(f.Matches.EraseTexts(ctx, erasure))
	before[last].Body = erasure.Events[0].Body
	f.equal(before, f.log("m_1"))
	f.equal(erasure.Commitments, must(f.Matches.ErasedTexts(ctx, "m_1"))(f))

	// One that was planned before texts were erased would lose their commitments.
	f.fails(arena.CodeConflict, f.Matches.EraseTexts(ctx, arena.TextErasure{MatchID: "m_1", AgentID: ids[1], Commitments: map[string]string{"/seats/1/name": "c2"}}))
	f.fails(arena.CodeNotFound, f.Matches.EraseTexts(ctx, arena.TextErasure{MatchID: "m_none", Commitments: map[string]string{strings.Repeat("x", 3): ""}}))
}
