package arenaagent_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

func ExampleServe() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := arenaagent.Serve(ctx, arenaagent.Config{
		Arena: "http://127.0.0.1:8080", Addr: ":8700", AgentID: "ag_…", Capabilities: []string{"trivia"}, Logger: logger,
	}, func(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		events.Thinking("The first option is as good as any.")
		if len(task.Options) == 0 {
			return arenaagent.Answer{}, arenaagent.ErrUnavailable // not a question for this agent
		}
		return arenaagent.Answer{Value: task.Options[0], Confidence: 0.25}, nil
	})
	if err != nil {
		logger.Error("agent ended", slog.Any("error", err))
	}
}

func ExampleEvents() {
	var handler arenaagent.Handler = func(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
		events.Spawn("Librarian", "looks things up")
		events.ToolCall("search", map[string]string{"query": task.Description})
		events.ToolResponse("3 pages", 120*time.Millisecond)
		events.SubagentDone("Librarian", 150*time.Millisecond)
		return arenaagent.Answer{Value: "Canberra"}, nil
	}
	// A handler is a plain function: it can be tried without an arena.
	answer, err := handler(context.Background(), &arenaagent.Task{Description: "What is the capital of Australia?"}, &arenaagent.Events{})
	fmt.Println(answer.Value, err)
	// Output: Canberra <nil>
}
