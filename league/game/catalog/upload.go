package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/playout"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/league/game/scripted"
)

// The random games that an upload is checked with, and the processor time that they
// may take. On a busy machine they take longer, and are as many.
const (
	uploadGames = 200
	uploadLimit = 10 * time.Second
)

// uploadSeats is the largest number of players that a game may need: leagues play
// duels, and an admin schedules matches with more seats.
const uploadSeats = 2

// fileField is the field that the errors of an upload name.
const fileField = "file"

// Check plays random games of a source, and describes it as it may be stored. The
// error is an *arena.Error with CodeInvalid if the source is at fault.
func (c *Catalog) Check(ctx context.Context, source string, now func() time.Time) (arena.GameScript, error) {
	var both [2]*scripted.Game
	for i := range both { // so that the second one does not share the state of the first one
		g, err := scripted.New(ctx, c.runner, source)
		if fault, ok := errors.AsType[*rules.Fault](err); ok {
			return arena.GameScript{}, arena.Invalid(fileField, "%v", fault.Err)
		}
		if err != nil {
			return arena.GameScript{}, err
		}
		both[i] = g
	}
	info := both[0].Info()
	if c.Builtin(info.Name) {
		return arena.GameScript{}, arena.Invalid(fileField, "%s is a game of the arena; choose another info.name", info.Name)
	}
	if info.MinPlayers > uploadSeats {
		return arena.GameScript{}, arena.Invalid(fileField, "info.min_seats is %d, and no league plays with so many: it must be at most %d. "+
			"Leagues play duels; with up to info.max_seats players a game is played in matches that an admin schedules", info.MinPlayers, uploadSeats)
	}
	report, err := playout.Check(ctx, both[0], both[1], playout.Options{
		Games: uploadGames, Limit: uploadLimit, Clock: func() time.Duration { return both[0].Used() + both[1].Used() },
	})
	if err != nil {
		return arena.GameScript{}, fmt.Errorf("check game %s: %w", info.Name, err)
	}
	if !report.OK() {
		refused := arena.Invalid(fileField, "%s", report.Problems[0].String())
		for _, p := range report.Problems[1:] {
			refused.Fields = append(refused.Fields, arena.FieldError{Field: fileField, Message: p.String()})
		}
		return arena.GameScript{}, refused
	}
	report.Checked = now().UTC().Truncate(time.Second)
	body, err := json.Marshal(report)
	if err != nil {
		return arena.GameScript{}, fmt.Errorf("encode the report on game %s: %w", info.Name, err)
	}
	return arena.GameScript{Name: info.Name, Version: info.Version, SHA256: Hash(source), Title: info.Title, Source: source, Report: body}, nil
}

// Listed returns all games by name, with the versions of uploaded ones.
func (c *Catalog) Listed(ctx context.Context) ([]arena.ListedGame, error) {
	infos, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	var scripts []arena.GameScript
	if c.uploaded != nil {
		if scripts, err = c.uploaded.GameScripts(ctx); err != nil {
			return nil, fmt.Errorf("list the uploaded games: %w", err)
		}
	}
	list := make([]arena.ListedGame, len(infos))
	for i, info := range infos {
		list[i] = arena.ListedGame{
			Name: info.Name, Title: info.Title, Version: info.Version, MinSeats: info.MinPlayers, MaxSeats: info.MaxPlayers,
			Deals: info.Deals, Hidden: info.Hidden, MaxTurns: info.MaxTurns, Options: make([]arena.GameOption, len(info.Options)),
		}
		for n, o := range info.Options {
			list[i].Options[n] = arena.GameOption(o)
		}
		if written, ok := c.native[info.Name].(rules.Written); ok {
			list[i].Notation, _ = written.Notation()
		}
		if !c.Builtin(info.Name) {
			list[i].Uploaded = slices.DeleteFunc(slices.Clone(scripts), func(s arena.GameScript) bool { return s.Name != info.Name })
		}
	}
	return list, nil
}
