package agents

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
)

// fourTask is a turn of connect four.
func fourTask(t *testing.T, rows ...string) *arenaagent.Task {
	t.Helper()
	for len(rows) < fourRows {
		rows = append([]string{"......."}, rows...)
	}
	observation, err := json.Marshal(map[string]any{"board": rows, "you": "x", "moves": ""})
	if err != nil {
		t.Fatal(err)
	}
	task := &arenaagent.Task{MatchID: "m_1", Round: 1, Observation: observation}
	for column, cell := range rows[0] {
		if cell == '.' {
			task.Options = append(task.Options, strconv.Itoa(column+1))
		}
	}
	return task
}

func TestBot_minimax(t *testing.T) {
	t.Parallel()
	bot, err := Bot("minimax", 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		rows []string
		want string
	}{
		"wins in a row":        {[]string{"oo.....", "ooxxx.."}, "6"},
		"wins in a column":     {[]string{"x......", "x.o....", "x.o...."}, "1"},
		"wins in a diagonal":   {[]string{"..xo...", ".xoo...", "xooxo.."}, "4"},
		"stops a row":          {[]string{"x......", "xooo..."}, "5"},
		"stops a column":       {[]string{"......o", "x.....o", "x.....o"}, "7"},
		"wins before it stops": {[]string{"xxx....", "ooo...."}, "4"},
		"plays a full board":   {[]string{"ooxoxo.", "xxoxoxo", "ooxoxox", "xxoxoxo", "ooxoxox", "xxoxoxo"}, "7"},
		"makes two threats":    {[]string{"o.....o", "..xx..."}, "5 2"},
	} {
		a, err := bot(t.Context(), fourTask(t, c.rows...), &arenaagent.Events{})
		if err != nil || a.Value != c.want && (len(c.want) != 3 || a.Value != c.want[:1] && a.Value != c.want[2:]) {
			t.Errorf("%s: column %s (%s), %v; want %s", name, a.Value, a.Reasoning, err, c.want)
		}
	}
	if _, err := bot(t.Context(), &arenaagent.Task{Options: []string{"a"}}, &arenaagent.Events{}); err == nil {
		t.Error("a question was answered")
	}
	if _, err := Bot("deep blue", 1); err == nil {
		t.Error("an unknown bot plays")
	}
}

// The better an agent is, the more games it wins.
func TestPlayer_strength(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	play := func(players [2]player) (winner int) {
		b := fourBoard{}
		for n := range fourRows * fourColumns {
			var legal []string
			for column, h := range b.height {
				if h < fourRows {
					legal = append(legal, strconv.Itoa(column+1))
				}
			}
			move := legal[dice.IntN(len(legal))]
			if p := players[n%2]; p.depth > 0 && dice.Float64() >= p.slips {
				move, _ = four(b, legal, p.depth, dice)
			}
			column, _ := strconv.Atoi(move)
			if b = b.drop(column - 1); b.moved() {
				return n % 2
			}
		}
		return -1
	}
	good, poor := playerOf(0.9), playerOf(0.6)
	wins := 0
	for n := range 20 {
		players := [2]player{good, poor}
		if n%2 == 1 {
			players = [2]player{poor, good}
		}
		if play(players) == n%2 {
			wins++
		}
	}
	if wins < 16 {
		t.Errorf("the good player wins %d of 20 games", wins)
	}
}

func TestBot_poker(t *testing.T) {
	t.Parallel()
	bot, err := Bot("bluffer", 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		card, legal string
		least, most int // moves of 300 that put a chip in
	}{
		"the king bets": {"K", `["check","bet"]`, 300, 300}, "the queen checks": {"Q", `["check","bet"]`, 0, 0},
		"the jack bluffs": {"J", `["check","bet"]`, 160, 240}, "the king calls": {"K", `["fold","call"]`, 300, 300},
		"the jack folds": {"J", `["fold","call"]`, 0, 0}, "the queen calls at times": {"Q", `["fold","call"]`, 160, 240},
		"an unknown card": {"A", `["fold","call"]`, 100, 200},
	} {
		chips := 0
		for n := range 300 {
			task := &arenaagent.Task{MatchID: "m_1", Round: n, Observation: []byte(`{"card":"` + c.card + `","actions":[]}`)}
			if err := json.Unmarshal([]byte(c.legal), &task.Options); err != nil {
				t.Fatal(err)
			}
			a, err := bot(t.Context(), task, &arenaagent.Events{})
			if err != nil {
				t.Fatal(err)
			}
			if a.Value == "bet" || a.Value == "call" {
				chips++
			}
		}
		if chips < c.least || chips > c.most {
			t.Errorf("%s: %d of 300, want %d to %d", name, chips, c.least, c.most)
		}
	}
}

// A game that no player knows, and observations that are none, get a legal move.
func TestPlayer_move_unknown(t *testing.T) {
	t.Parallel()
	for _, observation := range []string{`{}`, `{"board":7}`, `{"board":["xxxxxxx"],"you":"x"}`, `{"board":["é.....","","","","",""],"you":"x"}`, `{"card":["J"]}`, `[]`} {
		task := &arenaagent.Task{Observation: []byte(observation), Options: []string{"rock", "paper"}}
		got := playerOf(0.95).move(task, rand.New(rand.NewPCG(1, 2)))
		if got.answer != "rock" && got.answer != "paper" {
			t.Errorf("%s: %+v", observation, got)
		}
	}
}

func BenchmarkFour(b *testing.B) {
	for b.Loop() {
		nodes := 0
		fourBoard{}.value(6, -2*fourWon, 2*fourWon, &nodes)
	}
}
