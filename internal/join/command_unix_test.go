//go:build unix

package join

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// What the program started is killed with it, and its open output does not keep
// the task. Threat M1.
func TestCommand_killsItsGroup(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	c := stubCommand(t, []string{"FIFO=" + fifo}, "hang", "with child")
	ended := make(chan error, 1)
	go func() {
		_, err := answered(t, c, &arenaagent.Task{}, 2*time.Second)
		ended <- err
	}()
	f, err := os.Open(fifo) // waits until the child has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()                          //nolint:errcheck // it was only read
	if _, err := io.ReadAll(f); err != nil { // ends when the child has ended
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, arenaagent.ErrTimeout) {
		t.Error(err)
	}
}
