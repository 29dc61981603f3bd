package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/league/game/rules"
)

// MaxSource is the size of the source of a game, in bytes.
const MaxSource = 256 << 10

// Runner runs scripts. Its error is arena.ErrScriptLimit when the script is at
// fault.
type Runner interface {
	Run(ctx context.Context, s arena.Script) ([]arena.CallResult, error)
}

// Game is the rules of a game in JavaScript. It is safe for concurrent use.
type Game struct {
	runner Runner
	source string
	info   rules.Info
	parses bool // the script reads moves itself
	known  positions
	used   atomic.Int64 // processor time, in nanoseconds
}

// New returns the rules that a source defines. The error is a *rules.Fault if the
// source is at fault.
func New(ctx context.Context, runner Runner, source string) (*Game, error) {
	g := &Game{runner: runner, source: source, info: rules.Info{Name: "script"}}
	if len(source) > MaxSource {
		return nil, g.fault(fmt.Errorf("the source has %d bytes, at most %d are allowed", len(source), MaxSource))
	}
	value, err := g.run(ctx, "describe")
	if err != nil {
		return nil, err
	}
	var described struct {
		Info   *rules.Info `json:"info"`
		Parses bool        `json:"parses"`
	}
	if err := strictjson.Unmarshal([]byte(value), &described); err != nil {
		return nil, g.fault(fmt.Errorf("info: %w", err))
	}
	if described.Info == nil {
		return nil, g.fault(errors.New("the source defines no info"))
	}
	info := *described.Info
	if info.Version == "" {
		info.Version = "1"
	}
	if info.Options == nil {
		info.Options = []rules.Option{}
	}
	if err := rules.CheckInfo(info); err != nil {
		return nil, g.fault(err)
	}
	g.info, g.parses = info, described.Parses
	return g, nil
}

// fault returns the error of a script that broke a rule or a limit.
func (g *Game) fault(err error) error { return &rules.Fault{Game: g.info.Name, Err: err} }

// run calls a function of the library of games and returns its result.
func (g *Game) run(ctx context.Context, function string, args ...any) (string, error) {
	raw, err := json.Marshal(append([]any{}, args...))
	if err != nil {
		return "", fmt.Errorf("encode the arguments of game %s: %w", g.info.Name, err)
	}
	results, err := g.runner.Run(ctx, arena.Script{Source: g.source, Function: function, Calls: []json.RawMessage{raw}, Budget: 1, Game: true, Used: &g.used})
	switch {
	case errors.Is(err, arena.ErrScriptLimit):
		return "", g.fault(err)
	case ctx.Err() != nil:
		return "", fmt.Errorf("run game %s: %w", g.info.Name, err)
	case err != nil:
		return "", &arena.Error{Code: arena.CodeUnavailable, Message: "games in JavaScript cannot run now", Err: fmt.Errorf("run game %s: %w", g.info.Name, err)}
	case len(results) != 1:
		return "", fmt.Errorf("run game %s: %d results of one call", g.info.Name, len(results))
	case results[0].Error != "":
		return "", g.fault(errors.New(results[0].Error))
	}
	return results[0].Value, nil
}

// Used returns the processor time that the script has taken so far.
func (g *Game) Used() time.Duration { return time.Duration(g.used.Load()) }

// Info describes the game.
func (g *Game) Info() rules.Info { return g.info }

// start is what the function setup gets.
type start struct {
	Players int            `json:"players"`
	Options map[string]int `json:"options"`
	Seed    seed           `json:"seed"`
}

// seed is the key of a random source, and how many numbers it has drawn
// (scoring/sandbox/library/games.js).
type seed [3]uint32

func newSeed(s uint64) seed { return seed{uint32(s), uint32(s >> 32), 0} } //nolint:gosec // G115: the two halves

// Setup returns the state in which a game begins.
func (g *Game) Setup(ctx context.Context, s rules.Start) (rules.State, error) {
	if s.Players < g.info.MinPlayers || s.Players > g.info.MaxPlayers {
		return nil, fmt.Errorf("game %s has %d to %d players, not %d", g.info.Name, g.info.MinPlayers, g.info.MaxPlayers, s.Players)
	}
	in := start{Players: s.Players, Options: map[string]int{}, Seed: newSeed(s.Seed)}
	for _, o := range g.info.Options {
		in.Options[o.Name] = s.Option(g.info, o.Name)
	}
	return g.follow(ctx, "setup", s.Players, in)
}

// follow calls a function that returns a state with its position, and keeps the
// position.
func (g *Game) follow(ctx context.Context, function string, players int, args ...any) (rules.State, error) {
	value, err := g.run(ctx, function, args...)
	if err != nil {
		return nil, err
	}
	var out struct {
		State    json.RawMessage `json:"state"`
		Position json.RawMessage `json:"position"`
	}
	if err := strictjson.Unmarshal([]byte(value), &out); err != nil {
		return nil, g.fault(fmt.Errorf("%s: %w", function, err))
	}
	st := wrap(players, out.State)
	if len(st) > rules.MaxState {
		return nil, g.fault(fmt.Errorf("%s returned a state of %d bytes, at most %d are allowed", function, len(out.State), rules.MaxState))
	}
	p, err := g.position(players, out.Position)
	if err != nil {
		return nil, err
	}
	g.known.put(st, p)
	return st, nil
}

// A state holds the number of players, which the script need not repeat.
const (
	statePlayers = `{"players":`
	stateGame    = `,"state":`
)

func wrap(players int, st json.RawMessage) rules.State {
	return slices.Concat([]byte(statePlayers), strconv.AppendInt(nil, int64(players), 10), []byte(stateGame), st, []byte("}"))
}

// unwrap returns the parts of a state that wrap has made.
func (g *Game) unwrap(st rules.State) (players int, inner json.RawMessage, err error) {
	rest, ok := strings.CutPrefix(string(st), statePlayers)
	number, rest, found := strings.Cut(rest, stateGame)
	players, err = strconv.Atoi(number)
	if !ok || !found || err != nil || !strings.HasSuffix(rest, "}") || players < g.info.MinPlayers || players > g.info.MaxPlayers {
		return 0, nil, fmt.Errorf("game %s: this is no state of the game: %.40q", g.info.Name, st)
	}
	return players, json.RawMessage(rest[:len(rest)-1]), nil
}

// Position returns what a state means to players and spectators.
func (g *Game) Position(ctx context.Context, st rules.State) (rules.Position, error) {
	if p, ok := g.known.get(st); ok {
		return p, nil
	}
	players, inner, err := g.unwrap(st)
	if err != nil {
		return rules.Position{}, err
	}
	value, err := g.run(ctx, "position", inner)
	if err != nil {
		return rules.Position{}, err
	}
	p, err := g.position(players, json.RawMessage(value))
	if err != nil {
		return rules.Position{}, err
	}
	g.known.put(st, p)
	return p, nil
}

// scriptPosition is a position as the library of games returns it.
type scriptPosition struct {
	ToAct []struct {
		Player  int      `json:"player"`
		Legal   []string `json:"legal"`
		Grammar string   `json:"grammar"`
		Default string   `json:"default"`
		View    struct {
			Text        string          `json:"text"`
			Observation json.RawMessage `json:"observation"`
		} `json:"view"`
	} `json:"to_act"`
	Public json.RawMessage `json:"public"`
	Points []float64       `json:"points"`
}

// position checks a position.
func (g *Game) position(players int, raw json.RawMessage) (rules.Position, error) {
	var s scriptPosition
	if err := strictjson.Unmarshal(raw, &s); err != nil {
		return rules.Position{}, g.fault(err)
	}
	p := rules.Position{Public: s.Public}
	for i, a := range s.ToAct {
		if len(a.Legal) == 0 && !g.parses {
			return rules.Position{}, g.fault(fmt.Errorf("to_act[%d]: turn lists no legal moves, and there is no function parse", i))
		}
		observation := a.View.Observation
		if observation == nil {
			observation = json.RawMessage("{}")
		}
		p.ToAct = append(p.ToAct, rules.ToAct{Player: a.Player, Text: a.View.Text, Observation: observation, Legal: a.Legal, Grammar: a.Grammar, Default: a.Default})
	}
	for player, v := range s.Points {
		if !(v >= 0 && v <= 1) {
			return rules.Position{}, g.fault(fmt.Errorf("result: the points of player %d are %v, they must be 0 to 1", player, v))
		}
		p.Points = append(p.Points, arena.Points(math.Round(v*float64(arena.OnePoint))))
	}
	if err := rules.CheckPosition(p, players); err != nil {
		return rules.Position{}, g.fault(err)
	}
	return p, nil
}

// acting returns the player with this number among those who must act.
func acting(p rules.Position, player int) (rules.ToAct, bool) {
	i := slices.IndexFunc(p.ToAct, func(a rules.ToAct) bool { return a.Player == player })
	if i < 0 {
		return rules.ToAct{}, false
	}
	return p.ToAct[i], true
}

// Parse returns the canonical move that a text stands for: a listed one, or what
// the script's function parse returns.
func (g *Game) Parse(ctx context.Context, st rules.State, player int, text string) (string, error) {
	p, err := g.Position(ctx, st)
	if err != nil {
		return "", err
	}
	a, ok := acting(p, player)
	if !ok {
		return "", rules.Illegalf("it is not the turn of player %d", player+1)
	}
	text = strings.TrimSpace(text)
	switch {
	case len(text) > rules.MaxMove:
		return "", rules.Illegalf("a move has at most %d bytes", rules.MaxMove)
	case !utf8.ValidString(text):
		return "", rules.Illegalf("a move is text in UTF-8")
	case slices.Contains(a.Legal, text):
		return text, nil
	case !g.parses:
		return listed(a, text)
	}
	_, inner, err := g.unwrap(st)
	if err != nil {
		return "", err
	}
	value, err := g.run(ctx, "parse", inner, player, text)
	if err != nil {
		return "", err
	}
	move, err := g.parsed(value)
	if err == nil && len(a.Legal) > 0 && !slices.Contains(a.Legal, move) {
		return listed(a, move)
	}
	return move, err
}

// listed returns the legal move that differs from a text in its case only.
func listed(a rules.ToAct, text string) (string, error) {
	found := ""
	for _, m := range a.Legal {
		if strings.EqualFold(m, text) {
			if found != "" {
				return "", rules.Illegalf("%q may be %q or %q: write it exactly", text, found, m)
			}
			found = m
		}
	}
	if found == "" {
		return "", rules.Illegalf("the answer is not a legal move")
	}
	return found, nil
}

// maxReason is the length of a script's reason, in bytes.
const maxReason = 500

// parsed reads what the function parse has returned: a move, or an error for the
// player.
func (g *Game) parsed(value string) (string, error) {
	var refused struct {
		Error string `json:"error"`
	}
	var move string
	switch err := strictjson.Unmarshal([]byte(value), &move); {
	case err == nil && move != "" && len(move) <= rules.MaxMove:
		return move, nil
	case err == nil:
		return "", g.fault(fmt.Errorf("parse returned a move of %d bytes, it must have 1 to %d", len(move), rules.MaxMove))
	}
	if err := strictjson.Unmarshal([]byte(value), &refused); err != nil || refused.Error == "" {
		return "", g.fault(errors.New("parse must return a move or { error: the reason }"))
	}
	return "", rules.Illegalf("%s", strings.ToValidUTF8(refused.Error[:min(len(refused.Error), maxReason)], ""))
}

// Sample returns a random legal move of a player, or "" if the script defines no
// function sample.
func (g *Game) Sample(ctx context.Context, st rules.State, player int, random uint64) (string, error) {
	_, inner, err := g.unwrap(st)
	if err != nil {
		return "", err
	}
	value, err := g.run(ctx, "sample", inner, player, newSeed(random))
	if err != nil || value == "null" {
		return "", err
	}
	return g.parsed(value)
}

// Move returns the state after the moves of all players who had to act.
func (g *Game) Move(ctx context.Context, st rules.State, moves []rules.Move) (rules.State, error) {
	players, inner, err := g.unwrap(st)
	if err != nil {
		return nil, err
	}
	p, err := g.Position(ctx, st)
	if err != nil {
		return nil, err
	}
	if len(moves) != len(p.ToAct) || p.Over() {
		return nil, fmt.Errorf("game %s: %d moves, %d players must act", g.info.Name, len(moves), len(p.ToAct))
	}
	byPlayer := make([]*string, players)
	for i, m := range moves {
		a := p.ToAct[i]
		if m.Player != a.Player || len(a.Legal) > 0 && !slices.Contains(a.Legal, m.Move) {
			return nil, fmt.Errorf("game %s: %.40q of player %d is no move of player %d", g.info.Name, m.Move, m.Player, a.Player)
		}
		byPlayer[m.Player] = &m.Move
	}
	return g.follow(ctx, "move", players, inner, byPlayer)
}
