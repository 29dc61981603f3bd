package worker

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

const (
	maxProcessor = 120 // seconds; the parent replaces a worker after 60 (internal/script)
	maxFiles     = 16
)

// restrict drops the privileges of this process that scripts do not need. It
// returns the protections that this kernel does not support, and an error if a
// supported one failed.
func restrict() (missing []string, err error) {
	// There is no limit on address space: the race detector reserves terabytes.
	for name, limit := range map[string]struct {
		resource int
		value    uint64
	}{
		"RLIMIT_CPU":    {unix.RLIMIT_CPU, maxProcessor},
		"RLIMIT_CORE":   {unix.RLIMIT_CORE, 0},
		"RLIMIT_FSIZE":  {unix.RLIMIT_FSIZE, 0},
		"RLIMIT_NOFILE": {unix.RLIMIT_NOFILE, maxFiles},
	} {
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: limit.value, Max: limit.value}); err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
	}
	if err := dropCapabilities(); err != nil {
		return nil, fmt.Errorf("drop capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set no_new_privs: %w", err)
	}
	if _, err := landlocksys.LandlockGetABIVersion(); err != nil {
		missing = append(missing, "landlock")
	} else if err := landlock.V6.BestEffort().Restrict(); err != nil {
		return nil, fmt.Errorf("landlock: %w", err)
	}
	if !seccomp.Supported() {
		return append(missing, "seccomp"), nil
	}
	filter, err := systemCalls()
	if err != nil {
		return nil, err
	}
	if err := seccomp.LoadFilter(filter); err != nil {
		return nil, fmt.Errorf("seccomp: %w", err)
	}
	return missing, nil
}

// dropCapabilities empties the sets of capabilities(7) of all threads. Only a process that
// may change its bounding set, such as root's, can empty it too; without capabilities and
// new privileges it grants nothing.
func dropCapabilities() error {
	for c := uintptr(0); ; c++ {
		_, _, errno := psx.Syscall3(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0)
		if errno == unix.EINVAL || errno == unix.EPERM { // behind the last one, or it may not
			break
		}
		if errno != 0 {
			return errno
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	// What leaves the permitted set leaves the ambient set too.
	var none [2]unix.CapUserData
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 { //nolint:gosec // G103: capset(2) reads them
		return errno
	}
	return nil
}

// systemCalls returns the filter of system calls: what the Go runtime needs
// for memory, threads, timers, signals and the two pipes. Everything else
// fails: opening files and sockets, starting programs and processes, tracing, and
// signals to another process, also through the owner of a descriptor (fcntl(2)), which
// Landlock forbids on new kernels only.
func systemCalls() (seccomp.Filter, error) {
	wanted := []string{
		// the pipes
		"read", "readv", "write", "writev", "close", "fstat", "pread64", "lseek",
		"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2", "pipe2",
		// memory
		"mmap", "munmap", "mprotect", "mremap", "madvise", "mincore", "brk", "membarrier",
		// threads and timers
		"futex", "sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time",
		"set_robust_list", "set_tid_address", "rseq", "arch_prctl", "gettid", "getpid", "getppid", "exit", "exit_group",
		"timer_create", "timer_settime", "timer_delete", "setitimer", "restart_syscall",
		// signals
		"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
		// its own figures
		"getrlimit", "getrusage", "uname", "getrandom", "getuid", "geteuid", "getgid", "getegid",
	}
	here, err := arch.GetInfo("")
	if err != nil {
		return seccomp.Filter{}, fmt.Errorf("seccomp: %w", err)
	}
	names := slices.DeleteFunc(wanted, func(name string) bool { // not every architecture has all of them
		_, known := here.SyscallNames[name]
		return !known
	})
	when := func(name string, argument uint32, is seccomp.Operation, value uint64) seccomp.NameWithConditions {
		return seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{{Argument: argument, Operation: is, Value: value}}}
	}
	return seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls: []seccomp.SyscallGroup{
				{Action: seccomp.ActionAllow, Names: names},
				{Action: seccomp.ActionAllow, NamesWithCondtions: []seccomp.NameWithConditions{
					when("clone", 0, seccomp.BitsSet, unix.CLONE_THREAD),
					when("prctl", 0, seccomp.Equal, unix.PR_SET_VMA),
					when("tgkill", 0, seccomp.Equal, uint64(os.Getpid())), //nolint:gosec // G115: it is positive
					when("fcntl", 1, seccomp.Equal, unix.F_GETFD),
					when("fcntl", 1, seccomp.Equal, unix.F_SETFD),
					when("fcntl", 1, seccomp.Equal, unix.F_GETFL),
					when("fcntl", 1, seccomp.Equal, unix.F_SETFL),
					when("fcntl", 1, seccomp.Equal, unix.F_DUPFD_CLOEXEC),
				}},
				// C libraries fall back to clone, whose flags a filter can read.
				{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}},
			},
		},
	}, nil
}
