package budgets

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

// Uses is what agents have played and spent.
type Uses struct{ base *base.Base }

// NewUses returns the uses of a database.
func NewUses(b *base.Base) *Uses { return &Uses{base: b} }

// dayRow is a day of an agent with what has ended on it.
type dayRow struct {
	arena.AgentDay
	arena.DayUse

	window int64 // its beginning
	now    int64 // what ended later did so by a clock that was ahead
}

var dayTable = db.NewTable("seats", "s",
	db.Text("agent_id", func(d *dayRow) *string { return &d.AgentID }).As("v.agent_id"),
	db.Written("since", db.TypeInt, func(d *dayRow) any { return db.Millis(d.From) }),
	db.Written("window", db.TypeInt, func(d *dayRow) any { return d.window }),
	db.Written("now", db.TypeInt, func(d *dayRow) any { return d.now }),
	db.Computed("count(*) FILTER (WHERE s.ended_at >= v.since)", func(d *dayRow) any { return &d.Matches }),
	db.Computed("CAST(COALESCE(sum(s.tokens) FILTER (WHERE s.ended_at >= v.since), 0) AS BIGINT)", func(d *dayRow) any { return &d.Tokens }),
	db.Computed("count(*)", func(d *dayRow) any { return &d.WindowMatches }),
	db.Computed("CAST(sum(s.tokens) AS BIGINT)", func(d *dayRow) any { return &d.WindowTokens }),
	db.Computed("max(s.tokens)", func(d *dayRow) any { return &d.Largest }),
)

// endedSeats reads an index that holds all its columns.
var endedSeats = db.NewQuery(dayTable, []string{"agent_id", "since", "window", "now"},
	`CROSS JOIN seats s WHERE s.agent_id = v.agent_id AND s.ended_at > 0 AND s.ended_at >= v.window AND s.ended_at <= v.now GROUP BY v.agent_id`)

// openSeat is a seat of a match that is not over.
type openSeat struct {
	agentID          string
	startsAt         time.Time
	tokens, reserved int64
	active           bool
}

// DayUses returns what agents have used of their days, by agent. Only days that
// have not ended are of use: what has ended counts on all of them.
func (u *Uses) DayUses(ctx context.Context, days []arena.AgentDay) (uses map[string]arena.DayUse, err error) {
	err = u.base.View(ctx, func(q db.Querier) (err error) {
		uses, err = u.dayUses(ctx, q, days)
		return err
	})
	return uses, u.base.Wrap(err, "read the use of %d agents", len(days))
}

// Reserve returns, by agent, the estimated tokens of a match that starts at a
// time. agent_not_ready: the budget of an agent does not allow the match. No other
// transaction may create matches of agents with a budget until tx has ended.
func (u *Uses) Reserve(ctx context.Context, tx *db.Tx, agents []arena.Agent, s arena.Settings, at time.Time) (map[string]int64, error) {
	zones := arena.Zones{}
	uses, err := u.dayUses(ctx, tx, zones.BudgetDays(agents, at))
	if err != nil {
		return nil, err
	}
	if err := zones.CheckBudgets(agents, uses, s, at); err != nil {
		return nil, err
	}
	reserved := make(map[string]int64, len(agents))
	for _, a := range agents {
		if !a.Budget.IsZero() {
			reserved[a.ID] = uses[a.ID].MatchTokens(a, s)
		}
	}
	return reserved, nil
}

func (u *Uses) dayUses(ctx context.Context, q db.Querier, days []arena.AgentDay) (map[string]arena.DayUse, error) {
	now := u.base.Now()
	rows, byAgent := make([]dayRow, len(days)), make(map[string]arena.AgentDay, len(days))
	for i, d := range days {
		window := now.Add(-arena.UseWindow)
		if d.From.Before(window) {
			window = d.From
		}
		rows[i], byAgent[d.AgentID] = dayRow{AgentDay: d, window: db.Millis(window), now: db.Millis(now.Add(arena.ClockSlack))}, d
	}
	uses := make(map[string]arena.DayUse, len(days))
	ended, err := endedSeats.Query(ctx, q, rows...)
	if err != nil {
		return nil, err
	}
	for _, d := range ended {
		uses[d.AgentID] = d.DayUse
	}
	open, err := db.All(ctx, q, func(r db.Row) (s openSeat, err error) {
		return s, r.Scan(&s.agentID, db.IntoTime(&s.startsAt), &s.tokens, &s.reserved, &s.active)
	}, `SELECT s.agent_id, m.starts_at, s.tokens, s.reserved_tokens, s.state = 'active' FROM matches m CROSS JOIN seats s
		WHERE s.match_id = m.id AND m.status IN ('scheduled', 'ready', 'running')`)
	if err != nil {
		return nil, err
	}
	for _, s := range open {
		d, asked := byAgent[s.agentID]
		if !asked || !s.startsAt.Before(d.To) || s.startsAt.Before(d.From) && d.From.After(now) {
			continue
		}
		use := uses[s.agentID]
		use.Largest = max(use.Largest, s.tokens)
		if s.active {
			use = use.Add(max(s.tokens, s.reserved))
		} else { // it costs no more
			use.Matches++
			use.Tokens += s.tokens
		}
		uses[s.agentID] = use
	}
	return uses, nil
}

// Played sums up a league's matches by agent: the number of those that started
// since day and are not canceled, and the end of the last one that started since
// another time or is not over. Matches that start later do not count, nor does an end that
// lies ahead (arena.Ahead).
func (u *Uses) Played(ctx context.Context, league string, day, since time.Time) (map[string]arena.Played, error) {
	played := map[string]arena.Played{}
	_, err := db.All(ctx, u.base.Reader, func(r db.Row) (p arena.Played, err error) {
		var id string
		err = r.Scan(&id, &p.Matches, db.IntoTime(&p.First), db.IntoTime(&p.Last))
		played[id] = p
		return p, err
	}, `SELECT s.agent_id, count(*) FILTER (WHERE m.starts_at >= $2), COALESCE(min(m.starts_at) FILTER (WHERE m.starts_at >= $2), 0),
			max(CASE WHEN m.finished_at > $4 THEN 0 WHEN m.finished_at > 0 THEN m.finished_at ELSE m.started_at END)
		FROM (SELECT id, starts_at, started_at, finished_at FROM matches WHERE league = $1 AND starts_at >= $3 AND starts_at <= $4 AND status <> 'cancelled' UNION
			SELECT id, starts_at, started_at, finished_at FROM matches WHERE league || '' = $1 AND starts_at <= $4 AND status IN ('scheduled', 'ready', 'running')) m
		CROSS JOIN seats s WHERE s.match_id = m.id GROUP BY s.agent_id`,
		league, db.Millis(day), db.Millis(since), db.Millis(u.base.Now().Add(arena.ClockSlack)))
	return played, u.base.Wrap(err, "read what agents of league %s have played", league)
}
