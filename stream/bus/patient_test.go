package bus

import "time"

// Patient lets Take wait for a Redis on a busy machine, which a request to the
// API would not. Call it right after Open.
func (b *Bus) Patient() *Bus {
	b.timing.take = time.Minute
	return b
}
