package join

import (
	"context"
	"errors"

	"github.com/agora-arena/agora-go/arenaagent"
)

// Source answers tasks.
type Source interface {
	// Name returns a default name for the agent: "claude", "gpt-4.1-mini".
	Name() string

	// Answer answers one task before ctx ends. Errors choose the status of the
	// reply as those of an arenaagent.Handler do.
	Answer(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error)
}

// errNoAnswer is returned for a task for which a source wrote nothing.
var errNoAnswer = errors.New("it printed no answer")
