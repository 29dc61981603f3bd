package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/protocol/conformance"
	"github.com/agora-arena/arena/record"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// evil is what a text can do to a terminal, as JSON: escaped, and as it is.
const evil = `\u001b]0;owned\u0007\u001b[2J\u001b[31mred\u001b[0m \u202eesrever\u202c\u200b\r\nsecond line\u0000\u009b1mC1` + plainEvil

// plainEvil are the control characters that JSON need not escape.
const plainEvil = "\x7f\u0084\u009b1m\u009d0;owned\u009c\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\U000e0041"

// watched is a match whose every text is hostile.
func watched(t *testing.T) []liveEvent {
	t.Helper()
	var events []liveEvent
	for i, body := range []string{
		`"type":"match_scheduled","league":"trivia","rated":true,"seats":[{"agent_id":"ag_1","name":"Ada"},{"agent_id":"ag_2","name":"` + evil + `"}]`,
		`"type":"match_started","league":"trivia","rated":true,"total_rounds":2,"seats":[{"agent_id":"ag_1","name":"Ada"},{"agent_id":"ag_2","name":"` + evil + `"}]`,
		`"type":"round_started","round":1,"time_limit_seconds":15,"task":{"description":"Which one? ` + evil + `","options":["Sydney","` + evil + `"]}`,
		`"type":"thinking","round":1,"agent_id":"ag_1","message":"` + evil + `"`,
		`"type":"thinking","round":1,"agent_id":"ag_2","commitment":"00ff"`,
		`"type":"spawn_subagent","round":1,"agent_id":"ag_1","name":"Librarian","role":"` + evil + `"`,
		`"type":"tool_call","round":1,"agent_id":"ag_1","tool":"search","args":{"q":"` + evil + `"}`,
		`"type":"tool_response","round":1,"agent_id":"ag_1","result":"` + evil + `","duration_ms":1200`,
		`"type":"subagent_done","round":1,"agent_id":"ag_1","name":"Librarian","duration_ms":1500`,
		`"type":"intermediate_result","round":1,"agent_id":"ag_1","data":["` + evil + `",1]`,
		`"type":"error","round":1,"agent_id":"ag_1","message":"` + evil + `","fatal":false`,
		`"type":"answer","round":1,"agent_id":"ag_1","final":true,"value":"` + evil + strings.Repeat("long ", 50) + `"`,
		`"type":"seat_outcome","round":1,"agent_id":"ag_1","outcome":"answered","elapsed_ms":2500,"answer":"` + evil + `"`,
		`"type":"agent_paused","round":1,"agent_id":"ag_2","name":"x","reason":"rate_limit"`,
		`"type":"seat_outcome","round":1,"agent_id":"ag_2","outcome":"rate_limited","reason":"status_429","elapsed_ms":10`,
		`"type":"reveal","round":1,"events":[]`,
		`"type":"round_closed","round":1,"correct":"` + evil + `","seats":[{"agent_id":"ag_1","answer":"` + evil + `","points":1,"outcome":"answered"},{"agent_id":"ag_2","answer":null,"points":0,"outcome":"rate_limited"}]`,
		`"type":"` + evil + `","agent_id":"` + evil + `"`,
		`"type":"agent_left","agent_id":"ag_2","reason":"status_503"`,
		`"type":"viewers","count":7`,
		`"type":"match_finished","league":"trivia","rated":true,"seats":[{"agent_id":"ag_2","name":"` + evil + `","points":0.5,"place":0,"state":"left"},{"agent_id":"ag_1","name":"Ada","points":1,"place":1,"state":"active"}],"rating_changes":[{"agent_id":"ag_1","rating_after":1520.25,"rating_delta":20.25}]`,
		`"type":"match_void","reason":"` + evil + `"`,
	} {
		raw := fmt.Sprintf(`{"seq":%d,"match_id":"m_1","ts":"2026-11-21T12:00:%02d.000Z",%s}`, i+1, i, body)
		e, err := parseLive([]byte(raw))
		must(t, err)
		events = append(events, e)
	}
	return events
}

// Threats E3 and E4, at the terminal.
func TestScreen_golden(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]liveEvent{"watch.txt": watched(t), "watch_game.txt": watchedGame(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, color := range []bool{false, true} {
				checkScreen(t, name, events, color)
			}
		})
	}
}

// checkScreen compares a screen with a golden file.
func checkScreen(t *testing.T, name string, events []liveEvent, color bool) {
	t.Helper()
	var out bytes.Buffer
	s := &screen{out: &out, style: cli.Style(color), names: map[string]string{}}
	for _, e := range events {
		s.show(e)
	}
	must(t, s.err)
	text := out.String()
	if color { // what is left without our own colours is the same
		for _, paint := range []string{cli.Dim, cli.Bold, cli.Green, cli.Red, cli.Cyan, "0"} {
			text = strings.ReplaceAll(text, "\x1b["+paint+"m", "")
		}
	}
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r))
	}); i >= 0 {
		t.Errorf("colour %v: %q got through", color, text[i:min(len(text), i+20)])
	}
	golden := filepath.Join("testdata", name)
	if *updateGolden {
		must(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("colour %v: if it was meant to change, run the test with -update (-want +got):\n%s", color, diff)
	}
}

// watchedGame is a match of games whose every text is hostile.
func watchedGame(t *testing.T) []liveEvent {
	t.Helper()
	var events []liveEvent
	grid := func(more string) string {
		return `{"kind":"grid","rows":2,"columns":2,"cells":["x","","o","` + evil + `"],"line":[0],"pieces":{"x":{"player":0,"symbol":"●"},"o":{"player":1,"symbol":"●"}},` +
			`"caption":"` + evil + `","players":["ag_1","ag_2"],"game":1,"games":2,` + more + `}`
	}
	for i, body := range []string{
		`"type":"match_started","league":"four","total_rounds":null,"game":{"name":"` + evil + `","games_per_match":2},"seats":[{"agent_id":"ag_1","name":"Ada"},{"agent_id":"ag_2","name":"` + evil + `"}]`,
		`"type":"round_started","round":1,"time_limit_seconds":15,"task":{"description":"` + evil + `"},"seats_to_act":["ag_1"],"time_banks":[{"agent_id":"ag_1","seconds":60},{"agent_id":"ag_2","seconds":12.5}],"state":` + grid(`"turn":1`),
		`"type":"seat_outcome","round":1,"agent_id":"ag_1","outcome":"answered","elapsed_ms":10,"answer":"1"`,
		`"type":"round_closed","round":1,"moves":[{"agent_id":"ag_1","move":"` + evil + `","legal":true}],"standings":[],"state":` + grid(`"turn":1`),
		`"type":"round_started","round":2,"time_limit_seconds":15,"task":{},"seats_to_act":["ag_2"],"time_banks":[{"agent_id":"ag_1","seconds":60},{"agent_id":"ag_2","seconds":12.5}],"state":` + grid(`"turn":2`),
		`"type":"seat_outcome","round":2,"agent_id":"ag_2","outcome":"answered","reason":"illegal_move","elapsed_ms":10`,
		`"type":"round_closed","round":2,"moves":[{"agent_id":"ag_2","move":"","legal":false},{"agent_id":"ag_1","move":"pass","legal":false}],"state":` + grid(`"over":true,"points":[1,0.5,0]`),
		`"type":"round_started","round":3,"time_limit_seconds":15,"task":{},"state":{"kind":"cards","game":2,"games":2,"turn":1,"players":["ag_2","ag_1"],"pot":3,"table":["Q"],` +
			`"hands":[{"player":0,"cards":["?","` + evil + `"],"chips":-2},{"player":7,"cards":[],"out":true}],"log":[{"player":-1,"text":"` + evil + `"},{"player":1,"text":"bet"}]}`,
		`"type":"round_closed","round":3,"moves":[],"state":{"kind":"table","game":2,"games":2,"turn":1,"players":["ag_2","ag_1"],"columns":["1"],"rows":[{"player":0,"values":["` + evil + `","3"],"total":"3"}]}`,
		`"type":"round_closed","round":4,"moves":[],"state":{"kind":"transcript","game":2,"games":2,"turn":2,"players":["ag_2","ag_1"],"lines":[{"player":0,"text":"` + evil + `","offer":"2 apples"}]}`,
		`"type":"round_closed","round":5,"moves":[],"state":{"kind":"transcript","game":2,"games":2,"turn":3,"players":["ag_2","ag_1"],"lines":[{"player":0,"text":"said before"},{"player":1,"text":"new"}]}`,
		`"type":"round_closed","round":6,"moves":{},"state":{"kind":"grid","rows":99999,"columns":-1,"cells":7,"players":{},"points":"x","over":true}`,
		`"type":"round_closed","round":7,"moves":[],"state":{"kind":"hologram","players":[],"caption":"a view of a later version"}`,
	} {
		e, err := parseLive(fmt.Appendf(nil, `{"seq":%d,"match_id":"m_1","ts":"2026-11-21T12:00:%02d.000Z",%s}`, i+1, i, body))
		must(t, err)
		events = append(events, e)
	}
	return events
}

// When a round closes, what is known beside the answers is shown with them,
// in live and in sealed matches alike.
func TestScreen_marks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bodies []string
		want   []string
	}{
		"live": {[]string{
			`"type":"answer","round":1,"agent_id":"ag_1","final":true,"value":42`,
			`"type":"thinking","round":1,"agent_id":"ag_1","message":"more"`,
			`"type":"seat_outcome","round":1,"agent_id":"ag_1","outcome":"answered","answer":"42","tokens":120,"latency_ms":300,"tools_used":["calc"],"subagents_used":["a","b"]`,
			`"type":"seat_outcome","round":1,"agent_id":"ag_2","outcome":"unavailable","reason":"offer_price"`,
		}, []string{"answer: 42", "over max_tokens, no points", "its own claim: 120 tokens, 0.3 s, tools calc, subagents a b", "events after its final one: 1", "offer declined: price"}},
		"sealed": {[]string{
			`"type":"error","round":1,"agent_id":"ag_1","commitment":"00"`,
			`"type":"thinking","round":1,"agent_id":"ag_1","commitment":"00"`,
			`"type":"thinking","round":1,"agent_id":"ag_1","commitment":"00"`,
			`"type":"seat_outcome","round":1,"agent_id":"ag_1","outcome":"answered","commitment":"00"`,
			`"type":"reveal","round":1,"events":[{"seq":3,"agent_id":"ag_1","hidden":{"fatal":true,"message":"x"}},{"seq":6,"agent_id":"ag_1","hidden":{"answer":"42","tokens":7}}]`,
		}, []string{"its own claim: 7 tokens", "events after its final one: 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			s := &screen{out: &out, names: map[string]string{}}
			bodies := append([]string{`"type":"match_started","seats":[]`, `"type":"round_started","round":1,"task":{}`}, c.bodies...)
			bodies = append(bodies, `"type":"round_closed","round":1,"seats":[{"agent_id":"ag_1","answer":"42","points":0,"outcome":"answered","over_max_tokens":true,"reason":"token_limit"},{"agent_id":"ag_2","outcome":"unavailable"}]`)
			for i, body := range bodies {
				e, err := parseLive(fmt.Appendf(nil, `{"seq":%d,"match_id":"m_1","ts":"2026-11-21T12:00:00.000Z",%s}`, i+1, body))
				must(t, err)
				s.show(e)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want+"\n") {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
		})
	}
}

// Threats E3 and E4: a record and an agent under test choose their texts.
func TestTerminal_texts(t *testing.T) {
	t.Parallel()
	var bad string
	must(t, json.Unmarshal([]byte(`"`+evil+`"`), &bad))
	r := record.Record{Arena: bad, Erased: map[string]int{bad: 1}}
	r.Match.MatchID, r.Match.League, r.Match.FinishedAt, r.Match.Game, r.Match.Series = bad, bad, bad, bad, &record.Series{}
	text := goodLines(r, record.Signature{KID: bad, Alg: bad}, 0)
	calm(t, "verify", text)
	if strings.Count(text, "\n") != 4 || strings.Count(text, "\n  ") != 3 || !strings.HasPrefix(text, "good: match red") {
		t.Errorf("printed %q", text)
	}
	var out bytes.Buffer
	say := &checkPrinter{w: &out, verbose: true}
	for _, result := range []conformance.Result{conformance.Fail, conformance.NotApplicable} {
		say.finding(conformance.Finding{Result: result, Sent: bad, Got: bad, Cure: bad})
	}
	calm(t, "check", out.String())
}
