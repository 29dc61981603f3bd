package store_test

import (
	"context"
	"database/sql"
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

// reads are the reads that pages make, by name, of one of many agents and
// matches.
func reads(s *store.Store) map[string]func(ctx context.Context) error {
	const agent, match, league, owner = "ag_7", "m_0000000007", "trivia", "ow_1"
	first, next := arena.Page{Limit: 20}, arena.Page{Limit: 20, Cursor: "bTptXzAwMDAwMTAwMDA"} // m:m_0000010000
	now := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	matches := func(f arena.MatchFilter) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, err := s.Matches.Matches(ctx, f, first)
			if err == nil {
				_, _, err = s.Matches.Matches(ctx, f, next)
			}
			return err
		}
	}
	byStart := func(f arena.MatchFilter) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, err := s.Matches.Matches(ctx, f, first)
			if err == nil {
				_, _, err = s.Matches.Matches(ctx, f, arena.Page{Limit: 20, Cursor: "dDoxOm1fMQ"}) // t:1:m_1
			}
			return err
		}
	}
	running, over := []arena.MatchStatus{arena.MatchRunning}, []arena.MatchStatus{arena.MatchVoid, arena.MatchCancelled}
	return map[string]func(ctx context.Context) error{
		"matches":                           matches(arena.MatchFilter{}),
		"matches with a status":             matches(arena.MatchFilter{Statuses: running}),
		"matches of a league":               matches(arena.MatchFilter{League: league}),
		"matches of a league by status":     matches(arena.MatchFilter{League: league, Statuses: running}),
		"matches in two states":             matches(arena.MatchFilter{Statuses: over}),
		"matches of a league in two states": matches(arena.MatchFilter{League: league, Statuses: over}),
		"matches of an agent":               matches(arena.MatchFilter{AgentID: agent}),
		"matches by id":                     matches(arena.MatchFilter{IDs: []string{match, "m_0000000008"}}),
		"matches of two agents":             matches(arena.MatchFilter{AgentID: agent, OpponentID: "ag_8"}),
		"matches by name":                   matches(arena.MatchFilter{Query: "ag_7"}),
		"matches of a league by name":       matches(arena.MatchFilter{League: league, Query: "ag_7"}),
		"matches of a day":                  byStart(arena.MatchFilter{From: now, To: now.AddDate(0, 0, 1)}),
		"matches of a league on a day":      byStart(arena.MatchFilter{League: league, From: now, To: now.AddDate(0, 0, 1)}),
		"matches with a status by day":      byStart(arena.MatchFilter{Statuses: running, From: now}),
		"matches of an agent on a day":      byStart(arena.MatchFilter{AgentID: agent, From: now, To: now.AddDate(0, 0, 1)}),
		"next matches":                      byStart(arena.MatchFilter{Statuses: running, Soonest: true}),
		"match":                             func(ctx context.Context) error { return second(s.Matches.Match(ctx, match)) },
		"live matches":                      func(ctx context.Context) error { return second(s.Matches.LiveMatches(ctx, league)) },
		"log":                               func(ctx context.Context) error { return second(s.Matches.EventsAfter(ctx, match, 3, 100)) },
		"packed log":                        func(ctx context.Context) error { return second(s.Matches.EventsAfter(ctx, match, 100, 100)) },
		"rounds":                            func(ctx context.Context) error { return second(s.Matches.Rounds(ctx, match)) },
		"answers":                           func(ctx context.Context) error { return second(s.Matches.Answers(ctx, match)) },
		"verdicts":                          func(ctx context.Context) error { return second(s.Matches.Verdicts(ctx, match)) },
		"verdicts of a league":              func(ctx context.Context) error { return second(s.Matches.LeagueVerdicts(ctx, league, 100)) },
		"votes":                             func(ctx context.Context) error { return second(s.Matches.Votes(ctx, match, 1)) },
		"guesses":                           func(ctx context.Context) error { return second(s.Matches.Guesses(ctx, match)) },
		"standings":                         func(ctx context.Context) error { return second(s.Leagues.Standings(ctx, league, now)) },
		"league":                            func(ctx context.Context) error { return second(s.Leagues.League(ctx, league)) },
		"refit":                             func(ctx context.Context) error { return second(s.Leagues.Fit(ctx, league)) },
		"results":                           func(ctx context.Context) error { return second(s.Leagues.RatedResults(ctx, league, 3, 100)) },
		"settlements":                       func(ctx context.Context) error { return second(s.Ratings.Settlements(ctx, league, 3, 100)) },
		"settled matches":                   func(ctx context.Context) error { return second(s.Ratings.Settled(ctx, league)) },
		"rating changes of matches":         func(ctx context.Context) error { return second(s.Ratings.ChangesIn(ctx, match, "m_0000000008")) },
		"agent":                             func(ctx context.Context) error { return second(s.Agents.Agent(ctx, agent)) },
		"agents by id":                      func(ctx context.Context) error { return second(s.Agents.AgentsByID(ctx, []string{agent, "ag_8"})) },
		"cooldowns":                         func(ctx context.Context) error { return second(s.Agents.Cooldowns(ctx, []string{agent, "ag_8"}, now)) },
		"agent's ratings":                   func(ctx context.Context) error { return second(s.Ratings.AgentRatings(ctx, []string{agent})) },
		"agent's history":                   func(ctx context.Context) error { return second(s.Ratings.RatingHistory(ctx, agent, league, 100)) },
		"agent's uptime":                    func(ctx context.Context) error { return second(s.Agents.Uptime(ctx, agent, now)) },
		"agent's outcomes":                  func(ctx context.Context) error { return second(s.Ratings.AgentCauses(ctx, agent)) },
		"agent's opponents":                 func(ctx context.Context) error { return second(s.Ratings.Opponents(ctx, agent)) },
		"agent's claims":                    func(ctx context.Context) error { return second(s.Ratings.AgentClaims(ctx, agent, league, 100)) },
		"agent's claims in any league":      func(ctx context.Context) error { return second(s.Ratings.AgentClaims(ctx, agent, "", 100)) },
		"agent's results":                   func(ctx context.Context) error { return second(s.Ratings.AgentResults(ctx, agent, 100)) },
		"agent's topics": func(ctx context.Context) error {
			return second(s.Ratings.Topics(ctx, arena.LossFilter{AgentID: agent, League: league, Version: "1"}, false, 100))
		},
		"agent's topics, its owner's": func(ctx context.Context) error {
			return second(s.Ratings.Topics(ctx, arena.LossFilter{AgentID: agent}, true, 100))
		},
		"agent's losses": func(ctx context.Context) error {
			_, _, err := s.Matches.LostRounds(ctx, arena.LossFilter{AgentID: agent}, first)
			return err
		},
		"agent's losses of a topic": func(ctx context.Context) error {
			_, _, err := s.Matches.LostRounds(ctx, arena.LossFilter{AgentID: agent, League: league, Topic: "maths", Version: "1"}, arena.Page{Limit: 20, Cursor: "bDozOm1fMDAwMDAxMDAwMA"}) // l:3:m_0000010000
			return err
		},
		"common rounds of two agents":  func(ctx context.Context) error { return second(s.Ratings.CommonRounds(ctx, league, agent, "ag_8")) },
		"common matches of two agents": func(ctx context.Context) error { return second(s.Ratings.CommonSeries(ctx, league, agent, "ag_8")) },
		"agent's no-shows":             func(ctx context.Context) error { return second(s.Ratings.NoShows(ctx, "", []string{agent})) },
		"movers":                       func(ctx context.Context) error { return second(s.Ratings.Movers(ctx, now, 10)) },
		"last seasons":                 func(ctx context.Context) error { return second(s.Leagues.LastSeasons(ctx)) },
		"agent's deliveries": func(ctx context.Context) error {
			_, _, err := s.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: agent}, first)
			return err
		},
		"agents of an owner": func(ctx context.Context) error {
			_, _, err := s.Agents.Agents(ctx, arena.AgentFilter{OwnerID: owner}, first)
			return err
		},
		"last rounds": func(ctx context.Context) error {
			return second(s.Matches.RoundsAt(ctx, map[string]int{match: 1, "m_0000000008": 2}))
		},
		"recent tasks": func(ctx context.Context) error {
			return second(s.Packs.RecentTasks(ctx, arena.Match{ID: match, League: league, Seats: []arena.Seat{{AgentID: agent}, {AgentID: "ag_8"}}}))
		},
		"next start":          func(ctx context.Context) error { return second(s.Matches.UntilStart(ctx)) },
		"next end of a lease": func(ctx context.Context) error { return second(s.Matches.UntilLeaseEnd(ctx)) },
		"due matches": func(ctx context.Context) error {
			return second(s.Matches.ClaimMatches(ctx, "nd_1", time.Second, 1, nil))
		},
		"season":   func(ctx context.Context) error { _, _, err := s.Leagues.Seasons(ctx, league, first); return err },
		"calendar": func(ctx context.Context) error { return second(s.Leagues.SeasonDays(ctx, now.Add(-time.Hour), now)) },
		"pairing of a match": func(ctx context.Context) error {
			_, _, err := s.Leagues.PairingOf(ctx, match)
			return ignore(err, arena.CodeNotFound)
		},
		"envelopes": func(ctx context.Context) error {
			return second(s.Relay.Envelopes(ctx, arena.EnvelopeQuery{Limit: 100}))
		},
		"envelopes of a type": func(ctx context.Context) error {
			return second(s.Relay.Envelopes(ctx, arena.EnvelopeQuery{Type: "CANCEL", Limit: 100}))
		},
		"envelopes of two agents": func(ctx context.Context) error {
			return second(s.Relay.Envelopes(ctx, arena.EnvelopeQuery{Sender: "ada", Recipient: "bea", Type: "CANCEL", Limit: 100}))
		},
		"meetings of a league": func(ctx context.Context) error { return second(s.Operations.Meetings(ctx, league, now)) },
	}
}

func second[T any](_ T, err error) error { return err }

func ignore(err error, code arena.Code) error {
	if arena.CodeOf(err) == code {
		return nil
	}
	return err
}

// large are the tables that grow for ever: no read may walk through one.
const large = `matches|seats|rounds|answers|deliveries|events|event_archives|settlements|rating_changes|verdicts|votes|guesses|uptime|met|encounters|outcomes|game_records|envelopes|conversations`

// TestReads_Plans reads the plan of every query that a page's read makes: none
// needs to walk through a large table, on neither engine. Threat V7.
func TestReads_Plans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openStore(t, storetest.SQLite(t))
	fillDuels(t, s)
	p := openStore(t, postgres.get(t).Database(t))
	fillDuels(t, p)
	connection, err := p.Reader().Conn(ctx) // one, since it keeps the statements
	check(t, err)
	defer connection.Close() //nolint:errcheck // the pool closes it
	// PostgreSQL prefers to walk through tables as small as these: what is asked
	// is whether it could do without.
	for _, setting := range []string{"plan_cache_mode = force_generic_plan", "enable_seqscan = off", "enable_hashjoin = off", "enable_mergejoin = off"} {
		_, err = connection.ExecContext(ctx, "SET "+setting)
		check(t, err)
	}
	var known []string
	for name, read := range reads(s) {
		check(t, read(ctx))
		texts := slices.DeleteFunc(s.Texts(), func(text string) bool { return slices.Contains(known, text) })
		known = append(known, texts...)
		for i, text := range texts {
			if walk := walksSQLite(t, s, text); walk != "" {
				t.Errorf("%s, SQLite: %s\n%s", name, walk, text)
			}
			if strings.Contains(text, "unixepoch") { // SQLite's own clock
				text = regexp.MustCompile(`CAST\(unixepoch\('subsec'\) \* 1000 AS INTEGER\)`).ReplaceAllString(text, "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)")
			}
			statement := fmt.Sprintf("plan_%d_%d", len(known), i)
			_, err := connection.ExecContext(ctx, "PREPARE "+statement+" AS "+text)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				continue
			}
			nulls := strings.Join(slices.Repeat([]string{"NULL"}, parameters(text)), ", ")
			if nulls != "" {
				nulls = "(" + nulls + ")"
			}
			plan := explain(t, connection, statement+nulls)
			if walk := walksPostgres(plan); walk != "" {
				t.Errorf("%s, PostgreSQL: %s\n%s\n%s", name, walk, text, strings.Join(plan, "\n"))
			}
		}
	}
}

// TestMatchWrites_Plans: match writes find their rows by key, however many they
// are, in a database without statistics, as an arena's is.
func TestMatchWrites_Plans(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	for _, text := range store.MatchWriteTexts() {
		if walk := walksSQLite(t, s, text); walk != "" {
			t.Errorf("%s\n%.300s", walk, text)
		}
	}
}

// TestLimits_Plans: what counts the envelopes and conversations that are
// stored before one more is finds them by an index, which may hold some rows alone.
func TestLimits_Plans(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Now()
	s := openStore(t, storetest.SQLite(t))
	known := s.WriteTexts()
	check(t, s.Protocols.OpenConversation(ctx, arena.Conversation{AgentID: "ag_1", Address: "192.0.2.1", Site: "2001:db8::/48", CreatedAt: now, ExpiresAt: now}, 8))
	_, _, err := s.Relay.AddEnvelope(ctx, arena.Envelope{ID: "1", Type: "REQUEST", Sender: "ada", Recipient: "bea", OwnerID: "ow_1", Body: []byte("{}"), ReceivedAt: now}, arena.EnvelopeRules{
		Admit:     func([]arena.Envelope, *arena.Envelope) error { return nil },
		PerMinute: 60, BytesPerMinute: 1 << 20, OwnerBytes: 1 << 20, Rising: true,
	})
	check(t, err)
	for _, text := range s.WriteTexts() {
		if walk := walksSQLite(t, s, text); walk != "" && !slices.Contains(known, text) {
			t.Errorf("%s\n%.300s", walk, text)
		}
	}
}

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

// explain returns the plan of a prepared statement.
func explain(t *testing.T, connection *sql.Conn, statement string) (plan []string) {
	t.Helper()
	rows, err := connection.QueryContext(t.Context(), "EXPLAIN EXECUTE "+statement)
	check(t, err)
	defer rows.Close() //nolint:errcheck // all were read
	for rows.Next() {
		var line string
		check(t, rows.Scan(&line))
		plan = append(plan, line)
	}
	check(t, rows.Err())
	return plan
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

// walksPostgres returns the line of a plan that reads a whole large table, or
// a whole index of it without the end of a page.
func walksPostgres(plan []string) string {
	paged := strings.Contains(strings.Join(plan, " "), "Limit")
	for i, line := range plan {
		found := regexp.MustCompile(`(Seq|Index|Index Only) Scan .*on (` + large + `)\b`).FindStringSubmatch(line)
		if found == nil || found[1] != "Seq" && (paged || i+1 < len(plan) && strings.Contains(plan[i+1], "Index Cond")) {
			continue
		}
		return strings.TrimSpace(line)
	}
	return ""
}

// walksSQLite returns the line of a plan that reads a whole large table. A walk
// along an index in the order that is asked for ends with the page.
func walksSQLite(t *testing.T, s *store.Store, text string) string {
	t.Helper()
	aliases := map[string]string{}
	for _, m := range regexp.MustCompile(`(?:FROM|JOIN|,)\s+(\w+)\s+([a-z]{1,2})\b`).FindAllStringSubmatch(text, -1) {
		aliases[m[2]] = m[1]
	}
	for line := range strings.Lines(planOf(t, s, text, make([]any, parameters(text))...)) {
		m := regexp.MustCompile(`SCAN (\w+)`).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		table := m[1]
		if aliases[table] != "" {
			table = aliases[table]
		}
		ordered := strings.Contains(line, "USING INDEX") && strings.Contains(text, "LIMIT")
		if regexp.MustCompile(`^(`+large+`)$`).MatchString(table) && !ordered {
			return strings.TrimSpace(line)
		}
	}
	return ""
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
	check(t, fill.Duels{League: "trivia", Agents: ids, Matches: 2_000, Events: 5, From: at}.Fill(ctx, s.Writer(), func(int, int) {}))
}
