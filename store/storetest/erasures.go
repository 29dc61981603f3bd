package storetest

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// eraseTexts: what an agent wrote and chose in a match goes, from rows and from
// a packed log alike, and the commitments stay.
func eraseTexts(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := due("m_1", ids...)
	m.SeedSalt, m.Seats[0].Salt, m.Seats[1].Salt = "seed salt", "salt a", "salt b"
	_, err := f.CreateMatch(ctx, m, event(arena.EventMatchScheduled, `{"name":"secret a"}`))
	f.ok(err)
	claimed := f.claim()
	f.equal(m.SeedSalt, claimed.SeedSalt)
	f.equal("salt b", claimed.Seats[1].Salt)
	first := round(1)
	_, err = f.StartMatch(ctx, claimed.Lease, claimed.Seats, start, &first, []arena.Event{event(arena.EventMatchStarted, `{}`), roundEvent()})
	f.ok(err)
	thought := event(arena.EventThinking, `{"commitment":"c"}`)
	thought.Hidden = json.RawMessage(`{"message":"secret a"}`)
	_, err = f.AppendEvents(ctx, "m_1", ids[0], []arena.Event{thought})
	f.ok(err)
	for _, id := range ids {
		f.ok(second(f.SaveAnswer(ctx, claimed.Lease, func() arena.Answer { a := fullAnswer(id); a.MatchID = "m_1"; return a }(), nil, nil)))
	}
	erasure := arena.TextErasure{
		MatchID: "m_1", AgentID: ids[0], Commitments: map[string]string{"/seats/0/name": "c1"},
		Events: []arena.Event{{Seq: 1, Body: json.RawMessage(`{"name":"gone"}`)}},
	}
	f.fails(arena.CodeConflict, f.EraseTexts(ctx, erasure))
	f.settle(claimed, start)
	f.equal(map[string]string(nil), must(f.ErasedTexts(ctx, "m_1"))(f))
	before := f.log("m_1")
	answers := must(f.Answers(ctx, "m_1"))(f)

	f.ok(f.EraseTexts(ctx, erasure))
	f.equal(erasure.Commitments, must(f.ErasedTexts(ctx, "m_1"))(f))
	before[0].Body = json.RawMessage(`{"name":"gone"}`)
	f.equal(before, f.log("m_1"))
	answers[0].Body = &arena.AnswerBody{}
	f.equal(answers, must(f.Answers(ctx, "m_1"))(f))
	seats := must(f.Match(ctx, "m_1"))(f).Seats
	f.equal([]string{arena.DeletedAgent, "", ""}, []string{seats[0].Name, seats[0].Version, seats[0].Salt})
	f.equal([]string{"b", "1", "salt b"}, []string{seats[1].Name, seats[1].Version, seats[1].Salt})

	// The same once the log is packed, though it was read, and cached, before.
	f.clock.advance(time.Hour)
	f.equal(1, must(f.ArchiveMatches(ctx, f.clock.read(), 10))(f))
	f.equal(before, f.log("m_1"))
	last := len(before) - 1
	erasure.AgentID, erasure.Events = ids[1], []arena.Event{{Seq: before[last].Seq, Body: json.RawMessage(`{"rated":true,"gone":2}`)}}
	maps.Copy(erasure.Commitments, map[string]string{"/seats/1/name": "c2"})
	f.ok(f.EraseTexts(ctx, erasure))
	before[last].Body = erasure.Events[0].Body
	f.equal(before, f.log("m_1"))
	f.equal(erasure.Commitments, must(f.ErasedTexts(ctx, "m_1"))(f))

	f.fails(arena.CodeNotFound, f.EraseTexts(ctx, arena.TextErasure{MatchID: "m_none", Commitments: map[string]string{strings.Repeat("x", 3): ""}}))
}
