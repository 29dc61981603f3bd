package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// addOutcomes counts how a match's rounds ended for each of its agents; it
// runs once, in the transaction that ends the match. Its answers stay as they
// are from then on, but for their points and for what voidOutcome changes. The order keeps two transactions of
// the same agents from waiting for each other, so that no second match may end
// in the same transaction.
func addOutcomes(ctx context.Context, tx *db.Tx, matchID string) error {
	_, err := db.Exec(ctx, tx, `INSERT INTO outcomes (agent_id, outcome, rounds)
		SELECT a.agent_id, a.outcome, count(*) FROM answers a WHERE a.match_id = $1 GROUP BY a.agent_id, a.outcome ORDER BY a.agent_id, a.outcome
		ON CONFLICT (agent_id, outcome) DO UPDATE SET rounds = outcomes.rounds + excluded.rounds`, matchID)
	return err
}

// AgentCauses counts an agent's rounds by outcome, those of matches that are
// over: finished or void.
func (s *Ratings) AgentCauses(ctx context.Context, id string) (map[arena.Outcome]int, error) {
	type cause struct {
		outcome arena.Outcome
		rounds  int
	}
	causes, err := db.All(ctx, s.reader, func(r db.Row) (c cause, err error) {
		return c, r.Scan(&c.outcome, &c.rounds)
	}, `SELECT outcome, rounds FROM outcomes WHERE agent_id = $1`, id)
	rounds := make(map[arena.Outcome]int, len(causes))
	for _, c := range causes {
		rounds[c.outcome] = c.rounds
	}
	return rounds, s.wrap(err, "count outcomes of agent %s", id)
}

// AgentResults counts the closed rounds of an agent's newest matches, at most
// so many, by how they ended; most rounds first.
func (s *Ratings) AgentResults(ctx context.Context, agentID string, matches int) ([]arena.ResultCount, error) {
	if err := checkLimit(matches); err != nil {
		return nil, err
	}
	query, args := resultQuery(agentID, matches)
	counts, err := db.All(ctx, s.reader, func(r db.Row) (c arena.ResultCount, err error) {
		var ns int64
		err = r.Scan(&c.Result, &c.Rounds, &ns)
		c.Mean = time.Duration(ns)
		return c, err
	}, query, args...)
	slices.SortFunc(counts, func(a, b arena.ResultCount) int {
		return cmp.Or(cmp.Compare(b.Rounds, a.Rounds), cmp.Compare(a.Result, b.Result))
	})
	return counts, s.wrap(err, "count results of agent %s", agentID)
}

// seen leaves out the seats in delayed matches that run: what spectators do not
// see yet does not count yet (docs/rules.md, section 5).
const seen = `match_id NOT IN (SELECT id FROM matches WHERE delay > 0)`

// resultQuery reaches each answer by its key, from the agent's newest seats:
// SQLite takes the tables of a CROSS JOIN in the order in which they stand.
func resultQuery(agentID string, matches int) (string, []any) {
	return `SELECT CASE WHEN a.outcome <> $1 THEN a.outcome
			WHEN r.source LIKE $9 THEN CASE WHEN a.reason = $10 THEN $10 ELSE $11 END WHEN a.judged = 0 THEN $2 WHEN a.points >= $3 THEN $4
			WHEN a.points > 0 THEN $5 ELSE $6 END AS result, count(*), CAST(avg(a.elapsed_ns) AS BIGINT)
		FROM (SELECT match_id FROM seats WHERE agent_id = $7 AND ` + seen + ` ORDER BY match_id DESC LIMIT $8) s
		CROSS JOIN rounds r CROSS JOIN answers a
		WHERE r.match_id = s.match_id AND r.closed_at > 0 AND a.match_id = r.match_id AND a.round = r.no AND a.agent_id = $7
		GROUP BY 1`,
		[]any{
			string(arena.OutcomeAnswered), string(arena.ResultUnjudged), int64(arena.OnePoint),
			string(arena.ResultRight), string(arena.ResultPartial), string(arena.ResultWrong), agentID, matches,
			arena.GameSource + "%", string(arena.ResultIllegal), string(arena.ResultMove),
		}
}

// AgentClaims returns what an agent declared with its newest limit judged
// answers, newest match first, as far as they lie in its newest 2*limit
// matches; of these only those in one league when league is not "": an agent
// that plays elsewhere would have all of its answers read. Rounds that have not
// closed are left out: nothing is known of them yet (docs/rules.md, section 5).
// So are moves of games, which are neither right nor wrong.
func (s *Ratings) AgentClaims(ctx context.Context, agentID, league string, limit int) ([]arena.Claim, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	type claim struct {
		arena.Claim
		league string
	}
	query, args := claimQuery(agentID, league, limit)
	found, err := db.All(ctx, s.reader, func(r db.Row) (c claim, err error) {
		var points arena.Points
		var over int
		err = r.Scan(&points, db.IntoJSON(&c.Claim), &over, &c.league) // the rest of the reply, which may be long, is not kept
		c.OverTokens, c.Right = over == 1, points == arena.OnePoint
		return c, err
	}, query, args...)
	var claims []arena.Claim
	for _, c := range found {
		if c.league == league {
			claims = append(claims, c.Claim)
		}
	}
	return claims, s.wrap(err, "read claims of agent %s", agentID)
}

// claimBytes bounds the replies that are read for an agent's claims, in bytes:
// each may be long, and all of it is parsed.
const claimBytes = 1 << 20

// claimQuery reaches each answer by its key, from the agent's newest seats;
// with the leagues of their matches when one is asked for. It looks at twice as
// many matches as answers are asked for: without a bound PostgreSQL walks
// through all answers, and one who never answers would have all its matches
// read. Only replies within claimBytes are read; the others are known by their
// length. SQLite takes the tables of a CROSS JOIN in the order in which they
// stand. That an answer is judged says that its round has closed: see
// SaveAnswer.
func claimQuery(agentID, league string, limit int) (string, []any) {
	of := "''"
	if league != "" {
		of = "(SELECT m.league FROM matches m WHERE m.id = c.match_id)"
	}
	return `SELECT b.points, b.body, b.over_tokens, ` + of + ` FROM (SELECT d.match_id, d.no, sum(d.size) OVER (ORDER BY d.match_id DESC, d.no DESC) AS bytes FROM
		(SELECT s.match_id, r.no, octet_length(a.body) AS size FROM
		(SELECT match_id FROM seats WHERE agent_id = $1 AND ` + seen + ` ORDER BY match_id DESC LIMIT $4) s CROSS JOIN rounds r CROSS JOIN answers a
		WHERE r.match_id = s.match_id AND a.match_id = r.match_id AND a.round = r.no AND a.agent_id = $1 AND a.outcome = $2
		AND a.judged = 1 AND r.source NOT LIKE $5 ORDER BY s.match_id DESC, r.no DESC LIMIT $3) d) c
		CROSS JOIN answers b WHERE c.bytes <= $6 AND b.match_id = c.match_id AND b.round = c.no AND b.agent_id = $1`,
		[]any{agentID, string(arena.OutcomeAnswered), limit, 2 * limit, arena.GameSource + "%", claimBytes}
}

// LostRounds returns a page of the rounds that an agent lost in its newest lossMatches
// matches, newest first. Void matches do not count.
func (s *Matches) LostRounds(ctx context.Context, f arena.LossFilter, p arena.Page) ([]arena.LostRound, string, error) {
	after, err := listLosses.open(p)
	if err != nil {
		return nil, "", err
	}
	round, match, err := splitKey(listLosses, after)
	if err != nil {
		return nil, "", err
	}
	query, args := lossQuery(f, match, round, p.Limit+1)
	items, err := db.All(ctx, s.reader, func(r db.Row) (l arena.LostRound, err error) {
		err = r.Scan(&l.League, &l.Seat, &l.Version, &l.Seq, &l.Round.MatchID, &l.Round.No, db.IntoJSON((*taskDoc)(&l.Round.Task)), db.IntoPacked(&l.Round.Turn),
			db.IntoTime(&l.Round.OpenedAt), db.IntoTime(&l.Round.ClosedAt), &l.Answer.Outcome, &l.Answer.Reason, readBody(&l.Answer.Body), &l.Answer.Elapsed)
		l.Answer.MatchID, l.Answer.Round, l.Answer.AgentID = l.Round.MatchID, l.Round.No, f.AgentID
		return l, err
	}, query, args...)
	if err != nil {
		return nil, "", s.wrap(err, "list lost rounds of agent %s", f.AgentID)
	}
	items, next := closePage(listLosses, p, items, func(l arena.LostRound) string { return strconv.Itoa(l.Round.No) + ":" + l.Round.MatchID })
	return items, next, nil
}

// lossMatches is how many of an agent's matches LostRounds looks at.
const lossMatches = 500

// topicOf is the topic of the task of a round r, in the SQL of both engines.
const topicOf = `COALESCE(json(r.task) ->> 'topic', '')`

// lossQuery reaches each answer by its key, as resultQuery does. Points of a game are
// those of its end, so a move is lost only if it was illegal.
func lossQuery(f arena.LossFilter, afterMatch string, afterRound int64, limit int) (string, []any) {
	var c db.Clauses
	agent := c.Arg(f.AgentID)
	c.And("m.id = s.match_id AND m.status IN ('running', 'finished')")
	c.And("r.match_id = s.match_id AND r.closed_at > 0 AND a.match_id = r.match_id AND a.round = r.no AND a.agent_id = " + agent)
	c.And(`(a.outcome IN ('timeout', 'error', 'invalid') OR a.outcome = 'answered' AND a.judged = 1
		AND CASE WHEN r.source LIKE ? THEN a.reason = ? ELSE a.points <= 0 END)`, arena.GameSource+"%", arena.ReasonIllegalMove)
	if f.League != "" {
		c.And("m.league = ?", f.League)
	}
	if f.Topic != "" {
		c.And(topicOf+" = ?", f.Topic)
	}
	if f.Version != "" {
		c.And("s.version = ?", f.Version)
	}
	if afterMatch != "" {
		c.And("(s.match_id < ? OR s.match_id = ? AND r.no < ?)", afterMatch, afterMatch, afterRound)
	}
	return `SELECT m.league, s.no, s.version, r.opened_seq + 1, r.match_id, r.no, r.task, r.turn, r.opened_at, r.closed_at, a.outcome, a.reason, a.body, a.elapsed_ns
		FROM (SELECT match_id, no, version FROM seats WHERE agent_id = ` + agent + ` ORDER BY match_id DESC LIMIT ` + c.Arg(lossMatches) + `) s
		CROSS JOIN matches m CROSS JOIN rounds r CROSS JOIN answers a` + c.Where() + ` ORDER BY s.match_id DESC, r.no DESC LIMIT ` + c.Arg(limit), c.Args
}

// Topics counts the judged answers of an agent in closed rounds of its newest matches,
// at most so many, by topic. The topic of f is ignored; own adds those that spectators
// do not see yet. Most answers first.
func (s *Ratings) Topics(ctx context.Context, f arena.LossFilter, own bool, matches int) ([]arena.TopicCount, error) {
	if err := checkLimit(matches); err != nil {
		return nil, err
	}
	query, args := topicQuery(f, own, matches)
	counts, err := db.All(ctx, s.reader, func(r db.Row) (c arena.TopicCount, err error) {
		return c, r.Scan(&c.Topic, &c.Answered, &c.Right)
	}, query, args...)
	return counts, s.wrap(err, "count topics of agent %s", f.AgentID)
}

// topicQuery reaches each answer by its key, as resultQuery does. Moves of games are
// neither right nor wrong.
func topicQuery(f arena.LossFilter, own bool, matches int) (string, []any) {
	var c db.Clauses
	agent, visible := c.Arg(f.AgentID), " AND "+seen
	if own {
		visible = ""
	}
	c.And("m.id = s.match_id AND m.status IN ('running', 'finished')")
	c.And("r.match_id = s.match_id AND r.closed_at > 0 AND a.match_id = r.match_id AND a.round = r.no AND a.agent_id = " + agent)
	c.And("a.outcome = 'answered' AND a.judged = 1 AND r.source NOT LIKE ?", arena.GameSource+"%")
	if f.League != "" {
		c.And("m.league = ?", f.League)
	}
	if f.Version != "" {
		c.And("s.version = ?", f.Version)
	}
	return `SELECT ` + topicOf + `, count(*), CAST(sum(CASE WHEN a.points >= ` + c.Arg(int64(arena.OnePoint)) + ` THEN 1 ELSE 0 END) AS BIGINT)
		FROM (SELECT match_id, version FROM seats WHERE agent_id = ` + agent + visible + ` ORDER BY match_id DESC LIMIT ` + c.Arg(matches) + `) s
		CROSS JOIN matches m CROSS JOIN rounds r CROSS JOIN answers a` + c.Where() + ` GROUP BY 1 ORDER BY 2 DESC, 1`, c.Args
}

// The most that a comparison of two agents looks at, newest first.
const (
	commonSeats   = 10_000 // of one of them
	commonMatches = 1_000  // of both
	commonRounds  = 10_000
)

// commonMatchQuery finds the newest finished matches of a league in which two agents sat
// to the end, each with the seats of both. It looks at the seats of a first. Matches that
// somebody asked for are left out: who asks may stop when the result suits.
func commonMatchQuery(c *db.Clauses, league, a, b string) string {
	return `(SELECT s.match_id, s.no AS a_no, s.points AS a_points, o.no AS b_no, o.points AS b_points, m.round
		FROM (SELECT match_id, no, points, state FROM seats WHERE agent_id = ` + c.Arg(a) + ` ORDER BY match_id DESC LIMIT ` + c.Arg(commonSeats) + `) s
		CROSS JOIN seats o CROSS JOIN matches m
		WHERE o.match_id = s.match_id AND o.agent_id = ` + c.Arg(b) + ` AND s.state <> 'left' AND o.state <> 'left'
		AND m.id = s.match_id AND m.league = ` + c.Arg(league) + ` AND m.status = 'finished' AND m.unrated_reason NOT IN ('challenge', 'request')
		ORDER BY s.match_id DESC LIMIT ` + c.Arg(commonMatches) + `) x`
}

// CommonRounds returns the rounds that counted for both agents in their newest common
// matches of a league, newest match first. Who is a and who is b makes no difference to
// which rounds these are.
func (s *Ratings) CommonRounds(ctx context.Context, league, a, b string) ([]arena.CommonRound, error) {
	query, args := commonRoundQuery(league, min(a, b), max(a, b))
	rounds, err := db.All(ctx, s.reader, func(r db.Row) (c arena.CommonRound, err error) {
		err = r.Scan(&c.MatchID, &c.No, &c.Source, &c.Topic, &c.A, &c.B)
		if a > b {
			c.A, c.B = c.B, c.A
		}
		return c, err
	}, query, args...)
	return rounds, s.wrap(err, "read common rounds of agents %s and %s", a, b)
}

// commonRoundQuery reaches each answer by its key, as resultQuery does. An answer that
// was not judged is a speech before the end of its half.
func commonRoundQuery(league, a, b string) (string, []any) {
	var c db.Clauses
	matches := commonMatchQuery(&c, league, a, b)
	for _, side := range [][2]string{{"p", a}, {"q", b}} {
		c.And(side[0]+".match_id = r.match_id AND "+side[0]+".round = r.no AND "+side[0]+".agent_id = ?", side[1])
		c.And(side[0] + ".outcome IN ('answered', 'timeout', 'error', 'invalid') AND (" + side[0] + ".outcome <> 'answered' OR " + side[0] + ".judged = 1)")
	}
	c.And("r.match_id = x.match_id AND r.closed_at > 0 AND r.source NOT LIKE ?", arena.GameSource+"%")
	return `SELECT r.match_id, r.no, r.source, ` + topicOf + `, p.points, q.points FROM ` + matches + ` CROSS JOIN rounds r CROSS JOIN answers p CROSS JOIN answers q` +
		c.Where() + ` ORDER BY x.match_id DESC, r.no LIMIT ` + c.Arg(commonRounds), c.Args
}

// CommonSeries returns the newest common matches of two agents in a league of games,
// newest first.
func (s *Ratings) CommonSeries(ctx context.Context, league, a, b string) ([]arena.CommonSeries, error) {
	query, args := commonSeriesQuery(league, min(a, b), max(a, b))
	matches, err := db.All(ctx, s.reader, func(r db.Row) (m arena.CommonSeries, err error) {
		var turn struct {
			Prompts []struct {
				Observation struct{ Series arena.SeriesBrief }
			}
		}
		err = r.Scan(&m.MatchID, &m.Seats, &m.A.No, &m.A.Points, &m.B.No, &m.B.Points, db.IntoPacked(&turn))
		if len(turn.Prompts) > 0 {
			m.Series = turn.Prompts[0].Observation.Series
		}
		if a > b {
			m.A, m.B = m.B, m.A
		}
		return m, err
	}, query, args...)
	return matches, s.wrap(err, "read common matches of agents %s and %s", a, b)
}

// commonSeriesQuery reads how earlier games of a match ended from what its last turn
// asked: the games of a match have no rows of their own.
func commonSeriesQuery(league, a, b string) (string, []any) {
	var c db.Clauses
	matches := commonMatchQuery(&c, league, a, b)
	return `SELECT x.match_id, (SELECT count(*) FROM seats n WHERE n.match_id = x.match_id), x.a_no, x.a_points, x.b_no, x.b_points,
		COALESCE((SELECT r.turn FROM rounds r WHERE r.match_id = x.match_id AND r.no = x.round), '')
		FROM ` + matches + ` ORDER BY x.match_id DESC`, c.Args
}

// NoShows returns the no-shows of agents in their newest arena.NoShowMatches matches
// of a league that have begun, oldest round first; in each league when league
// is "".
func (s *Ratings) NoShows(ctx context.Context, league string, agentIDs []string) ([]arena.NoShow, error) {
	return s.noShows(ctx, league, agentIDs, false)
}

// SeenNoShows returns the NoShows of an agent in all leagues that spectators have
// seen: none of a round that is open or of a delayed match that runs.
func (s *Ratings) SeenNoShows(ctx context.Context, agentID string) ([]arena.NoShow, error) {
	return s.noShows(ctx, "", []string{agentID}, true)
}

func (s *Ratings) noShows(ctx context.Context, league string, agentIDs []string, onlySeen bool) ([]arena.NoShow, error) {
	var found []arena.NoShow
	for part := range slices.Chunk(agentIDs, db.MaxIDs) {
		query, args := noShowQuery(league, part, onlySeen)
		noShows, err := db.All(ctx, s.reader, func(r db.Row) (d arena.NoShow, err error) {
			return d, r.Scan(&d.AgentID, &d.League, &d.MatchID, &d.Round, &d.Outcome, db.IntoTime(&d.At), &d.Opponent)
		}, query, args...)
		if err != nil {
			return nil, s.wrap(err, "read no-shows of %d agents", len(agentIDs))
		}
		found = append(found, noShows...)
	}
	return found, nil
}

// readNoShows is how many no-shows of an agent are read across all leagues, the newest
// first, and the rest of the match in which the oldest of them lies. After that many,
// each suspension lasts for a day.
const readNoShows = 3 * arena.NoShowMatches

// noShowQuery finds the answers and seats that can be no-shows by their own indexes,
// whose conditions are in it word by word, and counts newer matches for those alone. A
// 429 without an attempt is a round that fell into the pause.
func noShowQuery(league string, agentIDs []string, onlySeen bool) (string, []any) {
	var c db.Clauses
	db.In(&c, "g.id", agentIDs)
	if league != "" {
		c.And("m.league = ?", league)
	}
	closed := ""
	if onlySeen {
		c.And("m.delay = 0")
		closed = " AND r.closed_at > 0"
	}
	c.And(`(SELECT count(*) FROM (SELECT 1 FROM seats s CROSS JOIN matches n WHERE s.agent_id = d.agent_id AND n.id = s.match_id
		AND n.league = m.league AND n.started_at > 0 AND s.match_id > d.match_id ORDER BY s.match_id LIMIT ?) AS newer) < ?`, arena.NoShowMatches, arena.NoShowMatches)
	const (
		opponent  = `(SELECT COALESCE(CASE WHEN count(*) = 1 THEN min(o.agent_id) END, '') FROM seats o WHERE o.match_id = d.match_id AND o.agent_id <> d.agent_id)`
		dodged    = `%[1]s.outcome IN ('unavailable', 'rate_limited') AND %[1]s.attempts > 0`
		withdrawn = `%[1]s.withdrawal <> ''`
	)
	newest := func(table, condition string) string {
		return c.Where() + ` AND d.agent_id = g.id AND m.id = d.match_id AND ` + fmt.Sprintf(condition, "d") + ` AND d.match_id >=
			COALESCE((SELECT x.match_id FROM ` + table + ` x WHERE x.agent_id = g.id AND ` + fmt.Sprintf(condition, "x") +
			` ORDER BY x.match_id DESC LIMIT 1 OFFSET ` + strconv.Itoa(readNoShows) + `), '')`
	}
	return `SELECT d.agent_id, m.league, d.match_id, d.round, d.outcome, r.opened_at, ` + opponent + `
		FROM agents g CROSS JOIN answers d CROSS JOIN matches m CROSS JOIN rounds r` + newest("answers", dodged) + `
		AND r.match_id = d.match_id AND r.no = d.round` + closed + `
		UNION ALL SELECT d.agent_id, m.league, d.match_id, 0, d.outcome, m.started_at, ` + opponent + `
		FROM agents g CROSS JOIN seats d CROSS JOIN matches m` + newest("seats", withdrawn) + ` ORDER BY 6, 3, 4`, c.Args
}

// addEncounters counts a match that is finished for every pair of its agents,
// as its seats stand; it runs once, in the transaction that ends the match.
func addEncounters(ctx context.Context, tx *db.Tx, matchID string) error {
	_, err := db.Exec(ctx, tx, encounters("1"), matchID)
	return err
}

// removeEncounters reverts addEncounters. The seats must not have changed since
// then.
func removeEncounters(ctx context.Context, tx *db.Tx, matchID string) error {
	_, err := db.Exec(ctx, tx, encounters("-1"), matchID)
	return err
}

// encounters adds the pairs of a match, each so many times. The order keeps
// two transactions of the same agents from waiting for each other; nothing
// that others lock may be locked after it.
func encounters(times string) string {
	return strings.ReplaceAll(`INSERT INTO encounters (a, b, a_wins, draws, b_wins)
		SELECT x.agent_id, y.agent_id, CASE WHEN x.place < y.place THEN {n} ELSE 0 END, CASE WHEN x.place = y.place THEN {n} ELSE 0 END,
			CASE WHEN x.place > y.place THEN {n} ELSE 0 END
		FROM seats x JOIN seats y ON y.match_id = x.match_id AND x.agent_id < y.agent_id
		WHERE x.match_id = $1 AND x.state <> 'left' AND y.state <> 'left' ORDER BY x.agent_id, y.agent_id
		ON CONFLICT (a, b) DO UPDATE SET a_wins = encounters.a_wins + excluded.a_wins, draws = encounters.draws + excluded.draws,
		b_wins = encounters.b_wins + excluded.b_wins`, "{n}", times)
}

// Opponents returns an agent's record against each agent that it met in a
// finished match, rated or not, and neither left: the better place wins. Most
// matches first.
func (s *Ratings) Opponents(ctx context.Context, id string) ([]arena.OpponentRecord, error) {
	records, err := db.All(ctx, s.reader, func(r db.Row) (o arena.OpponentRecord, err error) {
		err = r.Scan(&o.AgentID, &o.Name, &o.Wins, &o.Draws, &o.Losses)
		o.Matches = o.Wins + o.Draws + o.Losses
		return o, err
	}, `SELECT o.id, n.name, o.wins, o.draws, o.losses FROM (
			SELECT e.b AS id, e.a_wins AS wins, e.draws AS draws, e.b_wins AS losses FROM encounters e WHERE e.a = $1 UNION ALL
			SELECT e.a, e.b_wins, e.draws, e.a_wins FROM encounters e WHERE e.b = $1) o
		JOIN agents n ON n.id = o.id ORDER BY o.wins + o.draws + o.losses DESC, o.id`, id)
	return records, s.wrap(err, "read opponents of agent %s", id)
}

// Evidence returns the input of the report on anomalies: the newest finished
// matches of a league, at most limit of them.
func (s *Ratings) Evidence(ctx context.Context, league string, limit int) (arena.Evidence, error) {
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
	for _, a := range answers {
		if !strings.HasPrefix(a.Source, arena.GameSource) { // equal moves are no copies
			e.Answers = append(e.Answers, a)
		}
	}

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
	}, `SELECT t.seq, t.match_id, t.at, c.agent_id, `+seatGroup+`, s.place FROM settlements t
		JOIN rating_changes c ON c.settlement = t.seq
		JOIN seats s ON s.match_id = t.match_id AND s.agent_id = c.agent_id`+f.Where()+` ORDER BY t.seq, c.no`, f.Args...)
	return err
}

// moversLooked is how many of the newest settlements Movers looks at, however
// many a busy day has.
const moversLooked = 20_000

// Movers returns the agents whose rating in one league has moved most since a
// time, up or down.
func (s *Ratings) Movers(ctx context.Context, since time.Time, limit int) ([]arena.Mover, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	last, err := db.One(ctx, s.reader, db.ScanInt, `SELECT value FROM counters WHERE name = 'settlements'`)
	if err != nil {
		return nil, s.wrap(err, "read the last settlement")
	}
	movers, err := db.All(ctx, s.reader, func(r db.Row) (m arena.Mover, err error) {
		return m, r.Scan(&m.AgentID, &m.Name, &m.League, &m.Rating, &m.Rated, recentInto{&m.Recent}, &m.Change, &m.Matches)
	}, moversQuery, db.Millis(since), last-moversLooked, last, limit)
	return movers, s.wrap(err, "read movers")
}

// moversQuery begins with the settlements: SQLite keeps to the order of a
// CROSS JOIN. PostgreSQL reads the changes of a range with both ends, and would read all
// changes if it had to look up where the range begins.
const moversQuery = `SELECT a.id, a.name, t.league, g.melo, g.matches, g.recent, t.change, t.matches FROM (
		SELECT c.agent_id, c.league, CAST(sum(c.delta) AS BIGINT) AS change, count(*) AS matches
		FROM settlements s CROSS JOIN rating_changes c
		WHERE c.settlement = s.seq AND s.at >= $1 AND s.seq > $2 AND s.seq <= $3 AND c.settlement > $2 AND c.settlement <= $3
		GROUP BY c.agent_id, c.league HAVING sum(c.delta) <> 0 ORDER BY abs(sum(c.delta)) DESC, c.agent_id, c.league LIMIT $4) t
	JOIN agents a ON a.id = t.agent_id JOIN ratings g ON g.league = t.league AND g.agent_id = t.agent_id
	ORDER BY abs(t.change) DESC, a.id, t.league`

// LastSeasons returns the newest finished season of each league that has one, by
// the league's slug, without entrants and with its podium alone.
func (s *Leagues) LastSeasons(ctx context.Context) (map[string]arena.Season, error) {
	seasons, err := seasonList.All(ctx, s.reader, lastSeasons)
	if err != nil {
		return nil, s.wrap(err, "read last seasons")
	}
	last := make(map[string]arena.Season, len(seasons))
	for _, season := range seasons {
		last[season.League] = season
	}
	return last, nil
}

// lastSeasons finds the seasons by their keys, from the leagues.
const lastSeasons = ` WHERE (s.league, s.no) IN (SELECT l.slug, (SELECT o.no FROM seasons o
	WHERE o.league = l.slug AND o.status = 'finished' ORDER BY o.no DESC LIMIT 1) FROM leagues l)`
