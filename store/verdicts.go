package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

const verdictRows = `SELECT v.match_id, v.round, v.judge, v.version, v.seats, v.ballots, v.at FROM verdicts v`

func scanVerdict(r db.Row) (v arena.Verdict, err error) {
	return v, r.Scan(&v.MatchID, &v.Round, &v.Judge, &v.Version, db.IntoJSON(&v.Seats), db.IntoJSON(&v.Ballots), db.IntoTime(&v.At))
}

const insertVerdicts = `INSERT INTO verdicts (match_id, round, no, judge, version, seats, ballots, at)`

// verdictArgs is the row of a round's verdict number no, from 1 on.
func verdictArgs(matchID string, no int64, v arena.Verdict) ([]any, error) {
	seats, err := db.JSONText(v.Seats)
	if err != nil {
		return nil, err
	}
	ballots := ""
	if len(v.Ballots) > 0 {
		if ballots, err = db.JSONText(v.Ballots); err != nil {
			return nil, err
		}
	}
	return []any{matchID, v.Round, no, v.Judge, v.Version, seats, db.Storable(ballots), db.Millis(v.At)}, nil
}

// insertVerdict stores a verdict behind those that the round has.
func insertVerdict(ctx context.Context, tx *db.Tx, matchID string, v arena.Verdict) error {
	last, err := db.One(ctx, tx, db.ScanInt, `SELECT COALESCE(max(no), 0) FROM verdicts WHERE match_id = $1 AND round = $2`, matchID, v.Round)
	if err != nil {
		return err
	}
	row, err := verdictArgs(matchID, last+1, v)
	if err != nil {
		return err
	}
	return db.Bulk(ctx, tx, insertVerdicts, "", [][]any{row})
}

// Verdicts gives the verdicts of a match's rounds, by round, oldest first:
// the last one of a round is the one that counts.
func (s *Store) Verdicts(ctx context.Context, matchID string) ([]arena.Verdict, error) {
	verdicts, err := db.All(ctx, s.reader, scanVerdict, verdictRows+` WHERE v.match_id = $1 ORDER BY v.round, v.no`, matchID)
	return verdicts, s.wrap(err, "read verdicts of match %s", matchID)
}

// LeagueVerdicts gives the newest limit verdicts of a league's judges that
// were asked, newest match first, as they counted when their rounds closed.
func (s *Store) LeagueVerdicts(ctx context.Context, league string, limit int) ([]arena.Verdict, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	verdicts, err := db.All(ctx, s.reader, scanVerdict, verdictRows+` JOIN matches m ON m.id = v.match_id
		WHERE m.league = $1 AND v.no = 1 AND v.ballots <> '' ORDER BY m.id DESC, v.round LIMIT $2`, league, limit)
	return verdicts, s.wrap(err, "read verdicts of league %s", league)
}

// SaveVote counts a spectator's vote in an open round; the last one of a
// voter counts. conflict: the round is not open. rate_limited: perAddress
// other voters have voted from its address.
func (s *Store) SaveVote(ctx context.Context, v arena.Vote, perAddress int) error {
	err := s.write(ctx, v.MatchID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.One(ctx, tx, db.ScanInt, `SELECT m.round FROM matches m WHERE m.id = $1 AND m.round = $2 AND m.round_open = 1`,
			v.MatchID, v.Round)
		if errors.Is(err, sql.ErrNoRows) {
			return arena.Errorf(arena.CodeConflict, "the vote on round %d of match %q is over", v.Round, v.MatchID)
		}
		if err != nil {
			return err
		}
		others, err := db.One(ctx, tx, db.ScanInt, `SELECT count(*) FROM votes WHERE match_id = $1 AND round = $2 AND address = $3
			AND voter <> $4`, v.MatchID, v.Round, v.Address[:], v.Voter[:])
		if err != nil {
			return err
		}
		if int(others) >= perAddress {
			return arena.Errorf(arena.CodeRateLimited, "%d browsers have voted from your address, the limit is %d", others, perAddress)
		}
		_, err = db.Exec(ctx, tx, `INSERT INTO votes (match_id, round, voter, address, choice, other, at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (match_id, round, voter) DO UPDATE SET address = excluded.address,
			choice = excluded.choice, other = excluded.other, at = excluded.at`,
			v.MatchID, v.Round, v.Voter[:], v.Address[:], v.Choice, v.Other, db.Millis(v.At))
		return err
	})
	return s.wrap(err, "save a vote on match %s", v.MatchID)
}

// Votes gives the votes on a round.
func (s *Store) Votes(ctx context.Context, matchID string, round int) ([]arena.Vote, error) {
	votes, err := db.All(ctx, s.reader, func(r db.Row) (arena.Vote, error) {
		v := arena.Vote{MatchID: matchID, Round: round}
		var voter, address []byte
		err := r.Scan(&voter, &address, &v.Choice, &v.Other, db.IntoTime(&v.At))
		copy(v.Voter[:], voter)
		copy(v.Address[:], address)
		return v, err
	}, `SELECT voter, address, choice, other, at FROM votes WHERE match_id = $1 AND round = $2 ORDER BY at, voter`, matchID, round)
	return votes, s.wrap(err, "read votes on match %s", matchID)
}

// SaveRescore stores another look at the answers of a finished match: its
// verdicts, points and places. Ratings follow with RebuildRatings. conflict:
// the match is not finished.
func (s *Store) SaveRescore(ctx context.Context, r arena.Rescore) error {
	// Alone: another batch may hold encounters of the same agents.
	err := s.writeAlone(ctx, r.MatchID, func(ctx context.Context, tx *db.Tx) error {
		status, err := db.One(ctx, tx, db.ScanText, `SELECT m.status FROM matches m WHERE m.id = $1`+s.d.Lock("m"), r.MatchID)
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("match", r.MatchID)
		}
		if err != nil {
			return err
		}
		if arena.MatchStatus(status) != arena.MatchFinished {
			return arena.Errorf(arena.CodeConflict, "only a finished match can be scored again, this one is %s", status)
		}
		for _, v := range r.Verdicts {
			if err := insertVerdict(ctx, tx, r.MatchID, v); err != nil {
				return err
			}
		}
		for _, a := range r.Answers {
			if _, err := db.Exec(ctx, tx, `UPDATE answers SET points = $1 WHERE match_id = $2 AND round = $3 AND agent_id = $4`,
				int64(a.Points), r.MatchID, a.Round, a.AgentID); err != nil {
				return err
			}
		}
		if err := takeEncounters(ctx, tx, r.MatchID); err != nil {
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
