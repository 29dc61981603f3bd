package arenaagent_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"testing"
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

func ExampleConnect() {
	log.Fatal(arenaagent.Connect(context.Background(), arenaagent.Config{Arena: os.Args[1], AgentKey: os.Args[2]}, func(_ context.Context, task *arenaagent.Task, _ *arenaagent.Events) (arenaagent.Answer, error) {
		return arenaagent.Answer{Value: task.Options[0]}, nil
	}))
}

// The program of the README is the example above, in at most twelve lines.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(source), "func ExampleConnect() {\n")
	body, _, _ := strings.Cut(after, "\n}\n")
	for program := range strings.SplitSeq(string(readme), "```go\n") {
		program, _, _ = strings.Cut(program, "```")
		if !strings.Contains(program, body) {
			continue
		}
		lines := slices.DeleteFunc(strings.Split(program, "\n"), func(line string) bool { return line == "" })
		if len(lines) > 12 {
			t.Errorf("the program has %d lines", len(lines))
		}
		return
	}
	t.Error("README.md does not show ExampleConnect")
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
