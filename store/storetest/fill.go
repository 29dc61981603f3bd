package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/migrations"
	"github.com/agora-arena/arena/store"
)

// Fill makes an arena in the database that url names and puts something into
// every table, in some of them more than is read at once. No node is at work
// on it. The store is closed when the test ends.
func Fill(t *testing.T, url string) *store.Store {
	t.Helper()
	f := newFixture(t, url, func(*store.Store) {})
	ctx := t.Context()
	f.league("trivia")
	f.league("sums")
	f.ok(f.Accounts.CreateToken(ctx, arena.Token{ID: "to_admin", Scope: arena.ScopeAdmin, Name: "admin", Hash: [32]byte{77, 0, 255}, CreatedAt: start}))
	f.ok(second(f.Accounts.AdoptOwner(ctx, arena.Owner{ID: "ow_kim", Name: "Kim", CreatedAt: start}, arena.Identity{Issuer: "https://a.example", Subject: "1"})))
	f.people()
	f.ok(second(f.Keys.FirstSigningKey(ctx, arena.SigningKey{KID: "key_1", Alg: "ES256", Private: []byte{0, 1, 255}, CreatedAt: start, SignsFrom: start})))
	tasks := make([]arena.Task, 1_300)
	for i := range tasks {
		tasks[i] = arena.Task{ID: fmt.Sprintf("tk_%d", i), Description: "é\u2028<b>", Answers: []string{"4"}}
	}
	f.ok(f.Packs.CreatePack(ctx, arena.Pack{ID: "pk_1", Name: "pack", Format: "jsonl", CreatedAt: start}, tasks))
	f.ok(second(f.Packs.CreateGameScript(ctx, arena.GameScript{Name: "nim", Version: "1", SHA256: "00ff", Title: "Nim", Source: "// é\u2028", Report: json.RawMessage(`{}`), CreatedAt: start, CreatedBy: "admin"})))
	f.ok(f.Leagues.SaveGold(ctx, arena.GoldVerdict{League: "trivia", PackID: "pk_1", Task: 1, Version: "model-2/x", Agreed: true, At: start}))
	ids := f.agents("a", "b", "c", "d")
	for i, id := range ids {
		f.ok(f.Leagues.Enter(ctx, "trivia", id, start.Add(time.Duration(i)*time.Second)))
		f.ok(second(f.Agents.RecordProbes(ctx, start, []arena.Probe{{AgentID: id, OK: i != 2, Apply: func(*arena.Agent) error { return nil }}})))
		f.ok(f.Agents.SaveConformance(ctx, arena.Conformance{AgentID: id, CheckedAt: start, Passed: true, Report: []byte(`{"é":1}`)}))
	}
	_, _, err := f.Agents.UpdateAgent(ctx, ids[3], func(a *arena.Agent) error {
		a.Pauses = []arena.Pause{{Reason: arena.PauseOwner, Since: start}}
		return nil
	})
	f.ok(err)
	f.ok(f.Protocols.GreetPeer(ctx, ids[0], []string{"arena:round"}, start))
	f.ok(second(f.Protocols.ConnectPeer(ctx, ids[0], "websocket", start)))
	f.ok(second(f.Messages.PutMail(ctx, arena.Mail{Box: "box", ID: "1", Body: []byte{0, 255}, CreatedAt: start}, start.Add(time.Hour))))
	f.ok(second(f.Messages.Once(ctx, "scope", "1", [32]byte{1}, start, start.Add(time.Hour))))
	for i := range 3 { // the first is archived, the second dropped
		f.over(fmt.Sprintf("m_%d", i+1), start.Add(time.Duration(i)*time.Minute), ids[i%2], ids[1+i%2])
		switch i {
		case 0:
			f.equal(1, must(f.Matches.DropEvents(ctx, start.Add(time.Second), 10))(f))
		case 1:
			f.equal(1, must(f.Matches.ArchiveMatches(ctx, start.Add(90*time.Second), 10))(f))
		}
	}
	judged := f.begin("m_4", "sums", ids...)
	f.ok(second(f.Matches.OpenRound(ctx, judged.Lease, round(1), nil)))
	f.ok(second(f.Matches.SaveAnswer(ctx, judged.Lease, fullAnswer(ids[0]), nil, nil)))
	f.ok(second(f.Matches.CloseRound(ctx, judged.Lease, arena.RoundClose{Round: 1, Seats: judged.Seats, Verdict: verdictOf(1, ids[0], ids[1])}, noEvents)))
	ended := result(judged, true)
	ended.Games = []arena.GameRecord{{AgentID: ids[0], Order: arena.MovedFirst, End: arena.GamePlayedOut, GameScore: arena.GameScore{Games: 1, Draws: 1, Points: 500}}}
	f.ok(second(f.Matches.Settle(ctx, judged.Lease, ended, start, moves(judged), finished)))

	m := f.open("m_5", ids[0], ids[1]) // in its round, given back by its node
	for range 30 {
		f.ok(second(f.Matches.AppendEvents(ctx, "m_5", ids[0], []arena.Event{
			event(arena.EventThinking, `{"message":"hm"}`), {At: start, Type: arena.EventError, Hidden: []byte(`{"message":"sealed"}`)},
		})))
	}
	a := fullAnswer(ids[0])
	d := arena.Delivery{
		ID: "dl_1", AgentID: ids[0], Round: 1, TaskID: "tk_1", Attempt: 1, Status: 200, Outcome: arena.OutcomeAnswered,
		SentAt: start, Elapsed: 5, Request: []byte{0, 255}, Response: []byte{},
	}
	var more []arena.Delivery
	for range 300 {
		more = append(more, arena.Delivery{AgentID: ids[0], SentAt: start, Outcome: arena.OutcomeError})
	}
	f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, a, append(more, d), []arena.Event{event(arena.EventSeatOutcome, `{}`)})))
	f.ok(f.Matches.ReleaseLease(ctx, m.Lease))
	f.match("m_6", "trivia", ids[2], ids[3])
	f.ok(f.Matches.SaveVote(ctx, arena.Vote{MatchID: "m_5", Round: 1, Voter: [32]byte{1, 255}, Choice: ids[0], Other: ids[1], At: start}, 1))
	f.ok(f.Matches.AddGuess(ctx, "m_5", 1, "B"))
	f.ok(f.Leagues.SaveFit(ctx, arena.Fit{League: "trivia", Settlement: 1, At: start, Lines: []arena.FitLine{{AgentID: ids[0], Rating: 1_500_001}}}))
	f.ok(f.Operations.Audit(ctx, arena.AuditEntry{At: start, Actor: "admin", Action: "league.start", Target: "trivia", After: []byte(`{}`)}))
	f.ok(f.Protocols.OpenConversation(ctx, arena.Conversation{Key: [32]byte{9, 255}, State: `{}`, CreatedAt: start, ExpiresAt: start}, 1))
	f.ok(f.Protocols.SetSecretBase(ctx, ids[0], [32]byte{8, 0, 255}, start))
	f.ok(second(f.PulledTasks.PutPulled(ctx, arena.PulledTask{AgentID: ids[0], TaskID: "tk_9", ID: "p_1", Body: []byte{0, 255}}, time.Minute)))
	f.ok(f.PulledTasks.ExtendPresence(ctx, []arena.Presence{{AgentID: ids[0], Until: start}}))
	f.ok(f.Accounts.CreateToken(ctx, arena.Token{ID: "to_key", OwnerID: "ow_a", AgentID: ids[0], Scope: arena.ScopeAgent, Name: "key", Hash: [32]byte{7}, CreatedAt: start}))
	f.ok(f.Protocols.SetAgoraWay(ctx, ids[0], "https://a.example/", "words"))
	season := must(f.Leagues.StartSeason(ctx, arena.Season{
		ID: "se_1", League: "sums", Format: arena.FormatSwiss, StartedAt: start,
		Entrants: []arena.Entrant{{AgentID: ids[0], OwnerID: "ow_a", Round: 1}, {AgentID: ids[1], OwnerID: "ow_b", Round: 1}},
	}))(f)
	f.ok(f.Leagues.ChangeSeason(ctx, season, arena.SeasonChange{Pairings: []arena.Pairing{{Round: 1, Slot: 1, Game: 1, Agents: ids[:2], CreatedAt: start}}}))
	f.ok(f.Operations.Heartbeat(ctx, arena.Node{ID: "nd_1", Version: "v1", StartedAt: start, LastError: "job failed"}))
	f.ok(f.Operations.SetBanner(ctx, arena.Banner{Text: "Down at six", Since: start}))
	f.ok(f.Certificates.PutTLSFile(ctx, "certificates/ca/a.example/a.example.key", []byte{0, 255}))
	f.ok(second(f.Certificates.HoldTLSLock(ctx, "issue_cert_a.example", "1", time.Hour)))
	f.ok(second(f.Operations.ClaimTick(ctx, "schedule", time.Second)))
	f.post(envelope("msg_1", 1))
	f.ok(f.Matches.EraseTexts(ctx, arena.TextErasure{MatchID: "m_1", AgentID: "ag_none", Commitments: map[string]string{"/seats/0/name": "c"}}))
	f.ok(f.Accounts.EraseOwner(ctx, arena.OwnerErasure{OwnerID: f.owner("gone").ID, At: start}))
	f.ok(f.Relay.SaveManifest(ctx, "did:key:ann", []byte(`{}`), start))
	f.ok(second(f.Keys.Identity(ctx, "envelope", []byte{0, 255})))
	return f.Store
}

// SQLite makes a SQLite database with the current schema and returns its URL.
// It copies a file that the first test of a schema leaves in the folder for
// temporary files: to run all migrations takes ten times as long.
func SQLite(t testing.TB) string {
	t.Helper()
	migrated, err := migratedFile(t)
	if err != nil {
		t.Fatalf("make a SQLite database: %v", err)
	}
	file := filepath.Join(t.TempDir(), "arena.db")
	if err := os.WriteFile(file, migrated, 0o600); err != nil {
		t.Fatalf("make a SQLite database: %v", err)
	}
	return "sqlite:" + file
}

// migratedFile returns the bytes of a database with the current schema and no
// rows.
func migratedFile(t testing.TB) ([]byte, error) {
	t.Helper()
	schema := sha256.New()
	if err := hashMigrations(schema); err != nil {
		return nil, err
	}
	template := filepath.Join(os.TempDir(), fmt.Sprintf("arena-schema-%d-%x.db", os.Getuid(), schema.Sum(nil)[:8]))
	migrated, err := os.ReadFile(template) //nolint:gosec // G304: the name is made above
	if !errors.Is(err, fs.ErrNotExist) {
		return migrated, err
	}
	// Tests that come here together make one each; renaming replaces equals. The
	// folder of the test itself may be on another device, so the bytes are copied.
	file := filepath.Join(t.TempDir(), "arena.db")
	s, err := store.Open(t.Context(), "sqlite:"+file, store.Options{Logger: slog.New(slog.DiscardHandler), Now: (&clock{now: start}).read})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.Migrate(t.Context()), s.Close()); err != nil {
		return nil, err
	}
	if migrated, err = os.ReadFile(file); err != nil { //nolint:gosec // G304: the test's own file
		return nil, err
	}
	beside, err := os.CreateTemp(filepath.Dir(template), "arena-schema-")
	if err != nil {
		return nil, err
	}
	_, err = beside.Write(migrated)
	return migrated, errors.Join(err, beside.Close(), os.Rename(beside.Name(), template))
}

// hashMigrations writes the names and texts of the migrations to h.
func hashMigrations(h hash.Hash) error {
	files, err := migrations.For("sqlite")
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		_, _ = fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
}
