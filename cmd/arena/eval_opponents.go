package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/examples/agents"
	"github.com/agora-arena/arena/league/game/players"
)

// opponentsOf returns the names of the built-in opponents of a league, from the
// weakest to the strongest.
func opponentsOf(p localPlan) []string {
	switch {
	case p.game != "":
		if names := playersOf(p.game); len(names) > 0 {
			return names
		}
		return agents.Bots() // an uploaded game
	case !p.knowable():
		return []string{"p0"}
	}
	return []string{"p30", "p60", "p90"}
}

// playersOf returns the names of the built-in opponents that play a game.
func playersOf(game string) (names []string) {
	for _, k := range arena.BuiltInKinds() {
		if players.Plays(k.Name, game) {
			names = append(names, k.Name)
		}
	}
	return names
}

// knowable reports whether the tasks have answers that a player can know.
func (p localPlan) knowable() bool { return slices.Contains(players.Judges(), p.judge.Kind) }

// opponent returns the handler of a built-in opponent by its name: of a game, see bot;
// else p and the percentage of the right answers that it knows, 0 to 100.
func (c *contestants) opponent(name string, p localPlan) (arenaagent.Handler, error) {
	if p.game != "" {
		return c.bot(name, p.game, 0)
	}
	percent, err := strconv.ParseUint(strings.TrimPrefix(name, "p"), 10, 8)
	switch {
	case err != nil || !strings.HasPrefix(name, "p") || percent > 100:
		return nil, fmt.Errorf("no built-in opponent is called %q: there are p0 to p100, which know so many percent of the answers", name)
	case percent > 0 && !p.knowable():
		return nil, fmt.Errorf("the tasks of the judge %s have no answers that %s could know: use p0", p.judge.Kind, name)
	}
	return knower(int(percent), p.judge, p.tasks), nil
}

// knower returns the handler of a player that knows a percentage of the answers.
func knower(percent int, judge arena.JudgeSpec, tasks []arena.Task) arenaagent.Handler {
	known := map[string]arena.Task{}
	for _, t := range tasks {
		known[questionOf(t.Description, t.Options)] = t
	}
	return func(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
		t, found := known[questionOf(task.Description, task.Options)]
		if !found {
			return arenaagent.Answer{}, fmt.Errorf("the pack has no question %q", task.Description)
		}
		return arenaagent.Answer{Value: players.Answer(percent, judge, t)}, nil
	}
}

// questionOf returns a question with its options in any order.
func questionOf(description string, options []string) string {
	return strings.Join(append([]string{description}, slices.Sorted(slices.Values(options))...), "\x00")
}

// bots returns the names of the opponents that play a game: the built-in ones of
// leagues, and agents.Bots.
func bots(game string) []string {
	names := playersOf(game)
	for _, name := range agents.Bots() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// bot returns the handler of a built-in opponent of a game.
func (c *contestants) bot(name, game string, seed uint64) (arenaagent.Handler, error) {
	if !slices.Contains(bots(game), name) {
		return nil, fmt.Errorf("no built-in opponent of %s is called %q: there are %q", game, name, bots(game))
	}
	plays := players.Plays(name, game)
	return func(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		seed := seed
		if c.everyMatch {
			match := fnv.New64a()
			_, _ = io.WriteString(match, task.MatchID) // a hash takes everything
			seed ^= match.Sum64()
		}
		if plays {
			move, err := players.Move(name, game, task.Observation, players.Dice(name, strconv.FormatUint(seed, 10), strconv.Itoa(task.Round)))
			return arenaagent.Answer{Value: move}, err
		}
		play, err := agents.Bot(name, seed)
		if err != nil {
			return arenaagent.Answer{}, err
		}
		return play(ctx, task, events)
	}, nil
}
