package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/record"
)

const seedSalt = "AAECAwQFBgcICQoLDA0ODw"

// salted sets the salts of a match, and what match_started commits to.
func (g *game) salted(t testing.TB) *game {
	t.Helper()
	g.m.Seed, g.m.SeedSalt = 1<<63+7, seedSalt
	for i := range g.m.Seats {
		g.m.Seats[i].Salt = fmt.Sprintf("secret salt %d", i)
	}
	commitment, err := record.SeedCommitment(g.m.ID, seedSalt, g.m.Seed)
	if err != nil {
		t.Fatal(err)
	}
	g.log[0].Body, err = json.Marshal(arena.MatchStartedBody{
		League: "quiz", Format: arena.FormatLadder, Seats: g.briefs(), SeedCommitment: commitment, RulesVersion: arena.RulesVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *game) briefs() (briefs []arena.SeatBrief) {
	for _, s := range g.m.Seats {
		briefs = append(briefs, arena.SeatBrief{AgentID: s.AgentID, Name: s.Name, Version: s.Version})
	}
	return briefs
}

// line appends an event that is not sealed.
func (g *game) line(kind arena.EventType, agentID string, round int, body string) {
	g.log = append(g.log, arena.Event{
		Seq: int64(len(g.log) + 1), MatchID: g.m.ID, AgentID: agentID, Round: round, At: start.Add(time.Duration(len(g.log)) * time.Second),
		Type: kind, Body: json.RawMessage(body),
	})
}

// talkative returns a match of a debate that is visible at once and has an event
// of every type. What its people wrote and chose contains "by Ada", "by Bob" or,
// where it may be of either, "by both".
func talkative(t testing.TB) *game {
	t.Helper()
	m := arena.Match{
		ID: "m_2", League: "talk", Status: arena.MatchFinished, StartedAt: start, FinishedAt: start.Add(time.Minute), Round: 1,
		Settings: arena.Settings{Format: arena.FormatLadder, Rounds: 1, TimeLimit: time.Second, Visibility: arena.VisibilityLive, ScoreMode: arena.ScoreMatch},
		Seats: []arena.Seat{
			{AgentID: "ag_b", Name: "by Bob", Version: "1 by Bob", State: arena.SeatActive, Place: 1},
			{AgentID: "ag_a", Name: "by Ada", State: arena.SeatActive, Place: 1},
		},
	}
	g := &game{m: m, log: []arena.Event{{Seq: 1, MatchID: "m_2", At: start, Type: arena.EventMatchStarted}}}
	g.salted(t)
	g.line(arena.EventMatchScheduled, "", 0, `{"league":"talk","starts_at":"2025-06-01T12:00:00.000Z","rated":false,"seats":[{"agent_id":"ag_b","name":"before by Bob","version":"0 by Bob"},{"agent_id":"ag_a","name":"by Ada"}]}`)
	g.line(arena.EventAgentPaused, "ag_a", 0, `{"name":"by Ada","reason":"owner"}`)
	g.line(arena.EventAgentResumed, "ag_a", 0, `{"name":"by Ada","reason":"owner"}`)
	task := arena.Task{ID: "tk_1", Description: "Motion"}
	g.line(arena.EventRoundStarted, "", 1, `{"task":{"task_id":"tk_1","description":"Motion\n\nTurn 1 of 1. For: by both. Against: by both."},"time_limit_seconds":1,"deadline":"2025-06-01T12:00:05.000Z","later":"by both"}`)
	g.line(arena.EventThinking, "ag_a", 1, `{"message":"by Ada","commitment":"by Ada"}`)
	g.line(arena.EventSpawn, "ag_b", 1, `{"name":"by Bob","role":"by Bob"}`)
	g.line(arena.EventToolCall, "ag_b", 1, `{"tool":"by Bob","args":{"by Bob":1e3,"commitment":"by Bob"}}`)
	g.line(arena.EventIntermediate, "ag_a", 1, `{"data":{"commitment":"x","salt":"y","text":"by Ada"},"by Ada":null}`)
	for _, id := range []string{"ag_a", "ag_b"} {
		text := map[string]string{"ag_a": "by Ada", "ag_b": "by Bob"}[id]
		g.line(arena.EventSeatOutcome, id, 1, `{"outcome":"answered","elapsed_ms":5,"attempts":1,"answer":"`+text+`","reasoning":"`+text+`","tokens":7}`)
		g.answers = append(g.answers, arena.Answer{
			Round: 1, AgentID: id, Outcome: arena.OutcomeAnswered, Elapsed: 5 * time.Millisecond, Attempts: 1, Judged: true,
			Body: &arena.AnswerBody{Answer: text, Reasoning: text, Tokens: new(int64(7))},
		})
	}
	g.line(arena.EventVoteOpened, "", 1, `{"until":"2025-06-01T12:00:09.000Z","criteria":"wit","entries":[{"label":"A","text":"by both"},{"label":"B","text":"by both"}]}`)
	g.line(arena.EventReveal, "", 1, `{"events":[]}`)
	g.line(arena.EventRoundClosed, "", 1, `{"seats":[{"agent_id":"ag_b","answer":"by Bob","points":0,"outcome":"answered","elapsed_ms":5},{"agent_id":"ag_a","answer":"by Ada","points":0,"outcome":"answered","elapsed_ms":5}],`+
		`"standings":[],"ballots":[{"judge":"ag_j","first":"ag_b","second":"ag_a","choice":"","reason":"by both"}],"moves":[{"agent_id":"ag_a","legal":true,"move":"by Ada"}]}`)
	g.line(arena.EventAgentLeft, "ag_b", 0, `{"outcome":"unavailable","reason":"status_503"}`)
	g.rounds = []arena.Round{{MatchID: "m_2", No: 1, Task: task, OpenedAt: start, ClosedAt: start.Add(time.Second)}}
	g.line(arena.EventMatchFinished, "", 0, `{"league":"talk","rated":false,"seats":[{"agent_id":"ag_b","name":"by Bob","points":0,"place":1,"state":"active"},{"agent_id":"ag_a","name":"by Ada","points":0,"place":1,"state":"active"}],"rating_changes":[]}`)
	return g
}

// erase erases an agent's texts from the rows.
func (g *game) erase(t testing.TB, agentID string) {
	t.Helper()
	e, err := record.NewErasure(g.rows(), agentID)
	if err != nil {
		t.Fatal(err)
	}
	g.erased = e.Commitments
	for _, changed := range e.Events {
		g.log[changed.Seq-1].Body = changed.Body
	}
	for i, a := range g.answers {
		if a.AgentID == agentID && a.Body != nil {
			g.answers[i].Body = &arena.AnswerBody{}
		}
	}
	for i, s := range g.m.Seats {
		if s.AgentID == agentID {
			g.m.Seats[i].Salt, g.m.Seats[i].Name, g.m.Seats[i].Version = "", arena.DeletedAgent, ""
		}
	}
}

func TestNew_good(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	for name, g := range map[string]*game{"sealed": played(t), "live": talkative(t)} {
		file := g.record(t, keys, nil)
		r, err := record.Verify(file, func(payload []byte, s record.Signature) error {
			if bytes.Contains(payload, []byte("by ")) || bytes.Contains(payload, []byte("why not")) || bytes.Contains(payload, []byte(`"salt"`)) {
				t.Errorf("%s: the signed part has texts: %s", name, payload)
			}
			return token.VerifyRecord(jwks, payload, s)
		})
		if err != nil || r.Format != record.Format || r.Match.Seed != "9223372036854775815" || r.Match.RulesVersion != arena.RulesVersion || len(r.Erased) > 0 {
			t.Errorf("%s: %+v, %v", name, r.Match, err)
		}
		if bytes.Contains(file, []byte("secret salt")) {
			t.Errorf("%s: the record holds the key of the salts", name)
		}
		if again := g.record(t, keys, nil); !bytes.Equal(signedPart(t, again).Record, signedPart(t, file).Record) {
			t.Errorf("%s: two records of the match differ", name)
		}
	}
}

func signedPart(t testing.TB, file []byte) (s record.Signed) {
	t.Helper()
	if err := json.Unmarshal(file, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// The texts of an agent go from a file, and from the rows that the arena makes
// the record from. Both are the same record, which the first signature covers.
func TestErase(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	check := func(payload []byte, s record.Signature) error { return token.VerifyRecord(jwks, payload, s) }
	for _, agents := range [][]string{{"ag_a"}, {"ag_b"}, {"ag_a", "ag_b"}, {"ag_b", "ag_a"}, {"ag_j"}} {
		for name, g := range map[string]*game{"sealed": played(t), "live": talkative(t)} {
			file := signedPart(t, g.record(t, keys, nil))
			left := map[string]string{"ag_a": "by Ada", "ag_b": "by Bob"}
			for _, id := range agents {
				var err error
				if file, err = record.Erase(file, id); err != nil {
					t.Fatal(err)
				}
				g.erase(t, id)
				delete(left, id)
			}
			made := signedPart(t, g.record(t, keys, nil))
			if diff := cmp.Diff(string(file.Record), string(made.Record)); diff != "" {
				t.Errorf("%s without %v: the file and the rows differ (-file +rows):\n%s", name, agents, diff)
			}
			data, err := strictjson.CanonicalOf(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := record.Verify(data, check)
			if err != nil {
				t.Errorf("%s without %v: %v", name, agents, err)
			}
			rows, err := json.Marshal(g.log)
			if err != nil {
				t.Fatal(err)
			}
			for _, where := range [][]byte{data, rows} {
				texts := map[string]bool{}
				for _, text := range []string{"by Ada", "by Bob", "by both"} {
					texts[text] = bytes.Contains(where, []byte(text))
				}
				wanted := map[string]bool{"by Ada": false, "by Bob": false, "by both": false}
				for _, text := range left {
					wanted[text] = name == "live"
				}
				if diff := cmp.Diff(wanted, texts); diff != "" {
					t.Errorf("%s without %v: texts left (-want +got):\n%s%s", name, agents, diff, where)
				}
			}
			for _, id := range agents {
				if id != "ag_j" && r.Erased[id] == 0 {
					t.Errorf("%s without %v: erased %v", name, agents, r.Erased)
				}
			}
		}
	}
}

// A text may go with its salt, and neither without the other.
func TestVerify_dropped_texts(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	for name, g := range map[string]*game{"sealed": played(t), "live": talkative(t)} {
		file := g.record(t, keys, nil)
		rapid.Check(t, func(rt *rapid.T) {
			dropped := map[string]int{}
			changed := textsOf(t, file, func(_ string, text map[string]any) {
				switch what := rapid.SampledFrom([]string{"", "", "", "both", "salt", "text"}).Draw(rt, "drop"); what {
				case "both":
					delete(text, "salt")
					delete(text, "text")
				case "":
					return
				default:
					delete(text, what)
					dropped["half"]++
				}
				dropped["all"]++
			})
			if f := verify(changed, jwks); (f == nil) != (dropped["half"] == 0) {
				rt.Fatalf("%s: dropped %v: %v", name, dropped, f)
			}
		})
	}
}

// textsOf calls change for every text of a record, by its pointer, and returns
// the file with the changes.
func textsOf(t testing.TB, file []byte, change func(pointer string, text map[string]any)) []byte {
	t.Helper()
	var whole map[string]any
	d := json.NewDecoder(bytes.NewReader(file))
	d.UseNumber()
	if err := d.Decode(&whole); err != nil {
		t.Fatal(err)
	}
	var walk func(pointer string, v any)
	walk = func(pointer string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, ok := v["commitment"]; ok && v["salt"] != nil {
				change(pointer, v)
				return
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(pointer+"/"+name, v[name])
			}
		case []any:
			for i := range v {
				walk(fmt.Sprintf("%s/%d", pointer, i), v[i])
			}
		}
	}
	walk("", whole)
	data, err := strictjson.CanonicalOf(whole)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A changed text is found at its place.
func TestVerify_places_of_texts(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	file := talkative(t).record(t, keys, nil)
	places := 0
	textsOf(t, file, func(place string, text map[string]any) {
		places++
		for member, value := range map[string]string{"text": "other", "salt": "AAAAAAAAAAAAAAAAAAAAAA", "commitment": strings.Repeat("0", 64)} {
			changed := textsOf(t, file, func(at string, text map[string]any) {
				if at == place {
					text[member] = value
				}
			})
			if f := verify(changed, jwks); f == nil || f.Pointer != place+"/commitment" {
				t.Errorf("%s of %s changed: found %v", member, place, f)
			}
		}
		changed := textsOf(t, file, func(at string, text map[string]any) {
			if at == place {
				text["salt"] = "short"
			}
		})
		if f := verify(changed, jwks); f == nil || f.Pointer != place+"/salt" {
			t.Errorf("a short salt of %s: found %v", place, f)
		}
	})
	if places < 25 {
		t.Errorf("only %d texts", places)
	}
}

// An arena that signs what does not agree is found too.
func TestVerify_disagreeing_texts(t *testing.T) {
	t.Parallel()
	keys, jwks := newKeys(t, token.ES256)
	for place, change := range map[string]func(*record.Record){
		"/record/match/seed":                 func(r *record.Record) { r.Match.Seed = "8" },
		"/record/match/seed_salt":            func(r *record.Record) { r.Match.SeedSalt = "" },
		"/record/match/rules_version":        func(r *record.Record) { r.Match.RulesVersion++ },
		"/record/log/3":                      func(r *record.Record) { r.Log[3] = r.Log[4] },
		"/record/rounds/0/answers/0/receipt": func(r *record.Record) { r.Rounds[0].Answers[0].Answer = record.Text{} },
		"/record/rounds/0/answers/0/answer":  func(r *record.Record) { r.Rounds[0].Answers[0].Answer = r.Rounds[0].Answers[1].Answer },
		"/record/rounds/0/task":              func(r *record.Record) { r.Rounds[0].Task = json.RawMessage(`{"description":"Mot"}`) },
	} {
		if f := verify(talkative(t).record(t, keys, change), jwks); f == nil || f.Pointer != place {
			t.Errorf("%s: found %v", place, f)
		}
	}
	g := talkative(t)
	g.log[0].Body = bytes.Replace(g.log[0].Body, []byte(`"rules_version":2`), []byte(`"rules_version":3`), 1)
	if f := verify(g.record(t, keys, nil), jwks); f == nil || f.Pointer != "/record/match/rules_version" || !strings.HasPrefix(f.Reason, "is 3;") {
		t.Errorf("a match under other rules: %v", f)
	}
	g = talkative(t)
	g.log[0].Body = bytes.Replace(g.log[0].Body, []byte("seed_commitment"), []byte("seed_promise"), 1)
	if f := verify(g.record(t, keys, func(r *record.Record) { r.Match.Seed = "1" }), jwks); f == nil || f.Pointer != "/record/match/seed" {
		t.Errorf("a seed that nothing committed to: %v", f)
	}
}

// A record that was handed out stays good in every later version.
func TestVerify_golden(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/record.json")
	if err != nil {
		t.Fatal(err)
	}
	jwks, err := os.ReadFile("testdata/record.jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	if f := verify(file, jwks); f != nil {
		t.Error(f)
	}
}
