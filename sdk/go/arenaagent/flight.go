package arenaagent

import "sync"

// keptAnswers is how many answers are kept for repeated deliveries.
const keptAnswers = 256

// reply is the reply to a task.
type reply struct {
	status int
	body   []byte
}

func (r reply) answered() bool { return r.status == 200 }

// flight is the work on one task. Every delivery of the task waits for it.
type flight struct {
	done  chan struct{}
	reply reply // set before done is closed
}

// flights makes sure that a task delivered twice is worked on once. Answers
// are kept for later deliveries; a failure is not, so that the arena's second
// attempt is a new try.
type flights struct {
	mu    sync.Mutex
	byKey map[string]*flight
	kept  []string // keys of answers, oldest first
}

// join returns the flight of a task; first is true for the caller that has to
// do the work and call finish.
func (f *flights) join(key string) (_ *flight, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl, ok := f.byKey[key]; ok {
		return fl, false
	}
	fl := &flight{done: make(chan struct{})}
	if f.byKey == nil {
		f.byKey = map[string]*flight{}
	}
	f.byKey[key] = fl
	return fl, true
}

func (f *flights) finish(key string, fl *flight, r reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl.reply = r
	close(fl.done)
	if !r.answered() {
		delete(f.byKey, key)
		return
	}
	f.kept = append(f.kept, key)
	if len(f.kept) > keptAnswers {
		delete(f.byKey, f.kept[0])
		f.kept = f.kept[1:]
	}
}
