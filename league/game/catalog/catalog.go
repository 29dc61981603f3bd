package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/league/game/scripted"
)

//go:embed games
var builtinScripts embed.FS

// Uploaded are the games that admins have uploaded.
type Uploaded interface {
	// GameScript returns a version of a game: the one with a hash, or the latest if
	// the hash is empty. The error is an *arena.Error with CodeNotFound if there is
	// none.
	GameScript(ctx context.Context, name, sha256 string) (arena.GameScript, error)
	// GameScripts returns all versions without their sources, by name, the latest
	// version of each first.
	GameScripts(ctx context.Context) ([]arena.GameScript, error)
}

// Catalog finds rules. It is safe for concurrent use.
type Catalog struct {
	runner   scripted.Runner
	uploaded Uploaded
	native   map[string]rules.Rules // in Go, by name
	scripts  map[string]string      // sources that are part of the arena, by name

	mu    sync.Mutex
	games map[string]*scripted.Game // by the hash of their source
}

// maxGames is how many games in JavaScript stay described.
const maxGames = 100

// New returns a catalog. uploaded may be nil: then there are only the games that
// are part of the arena.
func New(runner scripted.Runner, uploaded Uploaded) (*Catalog, error) {
	c := &Catalog{runner: runner, uploaded: uploaded, native: map[string]rules.Rules{}, scripts: map[string]string{}, games: map[string]*scripted.Game{}}
	for _, r := range rules.Builtin() {
		c.native[r.Info().Name] = r
	}
	entries, err := builtinScripts.ReadDir("games")
	if err != nil {
		return nil, fmt.Errorf("list the games of the arena: %w", err)
	}
	for _, e := range entries {
		source, err := builtinScripts.ReadFile(path.Join("games", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read a game of the arena: %w", err)
		}
		c.scripts[strings.TrimSuffix(e.Name(), ".js")] = string(source)
	}
	return c, nil
}

// Hash returns the hash of a source, as a match pins it.
func Hash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

// Builtin reports whether a game of that name is part of the arena.
func (c *Catalog) Builtin(name string) bool {
	_, native := c.native[name]
	_, script := c.scripts[name]
	return native || script
}

// Rules returns the rules of a league or of a match, which pins their hash. The
// error is an *arena.Error with CodeInvalid and the field game.name if there is
// no such game.
func (c *Catalog) Rules(ctx context.Context, spec arena.GameSpec) (rules.Rules, error) {
	// A match that pins a hash plays an uploaded game, also if a later arena has a
	// game of that name.
	if r, ok := c.native[spec.Name]; ok && spec.SHA256 == "" {
		return r, nil
	}
	if source, ok := c.scripts[spec.Name]; ok && spec.SHA256 == "" {
		return c.game(ctx, source)
	}
	if g, ok := c.described(spec.SHA256); ok {
		return g, nil
	}
	if c.uploaded != nil {
		s, err := c.uploaded.GameScript(ctx, spec.Name, spec.SHA256)
		if err == nil {
			return c.game(ctx, s.Source)
		}
		if known, ok := errors.AsType[*arena.Error](err); !ok || known.Code != arena.CodeNotFound {
			return nil, fmt.Errorf("find game %s: %w", spec.Name, err)
		}
	}
	return nil, c.unknown(ctx, spec)
}

// Pin returns the game of a match that is created now: with the version of its
// rules and, of an uploaded game, the hash of its source.
func (c *Catalog) Pin(ctx context.Context, spec arena.GameSpec) (arena.GameSpec, error) {
	if spec.SHA256 == "" && c.uploaded != nil && !c.Builtin(spec.Name) {
		latest, err := c.uploaded.GameScript(ctx, spec.Name, "")
		if err == nil {
			spec.SHA256 = latest.SHA256
		} else if arena.CodeOf(err) != arena.CodeNotFound {
			return spec, fmt.Errorf("find game %s: %w", spec.Name, err)
		}
	}
	r, err := c.Rules(ctx, spec)
	if err != nil {
		return spec, err
	}
	return r.Info().Pin(spec), nil
}

// unknown returns the error of a name that no game has.
func (c *Catalog) unknown(ctx context.Context, spec arena.GameSpec) error {
	names, err := c.names(ctx)
	if err != nil {
		return err
	}
	if spec.SHA256 != "" && slices.Contains(names, spec.Name) {
		return arena.Invalid("game.name", "game %s has no version with the hash %.64s", spec.Name, spec.SHA256)
	}
	return arena.Invalid("game.name", "%.40q is no game; known are %s", spec.Name, strings.Join(names, ", "))
}

// names returns the names of all games in order.
func (c *Catalog) names(ctx context.Context) ([]string, error) {
	var names []string
	for name := range c.native {
		names = append(names, name)
	}
	for name := range c.scripts {
		names = append(names, name)
	}
	if c.uploaded != nil {
		scripts, err := c.uploaded.GameScripts(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the uploaded games: %w", err)
		}
		for _, s := range scripts {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// List describes all games by name, the latest version of each.
func (c *Catalog) List(ctx context.Context) ([]rules.Info, error) {
	names, err := c.names(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]rules.Info, 0, len(names))
	for _, name := range names {
		r, err := c.Rules(ctx, arena.GameSpec{Name: name})
		if err != nil {
			return nil, err
		}
		list = append(list, r.Info())
	}
	slices.SortFunc(list, func(a, b rules.Info) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (c *Catalog) described(hash string) (*scripted.Game, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.games[hash]
	return g, ok
}

// game returns the rules that a source defines. A source is described once.
func (c *Catalog) game(ctx context.Context, source string) (*scripted.Game, error) {
	hash := Hash(source)
	if g, ok := c.described(hash); ok {
		return g, nil
	}
	g, err := scripted.New(ctx, c.runner, source)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.games) >= maxGames {
		clear(c.games) // they are described again when they are needed
	}
	c.games[hash] = g
	return g, nil
}
