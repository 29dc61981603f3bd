package engine

// Draining returns a channel that is closed when this node begins to drain.
func (e *Engine) Draining() <-chan struct{} { return e.drain.Done() }
