package rules_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// dealSeen is what the player to act sees.
type dealSeen struct {
	Items, Values, Offer map[string]int
}

// negotiate returns a random move. It does not depend on the values.
func negotiate(observation json.RawMessage, r *rand.Rand) string {
	var seen dealSeen
	if err := json.Unmarshal(observation, &seen); err != nil {
		return err.Error()
	}
	switch n := r.IntN(10); {
	case n == 0 && seen.Offer != nil:
		return `{"accept": true}`
	case n < 4:
		return fmt.Sprintf(`{"say": "%s"}`, strings.Repeat("<\U0001F47E>", r.IntN(160)+1))
	default:
		return fmt.Sprintf(`{"offer": {"hats": %d, "books": %d, "balls": %d}, "say": "Take %d."}`,
			r.IntN(seen.Items["hats"]+1), r.IntN(seen.Items["books"]+1), r.IntN(seen.Items["balls"]+1), n)
	}
}

// beginDeal begins a game and returns what player 0 sees.
func beginDeal(t *testing.T, seed uint64) (*playout, dealSeen) {
	t.Helper()
	p := begin(t, rules.Negotiation(), rules.Start{Seed: seed, Players: 2, Options: map[string]int{"turns": 4}})
	return p, seeDeal(t, p)
}

func seeDeal(t *testing.T, p *playout) (seen dealSeen) {
	t.Helper()
	if err := json.Unmarshal(p.position(t).ToAct[0].Observation, &seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

func say(t *testing.T, p *playout, text string) {
	t.Helper()
	player := p.position(t).ToAct[0].Player
	p.apply(t, []rules.Move{{Player: player, Move: p.parse(t, player, text)}})
}

func worth(values, items map[string]int) (sum int) {
	for item, n := range items {
		sum += n * values[item]
	}
	return sum
}

// All deals are as docs/games/negotiation.md says, and many differ.
func TestNegotiation_deals(t *testing.T) {
	t.Parallel()
	tables, deals := map[string]bool{}, map[string]bool{}
	for seed := range uint64(600) {
		p, first := beginDeal(t, seed)
		say(t, p, `{"say":"hi"}`)
		second := seeDeal(t, p)
		total, contested := 0, false
		for _, item := range []string{"books", "hats", "balls"} {
			n := first.Items[item]
			total += n
			if n < 1 || n > 4 || first.Values[item] < 0 || second.Values[item] < 0 || first.Values[item]+second.Values[item] == 0 {
				t.Errorf("seed %d: %+v, %+v", seed, first, second)
			}
			contested = contested || first.Values[item]*second.Values[item] > 0
		}
		if total < 5 || total > 7 || !contested || worth(first.Values, first.Items) != 10 || worth(second.Values, first.Items) != 10 {
			t.Errorf("seed %d: %+v, %+v", seed, first, second)
		}
		tables[fmt.Sprint(first.Items)] = true
		deals[fmt.Sprint(first, second)] = true
	}
	if len(tables) != 28 || len(deals) < 300 {
		t.Errorf("600 seeds have %d tables and %d deals", len(tables), len(deals))
	}
}

func TestNegotiation_agreement(t *testing.T) {
	t.Parallel()
	p, first := beginDeal(t, 5)
	say(t, p, `{"say":"I keep the rest.","offer":{"books":1,"hats":0,"balls":1}}`)
	second := seeDeal(t, p)
	offer := map[string]int{"books": 1, "hats": 0, "balls": 1}
	if diff := cmp.Diff(offer, second.Offer); diff != "" {
		t.Error(diff)
	}
	say(t, p, `{"say":"Let me think."}`)
	if _, err := rules.Negotiation().Parse(t.Context(), p.state(), 0, `{"accept":true}`); !isIllegal(err) {
		t.Errorf("player 0 accepts its own offer: %v", err)
	}
	say(t, p, `{"say":"The offer stands."}`)
	say(t, p, `{"say":"Fine.","accept":true}`)
	end := p.position(t)
	want := []arena.Points{arena.Points(10-worth(first.Values, offer)) * 100, arena.Points(worth(second.Values, offer)) * 100}
	if diff := cmp.Diff(want, end.Points); diff != "" || !end.Over() {
		t.Errorf("over is %t, points %s", end.Over(), diff)
	}
	var c rules.Transcript
	if err := json.Unmarshal(end.Public, &c); err != nil || len(c.Facts) != 3 || c.Lines[0].Offer != "offers 1 book, 0 hats, 1 ball" || c.Lines[3].Offer != "accepts" {
		t.Errorf("%v: %+v", err, c)
	}
}

// Without an agreement no player scores.
func TestNegotiation_noAgreement(t *testing.T) {
	t.Parallel()
	p, _ := beginDeal(t, 5)
	for range 4 {
		say(t, p, `{"offer":{"books":1,"hats":0,"balls":1}}`)
	}
	if end := p.position(t); !end.Over() || end.Points[0] != 0 || end.Points[1] != 0 {
		t.Errorf("over is %t, points %v", end.Over(), end.Points)
	}
}

func TestNegotiation_refuses(t *testing.T) {
	t.Parallel()
	p, seen := beginDeal(t, 5)
	for text, reason := range map[string]string{
		`hello`:             "Yours is not",
		`{"say":1e999}`:     "must be text",
		`{"say":"a"} {}`:    "Yours is not",
		`{"tell":"a"}`:      `unknown member "/tell"`,
		`{"accept":true}`:   "there is no offer to accept",
		`{"accept":false}`:  "a move is JSON",
		`{"say":"\u202e "}`: "a move is JSON",
		`{}`:                "a move is JSON",
		`{"accept":true,"offer":{"books":0,"hats":0,"balls":0}}`: "not both",
		`{"offer":{"books":0,"hats":0}}`:                         fmt.Sprintf("offer.balls must be 0 to %d", seen.Items["balls"]),
		`{"offer":{"books":-1,"hats":0,"balls":0}}`:              fmt.Sprintf("offer.books must be 0 to %d", seen.Items["books"]),
		`{"offer":{"books":0,"hats":99,"balls":0}}`:              fmt.Sprintf("offer.hats must be 0 to %d", seen.Items["hats"]),
		`{"offer":{"books":0,"hats":1e999,"balls":0}}`:           "whole number",
		`{"offer":{"books":0,"hats":0.5,"balls":0}}`:             "whole number",
		`{"offer":{"books":0,"hats":0,"balls":0,"cars":0}}`:      "books, hats, balls and nothing else",
		`{"offer":{}}`: "offer.books must be",
		`{"say":"` + strings.Repeat("é", 501) + `"}`:   "say has 501 characters, at most 500 are allowed",
		`{"say":"` + strings.Repeat("a", 1<<20) + `"}`: "a move has at most 4096 bytes",
		strings.Repeat("[", 4000):                      "Yours is not",
		"\xff\xfe":                                     "Yours is not",
	} {
		if _, err := rules.Negotiation().Parse(t.Context(), p.state(), 0, text); !isIllegal(err) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.60q: %v, want %q", text, err, reason)
		}
	}
}

// A message is shown without characters that hide or reorder what is around it, and
// a long conversation fits into the task.
func TestNegotiation_messages(t *testing.T) {
	t.Parallel()
	p := begin(t, rules.Negotiation(), rules.Start{Seed: 5, Players: 2, Options: map[string]int{"turns": 20}})
	if got := p.parse(t, 0, `{"say": " a\u0000\n\u202eb\u001b[31m c\u2028d "}`); got != `{"say":"a b c d"}` {
		t.Errorf("the message is %s", got)
	}
	for range 19 {
		say(t, p, `{"say":"`+strings.Repeat("\U0001F47E", 500)+`"}`)
	}
	a := p.position(t).ToAct[0]
	if len(a.Text) > rules.MaxText || !strings.Contains(a.Text, "(earlier turns are in the observation)\nYou: ") && !strings.Contains(a.Text, "(earlier turns are in the observation)\nOther player: ") {
		t.Errorf("%d bytes: %.900s", len(a.Text), a.Text)
	}
}
