package rules

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/plaintext"
	"github.com/agora-arena/arena/internal/strictjson"
)

// Limits on what spectators and players see.
const (
	MaxPublic      = 64 << 10 // bytes of a public state
	MaxObservation = 64 << 10 // bytes of an observation
	MaxCells       = 1024     // cells of a grid
	MaxLines       = 2048     // hands, rows, lines, columns, facts or pieces

	maxName = 40   // characters of a name, a symbol's name or an option
	maxShow = 5000 // characters of a text in a public state: more than a move has, so that what a player says fits
)

// Fault is the error of a game that breaks a rule of package rules or that a
// limit of its script ended. Its match is void; playing it again changes nothing.
type Fault struct { //nolint:errname // the word of the rules
	Game string
	Err  error // the position and the reason
}

func (f *Fault) Error() string { return "game " + f.Game + ": " + f.Err.Error() }

// Unwrap returns the position and the reason.
func (f *Fault) Unwrap() error { return f.Err }

// CheckInfo returns the first rule that the description of a game breaks.
func CheckInfo(i Info) error {
	switch {
	case !isName(i.Name):
		return fmt.Errorf("info.name must be a name in lower case of at most %d letters, digits and underscores", maxName)
	case !isLabel(i.Title, 80):
		return errors.New("info.title must be one line of 1 to 80 characters")
	case !isLabel(i.Version, maxName):
		return fmt.Errorf("info.version must be one line of 1 to %d characters", maxName)
	case i.MinPlayers < 1 || i.MaxPlayers < i.MinPlayers || i.MaxPlayers > 16:
		return errors.New("info.min_seats and info.max_seats must be 1 to 16, the smaller first")
	case i.MaxTurns < 1 || i.MaxTurns > 10_000:
		return errors.New("info.max_turns must be 1 to 10000")
	case i.OutputFormat != "" && i.OutputFormat != OutputJSON:
		return fmt.Errorf("info.output_format must be %s, or absent for text", OutputJSON)
	case len(i.Options) > 20:
		return fmt.Errorf("info.options has %d options, at most 20 are allowed", len(i.Options))
	}
	known := map[string]bool{}
	for n, o := range i.Options {
		at := fmt.Sprintf("info.options[%d]", n)
		switch {
		case !isName(o.Name) || known[o.Name]:
			return fmt.Errorf("%s.name must be a name that no other option has, in lower case of at most %d letters, digits and underscores", at, maxName)
		case !isLabel(o.Help, 200):
			return fmt.Errorf("%s.help must be one line of 1 to 200 characters", at)
		case o.Min > o.Default || o.Default > o.Max || o.Min < -1e9 || o.Max > 1e9:
			return fmt.Errorf("%s.default must be between min and max, and these between -1000000000 and 1000000000", at)
		}
		known[o.Name] = true
	}
	return nil
}

func isName(s string) bool {
	return s != "" && len(s) <= maxName && s[0] >= 'a' && s[0] <= 'z' && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// isLabel reports whether s is one line for people, of 1 to longest characters.
func isLabel(s string, longest int) bool {
	return s != "" && plaintext.CheckLine("", s) == nil && isLine(s, longest)
}

// isLine reports whether s is one line of at most the given number of printable
// characters.
func isLine(s string, longest int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= longest && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) })
}

// CheckPosition returns the first rule that a position of a game with the given
// number of players breaks.
func CheckPosition(p Position, players int) error {
	before := -1
	for i, a := range p.ToAct {
		at := fmt.Sprintf("to_act[%d]", i)
		if a.Player <= before || a.Player >= players {
			return fmt.Errorf("%s.player is %d: the players who act must be in order, from 0 to %d", at, a.Player, players-1)
		}
		before = a.Player
		if err := checkToAct(a); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if p.Over() {
		if len(p.Points) != players {
			return fmt.Errorf("there are points of %d players, not of %d", len(p.Points), players)
		}
	} else if len(p.Points) != 0 {
		return errors.New("there are points although the game is not over")
	}
	for player, points := range p.Points {
		if points < 0 || points > arena.OnePoint {
			return fmt.Errorf("the points of player %d must be 0 to 1", player)
		}
	}
	if err := CheckPublic(p.Public, players); err != nil {
		return fmt.Errorf("public state: %w", err)
	}
	return nil
}

func checkToAct(a ToAct) error {
	switch {
	case a.Text == "" || len(a.Text) > MaxText || !utf8.ValidString(a.Text):
		return fmt.Errorf("the text has %d bytes, it must have 1 to %d", len(a.Text), MaxText)
	case len(a.Observation) > MaxObservation:
		return fmt.Errorf("the observation has %d bytes, at most %d are allowed", len(a.Observation), MaxObservation)
	case len(a.Observation) < 2 || a.Observation[0] != '{':
		return errors.New("the observation must be an object")
	case len(a.Legal) == 0 && a.Grammar == "":
		return errors.New("there is neither a list of legal moves nor a grammar")
	case len(a.Legal) > MaxLegal:
		return fmt.Errorf("there are %d legal moves, at most %d are listed", len(a.Legal), MaxLegal)
	case len(a.Grammar) > maxShow:
		return fmt.Errorf("the grammar has %d bytes, at most %d are allowed", len(a.Grammar), maxShow)
	case len(a.Default) > MaxMove:
		return fmt.Errorf("the default move has %d bytes, at most %d are allowed", len(a.Default), MaxMove)
	}
	known := make(map[string]bool, len(a.Legal))
	for i, m := range a.Legal {
		if m == "" || !isLine(m, MaxMove) || known[m] {
			return fmt.Errorf("legal[%d] must be a line that no other move has", i)
		}
		known[m] = true
	}
	if a.Default != "" && len(a.Legal) > 0 && !known[a.Default] {
		return errors.New("the default move is not legal")
	}
	return nil
}

// CheckPublic returns the first rule that a public state of a game with the given
// number of players breaks.
func CheckPublic(raw []byte, players int) error {
	if len(raw) > MaxPublic {
		return fmt.Errorf("it has %d bytes, at most %d are allowed", len(raw), MaxPublic)
	}
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := strictjson.UnmarshalOpen(raw, &kind, "kind"); err != nil {
		return errors.New("it must be an object with a kind")
	}
	c := &formCheck{players: players}
	switch kind.Kind {
	case KindGrid:
		return checkForm(c, raw, (*formCheck).grid)
	case KindCards:
		return checkForm(c, raw, (*formCheck).cards)
	case KindTable:
		return checkForm(c, raw, (*formCheck).table)
	case KindTranscript:
		return checkForm(c, raw, (*formCheck).transcript)
	}
	return fmt.Errorf("kind must be %s, %s, %s or %s", KindGrid, KindCards, KindTable, KindTranscript)
}

// checkForm decodes a form strictly and checks it.
func checkForm[T any](c *formCheck, raw []byte, check func(*formCheck, T)) error {
	var form T
	if err := strictjson.Unmarshal(raw, &form); err != nil {
		return err //nolint:wrapcheck // names the member
	}
	check(c, form)
	return c.err
}

// formCheck keeps the first rule that a form breaks.
type formCheck struct {
	players int
	err     error
}

func (c *formCheck) must(ok bool, format string, args ...any) {
	if c.err == nil && !ok {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *formCheck) player(at string, n, least int) {
	c.must(n >= least && n < c.players, "%s is %d, it must be %d to %d", at, n, least, c.players-1)
}

func (c *formCheck) count(at string, n, most int) {
	c.must(n <= most, "%s has %d entries, at most %d are allowed", at, n, most)
}

func (c *formCheck) text(at, s string) {
	c.must(utf8.RuneCountInString(s) <= maxShow, "%s has more than %d characters", at, maxShow)
}

func (c *formCheck) texts(at string, all []string) {
	c.count(at, len(all), MaxLines)
	for i, s := range all {
		c.text(fmt.Sprintf("%s[%d]", at, i), s)
	}
}

func (c *formCheck) indexes(at string, all []int, below int) {
	c.count(at, len(all), below)
	for _, n := range all {
		c.must(n >= 0 && n < below, "%s holds %d, it must be 0 to %d", at, n, below-1)
	}
}

func (c *formCheck) summary(s Summary) {
	c.must(isLine(s.Caption, 200), "caption must be one line of at most 200 characters")
	c.must(len(s.Evaluation) == 0 || len(s.Evaluation) == c.players, "evaluation must have a number for each of the %d players", c.players)
	for _, v := range s.Evaluation {
		c.must(v >= 0 && v <= 1, "evaluation must be 0 to 1")
	}
}

func (c *formCheck) grid(g Grid) {
	c.must(g.Rows > 0 && g.Columns > 0 && g.Rows <= MaxCells && g.Columns <= MaxCells && g.Rows*g.Columns <= MaxCells, "rows × columns must be 1 to %d cells", MaxCells)
	c.must(len(g.Cells) == g.Rows*g.Columns, "cells has %d entries, rows × columns is %d", len(g.Cells), g.Rows*g.Columns)
	c.count("pieces", len(g.Pieces), 64)
	for name, p := range g.Pieces {
		c.must(isLine(name, maxName) && name != "", "the name of a piece must be one line of 1 to %d characters", maxName)
		c.player("the player of piece "+name, p.Player, 0)
		c.must(isLine(p.Symbol, 4) && p.Symbol != "", "the symbol of piece %s must be one character", name)
	}
	for i, name := range g.Cells {
		_, known := g.Pieces[name]
		c.must(name == "" || known, "cells[%d] is %.40q, which pieces does not name", i, name)
	}
	c.indexes("last", g.Last, len(g.Cells))
	c.indexes("line", g.Line, len(g.Cells))
	c.must(g.Board == "" && g.FEN == "" || g.Board == "chess" && isLine(g.FEN, 100), `board must be "chess" with a fen, or be left out`)
	c.summary(g.Summary)
}

func (c *formCheck) cards(f Cards) {
	c.must(len(f.Hands) == c.players, "hands must have a hand for each of the %d players", c.players)
	for i, h := range f.Hands {
		c.must(h.Player == i, "hands[%d].player is %d: hands are in the order of players", i, h.Player)
		c.texts(fmt.Sprintf("hands[%d].cards", i), h.Cards)
	}
	c.texts("table", f.Table)
	c.said("log", f.Log)
	c.summary(f.Summary)
}

func (c *formCheck) said(at string, all []Said) {
	c.count(at, len(all), MaxLines)
	for i, s := range all {
		c.player(fmt.Sprintf("%s[%d].player", at, i), s.Player, -1)
		c.text(fmt.Sprintf("%s[%d].text", at, i), s.Text)
	}
}

func (c *formCheck) table(f Table) {
	c.texts("columns", f.Columns)
	c.must(len(f.Rows) == c.players, "rows must have a row for each of the %d players", c.players)
	for i, r := range f.Rows {
		c.must(r.Player == i, "rows[%d].player is %d: rows are in the order of players", i, r.Player)
		c.must(len(r.Values) == len(f.Columns), "rows[%d].values has %d entries, columns has %d", i, len(r.Values), len(f.Columns))
		c.texts(fmt.Sprintf("rows[%d].values", i), r.Values)
		c.text(fmt.Sprintf("rows[%d].total", i), r.Total)
		c.indexes(fmt.Sprintf("rows[%d].won", i), r.Won, len(f.Columns))
	}
	c.must(isLine(f.Unit, maxName), "unit must be one line of at most %d characters", maxName)
	c.summary(f.Summary)
}

func (c *formCheck) transcript(f Transcript) {
	c.count("lines", len(f.Lines), MaxLines)
	for i, l := range f.Lines {
		at := fmt.Sprintf("lines[%d]", i)
		c.player(at+".player", l.Player, -1)
		c.text(at+".text", l.Text)
		c.text(at+".offer", l.Offer)
	}
	c.said("facts", f.Facts)
	c.summary(f.Summary)
}
