package worker_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agora-arena/arena/internal/script/worker"
)

const probeArg = "probe"

// TestMain runs the probe when the test binary has started itself for it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probeArg {
		probe()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// attempts are what code that has escaped from the interpreter would try.
func attempts() map[string]func() error {
	return map[string]func() error{
		"read a file":        func() error { _, err := os.ReadFile("/etc/passwd"); return err },
		"list a folder":      func() error { _, err := os.ReadDir("/"); return err },
		"write a file":       func() error { return os.WriteFile("/tmp/arena-probe", []byte("x"), 0o600) },
		"write here":         func() error { return os.WriteFile("probe", []byte("x"), 0o600) },
		"dial TCP":           func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return refusedAsPort(err) }, //nolint:noctx // refused by the kernel at once
		"send UDP":           func() error { _, err := net.Dial("udp", "127.0.0.1:53"); return err },               //nolint:noctx // refused by the kernel at once
		"listen":             func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },              //nolint:noctx // refused by the kernel at once
		"open a Unix socket": func() error { _, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); return err },
		"start a program":    func() error { return exec.Command("/bin/true").Run() }, //nolint:noctx // refused by the kernel at once
		"fork": func() error {
			pid, _, errno := syscall.RawSyscall(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0)
			if errno != 0 {
				return errno
			}
			if pid == 0 {
				_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
			}
			return nil
		},
		"read the memory of its parent": func() error {
			_, _, errno := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid()), 0, 0, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			return nil
		},
		"signal its parent": func() error { return syscall.Kill(os.Getppid(), 0) },
		"raise a limit": func() error {
			return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1 << 10, Max: 1 << 10})
		},
	}
}

// refusedAsPort keeps a port at which nothing listens from looking like a
// restriction.
func refusedAsPort(err error) error {
	if err != nil && strings.Contains(err.Error(), "connection refused") {
		return nil
	}
	return err
}

func probe() {
	for name, try := range attempts() {
		if err := try(); err != nil {
			continue
		}
		fmt.Println("before: could", name)
	}
	missing, err := worker.Restrict()
	fmt.Println("missing:", missing, "error:", err)
	for name, try := range attempts() {
		// From another thread, too: the filter must hold for all of them.
		var group sync.WaitGroup
		group.Go(func() {
			runtime.LockOSThread()
			if try() == nil {
				fmt.Println("after: could", name)
			}
		})
		group.Wait()
		if try() == nil {
			fmt.Println("after: could", name)
		}
	}
	fmt.Println("done")
}

// Threat J4: code that escapes from the interpreter reaches no file, no
// network and no other process.
func TestRestrict(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], probeArg)
	cmd.Env, cmd.Dir = []string{}, t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "done\n") {
		t.Fatalf("%v:\n%s", err, out)
	}
	if !strings.Contains(string(out), "before: could read a file") || !strings.Contains(string(out), "before: could fork") {
		t.Errorf("the probe tries nothing:\n%s", out)
	}
	if !strings.Contains(string(out), "missing: [] error: <nil>") {
		t.Skipf("this kernel does not offer all protections:\n%s", out)
	}
	if strings.Contains(string(out), "after: could") {
		t.Errorf("after the restrictions it could do this:\n%s", out)
	}
}
