package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"

	"github.com/agora-arena/arena/internal/apiclient"
)

// benchAgents are agents in a process of their own.
type benchAgents struct {
	cmd       *exec.Cmd
	stdin     io.Closer
	endpoints []string
	control   string
}

func startBenchAgents(app *App, n int, league string, flags ...string) (*benchAgents, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(app.Ctx, self, append([]string{"agents", "--league", league, fmt.Sprint(n)}, flags...)...) //nolint:gosec // this very program
	cmd.Stderr = app.Stderr
	stdin, err := cmd.StdinPipe() // its end tells the agents to end
	if err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	a := &benchAgents{cmd: cmd, stdin: stdin}
	var hello struct {
		Endpoints []string `json:"endpoints"`
		Control   string   `json:"control"`
	}
	if err := json.NewDecoder(stdout).Decode(&hello); err != nil {
		return nil, errors.Join(fmt.Errorf("agents do not answer: %w", err), a.stop())
	}
	a.endpoints, a.control = hello.Endpoints, hello.Control
	return a, nil
}

func (a *benchAgents) stop() error {
	return errors.Join(a.stdin.Close(), a.cmd.Wait())
}

// report returns how far apart the requests of each round of n came, and
// forgets them.
func (a *benchAgents) report(ctx context.Context, n int) (spread, error) {
	var arrivals []int64
	if err := apiclient.New(a.control, "").Call(ctx, http.MethodGet, "/report", nil, &arrivals); err != nil {
		return spread{}, err
	}
	return spreadOf(arrivals, n), nil
}

// last returns the body and the Authorization header of the last task.
func (a *benchAgents) last(ctx context.Context) (body []byte, token string, err error) {
	var task lastTask
	err = apiclient.New(a.control, "").Call(ctx, http.MethodGet, "/last", nil, &task)
	return task.Body, task.Token, err
}
