package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/record"
	"github.com/agora-arena/arena/visibility/seal"
)

// keyRows keep signing keys in memory.
type keyRows struct{ keys []arena.SigningKey }

func (r *keyRows) SigningKeys(context.Context) ([]arena.SigningKey, error) { return r.keys, nil }
func (r *keyRows) AddSigningKey(_ context.Context, k arena.SigningKey, _ map[string]time.Time) error {
	r.keys = append(r.keys, k)
	return nil
}

func (r *keyRows) FirstSigningKey(ctx context.Context, k arena.SigningKey) ([]arena.SigningKey, error) {
	return append(r.keys, k), r.AddSigningKey(ctx, k, nil)
}

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func newKeys(t testing.TB, alg string) (*token.Keys, []byte) {
	t.Helper()
	keys, err := token.New(t.Context(), token.Options{
		Store: &keyRows{}, Issuer: "https://arena.example", Alg: alg, Now: func() time.Time { return start }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys, keySet(t, keys)
}

// game is the rows of a sealed duel of two rounds, as a runner leaves them.
type game struct {
	m       arena.Match
	rounds  []arena.Round
	answers []arena.Answer
	log     []arena.Event
	erased  map[string]string
}

func (g *game) rows() record.Rows {
	return record.Rows{Match: g.m, Rounds: g.rounds, Answers: g.answers, Events: g.log, Erased: g.erased}
}

func (g *game) add(t testing.TB, kind arena.EventType, agentID string, round int, body any) arena.Event {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	e, err := seal.Event(arena.Event{MatchID: g.m.ID, AgentID: agentID, Round: round, At: start, Type: kind, Body: raw})
	if err != nil {
		t.Fatal(err)
	}
	e.Seq, e.At = int64(len(g.log)+1), start.Add(time.Duration(len(g.log))*time.Second)
	g.log = append(g.log, e)
	return e
}

func played(t testing.TB) *game {
	t.Helper()
	up, down := arena.MilliElo(20_000), arena.MilliElo(-20_000)
	g := &game{m: arena.Match{
		ID: "m_1", League: "quiz", Status: arena.MatchFinished, StartedAt: start, FinishedAt: start.Add(time.Minute), Round: 2,
		Settings: arena.Settings{
			Format: arena.FormatLadder, Judge: arena.JudgeSpec{Kind: "number", Tolerance: 0.5}, Rounds: 2, TimeLimit: 20 * time.Second,
			Rated: true, Visibility: arena.VisibilitySealed, ScoreMode: arena.ScoreMatch,
		},
		Seats: []arena.Seat{
			{AgentID: "ag_b", Name: "Bob <b>", Version: "2", State: arena.SeatActive, Points: 1333, Place: 1, Before: arena.StartRating, Delta: &up},
			{AgentID: "ag_a", Name: "Ada ∑", State: arena.SeatActive, Place: 2, Before: arena.StartRating, Delta: &down},
		},
	}}
	g.add(t, arena.EventMatchStarted, "", 0, map[string]any{"league": "quiz"})
	for no := 1; no <= 2; no++ {
		task := arena.Task{ID: fmt.Sprintf("tk_%d", no), Description: "1 < 2 & \u2028?", Answers: []string{"yes", "1"}, Options: []string{"yes", "no"}}
		g.add(t, arena.EventRoundStarted, "", no, arena.RoundStartedBody{Task: task.Public(), TimeLimitSeconds: 20})
		var hidden []arena.RevealedEvent
		reveal := func(e arena.Event) {
			hidden = append(hidden, arena.RevealedEvent{Seq: e.Seq, AgentID: e.AgentID, Hidden: e.Hidden})
		}
		reveal(g.add(t, arena.EventThinking, "ag_b", no, map[string]any{"message": "deep: " + strings.Repeat("[", 3)}))
		confidence := 0.25
		b := arena.Answer{
			Round: no, AgentID: "ag_b", Outcome: arena.OutcomeAnswered, Elapsed: 340 * time.Millisecond, Attempts: 1, Judged: true, Points: 1000,
			Body: &arena.AnswerBody{Answer: "yes", Confidence: &confidence, Reasoning: "why not"},
		}
		if no == 2 {
			b.Points = 333
		}
		a := arena.Answer{Round: no, AgentID: "ag_a", Outcome: arena.OutcomeTimeout, Reason: "time_limit", Elapsed: 20 * time.Second, Attempts: 1, Judged: true}
		for _, x := range []arena.Answer{a, b} {
			reveal(g.add(t, arena.EventSeatOutcome, x.AgentID, no, arena.SeatOutcomeBody{
				Outcome: x.Outcome, Reason: x.Reason, ElapsedMS: x.Elapsed.Milliseconds(), Attempts: 1, AnswerBody: x.Body,
			}))
		}
		g.answers = append(g.answers, a, b)
		g.add(t, arena.EventReveal, "", no, arena.RevealBody{Events: []arena.RevealedEvent{hidden[0], hidden[2]}})
		g.add(t, arena.EventRoundClosed, "", no, arena.RoundClosedBody{Correct: "yes", Seats: []arena.ClosedSeat{a.Closed(), b.Closed()}})
		g.rounds = append(g.rounds, arena.Round{MatchID: "m_1", No: no, Task: task, OpenedAt: start, ClosedAt: start.Add(time.Second)})
	}
	g.add(t, arena.EventMatchFinished, "", 0, arena.MatchFinishedBody{
		League: "quiz", Rated: true,
		Seats: []arena.FinishedSeat{
			{AgentID: "ag_b", Name: "Bob", Points: 1333, Place: 1, State: arena.SeatActive},
			{AgentID: "ag_a", Name: "Ada", Place: 2, State: arena.SeatActive},
		},
		RatingChanges: []arena.RatingChange{
			{AgentID: "ag_b", Before: arena.StartRating, After: 1_520_000, Delta: up, K: 40, Score: 1000, Matches: 1},
			{AgentID: "ag_a", Before: arena.StartRating, After: 1_480_000, Delta: down, K: 40, Score: 0, Matches: 1},
		},
	})
	return g.salted(t)
}

// record makes the record after a change of its parts.
func (g *game) record(t testing.TB, keys *token.Keys, change func(*record.Record)) []byte {
	t.Helper()
	r, err := record.New("https://arena.example", g.rows())
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&r)
	}
	signed, err := record.Sign(r, keys.SignRecord)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer // as the API writes it
	e := json.NewEncoder(&file)
	e.SetEscapeHTML(false)
	if err := e.Encode(signed); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func verify(file, jwks []byte) *record.FaultError {
	_, err := record.Verify(file, func(payload []byte, s record.Signature) error { return token.VerifyRecord(jwks, payload, s) })
	if err == nil {
		return nil
	}
	var f *record.FaultError
	if !errors.As(err, &f) {
		panic("the error has no place: " + err.Error())
	}
	return f
}

func TestVerify_good(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{token.ES256, token.EdDSA, token.RS256} {
		keys, jwks := newKeys(t, alg)
		file := played(t).record(t, keys, nil)
		if f := verify(file, jwks); f != nil {
			t.Errorf("%s: %v\n%s", alg, f, file)
		}
		if f := verify(bytes.TrimSuffix(file, []byte("\n")), jwks); f != nil {
			t.Errorf("without the line break: %v", f)
		}
		for _, secret := range []string{"hidden\":{\"nonce\":\"\"", "\"1\"]"} { // accepted answers but the shown one
			if bytes.Contains(file, []byte(secret)) {
				t.Errorf("the record holds %s", secret)
			}
		}
		_, others := newKeys(t, alg)
		if f := verify(file, others); f == nil || f.Pointer != "/signature" || !strings.Contains(f.Reason, "no key") {
			t.Errorf("with another arena's keys: %v", f)
		}
	}
}

// Whatever byte is changed, to whatever, the record fails at a named place:
// where the parts contradict each other, else at the signature.
func TestVerify_one_changed_byte(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	places := map[string]int{}
	for name, g := range map[string]*game{"sealed": played(t), "live": talkative(t)} {
		file := g.record(t, keys, nil)
		try := func(i int, b byte) {
			changed := bytes.Clone(file)
			changed[i] = b
			f := verify(changed, jwks)
			if f == nil {
				t.Fatalf("%s: byte %d, %q instead of %q, was not seen: …%s…", name, i, b, file[i], file[max(0, i-40):min(len(file), i+40)])
			}
			places[f.Pointer]++
		}
		for _, name := range []string{"record", "signature", "alg", "kid", "value"} { // of the envelope, which nothing signs
			try(bytes.LastIndex(file, []byte(`"`+name+`":`))+1, name[0]-'a'+'A')
		}
		for i := 0; i < len(file); i += 13 { // rapid takes some of the others
			try(i, file[i]^1)
		}
		rapid.Check(t, func(rt *rapid.T) {
			i := rapid.IntRange(0, len(file)-1).Draw(rt, "at")
			if b := rapid.Byte().Draw(rt, "byte"); b != file[i] {
				try(i, b)
			}
		})
	}
	for _, want := range []string{"/record/log/0", "/record/chain/3", "/signature", "/record/rounds/0/answers/0/answer/commitment", "/record/rounds/0/answers/0/receipt/arrived_at"} {
		if places[want] == 0 {
			t.Errorf("no change was found at %s; places: %v", want, places)
		}
	}
}

// An arena that signs what does not agree is found too.
func TestVerify_disagreeing_parts(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	for place, change := range map[string]func(*record.Record){
		"/record/chain":                                 func(r *record.Record) { r.Chain = r.Chain[1:] },
		"/record/chain/2":                               func(r *record.Record) { r.Chain[2] = r.Chain[1] },
		"/record/log/4":                                 func(r *record.Record) { r.Log[4] = r.Log[3] },
		"/record/log/0":                                 func(r *record.Record) { r.Match.MatchID = "m_2" },
		"/record/rounds":                                func(r *record.Record) { r.Rounds = r.Rounds[:1] },
		"/record/rounds/0/round":                        func(r *record.Record) { r.Rounds[0].Round = 2 },
		"/record/rounds/1/task":                         func(r *record.Record) { r.Rounds[1].Task = r.Rounds[0].Task },
		"/record/rounds/0/correct":                      func(r *record.Record) { r.Rounds[0].Correct = "no" },
		"/record/rounds/0/answers":                      func(r *record.Record) { r.Rounds[0].Answers = r.Rounds[0].Answers[:1] },
		"/record/rounds/0/answers/0/agent_id":           func(r *record.Record) { r.Rounds[0].Answers[0].AgentID = "ag_c" },
		"/record/rounds/0/answers/0/receipt":            func(r *record.Record) { r.Rounds[0].Answers[0].Receipt = nil },
		"/record/rounds/0/answers/0/answer/commitment":  func(r *record.Record) { r.Rounds[0].Answers[0].Answer.Value = json.RawMessage(`{"answer":"no"}`) },
		"/record/rounds/0/answers/0/receipt/arrived_at": func(r *record.Record) { r.Rounds[0].Answers[0].Receipt.ArrivedAt = r.Match.FinishedAt },
		"/record/rounds/1/answers/0/points":             func(r *record.Record) { r.Rounds[1].Answers[0].Points++ },
		"/record/rounds/1/answers/1/outcome":            func(r *record.Record) { r.Rounds[1].Answers[1].Outcome = arena.OutcomeError },
		"/record/rounds/1/answers/1/elapsed_ms":         func(r *record.Record) { r.Rounds[1].Answers[1].ElapsedMS = 1 },
		"/record/seats/0/points":                        func(r *record.Record) { r.Seats[0].Points-- },
		"/record/seats/1/place":                         func(r *record.Record) { r.Seats[1].Place = 1 },
		"/record/seats/1/state":                         func(r *record.Record) { r.Seats[1].State = arena.SeatOut },
		"/record/seats/0/agent_id":                      func(r *record.Record) { r.Seats = r.Seats[:1] },
		"/record/rating_changes/0/rating_delta":         func(r *record.Record) { r.RatingChanges[0].Delta++ },
		"/record/rating_changes/1":                      func(r *record.Record) { r.RatingChanges[1].K = 20 },
		"/record/rating_changes":                        func(r *record.Record) { r.RatingChanges = nil },
	} {
		if f := verify(played(t).record(t, keys, change), jwks); f == nil || f.Pointer != place {
			t.Errorf("%s: found %v", place, f)
		}
	}
	g := played(t)
	g.log[5].Body = bytes.Replace(g.log[5].Body, []byte("why not"), []byte("because"), 1) // the reveal
	if f := verify(g.record(t, keys, nil), jwks); f == nil || f.Pointer != "/record/log/5/events/1/hidden" {
		t.Errorf("a changed reveal: %v", f)
	}
	g = played(t)
	g.m.Seats[0].Points = 2000
	g.log[len(g.log)-1].Body = bytes.Replace(g.log[len(g.log)-1].Body, []byte("1.333"), []byte("2"), 1)
	if f := verify(g.record(t, keys, nil), jwks); f == nil || f.Pointer != "/record/seats/0/points" || !strings.Contains(f.Reason, "1.333") {
		t.Errorf("points out of nothing: %v", f)
	}
	g = played(t)
	last := &g.log[len(g.log)-1]
	last.Body = bytes.ReplaceAll(bytes.ReplaceAll(last.Body, []byte("1520.000"), []byte("1530.000")), []byte(":20.000"), []byte(":30.000"))
	if f := verify(g.record(t, keys, nil), jwks); f == nil || f.Pointer != "/record/rating_changes" {
		t.Errorf("ratings out of nothing: %v", f)
	}
}

// A file that names another format is refused for that, whatever else is in it.
func TestVerify_another_format(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	good := played(t).record(t, keys, nil)
	for _, format := range []string{"arena-record-1", "arena-record-3", ""} {
		other := bytes.Replace(good, []byte(record.Format), []byte(format), 1)
		more := bytes.Replace(other, []byte(`{"record":{`), []byte(`{"record":{"a":0,`), 1)
		for _, file := range [][]byte{other, more} {
			if f := verify(file, jwks); f == nil || f.Pointer != "/record/format" || f.Reason != fmt.Sprintf("is %q; this version reads %q", format, record.Format) {
				t.Errorf("%q: found %v", format, f)
			}
		}
	}
}

func TestVerify_not_a_record(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	good := played(t).record(t, keys, nil)
	for file, place := range map[string]string{
		"":                         "",
		"null":                     "/record",
		"{}":                       "/record",
		`{"record":{},"x":1}`:      "",
		`{"record":[1,{"a":}]}`:    "/record/1",
		`{"b":1,"a/~":2}`:          "",
		`{"a":[0,{"b/~": 1}]}`:     "/a/1/b~1~0",
		string(good) + "\n":        "",
		" " + string(good):         "",
		string(good[:len(good)/2]): "*",
	} {
		f := verify([]byte(file), jwks)
		if f == nil || place != "*" && f.Pointer != place {
			t.Errorf("%.40q: found %v, want it at %q", file, f, place)
		}
	}
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	g := played(t)
	for _, status := range []arena.MatchStatus{arena.MatchScheduled, arena.MatchReady, arena.MatchRunning, arena.MatchVoid, arena.MatchCancelled} {
		m := g.m
		m.Status = status
		if _, err := record.New("https://arena.example", record.Rows{Match: m, Rounds: g.rounds, Answers: g.answers, Events: g.log}); arena.CodeOf(err) != arena.CodeConflict {
			t.Errorf("%s: %v", status, err)
		}
	}
	if _, err := record.New("https://arena.example", record.Rows{Match: g.m, Rounds: g.rounds, Answers: g.answers}); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("a dropped log: %v", err)
	}
	if _, err := record.New("https://arena.example", record.Rows{Match: g.m, Rounds: g.rounds, Answers: g.answers, Events: g.log[:3]}); err == nil {
		t.Error("half a log made a record")
	}
}

func TestMilli(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := record.Milli(rapid.Int64Range(-3_000_000, 3_000_000).Draw(rt, "v"))
		data, err := strictjson.CanonicalOf(want)
		var got record.Milli
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		if err != nil || got != want {
			rt.Fatalf("%d became %d by %s (%v)", want, got, data, err)
		}
	})
	for _, bad := range []string{"1.2345", "1e3", `"1"`, "true", ".5.5"} {
		var m record.Milli
		if err := m.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s became %s", bad, m)
		}
	}
}
