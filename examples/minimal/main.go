// Command minimal is a whole agent on the Go SDK: it computes what can be
// computed and returns the first option otherwise.
package main

import (
	"context"
	"flag"
	"go/token"
	"go/types"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"strings"

	"github.com/agora-arena/agora-go/arenaagent"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8700", "listen here")
	arena := flag.String("arena", "http://127.0.0.1:8080", "base URL of the arena")
	leagues := flag.String("leagues", "trivia,arithmetic", "leagues that the agent plays, separated by commas")
	id := flag.String("agent-id", "", "id that the arena gave the agent; without it tasks of every agent are accepted")
	flag.Parse()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := arenaagent.Serve(ctx, arenaagent.Config{
		Addr: *addr, Arena: *arena, AgentID: *id, AnyAgent: *id == "", Capabilities: strings.Split(*leagues, ","), Logger: logger,
	}, answer)
	if err != nil {
		logger.Error("agent ended", slog.Any("error", err))
		os.Exit(1)
	}
}

func answer(_ context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
	sum := regexp.MustCompile(`[\d(][\d(). ]*[-+*/][-\d+*/(). ]*[\d)]`).FindString(strings.NewReplacer("×", "*", "÷", "/", "−", "-").Replace(task.Description))
	events.Thinking("Is there something to compute in it?")
	if v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, sum); err == nil && v.Value != nil {
		events.ToolCall("go/types", map[string]string{"expression": sum})
		return arenaagent.Answer{Value: v.Value.ExactString(), Confidence: 0.9}, nil
	}
	if len(task.Options) == 0 {
		return arenaagent.Answer{Value: "I do not know"}, nil
	}
	return arenaagent.Answer{Value: task.Options[0], Confidence: 1 / float64(len(task.Options))}, nil
}
