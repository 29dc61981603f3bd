package script

// Pids returns the processes of the pool: those of scripts that run, and idle
// ones.
func (p *Pool) Pids() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pids []int
	for w := range p.processes {
		pids = append(pids, w.cmd.Process.Pid)
	}
	return pids
}
