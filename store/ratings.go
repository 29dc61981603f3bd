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

// recentRatings is how many ratings a standing shows.
const recentRatings = 20

// ratingRow is a rating with what is kept beside it, so that a table of
// standings need not read the history.
type ratingRow struct {
	arena.Rating
	opponents int              // distinct ones
	groups    int              // distinct groups of their owners, counted to arena.RankedGroups or a little further
	recent    []arena.MilliElo // the last ratings, oldest first
}

var ratingTable = db.NewTable("ratings", "r",
	db.Text("league", func(r *ratingRow) *string { return &r.League }),
	db.Text("agent_id", func(r *ratingRow) *string { return &r.AgentID }),
	db.Int("melo", func(r *ratingRow) *arena.MilliElo { return &r.MilliElo }),
	db.Int("matches", func(r *ratingRow) *int { return &r.Matches }),
	db.Int("peak", func(r *ratingRow) *arena.MilliElo { return &r.Peak }),
	db.Int("new_version", func(r *ratingRow) *int { return &r.NewVersion }),
	db.Int("wins", func(r *ratingRow) *int { return &r.Wins }),
	db.Int("draws", func(r *ratingRow) *int { return &r.Draws }),
	db.Int("losses", func(r *ratingRow) *int { return &r.Losses }),
	db.Int("opponents", func(r *ratingRow) *int { return &r.opponents }),
	db.Int("opponent_groups", func(r *ratingRow) *int { return &r.groups }),
	db.Column[ratingRow]{
		Name: "recent", Type: db.TypeText,
		Value: func(r *ratingRow) any { return recentValue(r.recent) },
		Into:  func(r *ratingRow) any { return recentInto{&r.recent} },
	},
	db.Time("last_rated_at", func(r *ratingRow) *time.Time { return &r.LastRatedAt }),
)

var upsertRatings = db.NewUpsert(ratingTable, []string{"league", "agent_id"})

// recentValue returns the stored form of the last ratings: arena.MilliElo itself
// encodes as Elo.
func recentValue(ratings []arena.MilliElo) any {
	numbers := make([]int64, len(ratings))
	for i, v := range ratings {
		numbers[i] = int64(v)
	}
	return db.Encode(numbers)
}

// recentInto scans the last ratings, a JSON list of whole numbers. A table of
// standings has 20 for each agent, and encoding/json takes seven times as long.
type recentInto struct{ ratings *[]arena.MilliElo }

func (i recentInto) Scan(src any) error {
	text, _ := src.(string) // nil: never rated
	list := strings.Trim(text, "[]")
	if list == "" {
		return nil
	}
	*i.ratings = make([]arena.MilliElo, 0, recentRatings)
	for number := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("scan recent ratings: %w", err)
		}
		*i.ratings = append(*i.ratings, arena.MilliElo(n))
	}
	return nil
}

// settled adds one settlement to the rating.
func (r *ratingRow) settled(c arena.RatingChange, at time.Time) {
	r.MilliElo = c.After
	r.Peak = max(r.Peak, c.After)
	r.Matches++
	r.NewVersion = max(0, r.NewVersion-1)
	r.LastRatedAt = at
	switch half := arena.OnePoint / 2; {
	case c.Score > half:
		r.Wins++
	case c.Score < half:
		r.Losses++
	default:
		r.Draws++
	}
	r.recent = append(r.recent, c.After)
	r.recent = r.recent[max(0, len(r.recent)-recentRatings):]
}

func byRating(a, b *arena.Standing) int {
	return cmp.Or(-cmp.Compare(a.Rating.MilliElo, b.Rating.MilliElo), cmp.Compare(a.Agent.ID, b.Agent.ID))
}

// AgentRatings returns the ratings of agents in every league in which they were
// rated, by league. Agents without any are left out.
func (s *Ratings) AgentRatings(ctx context.Context, ids []string) (map[string][]arena.Rating, error) {
	found := make(map[string][]arena.Rating, len(ids))
	for part := range slices.Chunk(ids, db.MaxIDs) {
		var c db.Clauses
		db.In(&c, "agent_id", part)
		rows, err := ratingTable.All(ctx, s.reader, c.Where()+` ORDER BY league`, c.Args...)
		if err != nil {
			return nil, s.wrap(err, "read ratings of %d agents", len(ids))
		}
		for _, r := range rows {
			found[r.AgentID] = append(found[r.AgentID], r.Rating)
		}
	}
	return found, nil
}

// countedOutcomes are those with which a round counts for its seat; only
// matches of two seats are looked at by it.
const countedOutcomes = `('answered', 'timeout', 'error', 'invalid')`

// RatingHistory returns the newest limit points of an agent's rating graph in a
// league, oldest first.
func (s *Ratings) RatingHistory(ctx context.Context, id, league string, limit int) ([]arena.RatingPoint, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	points, err := db.All(ctx, s.reader, func(r db.Row) (p arena.RatingPoint, err error) {
		return p, r.Scan(&p.MatchID, db.IntoTime(&p.At), &p.Rating, &p.Delta, &p.Version, &p.LeftOut)
	}, `SELECT s.match_id, s.at, c.melo_after, c.delta, t.version, CASE WHEN c.delta < 0 AND t.place = 1 AND NOT EXISTS (
			SELECT 1 FROM seats o WHERE o.match_id = s.match_id AND o.place = 1 AND o.agent_id <> c.agent_id)
		THEN (SELECT count(*) FROM answers a WHERE a.match_id = s.match_id AND a.outcome IN `+countedOutcomes+` AND NOT EXISTS (
			SELECT 1 FROM answers b WHERE b.match_id = a.match_id AND b.round = a.round AND b.agent_id <> a.agent_id AND b.outcome IN `+countedOutcomes+`))
		END FROM rating_changes c JOIN settlements s ON s.seq = c.settlement
		JOIN seats t ON t.match_id = s.match_id AND t.agent_id = c.agent_id
		WHERE c.agent_id = $1 AND c.league = $2 ORDER BY c.settlement DESC LIMIT $3`, id, league, limit)
	slices.Reverse(points)
	return points, s.wrap(err, "read rating history of agent %s", id)
}

var settlementTable = db.NewTable("settlements", "s",
	db.Int("seq", func(t *arena.Settlement) *int64 { return &t.Seq }),
	db.Text("match_id", func(t *arena.Settlement) *string { return &t.MatchID }),
	db.Text("league", func(t *arena.Settlement) *string { return &t.League }),
	db.Time("at", func(t *arena.Settlement) *time.Time { return &t.At }),
	db.Int("drift", func(t *arena.Settlement) *arena.MilliElo { return &t.Drift }),
)

var insertSettlements = db.NewInsert(settlementTable, "")

// ratingChangeRow is a row of rating_changes.
type ratingChangeRow struct {
	arena.RatingChange

	settlement int64
	no         int // in the order in which they were computed
	league     string
}

var ratingChangeTable = db.NewTable("rating_changes", "c",
	db.Int("settlement", func(c *ratingChangeRow) *int64 { return &c.settlement }),
	db.Int("no", func(c *ratingChangeRow) *int { return &c.no }),
	db.Text("agent_id", func(c *ratingChangeRow) *string { return &c.AgentID }),
	db.Text("league", func(c *ratingChangeRow) *string { return &c.league }),
	db.Int("melo_before", func(c *ratingChangeRow) *arena.MilliElo { return &c.Before }),
	db.Int("melo_after", func(c *ratingChangeRow) *arena.MilliElo { return &c.After }),
	db.Int("delta", func(c *ratingChangeRow) *arena.MilliElo { return &c.Delta }),
	db.Int("k", func(c *ratingChangeRow) *int { return &c.K }),
	db.Int("score", func(c *ratingChangeRow) *arena.Points { return &c.Score }),
	db.Int("matches", func(c *ratingChangeRow) *int { return &c.Matches }),
)

var (
	insertRatingChanges = db.NewInsert(ratingChangeTable, "")
	updateRatingChanges = db.NewUpdate(ratingChangeTable, []string{"settlement", "no"}, []string{"melo_before", "melo_after", "delta", "k", "score"})
)

// Settlements returns settlements with their changes in order, at most limit,
// from the one after afterSeq on; of one league, or of all when league is "".
// Replayed in this order they give every current rating (docs/rules.md, section 7).
func (s *Ratings) Settlements(ctx context.Context, league string, afterSeq int64, limit int) ([]arena.Settlement, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	var settlements []arena.Settlement
	err := s.view(ctx, func(q db.Querier) (err error) {
		settlements, err = loadSettlements(ctx, q, league, afterSeq, limit)
		return err
	})
	return settlements, s.wrap(err, "read settlements after %d", afterSeq)
}

// loadSettlements is Settlements in a transaction.
func loadSettlements(ctx context.Context, q db.Querier, league string, afterSeq int64, limit int) ([]arena.Settlement, error) {
	var c db.Clauses
	c.And("s.seq > ?", afterSeq)
	if league != "" {
		c.And("s.league = ?", league)
	}
	chosen := c.Where() + ` ORDER BY s.seq LIMIT ` + c.Arg(limit)
	settlements, err := settlementTable.All(ctx, q, chosen, c.Args...)
	if err != nil {
		return nil, err
	}
	index := make(map[int64]*arena.Settlement, len(settlements))
	for i := range settlements {
		index[settlements[i].Seq] = &settlements[i]
	}
	changes, err := ratingChangeTable.All(ctx, q, ` WHERE c.settlement IN (SELECT s.seq FROM settlements s`+chosen+`) ORDER BY c.settlement, c.no`, c.Args...)
	for _, ch := range changes {
		if t, ok := index[ch.settlement]; ok {
			t.Changes = append(t.Changes, ch.RatingChange)
		}
	}
	return settlements, err
}

// Settled summarizes the settled matches of a league. It keeps the sums, since
// settlements do not change, and reads those that have come since.
func (s *Ratings) Settled(ctx context.Context, league string) (arena.SettledMatches, error) {
	known, _ := s.settled.Load(league)
	sum, _ := known.(arena.SettledMatches)
	for {
		page, err := db.One(ctx, s.reader, func(r db.Row) (t arena.SettledMatches, err error) {
			return t, r.Scan(&t.Matches, &t.Rounds, &t.Last, db.IntoTime(&t.First), db.IntoTime(&t.Till))
		}, `SELECT count(*), CAST(COALESCE(sum(m.round), 0) AS BIGINT), COALESCE(max(s.seq), 0), COALESCE(min(s.at), 0), COALESCE(max(s.at), 0)
			FROM (SELECT seq, match_id, at FROM settlements WHERE league = $1 AND seq > $2 ORDER BY seq LIMIT $3) s
			CROSS JOIN matches m WHERE m.id = s.match_id`, league, sum.Last, settledPage)
		if err != nil {
			return sum, s.wrap(err, "count settled matches of league %s", league)
		}
		if page.Matches == 0 {
			break
		}
		if sum.Matches == 0 || page.First.Before(sum.First) {
			sum.First = page.First
		}
		if page.Till.After(sum.Till) {
			sum.Till = page.Till
		}
		sum.Matches, sum.Rounds, sum.Last = sum.Matches+page.Matches, sum.Rounds+page.Rounds, page.Last
	}
	s.settled.Store(league, sum)
	finished, err := db.One(ctx, s.reader, db.ScanInt, `SELECT count(*) FROM matches x WHERE x.league = $1 AND x.status = $2`, league, string(arena.MatchFinished))
	sum.Unrated = max(0, int(finished)-sum.Matches)
	return sum, s.wrap(err, "count finished matches of league %s", league)
}

// settledPage is how many settlements Settled adds at once.
const settledPage = 1_000

// ChangesIn returns the rating changes of matches by match; one that changed no
// rating has none.
func (s *Ratings) ChangesIn(ctx context.Context, matches ...string) (map[string][]arena.RatingChange, error) {
	if len(matches) == 0 {
		return nil, nil //nolint:nilnil // no matches: no changes
	}
	var c db.Clauses
	db.In(&c, "s.match_id", matches)
	changes := map[string][]arena.RatingChange{}
	err := s.view(ctx, func(q db.Querier) error {
		settlements, err := settlementTable.All(ctx, q, c.Where(), c.Args...)
		if err != nil {
			return err
		}
		match := make(map[int64]string, len(settlements))
		for _, t := range settlements {
			match[t.Seq] = t.MatchID
		}
		rows, err := ratingChangeTable.All(ctx, q, ` WHERE c.settlement IN (SELECT s.seq FROM settlements s`+c.Where()+`) ORDER BY c.settlement, c.no`, c.Args...)
		for _, r := range rows {
			changes[match[r.settlement]] = append(changes[match[r.settlement]], r.RatingChange)
		}
		return err
	})
	return changes, s.wrap(err, "read the rating changes of %d matches", len(matches))
}

// settlementSource is one match's settlement as Settle writes it.
type settlementSource struct {
	matchID, league string
	at              time.Time
	seats           []arena.Seat
}

// rate computes and stores what a match does to ratings; nothing when rate
// gives no changes. The settlements' counter is locked first: settlements
// happen one after the other in the whole cluster, each on the ratings that
// the one before it left.
func (s *Ratings) rate(ctx context.Context, tx *db.Tx, m settlementSource, rate func(map[string]arena.Rating) []arena.RatingChange) ([]arena.RatingChange, error) {
	seq, err := db.One(ctx, tx, db.ScanInt, `SELECT c.value + 1 FROM counters c WHERE c.name = 'settlements'`+s.d.Lock("c"))
	if err != nil {
		return nil, err
	}
	rows, err := s.ratingsOf(ctx, tx, m)
	if err != nil {
		return nil, err
	}
	ratings := make(map[string]arena.Rating, len(rows))
	for id, r := range rows {
		ratings[id] = r.Rating
	}
	changes := rate(ratings)
	if len(changes) == 0 {
		return nil, nil
	}

	groups := make(map[string]string, len(m.seats))
	for _, seat := range m.seats {
		groups[seat.AgentID] = seat.Group()
	}
	met, err := meet(ctx, tx, m.league, changes, groups)
	if err != nil {
		return nil, err
	}
	metGroups, err := s.meetGroups(ctx, tx, m, changes, rows)
	if err != nil {
		return nil, err
	}
	var drift arena.MilliElo
	updated, stored := make([]ratingRow, len(changes)), make([]ratingChangeRow, len(changes))
	for i, c := range changes {
		r, ok := rows[c.AgentID]
		if !ok || r.MilliElo != c.Before {
			return nil, fmt.Errorf("rating change of agent %s starts at %d, its rating is %d", c.AgentID, c.Before, r.MilliElo)
		}
		drift += c.After - c.Before
		r.settled(c, m.at)
		r.opponents += met[c.AgentID]
		r.groups += metGroups[c.AgentID]
		updated[i] = *r
		stored[i] = ratingChangeRow{RatingChange: c, settlement: seq, no: i, league: m.league}
		stored[i].Matches = r.Matches
	}

	total, err := db.One(ctx, tx, db.ScanInt, `UPDATE leagues SET drift = drift + $1 WHERE slug = $2 RETURNING drift`, int64(drift), m.league)
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(ctx, tx, `UPDATE counters SET value = $1 WHERE name = 'settlements'`, seq); err != nil {
		return nil, err
	}
	settlement := arena.Settlement{Seq: seq, MatchID: m.matchID, League: m.league, At: m.at, Drift: arena.MilliElo(total)}
	if _, err := insertSettlements.Exec(ctx, tx, settlement); err != nil {
		return nil, err
	}
	if _, err := insertRatingChanges.Exec(ctx, tx, stored...); err != nil {
		return nil, err
	}
	_, err = upsertRatings.Exec(ctx, tx, updated...)
	return changes, err
}

// ratingsOf returns the ratings of a match's agents, new ones for those who
// have none.
func (s *Ratings) ratingsOf(ctx context.Context, tx *db.Tx, m settlementSource) (map[string]*ratingRow, error) {
	found := make(map[string]*ratingRow, len(m.seats))
	ids := make([]string, len(m.seats))
	for i, seat := range m.seats {
		ids[i] = seat.AgentID
		found[seat.AgentID] = &ratingRow{Rating: arena.NewRating(m.league, seat.AgentID)}
	}
	for part := range slices.Chunk(ids, db.MaxIDs) {
		var c db.Clauses
		c.And("league = ?", m.league)
		db.In(&c, "agent_id", part)
		rows, err := ratingTable.All(ctx, tx, c.Where(), c.Args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			found[r.AgentID] = &r
		}
	}
	return found, nil
}

// meet records which agents met and returns, by agent, the number of opponents
// that it had not met in a rated match of the league before. Agents of one group of owners
// are not rated against each other and so do not meet (docs/rules.md, section 7).
func meet(ctx context.Context, tx *db.Tx, league string, changes []arena.RatingChange, groups map[string]string) (map[string]int, error) {
	var pairs []pairRow
	for i, a := range changes {
		for _, b := range changes[i+1:] {
			if g := groups[a.AgentID]; g != "" && g == groups[b.AgentID] {
				continue
			}
			pairs = append(pairs, pairRow{league, min(a.AgentID, b.AgentID), max(a.AgentID, b.AgentID)})
		}
	}
	fresh, err := insertPairs.Query(ctx, tx, pairs...)
	met := make(map[string]int, len(changes))
	for _, p := range fresh {
		met[p.a]++
		met[p.b]++
	}
	return met, err
}

// pairRow is a row of met: two agents that met in a rated match of a league.
type pairRow struct{ league, a, b string }

var pairTable = db.NewTable("met", "p",
	db.Text("league", func(p *pairRow) *string { return &p.league }),
	db.Text("a", func(p *pairRow) *string { return &p.a }),
	db.Text("b", func(p *pairRow) *string { return &p.b }),
)

var insertPairs = db.NewInsert(pairTable, "ON CONFLICT DO NOTHING").Returning("a", "b")

// meetGroups records the groups of owners that agents met and returns, by agent,
// how many of them are new. A rank needs arena.RankedGroups of them (threat G2),
// so that of one match no more are recorded, and none for an agent that has them.
func (s *Ratings) meetGroups(ctx context.Context, tx *db.Tx, m settlementSource, changes []arena.RatingChange, rows map[string]*ratingRow) (map[string]int, error) {
	enough := func(c arena.RatingChange) bool { return rows[c.AgentID].groups >= arena.RankedGroups }
	if !slices.ContainsFunc(changes, func(c arena.RatingChange) bool { return !enough(c) }) {
		return nil, nil
	}
	groups, err := s.rankGroups(ctx, tx, m.seats)
	if err != nil {
		return nil, err
	}
	var met []metGroupRow
	for _, a := range changes {
		if enough(a) {
			continue
		}
		seen := map[string]bool{groups[a.AgentID]: true}
		for _, b := range changes {
			if g := groups[b.AgentID]; g != "" && !seen[g] && len(seen) <= arena.RankedGroups {
				seen[g] = true
				met = append(met, metGroupRow{m.league, a.AgentID, g})
			}
		}
	}
	if len(met) == 0 {
		return nil, nil
	}
	fresh, err := insertMetGroups.Query(ctx, tx, met...)
	count := make(map[string]int, len(changes))
	for _, g := range fresh {
		count[g.agentID]++
	}
	return count, err
}

// rankGroups returns the groups of owners by agent, as a rank counts them. Owners who
// signed up from one network are one group, apart from those with a confirmed address,
// an identity at a provider, or an agent that has answered under a domain of their own.
func (s *Ratings) rankGroups(ctx context.Context, tx *db.Tx, seats []arena.Seat) (map[string]string, error) {
	owners := make([]string, len(seats))
	for i, seat := range seats {
		owners[i] = seat.OwnerID
	}
	slices.Sort(owners)
	type source struct{ owner, network, first string }
	together := map[string]string{} // by owner
	for part := range slices.Chunk(slices.Compact(owners), db.MaxIDs) {
		var c db.Clauses
		db.In(&c, "o.id", part)
		found, err := db.All(ctx, tx, func(r db.Row) (x source, err error) { return x, r.Scan(&x.owner, &x.network, &x.first) },
			`SELECT o.id, o.network, (SELECT min(x.id) FROM owners x WHERE x.network = o.network AND x.network <> '') FROM owners o`+c.Where()+`
			AND o.network <> '' AND o.email_confirmed_at = 0 AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.owner_id = o.id)
			AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.owner_id = o.id AND a.passed_at > 0 AND a.endpoint_domain <> ''
				AND NOT EXISTS (SELECT 1 FROM agents b WHERE b.endpoint_domain = a.endpoint_domain AND b.endpoint_domain <> '' AND b.owner_id <> o.id))`, c.Args...)
		if err != nil {
			return nil, err
		}
		for _, x := range found {
			if !s.shared.Has(x.network) {
				together[x.owner] = "network of " + x.first
			}
		}
	}
	groups := make(map[string]string, len(seats))
	for _, seat := range seats {
		groups[seat.AgentID] = cmp.Or(together[seat.OwnerID], seat.Group())
	}
	return groups, nil
}

// metGroupRow is a row of met_groups.
type metGroupRow struct{ league, agentID, group string }

var metGroupTable = db.NewTable("met_groups", "g",
	db.Text("league", func(g *metGroupRow) *string { return &g.league }),
	db.Text("agent_id", func(g *metGroupRow) *string { return &g.agentID }),
	db.Text("owner_group", func(g *metGroupRow) *string { return &g.group }),
)

var insertMetGroups = db.NewInsert(metGroupTable, "ON CONFLICT DO NOTHING").Returning("agent_id")

// standingRows reads a league's table: every agent that is in it or was ever
// rated in it, with no more of it than a table shows.
const standingRows = `SELECT a.id, a.owner_id, o.name, a.name, a.protocol, a.endpoint, a.version, a.model, a.pauses, a.passed_at, a.retired_at,
	r.melo, r.matches, r.peak, r.new_version, r.wins, r.draws, r.losses, r.opponents, r.opponent_groups, r.recent, r.last_rated_at
	FROM (SELECT agent_id FROM entries WHERE league = $1 AND withdrawn_at = 0 UNION SELECT agent_id FROM ratings WHERE league = $1) t
	JOIN agents a ON a.id = t.agent_id JOIN owners o ON o.id = a.owner_id
	LEFT JOIN ratings r ON r.league = $1 AND r.agent_id = a.id`

func scanStanding(league string) func(db.Row) (*arena.Standing, error) {
	return func(r db.Row) (*arena.Standing, error) {
		s := &arena.Standing{Rating: arena.NewRating(league, "")}
		a, g := &s.Agent, &s.Rating
		var last int64
		err := r.Scan(&a.ID, &a.OwnerID, &a.OwnerName, &a.Name, &a.Protocol, &a.Endpoint, &a.Version, &a.Model, pausesInto{&a.Pauses}, db.IntoTime(&a.PassedAt), db.IntoTime(&a.RetiredAt),
			orAsIs[arena.MilliElo]{&g.MilliElo}, orAsIs[int]{&g.Matches}, orAsIs[arena.MilliElo]{&g.Peak}, orAsIs[int]{&g.NewVersion}, orAsIs[int]{&g.Wins},
			orAsIs[int]{&g.Draws}, orAsIs[int]{&g.Losses}, orAsIs[int]{&s.Opponents}, orAsIs[int]{&s.Groups}, recentInto{&s.Recent}, orAsIs[int64]{&last})
		s.Groups = min(s.Groups, arena.RankedGroups)
		g.AgentID, g.LastRatedAt = a.ID, db.FromMillis(last)
		return s, err
	}
}

// orAsIs scans a whole number and leaves what is there when it is NULL.
type orAsIs[T ~int | ~int64] struct{ n *T }

func (i orAsIs[T]) Scan(src any) error {
	if v, ok := src.(int64); ok {
		*i.n = T(v)
	} else if src != nil {
		return fmt.Errorf("scan number: got %T", src)
	}
	return nil
}

// Standings returns a league's table: every agent that is in it or was ever
// rated in it. Those with a rank at now come first, then the others, each by
// rating, then id (docs/rules.md, section 7). Of an agent it has ids and names,
// protocol, endpoint, version, model, pauses, and when it passed and retired.
func (s *Leagues) Standings(ctx context.Context, league string, now time.Time) ([]arena.Standing, error) {
	var found []*arena.Standing
	err := s.view(ctx, func(q db.Querier) (err error) {
		if _, err := oneLeague(ctx, q, league, ""); err != nil {
			return err
		}
		found, err = db.All(ctx, q, scanStanding(league), standingRows, league)
		return err
	})
	if err != nil {
		return nil, s.wrap(err, "read standings of league %s", league)
	}
	return rank(found, now), nil
}

// rank orders a table and numbers those who have a rank.
func rank(found []*arena.Standing, now time.Time) []arena.Standing {
	ranked, others := make([]*arena.Standing, 0, len(found)), []*arena.Standing{}
	for _, s := range found {
		if s.Ranked(now) {
			ranked = append(ranked, s)
		} else {
			others = append(others, s)
		}
	}
	slices.SortFunc(ranked, byRating)
	slices.SortFunc(others, byRating)
	table := make([]arena.Standing, 0, len(found))
	for i, s := range ranked {
		s.Rank = i + 1
		table = append(table, *s)
	}
	for _, s := range others {
		table = append(table, *s)
	}
	return table
}
