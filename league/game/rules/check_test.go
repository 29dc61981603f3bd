package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

func TestCheckInfo(t *testing.T) {
	t.Parallel()
	if err := rules.CheckInfo(rules.ConnectFour().Info()); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*rules.Info){
		"info.name":               func(i *rules.Info) { i.Name = "Connect Four" },
		"at most 40":              func(i *rules.Info) { i.Name = strings.Repeat("x", 41) },
		"info.title":              func(i *rules.Info) { i.Title = "two\nlines" },
		"info.title must be":      func(i *rules.Info) { i.Title = "reversed \u202e title" },
		"info.version":            func(i *rules.Info) { i.Version = "" },
		"info.min_seats":          func(i *rules.Info) { i.MinPlayers = 3 },
		"1 to 16":                 func(i *rules.Info) { i.MaxPlayers = 17 },
		"info.max_turns":          func(i *rules.Info) { i.MaxTurns = 0 },
		"info.options[0].name":    func(i *rules.Info) { i.Options = []rules.Option{{Name: "a b", Help: "x"}} },
		"info.options[1].name":    func(i *rules.Info) { i.Options = []rules.Option{{Name: "a", Help: "x"}, {Name: "a", Help: "x"}} },
		"info.options[0].help":    func(i *rules.Info) { i.Options = []rules.Option{{Name: "a"}} },
		"info.options[0].default": func(i *rules.Info) { i.Options = []rules.Option{{Name: "a", Help: "x", Default: 3, Max: 2}} },
		"21 options":              func(i *rules.Info) { i.Options = make([]rules.Option, 21) },
	} {
		i := rules.ConnectFour().Info()
		change(&i)
		if err := rules.CheckInfo(i); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// grid is a public state that breaks no rule.
const grid = `{"kind":"grid","rows":1,"columns":2,"cells":["x",""],"pieces":{"x":{"player":0,"symbol":"x"}}}`

func TestCheckPosition(t *testing.T) {
	t.Parallel()
	good := func() rules.Position {
		return rules.Position{
			ToAct:  []rules.ToAct{{Player: 0, Text: "Move.", Observation: json.RawMessage(`{}`), Legal: []string{"1", "2"}, Default: "2"}},
			Public: json.RawMessage(grid),
		}
	}
	if err := rules.CheckPosition(good(), 2); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*rules.Position){
		"to_act[0].player is 2":      func(p *rules.Position) { p.ToAct[0].Player = 2 },
		"to_act[0].player is -1":     func(p *rules.Position) { p.ToAct[0].Player = -1 },
		"to_act[1].player is 0":      func(p *rules.Position) { p.ToAct = append(p.ToAct, p.ToAct[0]) },
		"text has 0 bytes":           func(p *rules.Position) { p.ToAct[0].Text = "" },
		"text has 16385 bytes":       func(p *rules.Position) { p.ToAct[0].Text = strings.Repeat("x", rules.MaxText+1) },
		"observation has":            func(p *rules.Position) { p.ToAct[0].Observation = make(json.RawMessage, rules.MaxObservation+1) },
		"observation must be":        func(p *rules.Position) { p.ToAct[0].Observation = json.RawMessage(`[]`) },
		"neither":                    func(p *rules.Position) { p.ToAct[0].Legal = nil },
		"1025 legal moves":           func(p *rules.Position) { p.ToAct[0].Legal = make([]string, rules.MaxLegal+1) },
		"legal[1]":                   func(p *rules.Position) { p.ToAct[0].Legal[1] = "1" },
		"legal[0]":                   func(p *rules.Position) { p.ToAct[0].Legal[0] = "" },
		"default move is not legal":  func(p *rules.Position) { p.ToAct[0].Default = "3" },
		"not over":                   func(p *rules.Position) { p.Points = []arena.Points{0, 0} },
		"points of 0 players":        func(p *rules.Position) { p.ToAct = nil },
		"points of 1 players":        func(p *rules.Position) { p.ToAct, p.Points = nil, []arena.Points{1} },
		"points of player 1 must be": func(p *rules.Position) { p.ToAct, p.Points = nil, []arena.Points{0, 1001} },
		"public state: it must be":   func(p *rules.Position) { p.Public = nil },
		"public state: it has 65537": func(p *rules.Position) { p.Public = make(json.RawMessage, rules.MaxPublic+1) },
		"kind must be grid":          func(p *rules.Position) { p.Public = json.RawMessage(`{"kind":"hexes"}`) },
		"public state: unknown member": func(p *rules.Position) {
			p.Public = json.RawMessage(`{"kind":"table","columns":[],"rows":[],"html":"<b>"}`)
		},
	} {
		p := good()
		change(&p)
		if err := rules.CheckPosition(p, 2); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckPublic(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		grid,
		`{"kind":"cards","hands":[{"player":0,"cards":["?"]},{"player":1,"cards":["K♠"],"chips":2}],"log":[{"player":-1,"text":"A new hand."}],"evaluation":[0.5,0.5]}`,
		`{"kind":"table","columns":["Round 1"],"rows":[{"player":0,"values":["C"],"won":[0]},{"player":1,"values":[""]}],"bars":true}`,
		`{"kind":"transcript","lines":[{"player":1,"text":"I offer two.","offer":"2 hats"}],"caption":"Turn 2"}`,
	} {
		if err := rules.CheckPublic([]byte(good), 2); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		`{"kind":"grid","rows":2,"columns":2,"cells":["",""],"pieces":{}}`:                                              "cells has 2 entries, rows × columns is 4",
		`{"kind":"grid","rows":-1,"columns":-2,"cells":["",""],"pieces":{}}`:                                            "1 to 1024 cells",
		`{"kind":"grid","rows":1000000007,"columns":1000000009,"cells":[],"pieces":{}}`:                                 "1 to 1024 cells",
		`{"kind":"grid","rows":1,"columns":1,"cells":["x"],"pieces":{}}`:                                                `cells[0] is "x", which pieces does not name`,
		`{"kind":"grid","rows":1,"columns":1,"cells":[""],"pieces":{"x":{"player":2,"symbol":"x"}}}`:                    "the player of piece x is 2, it must be 0 to 1",
		`{"kind":"grid","rows":1,"columns":1,"cells":[""],"pieces":{"x":{"player":1,"symbol":"<script>"}}}`:             "symbol of piece x",
		`{"kind":"grid","rows":1,"columns":1,"cells":[""],"pieces":{},"last":[1]}`:                                      "last holds 1, it must be 0 to 0",
		`{"kind":"grid","rows":1,"columns":1,"cells":[""],"pieces":{},"board":"go"}`:                                    "board must be",
		`{"kind":"cards","hands":[{"player":0,"cards":[]}]}`:                                                            "a hand for each of the 2 players",
		`{"kind":"cards","hands":[{"player":0,"cards":[]},{"player":0,"cards":[]}]}`:                                    "hands[1].player is 0",
		`{"kind":"cards","hands":[{"player":0,"cards":[]},{"player":1,"cards":[]}],"log":[{"player":2,"text":""}]}`:     "log[0].player is 2",
		`{"kind":"table","columns":["a"],"rows":[{"player":0,"values":[]},{"player":1,"values":[""]}]}`:                 "rows[0].values has 0 entries, columns has 1",
		`{"kind":"table","columns":[],"rows":[{"player":0,"values":[],"won":[0]},{"player":1,"values":[]}]}`:            "rows[0].won has 1 entries",
		`{"kind":"transcript","lines":[{"player":5,"text":"x"}]}`:                                                       "lines[0].player is 5, it must be -1 to 1",
		`{"kind":"transcript","lines":[{"player":0,"text":"` + strings.Repeat("x", 5001) + `"}]}`:                       "lines[0].text has more than 5000 characters",
		`{"kind":"transcript","lines":[],"caption":"two\nlines"}`:                                                       "caption must be one line",
		`{"kind":"transcript","lines":[],"evaluation":[1]}`:                                                             "a number for each of the 2 players",
		`{"kind":"transcript","lines":[],"evaluation":[1,1.5]}`:                                                         "evaluation must be 0 to 1",
		`{"kind":"transcript","lines":[` + strings.Repeat(`{"player":0,"text":""},`, 2048) + `{"player":0,"text":""}]}`: "lines has 2049 entries",
	} {
		if err := rules.CheckPublic([]byte(bad), 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %q", bad, err, want)
		}
	}
}
