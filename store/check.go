package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// CheckRatings replays all settlements in order and compares what they give
// with the stored ratings and drifts, bit for bit (rulebook, section 7). It
// gives the leagues with ratings by slug.
func (s *Store) CheckRatings(ctx context.Context) ([]arena.RatingsReport, error) {
	type key struct{ league, agent string }
	replayed := map[key]arena.Rating{}
	checks := map[string]*arena.RatingsReport{}
	var checked []arena.RatingsReport
	for after := int64(0); ; {
		page, err := s.Settlements(ctx, "", after, db.MaxIDs)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if after++; t.Seq != after {
				return nil, fmt.Errorf("check ratings: settlement %d is missing", after)
			}
			c := checks[t.League]
			if c == nil {
				c = &arena.RatingsReport{League: t.League}
				checks[t.League] = c
			}
			c.Settlements++
			for _, change := range t.Changes {
				k := key{t.League, change.AgentID}
				r, known := replayed[k]
				if !known {
					r = arena.NewRating(k.league, k.agent)
					c.Agents++
				}
				if change.Before != r.Melo {
					return nil, fmt.Errorf("check ratings: settlement %d finds agent %s at %d, not at %d", t.Seq, k.agent, change.Before, r.Melo)
				}
				r.Melo = change.After
				r.Matches++
				c.Drift += change.After - change.Before
				replayed[k] = r
			}
			if t.Drift != c.Drift {
				return nil, fmt.Errorf("check ratings: settlement %d leaves a drift of %d, not %d", t.Seq, t.Drift, c.Drift)
			}
		}
		if len(page) == 0 {
			break
		}
	}
	rows, err := ratingTable.All(ctx, s.reader, ` ORDER BY r.league, r.agent_id`)
	if err != nil {
		return nil, s.wrap(err, "check ratings")
	}
	if len(rows) != len(replayed) {
		return nil, fmt.Errorf("check ratings: %d are stored, settlements give %d", len(rows), len(replayed))
	}
	for _, r := range rows {
		if want := replayed[key{r.League, r.AgentID}]; r.Melo != want.Melo || r.Matches != want.Matches {
			return nil, fmt.Errorf("check ratings: agent %s in league %s has %d after %d matches, settlements give %d after %d",
				r.AgentID, r.League, r.Melo, r.Matches, want.Melo, want.Matches)
		}
		checks[r.League].Sum += r.Melo
	}
	leagues, err := s.Leagues(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range leagues {
		c := checks[l.Slug]
		if c == nil {
			c = &arena.RatingsReport{League: l.Slug}
		}
		if l.Drift != c.Drift || c.Sum != arena.Melo(c.Agents)*arena.StartRating+c.Drift {
			return nil, fmt.Errorf("check ratings: league %s has %d with a drift of %d, settlements give a drift of %d", l.Slug, c.Sum, l.Drift, c.Drift)
		}
		if c.Agents > 0 {
			checked = append(checked, *c)
		}
	}
	slices.SortFunc(checked, func(a, b arena.RatingsReport) int { return strings.Compare(a.League, b.League) })
	return checked, nil
}

// CheckIntegrity asks SQLite whether its file is whole. PostgreSQL checks each
// page as it reads it, and has no such question.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	if s.d.RowLocks {
		return nil
	}
	found, err := db.All(ctx, s.reader, db.ScanText, "PRAGMA integrity_check")
	if err != nil {
		return s.wrap(err, "check integrity")
	}
	if len(found) != 1 || found[0] != "ok" {
		return fmt.Errorf("check integrity: %s", strings.Join(found, "; "))
	}
	return nil
}
