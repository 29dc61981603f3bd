package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/apiclient"
	"github.com/agora-arena/arena/league/pack"
)

// TaskFlags are what matches on this machine play.
type TaskFlags struct {
	Pack       string         `xor:"tasks" placeholder:"FILE" help:"Tasks to play."`
	PackFormat string         `default:"auto" enum:"auto,jsonl,csv,opentriviaqa,opentdb,gsm8k,mmlu,arc,aqua,bigbench" help:"Format of the pack: ${enum}; auto is what the file looks like."`
	Judge      string         `placeholder:"KIND" help:"choice, exact, number or another that needs no external judge; without it, the one that fits the tasks."`
	Game       string         `xor:"tasks" placeholder:"NAME" help:"Play a turn-based game instead, e.g. connect_four; for an unknown name the error lists the known ones."`
	Option     map[string]int `placeholder:"NAME=N" help:"An option of the game; may be given more than once."`
	TimeLimit  time.Duration  `placeholder:"DURATION" help:"For each round or move, 1s to 10m; 30s without it."`
}

// limitSeconds returns the time limit of a round.
func (f TaskFlags) limitSeconds() float64 { return cmp.Or(f.TimeLimit, 30*time.Second).Seconds() }

// game returns the member game of the body of a league.
func (f TaskFlags) game(games int) map[string]any {
	game := map[string]any{}
	for name, value := range f.Option {
		game[name] = value
	}
	game["name"], game["games_per_match"] = f.Game, games
	return game
}

// importPack imports a pack into an arena and returns its id.
func (f TaskFlags) importPack(ctx context.Context, admin *apiclient.Client, data []byte, name string) (string, error) {
	var made struct {
		ID string `json:"pack_id"`
	}
	if err := admin.Call(ctx, http.MethodPost, "/v1/packs?format="+f.PackFormat+"&name="+name, data, &made); err != nil {
		return "", fmt.Errorf("--pack %s: %w", cmp.Or(f.Pack, name), err)
	}
	return made.ID, nil
}

// judgeOf returns the judge that fits a pack.
func judgeOf(found arena.PackContents) string {
	switch {
	case found.Format == pack.GSM8K:
		return arena.JudgeNumber
	case slices.ContainsFunc(found.Tasks, func(t arena.Task) bool { return len(t.Options) > 0 }):
		return arena.JudgeChoice
	case slices.ContainsFunc(found.Tasks, func(t arena.Task) bool { return len(t.Cases) > 0 }):
		return arena.JudgeCode
	}
	return arena.JudgeExact
}
