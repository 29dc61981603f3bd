package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/modeltext"
	"github.com/agora-arena/arena/internal/plaintext"
)

const (
	maxOutput = 1 << 20         // of a program, on each of its two outputs
	maxLine   = 400             // characters of a line of stderr
	waitDelay = 2 * time.Second // for the outputs of a program that was killed
)

// errOutput is returned when a program was killed because it wrote too much.
var errOutput = errors.New("it was killed because it wrote more than 1 MiB")

// Command answers tasks with a program, which it starts for each task without a
// shell, in an empty folder of its own.
type Command struct {
	path   string
	args   []string
	env    []string
	prompt string
}

// NewCommand returns the source of a command line. prompt replaces the default
// one unless it is empty.
func NewCommand(line, prompt string, environ []string) (*Command, error) {
	words, err := Split(line, runtime.GOOS != "windows")
	if err != nil {
		return nil, fmt.Errorf("--exec: %w", err)
	}
	path, err := exec.LookPath(words[0])
	if err == nil {
		path, err = filepath.Abs(path) // the program runs in another folder
	}
	if err != nil {
		return nil, fmt.Errorf("--exec: %w", err)
	}
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(strings.ToUpper(kv), "ARENA_") })
	if prompt == "" {
		prompt = defaultPrompt
	}
	return &Command{path: path, args: words[1:], env: env, prompt: prompt}, nil
}

// Name returns the name of the program.
func (c *Command) Name() string {
	return strings.TrimSuffix(filepath.Base(c.path), filepath.Ext(c.path))
}

// Stray returns an argument that names a file in the current folder, which the
// program does not find from its own folder; "" without one.
func (c *Command) Stray() string {
	for _, arg := range c.args {
		if strings.HasPrefix(arg, "-") || filepath.IsAbs(arg) {
			continue
		}
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
			return arg
		}
	}
	return ""
}

// Answer runs the program. Its input is the prompt and the task; its output is a whole
// reply, or a text that is read like a model's.
func (c *Command) Answer(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
	folder, err := os.MkdirTemp("", "arena-task-")
	if err != nil {
		return arenaagent.Answer{}, fmt.Errorf("%w: make a folder for the task: %w", arenaagent.ErrUnavailable, err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the system cleans its temporary folder

	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	thoughts := newPace(events.Thinking)
	defer thoughts.close()
	out := &output{limit: maxOutput, over: func() { kill(errOutput) }}
	errs := &output{limit: maxOutput, over: out.over, line: func(line string) { thoughts.add(shorten(plaintext.Terminal(line), maxLine) + "\n") }}

	cmd := exec.CommandContext(ctx, c.path, c.args...) //nolint:gosec // the user's own program
	cmd.Dir, cmd.Env = folder, c.env
	cmd.Stdin = strings.NewReader(c.prompt + "\n\n" + promptFor(task))
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.WaitDelay = waitDelay
	group(cmd)
	if err := cmd.Start(); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, exec.ErrNotFound) {
			return arenaagent.Answer{}, fmt.Errorf("%w: %w", arenaagent.ErrUnavailable, err)
		}
		return arenaagent.Answer{}, err
	}
	err = cmd.Wait()
	killGroup(cmd) // what it left behind
	errs.end()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errOutput):
		return arenaagent.Answer{}, cause
	case errors.Is(cause, context.DeadlineExceeded):
		return arenaagent.Answer{}, fmt.Errorf("%w: the command was killed at the deadline", arenaagent.ErrTimeout)
	case cause != nil:
		return arenaagent.Answer{}, cause
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return arenaagent.Answer{}, c.failed(err, errs.last)
	}
	return replyOf(out.text.String(), task)
}

// failed describes how a program ended, with the last line of its stderr.
func (c *Command) failed(err error, last string) error {
	if last = shorten(plaintext.Terminal(last), maxLine); last != "" {
		return fmt.Errorf("%w: %s", err, last)
	}
	return err
}

// replyOf returns the reply that the output of a program is, or the answer in it.
func replyOf(text string, task *arenaagent.Task) (arenaagent.Answer, error) {
	text = modeltext.Clean(text)
	if object, ok := objectOf(text); ok {
		return arenaagent.Answer{Raw: object}, nil
	}
	answer, _ := answerIn(text, task, 0)
	if answer.Value == "" && answer.Raw == nil {
		return arenaagent.Answer{}, errNoAnswer
	}
	return answer, nil
}

// shorten bounds a text to n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// output keeps what a program writes, up to a limit.
type output struct {
	limit int
	over  func()            // called when the limit is exceeded
	line  func(line string) // if set, it gets each line, and text is not kept

	mu    sync.Mutex
	text  bytes.Buffer // with line set: of the line that has not ended
	count int
	last  string // the last line that is not empty
}

// Write keeps p. It never fails, so that the program can be killed in order.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	if o.count += n; o.count > o.limit {
		o.over()
		return n, nil
	}
	o.text.Write(p)
	for o.line != nil {
		i := bytes.IndexAny(o.text.Bytes(), "\r\n")
		if i < 0 {
			break
		}
		o.emit(string(o.text.Next(i + 1)[:i]))
	}
	return n, nil
}

// end handles a last line without a line break.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line != nil {
		o.emit(o.text.String())
		o.text.Reset()
	}
}

func (o *output) emit(line string) {
	if strings.TrimSpace(line) != "" {
		o.last = line
		o.line(line)
	}
}
