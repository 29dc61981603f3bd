package join

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/agora-go/arenaagent"
)

// The test binary is also the program that --exec starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "stub" {
		os.Exit(stub(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// stub behaves as its first argument says and returns its exit code.
func stub(args []string) int {
	input, _ := io.ReadAll(os.Stdin)
	switch args[0] {
	case "first option":
		_, rest, _ := strings.Cut(string(input), "options:\n- ")
		option, _, _ := strings.Cut(rest, "\n")
		fmt.Fprintln(os.Stderr, "\x1b[1mReading\x1b[0m the options.")
		fmt.Printf("I choose one.\n%s\n\n", option)
	case "print":
		fmt.Print(args[1])
	case "input":
		_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"answer": string(input)})
	case "world":
		folder, _ := os.Getwd()
		entries, _ := os.ReadDir(".")
		_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"answer": fmt.Sprint(len(entries)), "folder": folder, "env": os.Environ()})
	case "flood":
		for {
			if _, err := os.Stdout.Write(make([]byte, 1<<16)); err != nil {
				return 3
			}
		}
	case "flood stderr":
		flood := strings.Repeat("more and more\n", 4096)
		for {
			if _, err := os.Stderr.WriteString(flood); err != nil {
				return 3
			}
		}
	case "die":
		fmt.Fprintln(os.Stderr, "cannot log in")
		return 7
	case "hang":
		if args = append(args, ""); args[1] == "with child" {
			child := exec.Command(os.Args[0], "stub", "hang", "in child") //nolint:noctx // it is killed with its group
			child.Stdout = os.Stdout
			if child.Start() != nil {
				return 3
			}
		}
		if args[1] == "in child" {
			if _, err := os.OpenFile(os.Getenv("FIFO"), os.O_WRONLY, 0); err != nil {
				return 3
			}
		}
		time.Sleep(time.Hour)
	}
	return 0
}

// stubLine returns a command line that starts the stub.
func stubLine(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := quote(self) + " stub"
	for _, arg := range args {
		line += " " + quote(arg)
	}
	return line
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func stubCommand(t *testing.T, environ []string, args ...string) *Command {
	t.Helper()
	c, err := NewCommand(stubLine(t, args...), "", append(os.Environ(), environ...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answered runs a source on one task.
func answered(t *testing.T, s Source, task *arenaagent.Task, limit time.Duration) (arenaagent.Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return s.Answer(ctx, task, &arenaagent.Events{})
}

// serveHTTP starts a server that ends with the test.
func serveHTTP(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
