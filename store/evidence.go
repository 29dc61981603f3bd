package store

import (
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// Evidence gives what the report on anomalies looks at: the newest matches of
// a league that are over, at most limit of them.
func (s *Store) Evidence(ctx context.Context, league string, limit int) (arena.Evidence, error) {
	e := arena.Evidence{League: league}
	if err := checkLimit(limit); err != nil {
		return e, err
	}
	// All queries see the same matches.
	err := s.view(ctx, func(q db.Querier) error {
		ids, err := db.All(ctx, q, db.ScanText, `SELECT id FROM matches WHERE league = $1 AND status = $2 ORDER BY id DESC LIMIT $3`,
			league, string(arena.MatchFinished), limit)
		if err != nil {
			return err
		}
		e.Matches = len(ids)
		slices.Reverse(ids)
		for part := range slices.Chunk(ids, db.MaxIDs) {
			if err := readEvidence(ctx, q, part, &e); err != nil {
				return err
			}
		}
		return nil
	})
	return e, s.wrap(err, "read evidence of league %s", league)
}

// readEvidence adds the answers and duels of some matches, oldest first.
func readEvidence(ctx context.Context, q db.Querier, ids []string, e *arena.Evidence) error {
	type roundKey struct {
		match string
		no    int
	}
	type asked struct {
		source  string
		options []string
		at      time.Time
	}
	var c db.Clauses
	db.In(&c, "match_id", ids)
	rounds := map[roundKey]asked{}
	_, err := db.All(ctx, q, func(r db.Row) (none struct{}, err error) {
		var key roundKey
		var a asked
		var task struct { // the rest of it is not looked at
			Options []string `json:"options"`
		}
		err = r.Scan(&key.match, &key.no, &a.source, db.IntoJSON(&task), db.IntoTime(&a.at))
		a.options = task.Options
		rounds[key] = a
		return none, err
	}, `SELECT match_id, no, source, task, opened_at FROM rounds`+c.Where(), c.Args...)
	if err != nil {
		return err
	}
	var d db.Clauses
	db.In(&d, "a.match_id", ids)
	d.And("a.outcome = ?", string(arena.OutcomeAnswered))
	d.And("a.judged = 1")
	answers, err := db.All(ctx, q, func(r db.Row) (g arena.GivenAnswer, err error) {
		var said struct {
			Answer string `json:"answer"`
		}
		err = r.Scan(&g.MatchID, &g.Round, &g.AgentID, &g.OwnerID, &g.Points, db.IntoJSON(&said))
		a := rounds[roundKey{g.MatchID, g.Round}]
		g.Text, g.Source, g.Options, g.AskedAt = said.Answer, a.source, a.options, a.at
		return g, err
	}, `SELECT a.match_id, a.round, a.agent_id, s.owner_id, a.points, a.body FROM answers a
		JOIN seats s ON s.match_id = a.match_id AND s.agent_id = a.agent_id`+d.Where()+` ORDER BY a.match_id, a.round, a.agent_id`, d.Args...)
	if err != nil {
		return err
	}
	e.Answers = append(e.Answers, answers...)

	var f db.Clauses
	db.In(&f, "t.match_id", ids)
	f.And("(SELECT count(*) FROM rating_changes n WHERE n.settlement = t.seq) = 2")
	_, err = db.All(ctx, q, func(r db.Row) (none struct{}, err error) {
		var t arena.RatedResult
		var seat arena.RatedSeat
		if err = r.Scan(&t.Seq, &t.MatchID, db.IntoTime(&t.At), &seat.AgentID, &seat.OwnerID, &seat.Place); err != nil {
			return none, err
		}
		if n := len(e.Duels); n == 0 || e.Duels[n-1].Seq != t.Seq {
			e.Duels = append(e.Duels, t)
		}
		last := &e.Duels[len(e.Duels)-1]
		last.Seats = append(last.Seats, seat)
		return none, nil
	}, `SELECT t.seq, t.match_id, t.at, c.agent_id, s.owner_id, s.place FROM settlements t
		JOIN rating_changes c ON c.settlement = t.seq
		JOIN seats s ON s.match_id = t.match_id AND s.agent_id = c.agent_id`+f.Where()+` ORDER BY t.seq, c.no`, f.Args...)
	return err
}
