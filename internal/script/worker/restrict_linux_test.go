package worker_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"

	"github.com/agora-arena/arena/internal/script/worker"
)

// The probes, which run in processes of their own.
const (
	probeArg  = "probe"
	filterArg = "filter"
	waitArg   = "wait"
)

// TestMain runs a probe when the test binary has started itself for it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if probe := map[string]func(){probeArg: probe, filterArg: probeFilter, waitArg: probeWait}[os.Args[1]]; probe != nil {
			probe()
			os.Exit(0)
		}
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

// signals are the ways to send a process a signal.
func signals(pid int) map[string]func() error {
	call := func(number uintptr, args ...uintptr) func() error {
		args = append(args, make([]uintptr, 6-len(args))...)
		return func() error {
			if _, _, errno := syscall.RawSyscall6(number, args[0], args[1], args[2], args[3], args[4], args[5]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	to := uintptr(pid)
	return map[string]func() error{
		"kill":              call(unix.SYS_KILL, to),
		"tkill":             call(unix.SYS_TKILL, to),
		"tgkill":            call(unix.SYS_TGKILL, to, to),
		"rt_sigqueueinfo":   call(unix.SYS_RT_SIGQUEUEINFO, to),
		"rt_tgsigqueueinfo": call(unix.SYS_RT_TGSIGQUEUEINFO, to, to),
		"pidfd_open":        call(unix.SYS_PIDFD_OPEN, to),
		"F_SETOWN":          call(unix.SYS_FCNTL, 0, unix.F_SETOWN, to),
		"F_SETSIG":          call(unix.SYS_FCNTL, 0, unix.F_SETSIG, uintptr(unix.SIGKILL)),
	}
}

// probeFilter loads the filter alone, as on a kernel without the scopes of Landlock.
func probeFilter() {
	filter, err := worker.SystemCalls()
	if err == nil {
		err = seccomp.LoadFilter(filter)
	}
	fmt.Println("error:", err)
	for name, try := range signals(os.Getppid()) {
		if err := try(); !errors.Is(err, unix.EPERM) {
			fmt.Println("other:", name, err)
		}
	}
	if err := unix.Tgkill(os.Getpid(), unix.Gettid(), 0); err != nil {
		fmt.Println("self:", err)
	}
	go func() {
		for n := 0; ; n++ { // nothing but a signal stops it for the collector
		}
	}()
	runtime.GC()
	fmt.Println("done")
}

// Threat J4, on a kernel that lets a process signal all others of its user: system calls
// that signal reach the worker itself alone.
func TestSystemCalls_signals(t *testing.T) {
	t.Parallel()
	if !seccomp.Supported() {
		t.Skip("this kernel has no seccomp")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], filterArg)
	cmd.Stdin = strings.NewReader("")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "error: <nil>\ndone\n" {
		t.Fatalf("%v:\n%s", err, out)
	}
}

// probeWait has its privileges read from outside.
func probeWait() {
	held := make(chan struct{})
	for range 2 {
		go func() {
			runtime.LockOSThread()
			held <- struct{}{}
			select {}
		}()
		<-held
	}
	_, err := worker.Restrict()
	fmt.Println("error:", err)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Threat J4: no thread of a worker has a capability, and none gets one back.
func TestRestrict_capabilities(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], waitArg)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "error: <nil>\n" {
		t.Fatalf("%q, %v", line, err)
	}
	sets := []string{"CapInh", "CapPrm", "CapEff", "CapAmb"}
	if os.Geteuid() == 0 { // others may not reduce the set, and cannot use it without new privileges
		sets = append(sets, "CapBnd")
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", cmd.Process.Pid))
	if err != nil || len(tasks) < 3 {
		t.Fatalf("threads %v, %v", tasks, err)
	}
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range sets {
			if want := set + ":\t0000000000000000\n"; !strings.Contains(string(status), want) {
				t.Errorf("%s: %s is not empty:\n%s", task, set, status)
			}
		}
	}
}
