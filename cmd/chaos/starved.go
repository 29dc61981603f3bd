package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// starved is how long a thread must have waited for a processor, in one go or
// within a sample, for a late node not to count.
const starved = 250 * time.Millisecond

// starvation records when processes wanted to run and the machine had other
// work, as Linux counts it for each thread. Elsewhere it sees nothing, and
// rules about time hold on the busiest machine.
type starvation struct {
	waited map[string]time.Duration // by the file of a thread
	spans  []span
}

// watch looks at the processes of the cluster, and at this one, until ctx ends.
func (s *starvation) watch(ctx context.Context, c *cluster) {
	const every = 200 * time.Millisecond
	s.waited = map[string]time.Duration{}
	for last := time.Now(); wait(ctx, every); {
		now := time.Now()
		pids := []int{os.Getpid()}
		for _, n := range c.nodes {
			if l, _ := n.now(); l != nil {
				pids = append(pids, l.cmd.Process.Pid)
			}
		}
		worst := time.Duration(0)
		for _, pid := range pids {
			worst = max(worst, s.look(pid))
		}
		if worst > starved {
			s.spans = append(s.spans, span{last.Add(-worst), now})
		}
		last = now
	}
}

// look returns the longest wait of a process's threads since the last look.
func (s *starvation) look(pid int) (worst time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // G304: the kernel's
		if err != nil {
			continue // the thread has ended
		}
		var ran, waited time.Duration
		if _, err := fmt.Sscan(string(data), &ran, &waited); err != nil {
			continue
		}
		if before, known := s.waited[file]; known {
			worst = max(worst, waited-before)
		}
		s.waited[file] = waited
	}
	return worst
}
