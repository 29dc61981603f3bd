package storetest

import (
	"time"

	"github.com/agora-arena/arena/arena"
)

func seasons(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	a, b := f.agent("a"), f.agent("b")
	_, _, err := f.Leagues.Season(ctx, "trivia", 0)
	f.fails(arena.CodeNotFound, err)
	_, _, err = f.Leagues.Season(ctx, "none", 0)
	f.fails(arena.CodeNotFound, err)

	made := arena.Season{
		ID: "se_1", League: "trivia", Format: arena.FormatSwiss, Options: arena.FormatOptions{Rounds: 3, Forfeit: time.Minute}, Seed: 1<<63 + 5,
		Entrants:  []arena.Entrant{{AgentID: a.ID, OwnerID: a.OwnerID, Name: "a", Rating: 1_600_000, Round: 1}, {AgentID: b.ID, OwnerID: b.OwnerID, Name: "b", Rating: 1_500_000, Round: 2}},
		StartedAt: start, EndsAt: start.Add(time.Hour),
	}
	season := must(f.Leagues.StartSeason(ctx, made))(f)
	want := made
	want.No, want.Status, want.Version = 1, arena.SeasonRunning, 1
	f.equal(want, season)
	f.equal([]string{"trivia"}, must(f.Leagues.RunningSeasons(ctx))(f))
	second := made
	second.ID = "se_2"
	_, err = f.Leagues.StartSeason(ctx, second)
	f.fails(arena.CodeConflict, err)

	// A pairing, its match, its result.
	p := arena.Pairing{SeasonID: "se_1", Round: 1, Slot: 1, Game: 1, Bracket: "winners", Agents: []string{a.ID, b.ID}, CreatedAt: start}
	bye := arena.Pairing{
		SeasonID: "se_1", Round: 1, Slot: 2, Game: 1, Agents: []string{b.ID}, Result: arena.PairingBye, Scores: []arena.Points{500},
		CreatedAt: start, DecidedAt: start,
	}
	f.ok(f.Leagues.ChangeSeason(ctx, season, arena.SeasonChange{Pairings: []arena.Pairing{bye, p}}))
	f.fails(arena.CodeConflict, f.Leagues.ChangeSeason(ctx, season, arena.SeasonChange{Pairings: []arena.Pairing{p}}))
	stored, pairings := f.season()
	f.equal([]arena.Pairing{p, bye}, pairings)
	f.equal(int64(2), stored.Version)

	p.MatchID = "m_1"
	f.ok(f.Leagues.ChangeSeason(ctx, stored, arena.SeasonChange{Pairings: []arena.Pairing{p}}))
	f.equal(map[string]arena.Match{}, must(f.Leagues.PairingMatches(ctx, "se_1"))(f))
	m := arena.Match{ID: "m_1", League: "trivia", CreatedAt: start, Seats: []arena.Seat{{AgentID: a.ID}, {No: 1, AgentID: b.ID}}}
	must(f.Matches.CreateMatch(ctx, m, arena.Event{At: start, Type: arena.EventMatchScheduled, Body: []byte(`{}`)}))(f)
	f.equal(1, len(must(f.Leagues.PairingMatches(ctx, "se_1"))(f)))
	of, no, err := f.Leagues.PairingOf(ctx, "m_1")
	f.ok(err)
	f.equal(p, of)
	f.equal(1, no)
	_, _, err = f.Leagues.PairingOf(ctx, "m_none")
	f.fails(arena.CodeNotFound, err)

	stored, _ = f.season()
	p.Result, p.Scores, p.DecidedAt = arena.PairingPlayed, []arena.Points{1000, 0}, start.Add(time.Second)
	late := arena.Entrant{AgentID: f.agent("c").ID, OwnerID: "ow", Name: "c", Rating: 1_400_000, Round: 3}
	gone := made.Entrants[1]
	gone.WithdrawnRound = 2
	f.ok(f.Leagues.ChangeSeason(ctx, stored, arena.SeasonChange{Pairings: []arena.Pairing{p}, Join: []arena.Entrant{gone, late}}))
	stored, _ = f.season()
	f.equal([]arena.Entrant{made.Entrants[0], gone, late}, stored.Entrants)
	other := p
	other.Scores, other.Result = nil, arena.PairingVoid // decided: it stays
	f.ok(f.Leagues.ChangeSeason(ctx, stored, arena.SeasonChange{Pairings: []arena.Pairing{other}}))
	stored, pairings = f.season()
	f.equal([]arena.Pairing{p, bye}, pairings)

	// The end; then the next one.
	table := []arena.TableRow{{Rank: 1, AgentID: a.ID, Name: "a", Played: 1, Wins: 1, Score: 1500, TieBreaks: []arena.TieBreak{{Name: "buchholz", Value: 500}}}}
	f.ok(f.Leagues.ChangeSeason(ctx, stored, arena.SeasonChange{Finish: &arena.SeasonEnd{At: start.Add(time.Hour), Table: table}}))
	stored, _ = f.season()
	f.equal(table, stored.Table)
	f.equal(arena.SeasonFinished, stored.Status)
	f.equal(0, len(must(f.Leagues.RunningSeasons(ctx))(f)))
	f.fails(arena.CodeConflict, f.Leagues.ChangeSeason(ctx, stored, arena.SeasonChange{Join: []arena.Entrant{late}}))
	f.equal(2, must(f.Leagues.StartSeason(ctx, second))(f).No)
	day := 24 * time.Hour
	f.equal([]arena.SeasonDay{{League: "trivia", First: 1, Last: 2, StartedAt: start, EndsAt: start.Add(time.Hour)}}, must(f.Leagues.SeasonDays(ctx, start, start.Add(day)))(f))
	f.equal([]arena.SeasonDay{{League: "trivia", Day: 1, First: 1, Last: 2, StartedAt: start, EndsAt: start.Add(time.Hour)}}, must(f.Leagues.SeasonDays(ctx, start.Add(-day), start.Add(day)))(f))
	f.equal([]arena.SeasonDay{{League: "trivia", First: 2, Last: 2, StartedAt: start, EndsAt: start.Add(time.Hour)}}, must(f.Leagues.SeasonDays(ctx, start.Add(day), start.Add(2*day)))(f))
	f.equal([]arena.SeasonDay(nil), must(f.Leagues.SeasonDays(ctx, start.Add(-day), start))(f))
	newest, cursor, err := f.Leagues.Seasons(ctx, "trivia", arena.Page{Limit: 1})
	f.ok(err)
	oldest, end, err := f.Leagues.Seasons(ctx, "trivia", arena.Page{Limit: 1, Cursor: cursor})
	f.ok(err)
	f.equal([]int{2, 1}, []int{newest[0].No, oldest[0].No})
	f.equal("", end)
	_, _, err = f.Leagues.Seasons(ctx, "trivia", arena.Page{Limit: 101})
	f.fails(arena.CodeInvalid, err)
	_, _, err = f.Leagues.Seasons(ctx, "trivia", arena.Page{Limit: 1, Cursor: "czp4"}) // "s:x"
	f.fails(arena.CodeInvalid, err)
	first, _, err := f.Leagues.Season(ctx, "trivia", 1)
	f.ok(err)
	f.equal(stored, first)

	// A corrected answer is noted in the finished season alone.
	f.ok(f.Packs.CreatePack(ctx, arena.Pack{ID: "pk_5", Name: "Cups", Format: "jsonl", CreatedAt: start}, []arena.Task{{Description: "q", Answers: []string{"a"}}}))
	f.ok(f.Packs.CorrectTasks(ctx, "pk_5", []int{0}, map[string][]string{"trivia": {"m_1", "m_none"}}, start.Add(day)))
	first, _, err = f.Leagues.Season(ctx, "trivia", 1)
	f.ok(err)
	stored.CorrectedAt = start.Add(day)
	f.equal(stored, first)
	stored, _ = f.season()
	f.equal(time.Time{}, stored.CorrectedAt)
}

// season returns the newest season of the league trivia.
func (f *fixture) season() (arena.Season, []arena.Pairing) {
	f.t.Helper()
	season, pairings, err := f.Leagues.Season(f.t.Context(), "trivia", 0)
	f.ok(err)
	return season, pairings
}
