package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// columnsOfMatches lists the columns of every table about a match. EraseTexts
// changes the erased ones, in the rows of the agent, and keeps the others.
var columnsOfMatches = map[string]struct{ erased, kept string }{
	"answers": {erased: "body", kept: "match_id round agent_id outcome reason elapsed_ns attempts points judged arrived_at over_tokens"},
	// Bodies hold texts outside the sealed parts too; an agent's name is in those of other seats.
	"events": {erased: "body hidden", kept: "match_id seq round agent_id at type"},
	// Packed events: the time of packing changes, so that caches are dropped.
	"event_archives": {erased: "bytes archived_at data", kept: "match_id first_seq last_seq count"},
	"seats": {
		erased: "name version salt endpoint public_key",
		kept: "match_id no agent_id pinned owner_id protocol state playing out_round points place outcome rate_limits" +
			" rating_before rating_delta lost_rounds skipped_rounds owner_group tokens reserved_tokens ended_at withdrawal",
	},
	// The commitments prove what was erased.
	"erasures": {erased: "commitments", kept: "match_id"},

	// Requests are the arena's; they are deleted by their age.
	"deliveries": {erased: "detail response", kept: "id match_id league agent_id round task_id attempt status outcome reason sent_at elapsed_ns request"},
	// The rows of the agent are deleted.
	"pulled_tasks": {kept: "agent_id task_id id match_id round attempt body output_format deadline sent_at expires_at deliveries fetched_at answered_at answer"},
	"envelopes": {
		kept: "no seq id sender recipient type thread request_id ts received_at shown_at expires_at digest body match_id round agent_id owner_id size",
	},
	// Prompts of a turn may quote earlier answers.
	"rounds": {erased: "turn", kept: "match_id no task opened_at closed_at interruptions opened_seq source vote_until"},
	// Reasons of ballots, in the words of a judge, may quote answers.
	"verdicts": {erased: "ballots", kept: "match_id round no judge version seats at"},
	"votes":    {kept: "match_id round voter address choice other at site"},
	"guesses":  {kept: "match_id round answer n"},
	"matches": {
		kept: "id league status settings seed round round_open created_at starts_at started_at finished_at void_code void_reason seq node epoch" +
			" leased_until log_state interruptions delay judging seed_salt unrated_reason",
	},
	"pairings":    {kept: "season_id round slot game bracket agents result scores match_id created_at decided_at"},
	"settlements": {kept: "seq match_id league at drift"},
}

// A new column of a table about a match fails here until it is listed as erased
// or kept.
func TestEraseTexts_columns(t *testing.T) {
	t.Parallel()
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, open(t, false))
			seen := map[string]bool{}
			for _, table := range schemaTables(t, s) {
				columns := schemaColumns(t, s, table)
				if table != "matches" && !slices.Contains(columns, "match_id") {
					continue
				}
				seen[table] = true
				listed := columnsOfMatches[table]
				want := slices.Sorted(slices.Values(strings.Fields(listed.erased + " " + listed.kept)))
				if slices.Sort(columns); !slices.Equal(columns, want) {
					t.Errorf("table %s has the columns %v, listed as erased or kept are %v", table, columns, want)
				}
			}
			for table := range columnsOfMatches {
				if !seen[table] {
					t.Errorf("table %s is listed and does not exist", table)
				}
			}
		})
	}
}

// EraseTexts changes the columns that are listed as erased and no others.
func TestEraseTexts_listedColumns(t *testing.T) {
	t.Parallel()
	s := storetest.Fill(t, storetest.SQLite(t))
	const live, packed = "m_4", "m_2" // settled; the log of the second is packed
	changed := map[string][]string{}
	for _, match := range []string{live, packed} {
		for _, query := range []string{
			`UPDATE seats SET salt = 'salt' WHERE match_id = $1`,
			`UPDATE events SET agent_id = (SELECT agent_id FROM seats WHERE match_id = $1 AND no = 0), hidden = '{"answer":"secret"}' WHERE match_id = $1`,
			`UPDATE seats SET endpoint = 'https://a.example', public_key = 'key' WHERE match_id = $1`,
			`UPDATE rounds SET turn = '{"prompts":[{"seat":0,"description":"secret"}]}' WHERE match_id = $1`,
			`UPDATE deliveries SET detail = 'secret', response = x'00', match_id = $1, agent_id = (SELECT agent_id FROM seats WHERE match_id = $1 AND no = 0)`,
			`UPDATE answers SET body = '{"answer":"secret"}' WHERE match_id = $1`,
			`INSERT INTO verdicts (match_id, round, no, judge, version, seats, ballots, at) VALUES ($1, 1, 9, 'panel', '1', '[]', '[{"judge":"j","reason":"secret"}]', 0)`,
			`INSERT INTO erasures (match_id, commitments) VALUES ($1, '{}')`,
		} {
			if _, err := s.Writer().ExecContext(t.Context(), query, match); err != nil {
				t.Fatal(err)
			}
		}
		before := tablesOf(t, s, match)
		if err := s.Matches.EraseTexts(t.Context(), arena.TextErasure{
			MatchID: match, AgentID: before["seats"][0]["agent_id"], Commitments: map[string]string{"/seats/0/name": "c"},
			Events: []arena.Event{{Seq: 1, Body: []byte(`{"gone":true}`)}},
		}); err != nil {
			t.Fatal(err)
		}
		for table, rows := range tablesOf(t, s, match) {
			for i, row := range rows {
				for column, value := range row {
					if value != before[table][i][column] && !slices.Contains(changed[table], column) {
						changed[table] = append(changed[table], column)
					}
				}
			}
		}
	}
	for table, listed := range columnsOfMatches {
		want, got := strings.Fields(listed.erased), changed[table]
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("table %s: erasing changed the columns %v, listed are %v", table, got, want)
		}
	}
}

// Erased texts are in no page of the file, free ones included, and in no frame of its
// log, which waits for a reader that still needs it. Threat O7.
func TestEraseTexts_file(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), storetest.SQLite(t)
	file := strings.TrimPrefix(url, "sqlite:")
	s := storetest.Fill(t, url)
	const secret = "fa1afe1"
	count := func() (n int) {
		t.Helper()
		for _, name := range []string{file, file + "-wal"} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(data, []byte(secret))
		}
		return n
	}
	truncate := func() {
		t.Helper()
		if err := s.TruncateLog(ctx); err != nil {
			t.Fatal(err)
		}
	}
	// In pages of their own, and among other rows.
	short, long := `{"answer":"`+secret+`"}`, `{"answer":"`+strings.Repeat(secret+" ", 1000)+`"}`
	var agent string
	if err := s.Reader().QueryRowContext(ctx, `SELECT agent_id FROM seats WHERE match_id = 'm_4' AND no = 0`).Scan(&agent); err != nil {
		t.Fatal(err)
	}
	for query, args := range map[string][]any{
		`UPDATE answers SET body = $1 WHERE match_id = 'm_4' AND agent_id = $2`:                            {long, agent},
		`UPDATE events SET agent_id = $1, hidden = $2 WHERE match_id = 'm_4' AND seq % 2 = 0`:              {agent, short},
		`UPDATE events SET agent_id = $1, hidden = $2 WHERE match_id = 'm_4' AND seq % 2 = 1`:              {agent, long},
		`UPDATE owners SET name = $1, email = $1 WHERE id = 'ow_a'`:                                        {secret},
		`UPDATE agents SET description = $1, endpoint = $1, model = $1, mark = $1 WHERE owner_id = 'ow_a'`: {strings.Repeat(secret, 200)},
		`UPDATE agents SET name = $1 WHERE owner_id = 'ow_a'`:                                              {secret},
		`UPDATE seats SET name = $1 WHERE match_id = 'm_4' AND agent_id = '` + agent + `'`:                 {secret},
		`UPDATE deliveries SET detail = $1, match_id = 'm_4', agent_id = $2 WHERE id <> 'dl_1'`:            {secret, agent},
	} {
		if _, err := s.Writer().ExecContext(ctx, query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	truncate()
	planted := count()
	snapshot, err := s.Reader().BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Rollback() //nolint:errcheck // it may be over
	if _, err := snapshot.ExecContext(ctx, `SELECT count(*) FROM owners`); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		s.Matches.EraseTexts(ctx, arena.TextErasure{MatchID: "m_4", AgentID: agent}),
		s.Accounts.EraseOwner(ctx, arena.OwnerErasure{OwnerID: "ow_a", At: time.Now()}),
	); err != nil {
		t.Fatal(err)
	}
	truncate()
	if n := count(); n == 0 {
		t.Error("a reader lost its snapshot")
	}
	if err := snapshot.Rollback(); err != nil {
		t.Fatal(err)
	}
	truncate()
	if n := count(); n > 0 {
		t.Errorf("the text is %d times in the file or its log, of %d times before it was erased", n, planted)
	}
}

// schemaColumns returns the columns of a table.
func schemaColumns(t *testing.T, s *store.Store, table string) []string {
	t.Helper()
	names, err := column(t, s.Reader(), fmt.Sprintf(`SELECT name FROM pragma_table_info('%s')`, table))
	if err != nil {
		names, err = column(t, s.Reader(), fmt.Sprintf(`SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = '%s'`, table))
	}
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// tablesOf returns the rows of a match in every listed table.
func tablesOf(t *testing.T, s *store.Store, match string) map[string][]map[string]string {
	t.Helper()
	tables := map[string][]map[string]string{}
	for table := range columnsOfMatches {
		tables[table] = rowsOf(t, s, table, match)
	}
	return tables
}

// rowsOf returns the rows of a match in a table, by column, with texts and
// bytes as strings.
func rowsOf(t *testing.T, s *store.Store, table, match string) (all []map[string]string) {
	t.Helper()
	key := "match_id"
	if table == "matches" {
		key = "id"
	}
	rows, err := s.Reader().QueryContext(t.Context(), fmt.Sprintf(`SELECT * FROM %s WHERE %s = $1`, table, key), match)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := map[string]string{}
		for i, name := range columns {
			row[name] = values[i].String
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
