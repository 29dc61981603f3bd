package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/base"
	"github.com/agora-arena/arena/store/internal/db"
)

var leagueTable = db.NewTable("leagues", "l",
	db.Text("slug", func(l *arena.League) *string { return &l.Slug }),
	db.Text("title", func(l *arena.League) *string { return &l.Title }),
	db.Text("status", func(l *arena.League) *arena.LeagueStatus { return &l.Status }),
	db.JSON("settings", func(l *arena.League) *arena.Settings { return &l.Settings }),
	db.JSON("entry", func(l *arena.League) *arena.EntryRules { return &l.Entry }),
	db.Text("schedule", func(l *arena.League) *string { return &l.Schedule }),
	db.Int("drift", func(l *arena.League) *arena.MilliElo { return &l.Drift }),
	db.Time("created_at", func(l *arena.League) *time.Time { return &l.CreatedAt }),
	db.Time("next_run_at", func(l *arena.League) *time.Time { return &l.NextRunAt }),
	db.JSON("note", func(l *arena.League) *arena.Note { return &l.Note }),
	db.Text("description", func(l *arena.League) *string { return &l.Description }),
	db.Text("prize", func(l *arena.League) *string { return &l.Prize }),
	db.Text("rules_text", func(l *arena.League) *string { return &l.RulesText }),
	db.Time("signup_until", func(l *arena.League) *time.Time { return &l.SignupUntil }),
	db.Time("archived_at", func(l *arena.League) *time.Time { return &l.ArchivedAt }),
	db.Int("removed_tasks", func(l *arena.League) *int { return &l.RemovedTasks }),
	db.Int("corrected_tasks", func(l *arena.League) *int { return &l.CorrectedTasks }),
	db.Time("judge_since", func(l *arena.League) *time.Time { return &l.JudgeSince }),
	db.JSON("audit", func(l *arena.League) **arena.AuditReport { return &l.Audit }),
	db.Computed(`(SELECT count(*) FROM entries e WHERE e.league = l.slug AND e.withdrawn_at = 0)`, func(l *arena.League) any { return &l.Agents }),
)

var (
	insertLeagues = db.NewInsert(leagueTable, "ON CONFLICT (slug) DO NOTHING")
	updateLeagues = db.NewUpdate(leagueTable, []string{"slug"}, []string{
		"title", "status", "settings", "entry", "schedule", "next_run_at", "note",
		"description", "prize", "rules_text", "signup_until", "archived_at", "judge_since", "audit",
	})
)

func oneLeague(ctx context.Context, q db.Querier, slug, lock string) (arena.League, error) {
	l, err := leagueTable.One(ctx, q, ` WHERE l.slug = $1`+lock, slug)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("league", slug)
	}
	return l, err
}

// leagueKey sorts behind every id, so that a batch locks leagues last.
func leagueKey(slug string) string { return "~" + slug }

// CreateLeague stores a league with the audit entries about it; its drift is 0. The
// opponents that it names in Settings.BuiltIn are in it.
// name_taken: the slug exists. invalid: its pack does not exist.
func (s *Leagues) CreateLeague(ctx context.Context, l arena.League, audit ...arena.AuditEntry) error {
	err := s.write(ctx, leagueKey(l.Slug), func(ctx context.Context, tx *db.Tx) error {
		if err := checkPack(ctx, tx, l); err != nil {
			return err
		}
		l.Drift = 0
		n, err := insertLeagues.Exec(ctx, tx, l)
		switch {
		case err != nil:
			return err
		case n == 0:
			return arena.Errorf(arena.CodeNameTaken, "there is a league %q already", l.Slug)
		}
		if err := s.fill(ctx, tx, l.Slug, nil, l.Settings.BuiltIn); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "create league %s", l.Slug)
}

// checkPack rejects a league whose pack does not exist.
func checkPack(ctx context.Context, tx *db.Tx, l arena.League) error {
	id := l.Settings.PackID
	if id == "" {
		return nil
	}
	_, err := db.One(ctx, tx, db.ScanInt, `SELECT 1 FROM packs WHERE id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return arena.Invalid("pack_id", "there is no pack %q", id)
	}
	return err
}

// League returns one league.
func (s *Leagues) League(ctx context.Context, slug string) (arena.League, error) {
	l, err := oneLeague(ctx, s.reader, slug, "")
	return l, s.wrap(err, "read league %s", slug)
}

// Leagues returns all leagues, oldest first.
func (s *Leagues) Leagues(ctx context.Context) ([]arena.League, error) {
	ls, err := leagueTable.All(ctx, s.reader, ` ORDER BY l.created_at, l.slug`)
	return ls, s.wrap(err, "read leagues")
}

// UpdateLeague changes a league by apply, which gets the stored one and runs
// inside the transaction, perhaps more than once; its error undoes the change
// and comes back. What is written: title, texts, status, settings, entry rules,
// deadline, archive, schedule, next run, note, start of the judge's card and audit. The audit entries that
// audit returns about the change are stored with it. Opponents that Settings.BuiltIn no longer names are
// withdrawn, and those that it names now are entered. invalid: its pack does not exist.
func (s *Leagues) UpdateLeague(ctx context.Context, slug string, apply func(*arena.League) error, audit ...arena.LeagueAudit) (arena.League, error) {
	var after arena.League
	err := s.write(ctx, leagueKey(slug), func(ctx context.Context, tx *db.Tx) error {
		before, err := oneLeague(ctx, tx, slug, s.d.Lock("l"))
		if err != nil {
			return err
		}
		l := before
		if err := apply(&l); err != nil {
			return err
		}
		if err := checkPack(ctx, tx, l); err != nil {
			return err
		}
		l.Slug = slug
		if _, err := updateLeagues.Exec(ctx, tx, l); err != nil {
			return err
		}
		if err := s.fill(ctx, tx, slug, before.Settings.BuiltIn, l.Settings.BuiltIn); err != nil {
			return err
		}
		if after, err = oneLeague(ctx, tx, slug, ""); err != nil {
			return err
		}
		return auditChange(ctx, tx, before, after, audit)
	})
	return after, s.wrap(err, "update league %s", slug)
}

// The opponents that come with the program are stored when a league first names them.
// Another agent or owner may have their names: only what is free is claimed.
var (
	insertBuiltInOwners = db.NewInsert(ownerTable, "ON CONFLICT DO NOTHING")
	insertBuiltInAgents = db.NewInsert(agentTable, "ON CONFLICT DO NOTHING")
)

// fill enters the built-in opponents that a league names now, and withdraws those that
// it named before.
func (s *Leagues) fill(ctx context.Context, tx *db.Tx, league string, before, now []string) error {
	at := s.now()
	for _, k := range arena.BuiltInKinds() { // in one order, so that transactions do not wait for each other in a circle
		was, is, g := slices.Contains(before, k.Name), slices.Contains(now, k.Name), k.Agent(at)
		var err error
		switch {
		case is && !was:
			err = enterBuiltIn(ctx, tx, league, g, at)
		case was && !is:
			_, err = db.Exec(ctx, tx, `UPDATE entries SET withdrawn_at = $1 WHERE league = $2 AND agent_id = $3 AND withdrawn_at = 0`,
				db.Millis(at), league, g.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enterBuiltIn enters a built-in opponent, which is stored with its owner unless it is
// there.
func enterBuiltIn(ctx context.Context, tx *db.Tx, league string, g arena.Agent, at time.Time) error {
	o := arena.BuiltInOwner(at)
	if _, err := insertBuiltInOwners.Exec(ctx, tx, o); err != nil {
		return err
	}
	if _, err := insertBuiltInAgents.Exec(ctx, tx, g); err != nil {
		return err
	}
	for _, claim := range []struct{ kind, holder, name string }{{ownerName, o.ID, o.Name}, {agentName, g.ID, g.Name}} {
		if err := claimName(ctx, tx, claim.kind, claim.holder, claim.name); err != nil && arena.CodeOf(err) != arena.CodeNameTaken {
			return err
		}
	}
	return enter(ctx, tx, league, g.ID, at)
}

// DeleteLeague deletes a league that never had a match, with its entries and
// seasons, and stores the audit entries about it. conflict: it had one.
func (s *Leagues) DeleteLeague(ctx context.Context, slug string, audit ...arena.LeagueAudit) error {
	err := s.write(ctx, leagueKey(slug), func(ctx context.Context, tx *db.Tx) error {
		before, err := oneLeague(ctx, tx, slug, s.d.Lock("l"))
		if err != nil {
			return err
		}
		_, err = db.One(ctx, tx, db.ScanInt, `SELECT 1 FROM matches WHERE league = $1 LIMIT 1`, slug)
		switch {
		case err == nil:
			return arena.Errorf(arena.CodeConflict, "league %s has had matches, which stay readable: archive it instead", slug)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		for _, statement := range []string{
			`DELETE FROM pairings WHERE season_id IN (SELECT id FROM seasons WHERE league = $1)`,
			`DELETE FROM entrants WHERE season_id IN (SELECT id FROM seasons WHERE league = $1)`,
			`DELETE FROM seasons WHERE league = $1`,
			`DELETE FROM fits WHERE league = $1`,
			`DELETE FROM gold WHERE league = $1`,
			`DELETE FROM entries WHERE league = $1`,
			`DELETE FROM leagues WHERE slug = $1`,
		} {
			if _, err := db.Exec(ctx, tx, statement, slug); err != nil {
				return err
			}
		}
		return auditChange(ctx, tx, before, arena.League{}, audit)
	})
	return s.wrap(err, "delete league %s", slug)
}

// Enter puts an agent into a league, with the audit entries about it; it may
// have been there before. Entering twice changes nothing. not_found: the league
// or the agent does not exist.
func (s *Leagues) Enter(ctx context.Context, league, agentID string, at time.Time, audit ...arena.AuditEntry) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.One(ctx, tx, db.ScanInt, `SELECT 1 FROM agents WHERE id = $1`, agentID); errors.Is(err, sql.ErrNoRows) {
			return notFound("agent", agentID)
		} else if err != nil {
			return err
		}
		if err := enter(ctx, tx, league, agentID, at); err != nil {
			return err
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "enter agent %s into league %s", agentID, league)
}

func enter(ctx context.Context, tx *db.Tx, league, agentID string, at time.Time) error {
	if _, err := db.One(ctx, tx, db.ScanInt, `SELECT 1 FROM leagues WHERE slug = $1`, league); errors.Is(err, sql.ErrNoRows) {
		return notFound("league", league)
	} else if err != nil {
		return err
	}
	_, err := db.Exec(ctx, tx, `INSERT INTO entries (league, agent_id, entered_at, withdrawn_at) VALUES ($1, $2, $3, 0)
		ON CONFLICT (league, agent_id) DO UPDATE SET entered_at = excluded.entered_at, withdrawn_at = 0
		WHERE entries.withdrawn_at <> 0`, league, agentID, db.Millis(at))
	return err
}

// Withdraw withdraws an agent from a league and stores the audit entries about
// it. It returns not_found if the agent is not in the league.
func (s *Leagues) Withdraw(ctx context.Context, league, agentID string, at time.Time, audit ...arena.AuditEntry) error {
	err := s.write(ctx, agentID, func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Exec(ctx, tx, `UPDATE entries SET withdrawn_at = $1 WHERE league = $2 AND agent_id = $3 AND withdrawn_at = 0`,
			db.Millis(at), league, agentID)
		switch {
		case err != nil:
			return err
		case n == 0:
			return arena.Errorf(arena.CodeNotFound, "agent %q is not in league %q", agentID, league)
		}
		return base.InsertAudit(ctx, tx, audit...)
	})
	return s.wrap(err, "withdraw agent %s from league %s", agentID, league)
}
