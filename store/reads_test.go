package store_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/fill"
	"github.com/agora-arena/arena/store/storetest"
)

func second[T any](_ T, err error) error { return err }

// TestEnvelopes_Plans: a poll reads what its filters choose, in order and from
// its cursor on, by an index that also says what has expired. Threat L6.
func TestEnvelopes_Plans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openStore(t, storetest.SQLite(t))
	for filters := range 16 {
		q := arena.EnvelopeQuery{After: 7, Now: time.Now(), Limit: 101}
		want := "SEARCH e USING INDEX envelopes_by_seq (seq>?)"
		if filters&1 != 0 {
			q.Type, want = "CANCEL", "SEARCH e USING INDEX envelopes_by_type (type=? AND seq>?)"
		}
		if filters&2 != 0 {
			q.Recipient, want = "bea", "SEARCH e USING INDEX envelopes_by_recipient (recipient=? AND seq>?)"
			if q.Type != "" {
				want = "SEARCH e USING INDEX envelopes_by_recipient_and_type (recipient=? AND type=? AND seq>?)"
			}
		}
		if filters&4 != 0 {
			q.Sender, want = "ada", "SEARCH e USING INDEX envelopes_by_sender_in_order (sender=? AND seq>?)"
		}
		if filters&8 != 0 {
			q.Thread, want = "t1", "SEARCH e USING INDEX envelopes_by_thread_in_order (thread=? AND seq>?)"
		}
		known := s.Texts()
		check(t, second(s.Relay.Envelopes(ctx, q)))
		_, _, err := s.Relay.EnvelopeAfter(ctx, q, q.Now)
		check(t, err)
		for _, text := range s.Texts() {
			if slices.Contains(known, text) {
				continue
			}
			plan := planOf(t, s, text, make([]any, parameters(text))...)
			found := strings.TrimSpace(plan)
			switch {
			case strings.Contains(text, " ts = "):
				if !strings.HasSuffix(found, "INDEX envelopes_by_time (ts=? AND seq>?)") {
					t.Errorf("%s\n%s", found, text)
				}
			case strings.Contains(text, "ORDER BY e.seq") && found != want:
				t.Errorf("%s, want %s\n%s", found, want, text)
			case strings.Contains(plan, "SCAN envelopes") && !strings.Contains(text, "max(seq)"):
				t.Errorf("%s\n%s", found, text)
			}
		}
	}
}

// TestMatches_States: a league's matches in states that are rare are found by
// their state, however many others there are. Threat V7.
func TestMatches_States(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	for _, league := range []string{"", "trivia"} {
		known, found := s.Texts(), 0
		_, _, err := s.Matches.Matches(t.Context(), arena.MatchFilter{League: league, Statuses: []arena.MatchStatus{arena.MatchVoid, arena.MatchCancelled}}, arena.Page{Limit: 20, Cursor: "bTptXzAwMDAwMTAwMDA"})
		check(t, err)
		for _, text := range s.Texts() {
			if slices.Contains(known, text) || !strings.Contains(text, "UNION ALL") {
				continue
			}
			found++
			plan := planOf(t, s, text, make([]any, parameters(text))...)
			want := "SEARCH z USING COVERING INDEX matches_by_status (status=? AND id<?)"
			if league != "" {
				want = "SEARCH z USING COVERING INDEX matches_by_league_status (league=? AND status=? AND id<?)"
			}
			if strings.Count(plan, want) != 2 || !strings.Contains(plan, "SEARCH m USING INDEX sqlite_autoindex_matches_1 (id=?)") {
				t.Errorf("%s\n%s", plan, text)
			}
		}
		if found != 1 {
			t.Errorf("%d texts", found)
		}
	}
}

// parameters is the highest number of a placeholder.
func parameters(text string) int {
	most := 0
	for _, m := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(text, -1) {
		var n int
		_, _ = fmt.Sscan(m[1], &n)
		most = max(most, n)
	}
	return most
}

// fillDuels makes 100 agents of one owner in one league, and their 2,000 duels.
func fillDuels(t *testing.T, s *store.Store) {
	t.Helper()
	ctx, at := t.Context(), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	check(t, s.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow_1", CreatedAt: at}, arena.Token{ID: "to_1", OwnerID: "ow_1", Scope: arena.ScopeOwner}))
	check(t, s.Leagues.CreateLeague(ctx, arena.League{Slug: "trivia", Status: arena.LeagueOpen, CreatedAt: at}))
	var ids []string
	for i := range 100 {
		id := fmt.Sprintf("ag_%d", i)
		check(t, s.Agents.CreateAgent(ctx, arena.Agent{ID: id, OwnerID: "ow_1", Name: id, Leagues: []string{"trivia"}, CreatedAt: at}))
		ids = append(ids, id)
	}
	check(t, fill.Duels{Leagues: []string{"trivia"}, Agents: ids, Matches: 2_000, Events: 5, From: at}.Fill(ctx, s.Writer(), func(int, int) {}))
}
