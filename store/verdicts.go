package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// verdictRow is a row of verdicts.
type verdictRow struct {
	arena.Verdict

	no int64 // 1: as the round closed; more: later ones
}

var verdictTable = db.NewTable("verdicts", "v",
	db.Text("match_id", func(v *verdictRow) *string { return &v.MatchID }),
	db.Int("round", func(v *verdictRow) *int { return &v.Round }),
	db.Int("no", func(v *verdictRow) *int64 { return &v.no }),
	db.Text("judge", func(v *verdictRow) *string { return &v.Judge }),
	db.Text("version", func(v *verdictRow) *string { return &v.Version }),
	db.JSON("seats", func(v *verdictRow) *[]arena.SeatVerdict { return &v.Seats }),
	db.JSON("ballots", func(v *verdictRow) *[]arena.Ballot { return &v.Ballots }).With(func(v *verdictRow) any {
		if len(v.Ballots) == 0 {
			return ""
		}
		return db.Encode(v.Ballots)
	}),
	db.Time("at", func(v *verdictRow) *time.Time { return &v.At }),
)

var (
	insertVerdicts = db.NewInsert(verdictTable, "")
	updateBallots  = db.NewUpdate(verdictTable, []string{"match_id", "round", "no"}, []string{"ballots"})
)

// insertVerdict stores a verdict after those that the round has.
func insertVerdict(ctx context.Context, tx *db.Tx, matchID string, v arena.Verdict) error {
	last, err := db.One(ctx, tx, db.ScanInt, `SELECT COALESCE(max(no), 0) FROM verdicts WHERE match_id = $1 AND round = $2`, matchID, v.Round)
	if err != nil {
		return err
	}
	v.MatchID = matchID
	_, err = insertVerdicts.Exec(ctx, tx, verdictRow{Verdict: v, no: last + 1})
	return err
}

// eraseReasons erases the words of judges on the rounds in which they may repeat
// erased texts.
func eraseReasons(ctx context.Context, tx *db.Tx, e arena.TextErasure) error {
	rows, err := verdictTable.All(ctx, tx, ` WHERE v.match_id = $1 AND v.round >= $2 AND v.ballots <> ''`, e.MatchID, e.Round)
	if err != nil {
		return err
	}
	for _, v := range rows {
		for i := range v.Ballots {
			v.Ballots[i].Reason = ""
		}
	}
	_, err = updateBallots.Exec(ctx, tx, rows...)
	return err
}

func readVerdicts(ctx context.Context, q db.Querier, rest string, args ...any) (verdicts []arena.Verdict, err error) {
	rows, err := verdictTable.All(ctx, q, rest, args...)
	for _, v := range rows {
		verdicts = append(verdicts, v.Verdict)
	}
	return verdicts, err
}

// Verdicts returns the verdicts of a match's rounds, by round, oldest first:
// the last one of a round is the one that counts.
func (s *Matches) Verdicts(ctx context.Context, matchID string) ([]arena.Verdict, error) {
	verdicts, err := readVerdicts(ctx, s.reader, ` WHERE v.match_id = $1 ORDER BY v.round, v.no`, matchID)
	return verdicts, s.wrap(err, "read verdicts of match %s", matchID)
}

// LeagueVerdicts returns the newest limit verdicts of a league's external
// judges, newest match first, as they counted when their rounds closed. Those
// on a delayed match follow when it is over (docs/rules.md, section 5).
func (s *Matches) LeagueVerdicts(ctx context.Context, league string, limit int) ([]arena.Verdict, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	verdicts, err := readVerdicts(ctx, s.reader, ` JOIN matches m ON m.id = v.match_id
		WHERE m.league = $1 AND m.delay = 0 AND v.no = 1 AND v.ballots <> '' ORDER BY m.id DESC, v.round LIMIT $2`, league, limit)
	return verdicts, s.wrap(err, "read verdicts of league %s", league)
}

var voteTable = db.NewTable("votes", "v",
	db.Text("match_id", func(v *arena.Vote) *string { return &v.MatchID }),
	db.Int("round", func(v *arena.Vote) *int { return &v.Round }),
	db.Digest("voter", func(v *arena.Vote) *[32]byte { return &v.Voter }),
	db.Digest("address", func(v *arena.Vote) *[32]byte { return &v.Address }),
	db.Digest("site", func(v *arena.Vote) *[32]byte { return &v.Site }),
	db.Text("choice", func(v *arena.Vote) *string { return &v.Choice }),
	db.Text("other", func(v *arena.Vote) *string { return &v.Other }),
	db.Time("at", func(v *arena.Vote) *time.Time { return &v.At }),
)

var saveVotes = db.NewUpsert(voteTable, []string{"match_id", "round", "voter"})

// SaveVote counts a spectator's vote in an open round; the last one of a
// voter counts. conflict: the round is not open. rate_limited: perAddress
// other voters have voted from its address, or arena.SiteFactor times as many
// from its site.
func (s *Matches) SaveVote(ctx context.Context, v arena.Vote, perAddress int) error {
	err := s.write(ctx, v.MatchID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.One(ctx, tx, db.ScanInt, `SELECT m.round FROM matches m WHERE m.id = $1 AND m.round = $2 AND m.round_open = 1`,
			v.MatchID, v.Round)
		if errors.Is(err, sql.ErrNoRows) {
			return arena.Errorf(arena.CodeConflict, "the vote on round %d of match %q is over", v.Round, v.MatchID)
		}
		if err != nil {
			return err
		}
		if err := fewVotes(ctx, tx, v, "address", v.Address, perAddress); err != nil {
			return err
		}
		if v.Site != ([32]byte{}) {
			if err := fewVotes(ctx, tx, v, "site", v.Site, perAddress*arena.SiteFactor); err != nil {
				return err
			}
		}
		_, err = saveVotes.Exec(ctx, tx, v)
		return err
	})
	return s.wrap(err, "save a vote on match %s", v.MatchID)
}

// fewVotes returns rate_limited when most others than its voter have voted on
// the round of v under a column's value.
func fewVotes(ctx context.Context, tx *db.Tx, v arena.Vote, column string, value [32]byte, most int) error {
	others, err := db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM votes WHERE match_id = $1 AND round = $2 AND `+column+` = $3
		AND voter <> $4`, v.MatchID, v.Round, value[:], v.Voter[:])
	if err == nil && others >= int64(most) {
		err = arena.Errorf(arena.CodeRateLimited, "%d browsers have voted from your %s, the limit is %d", others, column, most)
	}
	return err
}

// Votes returns the votes on a round.
func (s *Matches) Votes(ctx context.Context, matchID string, round int) ([]arena.Vote, error) {
	votes, err := voteTable.All(ctx, s.reader, ` WHERE v.match_id = $1 AND v.round = $2 ORDER BY v.at, v.voter`, matchID, round)
	return votes, s.wrap(err, "read votes on match %s", matchID)
}

var guessTable = db.NewTable("guesses", "g",
	db.Text("match_id", func(g *arena.GuessCount) *string { return &g.MatchID }),
	db.Int("round", func(g *arena.GuessCount) *int { return &g.Round }),
	db.Text("answer", func(g *arena.GuessCount) *string { return &g.Answer }),
	db.Int("n", func(g *arena.GuessCount) *int { return &g.N }),
)

var addGuesses = db.NewInsert(guessTable, "ON CONFLICT (match_id, round, answer) DO UPDATE SET n = guesses.n + excluded.n")

// AddGuess adds one to the spectators who gave an answer to a round.
func (s *Matches) AddGuess(ctx context.Context, matchID string, round int, answer string) error {
	err := s.write(ctx, matchID, func(ctx context.Context, tx *db.Tx) error {
		_, err := addGuesses.Exec(ctx, tx, arena.GuessCount{MatchID: matchID, Round: round, Answer: answer, N: 1})
		return err
	})
	return s.wrap(err, "add a guess on match %s", matchID)
}

// Guesses returns how many spectators gave each answer to the rounds of a match, by
// round and answer.
func (s *Matches) Guesses(ctx context.Context, matchID string) ([]arena.GuessCount, error) {
	counts, err := guessTable.All(ctx, s.reader, ` WHERE g.match_id = $1 ORDER BY g.round, g.answer`, matchID)
	return counts, s.wrap(err, "read guesses on match %s", matchID)
}

// lockFinished locks the row of a match. not_found: it does not exist; conflict:
// it is not finished.
func (s *Matches) lockFinished(ctx context.Context, tx *db.Tx, matchID string) error {
	status, err := s.lockMatch(ctx, tx, matchID)
	if err == nil && status != arena.MatchFinished {
		err = arena.Errorf(arena.CodeConflict, "only a finished match can be scored again, this one is %s", status)
	}
	return err
}

// lockOver is lockFinished for a match that is over in any way.
func (s *Matches) lockOver(ctx context.Context, tx *db.Tx, matchID string) error {
	status, err := s.lockMatch(ctx, tx, matchID)
	if err == nil && !status.Over() {
		err = arena.Errorf(arena.CodeConflict, "only a match that is over can have texts erased, this one is %s", status)
	}
	return err
}

func (s *Matches) lockMatch(ctx context.Context, tx *db.Tx, matchID string) (arena.MatchStatus, error) {
	status, err := db.One(ctx, tx, db.ScanText, `SELECT m.status FROM matches m WHERE m.id = $1`+s.d.Lock("m"), matchID)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("match", matchID)
	}
	return arena.MatchStatus(status), err
}

// SaveRescore stores another look at the answers of a finished match: its
// verdicts, points and places. Ratings follow with RebuildRatings. conflict:
// the match is not finished.
func (s *Matches) SaveRescore(ctx context.Context, r arena.Rescore) error {
	// Alone: another batch may hold encounters of the same agents.
	err := s.writeAlone(ctx, r.MatchID, func(ctx context.Context, tx *db.Tx) error {
		if err := s.lockFinished(ctx, tx, r.MatchID); err != nil {
			return err
		}
		for _, v := range r.Verdicts {
			if err := insertVerdict(ctx, tx, r.MatchID, v); err != nil {
				return err
			}
		}
		for _, a := range r.Answers {
			if err := voidOutcome(ctx, tx, r.MatchID, a); err != nil {
				return err
			}
			if _, err := db.Exec(ctx, tx, `UPDATE answers SET points = $1, reason = $2 WHERE match_id = $3 AND round = $4 AND agent_id = $5`,
				int64(a.Points), db.Storable(a.Reason), r.MatchID, a.Round, a.AgentID); err != nil {
				return err
			}
		}
		if err := removeEncounters(ctx, tx, r.MatchID); err != nil {
			return err
		}
		for _, seat := range r.Seats {
			if _, err := db.Exec(ctx, tx, `UPDATE seats SET points = $1, place = $2 WHERE match_id = $3 AND no = $4`,
				int64(seat.Points), seat.Place, r.MatchID, seat.No); err != nil {
				return err
			}
		}
		return addEncounters(ctx, tx, r.MatchID)
	})
	return s.wrap(err, "score match %s again", r.MatchID)
}

// voidOutcome makes the outcome of an answer void, if the answer says so and it
// was not, and moves it in the counted outcomes of its agent.
func voidOutcome(ctx context.Context, tx *db.Tx, matchID string, a arena.Answer) error {
	if a.Outcome != arena.OutcomeVoid {
		return nil
	}
	was, err := db.One(ctx, tx, func(r db.Row) (o arena.Outcome, err error) { return o, r.Scan(&o) },
		`SELECT outcome FROM answers WHERE match_id = $1 AND round = $2 AND agent_id = $3`, matchID, a.Round, a.AgentID)
	if err != nil || was == arena.OutcomeVoid {
		return err
	}
	if _, err := db.Exec(ctx, tx, `UPDATE answers SET outcome = $1 WHERE match_id = $2 AND round = $3 AND agent_id = $4`,
		arena.OutcomeVoid, matchID, a.Round, a.AgentID); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, tx, `UPDATE outcomes SET rounds = rounds - 1 WHERE agent_id = $1 AND outcome = $2`, a.AgentID, was); err != nil {
		return err
	}
	_, err = db.Exec(ctx, tx, `INSERT INTO outcomes (agent_id, outcome, rounds) VALUES ($1, $2, 1)
		ON CONFLICT (agent_id, outcome) DO UPDATE SET rounds = outcomes.rounds + 1`, a.AgentID, arena.OutcomeVoid)
	return err
}
