package script

// Pids returns the processes of the pool, busy and idle.
func (p *Pool) Pids() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pids []int
	for w := range p.processes {
		pids = append(pids, w.cmd.Process.Pid)
	}
	return pids
}

// Waiting returns how many scripts wait for their turn.
func (p *Pool) Waiting() int {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	n := 0
	for _, class := range p.queue.lines {
		for _, l := range class {
			n += len(l.waiting)
		}
	}
	return n
}
