package script

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// canMeasure reports whether measure works.
const canMeasure = true

// attributes make a worker die with its parent and keep the signals of a
// terminal from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// niceness of workers: the arena answers its agents and spectators first.
const niceness = 10

// yield lowers the priority of a worker. Each thread has its own, and a new
// thread inherits it, so yield sets the whole process group that attributes made.
func yield(pid int) error {
	if err := syscall.Setpriority(syscall.PRIO_PGRP, pid, niceness); err != nil {
		return fmt.Errorf("lower the priority of a worker: %w", err)
	}
	return nil
}

// usage is the resource usage of a process.
type usage struct {
	memory int64 // resident bytes
	cpu    time.Duration
}

// measure reads the usage of a process from proc(5).
func measure(pid int) (usage, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return usage{}, fmt.Errorf("read the usage of a worker: %w", err)
	}
	// The name of the program stands in brackets and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const utime, stime, rss = 11, 12, 21 // fields 14, 15 and 24 of the line
	if len(fields) <= rss {
		return usage{}, fmt.Errorf("read the usage of a worker: %d fields", len(fields))
	}
	var n [3]int64
	for i, at := range [...]int{utime, stime, rss} {
		if n[i], err = strconv.ParseInt(string(fields[at]), 10, 64); err != nil {
			return usage{}, fmt.Errorf("read the usage of a worker: %w", err)
		}
	}
	const clockTick = 10 * time.Millisecond // USER_HZ is 100 on every architecture that Go supports
	return usage{memory: n[2] * int64(os.Getpagesize()), cpu: time.Duration(n[0]+n[1]) * clockTick}, nil
}
