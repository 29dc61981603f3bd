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
)

// unknown is the answer of a player that knows a share of the answers to a question
// without options of which it does not know the answer.
const unknown = "I do not know"

// opponentsOf returns the names of the built-in opponents of a league, from the
// weakest to the strongest.
func opponentsOf(p localPlan) []string {
	switch {
	case p.game != "":
		return agents.Bots()
	case !p.knowable():
		return []string{"p0"}
	}
	return []string{"p30", "p60", "p90"}
}

// knowable reports whether the tasks have answers that a player can know: the ones of
// a program are tests, and those of regex are patterns.
func (p localPlan) knowable() bool { return p.judge != arena.JudgeCode && p.judge != arena.JudgeRegex }

// opponent returns the handler of a built-in opponent by its name: of a game, a name of
// agents.Bots; else p and the percentage of the right answers that it knows, 0 to 100.
func (c *contestants) opponent(name string, p localPlan) (arenaagent.Handler, error) {
	if p.game != "" {
		return c.bot(name, 0)
	}
	percent, err := strconv.ParseUint(strings.TrimPrefix(name, "p"), 10, 8)
	switch {
	case err != nil || !strings.HasPrefix(name, "p") || percent > 100:
		return nil, fmt.Errorf("no built-in opponent is called %q: there are p0 to p100, which know so many percent of the answers", name)
	case percent > 0 && !p.knowable():
		return nil, fmt.Errorf("the tasks of the judge %s have no answers that %s could know: use p0", p.judge, name)
	}
	return knower(name, percent, p.tasks), nil
}

// knower returns the handler of a player that knows a percentage of the answers. It
// knows the same ones in every run.
func knower(name string, percent uint64, tasks []arena.Task) arenaagent.Handler {
	known := map[string]arena.Task{}
	for _, t := range tasks {
		known[questionOf(t.Description, t.Options)] = t
	}
	return func(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
		question := questionOf(task.Description, task.Options)
		t, found := known[question]
		lot := fnv.New64a()
		_, _ = io.WriteString(lot, name+"\x00"+question) // a hash takes everything
		if found && lot.Sum64()%100 < percent && len(t.Answers) > 0 {
			return arenaagent.Answer{Value: t.Correct()}, nil
		}
		for _, option := range task.Options {
			if found && !slices.Contains(t.Answers, option) {
				return arenaagent.Answer{Value: option}, nil
			}
		}
		return arenaagent.Answer{Value: unknown}, nil
	}
}

// questionOf returns a question with its options in any order.
func questionOf(description string, options []string) string {
	return strings.Join(append([]string{description}, slices.Sorted(slices.Values(options))...), "\x00")
}
