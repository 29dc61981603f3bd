package game_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
)

// accepted plays a text as the first move of a game and returns the move, or why it
// is refused.
func (tb *table) accepted(text string) (move, refused string) {
	tb.t.Helper()
	p := game.NewPosition(tb.m, arena.Round{No: tb.m.Round}, tb.state)
	reply := game.Reply{Seat: tb.turn.Prompts[0].Seat, Outcome: arena.OutcomeAnswered, Text: text}
	refused, err := tb.g.Check(tb.t.Context(), p, reply)
	tb.ok(err)
	if refused != "" {
		return "", refused
	}
	result, err := tb.g.Close(tb.t.Context(), p, []game.Reply{reply}, nil)
	tb.ok(err)
	return result.Closed.Moves[0].Move, ""
}

// Moves are read as people and models write them, and never picked from prose.
func TestSeries_readsMoves(t *testing.T) {
	t.Parallel()
	const refused = ""
	for name, games := range map[string]map[string]string{
		"chess": {
			"Nf3": "Nf3", "Nf3.": "Nf3", "2. Nf3": "Nf3", "12.Nf3": "Nf3", "1... Nf3": "Nf3", "1… Nf3": "Nf3", "nf3": "Nf3", "**Nf3**": "Nf3", "**Nf3**.": "Nf3", "[g1f3]": "Nf3",
			"(Nf3)": "Nf3", "`Nf3`": "Nf3", `"Nf3"`: "Nf3", "I play Nf3": "Nf3", "I'll play **Nf3**!": "Nf3", "I will go with Nf3.": "Nf3", "My move is Nf3": "Nf3", "Move: Nf3": "Nf3", "My move: 2. Nf3": "Nf3",
			"```\nNf3\n```": "Nf3", `{"answer": "Nf3"}`: "Nf3", "ANSWER: Nf3\n\nHope this helps!": "Nf3", "Nf3\n\nThis develops the knight.": "Nf3",
			"I could play a3 to be safe.\nBut I prefer developing the knight.\nANSWER: g1f3": "Nf3",
			"Let me see... e4 is popular.\nANSWER: d2d4":                                     "d4",
			"<think>e4\nANSWER: e4</think>d4":                                                "d4",
			strings.Repeat("e4 looks fine. ", 1000) + "\nANSWER: d4":                         "d4",
			"Nf3 is tempting, but g1h3.":                                                     refused,
			"e4 is popular, I prefer d4":                                                     refused,
			"Nf3 Nc6":                                                                        refused,
			"1. Nf3 2. Nc3":                                                                  refused,
			"Nf3 or Nc3":                                                                     refused,
			"Nf3\nNc3":                                                                       refused, // two answers
			"I would not play Nf3":                                                           refused,
			"not Nf3":                                                                        refused,
			"**Nf3** or **Nc3**":                                                             refused,
			"Nf3\nWait, Nc3 is better.":                                                      refused, "Nf3\n\nNow d5 can be met by d4.": refused, // may take it back
			"":                             refused,
			strings.Repeat("Nf3 ", 1<<12):  refused,
			strings.Repeat("\x00", 1<<20):  refused,
			strings.Repeat("(", 1<<12):     refused,
			strings.Repeat("I move ", 500): refused,
		},
		"connect_four": {
			"4": "4", "4.": "4", "- 4": "4", "[4]": "4", "column 4": "4", "Column 4!": "4", "col. 4": "4", "I play column 4.": "4", "I drop in column 4": refused, "**4**": "4", "#4": "4",
			"3. 4": refused, "3.4": refused, "3 4": refused, "3 or 4": refused, "Columns 3 and 4": refused, "1\n2\n3": refused, "44": refused, "column four": refused, "8": refused, "-4": refused,
		},
		"kuhn_poker": {
			"bet": "bet", "Bet!": "bet", "I bet": "bet", "I will check.": "check", "My action: **check**": "check", "I bet, you fold": refused, "don't bet": refused, "fold": refused, "call": refused,
		},
		"liars_dice": {
			"3 5": "3 5", "3 5s": "3 5", "3 fives": "3 5", "Three fives.": "3 5", "3x5": "3 5", "3, 5": "3 5", "I bid 3 5s": "3 5", "[3, 5]": "3 5", "1 six": "1 6",
			"Liar!": refused /* there is no bid */, "3": refused, "5 5 5": refused, "3 5 or 4 5": refused, "3 sevens": refused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for text, want := range games {
				tb := newTable(t, 2, arena.GameSpec{Name: name, Games: 1})
				move, why := tb.accepted(text)
				if move != want || (why == "") != (want != "") {
					t.Errorf("%.80q is %q (%s), want %q", text, move, why, want)
				}
				if len(why) > 400 {
					t.Errorf("%.80q: the reason has %d bytes", text, len(why))
				}
			}
		})
	}
}

// A refusal names the legal moves where they are few, unless the league hides them.
func TestSeries_refusalListsMoves(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		spec       arena.GameSpec
		text, want string
	}{
		{arena.GameSpec{Name: "connect_four", Games: 1}, "9", "a move is the number of a column, 1 to 7; legal moves: 1, 2, 3, 4, 5, 6, 7"},
		{arena.GameSpec{Name: "connect_four", Games: 1, HideLegal: true}, "9", "a move is the number of a column, 1 to 7"},
		{arena.GameSpec{Name: "kuhn_poker", Games: 1}, "I call", "there is no bet to call; legal moves: check, bet"},
		{arena.GameSpec{Name: "chess", Games: 1}, "Qh5", "the way of the queen to h5 is blocked"}, // 20 are many
	} {
		if _, why := newTable(t, 2, tt.spec).accepted(tt.text); why != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.spec.Name, tt.text, why, tt.want)
		}
	}
}

// A game whose moves are JSON says so in its tasks, and a wrong object gets the
// second chance.
func TestSeries_jsonMoves(t *testing.T) {
	t.Parallel()
	tb := newTable(t, 2, arena.GameSpec{Name: "negotiation", Games: 1})
	round := arena.Round{Task: arena.Task{ID: "tk"}, Turn: tb.turn}
	if task, ok := round.Prompt(0); !ok || task.OutputFormat != "json" || task.ID != "tk" {
		t.Errorf("%+v", task)
	}
	for text, want := range map[string]string{
		`{"say":"hi"}`: `{"say":"hi"}`, `{"answer":{"say":"hi"}}`: `{"say":"hi"}`, "Let me greet them.\n```json\n{\n  \"say\": \"hi\"\n}\n```": `{"say":"hi"}`,
		"ANSWER: {\"say\": \"hi\"}": `{"say":"hi"}`, `{"speak":"hi"}`: "", `["hi"]`: "", "hi": "", "{\"say\":\"a\"}\n{\"say\":\"b\"}": "",
	} {
		if move, why := tb.accepted(text); move != want || (why == "") != (want != "") {
			t.Errorf("%q is %q (%s), want %q", text, move, why, want)
		}
	}
	tb = newTable(t, 2, arena.GameSpec{Name: "connect_four", Games: 1})
	if format := tb.turn.Prompts[0].OutputFormat; format != "" {
		t.Errorf("moves of connect four have the format %q", format)
	}
}
