package game

import (
	"context"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// Builtin is the library of the games that are part of the arena.
type Builtin struct{}

// Rules returns the rules of a game by its name. invalid: there is none.
func (Builtin) Rules(_ context.Context, spec arena.GameSpec) (rules.Rules, error) {
	var known []string
	for _, r := range rules.Builtin() {
		name := r.Info().Name
		if name == spec.Name {
			return r, nil
		}
		known = append(known, name)
	}
	return nil, arena.Invalid("game.name", "%q is not a game; choose one of %s", spec.Name, strings.Join(known, ", "))
}

// Pin returns the game with the version of its rules.
func (b Builtin) Pin(ctx context.Context, spec arena.GameSpec) (arena.GameSpec, error) {
	r, err := b.Rules(ctx, spec)
	if err != nil {
		return spec, err
	}
	return r.Info().Pin(spec), nil
}
