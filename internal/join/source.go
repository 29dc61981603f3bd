package join

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// Source answers tasks.
type Source interface {
	// Name returns a default name for the agent: "claude", "gpt-4.1-mini".
	Name() string

	// Answer answers one task before ctx ends. Errors choose the status of the
	// reply, as in an arenaagent.Handler.
	Answer(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error)
}

// errNoAnswer is returned for a task for which a source wrote nothing.
var errNoAnswer = errors.New("it printed no answer")

// testLimit is how long a source may take for the test question: a program or a
// model that starts for the first time is slow.
const testLimit = 2 * time.Minute

// testTask is what a source is asked before it plays.
func testTask() *arenaagent.Task {
	return &arenaagent.Task{
		League: "test", Round: 1, TotalRounds: 1, TimeLimit: testLimit, Attempt: 1,
		Description: "A test question before the first match: what is the opposite of left?", Options: []string{"right", "wrong"},
	}
}

// try asks a source one question before it registers the agent: a wrong key or a
// program that cannot start would lose rated rounds. A temporary error, such as a
// busy endpoint, is only printed.
func try(ctx context.Context, source Source, b *board) error {
	if _, forwards := source.(*Forward); forwards {
		return nil // its endpoint answers only what the arena has signed
	}
	b.show("asking a test question")
	limited, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	answer, err := source.Answer(limited, testTask(), &arenaagent.Events{})
	_, passes := errors.AsType[passingError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && answer.Raw != nil:
		b.line("the test question was answered: %s", shorten(string(answer.Raw), maxLine))
	case err == nil:
		b.line("the test question was answered: %s", shorten(answer.Value, maxLine))
	case passes:
		b.line("warning: the test question was not answered: %s", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the test question was not answered within %s (--no-test skips it)", testLimit)
	default:
		return fmt.Errorf("the test question was not answered (--no-test skips it): %w", err)
	}
	return nil
}
