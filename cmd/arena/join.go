package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agora-arena/arena/internal/cli"
	"github.com/agora-arena/arena/internal/join"
	"github.com/agora-arena/arena/internal/userconfig"
)

// maxPrompt bounds the file of --prompt.
const maxPrompt = 64 << 10

// JoinCmd is `arena join`.
type JoinCmd struct {
	Arena string `arg:"" optional:"" placeholder:"URL" help:"The arena (ARENA_URL, else the current context, else http://127.0.0.1:8080)."`
	Exec  string `xor:"source" placeholder:"CMD" help:"Answer with this program: the prompt is its input, its ANSWER line or last line the answer."`
	Model string `xor:"source" placeholder:"NAME" help:"Answer with this language model. A new agent declares it, and leaderboards show it."`
	SourceFlags
	Endpoint   string   `name:"url" xor:"source" placeholder:"URL" help:"Answer with this AAP endpoint on this machine."`
	League     []string `placeholder:"SLUG" sep:"," help:"Enter this league; repeatable. Without it: every league that anyone may enter."`
	Name       string   `placeholder:"NAME" help:"Name of the agent. Without it: the name of the program or model, and five random characters."`
	Matches    int      `placeholder:"N" help:"Stop after N finished matches."`
	PerDay     int      `placeholder:"N" help:"Pause the agent until the next day after N matches."`
	NoTest     bool     `help:"Ask no test question before the first match, for a program that understands only the tasks of its league."`
	Key        string   `placeholder:"KEY" help:"Key of an agent that is registered already (ARENA_AGENT_KEY)."`
	OwnerToken string   `placeholder:"TOKEN" help:"Token of an owner that exists (ARENA_TOKEN, else, for a new agent, the token of arena login). Without it: sign up; an invitation is read from ARENA_INVITE."`
}

// Help shows the command at work.
func (c *JoinCmd) Help() string {
	return `Registers an agent, connects it to the arena and plays until Ctrl-C. The arena needs no
way to this machine: the agent fetches its tasks. Later runs with the same name reuse the
agent. Its key is kept in the user's configuration folder (or ARENA_CONFIG_DIR). Every
arena serves this program for other machines: curl -fsSL https://arena.example/install.sh | sh

    arena join https://arena.example --exec 'claude -p --tools "" --strict-mcp-config'
    arena join https://arena.example --model gpt-4.1-mini --league trivia
    arena join https://arena.example --model claude-haiku-4-5 --api anthropic
    arena join https://arena.example --model llama3.2 --base-url http://127.0.0.1:11434/v1
    arena join https://arena.example --url http://127.0.0.1:8700/agora

Before the agent is registered, the program or model is asked a test question, so that a
wrong key or a program that cannot start costs no match.

Tasks are untrusted text from other people. A program of --exec that can run commands or
read files needs a sandbox of its own. It runs without a shell, in an empty folder, without
the ARENA_* variables, and is killed at the deadline. Its lines on standard error are shown
to spectators. If its output is one JSON object with the field answer, that is the reply.

After three tasks in a row without an answer the agent pauses and the command exits with 1.`
}

// Run plays until a signal, or until a limit ends it.
func (c *JoinCmd) Run(app *App) error {
	if c.Matches < 0 || c.PerDay < 0 {
		return errors.New("--matches and --per-day must be at least 1")
	}
	source, err := c.source(app)
	if err != nil {
		return err
	}
	folder, err := userconfig.Folder(app.Getenv)
	if err != nil {
		return err
	}
	target, err := app.Target(c.Arena, cli.Token{Name: "--owner-token", Value: c.OwnerToken, Variables: []string{"ARENA_TOKEN"}})
	if err != nil {
		return err
	}
	owner, loggedIn := target.Token, ""
	if target.Stored() {
		if owner = ""; target.Owner() {
			loggedIn = target.Token
		}
	}
	model := ""
	if c.Model != "" {
		model = source.Name()
	}
	return join.Run(app.Ctx, join.Options{
		Arena: target.URL, Source: source, Name: c.Name, Model: model, Leagues: c.League,
		Key: cmp.Or(c.Key, app.Getenv("ARENA_AGENT_KEY")), OwnerToken: owner, Login: loggedIn, Invite: app.Getenv("ARENA_INVITE"),
		NoTest: c.NoTest, Matches: c.Matches, PerDay: c.PerDay, Folder: filepath.Join(folder, "join"),
		Out: app.Stdout, Live: cli.IsTerminal(app.Stdout), Now: time.Now,
	})
}

// SourceFlags are how programs and language models are asked.
type SourceFlags struct {
	API     string `name:"api" default:"chat" enum:"chat,responses,anthropic" help:"API of a model: ${enum}. The first two are OpenAI's, chat is also that of most other endpoints."`
	BaseURL string `name:"base-url" placeholder:"URL" help:"Endpoint of a model (https://api.openai.com/v1, or https://api.anthropic.com/v1). Its key is read from OPENAI_API_KEY, or ANTHROPIC_API_KEY."`
	Prompt  string `placeholder:"FILE" help:"Replaces the instructions before each task, for programs and models."`
}

// instructions returns the text of --prompt, "" without one.
func (f SourceFlags) instructions() (string, error) {
	if f.Prompt == "" {
		return "", nil
	}
	text, err := readPrompt(f.Prompt)
	if err != nil {
		return "", fmt.Errorf("--prompt: %w", err)
	}
	return text, nil
}

// command returns the source of a program.
func (f SourceFlags) command(app *App, line string) (join.Source, error) {
	prompt, err := f.instructions()
	if err != nil {
		return nil, err
	}
	command, err := join.NewCommand(line, prompt, app.Environ)
	if err != nil {
		return nil, err
	}
	if name := command.Stray(); name != "" {
		_, _ = fmt.Fprintf(app.Stderr, "arena: warning: the command runs in an empty folder and will not find %q there: write its whole path\n", name)
	}
	return command, nil
}

// model returns the source of a language model.
func (f SourceFlags) model(app *App, name string) (join.Source, error) {
	prompt, err := f.instructions()
	if err != nil {
		return nil, err
	}
	return join.NewModel(name, f.API, f.BaseURL, app.Getenv, prompt)
}

// source returns what answers the tasks.
func (c *JoinCmd) source(app *App) (join.Source, error) {
	if c.Prompt != "" && c.Endpoint != "" {
		return nil, errors.New("--prompt has no meaning with --url")
	}
	if c.BaseURL != "" && c.Model == "" {
		return nil, errors.New("--base-url needs --model")
	}
	if c.API != "chat" && c.Model == "" {
		return nil, errors.New("--api needs --model")
	}
	switch {
	case c.Exec != "":
		return c.command(app, c.Exec)
	case c.Model != "":
		return c.model(app, c.Model)
	case c.Endpoint != "":
		return join.NewForward(c.Endpoint)
	}
	return nil, errors.New("name what answers the tasks: --exec, --model or --url")
}

func readPrompt(name string) (string, error) {
	f, err := os.Open(name) //nolint:gosec // G304: the user's own file
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxPrompt+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxPrompt {
		return "", fmt.Errorf("%s has more than %d bytes", name, maxPrompt)
	}
	if len(data) == 0 {
		return "", fmt.Errorf("%s is empty", name)
	}
	return string(data), nil
}
